// Which of several devices is on which card.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "settings/config.h"

namespace gneiss::jobs {

/// Deals `devices` to the cards in runs of about equal length, so that parts of the graph beside each other, between
/// which most edges are, meet on a card. [devices] the card of each.
std::vector<int> deal(int devices, const std::vector<int>& cards);

/// The first `count` of the cards, by their order, of which each reads the memory of all others; none if there are
/// none.
std::vector<int> cards_that_meet(const std::vector<int>& cards, int count,
                                 const std::function<bool(int card, int other)>& reads);

/// [devices] the card of each device that `config` asks for, on this machine: those that --device names; with `cuda` as
/// many as there are devices, or all that can be used. -1 is the emulation. Takes nothing of a card.
/// Errors: kUsage for a card that there is not and for more cards than devices; kUnsupported for cards that cannot read
/// each other's memory, and as runtime::open_device
std::vector<int> deal_cards(const settings::Config& config);
/// The same for a plan, on a machine that has as many cards as are asked for.
std::vector<int> deal_described_cards(const settings::Config& config);

/// As open_device takes it.
std::string device_on(int card);
/// How many devices are on the card of `device`.
int devices_beside(const std::vector<int>& card_of, int device);
/// The cards of a deal, each once.
std::vector<int> cards_of(const std::vector<int>& card_of);
/// For people: "devices 0 and 1 on cuda:0, 2 on cuda:3".
std::string describe_deal(const std::vector<int>& card_of);

}  // namespace gneiss::jobs
