// The contract of clip_norm: what its arguments must be, and what runs it.
#include "kernels/clip_norm.h"

#include "base/error.h"
#include "kernels/chunks.h"
#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "clip_norm";

template <class T>
void check(const Context& context, const ClipNormArgs<T>& args) {
  GNEISS_ASSERT(args.norm != nullptr || args.g.data() == nullptr, "clip_norm: there is no place for the norm");
  expect_workspace(kOp, context, clip_norm_workspace_bytes(static_cast<std::int64_t>(args.g.size())));
}

template <class T>
constexpr std::array kVariants = {f32_variant<ClipNormArgs<T>>("cpu", cpu::clip_norm),
                                  reference_variant<ClipNormArgs<T>>(reference::clip_norm<T>)};

}  // namespace

std::size_t clip_norm_workspace_bytes(std::int64_t n) {
  return static_cast<std::size_t>(reduction_chunks(n)) * sizeof(double);
}

GNEISS_CONTRACT(clip_norm, ClipNormArgs)

}  // namespace gneiss::kernels
