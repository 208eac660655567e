// Neighbour sampling: edges a second and core beside the rate at which this machine reads random cache lines, measured
// in the same run. A sampled edge needs at least one line of the graph, and another of the table of ids where that does
// not fit a cache.
//   sample        one batch after the other, a worker for each thread, as the loader does
//   together      one batch by all threads
//   picks         choosing alone, of rows of one degree
#include <benchmark/benchmark.h>

#include <map>
#include <string_view>
#include <thread>
#include <vector>

#include "base/random.h"
#include "inputs.h"
#include "limits.h"
#include "minibatch/draws.h"
#include "minibatch/sampler.h"
#include "minibatch/seeds.h"
#include "minibatch/workspace.h"

namespace gneiss::bench {
namespace {

using minibatch::InEdges;
using minibatch::MiniBatch;
using minibatch::Sampler;
using minibatch::SeedOrder;
using minibatch::Slab;

constexpr std::int64_t kBatchSize = 1024;

/// Random lines a second of one thread, from a table of the size of the graph's edges.
double lines_per_second(int threads, std::int64_t bytes) {
  static std::map<std::pair<int, std::int64_t>, double> known;
  double& rate = known[{threads, bytes}];
  if (rate == 0) rate = gather_bytes_per_second(threads, 64, bytes, Fetch::kTwice) / 64;
  return rate;
}

struct Input {
  explicit Input(std::string_view name)
      : input(graph_input(name)), graph{input.offsets, input.indices, {}, {}, {}}, seeds(order(input)) {}
  static SeedOrder<NodeId> order(const GraphInput& input) {
    std::vector<NodeId> nodes;
    for (std::int64_t v = 0; v < input.nodes; v += 10) nodes.push_back(static_cast<NodeId>(v));
    return {nodes, input.nodes, {}, {.batch_size = kBatchSize}};
  }

  const GraphInput& input;
  InEdges<NodeId> graph;
  SeedOrder<NodeId> seeds;
};

struct Counted {
  std::int64_t edges = 0;
  std::int64_t nodes = 0;
};

Counted counted(const Slab& slab) {
  const MiniBatch<NodeId> batch(slab);
  Counted sum{0, static_cast<std::int64_t>(batch.nodes().size())};
  for (int h = 0; h < batch.hops(); ++h) sum.edges += batch.hop(h).num_edges();
  return sum;
}

void report(benchmark::State& state, const Counted& sum, int threads, const Input& input) {
  const double lines = lines_per_second(threads, input.input.edges() * static_cast<std::int64_t>(sizeof(NodeId)));
  const auto edges = static_cast<double>(sum.edges);
  state.counters["edges/s/core"] = benchmark::Counter(edges / threads, benchmark::Counter::kIsRate);
  state.counters["lines/s/core"] = lines / threads;
  state.counters["edges/line"] = benchmark::Counter(edges / lines, benchmark::Counter::kIsRate);
  state.counters["edges/batch"] = benchmark::Counter(edges, benchmark::Counter::kAvgIterations);
  state.counters["nodes/edges"] = static_cast<double>(sum.nodes) / edges;
}

void sample(benchmark::State& state, std::string_view name, minibatch::SamplerOptions options) {
  const int threads = static_cast<int>(state.range(0));
  const Input input(name);
  const Sampler<NodeId> sampler(input.graph, std::move(options));
  std::vector<std::unique_ptr<minibatch::Workspace<NodeId>>> workspaces;
  std::vector<Slab> slabs(static_cast<std::size_t>(threads));
  for (int t = 0; t < threads; ++t) workspaces.push_back(sampler.make_workspace());
  const auto epoch = input.seeds.epoch(1);
  const std::int64_t batches = input.seeds.batches_per_epoch();
  std::vector<Counted> sums(static_cast<std::size_t>(threads));
  const auto work = [&](std::size_t t, std::int64_t index) {
    const minibatch::BatchKey key{0, 1, index % batches};
    sampler.sample(key, input.seeds.batch(epoch, key.index), workspaces[t].get(), &slabs[t]);
    const Counted one = counted(slabs[t]);
    sums[t].edges += one.edges;
    sums[t].nodes += one.nodes;
  };
  std::int64_t next = 0;
  for (std::size_t t = 0; t < slabs.size(); ++t) work(t, next++);  // tables and slabs are there now
  for (Counted& sum : sums) sum = {};
  for (auto _ : state) {
    std::vector<std::thread> workers;
    for (std::size_t t = 1; t < slabs.size(); ++t) {
      const std::int64_t index = next++;
      workers.emplace_back([&work, t, index] { work(t, index); });
    }
    work(0, next++);
    for (std::thread& worker : workers) worker.join();
  }
  Counted sum;
  for (const Counted& one : sums) {
    sum.edges += one.edges;
    sum.nodes += one.nodes;
  }
  report(state, sum, threads, input);
}

void together(benchmark::State& state, std::string_view name) {
  const int threads = static_cast<int>(state.range(0));
  const Input input(name);
  const Sampler<NodeId> sampler(input.graph, {.fanout = {15, 10, 5}});
  const auto workspace = sampler.make_workspace();
  Slab slab;
  Counted sum;
  std::int64_t next = 0;
  for (auto _ : state) {
    const minibatch::BatchKey key{0, 1, next++ % input.seeds.batches_per_epoch()};
    sampler.sample_together(key, input.seeds.batch(input.seeds.epoch(1), key.index), threads, workspace.get(), &slab);
    const Counted one = counted(slab);
    sum.edges += one.edges;
    sum.nodes += one.nodes;
  }
  report(state, sum, threads, input);
}

/// Choosing alone, of rows of one degree.
void picks(benchmark::State& state) {
  const std::int64_t degree = state.range(0);
  const std::int64_t count = state.range(1);
  std::vector<EdgeId> out(static_cast<std::size_t>(count));
  minibatch::PickScratch scratch;
  std::uint64_t key = 1;
  for (auto _ : state) {
    minibatch::pick_distinct(minibatch::mix64(key++), {0, degree}, count, out.data(), &scratch);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.counters["picks/s"] = benchmark::Counter(static_cast<double>(count) * static_cast<double>(state.iterations()),
                                                 benchmark::Counter::kIsRate);
}

void threads(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
}

const std::vector<std::int64_t> kFanout = {15, 10, 5};

BENCHMARK(picks)->ArgNames({"degree", "count"})->ArgsProduct({{20, 50, 500, 5000}, {5, 10, 15}});
BENCHMARK_CAPTURE(sample, arxiv, "arxiv", {.fanout = kFanout})->Apply(threads);
BENCHMARK_CAPTURE(sample, products, "products", {.fanout = kFanout})->Apply(threads);
BENCHMARK_CAPTURE(sample, products_hash, "products", {.fanout = kFanout, .table = minibatch::TableKind::kHash})
    ->Apply(threads);
BENCHMARK_CAPTURE(sample, products_subgraph, "products",
                  {.fanout = kFanout, .semantics = minibatch::Semantics::kSubgraph})
    ->Apply(threads);
BENCHMARK_CAPTURE(sample, products_replace, "products", {.fanout = kFanout, .replace = true})->Apply(threads);
BENCHMARK_CAPTURE(sample, products_labor, "products", {.fanout = kFanout, .labor = true})->Apply(threads);
BENCHMARK_CAPTURE(together, products, "products")->Apply(threads);

}  // namespace
}  // namespace gneiss::bench
