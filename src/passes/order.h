// The order of transform and aggregate, chosen by modelled time; and how sparse features enter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/program.h"

namespace gneiss::passes {

/// Rates of the cost model, per second. Defaults: the study's machine at two threads; only their ratios matter.
struct CostModel {
  double gather_bytes = 60e9;   ///< bytes of neighbour rows an aggregation reads
  double gemm_flops = 250e9;    ///< dense product
  double sparse_flops = 100e9;  ///< product with sparse features
  std::int64_t feature_nonzeros = 0;
};

/// The order of transform and aggregate: chosen by modelled time, or fixed.
enum class OrderChoice : std::uint8_t { kAuto, kTransformFirst, kAggregateFirst };

/// What a schedule asks for: an order for each layer it names (ordinal, from 0), over the one for all.
using LayerOrders = std::map<std::int32_t, OrderChoice>;

/// Rewrites each linear aggregation next to a product to the cheaper of A(XW) and (AX)W. Sum and mean with at most one weight
/// per edge commute with a product from the right; max, min and per-head weights do not. (AX)W is preferred when AX is
/// constant, because it is then computed once. `decisions` gets one sentence per choice.
ir::Program choose_order(const ir::Program& program, OrderChoice order, const LayerOrders& layer_orders,
                         const CostModel& model, std::vector<std::string>* decisions);

/// Sends sparse features through the sparse product and makes them dense only where an op cannot take them sparse.
ir::Program lower_sparse_features(const ir::Program& program, std::vector<std::string>* decisions);

}  // namespace gneiss::passes
