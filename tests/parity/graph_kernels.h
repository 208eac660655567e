// What tests of ops over graphs share: the graphs as parameters, widths and reductions.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kernels/spmm.h"
#include "parity/kernel_graphs.h"

namespace gneiss::testing {

using kernels::Reduce;

inline constexpr std::int64_t kWidths[] = {1, 3, 16, 32, 33, 64, 128, 200, 602};
/// Wider features than this are left to the smaller graphs.
inline constexpr std::int64_t kMostElements = 2'000'000;
inline constexpr Reduce kReductions[] = {Reduce::kSum, Reduce::kMean, Reduce::kMax, Reduce::kMin};

class GraphKernels : public ::testing::TestWithParam<KernelGraph> {
 protected:
  const KernelGraph& g() const { return GetParam(); }
  static std::int64_t pad_of(std::int64_t d) { return d % 3 == 0 ? 3 : 0; }
  double longest_row(const SparsePattern& pattern) const {
    EdgeId most = 0;
    for (std::int64_t v = 0; v < pattern.rows; ++v) {
      most = std::max(most,
                      pattern.offsets[static_cast<std::size_t>(v) + 1] - pattern.offsets[static_cast<std::size_t>(v)]);
    }
    return static_cast<double>(most);
  }
};

inline std::string graph_name(const ::testing::TestParamInfo<KernelGraph>& graph) {
  std::string name = graph.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

}  // namespace gneiss::testing
