// From an op of the IR to a kernel call: the only place that knows both.
//
// The same code serves planning and running. A planner gives views with sizes and no data and learns which variant will
// run, how much scratch it needs and what it costs; the executor gives real views and gets a call to make each step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/fixed_function.h"
#include "base/matrix_view.h"
#include "comm/halo.h"
#include "ir/program.h"
#include "kernels/cuda/device_kernels.h"
#include "kernels/halo.h"
#include "kernels/kernel.h"
#include "pgas/space.h"

namespace gneiss::kernels {

/// What keys the random draws of a step.
struct StepKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
};

/// What a loss is taken of.
template <Space S>
struct LossOperandsIn {
  SpanIn<const std::int32_t, S> labels;
  ConstMatrixView<float, S> targets;
  SpanIn<const NodeId, S> rows;
  std::int64_t labelled = 0;  ///< labelled_entries of targets and rows
};
using LossOperands = LossOperandsIn<Space::kHost>;

/// Where a call finds its operands. Views must stay valid as long as the call.
template <class T, Space S = Space::kHost>
struct Operands {
  const ir::Program* program = nullptr;
  const DeviceKernels* kernels = nullptr;             ///< of a device
  const ir::Sizes* sizes = nullptr;                   ///< how many rows values have
  const StepKey* key = nullptr;                       ///< of hosts; devices read the numbers of a step
  std::function<MatrixView<T, S>(ir::ValueId)> real;  ///< dense values; sparse features: [nnz, 1] values
  std::function<std::uint16_t*(ir::ValueId)>
      halves;  ///< of a value stored in 16 bits, row-major; `real` gives its shape
  std::function<MatrixView<std::int32_t, S>(ir::ValueId)> index;  ///< which edge won; an empty view for kNoValue
  std::function<const SparsePatternIn<S>*(std::int32_t graph)> in_edges;
  std::function<const SparsePatternIn<S>*(std::int32_t graph)> out_edges;
  std::function<TiledPatternIn<S>(const ir::Op& op, bool out_edges)>
      source_tiles;  ///< of its graph; empty where there are none
  std::function<const SparsePatternIn<S>*(bool transposed)> features;
  /// [nnz] of the features in the order of their transpose, where that names no slots.
  std::function<SpanIn<const T, S>()> transposed_values;
  std::function<SpanIn<const float, S>(std::int32_t graph)> edge_weights;  ///< empty: all ones
  std::function<SpanIn<const std::int64_t, S>(std::int32_t node_set)> row_ids;
  comm::Communicator* communicator = nullptr;                     ///< of a rank; null while planning
  const comm::HaloPlan* halo = nullptr;                           ///< likewise
  pgas::Space* space = nullptr;                                   ///< of a device that fetches rows; else null
  std::function<ExchangeUnderWay*(ir::ValueId packed)> exchange;  ///< of the exchange that these packed rows are for
  LossOperandsIn<S> training;
  LossOperandsIn<S> validation;
  SpanIn<const float, S> class_weights;
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

/// A call of a device kernel with everything bound but the context.
struct DeviceCall {
  std::string_view variant;
  Passes passes = Passes::kOne;
  std::size_t workspace_bytes = 0;
  double flops = 0;
  double bytes = 0;
  FixedFunction<void(const DeviceContext&), kCallBytes> run;
  std::optional<EpilogueStage> stage;  ///< the same op behind another kernel, where it can be one
  std::vector<DeviceCall> parts;       ///< calls that together are this one (concat)
};

template <Space S>
using CallIn = std::conditional_t<S == Space::kHost, BoundCall, DeviceCall>;

/// Binds one op. Leaves that only name data (input, param) give a call with an empty `run`. Binding the same op again,
/// to operands of other sizes, allocates nothing. Errors: kUnsupported where a device has no kernel for it.
template <class T, Space S = Space::kHost>
void bind_call(const ir::Op& op, const Operands<T, S>& operands, CallIn<S>* call);

}  // namespace gneiss::kernels
