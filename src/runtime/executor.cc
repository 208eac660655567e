// How a plan runs: the steps are laid out once (which calls run together, where their scratch lies); binding fills
// every call of them with the views and sizes at hand; running walks over the filled calls.
#include "runtime/executor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/pages.h"
#include "ir/beside_exchange.h"
#include "kernels/bands.h"
#include "kernels/dropout_key.h"
#include "kernels/labelled_entries.h"
#include "kernels/sum_args.h"

namespace gneiss::runtime {
namespace {

/// GNEISS_POISON fills the arena before every phase with NaN, so that a value read after its place was given away
/// shows.
bool poison_wanted() {
  const char* text = std::getenv("GNEISS_POISON");
  return text != nullptr && *text != '\0' && *text != '0';
}

template <class T>
void widen_into(Buffer<T>* copy, std::span<const float> source) {
  if (copy->size() < source.size()) *copy = Buffer<T>(source.size());
  std::copy(source.begin(), source.end(), copy->begin());
}

}  // namespace

template <class T>
Executor<T>::Executor(const ir::Plan& plan, Parameters<T>& parameters, kernels::Context context, Resources resources)
    : plan_(plan),
      parameters_(parameters),
      resources_(std::move(resources)),
      context_(context),
      constants_(memory(plan.constant_bytes)),
      arena_(memory(plan.arena_bytes)),
      bands_(static_cast<std::size_t>(plan.band_bytes * context.threads)),
      sizes_(ir::capacity(plan.program)),
      releases_(plan, [this](const ir::Release& due) { release(due); }),
      exchanging_(plan, resources_, context_, &exchanges_) {
  parameters.check(plan);
  GNEISS_ASSERT(resources_.file.size() == static_cast<std::size_t>(plan.file_bytes),
                "the plan keeps {} bytes in a file, there are {}", plan.file_bytes, resources_.file.size());
  GNEISS_ASSERT(resources_.loops.size() == plan_.loops.size(), "the plan has {} loops over edges, not {}",
                plan_.loops.size(), resources_.loops.size());
  const bool talks = std::any_of(plan.program.ops.begin(), plan.program.ops.end(),
                                 [](const ir::Op& op) { return ir::is_between_ranks(op.kind); });
  GNEISS_ASSERT(!talks || resources_.communicator != nullptr, "a plan of one rank of several runs alone");
  context_.workspace = arena_.span().first(static_cast<std::size_t>(plan.workspace_bytes));
  for (const ir::Op& op : plan.program.ops) {
    if (op.kind == ir::OpKind::input && op.attrs.text("name", "features") == "constants")
      constants_input_ = op.results[0];
  }
  exchanges_.resize(plan.program.values.size());
  make_operands();
  lay_out_steps();
  if (!is_rank()) return;
  find_row_orders();
  find_gradients();
}

/// What others may read of: results of exchanges are constants or lie in the arena.
template <class T>
Buffer<std::byte> Executor<T>::memory(std::int64_t bytes) const {
  const auto size = static_cast<std::size_t>(bytes);
  return resources_.shared_memory ? resources_.shared_memory(size) : Buffer<std::byte>(size);
}

/// Which steps of the plan run together, and where the scratch of each call lies.
template <class T>
void Executor<T>::lay_out_steps() {
  std::int32_t open_band = -1;
  std::int32_t open_loop = -1;
  std::size_t used = 0;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(plan_.steps.size()); ++i) {
    const ir::Step& planned = plan_.steps[static_cast<std::size_t>(i)];
    const bool together =
        (planned.band >= 0 && planned.band == open_band) || (planned.loop >= 0 && planned.loop == open_loop);
    if (!together) {
      Step step;
      step.phase = op_of(i).phase;
      step.band = planned.band;
      if (planned.loop >= 0) step.loop = std::make_unique<Loop>();
      steps_.push_back(std::move(step));
      used = 0;
    }
    open_band = planned.band;
    open_loop = planned.loop;
    Step& step = steps_.back();
    step.planned.push_back(i);
    if (planned.loop >= 0) {
      const ir::EdgeLoop& loop = plan_.loops[static_cast<std::size_t>(planned.loop)];
      if (step.calls.empty())
        step.workspaces.push_back(context_.workspace.first(static_cast<std::size_t>(loop.tasks * loop.task_bytes)));
      step.calls.resize(1);
      continue;
    }
    const std::int64_t bytes =
        planned.band < 0 ? planned.workspace_bytes
                         : ir::band_workspace_bytes(planned, plan_.bands[static_cast<std::size_t>(planned.band)].tasks);
    step.workspaces.push_back(context_.workspace.subspan(used, static_cast<std::size_t>(bytes)));
    if (planned.band >= 0) used += static_cast<std::size_t>(bytes);
    step.calls.emplace_back();
  }
}

/// Which bands run a wait or a start beside them on their way.
template <class T>
void Executor<T>::find_row_orders() {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    if (step.band < 0) continue;
    step.order = ir::row_order(plan_, plan_.bands[static_cast<std::size_t>(step.band)]);
    if (step.order == ir::RowOrder::kGhostsFirst) steps_[i + 1].within_band = true;
    if (step.order != ir::RowOrder::kInteriorFirst) continue;
    const std::int32_t first = ir::steps_with(plan_, plan_.bands[static_cast<std::size_t>(step.band)]).first;
    for (std::size_t w = i; w > 0 && steps_[w - 1].planned[0] >= first; --w) steps_[w - 1].within_band = true;
  }
}

/// Behind which step the sum of each gradient starts.
template <class T>
void Executor<T>::find_gradients() {
  for (const ir::GradientSum& sum : ir::gradient_sums(plan_)) {
    if (sum.behind == ir::GradientSum::kBeforeBackward) {
      early_gradients_.push_back(sum.parameter);
      continue;
    }
    const auto at =
        std::find_if(steps_.begin(), steps_.end(), [&](const Step& step) { return step.planned.back() == sum.behind; });
    GNEISS_ASSERT(at != steps_.end(), "no step ends with step {} of the plan", sum.behind);
    at->made_gradients.push_back(sum.parameter);
  }
}

template <class T>
void Executor<T>::bind(const Inputs& inputs) {
  inputs_ = inputs;
  take_sizes();
  if (structures_) {
    structures_->refill(inputs_, plan_);
  } else {
    structures_.emplace(inputs_, plan_, std::move(resources_.derived), context_.threads);
  }
  if constexpr (!std::is_same_v<T, float>) widen();
  const auto operands_of = [&](const LabelledRows& from) {
    const bool targets = from.targets.data != nullptr;
    return kernels::LossOperands{from.classes, from.targets, from.rows,
                                 targets ? kernels::labelled_entries(context_.threads, from.targets, from.rows) : 0};
  };
  operands_.training = operands_of(inputs_.training);
  operands_.validation = operands_of(inputs_.validation);
  operands_.class_weights = inputs_.class_weights;
  exchanging_.begin(*structures_);
  for (Step& step : steps_) bind_step(&step);
  releases_.until(ir::Release::kBeforeSetup);  // bound calls know the sizes
}

/// The sizes of what changes follow from the graphs and the features that the step brings.
template <class T>
void Executor<T>::take_sizes() {
  const ir::Program& program = plan_.program;
  std::fill(sizes_.nodes.begin(), sizes_.nodes.end(), ir::kUnknown);
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    const ir::GraphDef& def = program.graphs[g];
    if (!def.changes) continue;
    GNEISS_ASSERT(g < inputs_.graphs.size(), "the step brings no graph {}", def.name);
    const SparsePattern& edges = inputs_.graphs[g].in_edges;
    GNEISS_ASSERT(edges.nonzeros() <= def.num_edges, "graph {} has {} edges, the plan has room for {}", def.name,
                  edges.nonzeros(), def.num_edges);
    sizes_.edges[g] = edges.nonzeros();
    set_nodes(def.src_set, edges.cols);
    set_nodes(def.dst_set, edges.rows);
  }
  for (const ir::Op& op : program.ops) {
    if (op.kind != ir::OpKind::input) continue;
    const ir::Type& type = program.type(op.results[0]);
    const std::int64_t rows = op.results[0] == constants_input_ ? inputs_.constants.rows : inputs_.features.rows;
    if (type.domain == ir::Domain::kNode && ir::changes(program, type)) set_nodes(type.set, rows);
  }
  for (std::size_t set = 0; set < sizes_.nodes.size(); ++set) {
    if (sizes_.nodes[set] == ir::kUnknown) sizes_.nodes[set] = program.node_sets[set].size;
  }
}

template <class T>
void Executor<T>::set_nodes(std::int32_t set, std::int64_t count) {
  const ir::NodeSet& def = plan_.program.node_sets[static_cast<std::size_t>(set)];
  std::int64_t& size = sizes_.nodes[static_cast<std::size_t>(set)];
  GNEISS_ASSERT(size == ir::kUnknown || size == count, "the step brings {} and {} nodes of '{}'", size, count,
                def.name);
  GNEISS_ASSERT(def.changes ? count <= def.size : count == def.size, "the step brings {} nodes of '{}', the plan {} {}",
                count, def.name, def.changes ? "has room for" : "was made for", def.size);
  size = count;
}

/// Copies of the inputs in the type that the plan computes in.
template <class T>
void Executor<T>::widen() {
  const FeatureInput& features = inputs_.features;
  widen_into(&features_, features.is_sparse ? features.values : features.dense);
  const ConstMatrixView<float>& constants = inputs_.constants;
  widen_into(&node_constants_, std::span<const float>(constants.data, static_cast<std::size_t>(constants.size())));
  widen_into(&transposed_values_, structures_->transposed_values());
}

template <class T>
void Executor<T>::bind_step(Step* step) {
  if (step->loop != nullptr) return bind_loop(step);
  if (step->band >= 0) cut_rows(step);
  for (std::size_t k = 0; k < step->calls.size(); ++k) {
    const ir::Step& planned = plan_.steps[static_cast<std::size_t>(step->planned[k])];
    const ir::Op& op = plan_.program.ops[static_cast<std::size_t>(planned.op)];
    kernels::BoundCall& call = step->calls[k];
    kernels::bind_call<T>(op, operands_, &call);
    const std::size_t room = step->workspaces[k].size();
    if (step->band < 0) {
      GNEISS_ASSERT(call.workspace_bytes <= room, "{} needs {} bytes of scratch, the plan has {}",
                    ir::traits(op.kind).name, call.workspace_bytes, room);
      if (op.kind == ir::OpKind::spmm && op.attrs.has("exchange"))
        exchanging_.bind(op, kernels::sum_args(op, operands_), operands_, &call);
      continue;
    }
    const auto tasks = static_cast<std::int64_t>(step->cuts.size()) - 1;
    GNEISS_ASSERT(call.band.can_be_cut() && call.band.rows == step->cuts.back(),
                  "{} was planned to run by bands of rows", ir::traits(op.kind).name);
    GNEISS_ASSERT(call.band.shared_bytes + static_cast<std::size_t>(tasks) * call.band.task_bytes <= room,
                  "{} needs more scratch in bands than the plan has", ir::traits(op.kind).name);
  }
}

template <class T>
void Executor<T>::retune(const exchange::Tuning& tuning) {
  if (tuning == resources_.tuning) return;
  resources_.tuning = tuning;
  exchanging_.retune(tuning);
}

template <class T>
void* Executor<T>::rows_of(ir::ValueId value) {
  if (plan_.program.type(value).scalar == ir::Scalar::kIndex) return address(value);
  const MatrixView<T> matrix = view(value);
  GNEISS_ASSERT(matrix.contiguous(), "a loop over edges reads rows that lie apart");
  return matrix.data;
}

template <class T>
void Executor<T>::bind_loop(Step* step) {
  if constexpr (std::is_same_v<T, float>) {
    const auto number = static_cast<std::size_t>(plan_.steps[static_cast<std::size_t>(step->planned[0])].loop);
    const ir::EdgeLoop& planned = plan_.loops[number];
    GNEISS_ASSERT(!plan_.program.graphs[static_cast<std::size_t>(planned.graph)].changes,
                  "loops over edges run on graphs that stay");
    Loop& loop = *step->loop;
    const SparsePattern& in_edges = *structures_->in_edges(planned.graph);
    const SparsePattern& edges = planned.out_edges ? *structures_->out_edges(planned.graph) : in_edges;
    loop = {};
    loop.function = resources_.loops[number];
    loop.args =
        kernels::edge_loop_args(edges, in_edges, structures_->edge_weights(planned.graph), operands_.row_ids(0));
    const ir::LoopValues values = ir::values_of(plan_, planned);
    for (const ir::ValueId v : values.reads) loop.reads.push_back(rows_of(v));
    for (const ir::ValueId v : values.writes) loop.writes.push_back(rows_of(v));
    for (const ir::ValueId v : values.totals) loop.totals.push_back(view(v));
    loop.args.reads = loop.reads.data();
    loop.args.writes = loop.writes.data();
    loop.cuts = kernels::cut_rows(edges.offsets, planned.rows, planned.tasks);
    step->calls[0].run = [this, held = &loop](const kernels::Context& context) {
      held->args.key = kernels::dropout_key(key_.seed, key_.epoch);
      kernels::run_edge_loop(context, held->function, held->args, held->cuts, held->totals);
    };
  } else {
    GNEISS_ASSERT(false, "loops over edges are f32");
  }
}

/// The rows of a band's tasks: about equal in edges where one of its ops walks along edges.
template <class T>
void Executor<T>::cut_rows(Step* step) {
  const ir::RowBand& band = plan_.bands[static_cast<std::size_t>(step->band)];
  const std::int64_t rows = sizes_.rows(plan_.program.type(ir::row_value(op_of(band.first_step))));
  const std::int64_t tasks =
      rows == band.rows ? band.tasks : std::min(band.tasks, ir::band_tasks(rows, band.band_rows));
  std::span<const EdgeId> offsets;
  if (const std::optional<ir::EdgeWalk> walk = ir::edge_walk(plan_, band)) {
    offsets = (walk->out_edges ? structures_->out_edges(walk->graph) : structures_->in_edges(walk->graph))->offsets;
  }
  step->cuts.reserve(static_cast<std::size_t>(band.tasks) + 1);
  step->first_tasks = 0;
  if (step->order == ir::RowOrder::kAny) {
    kernels::cut_rows(offsets, rows, tasks, &step->cuts);
  } else {
    step->first_tasks = kernels::cut_rows_at(rows_that_go_first(*step), offsets, rows, tasks, &step->cuts);
  }
  if (!band.streams) return;
  GNEISS_ASSERT(rows == band.rows, "rows in files are those of a node set that stays");
  step->swept = std::make_unique<SweptRows>(file_rows(band), step->cuts);
}

template <class T>
bool Executor<T>::is_wait(const Step& step) const {
  return op_of(step.planned[0]).kind == ir::OpKind::halo_wait;
}

/// The row of a band at which the order of its rows divides them: behind interior rows, or in front of ghosts.
template <class T>
std::int64_t Executor<T>::rows_that_go_first(const Step& step) const {
  if (step.order == ir::RowOrder::kGhostsFirst) return resources_.halo->owned;
  const ir::Type& rows = plan_.program.type(ir::row_value(op_of(step.planned[0])));
  const bool edges = rows.domain == ir::Domain::kEdge;
  // Own nodes, or the rows of the loss.
  const std::int32_t set = edges ? plan_.program.graphs[static_cast<std::size_t>(rows.set)].dst_set : rows.set;
  const std::int64_t interior = set == 0 ? resources_.halo->interior : resources_.halo->interior_loss_rows;
  return edges ? structures_->in_edges(rows.set)->offsets[static_cast<std::size_t>(interior)] : interior;
}

template <class T>
void Executor<T>::run_call(const Step& step) const {
  if (!step.calls[0].run) return;
  const ir::Op& op = op_of(step.planned[0]);
  const bool sums = op.kind == ir::OpKind::spmm && !op.attrs.has("exchange");  // those note their parts
  pgas::noted(sums ? timeline() : nullptr, pgas::Activity::kSum, [&] {
    step.calls[0].run({context_.threads, step.workspaces[0]});
  });
}

template <class T>
void Executor<T>::run_bands(std::size_t at) const {
  const Step& step = steps_[at];
  const std::size_t count = step.calls.size();
  const auto tasks = static_cast<std::int64_t>(step.cuts.size()) - 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (step.calls[i].band.prepare) step.calls[i].band.prepare({context_.threads, step.workspaces[i]});
  }
  if (step.swept != nullptr) step.swept->start();
  const auto run_noted = [&](pgas::Activity what, std::int64_t first, std::int64_t last) {
    pgas::noted(timeline(), what, [&] { run_tasks(step, first, last); });
  };
  if (step.order == ir::RowOrder::kInteriorFirst) {
    if (resources_.overlap) run_noted(pgas::Activity::kLocalSum, 0, step.first_tasks);
    std::size_t first = at;
    while (first > 0 && steps_[first - 1].within_band && is_wait(steps_[first - 1])) --first;
    for (; first < at; ++first) run_call(steps_[first]);
    run_noted(resources_.overlap ? pgas::Activity::kRemoteSum : pgas::Activity::kSum,
              resources_.overlap ? step.first_tasks : 0, tasks);
  } else if (step.order == ir::RowOrder::kGhostsFirst) {
    run_noted(pgas::Activity::kRemoteSum, step.first_tasks, tasks);
    if (resources_.overlap) run_call(steps_[at + 1]);
    run_noted(pgas::Activity::kLocalSum, 0, step.first_tasks);
    if (!resources_.overlap) run_call(steps_[at + 1]);
  } else {
    run_tasks(step, 0, tasks);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (step.calls[i].band.finish) step.calls[i].band.finish({context_.threads, step.workspaces[i]}, tasks);
  }
}

/// The tasks [first, last) of a band. What ranks have sent comes in between bands of rows.
template <class T>
void Executor<T>::run_tasks(const Step& step, std::int64_t first, std::int64_t last) const {
  const std::int64_t band_rows = plan_.bands[static_cast<std::size_t>(step.band)].band_rows;
  const auto run_all = [&](const kernels::Band& band) {
    if (step.swept != nullptr) step.swept->map(band.begin, band.end);
    for (std::size_t i = 0; i < step.calls.size(); ++i) step.calls[i].band.run({1, step.workspaces[i]}, band);
    if (is_rank() && band.thread == 0) resources_.communicator->progress();
  };
  kernels::for_each_band_of(first, last, context_.threads, step.cuts, band_rows, run_all, [&](std::int64_t task) {
    if (step.swept != nullptr) step.swept->through(task);
  });
}

/// Starts the sums of these gradients.
template <class T>
void Executor<T>::start_sums(const std::vector<std::size_t>& parameters) {
  for (const std::size_t p : parameters) {
    const MatrixView<T> gradient = view(plan_.program.params[p].grad);
    GNEISS_ASSERT(gradient.contiguous(), "a gradient has rows that lie apart");
    sums_.start(resources_.communicator, std::span<T>(gradient.data, static_cast<std::size_t>(gradient.size())));
    if (!resources_.overlap) sums_.finish(resources_.communicator);
  }
}

template <class T>
FileRows Executor<T>::feature_rows() const {
  const FeatureInput& features = inputs_.features;
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
  for (std::int32_t i = band.first_step; i <= band.last_step; ++i) {
    const ir::Op& op = op_of(i);
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

/// Where calls find what they work on; asked anew whenever they are bound.
template <class T>
void Executor<T>::make_operands() {
  kernels::Operands<T>& from = operands_;
  from.program = &plan_.program;
  from.sizes = &sizes_;
  from.key = &key_;
  from.communicator = resources_.communicator;
  from.halo = resources_.halo;
  from.space = resources_.space;
  from.exchange = [this](ir::ValueId packed) { return &exchanges_[static_cast<std::size_t>(packed)]; };
  from.real = [this](ir::ValueId v) { return view(v); };
  from.halves = [this](ir::ValueId v) { return halves(v); };
  from.index = [this](ir::ValueId v) {
    if (v == ir::kNoValue) return MatrixView<std::int32_t>();
    const ir::Type& type = plan_.program.type(v);
    return MatrixView<std::int32_t>(reinterpret_cast<std::int32_t*>(address(v)), sizes_.rows(type), type.cols);
  };
  from.in_edges = [this](std::int32_t g) { return structures_->in_edges(g); };
  from.out_edges = [this](std::int32_t g) { return structures_->out_edges(g); };
  from.source_tiles = [this](const ir::Op& op, bool out_edges) {
    const std::int32_t part = plan_.loss_tiles_of(op);
    if (part >= 0) return structures_->loss_tiles(part);
    return structures_->source_tiles(static_cast<std::int32_t>(op.attrs.integer("graph", 0)), out_edges);
  };
  from.features = [this](bool transposed) { return structures_->features(transposed); };
  from.transposed_values = [this]() -> std::span<const T> {
    if constexpr (std::is_same_v<T, float>) {
      return structures_->transposed_values();
    } else {
      return transposed_values_;
    }
  };
  from.edge_weights = [this](std::int32_t g) { return structures_->edge_weights(g); };
  from.row_ids = [this](std::int32_t set) {
    const auto at = static_cast<std::size_t>(set);
    return at < inputs_.row_ids.size() ? inputs_.row_ids[at] : std::span<const std::int64_t>();
  };
}

template <class T>
MatrixView<T> Executor<T>::input_view(ir::ValueId value) {
  if (value == constants_input_) {
    T* data = node_constants_.data();
    if constexpr (std::is_same_v<T, float>) data = const_cast<float*>(inputs_.constants.data);
    return {data, inputs_.constants.rows, inputs_.constants.cols};
  }
  const ir::Type& type = plan_.program.type(value);
  const FeatureInput& features = inputs_.features;
  if (ir::is_half(type.scalar)) return {nullptr, features.rows, features.cols};
  T* data = features_.data();
  if constexpr (std::is_same_v<T, float>) {
    // Kernels take operands as mutable views and write results only; inputs are never results.
    data = const_cast<float*>(features.is_sparse ? features.values.data() : features.dense.data());
  }
  if (type.layout == ir::Layout::kSparse) return {data, features.sparse.nonzeros(), 1};
  return {data, features.rows, features.cols};
}

template <class T>
std::uint16_t* Executor<T>::halves(ir::ValueId value) {
  if (plan_.placements[static_cast<std::size_t>(value)].storage != ir::Storage::kInput) {
    return reinterpret_cast<std::uint16_t*>(address(value));
  }
  return const_cast<std::uint16_t*>(inputs_.features.halves.data());
}

template <class T>
std::span<const std::uint16_t> Executor<T>::read_halves(ir::ValueId value) const {
  const ir::Type& type = plan_.program.type(value);
  return {const_cast<Executor*>(this)->halves(value), static_cast<std::size_t>(sizes_.rows(type) * type.cols)};
}

template <class T>
std::byte* Executor<T>::address(ir::ValueId value) {
  const ir::Placement& place = plan_.placements[static_cast<std::size_t>(value)];
  switch (place.storage) {
    case ir::Storage::kParameter:
      return reinterpret_cast<std::byte*>(parameters_.values().data()) + place.offset_bytes;
    case ir::Storage::kGradient:
      return reinterpret_cast<std::byte*>(parameters_.gradients().data()) + place.offset_bytes;
    case ir::Storage::kState:
      return reinterpret_cast<std::byte*>(parameters_.states().data()) + place.offset_bytes;
    case ir::Storage::kConstant:
      return constants_.data() + place.offset_bytes;
    case ir::Storage::kFile:
      return resources_.file.data() + place.offset_bytes;
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
  const ir::Placement& place = plan_.placements[static_cast<std::size_t>(value)];
  if (place.storage == ir::Storage::kInput) return input_view(value);
  T* data = ir::is_half(type.scalar) ? nullptr : reinterpret_cast<T*>(address(value));
  if (type.layout == ir::Layout::kSparse) return {data, inputs_.features.sparse.nonzeros(), 1};
  MatrixView<T> whole(data, sizes_.rows(type), type.cols, plan_.stride(value));
  if (place.storage == ir::Storage::kBand) {
    whole.thread_stride = plan_.band_bytes / static_cast<std::int64_t>(sizeof(T));
  }
  return whole;
}

template <class T>
void Executor<T>::end_setup() {
  give_back_tail(resources_.file.data(), 0, resources_.file.size());
  releases_.until(ir::Release::kAfterSetup);
}

/// Parts of the data set belong to whoever brought the inputs; of features in a file the executor gives back the pages.
template <class T>
void Executor<T>::release(const ir::Release& release) {
  switch (release.what) {
    case ir::Released::kInEdges:
    case ir::Released::kOutEdges:
      structures_->release(release);
      break;
    case ir::Released::kFeatures:
    case ir::Released::kFeaturePages:
      if (plan_.features_streamed) {
        const FileRows rows = feature_rows();
        give_back_tail(rows.data, 0, static_cast<std::size_t>(inputs_.features.rows * rows.row_bytes));
      }
      break;
    case ir::Released::kArena:
      give_back_tail(arena_.data(), static_cast<std::size_t>(plan_.lasting_arena_bytes), arena_.size());
      break;
    case ir::Released::kGivenEdges:
      break;
  }
}

template <class T>
void Executor<T>::make_loss_tiles() {
  structures_->fill_loss_tiles(plan_, inputs_.features.rows, inputs_.training.rows, context_.threads);
}

template <class T>
void Executor<T>::run(ir::Phase phase, kernels::StepKey key) {
  static const bool poison = poison_wanted();
  if (poison && phase != ir::Phase::kBackward) std::memset(arena_.data(), 0xFF, arena_.size());
  if (poison) std::fill(bands_.begin(), bands_.end(), std::byte{0xFF});
  key_ = key;
  if (phase == ir::Phase::kBackward) start_sums(early_gradients_);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (step.phase != phase) continue;
    if (step.band >= 0) {
      run_bands(i);
    } else if (!step.within_band) {
      run_call(step);
    }
    if (phase == ir::Phase::kSetup) releases_.until(step.planned.back());
    if (!is_rank()) continue;
    resources_.communicator->progress();
    start_sums(step.made_gradients);
  }
  if (phase == ir::Phase::kBackward && is_rank()) sums_.finish(resources_.communicator);
}

template class Executor<float>;
template class Executor<double>;

}  // namespace gneiss::runtime
