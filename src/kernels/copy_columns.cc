// The contract of copy_columns: what its arguments must be, and what runs it.
#include "kernels/copy_columns.h"

#include "base/error.h"
#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "copy_columns";

/// Throws kShape unless columns begin .. begin + count lie inside `cols`.
void expect_block(std::string_view owner, std::int64_t begin, std::int64_t count, std::int64_t cols) {
  GNEISS_CHECK(begin >= 0 && count >= 0 && begin <= cols && count <= cols - begin, ErrorCode::kShape,
               "copy_columns: columns {} .. {} are asked of {}, which has {}", begin, begin + count, owner, cols);
}

template <class T>
void check(const Context&, const CopyColumnsArgs<T>& args) {
  expect_equal(kOp, rows_of("dst", args.dst), rows_of("src", args.src));
  expect_block("src", args.src_begin, args.count, args.src.cols);
  expect_block("dst", args.dst_begin, args.count, args.dst.cols);
}

template <class T>
constexpr std::array kVariants = {f32_variant<CopyColumnsArgs<T>>("cpu", cpu::copy_columns),
                                  reference_variant<CopyColumnsArgs<T>>(reference::copy_columns<T>)};

}  // namespace

GNEISS_CONTRACT(copy_columns, CopyColumnsArgs)

}  // namespace gneiss::kernels
