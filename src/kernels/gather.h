// Node rows copied to edges.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct GatherArgs {
  SparsePatternIn<S> pattern;
  bool by_source = true;
  ConstMatrixView<T, S> x;
  MatrixView<T, S> e;
};

/// Copies a row to every edge: by source e[k,:] = x[index k,:] or by destination e[k,:] = x[v,:] for k in row v.
/// Shapes    pattern: n×k without slots; x: [k,d] or [n,d]; e: [nnz,d]. Errors kShape
template <class T>
void gather(const Context& context, const GatherArgs<T>& args);

template <class T>
std::span<const Variant<GatherArgs<T>>> gather_variants();

}  // namespace gneiss::kernels
