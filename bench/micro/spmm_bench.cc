// spmm: edges and bytes a second, and the share of a uniform gather of equal rows from a table as large as x.
// A share above 1 means that hubs and communities hit the caches.
#include <benchmark/benchmark.h>

#include "inputs.h"
#include "kernels/spmm.h"
#include "limits.h"

namespace gneiss::bench {
namespace {

enum Mode : std::int64_t { kSum, kWeighted, kHeads, kMax };

void spmm(benchmark::State& state, const char* name) {
  const GraphInput& graph = graph_input(name);
  const std::int64_t d = state.range(0);
  const auto mode = static_cast<Mode>(state.range(1));
  const int threads = static_cast<int>(state.range(2));
  const std::int64_t heads = mode == kHeads ? 8 : 1;
  Buffer<float> x = random_values(graph.nodes * d, 1);
  Buffer<float> w = random_values(mode == kWeighted || mode == kHeads ? graph.edges() * heads : 0, 2);
  Buffer<float> y(static_cast<std::size_t>(graph.nodes * d));
  Buffer<std::int32_t> arg(static_cast<std::size_t>(mode == kMax ? graph.nodes * d : 0));
  kernels::SpmmArgs<float> args{graph.pattern(),       {x.data(), graph.nodes, d}, w.span(), heads,
                                kernels::Reduce::kSum, {y.data(), graph.nodes, d}, {}};
  if (mode == kMax) {
    args.reduce = kernels::Reduce::kMax;
    args.arg = {arg.data(), graph.nodes, d};
  }
  for (auto _ : state) kernels::spmm<float>({threads, {}}, args);
  const double edges = static_cast<double>(graph.edges()) * static_cast<double>(state.iterations());
  const double limit = gather_bytes_per_second(threads, d * 4, graph.nodes * d * 4);
  state.counters["edges/s"] = benchmark::Counter(edges, benchmark::Counter::kIsRate);
  state.counters["GB/s"] = benchmark::Counter(edges * static_cast<double>(d) * 4e-9, benchmark::Counter::kIsRate);
  state.counters["of_gather"] =
      benchmark::Counter(edges * static_cast<double>(d) * 4 / limit, benchmark::Counter::kIsRate);
}

const std::vector<std::int64_t> kThreads = {1, 2};

BENCHMARK_CAPTURE(spmm, arxiv, "arxiv")
    ->ArgNames({"d", "mode", "threads"})
    ->ArgsProduct({{16, 32, 64, 128, 256}, {kSum, kWeighted, kHeads, kMax}, kThreads})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(spmm, reddit_tenth, "reddit-tenth")
    ->ArgNames({"d", "mode", "threads"})
    ->ArgsProduct({{32, 128}, {kSum, kWeighted}, kThreads})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gneiss::bench
