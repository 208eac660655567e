// Rows that lie with several devices, fetched and added in the order of the devices: what halo, halo_add and rank_sum
// are where a device reads the others' memory itself (device kernels alone).
#pragma once

#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/spmm_units.h"

namespace gneiss::kernels {

/// Adds rows of the others to own rows, each row's in order.
///   y[v,:] = x[v,:] + sum over k in row v of peers[owner k][source k]   (without x: the sum alone)
/// Shapes    y: [n, d]; x: as y, or empty; offsets: [n + 1]; owners, sources: [entries]; peers: [devices]
/// Aliasing  y may be x; y overlaps no row of the others. A row without x and without entries: 0.
/// Cost      (entries + 2 n) d 4 bytes, entries of them over links; the same bits in every run
template <class T, Space S = Space::kHost>
struct SumPeerRowsArgs {
  ConstMatrixView<T, S> x;
  MatrixView<T, S> y;
  SpanIn<const PeerRows<T>, S> peers;
  SpanIn<const std::int32_t, S> offsets;
  SpanIn<const std::uint8_t, S> owners;
  SpanIn<const NodeId, S> sources;
};

}  // namespace gneiss::kernels
