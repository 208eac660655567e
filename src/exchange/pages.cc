// Devices walk over the edges of their rows in order. The first device to touch a page takes it from the host, which is
// a fault as well.
#include "exchange/pages.h"

#include <algorithm>
#include <vector>

namespace gneiss::exchange {

PageFaults count_page_faults(const graph::Graph& graph, std::span<const std::int64_t> starts, std::int64_t columns,
                             std::int64_t reads_a_turn) {
  const auto devices = starts.size() - 1;
  const std::int64_t row_bytes = columns * 4;
  const std::int64_t pages = (graph.num_nodes() * row_bytes + kPageBytes - 1) / kPageBytes;
  std::vector<std::int16_t> owner(static_cast<std::size_t>(pages), -1);
  std::vector<EdgeId> next(devices);
  for (std::size_t p = 0; p < devices; ++p) next[p] = graph.offsets()[static_cast<std::size_t>(starts[p])];
  std::vector<std::int64_t> faults(devices, 0);
  for (bool more = true; more;) {
    more = false;
    for (std::size_t p = 0; p < devices; ++p) {
      const EdgeId end = graph.offsets()[static_cast<std::size_t>(starts[p + 1])];
      const EdgeId stop = std::min<EdgeId>(end, next[p] + reads_a_turn);
      for (; next[p] < stop; ++next[p]) {
        const std::int64_t first = graph.sources()[static_cast<std::size_t>(next[p])] * row_bytes;
        for (std::int64_t page = first / kPageBytes; page <= (first + row_bytes - 1) / kPageBytes; ++page) {
          std::int16_t& has = owner[static_cast<std::size_t>(page)];
          if (has == static_cast<std::int16_t>(p)) continue;
          has = static_cast<std::int16_t>(p);
          ++faults[p];
        }
      }
      more = more || next[p] < end;
    }
  }
  PageFaults made;
  for (const std::int64_t of : faults) {
    made.faults += of;
    made.most = std::max(made.most, of);
  }
  return made;
}

std::int64_t reads_under_way(const Gpu& gpu) { return std::int64_t{4} * gpu.sms * gpu.warps_per_sm; }

double fault_seconds(std::int64_t faults) {
  constexpr double kTogether = 256;
  constexpr double kSeconds = 20e-6;
  constexpr double kBytesPerSecond = 6e9;
  return static_cast<double>(faults) * (kSeconds / kTogether + static_cast<double>(kPageBytes) / kBytesPerSecond);
}

}  // namespace gneiss::exchange
