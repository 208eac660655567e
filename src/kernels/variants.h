// Entries of a variant table: `cpu` computes in f32 and declines f64, `reference` takes everything.
#pragma once

#include <array>
#include <string_view>
#include <type_traits>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class Args>
std::string_view takes_all(const Args&) {
  return {};
}

template <class Args>
std::string_view takes_f32(const Args&) {
  return "it computes in f32 only";
}

template <class Args>
constexpr Variant<Args> reference_variant(void (*run)(const Context&, const Args&)) {
  return {"reference", takes_all<Args>, run};
}

/// An f32 kernel in the table of `Args`, which may be those of another type: there it stands and declines. `bands` says
/// how it is cut into bands, `declines` which f32 arguments it does not take, `passes` how it goes through the rows.
template <class Args, class F32>
constexpr Variant<Args> f32_variant(std::string_view name, void (*run)(const Context&, const F32&),
                                    std::type_identity_t<BandKernel<F32> (*)(const F32&)> bands = nullptr,
                                    std::type_identity_t<std::string_view (*)(const F32&)> declines = takes_all<F32>,
                                    Passes passes = Passes::kOne) {
  if constexpr (std::is_same_v<Args, F32>) {
    return {name, declines, run, bands, passes};
  } else {
    return {name, takes_f32<Args>, nullptr};
  }
}

}  // namespace gneiss::kernels
