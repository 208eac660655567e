// The order of transform and aggregate, chosen by modelled time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cost/cost.h"
#include "ir/program.h"
#include "passes/sparse_features.h"

namespace gneiss::passes {

/// The order of transform and aggregate: chosen by modelled time, or fixed.
enum class OrderChoice : std::uint8_t { kAuto, kTransformFirst, kAggregateFirst };

/// What a schedule asks for: an order for each layer it names (ordinal, from 0), over the one for all.
using LayerOrders = std::map<std::int32_t, OrderChoice>;

/// Rewrites each linear aggregation next to a product to the cheaper of A(XW) and (AX)W. Sum and mean with at most one
/// weight per edge commute with a product from the right, and so does attention with one head; max, min and per-head
/// weights do not. Where AX is constant it is computed once and counts with its share of a step. A product with sparse
/// features counts by the path that `sparse` leads to. `decisions` gets one sentence per choice.
ir::Program choose_order(const ir::Program& program, OrderChoice order, const LayerOrders& layer_orders,
                         const cost::Rates& rates, const cost::Repeats& repeats, const SparsePathOptions& sparse,
                         std::vector<std::string>* decisions);

}  // namespace gneiss::passes
