// Contract and dispatch of to_half.
#include "kernels/to_half.h"

#include "base/error.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "to_half";

template <class T>
constexpr std::array kVariants = {f32_variant<ToHalfArgs, T>("cpu", cpu::to_half),
                                  reference_variant<ToHalfArgs, T>(reference::to_half<T>)};

}  // namespace

template <class T>
void to_half(const Context& context, const ToHalfArgs<T>& args) {
  GNEISS_CHECK(args.y.used(), ErrorCode::kShape, "to_half: y is not in 16 bits");
  choose(kOp, to_half_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<ToHalfArgs<T>>> to_half_variants() {
  return kVariants<T>;
}

template void to_half<float>(const Context&, const ToHalfArgs<float>&);
template void to_half<double>(const Context&, const ToHalfArgs<double>&);
template std::span<const Variant<ToHalfArgs<float>>> to_half_variants<float>();
template std::span<const Variant<ToHalfArgs<double>>> to_half_variants<double>();

}  // namespace gneiss::kernels
