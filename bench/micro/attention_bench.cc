// attention and its backward: edges and bytes of neighbours' rows a second, and the share of a uniform gather of such
// rows.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <string>

#include "inputs.h"
#include "kernels/attention.h"
#include "kernels/attention_grad.h"
#include "limits.h"

namespace gneiss::bench {
namespace {

constexpr std::int64_t kColumns = 32;
const char* const kGraphs[] = {"arxiv", "arxiv-clusters", "reddit-tenth", "arxiv-directed", "arxiv-directed-clusters"};

/// The arguments of a benchmark: graph, heads, threads.
struct Call {
  explicit Call(const benchmark::State& state)
      : name(kGraphs[state.range(0)]),
        graph(graph_input(name)),
        heads(state.range(1)),
        threads(static_cast<int>(state.range(2))) {}

  std::string name;
  const GraphInput& graph;
  std::int64_t heads;
  int threads;
  Buffer<float> z = random_values(graph.nodes * kColumns, 1);
  Buffer<float> s_src = random_values(graph.nodes * heads, 2);
  Buffer<float> s_dst = random_values(graph.nodes * heads, 3);

  ConstMatrixView<float> rows(const Buffer<float>& values, std::int64_t columns) const {
    return {values.data(), graph.nodes, columns};
  }
  MatrixView<float> rows(Buffer<float>& values, std::int64_t columns) const {
    return {values.data(), graph.nodes, columns};
  }

  void report(benchmark::State& state) const {
    const auto edges = static_cast<double>(graph.edges()) * static_cast<double>(state.iterations());
    const double row_bytes = 4 * kColumns;
    const double limit = gather_bytes_per_second(threads, 4 * kColumns, graph.nodes * 4 * kColumns);
    state.counters["edges/s"] = benchmark::Counter(edges, benchmark::Counter::kIsRate);
    state.counters["GB/s"] = benchmark::Counter(row_bytes * edges * 1e-9, benchmark::Counter::kIsRate);
    state.counters["of_gather"] = benchmark::Counter(row_bytes * edges / limit, benchmark::Counter::kIsRate);
    state.SetLabel(name);
  }
};

void attention(benchmark::State& state) {
  const Call call(state);
  Buffer<float> y = Buffer<float>::zeros(call.z.size()), tangent = Buffer<float>::zeros(call.z.size()),
                lse = Buffer<float>::zeros(call.s_src.size());
  Buffer<std::byte> scratch(kernels::attention_workspace_bytes(call.graph.nodes, call.heads, false, sizeof(float)));
  kernels::AttentionArgs<float> args;
  args.pattern = call.graph.pattern();
  args.z = call.rows(call.z, kColumns);
  args.s_src = call.rows(call.s_src, call.heads);
  args.s_dst = call.rows(call.s_dst, call.heads);
  args.heads = call.heads;
  args.y = call.rows(y, kColumns);
  args.tangent = call.rows(tangent, kColumns);
  args.lse = call.rows(lse, call.heads);
  for (auto _ : state) kernels::attention<float>({call.threads, scratch.span()}, args);
  call.report(state);
}

void attention_grad(benchmark::State& state) {
  const Call call(state);
  Buffer<float> dz = Buffer<float>::zeros(call.z.size()), ds_src = Buffer<float>::zeros(call.s_src.size());
  Buffer<float> lse = random_values(call.graph.nodes * call.heads, 4),
                dots = random_values(call.graph.nodes * call.heads, 5);
  Buffer<std::byte> scratch(kernels::attention_grad_workspace_bytes(call.graph.nodes, call.heads, sizeof(float)));
  kernels::AttentionGradArgs<float> args;
  args.pattern = call.graph.pattern();
  args.z = call.rows(call.z, kColumns);
  args.s_src = call.rows(call.s_src, call.heads);
  args.s_dst = call.rows(call.s_dst, call.heads);
  args.lse = call.rows(lse, call.heads);
  args.dots = call.rows(dots, call.heads);
  args.dy = call.rows(call.z, kColumns);
  args.heads = call.heads;
  args.dz = call.rows(dz, kColumns);
  args.ds_src = call.rows(ds_src, call.heads);
  for (auto _ : state) kernels::attention_grad<float>({call.threads, scratch.span()}, args);
  call.report(state);
}

BENCHMARK(attention)
    ->ArgNames({"graph", "heads", "threads"})
    ->ArgsProduct({{0, 1, 2, 3, 4}, {1, 4, 8}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(attention_grad)
    ->ArgNames({"graph", "heads", "threads"})
    ->ArgsProduct({{0, 1, 2, 3, 4}, {1, 4, 8}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gneiss::bench
