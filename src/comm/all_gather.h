// What each rank has, on every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "comm/communicator.h"

namespace gneiss::comm {

/// [ranks] the value of each rank, this one's too. All ranks call it. Errors: kPeerLost
template <class T>
std::vector<T> all_gather(Communicator& communicator, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto ranks = static_cast<std::size_t>(communicator.ranks());
  std::vector<std::int64_t> one_each(ranks + 1);
  std::iota(one_each.begin(), one_each.end(), std::int64_t{0});
  const std::vector<T> sent(ranks, mine);
  std::vector<T> all(ranks);
  communicator.exchange({std::as_bytes(std::span(sent)), one_each}, {std::as_writable_bytes(std::span(all)), one_each},
                        sizeof(T));
  return all;
}

}  // namespace gneiss::comm
