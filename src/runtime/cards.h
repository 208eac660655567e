// The cards of this machine by their numbers: which can be used, and which read each other's memory.
//
// What asks takes nothing of a card; cuda/cuda_device.cc, and in a build without CUDA cuda/not_built.cc.
#pragma once

#include <string>
#include <vector>

#include "runtime/device.h"

namespace gneiss::runtime {

/// The cards that "cuda:N" or "cuda:N,M" names, in that order; none for "cuda" and "emulated". Errors: kUsage for
/// another name, and for a card that is named twice.
std::vector<int> named_cards(const std::string& name, Asker asker = Asker::kCommand);

/// The cards here that are new enough, ascending. Errors: as open_device for a machine without cards.
std::vector<int> usable_cards(Asker asker);
/// Throws what open_device would of a card that is not there or too old.
void check_card(int card, Asker asker);
/// As Device::name of that card.
std::string card_name(int card);

/// Can kernels on `card` read memory of `other`?
bool card_reads(int card, int other);
/// Lets all threads of this process have kernels on `card` that read memory of `other`. Errors: kUnsupported
void let_card_read(int card, int other);

}  // namespace gneiss::runtime
