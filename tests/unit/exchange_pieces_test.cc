// The tables that a device's sums run by, against the edges that they are made of: every entry in one piece, every
// piece in one block, every row that lands the one that its entries read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "exchange/sum_pieces.h"
#include "exchange/workload.h"
#include "graph/graph.h"
#include "partition/contiguous.h"
#include "partition/local_graph.h"

namespace gneiss::exchange {
namespace {

/// Up to 40 nodes: a hub, rows without edges, self loops, parallel edges.
graph::Graph random_graph(RandomStream* random) {
  const auto nodes = static_cast<std::int64_t>(1 + random->below(40));
  const std::uint64_t edges = random->below(static_cast<std::uint64_t>(4 * nodes));
  std::vector<NodeId> from;
  std::vector<NodeId> to;
  for (std::uint64_t e = 0; e < edges; ++e) {
    from.push_back(static_cast<NodeId>(random->below(static_cast<std::uint64_t>(nodes))));
    const bool to_hub = random->below(5) < 2;
    to.push_back(to_hub ? NodeId{0} : static_cast<NodeId>(random->below(static_cast<std::uint64_t>(nodes))));
  }
  return graph::build_graph({Buffer<NodeId>::copy_of(from), Buffer<NodeId>::copy_of(to), {}}, nodes);
}

/// One device's part of a graph.
struct Part {
  graph::Graph whole;
  std::vector<std::int64_t> starts;
  std::int64_t first = 0;
  partition::LocalGraph local;
  comm::HaloPlan halo;

  SparsePattern pattern() const { return local.graph.in_edges(); }
  std::size_t devices() const { return starts.size() - 1; }
};

Part random_part(RandomStream* random) {
  Part part;
  part.whole = random_graph(random);
  const auto devices = static_cast<int>(1 + random->below(12));  // more than nodes, too
  part.starts = partition::contiguous(part.whole.offsets(), devices, random->below(2) == 0 ? 0 : 1);
  const auto device = static_cast<std::size_t>(random->below(static_cast<std::uint64_t>(devices)));
  part.first = part.starts[device];
  part.local = partition::local_graph(part.whole, part.first, part.starts[device + 1]);
  const std::vector<NodeId>& ghosts = part.local.ghosts;
  part.halo.owned = part.starts[device + 1] - part.first;
  part.halo.ghosts = std::ssize(ghosts);
  for (const std::int64_t start : part.starts)
    part.halo.receive_at.push_back(std::lower_bound(ghosts.begin(), ghosts.end(), start) - ghosts.begin());
  for (std::size_t p = 0; p < part.devices(); ++p) {
    for (std::int64_t i = part.halo.receive_at[p]; i < part.halo.receive_at[p + 1]; ++i)
      part.halo.ghost_rows.push_back(static_cast<NodeId>(ghosts[static_cast<std::size_t>(i)] - part.starts[p]));
  }
  return part;
}

/// An edge as a table has it.
using Entry = std::tuple<std::int64_t, std::int32_t, std::int64_t, EdgeId>;  // row, place in its row, source, slot

std::vector<Entry> entries_of(const Part& part) {
  std::vector<Entry> all;
  const SparsePattern edges = part.pattern();
  for (std::int64_t v = 0; v < edges.rows; ++v) {
    const EdgeId begin = edges.offsets[static_cast<std::size_t>(v)];
    for (EdgeId e = begin; e < edges.offsets[static_cast<std::size_t>(v) + 1]; ++e) {
      const NodeId column = edges.indices[static_cast<std::size_t>(e)];
      const std::int64_t source =
          column < part.halo.owned
              ? part.first + column
              : std::int64_t{part.local.ghosts[static_cast<std::size_t>(column - part.halo.owned)]};
      all.emplace_back(v, static_cast<std::int32_t>(e - begin), source, e);
    }
  }
  return all;
}

/// Of the pieces [begin, end): adds their entries, whose sources `node_of` names.
template <class NodeOf>
void add_entries(const PieceList& list, std::int64_t begin, std::int64_t end, const NodeOf& node_of,
                 std::vector<Entry>* all) {
  for (auto p = static_cast<std::size_t>(begin); p < static_cast<std::size_t>(end); ++p) {
    ASSERT_LT(list.offsets[p], list.offsets[p + 1]) << "a piece without entries";
    for (auto k = static_cast<std::size_t>(list.offsets[p]); k < static_cast<std::size_t>(list.offsets[p + 1]); ++k)
      all->emplace_back(list.rows[p], list.positions[k], node_of(list.sources[k]), list.slots[k]);
  }
}

/// Rows ascend, so that pieces of a row follow one another; of a row the entries keep their order.
void expect_in_order(const PieceList& list, std::int64_t begin, std::int64_t end) {
  for (auto p = static_cast<std::size_t>(begin); p + 1 < static_cast<std::size_t>(end); ++p)
    ASSERT_LE(list.rows[p], list.rows[p + 1]);
}

constexpr SumNeeds kAll = {.weights = true, .extreme = true};

void expect_streamed(const Part& part) {
  const StreamPieces made = stream_pieces(part.pattern(), part.halo, kAll);
  std::vector<Entry> got;
  add_entries(
      made.local, 0, made.local.pieces(), [&](NodeId row) { return part.first + row; }, &got);
  expect_in_order(made.local, 0, made.local.pieces());
  ASSERT_EQ(made.owner_at.size(), part.starts.size());
  ASSERT_EQ(made.owner_at.front(), 0);
  ASSERT_EQ(made.owner_at.back(), made.remote.pieces());
  for (std::size_t p = 0; p < part.devices(); ++p) {
    const auto ghost = [&](NodeId row) {
      const std::int64_t place = row - part.halo.owned;
      EXPECT_GE(place, part.halo.receive_at[p]);
      EXPECT_LT(place, part.halo.receive_at[p + 1]) << "a row of another owner";
      return std::int64_t{part.local.ghosts[static_cast<std::size_t>(place)]};
    };
    add_entries(made.remote, made.owner_at[p], made.owner_at[p + 1], ghost, &got);
    expect_in_order(made.remote, made.owner_at[p], made.owner_at[p + 1]);
  }
  std::sort(got.begin(), got.end());
  ASSERT_EQ(got, entries_of(part));
}

void expect_pieces_of(const PieceList& list, int most) {
  for (std::size_t p = 0; p < static_cast<std::size_t>(list.pieces()); ++p)
    ASSERT_LE(list.offsets[p + 1] - list.offsets[p], most);
}

void expect_fine(const Part& part, const Tuning& tuning) {
  const FinePieces made = fine_pieces(part.pattern(), part.halo, tuning, kAll);
  expect_pieces_of(made.local, tuning.piece);
  expect_pieces_of(made.remote, tuning.piece);
  expect_in_order(made.local, 0, made.local.pieces());
  expect_in_order(made.remote, 0, made.remote.pieces());
  const std::int64_t units = num_units(made.local.pieces(), made.remote.pieces(), tuning.dist);
  ASSERT_EQ(made.blocks(), (units + tuning.warps - 1) / tuning.warps);
  ASSERT_EQ(std::ssize(made.wanted_at), made.blocks() * std::ssize(part.starts) - made.blocks() + 1);
  std::vector<Entry> got;
  for (std::int64_t b = 0; b < made.blocks(); ++b) {
    const auto at = static_cast<std::size_t>(b);
    const std::int64_t* const wanted_at = made.wanted_at.data() + at * part.devices();
    const std::int64_t landing = wanted_at[part.devices()] - wanted_at[0];
    ASSERT_LE(landing, made.most_landing);
    std::set<NodeId> read;
    add_entries(
        made.local, made.local_at[at], made.local_at[at + 1], [&](NodeId row) { return part.first + row; }, &got);
    const auto landed = [&](NodeId place) {
      EXPECT_LT(place, landing);
      read.insert(place);
      const std::int64_t index = wanted_at[0] + place;
      const auto owner = std::upper_bound(wanted_at, wanted_at + part.devices() + 1, index) - wanted_at - 1;
      return part.starts[static_cast<std::size_t>(owner)] + made.wanted[static_cast<std::size_t>(index)];
    };
    add_entries(made.remote, made.remote_at[at], made.remote_at[at + 1], landed, &got);
    ASSERT_EQ(std::ssize(read), landing) << "a row is fetched that no entry reads";
  }
  std::sort(got.begin(), got.end());
  ASSERT_EQ(got, entries_of(part));
}

/// Rows with ghosts are those of the remote pieces, each once.
void expect_shared_rows(const Part& part) {
  const PieceList remote = stream_pieces(part.pattern(), part.halo, {}).remote;
  std::vector<NodeId> rows(remote.rows.begin(), remote.rows.end());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  ASSERT_EQ(rows_with_ghosts(part.pattern(), part.halo.owned), rows);
}

TEST(SumPieces, OfTenThousandRandomPartsKeepEveryEdge) {
  RandomStream random(11, 0);
  const auto up_to = [&](std::uint64_t most) { return static_cast<int>(1 + random.below(most)); };
  for (int round = 0; round < 10000; ++round) {
    const Part part = random_part(&random);
    expect_streamed(part);
    expect_shared_rows(part);
    expect_fine(part, {up_to(6), up_to(4), up_to(4), up_to(3)});
    if (::testing::Test::HasFailure()) FAIL() << "round " << round;
  }
}

}  // namespace
}  // namespace gneiss::exchange
