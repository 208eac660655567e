// Dense matrix product in three orientations.
#pragma once

#include <cstdint>
#include <span>

#include "base/half.h"
#include "kernels/kernel.h"

namespace gneiss::kernels {

enum class Orientation : std::uint8_t { kNN, kTN, kNT };

template <class T, Space S = Space::kHost>
struct GemmArgs {
  ConstMatrixView<T, S> a;
  ConstMatrixView<T, S> b;
  MatrixView<T, S> c;
  Orientation orientation = Orientation::kNN;
  ConstMatrixView<T, S> addend = {};  ///< nn and nt only, or no rows
  HalfElements<const std::uint16_t, S> a_half =
      {};  ///< where used: the elements of a, which then gives the shape alone
};

/// Scratch that gemm needs for c [m,n] with inner size k: b packed, or tn's partial results.
std::size_t gemm_workspace_bytes(Orientation orientation, std::int64_t m, std::int64_t n, std::int64_t k,
                                 std::size_t value_bytes);

/// Multiplies two dense matrices.
///   nn: c = a * b      tn: c = aᵀ * b      nt: c = a * bᵀ
/// plus the addend, if there is one (a row is added to every row).
/// Shapes    c: [m,n]; addend: [m or 1, n]; nn: a [m,k], b [k,n]; tn: a [k,m], b [k,n]; nt: a [m,k], b [n,k]
/// Aliasing  c may be the addend, else it overlaps nothing. k = 0 gives zeros. Bitwise equal for any number of threads
/// (fixed row blocks; tn adds
///           partial products of fixed row chunks in order).
/// Precision a in 16 bits is widened as it is read: the same bits as from its f32 copy.
/// Cost      2·m·n·k flop; workspace of the size of b (nn, nt) or of the partial results (tn)
/// Errors    kShape if the sizes do not agree
template <class T>
void gemm(const Context& context, const GemmArgs<T>& args);

template <class T>
std::span<const Variant<GemmArgs<T>>> gemm_variants();

}  // namespace gneiss::kernels
