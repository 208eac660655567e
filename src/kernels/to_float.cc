// The contract of to_float: what its arguments must be, and what runs it.
#include "kernels/to_float.h"

#include "base/error.h"
#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "to_float";

template <class T>
void check(const Context&, const ToFloatArgs<T>& args) {
  GNEISS_CHECK(args.x.used(), ErrorCode::kShape, "to_float: x is not in 16 bits");
}

template <class T>
constexpr std::array kVariants = {f32_variant<ToFloatArgs<T>>("cpu", cpu::to_float),
                                  reference_variant<ToFloatArgs<T>>(reference::to_float<T>)};

}  // namespace

GNEISS_CONTRACT(to_float, ToFloatArgs)

}  // namespace gneiss::kernels
