// spx_gemm against the dense product of the same matrix by oneDNN: stored values and flop a second, and the ratio of
// the two times.
//   forward    sparse features times weights
//   gradient   transposed features, with a copy of their values, times the gradient of the nodes
//   slots      the same with values that are found by slots, as after dropout
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/random.h"
#include "graph/graph.h"
#include "inputs.h"
#include "kernels/gemm.h"
#include "kernels/spx_gemm.h"

namespace gneiss::bench {
namespace {

constexpr std::int64_t kRows = 20'000;
constexpr std::int64_t kCols = 8'710;
constexpr std::int64_t kOut = 32;

/// kRows x kCols with the same number of entries in each row, evenly spread.
struct Features {
  explicit Features(std::int64_t per_row)
      : offsets(kRows + 1),
        indices(static_cast<std::size_t>(kRows * per_row)),
        values(random_values(kRows * per_row, 1)) {
    RandomStream random(3, 3);
    for (std::int64_t r = 0; r <= kRows; ++r) offsets[static_cast<std::size_t>(r)] = r * per_row;
    for (std::int64_t k = 0; k < kRows * per_row; ++k) {
      const std::int64_t first = k % per_row * kCols / per_row;
      indices[static_cast<std::size_t>(k)] = static_cast<NodeId>(
          first + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(kCols / per_row))));
    }
  }
  SparsePattern pattern() const { return {kRows, kCols, offsets, indices, {}}; }

  Buffer<EdgeId> offsets;
  Buffer<NodeId> indices;
  Buffer<float> values;
};

/// Least seconds of three dense products of the same shapes by oneDNN.
double dense_seconds(bool gradient, int threads) {
  const Buffer<float> a = random_values(kRows * kCols, 4);
  const Buffer<float> b = random_values((gradient ? kRows : kCols) * kOut, 5);
  Buffer<float> c = Buffer<float>::zeros(static_cast<std::size_t>((gradient ? kCols : kRows) * kOut));
  const kernels::GemmArgs<float> args{{a.data(), kRows, kCols},
                                      {b.data(), gradient ? kRows : kCols, kOut},
                                      {c.data(), gradient ? kCols : kRows, kOut},
                                      gradient ? kernels::Orientation::kTN : kernels::Orientation::kNN};
  Buffer<std::byte> scratch(kernels::gemm_workspace_bytes(args.orientation, args.c.rows, args.c.cols,
                                                          gradient ? kRows : kCols, sizeof(float)) +
                            64);
  const auto variants = kernels::gemm_variants<float>();
  const auto onednn = std::find_if(variants.begin(), variants.end(), [](const auto& v) { return v.name == "onednn"; });
  double least = 1e30;
  for (int i = 0; i < 3; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    onednn->run({threads, scratch.span()}, args);
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return least;
}

void spx_gemm(benchmark::State& state, std::string_view product) {
  const std::int64_t per_row = kCols * state.range(0) / 1000;
  const int threads = static_cast<int>(state.range(1));
  const bool gradient = product != "forward";
  const Features features(per_row);
  graph::Transpose transposed;
  if (product == "gradient") transposed = graph::transpose(features.pattern(), features.values);
  if (product == "slots") transposed = graph::transpose(features.pattern());
  const Buffer<float> b = random_values((gradient ? kRows : kCols) * kOut, 2);
  Buffer<float> c = Buffer<float>::zeros(static_cast<std::size_t>((gradient ? kCols : kRows) * kOut));
  const kernels::SpxGemmArgs<float> args{gradient ? transposed.pattern() : features.pattern(),
                                         product == "gradient" ? transposed.values.span() : features.values.span(),
                                         {b.data(), gradient ? kRows : kCols, kOut},
                                         {c.data(), gradient ? kCols : kRows, kOut}};
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) kernels::spx_gemm<float>({threads, {}}, args);
  const double sparse_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
                                static_cast<double>(state.iterations());
  const double stored = static_cast<double>(kRows * per_row) * static_cast<double>(state.iterations());
  state.counters["values/s"] = benchmark::Counter(stored, benchmark::Counter::kIsRate);
  state.counters["flop/s"] = benchmark::Counter(2.0 * stored * static_cast<double>(kOut), benchmark::Counter::kIsRate);
  state.counters["dense/sparse"] = dense_seconds(gradient, threads) / sparse_seconds;
}

void densities(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"permille", "threads"})
      ->ArgsProduct({{1, 10, 77, 200}, {1, 2}})
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(spx_gemm, forward, "forward")->Apply(densities);
BENCHMARK_CAPTURE(spx_gemm, gradient, "gradient")->Apply(densities);
BENCHMARK_CAPTURE(spx_gemm, slots, "slots")->Apply(densities);

}  // namespace
}  // namespace gneiss::bench
