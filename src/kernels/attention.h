// Additive attention over in-edges, scores, softmax and weighted sum in one pass.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

/// The fast kernels of attention and its backward take at most this many heads.
inline constexpr std::int64_t kMostAttentionHeads = 512;

/// Why the fast kernels of attention and its backward decline `args`, or "".
template <class Args>
std::string_view few_heads(const Args& args) {
  return args.heads <= kMostAttentionHeads ? std::string_view() : "it takes up to 512 heads";
}
template <class Args>
std::string_view few_heads_in_tiles(const Args& args) {
  return args.tiles.empty() ? "the pattern is not cut by sources" : few_heads(args);
}

template <class T, Space S = Space::kHost>
struct AttentionArgs {
  SparsePatternIn<S> pattern;  ///< in-edges
  ConstMatrixView<T, S> z;
  ConstMatrixView<T, S> s_src;
  ConstMatrixView<T, S> s_dst;
  ConstMatrixView<T, S> gate;  ///< of each edge and head (dropout), or no data and no rows
  std::int64_t heads = 1;
  double slope = 0.2;
  MatrixView<T, S> y;
  MatrixView<T, S> tangent;          ///< no rows: not wanted
  MatrixView<T, S> lse;              ///< no rows: not wanted
  TiledPatternIn<S> tiles = {};      ///< of `pattern`, or empty
  ConstMatrixView<T, S> range = {};  ///< of s_src over all ranks, as rank_range makes it, or no data and no rows
};

/// What the tiled variant keeps of each row and head between tiles: the highest score, and the two sums of weights.
inline constexpr std::int64_t kAttentionStates = 3;
/// Parts of the sources whose scores are compared side by side.
inline constexpr std::int64_t kScoreRangeParts = 64;

/// Values that the range of scores takes at the start of the scratch: whether it bounds those of every row; of each
/// head the highest score, and the highest and lowest of each part.
constexpr std::int64_t score_range_values(std::int64_t heads) {
  return (1 + heads * (1 + 2 * kScoreRangeParts) + 15) / 16 * 16;
}

/// Scratch that attention needs; `tiled`: its pattern is cut by sources.
std::size_t attention_workspace_bytes(std::int64_t destinations, std::int64_t heads, bool tiled,
                                      std::size_t value_bytes);

/// Attends to the sources of v's in-edges k = (u -> v), per head h; f is the leaky ReLU with the given slope:
///   e[k,h] = f(s_src[u,h] + s_dst[v,h])      a[k,h] = exp(e[k,h]) / sum over the row of exp(e)
///   y[v,h,:]       = sum over the row of a[k,h] * gate[k,h] * z[u,h,:]
///   tangent[v,h,:] = ∂ y[v,h,:] / ∂ s_dst[v,h]: all that backward needs of the row, so that it need not read z again
///   lse[v,h]       = log of the sum of exp(e), from which backward has a[k,h] = exp(e - lse) without storing an edge
///   value
/// Shapes    z: [n_src, heads*d]; s_src: [n_src, heads]; s_dst, lse: [n_dst, heads]; gate: [nnz, heads] in the order of
///           the in-edges; range: [2, heads]; y, tangent: [n_dst, heads*d]. A row without edges gives zeros.
/// Aliasing  no result overlaps anything. Bitwise equal for any number of threads; with the range of all sources, a row
///           has the same bits whichever other rows and sources are here
/// Cost      each row of z read once for each of its out-edges; nothing of the size of the edges
/// Errors    kShape
/// Source    Velickovic et al., ICLR 2018; pyg nn/conv/gat_conv.py
template <class T>
void attention(const Context& context, const AttentionArgs<T>& args);

template <class T>
std::span<const Variant<AttentionArgs<T>>> attention_variants();

}  // namespace gneiss::kernels
