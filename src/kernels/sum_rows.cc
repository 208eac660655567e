// The contract of sum_rows: what its arguments must be, and what runs it.
#include "kernels/sum_rows.h"

#include "kernels/chunks.h"
#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "sum_rows";

template <class T>
void check(const Context& context, const SumRowsArgs<T>& args) {
  expect_shape(kOp, "y", args.y, 1, args.x.cols);
  if (args.weights.rows != 0) {
    expect_equal(kOp, rows_of("weights", args.weights), rows_of("x", args.x));
    expect_broadcast(kOp, "weights", args.weights, "x", args.x);
  }
  expect_workspace(kOp, context, sum_rows_workspace_bytes(args.x.rows, args.x.cols, sizeof(T)));
}

template <class T>
constexpr std::array kVariants = {f32_variant<SumRowsArgs<T>>("cpu", cpu::sum_rows, cpu::sum_rows_bands),
                                  reference_variant<SumRowsArgs<T>>(reference::sum_rows<T>)};

}  // namespace

std::size_t sum_rows_workspace_bytes(std::int64_t n, std::int64_t d, std::size_t) {
  return static_cast<std::size_t>(reduction_chunks(n) * d) * sizeof(double);
}

GNEISS_CONTRACT(sum_rows, SumRowsArgs)

}  // namespace gneiss::kernels
