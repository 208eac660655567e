// The contract of sddmm: what its arguments must be, and what runs it.
#include "kernels/sddmm.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "sddmm";

template <class T>
void check(const Context&, const SddmmArgs<T>& args) {
  expect_pattern(kOp, args.pattern);
  expect_no_slots(kOp, args.pattern);
  expect_equal(kOp, rows_of("y", args.y), rows_of(args.pattern));
  expect_equal(kOp, rows_of("x", args.x), cols_of(args.pattern), "was the graph reordered without its features?");
  expect_equal(kOp, cols_of("y", args.y), cols_of("x", args.x));
  expect_heads(kOp, args.heads, cols_of("x", args.x));
  expect_shape(kOp, "e", args.e, args.pattern.nonzeros(), args.heads);
}

template <class T>
constexpr std::array kVariants = {f32_variant<SddmmArgs<T>>("cpu", cpu::sddmm),
                                  reference_variant<SddmmArgs<T>>(reference::sddmm<T>)};

}  // namespace

GNEISS_CONTRACT(sddmm, SddmmArgs)

}  // namespace gneiss::kernels
