#include "runtime/executor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "kernels/bands.h"
#include "kernels/dropout_key.h"
#include "kernels/labelled_entries.h"

namespace gneiss::runtime {
namespace {

/// GNEISS_POISON fills the arena before every phase with NaN, so that a value read after its place was given away
/// shows.
bool poison_wanted() {
  const char* text = std::getenv("GNEISS_POISON");
  return text != nullptr && *text != '\0' && *text != '0';
}

}  // namespace

template <class T>
Executor<T>::Executor(const ir::Plan& plan, const data::Dataset& dataset, DerivedGraphs derived,
                      std::span<const float> class_weights, int threads,
                      std::span<const kernels::EdgeLoopFunction> loops, std::span<std::byte> file)
    : plan_(plan),
      dataset_(dataset),
      structures_(dataset, plan, std::move(derived), threads),
      parameters_(Buffer<T>::zeros(static_cast<std::size_t>(plan.parameter_bytes) / sizeof(T))),
      gradients_(Buffer<T>::zeros(static_cast<std::size_t>(plan.parameter_bytes) / sizeof(T))),
      states_(Buffer<T>::zeros(static_cast<std::size_t>(plan.state_bytes) / sizeof(T))),
      constants_(static_cast<std::size_t>(plan.constant_bytes)),
      file_(file),
      arena_(static_cast<std::size_t>(plan.arena_bytes)),
      bands_(static_cast<std::size_t>(plan.band_bytes * threads)) {
  GNEISS_ASSERT(plan.value_bytes == static_cast<std::int64_t>(sizeof(T)), "the plan is for values of {} bytes",
                plan.value_bytes);
  GNEISS_ASSERT(file.size() == static_cast<std::size_t>(plan.file_bytes),
                "the plan keeps {} bytes in a file, there are {}", plan.file_bytes, file.size());
  context_.threads = threads;
  context_.workspace = arena_.span().first(static_cast<std::size_t>(plan.workspace_bytes));
  if constexpr (!std::is_same_v<T, float>) {
    const auto widened = [](std::span<const float> source) {
      Buffer<T> copy(source.size());
      std::copy(source.begin(), source.end(), copy.begin());
      return copy;
    };
    features_ = widened(dataset.features.sparse ? dataset.features.values.span() : dataset.features.dense.span());
    transposed_values_ = widened(structures_.transposed_values());
  }
  bind_steps(class_weights, loops);
  structures_.drop_unread(plan, -1);  // bound calls know the sizes
}

template <class T>
void Executor<T>::bind_steps(std::span<const float> class_weights, std::span<const kernels::EdgeLoopFunction> loops) {
  GNEISS_ASSERT(loops.size() == plan_.loops.size(), "the plan has {} loops over edges, not {}", plan_.loops.size(),
                loops.size());
  const kernels::Operands<T> bound = operands(class_weights);
  std::int32_t open = -1;
  std::size_t used = 0;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(plan_.steps.size()); ++i) {
    const ir::Step& planned = plan_.steps[static_cast<std::size_t>(i)];
    const ir::Op& op = plan_.program.ops[static_cast<std::size_t>(planned.op)];
    if (planned.loop >= 0) {
      const ir::EdgeLoop& loop = plan_.loops[static_cast<std::size_t>(planned.loop)];
      const auto bytes = static_cast<std::size_t>(loop.tasks * loop.task_bytes);
      if (i == loop.first_step) {
        steps_.push_back({op.phase,
                          loop.last_step,
                          {bind_loop(loop, loops[static_cast<std::size_t>(planned.loop)])},
                          {context_.workspace.first(bytes)},
                          {},
                          0,
                          {}});
      }
      open = -1;
      continue;
    }
    kernels::BoundCall call = kernels::bind_call<T>(op, bound);
    if (!call.run) continue;
    if (planned.band < 0) {
      steps_.push_back(
          {op.phase, i, {}, {context_.workspace.first(static_cast<std::size_t>(planned.workspace_bytes))}, {}, 0, {}});
    } else if (planned.band != open) {
      const ir::RowBand& band = plan_.bands[static_cast<std::size_t>(planned.band)];
      steps_.push_back({op.phase, band.last_step, {}, {}, cut_rows(band), band.band_rows, nullptr});
      steps_.back().swept = std::make_unique<SweptRows>(file_rows(band), steps_.back().cuts);
      used = 0;
    }
    open = planned.band;
    if (open >= 0) {
      GNEISS_ASSERT(call.band.rows == planned.band_rows, "{} was planned to run by bands of rows",
                    ir::traits(op.kind).name);
      const auto bytes = static_cast<std::size_t>(
          ir::band_workspace_bytes(planned, plan_.bands[static_cast<std::size_t>(open)].tasks));
      steps_.back().workspaces.push_back(context_.workspace.subspan(used, bytes));
      used += bytes;
    }
    steps_.back().calls.push_back(std::move(call));
  }
}

template <class T>
void* Executor<T>::rows_of(ir::ValueId value) {
  if (plan_.program.type(value).scalar == ir::Scalar::kIndex) return address(value);
  const MatrixView<T> matrix = view(value);
  GNEISS_ASSERT(matrix.contiguous(), "a loop over edges reads rows that lie apart");
  return matrix.data;
}

template <class T>
kernels::BoundCall Executor<T>::bind_loop(const ir::EdgeLoop& planned, kernels::EdgeLoopFunction function) {
  kernels::BoundCall call;
  if constexpr (std::is_same_v<T, float>) {
    auto loop = std::make_shared<Loop>();
    const SparsePattern& in_edges = *structures_.in_edges(planned.graph);
    const SparsePattern& edges = planned.out_edges ? *structures_.out_edges(planned.graph) : in_edges;
    loop->function = function;
    loop->args = kernels::edge_loop_args(edges, in_edges, structures_.edge_weights(planned.graph), dataset_.orig_id);
    const ir::LoopValues values = ir::values_of(plan_, planned);
    for (const ir::ValueId v : values.reads) loop->reads.push_back(rows_of(v));
    for (const ir::ValueId v : values.writes) loop->writes.push_back(rows_of(v));
    for (const ir::ValueId v : values.totals) loop->totals.push_back(view(v));
    loop->args.reads = loop->reads.data();
    loop->args.writes = loop->writes.data();
    loop->cuts = kernels::cut_rows(edges.offsets, planned.rows, planned.tasks);
    call.run = [this, loop](const kernels::Context& context) {
      loop->args.key = kernels::dropout_key(key_.seed, key_.epoch);
      kernels::run_edge_loop(context, loop->function, loop->args, loop->cuts, loop->totals);
    };
  } else {
    GNEISS_ASSERT(false, "loops over edges are f32");
  }
  return call;
}

/// The rows of a band's tasks: about equal in edges where one of its ops walks along edges.
template <class T>
std::vector<std::int64_t> Executor<T>::cut_rows(const ir::RowBand& band) const {
  const std::optional<ir::EdgeWalk> walk = ir::edge_walk(plan_, band);
  if (!walk) return kernels::cut_rows({}, band.rows, band.tasks);
  const SparsePattern* edges = walk->out_edges ? structures_.out_edges(walk->graph) : structures_.in_edges(walk->graph);
  return kernels::cut_rows(edges->offsets, band.rows, band.tasks);
}

template <class T>
void Executor<T>::run_bands(const Step& step) const {
  const std::size_t count = step.calls.size();
  const auto tasks = static_cast<std::int64_t>(step.cuts.size()) - 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (step.calls[i].band.prepare) step.calls[i].band.prepare({context_.threads, step.workspaces[i]});
  }
  step.swept->start();
  const auto run_all = [&](const kernels::Band& band) {
    step.swept->map(band.begin, band.end);
    for (std::size_t i = 0; i < count; ++i) step.calls[i].band.run({1, step.workspaces[i]}, band);
  };
  kernels::for_each_band(context_.threads, step.cuts, step.band_rows, run_all,
                         [&](std::int64_t task) { step.swept->through(task); });
  for (std::size_t i = 0; i < count; ++i) {
    if (step.calls[i].band.finish) step.calls[i].band.finish({context_.threads, step.workspaces[i]}, tasks);
  }
}

template <class T>
FileRows Executor<T>::feature_rows() const {
  const data::Features& features = dataset_.features;
  const bool halves = features.dtype != HalfType::kNone;
  const auto* data =
      halves ? static_cast<const void*>(features.halves.data()) : static_cast<const void*>(features.dense.data());
  const auto each = static_cast<std::int64_t>(halves ? sizeof(std::uint16_t) : sizeof(float));
  return {static_cast<std::byte*>(const_cast<void*>(data)), features.cols * each, false};
}

/// What the steps of a band read and write of values in files, each value once.
template <class T>
std::vector<FileRows> Executor<T>::file_rows(const ir::RowBand& band) {
  std::map<ir::ValueId, FileRows> rows;
  for (std::int32_t i = band.first_step; band.streams && i <= band.last_step; ++i) {
    const ir::Op& op = plan_.program.ops[static_cast<std::size_t>(plan_.steps[static_cast<std::size_t>(i)].op)];
    const auto add = [&](ir::ValueId v, bool written) {
      if (v == ir::kNoValue) return;
      const ir::Storage storage = plan_.placements[static_cast<std::size_t>(v)].storage;
      if (storage == ir::Storage::kInput && plan_.features_streamed && op.phase != ir::Phase::kSetup)
        rows.try_emplace(v, feature_rows());
      if (storage != ir::Storage::kFile) return;
      const std::int64_t row_bytes =
          plan_.stride(v) * ir::scalar_bytes(plan_.program.type(v).scalar, plan_.value_bytes);
      FileRows& at = rows.try_emplace(v, FileRows{address(v), row_bytes, false}).first->second;
      at.written = at.written || written;
    };
    for (const ir::ValueId v : op.inputs) add(v, false);
    for (const ir::ValueId v : op.results) add(v, true);
  }
  std::vector<FileRows> list;
  for (const auto& [value, at] : rows) list.push_back(at);
  return list;
}

template <class T>
kernels::Operands<T> Executor<T>::operands(std::span<const float> class_weights) {
  kernels::Operands<T> from;
  from.program = &plan_.program;
  from.key = &key_;
  from.real = [this](ir::ValueId v) { return view(v); };
  from.halves = [this](ir::ValueId v) { return halves(v); };
  from.index = [this](ir::ValueId v) {
    if (v == ir::kNoValue) return MatrixView<std::int32_t>();
    return MatrixView<std::int32_t>(reinterpret_cast<std::int32_t*>(address(v)), plan_.program.rows(v),
                                    plan_.program.type(v).cols);
  };
  from.in_edges = [this](std::int32_t g) { return structures_.in_edges(g); };
  from.out_edges = [this](std::int32_t g) { return structures_.out_edges(g); };
  from.source_blocks = [this](const ir::Op& op, bool out_edges) {
    const std::int32_t part = plan_.loss_blocks_of(op);
    if (part >= 0) return structures_.loss_blocks(part);
    return structures_.source_blocks(static_cast<std::int32_t>(op.attrs.integer("graph", 0)), out_edges);
  };
  from.features = [this](bool transposed) { return structures_.features(transposed); };
  if constexpr (std::is_same_v<T, float>) {
    from.transposed_values = structures_.transposed_values();
  } else {
    from.transposed_values = transposed_values_;
  }
  from.edge_weights = [this](std::int32_t g) { return structures_.edge_weights(g); };
  from.row_ids = [this](std::int32_t) { return std::span<const std::int64_t>(dataset_.orig_id); };
  from.labels = dataset_.labels.classes;
  from.targets = {dataset_.labels.targets.data(), dataset_.num_nodes(), dataset_.labels.num_classes};
  from.loss_rows = dataset_.split.train;
  from.class_weights = class_weights;
  for (const ir::Op& op : plan_.program.ops) {
    if (ir::is_loss(op.kind) && plan_.program.rows(op.inputs[0]) != dataset_.num_nodes()) use_loss_rows(&from);
  }
  if (!dataset_.labels.targets.empty())
    from.labelled = kernels::labelled_entries(context_.threads, from.targets, from.loss_rows);
  return from;
}

/// The labels of the training nodes alone, every one of which counts.
template <class T>
void Executor<T>::use_loss_rows(kernels::Operands<T>* from) {
  const std::span<const NodeId> rows = dataset_.split.train;
  loss_rows_ = Buffer<NodeId>(rows.size());
  std::iota(loss_rows_.begin(), loss_rows_.end(), NodeId{0});
  loss_labels_ = data::labels_of(dataset_.labels, rows);
  from->labels = loss_labels_.classes;
  from->targets = {loss_labels_.targets.data(), static_cast<std::int64_t>(rows.size()), loss_labels_.num_classes};
  from->loss_rows = loss_rows_;
}

template <class T>
MatrixView<T> Executor<T>::input_view(const ir::Type& type) {
  const data::Features& features = dataset_.features;
  if (ir::is_half(type.scalar)) return {nullptr, features.rows, features.cols};
  T* data = features_.data();
  if constexpr (std::is_same_v<T, float>) {
    // Kernels take operands as mutable views and write results only; inputs are never results.
    data = const_cast<float*>(features.sparse ? features.values.data() : features.dense.data());
  }
  if (type.layout == ir::Layout::kSparse) return {data, features.nonzeros(), 1};
  return {data, features.rows, features.cols};
}

template <class T>
std::uint16_t* Executor<T>::halves(ir::ValueId value) {
  if (plan_.placements[static_cast<std::size_t>(value)].storage != ir::Storage::kInput) {
    return reinterpret_cast<std::uint16_t*>(address(value));
  }
  return const_cast<std::uint16_t*>(dataset_.features.halves.data());
}

template <class T>
std::byte* Executor<T>::address(ir::ValueId value) {
  const ir::Placement& place = plan_.placements[static_cast<std::size_t>(value)];
  switch (place.storage) {
    case ir::Storage::kParameter:
      return reinterpret_cast<std::byte*>(parameters_.data()) + place.offset_bytes;
    case ir::Storage::kGradient:
      return reinterpret_cast<std::byte*>(gradients_.data()) + place.offset_bytes;
    case ir::Storage::kState:
      return reinterpret_cast<std::byte*>(states_.data()) + place.offset_bytes;
    case ir::Storage::kConstant:
      return constants_.data() + place.offset_bytes;
    case ir::Storage::kFile:
      return file_.data() + place.offset_bytes;
    case ir::Storage::kArena:
      return arena_.data() + place.offset_bytes;
    case ir::Storage::kBand:
      return bands_.data() + place.offset_bytes;
    case ir::Storage::kInput:
    case ir::Storage::kLoop:
    case ir::Storage::kNone:
      break;
  }
  return nullptr;
}

template <class T>
MatrixView<T> Executor<T>::view(ir::ValueId value) {
  const ir::Type& type = plan_.program.type(value);
  if (plan_.placements[static_cast<std::size_t>(value)].storage == ir::Storage::kInput) return input_view(type);
  T* data = ir::is_half(type.scalar) ? nullptr : reinterpret_cast<T*>(address(value));
  if (type.layout == ir::Layout::kSparse) return {data, dataset_.features.nonzeros(), 1};
  const ir::Placement& place = plan_.placements[static_cast<std::size_t>(value)];
  MatrixView<T> whole(data, plan_.program.rows(type), type.cols, plan_.stride(value));
  if (place.storage == ir::Storage::kBand) {
    whole.thread_stride = plan_.band_bytes / static_cast<std::int64_t>(sizeof(T));
  }
  return whole;
}

template <class T>
void Executor<T>::end_setup() {
  give_back_tail(file_.data(), 0, file_.size());
  if (plan_.features_streamed) {
    const FileRows rows = feature_rows();
    give_back_tail(rows.data, 0, static_cast<std::size_t>(dataset_.num_nodes() * rows.row_bytes));
  }
  if (plan_.setup_arena_bytes <= plan_.lasting_arena_bytes) return;
  give_back_tail(arena_.data(), static_cast<std::size_t>(plan_.lasting_arena_bytes), arena_.size());
}

template <class T>
void Executor<T>::run(ir::Phase phase, kernels::StepKey key) {
  static const bool poison = poison_wanted();
  if (poison && phase != ir::Phase::kBackward) std::memset(arena_.data(), 0xFF, arena_.size());
  if (poison) std::fill(bands_.begin(), bands_.end(), std::byte{0xFF});
  key_ = key;
  for (const Step& step : steps_) {
    if (step.phase != phase) continue;
    if (step.cuts.empty()) {
      step.calls[0].run({context_.threads, step.workspaces[0]});
    } else {
      run_bands(step);
    }
    if (phase == ir::Phase::kSetup) structures_.drop_unread(plan_, step.last_step);
  }
}

template class Executor<float>;
template class Executor<double>;

}  // namespace gneiss::runtime
