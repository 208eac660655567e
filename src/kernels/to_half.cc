// The contract of to_half: what its arguments must be, and what runs it.
#include "kernels/to_half.h"

#include "base/error.h"
#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "to_half";

template <class T>
void check(const Context&, const ToHalfArgs<T>& args) {
  GNEISS_CHECK(args.y.used(), ErrorCode::kShape, "to_half: y is not in 16 bits");
}

template <class T>
constexpr std::array kVariants = {f32_variant<ToHalfArgs<T>>("cpu", cpu::to_half),
                                  reference_variant<ToHalfArgs<T>>(reference::to_half<T>)};

}  // namespace

GNEISS_CONTRACT(to_half, ToHalfArgs)

}  // namespace gneiss::kernels
