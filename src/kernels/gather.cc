// The contract of gather: what its arguments must be, and what runs it.
#include "kernels/gather.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "gather";

template <class T>
void check(const Context&, const GatherArgs<T>& args) {
  expect_pattern(kOp, args.pattern);
  expect_no_slots(kOp, args.pattern);
  expect_equal(kOp, rows_of("x", args.x), args.by_source ? cols_of(args.pattern) : rows_of(args.pattern));
  expect_shape(kOp, "e", args.e, args.pattern.nonzeros(), args.x.cols);
}

template <class T>
constexpr std::array kVariants = {f32_variant<GatherArgs<T>>("cpu", cpu::gather),
                                  reference_variant<GatherArgs<T>>(reference::gather<T>)};

}  // namespace

GNEISS_CONTRACT(gather, GatherArgs)

}  // namespace gneiss::kernels
