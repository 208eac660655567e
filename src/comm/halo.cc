// Ghosts are ascending and owners hold ranges of nodes, so that a search for each range's start counts them by owner.
// The counts go round first, then the nodes.
#include "comm/halo.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace gneiss::comm {
namespace {

template <class T>
RowsByRank<const std::byte> to_send(const std::vector<T>& rows, const std::vector<std::int64_t>& at) {
  return {std::as_bytes(std::span<const T>(rows)), at};
}

template <class T>
RowsByRank<std::byte> to_receive(std::vector<T>* rows, const std::vector<std::int64_t>& at) {
  return {std::as_writable_bytes(std::span<T>(*rows)), at};
}

}  // namespace

HaloPlan make_halo_plan(Communicator& communicator, std::span<const std::int64_t> starts,
                        std::span<const NodeId> ghosts) {
  const auto ranks = static_cast<std::size_t>(communicator.ranks());
  const auto self = static_cast<std::size_t>(communicator.rank());
  GNEISS_ASSERT(starts.size() == ranks + 1, "{} ranks own {} ranges of nodes", ranks, starts.size() - 1);
  HaloPlan plan;
  plan.owned = starts[self + 1] - starts[self];
  plan.ghosts = std::ssize(ghosts);
  for (const std::int64_t start : starts)
    plan.receive_at.push_back(std::lower_bound(ghosts.begin(), ghosts.end(), start) - ghosts.begin());
  GNEISS_ASSERT(plan.receive_at.front() == 0 && plan.receive_at.back() == plan.ghosts, "a ghost is nobody's node");
  GNEISS_ASSERT(plan.receive_at[self] == plan.receive_at[self + 1], "a ghost is the rank's own node");

  std::vector<std::int64_t> one_each(ranks + 1);
  std::iota(one_each.begin(), one_each.end(), std::int64_t{0});
  std::vector<std::int64_t> wanted(ranks);
  for (std::size_t p = 0; p < ranks; ++p) wanted[p] = plan.receive_at[p + 1] - plan.receive_at[p];
  std::vector<std::int64_t> asked(ranks);
  communicator.exchange(to_send(wanted, one_each), to_receive(&asked, one_each), sizeof(std::int64_t));
  plan.send_at.push_back(0);
  for (const std::int64_t count : asked) plan.send_at.push_back(plan.send_at.back() + count);

  const std::vector<NodeId> nodes(ghosts.begin(), ghosts.end());
  plan.send_rows.resize(static_cast<std::size_t>(plan.send_at.back()));
  communicator.exchange(to_send(nodes, plan.receive_at), to_receive(&plan.send_rows, plan.send_at), sizeof(NodeId));
  for (NodeId& row : plan.send_rows) {
    GNEISS_ASSERT(row >= starts[self] && row < starts[self + 1], "node {} is asked of rank {}, which owns {} to {}",
                  row, self, starts[self], starts[self + 1]);
    row -= static_cast<NodeId>(starts[self]);
  }
  for (std::size_t p = 0; p < ranks; ++p) {
    for (std::int64_t i = plan.receive_at[p]; i < plan.receive_at[p + 1]; ++i)
      plan.ghost_rows.push_back(ghosts[static_cast<std::size_t>(i)] - static_cast<NodeId>(starts[p]));
  }
  std::vector<std::int64_t> held(ranks);
  for (std::size_t p = 0; p < ranks; ++p) held[p] = plan.owned + plan.receive_at[p];
  plan.held_at.resize(ranks);
  communicator.exchange(to_send(held, one_each), to_receive(&plan.held_at, one_each), sizeof(std::int64_t));
  return plan;
}

}  // namespace gneiss::comm
