// The definition itself, each thread in its own rows; bound by memory.
#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu/cpu.h"

namespace gneiss::kernels::cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 14;  // rows: a task worth a thread's waking

}  // namespace

void fill(const Context& context, const FillArgs<float>& args) {
  const auto each_row = [&](const auto& value_of) {
    parallel_chunks(context.threads, args.y.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        std::fill_n(args.y.row(r), args.y.cols, value_of(static_cast<std::size_t>(r)));
      }
    });
  };
  if (args.what == Fill::kDegrees) {
    const EdgeId* offsets = args.pattern->offsets.data();
    return each_row([&](std::size_t row) { return static_cast<float>(offsets[row + 1] - offsets[row]); });
  }
  if (args.what == Fill::kEdgeWeights && !args.weights.empty()) {
    return each_row([&](std::size_t row) { return args.weights[row]; });
  }
  const float value = args.what == Fill::kConstant ? static_cast<float>(args.value) : 1.0F;
  each_row([&](std::size_t) { return value; });
}

}  // namespace gneiss::kernels::cpu
