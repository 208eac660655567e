// A product of a sum as the sum of products.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "passes/order.h"

namespace gneiss::passes {

/// Rewrites (s x + A x) W, GIN's aggregation before its MLP, as s (x W) + A (x W) where that is modelled to be cheaper:
/// the product narrows x, or x is sparse and would have to be made dense for the sum. Each term of the sum must be x
/// itself, a scalar per row or for all rows times x, or a linear aggregation of x. `decisions` gets one sentence per
/// choice.
ir::Program distribute_products(const ir::Program& program, OrderChoice order, const cost::Repeats& repeats,
                                std::vector<std::string>* decisions);

}  // namespace gneiss::passes
