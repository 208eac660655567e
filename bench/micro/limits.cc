#include "limits.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <tuple>

#include "base/buffer.h"
#include "base/parallel.h"
#include "base/prefetch.h"
#include "base/random.h"
#include "inputs.h"
#include "kernels/gemm.h"

namespace gneiss::bench {
namespace {

/// Seconds of the fastest of five calls.
double fastest(const std::function<void()>& work) {
  double best = 1e30;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

volatile float sink;  // keeps the compiler from dropping the sums

double measure_read(int threads) {
  const std::int64_t size = std::int64_t{1} << 28;
  Buffer<float> data = Buffer<float>::zeros(static_cast<std::size_t>(size));
  const double seconds = fastest([&] {
    parallel_chunks(threads, size, 1 << 20, [&](std::int64_t begin, std::int64_t end) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t i = begin; i < end; ++i) sum += data[static_cast<std::size_t>(i)];
      sink = sum;
    });
  });
  return static_cast<double>(size) * sizeof(float) / seconds;
}

template <Fetch kFetch>
double measure_gather(int threads, std::int64_t row_bytes, std::int64_t table_bytes) {
  constexpr std::int64_t kLine = 16;  // f32 in a cache line
  constexpr std::int64_t kFar = 128;
  constexpr std::int64_t kNear = kFetch == Fetch::kTwice ? 8 : 32;
  const std::int64_t width = std::max<std::int64_t>(kLine, row_bytes / 4);
  const std::int64_t rows = std::max<std::int64_t>(1, table_bytes / 4 / width);
  const std::int64_t reads = (std::int64_t{1} << 28) / (width * 4) * 2;
  Buffer<float> table = Buffer<float>::zeros(static_cast<std::size_t>(rows * width));
  Buffer<NodeId> order(static_cast<std::size_t>(reads + kFar));
  RandomStream random(5, 5);
  for (NodeId& row : order) row = static_cast<NodeId>(random.below(static_cast<std::uint64_t>(rows)));
  const double seconds = fastest([&] {
    parallel_chunks(threads, reads, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
      float sum = 0;
      for (std::int64_t i = begin; i < end; ++i) {
        const auto row_of = [&](std::int64_t k) { return table.data() + order[static_cast<std::size_t>(k)] * width; };
        [[maybe_unused]] const float* far = kFetch == Fetch::kTwice ? row_of(i + kFar) : nullptr;
        const float* later = row_of(i + kNear);
        const float* row = row_of(i);
        for (std::int64_t c = 0; c < width; c += kLine) {
          if constexpr (kFetch == Fetch::kTwice) prefetch_far(far + c);
          prefetch(later + c);
          sum += row[c];
        }
      }
      sink = sum;
    });
  });
  return static_cast<double>(reads * width) * sizeof(float) / seconds;
}

double measure_product(int threads) {
  const std::int64_t n = 1536;
  Buffer<float> a = random_values(n * n, 1), b = random_values(n * n, 2),
                c = Buffer<float>::zeros(static_cast<std::size_t>(n * n));
  const kernels::GemmArgs<float> args{{a.data(), n, n}, {b.data(), n, n}, {c.data(), n, n}, kernels::Orientation::kNN};
  Buffer<std::byte> scratch(kernels::gemm_workspace_bytes(args.orientation, n, n, n, sizeof(float)));
  return 2.0 * static_cast<double>(n * n * n) / fastest([&] { kernels::gemm<float>({threads, scratch.span()}, args); });
}

/// Measured once a run for each set of arguments.
template <class... Args>
double once(double (*measure)(Args...), Args... args) {
  static std::map<std::tuple<double (*)(Args...), Args...>, double> known;
  const auto [entry, is_new] = known.try_emplace({measure, args...}, 0.0);
  if (is_new) entry->second = measure(args...);
  return entry->second;
}

}  // namespace

double read_bytes_per_second(int threads) { return once(measure_read, threads); }

double gather_bytes_per_second(int threads, std::int64_t row_bytes, std::int64_t table_bytes, Fetch fetch) {
  const auto measure = fetch == Fetch::kTwice ? measure_gather<Fetch::kTwice> : measure_gather<Fetch::kOnce>;
  return once(measure, threads, row_bytes, table_bytes);
}

double product_flop_per_second(int threads) { return once(measure_product, threads); }

}  // namespace gneiss::bench
