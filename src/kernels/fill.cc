// The contract of fill: what its arguments must be, and what runs it.
#include "kernels/fill.h"

#include "base/error.h"
#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "fill";

template <class T>
void check(const Context&, const FillArgs<T>& args) {
  if (!args.weights.empty()) expect_equal(kOp, length_of("weights", args.weights), rows_of("y", args.y));
  if (args.what != Fill::kDegrees) return;
  GNEISS_ASSERT(args.pattern != nullptr, "fill: there is no pattern to take degrees of");
  expect_pattern(kOp, *args.pattern);
  expect_equal(kOp, rows_of("y", args.y), rows_of(*args.pattern));
}

template <class T>
constexpr std::array kVariants = {f32_variant<FillArgs<T>>("cpu", cpu::fill),
                                  reference_variant<FillArgs<T>>(reference::fill<T>)};

}  // namespace

GNEISS_CONTRACT(fill, FillArgs)

}  // namespace gneiss::kernels
