// The tables of the exchange between devices against the graph they are made of, edge by edge.
#include "exchange/workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "partition/contiguous.h"
#include "partition/owners.h"

namespace gneiss::exchange {
namespace {

/// Up to 40 nodes: hubs, rows without edges, self loops, parallel edges.
graph::Graph random_graph(RandomStream* random) {
  const auto draw = [&](double most) { return static_cast<std::int64_t>(random->uniform() * most); };
  const std::int64_t nodes = 1 + draw(40);
  const std::int64_t edges = draw(4.0 * static_cast<double>(nodes));
  std::vector<NodeId> from;
  std::vector<NodeId> to;
  for (std::int64_t e = 0; e < edges; ++e) {
    from.push_back(static_cast<NodeId>(draw(static_cast<double>(nodes))));
    const bool to_hub = random->uniform() < 0.4;
    to.push_back(to_hub ? NodeId{0} : static_cast<NodeId>(draw(static_cast<double>(nodes))));
  }
  return graph::build_graph({Buffer<NodeId>::copy_of(from), Buffer<NodeId>::copy_of(to), {}}, nodes);
}

using Edge = std::tuple<std::int64_t, std::int64_t>;  // destination, source

/// The edges of both kinds, in the order of the graph's: local ones lie among the remote ones by their source.
std::vector<Edge> edges_of(const Workload& work, std::span<const std::int64_t> starts, int device) {
  std::vector<Edge> all;
  const std::int64_t first = starts[static_cast<std::size_t>(device)];
  for (std::int64_t r = 0; r < work.rows; ++r) {
    const auto row = static_cast<std::size_t>(r);
    for (EdgeId e = work.local.offsets[row]; e < work.local.offsets[row + 1]; ++e)
      all.emplace_back(first + r, first + work.local.source_rows[static_cast<std::size_t>(e)]);
    for (EdgeId e = work.remote.offsets[row]; e < work.remote.offsets[row + 1]; ++e) {
      const auto edge = static_cast<std::size_t>(e);
      EXPECT_NE(work.remote.owners[edge], device);
      all.emplace_back(first + r, starts[work.remote.owners[edge]] + work.remote.source_rows[edge]);
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<Edge> edges_of(const graph::Graph& graph, std::int64_t begin, std::int64_t end) {
  std::vector<Edge> all;
  for (std::int64_t v = begin; v < end; ++v) {
    for (EdgeId e = graph.offsets()[static_cast<std::size_t>(v)]; e < graph.offsets()[static_cast<std::size_t>(v) + 1];
         ++e)
      all.emplace_back(v, graph.sources()[static_cast<std::size_t>(e)]);
  }
  return all;
}

/// Every edge in one piece, none longer than `most`, none over two rows.
void expect_pieces(const VirtualGraph& edges, const std::vector<Piece>& pieces, std::int32_t most) {
  std::vector<int> in(static_cast<std::size_t>(edges.edges()), 0);
  for (const Piece& piece : pieces) {
    ASSERT_GT(piece.count, 0);
    ASSERT_LE(piece.count, most > 0 ? most : piece.count);
    const auto row = static_cast<std::size_t>(piece.row);
    ASSERT_GE(piece.begin, edges.offsets[row]);
    ASSERT_LE(piece.begin + piece.count, edges.offsets[row + 1]);
    for (EdgeId e = piece.begin; e < piece.begin + piece.count; ++e) ++in[static_cast<std::size_t>(e)];
  }
  EXPECT_EQ(std::count(in.begin(), in.end(), 1), edges.edges());
}

/// Every piece of either kind in one unit.
void expect_units(const Workload& work, const std::vector<Unit>& units) {
  std::vector<int> local(work.local_pieces.size(), 0);
  std::vector<int> remote(work.remote_pieces.size(), 0);
  for (const Unit& unit : units) {
    for (std::int64_t p = unit.local_begin; p < unit.local_end; ++p) ++local[static_cast<std::size_t>(p)];
    for (std::int64_t p = unit.remote_begin; p < unit.remote_end; ++p) ++remote[static_cast<std::size_t>(p)];
  }
  EXPECT_EQ(std::count(local.begin(), local.end(), 1), std::ssize(local));
  EXPECT_EQ(std::count(remote.begin(), remote.end(), 1), std::ssize(remote));
}

TEST(Workload, TenThousandRandomSplitsKeepEveryEdge) {
  RandomStream random(1, 0);
  for (int round = 0; round < 10000; ++round) {
    const graph::Graph graph = random_graph(&random);
    const int devices = 1 + static_cast<int>(random.uniform() * 12);  // more than nodes, too
    const std::vector<std::int64_t> starts = partition::contiguous(graph.offsets(), devices);
    ASSERT_EQ(starts.front(), 0);
    ASSERT_EQ(starts.back(), graph.num_nodes());
    const int device = static_cast<int>(random.uniform() * devices);
    const Cut cut = {static_cast<std::int32_t>(random.uniform() * 6), random.uniform() < 0.5};
    const Workload work = make_workload(graph, starts, device, cut, 1);
    const auto p = static_cast<std::size_t>(device);
    ASSERT_EQ(edges_of(work, starts, device), edges_of(graph, starts[p], starts[p + 1])) << "round " << round;
    expect_pieces(work.local, work.local_pieces, cut.size);
    expect_pieces(work.remote, work.remote_pieces, cut.size);
    const int dist = 1 + static_cast<int>(random.uniform() * 4);
    expect_units(work, mixed_units(work, dist));
    expect_units(work, separate_units(work, dist));
    expect_units(work, row_units(work));
    if (HasFailure()) FAIL() << "round " << round;
  }
}

/// Bounds that do not descend from 0 to all nodes, loads that are even to a row, and each node at one address.
TEST(Workload, TenThousandRandomSplitsAreEvenToARow) {
  RandomStream random(2, 0);
  for (int round = 0; round < 10000; ++round) {
    const graph::Graph graph = random_graph(&random);
    const int devices = 1 + static_cast<int>(random.uniform() * 12);
    const std::vector<std::int64_t> starts = partition::contiguous(graph.offsets(), devices, 0);
    ASSERT_EQ(std::ssize(starts), devices + 1);
    ASSERT_EQ(starts.front(), 0);
    ASSERT_EQ(starts.back(), graph.num_nodes());
    ASSERT_TRUE(std::is_sorted(starts.begin(), starts.end()));
    const partition::Owners owners = partition::owners_of(starts);
    ASSERT_EQ(std::ssize(owners), graph.num_nodes());
    for (std::int64_t v = 0; v < graph.num_nodes(); ++v) {
      const auto owner = static_cast<std::size_t>(owners[static_cast<std::size_t>(v)]);
      ASSERT_TRUE(starts[owner] <= v && v < starts[owner + 1]) << "node " << v << " is not at device " << owner;
    }
    EdgeId heaviest = 0;
    for (std::int64_t v = 0; v < graph.num_nodes(); ++v)
      heaviest = std::max(
          heaviest, graph.offsets()[static_cast<std::size_t>(v) + 1] - graph.offsets()[static_cast<std::size_t>(v)]);
    for (std::size_t p = 0; p + 1 < starts.size(); ++p) {
      const EdgeId load = graph.offsets()[static_cast<std::size_t>(starts[p + 1])] -
                          graph.offsets()[static_cast<std::size_t>(starts[p])];
      ASSERT_LE(static_cast<double>(load),
                static_cast<double>(graph.num_edges()) / devices + static_cast<double>(heaviest));
    }
  }
}

TEST(Workload, PiecesByOwnerAreOfOneOwnerAndInTheirOrder) {
  RandomStream random(3, 0);
  for (int round = 0; round < 300; ++round) {
    const graph::Graph graph = random_graph(&random);
    const std::vector<std::int64_t> starts = partition::contiguous(graph.offsets(), 4);
    const Workload work = make_workload(graph, starts, 1, {3, true}, 1);
    int last = 0;
    for (const Piece& piece : work.remote_pieces) {
      const auto begin = static_cast<std::size_t>(piece.begin);
      const std::set<int> owners(work.remote.owners.begin() + begin, work.remote.owners.begin() + begin + piece.count);
      ASSERT_EQ(owners.size(), 1U);
      ASSERT_GE(*owners.begin(), last);
      last = *owners.begin();
    }
  }
}

TEST(Workload, IsTheSameForAnyNumberOfThreads) {
  std::vector<NodeId> from;
  std::vector<NodeId> to;
  RandomStream random(4, 0);
  for (int e = 0; e < 60000; ++e) {
    from.push_back(static_cast<NodeId>(random.uniform() * 20000));
    to.push_back(static_cast<NodeId>(random.uniform() * random.uniform() * 20000));
  }
  const graph::Graph graph =
      graph::build_graph({Buffer<NodeId>::copy_of(from), Buffer<NodeId>::copy_of(to), {}}, 20000);
  const std::vector<std::int64_t> starts = partition::contiguous(graph.offsets(), 3);
  const Workload one = make_workload(graph, starts, 1, {4, true}, 1);
  for (const int threads : {2, 5}) {
    const Workload many = make_workload(graph, starts, 1, {4, true}, threads);
    EXPECT_EQ(many.local_pieces, one.local_pieces);
    EXPECT_EQ(many.remote_pieces, one.remote_pieces);
    EXPECT_EQ(edges_of(many, starts, 1), edges_of(one, starts, 1));
  }
}

TEST(Units, HaveBothKindsInProportion) {
  const std::int64_t locals = 1000;
  const std::int64_t remotes = 3007;
  const std::int64_t units = num_units(locals, remotes, 2);
  EXPECT_EQ(units, (locals + remotes + 3) / 4);
  for (std::int64_t w = 0; w < units; ++w) {
    const Unit unit = unit_of(locals, remotes, units, w);
    EXPECT_NEAR(static_cast<double>(unit.local_end - unit.local_begin), 1000.0 / static_cast<double>(units), 1);
    EXPECT_NEAR(static_cast<double>(unit.remote_end - unit.remote_begin), 3007.0 / static_cast<double>(units), 1);
  }
  // Products beyond 64 bits.
  const std::int64_t many = std::int64_t{1} << 40;
  EXPECT_EQ(unit_of(many, many, many / 2, many / 2 - 1).local_end, many);
  EXPECT_EQ(num_units(0, 0, 3), 0);
}

TEST(Units, CountTheDistinctRowsThatTheyFetch) {
  // Rows 0 and 1 both read nodes 4 and 5 of the other device; 0 reads 4 twice.
  const graph::Graph graph = graph::build_graph({Buffer<NodeId>::copy_of(std::vector<NodeId>{4, 4, 5, 4, 5}),
                                                 Buffer<NodeId>::copy_of(std::vector<NodeId>{0, 0, 0, 1, 1}),
                                                 {}},
                                                6);
  const std::vector<std::int64_t> starts = {0, 3, 6};
  const Workload work = make_workload(graph, starts, 0, {0}, 1);
  ASSERT_EQ(work.remote_pieces.size(), 2U);
  EXPECT_EQ(distinct_rows(work, row_units(work)), 4);
  EXPECT_EQ(distinct_rows(work, std::vector<Unit>{{0, 0, 0, 2}}), 2);
  EXPECT_EQ(work.remote.edges(), 5);
}

}  // namespace
}  // namespace gneiss::exchange
