// Entries of a variant table: `cpu` computes in f32 and declines f64, `reference` takes everything.
#pragma once

#include <array>
#include <string_view>
#include <type_traits>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <template <class> class Args, class T>
std::string_view takes_all(const Args<T>&) {
  return {};
}

template <template <class> class Args, class T>
std::string_view takes_f32(const Args<T>&) {
  return std::is_same_v<T, float> ? std::string_view() : "it computes in f32 only";
}

template <template <class> class Args, class T>
constexpr Variant<Args<T>> reference_variant(void (*run)(const Context&, const Args<T>&)) {
  return {"reference", takes_all<Args, T>, run};
}

/// An f32 kernel in the table of type T.
template <template <class> class Args, class T>
constexpr Variant<Args<T>> f32_variant(std::string_view name, void (*run)(const Context&, const Args<float>&),
                                       BandKernel<Args<float>> (*bands)(const Args<float>&) = nullptr,
                                       std::string_view (*declines)(const Args<T>&) = takes_f32<Args, T>) {
  if constexpr (std::is_same_v<T, float>) {
    return {name, declines, run, bands};
  } else {
    return {name, takes_f32<Args, T>, nullptr};
  }
}

}  // namespace gneiss::kernels
