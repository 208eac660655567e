// gemm at the shapes of GNNs (many rows, few columns): flop a second the share of a large square
// product, for each variant. Compare variants with
// --benchmark_enable_random_interleaving=true --benchmark_repetitions=9.
#include <benchmark/benchmark.h>

#include <string>
#include <utility>

#include "inputs.h"
#include "kernels/gemm.h"
#include "limits.h"

namespace gneiss::bench {
namespace {

void gemm(benchmark::State& state, const kernels::Variant<kernels::GemmArgs<float>>& variant,
          kernels::Orientation orientation, std::int64_t in, std::int64_t out, int threads, HalfType left) {
  const std::int64_t rows = 169'343;
  const bool tn = orientation == kernels::Orientation::kTN;
  const bool nt = orientation == kernels::Orientation::kNT;
  // nn: x * w; tn: the weight gradient xᵀ * dy; nt: the input gradient dy * wᵀ.
  Buffer<float> x = random_values(rows * (nt ? out : in), 1);
  Buffer<float> other = random_values(tn ? rows * out : in * out, 2);
  Buffer<float> c = Buffer<float>::zeros(static_cast<std::size_t>(tn ? in * out : rows * (nt ? in : out)));
  kernels::GemmArgs<float> args{{x.data(), rows, nt ? out : in},
                                {other.data(), tn ? rows : in, out},
                                {c.data(), tn ? in : rows, nt ? in : out},
                                orientation};
  Buffer<std::uint16_t> halves(left == HalfType::kNone ? 0 : x.size());
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = to_half(left, x[i]);
  args.a_half = {left, halves.data(), args.a.stride};
  const std::int64_t inner = tn ? rows : nt ? out : in;
  Buffer<std::byte> scratch(kernels::gemm_workspace_bytes(orientation, args.c.rows, args.c.cols, inner, sizeof(float)) +
                            64);
  const kernels::Context context{threads, scratch.span()};
  variant.run(context, args);  // the first touch of c is not the product's cost
  for (auto _ : state) variant.run(context, args);
  const double flop = 2.0 * static_cast<double>(rows * in * out) * static_cast<double>(state.iterations());
  state.counters["flop/s"] = benchmark::Counter(flop, benchmark::Counter::kIsRate);
  state.counters["of_square"] =
      benchmark::Counter(flop / product_flop_per_second(threads), benchmark::Counter::kIsRate);
}

const int kRegistered = [] {
  const std::pair<std::string, kernels::Orientation> orientations[] = {
      {"nn", kernels::Orientation::kNN}, {"tn", kernels::Orientation::kTN}, {"nt", kernels::Orientation::kNT}};
  const std::pair<std::int64_t, std::int64_t> shapes[] = {{602, 32},  {128, 32},  {32, 32},  {32, 40},
                                                          {100, 256}, {128, 256}, {256, 256}};
  for (const auto& [name, orientation] : orientations) {
    for (const auto& [in, out] : shapes) {
      for (const auto& variant : kernels::gemm_variants<float>()) {
        if (variant.name == "reference") continue;
        for (const int threads : {1, 2}) {
          for (const HalfType left : {HalfType::kNone, HalfType::kBf16, HalfType::kF16}) {
            // 16-bit operands are features: of nn and tn, and of our own variant.
            if (left != HalfType::kNone && (name == "nt" || variant.name != "cpu")) continue;
            const std::string full = "gemm/" + name + "/in:" + std::to_string(in) + "/out:" + std::to_string(out) +
                                     "/" + std::string(variant.name) + "/threads:" + std::to_string(threads) +
                                     (left == HalfType::kNone ? "" : "/left:" + std::string(half_name(left)));
            benchmark::RegisterBenchmark(full.c_str(), gemm, variant, orientation, in, out, threads, left)
                ->UseRealTime()
                ->Unit(benchmark::kMillisecond);
          }
        }
      }
    }
  }
  return 0;
}();

}  // namespace
}  // namespace gneiss::bench
