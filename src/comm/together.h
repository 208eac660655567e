// What may fail on some ranks before they depend on each other.
#pragma once

#include <functional>

#include "comm/communicator.h"

namespace gneiss::comm {

/// Does `work`, in which no rank waits for another, on every rank. Where it throws an Error on some, all throw that of
/// the first of these, instead of one that says that a rank is lost. All ranks call it. Errors: those of `work`;
/// kPeerLost
void together(Communicator& communicator, const std::function<void()>& work);

}  // namespace gneiss::comm
