// dropout: elements and bytes a second (one read, one write), and the share of reading in order.
#include <benchmark/benchmark.h>

#include "inputs.h"
#include "kernels/dropout.h"
#include "limits.h"

namespace gneiss::bench {
namespace {

void report(benchmark::State& state, std::int64_t elements, int threads) {
  const double bytes = 8.0 * static_cast<double>(elements) * static_cast<double>(state.iterations());
  state.counters["elements/s"] = benchmark::Counter(bytes / 8, benchmark::Counter::kIsRate);
  state.counters["GB/s"] = benchmark::Counter(bytes * 1e-9, benchmark::Counter::kIsRate);
  state.counters["of_read"] = benchmark::Counter(bytes / read_bytes_per_second(threads), benchmark::Counter::kIsRate);
}

void dropout_nodes(benchmark::State& state) {
  const std::int64_t rows = 169'343;
  const std::int64_t d = state.range(0);
  const int threads = static_cast<int>(state.range(1));
  Buffer<float> x = random_values(rows * d, 1), y = Buffer<float>::zeros(static_cast<std::size_t>(rows * d));
  kernels::DropoutArgs<float> args{0.5, 1, 1, 1, {}, nullptr, nullptr, {x.data(), rows, d}, {y.data(), rows, d}};
  for (auto _ : state) {
    kernels::dropout<float>({threads, {}}, args);
    ++args.epoch;
  }
  report(state, rows * d, threads);
}

void dropout_edges(benchmark::State& state) {
  const GraphInput& graph = graph_input("arxiv");
  const SparsePattern pattern = graph.pattern();
  const std::int64_t heads = state.range(0);
  const int threads = static_cast<int>(state.range(1));
  Buffer<float> x = random_values(graph.edges() * heads, 1), y(x.size());
  const kernels::DropoutArgs<float> args{
      0.5, 1, 1, 1, {}, &pattern, nullptr, {x.data(), graph.edges(), heads}, {y.data(), graph.edges(), heads}};
  for (auto _ : state) kernels::dropout<float>({threads, {}}, args);
  report(state, graph.edges() * heads, threads);
}

BENCHMARK(dropout_nodes)
    ->ArgNames({"d", "threads"})
    ->ArgsProduct({{32, 33, 128, 1433}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(dropout_edges)
    ->ArgNames({"heads", "threads"})
    ->ArgsProduct({{1, 3, 8}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gneiss::bench
