// The H100's rates as formulas over the grids of Rates, from a handful of numbers that others published: 3.0 TB/s of
// its memory in a copy and 2.7 where rows are gathered; 7.5 TB/s of rows of 128 bytes that its L2 has, to 40 MB of
// table (RRZE gpu-benches on H100 PCIe and H200, scaled); 55 of 67 Tflop/s of f32 in products; 1.5 us a kernel in a
// captured graph. Memory moves in sectors of 32 bytes. Nobody has published rates of attention, dropout, exponentials,
// segments and maps, nor that of a stream from the L2: they are assumed, and so high that memory decides.
#include "cost/device_profile.h"

#include <algorithm>
#include <cmath>

namespace gneiss::cost {
namespace {

constexpr double kSectorBytes = 32;
constexpr double kCopy = 3.0e12;
constexpr double kGatherMemory = 2.7e12;
constexpr double kGatherCache = 7.5e12;
constexpr double kCacheBytes = 40e6;
constexpr double kFlops = 55e12;
constexpr double kElement = sizeof(float);
constexpr double kEntryBytes = sizeof(std::int32_t) + sizeof(float);  // of a sparse matrix

template <class Rate>
RateGrid grid(std::vector<double> columns, std::vector<double> sizes, const Rate& rate) {
  RateGrid made{std::move(columns), std::move(sizes), {}};
  for (const double c : made.columns) {
    for (const double s : made.sizes) made.rates.push_back(rate(c, s));
  }
  return made;
}

/// Of the bytes that are moved for a row of so many columns, the part that is asked for.
double used_of_sectors(double columns) {
  const double bytes = columns * kElement;
  return bytes / (std::ceil(bytes / kSectorBytes) * kSectorBytes);
}

/// c [m,n] with inner size k: products, or the rows of a and c from memory.
double product_flops(double n, double k) {
  const double by_memory = 2 * n * k / (kElement * (n + k)) * kCopy;
  return std::min(kFlops, by_memory);
}

/// Products of stored values: each entry is read once, with a row of a matrix that L2 has.
RateGrid sparse_products(double entry_bytes) {
  return grid({1, 8, 32, 128, 512}, {1e6}, [&](double columns, double) {
    const double seconds =
        entry_bytes / kCopy + columns * kElement / used_of_sectors(columns) / kGatherCache;  // of an entry
    return 2 * columns / seconds;
  });
}

DeviceProfile describe_h100() {
  DeviceProfile card;
  card.name = "NVIDIA H100 80GB";
  card.memory_bytes = std::int64_t{79} << 30;
  Rates& rates = card.rates;
  rates.source = "an NVIDIA H100 as it is described, modelled and not measured";
  const std::vector<double> widths = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
  rates.gather = grid(widths, {kCacheBytes, 1.6 * kCacheBytes}, [](double columns, double table) {
    return used_of_sectors(columns) * (table <= kCacheBytes ? kGatherCache : kGatherMemory);
  });
  rates.tile_gather = rates.gather;
  rates.gemm_nn = grid(widths, widths, product_flops);
  rates.gemm_nt = rates.gemm_nn;
  rates.gemm_tn = rates.gemm_nn;
  rates.spx_forward = sparse_products(kEntryBytes);
  rates.spx_gradient = rates.spx_forward;
  rates.spx_slots = sparse_products(kEntryBytes + sizeof(std::int64_t) + kSectorBytes);
  rates.spx_rows = 8710;
  rates.stream = grid({1}, {kCacheBytes / 2, 2 * kCacheBytes},
                      [](double, double bytes) { return bytes < kCacheBytes ? 5e12 : kCopy; });
  rates.attention = 1e12;
  rates.attention_grad = 1e12;
  rates.dropout = 1e12;
  rates.exponentials = 1e12;
  rates.segments = 1e12;
  rates.map = 1e12;
  rates.call_seconds = 1.5e-6;
  rates.panels = true;
  return card;
}

}  // namespace

const DeviceProfile& h100_profile() {
  static const DeviceProfile card = describe_h100();
  return card;
}

}  // namespace gneiss::cost
