// What several devices take: resources of an SM, simulated and modelled seconds, pages, and the search over settings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "exchange/model.h"
#include "exchange/pages.h"
#include "exchange/tuner.h"
#include "partition/contiguous.h"
#include "support/data_fixtures.h"

namespace gneiss::exchange {
namespace {

using ::testing::HasSubstr;

graph::Graph graph_of(const std::vector<NodeId>& from, const std::vector<NodeId>& to, std::int64_t nodes) {
  return graph::build_graph({Buffer<NodeId>::copy_of(from), Buffer<NodeId>::copy_of(to), {}}, nodes);
}

graph::Graph random_graph(std::int64_t nodes, std::int64_t edges) {
  RandomStream random(5, 0);
  std::vector<NodeId> from;
  std::vector<NodeId> to;
  for (std::int64_t e = 0; e < edges; ++e) {
    from.push_back(static_cast<NodeId>(random.uniform() * static_cast<double>(nodes)));
    to.push_back(static_cast<NodeId>(random.uniform() * random.uniform() * static_cast<double>(nodes)));
  }
  return graph_of(from, to, nodes);
}

TEST(Resources, AreThoseOfThePapersEquations) {
  // Equation 1 for Reddit's 602 columns, 16 edges a piece and 16 warps: 76 KB, where Listing 2 would take 1,205.
  const Tuning tuning = {16, 2, 16, 1};
  EXPECT_EQ(shared_bytes(tuning, 602), 16 * 16 * 4 + 2 * 16 * 602 * 4);
  EXPECT_EQ(work_per_warp(tuning, 602), 2 * 16 * 602 * 2);
  const Gpu& a100 = find_machine("dgx-a100").gpu;
  const Resources made = resources_of(tuning, 602, 1000, a100);
  EXPECT_EQ(made.refused, "");
  EXPECT_EQ(made.blocks, 63);
  EXPECT_EQ(made.blocks_per_sm, 2);  // 164 KB over 76 KB and a reserved one
  EXPECT_DOUBLE_EQ(made.occupancy, 0.5);
}

TEST(Resources, EveryWarpHasItsPlaceInTheBlock) {
  for (const std::int64_t columns : {1, 16, 602}) {
    const Tuning tuning = {7, 1, 5, 3};
    const SharedLayout layout = shared_layout(tuning, columns);
    EXPECT_LE(layout.ids + 7 * 4, layout.sum);
    EXPECT_LE(layout.sum + columns * 4, layout.landing);
    EXPECT_EQ(layout.landing + 3 * columns * 4, layout.bytes);
    EXPECT_EQ(5 * layout.bytes, shared_bytes(tuning, columns));
  }
}

TEST(Resources, SayWhyASettingCannotBeLaunched) {
  const Gpu& v100 = find_machine("dgx-v100").gpu;
  EXPECT_THAT(resources_of({16, 1, 16, 4}, 602, 10, v100).refused, HasSubstr("takes 193664 bytes of shared memory"));
  EXPECT_THAT(resources_of({33, 1, 1, 1}, 16, 10, v100).refused, HasSubstr("piece 1 to 32"));
  EXPECT_THAT(resources_of({1, 1, 0, 1}, 16, 10, v100).refused, HasSubstr("warps 1 to 16"));
  EXPECT_EQ(resources_of({1, 1, 1, 1}, 1, 10, v100).blocks_per_sm, 32);
  const Error error = testing::error_of([] { find_machine("dgx-a10"); });
  EXPECT_THAT(error.hint(), HasSubstr("dgx-a100"));
}

TEST(Simulation, OneRemoteRowTakesTheLinksLatencyAndItsBytes) {
  const graph::Graph graph = graph_of({1}, {0}, 2);
  const std::vector<std::int64_t> starts = {0, 1, 2};
  const Workload work = make_workload(graph, starts, 0, {4}, 1);
  const Machine& machine = find_machine("dgx-a100");
  const Launch launch{{4, 1, 1, 1}, 16, true, {}, 1};
  const Simulated made = simulate(work, mixed_units(work, 1), launch, machine);
  EXPECT_EQ(made.link_bytes, fetched_bytes(16));
  const double least = machine.seconds + 96 / machine.bytes_per_second;
  EXPECT_GE(made.seconds, least);
  EXPECT_LE(made.seconds, least + 0.1e-6);
}

TEST(Simulation, AWarpThatWaitsPaysTheLatencyOfEveryRow) {
  // A hub with a thousand remote neighbours, whole: one warp.
  std::vector<NodeId> from;
  for (NodeId v = 1; v <= 1000; ++v) from.push_back(v);
  const graph::Graph graph = graph_of(from, std::vector<NodeId>(1000, 0), 1001);
  const std::vector<std::int64_t> starts = {0, 1, 1001};
  const Machine& machine = find_machine("dgx-a100");
  const auto seconds = [&](std::int32_t size, bool overlap, int stages) {
    const Workload work = make_workload(graph, starts, 0, {size}, 1);
    return simulate(work, mixed_units(work, 1), {{8, 1, 2, stages}, 16, overlap, {}, 1}, machine).seconds;
  };
  EXPECT_NEAR(seconds(0, false, 1), 1000 * machine.seconds, 100 * machine.seconds);
  EXPECT_LT(seconds(0, true, 4), 0.3 * seconds(0, false, 1));
  EXPECT_LT(seconds(8, true, 4), 0.05 * seconds(0, false, 1));
}

TEST(Simulation, IsNotFasterThanTheLinkNorThanMemory) {
  const graph::Graph graph = random_graph(3000, 60000);
  const std::vector<std::int64_t> starts = partition::contiguous(graph.offsets(), 4);
  for (const char* name : {"dgx-a100", "dgx-v100", "hgx-h100", "pcie4"}) {
    const Machine& machine = find_machine(name);
    for (const Exchange exchange :
         {Exchange::kHalo, Exchange::kStream, Exchange::kFine, Exchange::kDirect, Exchange::kRing}) {
      const auto run = [&] { return simulate_exchange(exchange, graph, starts, 2, 64, {}, machine, 1); };
      const Simulated made = run();
      EXPECT_GE(made.seconds, static_cast<double>(made.link_bytes) / machine.bytes_per_second) << name_of(exchange);
      EXPECT_LE(made.link_busy, 1);
      EXPECT_LE(made.memory_busy, 1);
      EXPECT_EQ(run().seconds, made.seconds);
    }
  }
}

TEST(Simulation, StreamIsNotSlowerThanHaloAndDirectIsSlowest) {
  const graph::Graph graph = random_graph(20000, 600000);
  const std::vector<std::int64_t> starts = partition::contiguous(graph.offsets(), 4);
  const Machine& machine = find_machine("dgx-a100");
  const auto seconds = [&](Exchange exchange) {
    return simulate_exchange(exchange, graph, starts, 1, 64, {}, machine, 1).seconds;
  };
  EXPECT_LT(seconds(Exchange::kStream), seconds(Exchange::kHalo));
  EXPECT_LT(seconds(Exchange::kFine), seconds(Exchange::kDirect));
}

TEST(Model, CountsTheBytesOfTheTables) {
  const graph::Graph graph = random_graph(500, 4000);
  const std::vector<std::int64_t> starts = partition::contiguous(graph.offsets(), 3);
  const auto traffic = partition::part_traffic(graph, partition::owners_of(starts), 3);
  for (int p = 0; p < 3; ++p) {
    const Workload work = make_workload(graph, starts, p, {4}, 1);
    const SumSize size = size_of(traffic[static_cast<std::size_t>(p)], 200);
    EXPECT_EQ(work.local.edges(), size.local_edges);
    EXPECT_EQ(work.remote.edges(), size.remote_edges);
    const Simulated fine = simulate_exchange(Exchange::kFine, graph, starts, p, 16, {}, find_machine("pcie4"), 1);
    EXPECT_EQ(fine.link_bytes, size.remote_edges * fetched_bytes(16));
  }
}

TEST(Model, TakesTheExchangeWithTheLeastSeconds) {
  const Machine& machine = find_machine("dgx-a100");
  SumSize reused;  // each copy is read sixty times
  reused.rows = 100000;
  reused.local_edges = 1000000;
  reused.remote_edges = 6000000;
  reused.halo_rows = {0, 100000};
  reused.edge_rows = {0, 6000000};
  EXPECT_NE(choose_exchange(std::vector<SumSize>{reused}, 64, machine), Exchange::kFine);
  EXPECT_LT(modelled_seconds(Exchange::kStream, reused, 64, machine),
            modelled_seconds(Exchange::kFine, reused, 64, machine));
  SumSize alone;  // nothing is remote
  alone.rows = 10;
  alone.local_edges = 100;
  alone.halo_rows = {0, 0};
  alone.edge_rows = {0, 0};
  EXPECT_EQ(choose_exchange(std::vector<SumSize>{alone}, 64, machine), Exchange::kHalo);
}

TEST(PageFaults, AreCountedByOwner) {
  // Rows of 16 KB, four a page. Device 0 owns nodes 0 to 3, page 0; device 1 nodes 4 to 7, page 1.
  const graph::Graph graph = graph_of({0, 4, 4, 0, 5}, {0, 1, 2, 4, 5}, 8);
  const std::vector<std::int64_t> starts = {0, 4, 8};
  // A read a turn: 0 takes page 0; 1 takes page 0; 0 takes page 1; 1 takes page 1; 0 takes it back.
  EXPECT_EQ(count_page_faults(graph, starts, 4096, 1).faults, 5);
  // All in one turn: 0 reads pages 0, 1; 1 reads both.
  const PageFaults whole = count_page_faults(graph, starts, 4096, 100);
  EXPECT_EQ(whole.faults, 4);
  EXPECT_EQ(whole.most, 2);
  EXPECT_EQ(whole.bytes(), 4 * 65536);
}

/// A bowl over the settings, in logarithms.
double bowl(const Tuning& t, const Tuning& best) {
  const auto far = [](double a, double b) { return std::abs(std::log2(a / b)); };
  return 1 + 0.2 * far(t.piece * t.dist, best.piece * best.dist) + 0.3 * far(t.warps, best.warps) +
         0.1 * far(t.stages, best.stages);
}

TEST(Tuner, FindsTheBestInSixteenTrialsThroughNoise) {
  for (const Tuning best : {Tuning{32, 1, 4, 2}, Tuning{8, 1, 16, 1}, Tuning{32, 4, 8, 4}, Tuning{4, 1, 2, 2}}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      RandomStream random(seed, 0);
      Tuner tuner(16, [](const Tuning& t) {
        return t.piece >= 1 && t.piece <= 32 && t.warps >= 1 && t.warps <= 16 && t.dist >= 1 && t.dist <= 16 &&
               t.stages >= 1 && t.stages <= 4;
      });
      const double first = bowl(tuner.current(), best);
      while (!tuner.done()) tuner.record(bowl(tuner.current(), best) * random.uniform(0.975, 1.025));
      EXPECT_LE(tuner.trials(), 16);
      EXPECT_LE(bowl(tuner.current(), best), 1.05) << seed;
      EXPECT_LE(bowl(tuner.current(), best), first);
    }
  }
}

TEST(Tuner, AsksOnlyForSettingsThatCanBeLaunched) {
  const auto allowed = [](const Tuning& t) {
    return resources_of(t, 602, 1, find_machine("dgx-v100").gpu).refused.empty();
  };
  for (const TunerOrder order : {TunerOrder::kOurs, TunerOrder::kPaper}) {
    Tuner tuner(100, allowed, {order, 1, 0.03, 40});
    EXPECT_EQ(tuner.current() == (Tuning{1, 1, 1, 1}), order == TunerOrder::kPaper);
    while (!tuner.done()) {
      ASSERT_TRUE(allowed(tuner.current()));
      tuner.record(1.0 / (tuner.current().piece * tuner.current().dist * tuner.current().warps));  // more is better
    }
    EXPECT_TRUE(allowed(tuner.current()));
    const Tuning last = tuner.current();
    tuner.record(100);
    EXPECT_EQ(tuner.current(), last);
  }
}

TEST(Tuner, StaysWhereNothingIsBetter) {
  Tuner tuner(16, [](const Tuning& t) { return t.warps >= 1 && t.stages >= 1 && t.piece >= 1 && t.dist >= 1; });
  const Tuning first = tuner.current();
  while (!tuner.done()) tuner.record(tuner.current() == first ? 1.0 : 0.98);  // less than the gain that is asked for
  EXPECT_EQ(tuner.current(), first);
}

}  // namespace
}  // namespace gneiss::exchange
