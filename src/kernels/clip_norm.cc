// Contract and dispatch of clip_norm.
#include "kernels/clip_norm.h"

#include "base/error.h"
#include "kernels/check.h"
#include "kernels/chunks.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "clip_norm";

template <class T>
constexpr std::array kVariants = {f32_variant<ClipNormArgs, T>("cpu", cpu::clip_norm),
                                  reference_variant<ClipNormArgs, T>(reference::clip_norm<T>)};

}  // namespace

std::size_t clip_norm_workspace_bytes(std::int64_t n) {
  return static_cast<std::size_t>(reduction_chunks(n)) * sizeof(double);
}

template <class T>
void clip_norm(const Context& context, const ClipNormArgs<T>& args) {
  GNEISS_ASSERT(args.norm != nullptr || args.g.data() == nullptr, "clip_norm: there is no place for the norm");
  expect_workspace(kOp, context, clip_norm_workspace_bytes(static_cast<std::int64_t>(args.g.size())));
  choose(kOp, clip_norm_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<ClipNormArgs<T>>> clip_norm_variants() {
  return kVariants<T>;
}

template void clip_norm<float>(const Context&, const ClipNormArgs<float>&);
template void clip_norm<double>(const Context&, const ClipNormArgs<double>&);
template std::span<const Variant<ClipNormArgs<float>>> clip_norm_variants<float>();
template std::span<const Variant<ClipNormArgs<double>>> clip_norm_variants<double>();

}  // namespace gneiss::kernels
