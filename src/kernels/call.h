// From an op of the IR to a kernel call: the only place that knows both.
//
// The same code serves planning and running. A planner gives views with sizes and no data and learns which variant will
// run, how much scratch it needs and what it costs; the executor gives real views and gets a call to make each step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/fixed_function.h"
#include "base/matrix_view.h"
#include "comm/halo.h"
#include "ir/program.h"
#include "kernels/kernel.h"
#include "pgas/space.h"

namespace gneiss::kernels {

/// What keys the random draws of a step.
struct StepKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
};

/// What a loss is taken of.
struct LossOperands {
  std::span<const std::int32_t> labels;
  ConstMatrixView<float> targets;
  std::span<const NodeId> rows;
  std::int64_t labelled = 0;  ///< labelled_entries of targets and rows
};

/// Where a call finds its operands. Views must stay valid as long as the call.
template <class T>
struct Operands {
  const ir::Program* program = nullptr;
  const ir::Sizes* sizes = nullptr;  ///< how many rows values have
  const StepKey* key = nullptr;
  std::function<MatrixView<T>(ir::ValueId)> real;  ///< dense values; sparse features: [nnz, 1] values
  std::function<std::uint16_t*(ir::ValueId)>
      halves;  ///< of a value stored in 16 bits, row-major; `real` gives its shape
  std::function<MatrixView<std::int32_t>(ir::ValueId)> index;  ///< which edge won; an empty view for kNoValue
  std::function<const SparsePattern*(std::int32_t graph)> in_edges;
  std::function<const SparsePattern*(std::int32_t graph)> out_edges;
  std::function<TiledPattern(const ir::Op& op, bool out_edges)>
      source_tiles;  ///< of its graph; empty where there are none
  std::function<const SparsePattern*(bool transposed)> features;
  /// [nnz] of the features in the order of their transpose, where that names no slots.
  std::function<std::span<const T>()> transposed_values;
  std::function<std::span<const float>(std::int32_t graph)> edge_weights;  ///< empty: all ones
  std::function<std::span<const std::int64_t>(std::int32_t node_set)> row_ids;
  comm::Communicator* communicator = nullptr;  ///< of a rank; null while planning
  const comm::HaloPlan* halo = nullptr;        ///< likewise
  pgas::Space* space = nullptr;                ///< of a device that fetches rows; else null
  LossOperands training;
  LossOperands validation;
  std::span<const float> class_weights;
};

/// Room for the arguments of any op and for which kernel takes them.
inline constexpr std::size_t kCallBytes = 768;

/// A call cut into bands of rows; see BandKernel.
struct BandCall {
  std::int64_t rows = kUncut;
  std::size_t shared_bytes = 0;
  std::size_t task_bytes = 0;
  FixedFunction<void(const Context&), kCallBytes> prepare;  ///< or empty
  FixedFunction<void(const Context&, const Band&), kCallBytes> run;
  FixedFunction<void(const Context&, std::int64_t tasks), kCallBytes> finish;  ///< or empty

  static constexpr std::int64_t kUncut = -1;
  bool can_be_cut() const { return rows != kUncut; }
};

/// A kernel call with everything bound but the context.
struct BoundCall {
  std::string_view variant;
  Passes passes = Passes::kOne;
  std::size_t workspace_bytes = 0;
  double flops = 0;
  double bytes = 0;
  FixedFunction<void(const Context&), kCallBytes> run;
  BandCall band;
  std::vector<BoundCall> parts;  ///< calls that together are this one (concat)
};

/// Binds one op. Leaves that only name data (input, param) give a call with an empty `run`. Binding the same op again,
/// to operands of other sizes, allocates nothing.
template <class T>
void bind_call(const ir::Op& op, const Operands<T>& operands, BoundCall* call);

}  // namespace gneiss::kernels
