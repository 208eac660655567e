// spx_gemm against the dense product of the same matrix: stored values and flop a second, and the ratio of the two
// times.
#include <benchmark/benchmark.h>

#include <chrono>

#include "base/random.h"
#include "inputs.h"
#include "kernels/gemm.h"
#include "kernels/spx_gemm.h"

namespace gneiss::bench {
namespace {

/// 20,000 x 8,710 with `permille` of a thousand entries stored, evenly spread.
void spx_gemm(benchmark::State& state) {
  const std::int64_t rows = 20'000, cols = 8'710, out = 32;
  const std::int64_t per_row = cols * state.range(0) / 1000;
  const int threads = static_cast<int>(state.range(1));
  RandomStream random(3, 3);
  Buffer<EdgeId> offsets(static_cast<std::size_t>(rows) + 1);
  Buffer<NodeId> indices(static_cast<std::size_t>(rows * per_row));
  for (std::int64_t r = 0; r <= rows; ++r) offsets[static_cast<std::size_t>(r)] = r * per_row;
  for (std::int64_t k = 0; k < rows * per_row; ++k) {
    const std::int64_t first = k % per_row * cols / per_row;
    indices[static_cast<std::size_t>(k)] = static_cast<NodeId>(
        first + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(cols / per_row))));
  }
  Buffer<float> values = random_values(rows * per_row, 1), b = random_values(cols * out, 2),
                c(static_cast<std::size_t>(rows * out));
  const kernels::SpxGemmArgs<float> args{
      {rows, cols, offsets.span(), indices.span(), {}}, values.span(), {b.data(), cols, out}, {c.data(), rows, out}};
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) kernels::spx_gemm<float>({threads, {}}, args);
  const double sparse_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
                                static_cast<double>(state.iterations());

  Buffer<float> dense = random_values(rows * cols, 4);
  const kernels::GemmArgs<float> product{
      {dense.data(), rows, cols}, {b.data(), cols, out}, {c.data(), rows, out}, kernels::Orientation::kNN};
  double dense_seconds = 1e30;
  for (int i = 0; i < 3; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    kernels::gemm<float>({threads, {}}, product);
    dense_seconds =
        std::min(dense_seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  const double stored = static_cast<double>(rows * per_row) * static_cast<double>(state.iterations());
  state.counters["values/s"] = benchmark::Counter(stored, benchmark::Counter::kIsRate);
  state.counters["flop/s"] = benchmark::Counter(2.0 * stored * static_cast<double>(out), benchmark::Counter::kIsRate);
  state.counters["dense/sparse"] = dense_seconds / sparse_seconds;
}

BENCHMARK(spx_gemm)
    ->ArgNames({"permille", "threads"})
    ->ArgsProduct({{1, 9, 77, 200}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gneiss::bench
