// The contract of dropout: what its arguments must be, and what runs it.
#include "kernels/dropout.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "dropout";

template <class T>
void check(const Context&, const DropoutArgs<T>& args) {
  GNEISS_CHECK(args.p >= 0 && args.p <= 1, ErrorCode::kUsage, "dropout: p is {}, expected 0 <= p <= 1", args.p);
  expect_shape(kOp, "y", args.y, args.x.rows, args.x.cols);
  GNEISS_ASSERT(args.in_edges == nullptr || args.sparse_rows == nullptr, "dropout: x is both edge and sparse values");
  std::int64_t ids = args.x.rows;
  if (const SparsePattern* pattern = args.in_edges != nullptr ? args.in_edges : args.sparse_rows) {
    expect_pattern(kOp, *pattern);
    expect_no_slots(kOp, *pattern);
    expect_equal(kOp, rows_of("x", args.x), nonzeros_of(*pattern));
    ids = args.in_edges != nullptr ? std::max(pattern->rows, pattern->cols) : pattern->rows;
  }
  if (args.sparse_rows != nullptr) expect_equal(kOp, cols_of("x", args.x), {"a list of sparse values", "columns", 1});
  if (!args.row_ids.empty()) expect_equal(kOp, length_of("row_ids", args.row_ids), {"x", "rows with an id", ids});
}

template <class T>
constexpr std::array kVariants = {f32_variant<DropoutArgs<T>>("cpu", cpu::dropout),
                                  reference_variant<DropoutArgs<T>>(reference::dropout<T>)};

}  // namespace

GNEISS_CONTRACT(dropout, DropoutArgs)

}  // namespace gneiss::kernels
