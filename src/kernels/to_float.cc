// Contract and dispatch of to_float.
#include "kernels/to_float.h"

#include "base/error.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "to_float";

template <class T>
constexpr std::array kVariants = {f32_variant<ToFloatArgs, T>("cpu", cpu::to_float),
                                  reference_variant<ToFloatArgs, T>(reference::to_float<T>)};

}  // namespace

template <class T>
void to_float(const Context& context, const ToFloatArgs<T>& args) {
  GNEISS_CHECK(args.x.used(), ErrorCode::kShape, "to_float: x is not in 16 bits");
  choose(kOp, to_float_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<ToFloatArgs<T>>> to_float_variants() {
  return kVariants<T>;
}

template void to_float<float>(const Context&, const ToFloatArgs<float>&);
template void to_float<double>(const Context&, const ToFloatArgs<double>&);
template std::span<const Variant<ToFloatArgs<float>>> to_float_variants<float>();
template std::span<const Variant<ToFloatArgs<double>>> to_float_variants<double>();

}  // namespace gneiss::kernels
