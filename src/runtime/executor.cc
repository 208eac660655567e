#include "runtime/executor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace gneiss::runtime {
namespace {

/// GNEISS_POISON fills the arena before every phase with NaN, so that a value read after its place was given away shows.
bool poison_wanted() {
  const char* text = std::getenv("GNEISS_POISON");
  return text != nullptr && *text != '\0' && *text != '0';
}

}  // namespace

template <class T>
Executor<T>::Executor(const ir::Plan& plan, const data::Dataset& dataset, std::vector<std::optional<graph::Graph>> derived,
                      std::span<const float> class_weights, int threads)
    : plan_(plan),
      dataset_(dataset),
      structures_(dataset, plan, std::move(derived), threads),
      parameters_(Buffer<T>::zeros(static_cast<std::size_t>(plan.parameter_bytes) / sizeof(T))),
      gradients_(Buffer<T>::zeros(static_cast<std::size_t>(plan.parameter_bytes) / sizeof(T))),
      states_(Buffer<T>::zeros(static_cast<std::size_t>(plan.state_bytes) / sizeof(T))),
      constants_(static_cast<std::size_t>(plan.constant_bytes)),
      arena_(static_cast<std::size_t>(plan.arena_bytes)),
      workspace_(static_cast<std::size_t>(plan.workspace_bytes)) {
  GNEISS_ASSERT(plan.value_bytes == static_cast<std::int64_t>(sizeof(T)), "the plan is for values of {} bytes", plan.value_bytes);
  context_.threads = threads;
  context_.workspace = workspace_.span();
  if constexpr (!std::is_same_v<T, float>) {
    const std::span<const float> source = dataset.features.sparse ? dataset.features.values.span() : dataset.features.dense.span();
    features_ = Buffer<T>(source.size());
    std::copy(source.begin(), source.end(), features_.begin());
  }
  const kernels::Operands<T> bound = operands(class_weights);
  for (const ir::Op& op : plan.program.ops) {
    kernels::BoundCall call = kernels::bind_call<T>(op, bound);
    if (call.run) steps_.push_back({op.phase, std::move(call)});
  }
}

template <class T>
kernels::Operands<T> Executor<T>::operands(std::span<const float> class_weights) {
  kernels::Operands<T> from;
  from.program = &plan_.program;
  from.key = &key_;
  from.real = [this](ir::ValueId v) { return view(v); };
  from.index = [this](ir::ValueId v) {
    if (v == ir::kNoValue) return MatrixView<std::int32_t>();
    return MatrixView<std::int32_t>(reinterpret_cast<std::int32_t*>(address(v)), plan_.program.rows(v), plan_.program.type(v).cols);
  };
  from.in_edges = [this](std::int32_t g) { return structures_.in_edges(g); };
  from.out_edges = [this](std::int32_t g) { return structures_.out_edges(g); };
  from.source_blocks = [this](std::int32_t g, bool out_edges) { return structures_.source_blocks(g, out_edges); };
  from.features = [this](bool transposed) { return structures_.features(transposed); };
  from.edge_weights = [this](std::int32_t g) { return structures_.edge_weights(g); };
  from.row_ids = [this](std::int32_t) { return std::span<const std::int64_t>(dataset_.orig_id); };
  from.labels = dataset_.labels.classes;
  from.targets = {dataset_.labels.targets.data(), dataset_.num_nodes(), dataset_.labels.num_classes};
  from.loss_rows = dataset_.split.train;
  from.class_weights = class_weights;
  return from;
}

template <class T>
MatrixView<T> Executor<T>::input_view(const ir::Type& type) {
  const data::Features& features = dataset_.features;
  T* data = features_.data();
  if constexpr (std::is_same_v<T, float>) {
    // Kernels take operands as mutable views and write results only; inputs are never results.
    data = const_cast<float*>(features.sparse ? features.values.data() : features.dense.data());
  }
  if (type.layout == ir::Layout::kSparse) return {data, features.nonzeros(), 1};
  return {data, features.rows, features.cols};
}

template <class T>
std::byte* Executor<T>::address(ir::ValueId value) {
  const ir::Placement& place = plan_.placements[static_cast<std::size_t>(value)];
  switch (place.storage) {
    case ir::Storage::kParameter: return reinterpret_cast<std::byte*>(parameters_.data()) + place.offset_bytes;
    case ir::Storage::kGradient: return reinterpret_cast<std::byte*>(gradients_.data()) + place.offset_bytes;
    case ir::Storage::kState: return reinterpret_cast<std::byte*>(states_.data()) + place.offset_bytes;
    case ir::Storage::kConstant: return constants_.data() + place.offset_bytes;
    case ir::Storage::kArena: return arena_.data() + place.offset_bytes;
    case ir::Storage::kInput:
    case ir::Storage::kNone: break;
  }
  return nullptr;
}

template <class T>
MatrixView<T> Executor<T>::view(ir::ValueId value) {
  const ir::Type& type = plan_.program.type(value);
  if (plan_.placements[static_cast<std::size_t>(value)].storage == ir::Storage::kInput) return input_view(type);
  T* data = reinterpret_cast<T*>(address(value));
  if (type.layout == ir::Layout::kSparse) return {data, dataset_.features.nonzeros(), 1};
  return {data, plan_.program.rows(type), type.cols};
}

template <class T>
void Executor<T>::run(ir::Phase phase, kernels::StepKey key) {
  static const bool poison = poison_wanted();
  if (poison && phase != ir::Phase::kBackward) std::memset(arena_.data(), 0xFF, arena_.size());
  key_ = key;
  for (const Step& step : steps_) {
    if (step.phase == phase) step.call.run(context_);
  }
}

template class Executor<float>;
template class Executor<double>;

}  // namespace gneiss::runtime
