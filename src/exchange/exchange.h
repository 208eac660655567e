// The ways in which a device gets the rows of others that it sums up.
#pragma once

#include <string_view>

namespace gneiss::exchange {

///   halo     every distinct row once, all of them before the sum begins
///   stream   the same, owner by owner; the sum goes on with what is there
///   fine     rows are fetched for a few pieces at a time, while others are summed up (MGG)
/// and what they are compared with:
///   direct   as fine, but a warp has a row's edges, whole, and waits for each remote row
///   ring     every device's rows go round to all others, then one sum
enum class Exchange { kHalo, kStream, kFine, kDirect, kRing };

constexpr const char* name_of(Exchange exchange) {
  constexpr const char* kNames[] = {"halo", "stream", "fine", "direct", "ring"};
  return kNames[static_cast<int>(exchange)];
}

/// Of halo, stream and fine, the one of this name; halo for any other.
constexpr Exchange exchange_of(std::string_view name) {
  return name == "stream" ? Exchange::kStream : name == "fine" ? Exchange::kFine : Exchange::kHalo;
}

}  // namespace gneiss::exchange
