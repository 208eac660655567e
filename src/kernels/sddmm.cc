// Contract and dispatch of sddmm.
#include "kernels/sddmm.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "sddmm";

template <class T>
constexpr std::array kVariants = {f32_variant<SddmmArgs, T>("cpu", cpu::sddmm),
                                  reference_variant<SddmmArgs, T>(reference::sddmm<T>)};

}  // namespace

template <class T>
void sddmm(const Context& context, const SddmmArgs<T>& args) {
  expect_pattern(kOp, args.pattern);
  expect_no_slots(kOp, args.pattern);
  expect_equal(kOp, rows_of("y", args.y), rows_of(args.pattern));
  expect_equal(kOp, rows_of("x", args.x), cols_of(args.pattern), "was the graph reordered without its features?");
  expect_equal(kOp, cols_of("y", args.y), cols_of("x", args.x));
  expect_heads(kOp, args.heads, cols_of("x", args.x));
  expect_shape(kOp, "e", args.e, args.pattern.nonzeros(), args.heads);
  choose(kOp, sddmm_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<SddmmArgs<T>>> sddmm_variants() {
  return kVariants<T>;
}

template void sddmm<float>(const Context&, const SddmmArgs<float>&);
template void sddmm<double>(const Context&, const SddmmArgs<double>&);
template std::span<const Variant<SddmmArgs<float>>> sddmm_variants<float>();
template std::span<const Variant<SddmmArgs<double>>> sddmm_variants<double>();

}  // namespace gneiss::kernels
