// edge_softmax, its backward and sddmm: edges and bytes a second, and the share of a limit measured in the same run.
#include <benchmark/benchmark.h>

#include "inputs.h"
#include "kernels/edge_softmax.h"
#include "kernels/edge_softmax_grad.h"
#include "kernels/sddmm.h"
#include "limits.h"

namespace gneiss::bench {
namespace {

void report(benchmark::State& state, std::int64_t edges, double bytes, double limit, const char* limit_name) {
  const auto runs = static_cast<double>(state.iterations());
  state.counters["edges/s"] = benchmark::Counter(static_cast<double>(edges) * runs, benchmark::Counter::kIsRate);
  state.counters["GB/s"] = benchmark::Counter(bytes * runs * 1e-9, benchmark::Counter::kIsRate);
  state.counters[limit_name] = benchmark::Counter(bytes * runs / limit, benchmark::Counter::kIsRate);
}

void edge_softmax(benchmark::State& state) {
  const GraphInput& graph = graph_input("arxiv");
  const std::int64_t heads = state.range(0);
  const int threads = static_cast<int>(state.range(1));
  Buffer<float> e = random_values(graph.edges() * heads, 1), a = Buffer<float>::zeros(e.size());
  const kernels::EdgeSoftmaxArgs<float> args{
      graph.offsets.span(), {e.data(), graph.edges(), heads}, {a.data(), graph.edges(), heads}};
  for (auto _ : state) kernels::edge_softmax<float>({threads, {}}, args);
  report(state, graph.edges(), 8.0 * static_cast<double>(e.size()), read_bytes_per_second(threads), "of_read");
}

void edge_softmax_grad(benchmark::State& state) {
  const GraphInput& graph = graph_input("arxiv");
  const std::int64_t heads = state.range(0);
  const int threads = static_cast<int>(state.range(1));
  Buffer<float> a = random_values(graph.edges() * heads, 1), da = random_values(graph.edges() * heads, 2),
                de = Buffer<float>::zeros(a.size());
  const kernels::EdgeSoftmaxGradArgs<float> args{graph.offsets.span(),
                                                 {a.data(), graph.edges(), heads},
                                                 {da.data(), graph.edges(), heads},
                                                 {de.data(), graph.edges(), heads}};
  for (auto _ : state) kernels::edge_softmax_grad<float>({threads, {}}, args);
  report(state, graph.edges(), 12.0 * static_cast<double>(a.size()), read_bytes_per_second(threads), "of_read");
}

void sddmm(benchmark::State& state) {
  const GraphInput& graph = graph_input("arxiv");
  const std::int64_t d = state.range(0);
  const std::int64_t heads = state.range(1);
  const int threads = static_cast<int>(state.range(2));
  Buffer<float> y = random_values(graph.nodes * d, 1), x = random_values(graph.nodes * d, 2);
  Buffer<float> e = Buffer<float>::zeros(static_cast<std::size_t>(graph.edges() * heads));
  const kernels::SddmmArgs<float> args{
      graph.pattern(), {y.data(), graph.nodes, d}, {x.data(), graph.nodes, d}, heads, {e.data(), graph.edges(), heads}};
  for (auto _ : state) kernels::sddmm<float>({threads, {}}, args);
  report(state, graph.edges(), 4.0 * static_cast<double>(graph.edges() * d),
         gather_bytes_per_second(threads, d * 4, graph.nodes * d * 4), "of_gather");
}

BENCHMARK(edge_softmax)
    ->ArgNames({"heads", "threads"})
    ->ArgsProduct({{1, 3, 8}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(edge_softmax_grad)
    ->ArgNames({"heads", "threads"})
    ->ArgsProduct({{1, 3, 8}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(sddmm)
    ->ArgNames({"d", "heads", "threads"})
    ->ArgsProduct({{32, 64, 128}, {1, 8}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gneiss::bench
