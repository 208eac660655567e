// The passes, in order: from a model's program to a plan.
//
// Each pass is a function from a program to a program, with a name, a timer and an off-switch; the list and the reasons
// for its order stand in pipeline.cc. The verifier runs after every pass.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/half.h"
#include "cost/cost.h"
#include "ir/plan.h"
#include "ir/program.h"
#include "passes/distribute.h"
#include "passes/loss.h"
#include "passes/loss_rows.h"
#include "passes/order.h"
#include "passes/recompute.h"
#include "passes/sparse_features.h"
#include "planner/layout.h"

namespace gneiss::passes {

/// What all passes go by, those on plans included.
struct Options : planner::LayoutOptions {
  planner::Target target = planner::Target::kCpu;
  LossSpec loss;
  OrderChoice order = OrderChoice::kAuto;
  LayerOrders layer_orders;  ///< over `order`, for the layers of a schedule
  cost::Repeats repeats;     ///< what work of the setup phase is weighed against
  double factor_degree = 1;  ///< edges a node for each column from which weights become scalings of rows
  Near near;  ///< how near the ends of edges lie to each other, as the nodes are numbered; none: nothing is known
  SparsePath sparse_path = SparsePath::kAuto;
  std::int64_t most_dense_bytes = std::numeric_limits<std::int64_t>::max();  ///< of a dense copy of sparse features
  RecomputeLimits recompute_limits;
  bool edge_loops = false;  ///< whoever runs the plan can compile loops over edges
  /// Bytes that a plan takes beyond a limit; unset: there is none. What does not fit is given other kernels, the other
  /// order, and values are made again in backward.
  std::function<std::int64_t(const ir::Plan&)> excess_bytes;
  /// The limit is a device's memory: below it memory costs nothing, so that values are made again to keep within it
  /// alone, and the smallest plan is returned where none does, for the device to refuse.
  bool limit_is_of_device = false;
  std::string limit_name = "--mem";  ///< whose limit it is and what can be done about it, for the error
  std::string limit_remedy = "raise it by so much";
  Distribution distribution;          ///< of a rank of several
  LossRows loss_rows;                 ///< what is known of the rows that the loss counts
  std::set<std::string> print_after;  ///< names of passes whose result goes to `print`; "all"
  std::function<void(std::string_view pass, const std::string& text)> print;
  std::int64_t value_bytes = 4;  ///< 4: f32 and its kernels; 8: f64, reference kernels
  bool keep_training_logits =
      false;  ///< the training forward's logits outlive the step (tests); costs n * classes values
  HalfType feature_dtype = HalfType::kNone;  ///< how the data set holds dense features; kNone: f32
  std::int64_t feature_nonzeros = 0;         ///< stored entries of sparse features, for the cost model and the plan
};

/// Names of all passes in order, and whether each may be switched off.
struct PassInfo {
  std::string name;
  bool optional;
  std::string purpose;
};
const std::vector<PassInfo>& list_passes();

/// Runs the passes. The program's node sets and graphs must have sizes. Errors: kUsage for an unknown or mandatory pass
/// in `disabled`; kUnsupported if an op has no gradient rule; kOutOfMemory if no plan keeps within `excess_bytes`,
/// unless a device refuses it.
ir::Plan build_plan(const ir::Program& model, const Options& options);

}  // namespace gneiss::passes
