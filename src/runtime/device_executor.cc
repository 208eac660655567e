// Memory first, part by part in the order of the layout; then every op is bound to its kernel, as on the host.
#include "runtime/device_executor.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/error.h"
#include "comm/together.h"
#include "kernels/labelled_entries.h"

namespace gneiss::runtime {
namespace {

/// Neighbours of one weight decay as one range. Gaps between parameters hold zeros, and stay so.
std::vector<ParameterRange> joined(std::vector<ParameterRange> ranges) {
  std::vector<ParameterRange> all;
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  for (const ParameterRange& range : ranges) {
    if (all.empty() || all.back().weight_decay != range.weight_decay) {
      all.push_back(range);
    } else {
      all.back().size = range.begin + range.size - all.back().begin;
    }
  }
  return all;
}

/// In-edges of the graphs of a program.
std::function<SparsePattern(std::int32_t)> edges_of(const Inputs& inputs, const DerivedGraphs& derived) {
  return [&](std::int32_t graph) {
    const auto g = static_cast<std::size_t>(graph);
    return g < derived.size() && derived[g] ? derived[g]->in_edges() : inputs.graphs[0].in_edges;
  };
}

template <class Args>
void run_kernel(const kernels::DeviceKernels& kernels, const kernels::DeviceContext& context, const Args& args) {
  std::get<kernels::DeviceKernel<Args>>(kernels).run(context, args);
}

}  // namespace

DeviceExecutor::DeviceExecutor(const ir::Plan& plan, Parameters<float>* parameters, Device* device,
                               const Inputs& inputs, DerivedGraphs derived, int threads,
                               const OptimizerConfig& optimizer, std::vector<ParameterRange> ranges, DeviceLoops loops,
                               const DeviceRank& rank)
    : plan_(plan),
      parameters_(*parameters),
      device_(*device),
      optimizer_(optimizer),
      loops_(std::move(loops)),
      ranges_(joined(std::move(ranges))),
      layout_(device_layout(plan, inputs, optimizer)),
      exchanging_(plan, rank, edges_of(inputs, derived)),
      nvshmem_(rank.nvshmem),
      sizes_(ir::capacity(plan.program)) {
  parameters_.check(plan);
  take_memory(device, rank.devices);
  const bool has_rows_of_bands =
      std::any_of(plan.bands.begin(), plan.bands.end(), [](const ir::RowBand& band) { return band.band_rows > 0; });
  GNEISS_ASSERT(!has_rows_of_bands && plan.file_bytes == 0, "the plan is for a host");
  GNEISS_ASSERT(loops_.loops.size() == plan.loops.size(), "{} of {} loops over edges were compiled",
                loops_.loops.size(), plan.loops.size());
  const std::int64_t values = plan.parameter_bytes / std::int64_t{sizeof(float)};
  const int states = Optimizer<float>::state_values(optimizer);
  values_ = take<float>(values);
  gradients_ = take<float>(values);
  states_ = take<float>(plan.state_bytes / std::int64_t{sizeof(float)});
  first_ = take<float>(states >= 1 ? values : 0);
  second_ = take<float>(states >= 2 ? values : 0);
  host_first_.resize(first_.size);
  host_second_.resize(second_.size);
  squares_ = take<std::byte>(layout_.parts[next_part_].bytes);
  numbers_ = take<kernels::StepNumbers>(1);
  constants_ = take<std::byte>(plan.constant_bytes);
  arena_ = take<std::byte>(plan.arena_bytes);
  const Structures structures(inputs, plan, std::move(derived), threads);
  send_graphs(structures);
  send_features(inputs, structures);
  send_labels(inputs);
  send_scored(inputs);
  GNEISS_ASSERT(next_part_ == layout_.parts.size(), "{} of {} parts of the device's memory were used", next_part_,
                layout_.parts.size());
  send_parameters();
  device_.fill(gradients_.data, 0, plan.parameter_bytes);
  reset_optimizer();
  make_operands();
  take_room(with_exchanges(layout_, exchange_bytes()), device, [&] { exchanging_.send(device, all_); });
  bind_steps();
}

/// A block of NVSHMEM's is as large on all devices as one of them needs it.
void DeviceExecutor::take_memory(Device* device, comm::Communicator* devices) {
  const auto on_all = [&](const std::function<void()>& work) {
    if (devices == nullptr) return work();
    comm::together(*devices, work);
  };
  on_all([&] {
    const DeviceLayout whole = with_exchanges(layout_, exchanging_.bytes());
    check_room(whole, device);
    if (nvshmem_ == nullptr) take_room(whole, device, [&] { memory_.emplace(device, layout_.bytes); });
  });
  all_.size = static_cast<std::size_t>(layout_.bytes);
  if (nvshmem_ == nullptr) {
    all_.data = memory_->data();
    return;
  }
  all_.size = static_cast<std::size_t>(nvshmem_->bytes_for_all(layout_.bytes));
  on_all([&] { check_room(with_exchanges(layout_, exchange_bytes()), device); });
  all_.data = nvshmem_->allocate(static_cast<std::int64_t>(all_.size));
}

std::int64_t DeviceExecutor::exchange_bytes() const {
  return exchanging_.bytes() + static_cast<std::int64_t>(all_.size) - layout_.bytes;
}

void DeviceExecutor::leave() {
  exchanging_.leave();
  if (nvshmem_ != nullptr) nvshmem_->release(all_.data);
}

template <class Launch, class Name>
void DeviceExecutor::launch(const Launch& launch, const Name& name) {
  try {
    launch();
    if (waits_for_each_step()) device_.wait();
  } catch (const Error& error) {
    failed_in_launch_ = true;
    throw Error(error.code(), fmt::format("{}: {}", name(), error.message()), error.where(), error.hint());
  }
}

std::string DeviceExecutor::what_is_under_way() const {
  if (under_way_.whole_step) return fmt::format("epoch {}", under_way_.epoch);
  switch (under_way_.phase) {
    case ir::Phase::kSetup:
      return "setup";
    case ir::Phase::kInference:
      return "evaluation";
    case ir::Phase::kForward:
    case ir::Phase::kBackward:
      break;
  }
  return fmt::format("epoch {}, {}", under_way_.epoch, ir::phase_name(under_way_.phase));
}

template <class Work>
void DeviceExecutor::told(const Work& work) const {
  try {
    work();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInternal) throw;
    std::string hint = error.hint();
    if (!failed_in_launch_ && !waits_for_each_step())
      hint +=
          fmt::format("{}GNEISS_DEVICE_SYNC=1 finds the kernel and the line of the model", hint.empty() ? "" : "; ");
    throw Error(error.code(), fmt::format("{}: {}", what_is_under_way(), error.message()), error.where(), hint);
  }
}

void DeviceExecutor::bind_steps() {
  for (const ir::Step& planned : plan_.steps) {
    const ir::Op& op = plan_.program.ops[static_cast<std::size_t>(planned.op)];
    Step& step = steps_.emplace_back();
    step.op = &op;
    if (planned.loop >= 0) {
      const auto number = static_cast<std::size_t>(planned.loop);
      const ir::EdgeLoop& loop = plan_.loops[number];
      if (std::ssize(steps_) - 1 == loop.last_step) bind_loop(&step, loop, number);
      continue;
    }
    kernels::bind_call<float, Space::kDevice>(op, operands_, &step.call);
    GNEISS_ASSERT(static_cast<std::int64_t>(step.call.workspace_bytes) <= planned.workspace_bytes,
                  "{} needs {} bytes of scratch, the plan has {}", ir::traits(op.kind).name, step.call.workspace_bytes,
                  planned.workspace_bytes);
    step.together = exchanging_.bind(op, operands_);
  }
  bind_epilogues();
  if (exchanging_.several()) sum_gradients_ = exchanging_.bind_sum(gradients_);
}

/// A loop is launched in the place of its last step; those before have no call.
void DeviceExecutor::bind_loop(Step* step, const ir::EdgeLoop& planned, std::size_t number) {
  const Graph& graph = graphs_[static_cast<std::size_t>(planned.graph)];
  DeviceLoop& loop = bound_loops_.emplace_back();
  loop.loop = loops_.loops[number];
  loop.add_totals = loops_.totals;
  loop.launch.args = device_loop_args(planned.out_edges ? graph.out : graph.in, graph.in, graph.weights, ids_of(0));
  loop.launch.rows = planned.rows;
  loop.launch.tasks = planned.tasks;
  const ir::LoopValues values = ir::values_of(plan_, planned);
  const auto place = [&](ir::ValueId v) -> void* {
    const ir::Type& type = plan_.program.type(v);
    GNEISS_ASSERT(plan_.stride(v) == type.cols, "a loop over edges reads rows that lie apart");
    return type.scalar == ir::Scalar::kIndex ? static_cast<void*>(address(v)) : view(v).data;
  };
  for (const ir::ValueId v : values.reads) loop.matrices.push_back(place(v));
  for (const ir::ValueId v : values.writes) loop.matrices.push_back(place(v));
  for (const ir::ValueId v : values.totals) loop.totals.push_back(view(v));
  step->call.run = [held = &loop](const kernels::DeviceContext& context) { launch_loop(context, *held); };
}

/// Steps of a chain but its first become stages of that one's kernel.
void DeviceExecutor::bind_epilogues() {
  for (const ir::RowBand& band : plan_.bands) {
    kernels::Epilogue epilogue;
    for (std::int32_t i = band.first_step + 1; i <= band.last_step; ++i) {
      Step& step = steps_[static_cast<std::size_t>(i)];
      GNEISS_ASSERT(step.call.stage && epilogue.count < kernels::kMostStages, "{} is no stage of a kernel",
                    ir::traits(step.op->kind).name);
      kernels::EpilogueStage stage = *step.call.stage;
      const ir::ValueId at_hand = steps_[static_cast<std::size_t>(i) - 1].op->results[0];
      for (std::size_t k = 0; k < step.op->inputs.size(); ++k) {
        if (step.op->inputs[k] == at_hand) stage.at_hand |= static_cast<std::uint8_t>(1U << k);
      }
      epilogue.stages[epilogue.count++] = stage;
      step.in_epilogue = true;
    }
    steps_[static_cast<std::size_t>(band.first_step)].epilogue = static_cast<std::int32_t>(epilogues_.size());
    epilogues_.push_back(epilogue);
  }
}

/// The next part of the layout.
template <class T>
DeviceSpan<T> DeviceExecutor::take(std::int64_t count) {
  GNEISS_ASSERT(next_part_ < layout_.parts.size(), "the layout has no more parts");
  const DevicePart& part = layout_.parts[next_part_++];
  GNEISS_ASSERT(part.bytes == count * static_cast<std::int64_t>(sizeof(T)), "{} takes {} bytes, the layout has {}",
                part.what, count * static_cast<std::int64_t>(sizeof(T)), part.bytes);
  return {reinterpret_cast<T*>(all_.data + part.offset), static_cast<std::size_t>(count)};
}

template <class T>
DeviceSpan<const T> DeviceExecutor::send(std::span<const T> from) {
  const DeviceSpan<T> to = take<T>(std::ssize(from));
  if (!from.empty()) device_.upload(to.data, from.data(), static_cast<std::int64_t>(from.size_bytes()));
  return {to.data, to.size};
}

SparsePatternIn<Space::kDevice> DeviceExecutor::send_pattern(const SparsePattern& from) {
  SparsePatternIn<Space::kDevice> to;
  to.rows = from.rows;
  to.cols = from.cols;
  to.offsets = send(from.offsets);
  to.indices = send(from.indices);
  return to;
}

void DeviceExecutor::send_graphs(const Structures& structures) {
  graphs_.resize(plan_.graph_uses.size());
  for (std::size_t g = 0; g < graphs_.size(); ++g) {
    const ir::GraphUse& use = plan_.graph_uses[g];
    if (!use.used) continue;
    GNEISS_CHECK(!plan_.program.graphs[g].changes, ErrorCode::kUnsupported,
                 "mini-batches do not run on cards yet; use --device cpu");
    const auto number = static_cast<std::int32_t>(g);
    graphs_[g].in = send_pattern(*structures.in_edges(number));
    graphs_[g].in.part_of = plan_.program.graphs[g].part_of;
    if (plan_.program.graphs[g].weighted) graphs_[g].weights = send(structures.edge_weights(number));
    if (!use.transpose) continue;
    const SparsePattern& out = *structures.out_edges(number);
    graphs_[g].out = send_pattern(out);
    if (use.slots) graphs_[g].out.slots = send(out.slots);
  }
}

void DeviceExecutor::send_features(const Inputs& inputs, const Structures& structures) {
  const FeatureInput& features = inputs.features;
  if (features.dtype != HalfType::kNone) {
    feature_halves_ = send(features.halves);
    return;
  }
  if (!features.is_sparse) {
    feature_values_ = send(features.dense);
    return;
  }
  features_ = send_pattern(features.sparse);
  feature_values_ = send(features.values);
  if (!plan_.feature_transpose) return;
  const SparsePattern& transposed = *structures.features(true);
  transposed_features_ = send_pattern(transposed);
  if (plan_.feature_slots) {
    transposed_features_.slots = send(transposed.slots);
  } else {
    transposed_values_ = send(structures.transposed_values());
  }
}

kernels::LossOperandsIn<Space::kDevice> DeviceExecutor::send_rows(const LabelledRows& from) {
  kernels::LossOperandsIn<Space::kDevice> to;
  to.labels = send(from.classes);
  const auto size = static_cast<std::size_t>(from.targets.size());
  to.targets = {send(std::span<const float>(from.targets.data, size)).data, from.targets.rows, from.targets.cols};
  to.rows = send(from.rows);
  if (from.targets.data != nullptr) to.labelled = kernels::labelled_entries(1, from.targets, from.rows);
  return to;
}

void DeviceExecutor::send_labels(const Inputs& inputs) {
  row_ids_.resize(inputs.row_ids.size());
  for (const std::size_t set : sets_with_ids(inputs)) row_ids_[set] = send(inputs.row_ids[set]);
  for (std::size_t set = 0; set < row_ids_.size(); ++set) row_ids_[set] = row_ids_[first_with_ids_of(inputs, set)];
  operands_.training = send_rows(inputs.training);
  operands_.validation = send_rows(inputs.validation);
  operands_.class_weights = send(inputs.class_weights);
}

void DeviceExecutor::send_scored(const Inputs& inputs) {
  const auto keep = [this](std::span<const NodeId> rows, DeviceSpan<const NodeId> here) {
    scored_.push_back({std::vector<NodeId>(rows.begin(), rows.end()), here});
  };
  keep(inputs.scored.training, send(inputs.scored.training));
  keep(inputs.scored.test, send(inputs.scored.test));
  keep(inputs.scored.validation, operands_.validation.rows);
  const std::int64_t count = layout_.parts[next_part_].bytes / std::int64_t{sizeof(double)};
  counts_ = take<double>(count);
  host_counts_.resize(counts_.size);
  counting_ = take<std::byte>(layout_.parts[next_part_].bytes);
}

std::span<const double> DeviceExecutor::count_scores(std::span<const NodeId> rows, bool by_class) {
  const auto part = std::find_if(scored_.begin(), scored_.end(), [&](const Scored& scored) {
    return std::equal(rows.begin(), rows.end(), scored.rows.begin(), scored.rows.end());
  });
  if (part == scored_.end() || rows.empty()) return {};
  kernels::OnDevice<kernels::CountScoresArgs> args;
  args.logits = view(plan_.program.output("logits"));
  args.labels = operands_.validation.labels;
  args.targets = operands_.validation.targets;
  args.rows = part->here;
  args.by_class = by_class;
  args.counts = counts_;
  kernels::DeviceContext context = this->context();
  context.workspace = counting_;
  const auto count = 4 * static_cast<std::size_t>(kernels::counted_columns(args));
  told([&] {
    launch([&] { run_kernel(device_.kernels(), context, args); }, [] { return "counting of scores"; });
    device_.download(host_counts_.data(), counts_.data, static_cast<std::int64_t>(count * sizeof(double)));
  });
  return std::span<const double>(host_counts_).first(count);
}

void DeviceExecutor::make_operands() {
  kernels::Operands<float, Space::kDevice>& from = operands_;
  from.program = &plan_.program;
  from.kernels = &device_.kernels();
  from.sizes = &sizes_;
  from.real = [this](ir::ValueId v) { return view(v); };
  from.halves = [this](ir::ValueId v) {
    std::byte* const data = address(v);
    // Kernels take operands as mutable views and write results only; inputs are never results.
    return data != nullptr ? reinterpret_cast<std::uint16_t*>(data) : const_cast<std::uint16_t*>(feature_halves_.data);
  };
  from.index = [this](ir::ValueId v) {
    if (v == ir::kNoValue) return MatrixView<std::int32_t, Space::kDevice>();
    const ir::Type& type = plan_.program.type(v);
    return MatrixView<std::int32_t, Space::kDevice>(reinterpret_cast<std::int32_t*>(address(v)), sizes_.rows(type),
                                                    type.cols);
  };
  from.in_edges = [this](std::int32_t g) { return &graphs_[static_cast<std::size_t>(g)].in; };
  from.out_edges = [this](std::int32_t g) { return &graphs_[static_cast<std::size_t>(g)].out; };
  from.source_tiles = [](const ir::Op&, bool) { return TiledPatternIn<Space::kDevice>(); };
  from.features = [this](bool transposed) { return transposed ? &transposed_features_ : &features_; };
  from.transposed_values = [this] { return transposed_values_; };
  from.edge_weights = [this](std::int32_t g) { return graphs_[static_cast<std::size_t>(g)].weights; };
  from.row_ids = [this](std::int32_t set) { return ids_of(static_cast<std::size_t>(set)); };
}

std::byte* DeviceExecutor::address(ir::ValueId value) {
  const ir::Placement& place = plan_.placements[static_cast<std::size_t>(value)];
  switch (place.storage) {
    case ir::Storage::kParameter:
      return reinterpret_cast<std::byte*>(values_.data) + place.offset_bytes;
    case ir::Storage::kGradient:
      return reinterpret_cast<std::byte*>(gradients_.data) + place.offset_bytes;
    case ir::Storage::kState:
      return reinterpret_cast<std::byte*>(states_.data) + place.offset_bytes;
    case ir::Storage::kConstant:
      return constants_.data + place.offset_bytes;
    case ir::Storage::kArena:
      return arena_.data + place.offset_bytes;
    case ir::Storage::kInput:
    case ir::Storage::kFile:
    case ir::Storage::kBand:
    case ir::Storage::kLoop:
    case ir::Storage::kNone:
      break;
  }
  return nullptr;
}

MatrixView<float, Space::kDevice> DeviceExecutor::view(ir::ValueId value) {
  const ir::Type& type = plan_.program.type(value);
  const bool is_input = plan_.placements[static_cast<std::size_t>(value)].storage == ir::Storage::kInput;
  // Kernels take operands as mutable views and write results only; inputs are never results.
  float* data = is_input ? const_cast<float*>(feature_values_.data) : reinterpret_cast<float*>(address(value));
  if (type.layout == ir::Layout::kSparse) return {data, static_cast<std::int64_t>(features_.indices.size), 1};
  return {data, sizes_.rows(type), type.cols, is_input ? type.cols : plan_.stride(value)};
}

kernels::DeviceContext DeviceExecutor::context() const {
  kernels::DeviceContext context = device_.context();
  context.workspace = {arena_.data, static_cast<std::size_t>(plan_.workspace_bytes)};
  context.step = numbers_.data;
  context.tensor_cores = device_.tensor_cores();
  return context;
}

void DeviceExecutor::launch_phase(ir::Phase phase) {
  kernels::DeviceContext context = this->context();
  for (const Step& step : steps_) {
    if (step.op->phase != phase || !(step.call.run || step.together) || step.in_epilogue) continue;
    context.epilogue = step.epilogue < 0 ? nullptr : &epilogues_[static_cast<std::size_t>(step.epilogue)];
    launch([&] { step.together ? step.together(context) : step.call.run(context); },
           [&] {
             return fmt::format("{} (line {} of the model)",
                                step.op->attrs.has("loop") ? "a loop over edges" : ir::traits(step.op->kind).name,
                                step.op->location.line);
           });
  }
}

void DeviceExecutor::launch_clipping(const kernels::DeviceContext& context) {
  kernels::OnDevice<kernels::ClipNormArgs> args;
  args.max_norm = optimizer_.clip_norm;
  args.g = gradients_;
  kernels::DeviceContext clipping = context;
  clipping.workspace = squares_;
  launch([&] { run_kernel(device_.kernels(), clipping, args); }, [] { return "clipping"; });
}

void DeviceExecutor::launch_update() {
  using kernels::OnDevice;
  kernels::DeviceContext context = this->context();
  const ir::ValueId loss = plan_.program.output("loss");
  if (loss != ir::kNoValue) context.guard = view(loss).data;
  if (optimizer_.clip_norm > 0) launch_clipping(context);
  for (const ParameterRange& range : ranges_) {
    const auto part = [&](DeviceSpan<float> whole) -> DeviceSpan<float> {
      return whole.size == 0 ? whole
                             : DeviceSpan<float>{whole.data + range.begin, static_cast<std::size_t>(range.size)};
    };
    const DeviceSpan<float> w = part(values_);
    const DeviceSpan<const float> g{part(gradients_).data, w.size};
    // The number of the step and its rate are read from the block of numbers.
    const auto run = [&](const auto& args) {
      launch([&] { run_kernel(device_.kernels(), context, args); }, [] { return "the update"; });
    };
    if (optimizer_.kind == OptimizerKind::kSgd) {
      run(OnDevice<kernels::SgdStepArgs>{1, 0, optimizer_.momentum, range.weight_decay, optimizer_.nesterov, w, g,
                                         part(first_)});
      continue;
    }
    const bool decoupled = optimizer_.kind == OptimizerKind::kAdamW;
    run(OnDevice<kernels::AdamStepArgs>{1, 0, optimizer_.beta1, optimizer_.beta2, optimizer_.eps, range.weight_decay,
                                        decoupled, w, g, part(first_), part(second_)});
  }
}

void DeviceExecutor::send_numbers(kernels::StepKey key, double lr) {
  for (Copy& copy : copies_) copy.fresh = false;
  const kernels::StepNumbers numbers =
      step_numbers(key.seed, key.epoch, lr, optimizer_steps_, optimizer_.beta1, optimizer_.beta2);
  told([&] { device_.upload(numbers_.data, &numbers, sizeof(numbers)); });
}

void DeviceExecutor::run(ir::Phase phase, kernels::StepKey key) {
  send_numbers(key, 0);
  under_way_ = {phase, false, key.epoch};
  told([&] {
    if (phase == ir::Phase::kInference && !exchanging_.several()) {
      recorded_inference_.run(&device_, arena_, [this] { launch_phase(ir::Phase::kInference); });
    } else {
      launch_phase(phase);
    }
    if (phase == ir::Phase::kBackward && exchanging_.several()) sum_gradients_(context());
  });
}

void DeviceExecutor::update(double lr) {
  ++optimizer_steps_;
  send_numbers({}, lr);
  told([&] { launch_update(); });
}

void DeviceExecutor::step(kernels::StepKey key, double lr) {
  GNEISS_ASSERT(!exchanging_.several(), "one of several devices steps by phases");
  ++optimizer_steps_;
  send_numbers(key, lr);
  under_way_ = {ir::Phase::kForward, true, key.epoch};
  told([&] {
    recorded_step_.run(&device_, arena_, [this] {
      launch_phase(ir::Phase::kForward);
      launch_phase(ir::Phase::kBackward);
      launch_update();
    });
  });
}

void DeviceExecutor::reset_optimizer() {
  optimizer_steps_ = 0;
  const auto clear = [this](DeviceSpan<float> state) {
    if (state.size > 0) device_.fill(state.data, 0, static_cast<std::int64_t>(state.size * sizeof(float)));
  };
  clear(first_);
  clear(second_);
}

void DeviceExecutor::fetch_optimizer() {
  const auto copy = [this](std::vector<float>& to, DeviceSpan<float> from) {
    if (to.empty()) return;
    told([&] { device_.download(to.data(), from.data, static_cast<std::int64_t>(to.size() * sizeof(float))); });
  };
  copy(host_first_, first_);
  copy(host_second_, second_);
}

void DeviceExecutor::send_optimizer() {
  const auto copy = [this](DeviceSpan<float> to, const std::vector<float>& from) {
    if (!from.empty()) device_.upload(to.data, from.data(), static_cast<std::int64_t>(from.size() * sizeof(float)));
  };
  copy(first_, host_first_);
  copy(second_, host_second_);
}

/// The copy of a value, made again if a phase has run since.
const std::byte* DeviceExecutor::fetch(ir::ValueId value, std::int64_t bytes) {
  auto copy = std::find_if(copies_.begin(), copies_.end(), [&](const Copy& c) { return c.value == value; });
  if (copy == copies_.end()) copy = copies_.insert(copies_.end(), Copy{value, {}, false});
  if (!copy->fresh) {
    copy->elements.resize(static_cast<std::size_t>(bytes));
    if (bytes > 0) told([&] { device_.download(copy->elements.data(), address(value), bytes); });
    copy->fresh = true;
  }
  return copy->elements.data();
}

MatrixView<const float> DeviceExecutor::read(ir::ValueId value) {
  const MatrixView<float, Space::kDevice> from = view(value);
  const std::byte* copy = fetch(value, from.rows * from.stride * std::int64_t{sizeof(float)});
  return {reinterpret_cast<const float*>(copy), from.rows, from.cols, from.stride};
}

std::span<const std::uint16_t> DeviceExecutor::read_halves(ir::ValueId value) {
  const ir::Type& type = plan_.program.type(value);
  const std::int64_t count = sizes_.rows(type) * type.cols;
  const std::byte* copy = fetch(value, count * std::int64_t{sizeof(std::uint16_t)});
  return {reinterpret_cast<const std::uint16_t*>(copy), static_cast<std::size_t>(count)};
}

void DeviceExecutor::send_parameters() {
  device_.upload(values_.data, parameters_.values().data(), plan_.parameter_bytes);
  if (plan_.state_bytes > 0) device_.upload(states_.data, parameters_.states().data(), plan_.state_bytes);
}

void DeviceExecutor::fetch_parameters() {
  told([&] {
    device_.download(parameters_.values().data(), values_.data, plan_.parameter_bytes);
    device_.download(parameters_.gradients().data(), gradients_.data, plan_.parameter_bytes);
    if (plan_.state_bytes > 0) device_.download(parameters_.states().data(), states_.data, plan_.state_bytes);
  });
}

}  // namespace gneiss::runtime
