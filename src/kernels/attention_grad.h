// Backward of attention, in one pass over out-edges.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct AttentionGradArgs {
  SparsePatternIn<S> pattern;  ///< out-edges
  ConstMatrixView<T, S> z;
  ConstMatrixView<T, S> s_src;
  ConstMatrixView<T, S> s_dst;
  ConstMatrixView<T, S> lse;
  ConstMatrixView<T, S> dots;  ///< <dy, y> of each head
  ConstMatrixView<T, S> dy;
  ConstMatrixView<T, S> gate;  ///< or no data and no rows
  std::int64_t heads = 1;
  double slope = 0.2;
  MatrixView<T, S> dz;
  MatrixView<T, S> ds_src;
  TiledPatternIn<S> tiles = {};  ///< of `pattern`, or empty
};

/// Values that attention_grad keeps side by side for each head of a destination: s_dst, lse, dots and one to fill
/// up, so that four heads lie on one cache line.
inline constexpr std::int64_t kPackedValues = 4;

/// Scratch that attention_grad needs.
std::size_t attention_grad_workspace_bytes(std::int64_t destinations, std::int64_t heads, std::size_t value_bytes);

/// With a, e, f of attention, and g[k,h] = f'(e[k,h]) (1 or the slope):
///   dz[u,h,:]   = sum over out-edges k = (u -> v) of a * gate * dy[v,h,:]
///   ds_src[u,h] = <z[u,h,:], sum of a * g * gate * dy[v,h,:]> - sum of a * g * dots[v,h]
/// The inner product with z[u] is taken once a row: no edge needs an inner product of its own. The gradient of s_dst is
/// <dy[v,h,:], tangent[v,h,:]>, which like dots takes no edge at all.
/// Shapes    as in attention; dz: [n_src, heads*d], ds_src: [n_src, heads]; lse, dots: [n_dst, heads]
/// Aliasing  no result overlaps anything. Bitwise equal for any number of threads
/// Cost      each row of dy read once for each of its in-edges
/// Errors    kShape
template <class T>
void attention_grad(const Context& context, const AttentionGradArgs<T>& args);

template <class T>
std::span<const Variant<AttentionGradArgs<T>>> attention_grad_variants();

}  // namespace gneiss::kernels
