// gemm at the shapes of GNNs (many rows, few columns): flop a second and the share of a large square product.
#include <benchmark/benchmark.h>

#include "inputs.h"
#include "kernels/gemm.h"
#include "limits.h"

namespace gneiss::bench {
namespace {

void gemm(benchmark::State& state, kernels::Orientation orientation) {
  const std::int64_t rows = 169'343;
  const std::int64_t in = state.range(0);
  const std::int64_t out = state.range(1);
  const int threads = static_cast<int>(state.range(2));
  const bool tn = orientation == kernels::Orientation::kTN;
  const bool nt = orientation == kernels::Orientation::kNT;
  // nn: x * w; tn: the weight gradient xᵀ * dy; nt: the input gradient dy * wᵀ.
  Buffer<float> x = random_values(rows * (nt ? out : in), 1);
  Buffer<float> other = random_values(tn ? rows * out : in * out, 2);
  Buffer<float> c(static_cast<std::size_t>(tn ? in * out : rows * (nt ? in : out)));
  const kernels::GemmArgs<float> args{{x.data(), rows, nt ? out : in},
                                      {other.data(), tn ? rows : in, out},
                                      {c.data(), tn ? in : rows, nt ? in : out},
                                      orientation};
  Buffer<std::byte> scratch(kernels::gemm_workspace_bytes(orientation, in, out, rows, sizeof(float)) + 64);
  for (auto _ : state) kernels::gemm<float>({threads, scratch.span()}, args);
  const double flop = 2.0 * static_cast<double>(rows * in * out) * static_cast<double>(state.iterations());
  state.counters["flop/s"] = benchmark::Counter(flop, benchmark::Counter::kIsRate);
  state.counters["of_square"] =
      benchmark::Counter(flop / product_flop_per_second(threads), benchmark::Counter::kIsRate);
}

const std::vector<std::vector<std::int64_t>> kShapes = {{32, 128, 602}, {32, 256}, {1, 2}};

BENCHMARK_CAPTURE(gemm, nn, kernels::Orientation::kNN)
    ->ArgNames({"in", "out", "threads"})
    ->ArgsProduct(kShapes)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gemm, tn, kernels::Orientation::kTN)
    ->ArgNames({"in", "out", "threads"})
    ->ArgsProduct(kShapes)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gemm, nt, kernels::Orientation::kNT)
    ->ArgNames({"in", "out", "threads"})
    ->ArgsProduct(kShapes)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gneiss::bench
