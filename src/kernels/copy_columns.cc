// Contract and dispatch of copy_columns.
#include "kernels/copy_columns.h"

#include "base/error.h"
#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "copy_columns";

/// Throws kShape unless columns begin .. begin + count lie inside `cols`.
void expect_block(std::string_view owner, std::int64_t begin, std::int64_t count, std::int64_t cols) {
  GNEISS_CHECK(begin >= 0 && count >= 0 && begin <= cols && count <= cols - begin, ErrorCode::kShape,
               "copy_columns: columns {} .. {} are asked of {}, which has {}", begin, begin + count, owner, cols);
}

template <class T>
constexpr std::array kVariants = {f32_variant<CopyColumnsArgs, T>("cpu", cpu::copy_columns),
                                  reference_variant<CopyColumnsArgs, T>(reference::copy_columns<T>)};

}  // namespace

template <class T>
void copy_columns(const Context& context, const CopyColumnsArgs<T>& args) {
  expect_equal(kOp, rows_of("dst", args.dst), rows_of("src", args.src));
  expect_block("src", args.src_begin, args.count, args.src.cols);
  expect_block("dst", args.dst_begin, args.count, args.dst.cols);
  choose(kOp, copy_columns_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<CopyColumnsArgs<T>>> copy_columns_variants() {
  return kVariants<T>;
}

template void copy_columns<float>(const Context&, const CopyColumnsArgs<float>&);
template void copy_columns<double>(const Context&, const CopyColumnsArgs<double>&);
template std::span<const Variant<CopyColumnsArgs<float>>> copy_columns_variants<float>();
template std::span<const Variant<CopyColumnsArgs<double>>> copy_columns_variants<double>();

}  // namespace gneiss::kernels
