// Makes what the plan of a blueprint names (parameters, engine), and runs the phases in order.
#include "train/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/file_pages.h"
#include "base/names.h"
#include "data/given.h"
#include "passes/constant_values.h"
#include "runtime/initialize.h"
#include "runtime/parameters.h"
#include "runtime/releases.h"
#include "train/dataset_inputs.h"
#include "train/engine.h"
#include "train/layerwise.h"
#include "train/loops.h"
#include "train/planned_bytes.h"

namespace gneiss::train {
namespace {

/// Throws kBadData if a constant kept in 16 bits went beyond their range although no feature did.
template <class T>
void check_constants(const ir::Plan& plan, const data::Dataset& dataset, Engine<T>* engine) {
  const auto is_finite = [&](std::uint16_t half) { return std::isfinite(from_half(dataset.features.dtype, half)); };
  for (const ir::Op& op : plan.program.ops) {
    if (op.phase != ir::Phase::kSetup || op.kind == ir::OpKind::input || op.results.empty()) continue;
    const ir::ValueId value = op.results[0];
    const bool stored =
        value != ir::kNoValue && plan.placements[static_cast<std::size_t>(value)].storage != ir::Storage::kNone;
    if (!stored || !ir::is_half(plan.program.type(value).scalar)) continue;
    const std::span<const std::uint16_t> constants = engine->read_halves(value);
    if (std::all_of(constants.begin(), constants.end(), is_finite)) continue;
    const Buffer<std::uint16_t>& features = dataset.features.halves;
    if (!std::all_of(features.begin(), features.end(), is_finite)) return;
    const std::string_view name = half_name(dataset.features.dtype);
    throw Error(
        ErrorCode::kBadData,
        fmt::format("line {} of the model: aggregated features go beyond the range of {}", op.location.line, name),
        dataset.name,
        "use --feature-dtype bf16, which has the range of f32; or keep what is aggregated in f32 with --passes-off "
        "half_constants");
  }
}

/// Parameters of one weight decay, as ranges of the flat buffer.
std::vector<runtime::ParameterRange> parameter_ranges(const ir::Plan& plan, const runtime::OptimizerConfig& config) {
  std::vector<runtime::ParameterRange> ranges;
  for (const ir::Param& param : plan.program.params) {
    if (!param.trainable) continue;
    const ir::Placement& place = plan.placements[static_cast<std::size_t>(param.value)];
    const bool decays = !config.decay_first_layer_only || param.layer == 0;
    ranges.push_back(
        {place.offset_bytes / plan.value_bytes, place.bytes / plan.value_bytes, decays ? config.weight_decay : 0});
  }
  return ranges;
}

}  // namespace

template <class T>
struct Session<T>::Impl {
  data::Dataset own;             ///< where the caller gave it away
  const data::Dataset& dataset;  ///< that, or the caller's
  const RankPart* part;          ///< of a rank of several, or null
  SessionOptions options;
  std::vector<std::string> warnings;
  CompiledLoops loops;
  runtime::DeviceLoops device_loops;
  FileMemory file;
  Blueprint blueprint;
  runtime::Releases releases;  ///< of parts of the session's own dataset
  DatasetInputs inputs;
  runtime::Parameters<T> parameters;
  double loss = 0;                    ///< of a rank, while the ranks sum it up
  LayerwiseEngine* layers = nullptr;  ///< the engine, where it evaluates layer by layer; before that, which sets it
  std::unique_ptr<Engine<T>> engine;
  std::uint64_t seed = 0;
  bool ready = false;  ///< the setup phase has run
  // Of a rank of several: how the logits of all nodes come together on rank 0.
  Buffer<T> all_logits;
  std::vector<std::int64_t> to_first;
  std::vector<std::int64_t> from_all;

  /// `shared`: the caller's, or null and the dataset is moved in.
  Impl(const data::Dataset* shared, data::Dataset moved, SessionOptions given, const RankPart* rank)
      : own(std::move(moved)),
        dataset(shared != nullptr ? *shared : own),
        part(rank),
        options(std::move(given)),
        blueprint(make_ready_blueprint()),
        releases(blueprint.plan, [this](const ir::Release& due) { release(due); }),
        inputs(prepared_dataset(), blueprint.plan, options.class_weights,
               rank == nullptr ? std::span<const std::int64_t>() : rank->ids),
        parameters(blueprint.plan),
        engine(make_engine()) {
    if (part != nullptr) make_room_for_logits();
  }

  std::unique_ptr<Engine<T>> make_engine() {
    const ir::Plan& plan = blueprint.plan;
    std::vector<runtime::ParameterRange> ranges = parameter_ranges(plan, options.optimizer);
    if (options.by_layers) return make_layerwise_engine(std::move(ranges));
    if (options.device == nullptr) {
      return make_host_engine<T>(
          plan, &parameters, inputs.inputs(), {threads_of(options), {}},
          {std::move(blueprint.graphs), loops.functions, file.bytes(), part == nullptr ? nullptr : part->communicator,
           part == nullptr ? nullptr : &part->halo, part == nullptr ? nullptr : part->space,
           part == nullptr ? exchange::Tuning() : part->tuning, shared_memory(), options.overlap},
          options.optimizer, std::move(ranges));
    }
    if constexpr (std::is_same_v<T, float>) {
      return make_device_engine(plan, &parameters, inputs.inputs(), threads_of(options), options.device.get(),
                                std::move(blueprint.graphs), options.optimizer, std::move(ranges),
                                std::move(device_loops), device_rank());
    } else {
      GNEISS_ASSERT(false, "devices compute in f32");
      return nullptr;  // a build without optimizations does not see that it never comes here
    }
  }

  /// Of several devices, as one of them.
  runtime::DeviceRank device_rank() const {
    if (part == nullptr) return {};
    return {part->space,   &part->halo,       part->tuning, part->heap == nullptr ? nullptr : part->communicator,
            part->nvshmem, part->communicator};
  }

  /// Of a device that is a process.
  std::function<Buffer<std::byte>(std::size_t)> shared_memory() const {
    if (part == nullptr || part->heap == nullptr) return {};
    return [heap = part->heap, device = part->communicator->rank()](std::size_t bytes) {
      return heap->allocate(device, bytes);
    };
  }

  /// An iteration has timed the numbers of the tuner at hand; rank 0's seconds count, so that all go on alike.
  void tune(double seconds) {
    double shared[] = {seconds};
    comm::share(*part->communicator, shared);
    part->tuner->record(shared[0]);
    engine->retune(part->tuner->current());
  }

  std::unique_ptr<Engine<T>> make_layerwise_engine(std::vector<runtime::ParameterRange> ranges) {
    if constexpr (std::is_same_v<T, float>) {
      auto made = std::make_unique<LayerwiseEngine>(blueprint.plan, blueprint.compiled.program, dataset, options,
                                                    &parameters, std::move(ranges));
      layers = made.get();
      return made;
    } else {
      GNEISS_ASSERT(false, "evaluation layer by layer is in f32");
    }
  }

  void make_room_for_logits() {
    const auto ranks = static_cast<std::size_t>(part->communicator->ranks());
    const bool first = part->communicator->rank() == 0;
    to_first.assign(ranks + 1, part->halo.owned);
    to_first[0] = 0;
    from_all.assign(ranks + 1, 0);
    if (!first) return;
    from_all = part->starts;
    all_logits = Buffer<T>(static_cast<std::size_t>(part->nodes() * output("logits").cols));
  }

  void bring_logits_together() {
    const MatrixView<const T> mine = output("logits");
    GNEISS_ASSERT(mine.contiguous(), "logits have rows that lie apart");
    part->communicator->exchange(
        {std::as_bytes(std::span<const T>(mine.data, static_cast<std::size_t>(mine.size()))), to_first},
        {std::as_writable_bytes(all_logits.span()), from_all}, mine.cols * static_cast<std::int64_t>(sizeof(T)));
  }

  const ir::Program& program() const { return blueprint.plan.program; }

  /// A plan whose loops over edges are compiled and whose room in a file is taken. Where one of them cannot be done, it
  /// is a plan without.
  Blueprint make_ready_blueprint() {
    if (sizeof(T) != sizeof(float) || part != nullptr || options.by_layers) {
      options.passes.edge_loops = false;
      options.passes.file_room = {};
    }
    if (options.by_layers) {
      options.loss.evaluation_only = true;
      options.passes.excess_bytes = nullptr;  // this plan names parameters and outputs; nothing of it is allocated
    }
    if (options.compiled == nullptr) options.compiled = compile_for(dataset, options, part);
    for (;;) {
      Blueprint made = make_blueprint(dataset, options, sizeof(T), part);
      if (!compile(made) || !take_room(made.plan)) continue;
      if (part != nullptr && !part->order.empty()) order_edges(&made);
      return made;
    }
  }

  /// Of graphs that the plan cuts by sources, rows have to ascend.
  void order_edges(Blueprint* made) {
    GNEISS_ASSERT(owns_dataset(), "edges of a data set that somebody else holds stay in their order");
    for (std::size_t g = 0; g < made->graphs.size(); ++g) {
      const ir::GraphUse& use = made->plan.graph_uses[g];
      graph::Graph* const edges = g == 0 ? &own.graph : made->graphs[g] ? &*made->graphs[g] : nullptr;
      const bool tiled = use.in_tile > 0 || use.out_tile > 0;
      if (edges == nullptr || tiled || edges->num_src() != std::ssize(part->order)) continue;
      graph::order_rows(part->order, threads_of(options), edges);
    }
  }

  bool compile(const Blueprint& made) {
    try {
      if (options.device == nullptr) {
        loops = compile_loops(made.plan, made.compiled);
      } else {
        device_loops = compile_device_loops(made.plan, made.compiled, options.device.get());
      }
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported && error.code() != ErrorCode::kDisk) throw;
      warnings.push_back(fmt::format("no loops over edges were compiled, the model runs on the kernels there are: {}",
                                     text_of(error)));
    }
    options.passes.edge_loops = false;
    return false;
  }

  bool take_room(const ir::Plan& plan) {
    try {
      file = FileMemory(static_cast<std::uint64_t>(plan.file_bytes));
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kDisk) throw;
      warnings.push_back(fmt::format("what is made of the features once is kept in memory: {}", text_of(error)));
    }
    options.passes.file_room.scratch_bytes = 0;
    return false;
  }

  static std::string text_of(const Error& error) {
    std::string text = error.message();
    if (!error.where().empty()) text += " (" + error.where() + ")";
    if (!error.hint().empty()) text += "; " + error.hint();
    return text;
  }

  bool owns_dataset() const { return &dataset == &own; }

  void release(const ir::Release& due) {
    if (!owns_dataset()) return;
    if (due.what == ir::Released::kGivenEdges) own.graph.drop_edges();
    if (due.what == ir::Released::kFeatures) own.features.drop_values();
  }

  /// The dataset in the form that suits the plan: with features that every epoch reads on huge pages instead of a
  /// file's small ones if there are epochs enough to pay for the copy.
  const data::Dataset& prepared_dataset() {
    constexpr double kStepsForCopy = 10;
    releases.until(ir::Release::kAtOnce);
    const bool kept = blueprint.plan.features_kept && !blueprint.plan.features_streamed;
    const bool movable = owns_dataset() && kept && !data::is_lent(own.features);
    if (movable && options.passes.repeats.steps >= kStepsForCopy) own.features.settle(threads_of(options));
    return dataset;
  }

  void set_up() {
    if (ready) return;
    if (layers != nullptr) {
      ready = true;
      return;
    }
    releases.until(ir::Release::kBeforeSetup);
    if (owns_dataset()) rest(&own.labels.targets);  // they were read for checks; the loss comes after the setup
    engine->run(ir::Phase::kSetup, {seed, 0});
    check_constants(blueprint.plan, dataset, engine.get());
    engine->end_setup();
    releases.until(ir::Release::kAfterSetup);
    engine->make_loss_tiles();
    ready = true;
  }

  /// The number of a parameter or state.
  std::size_t find(std::string_view name) const {
    std::vector<std::string> names;
    for (const ir::Param& param : program().params) {
      if (param.name == name) return names.size();
      names.push_back(param.name);
    }
    throw Error(ErrorCode::kUsage, fmt::format("the model has no parameter '{}'", name), {},
                unknown_name_hint(name, names));
  }

  MatrixView<const T> output(std::string_view name) const {
    const ir::ValueId value = program().output(name);
    GNEISS_ASSERT(value != ir::kNoValue, "the program keeps no '{}'", name);
    return engine->read(value);
  }
};

template <class T>
Session<T>::Session(const data::Dataset& dataset, const SessionOptions& options, const RankPart* part)
    : impl_(std::make_unique<Impl>(&dataset, data::Dataset(), options, part)) {
  reset(options.seed);
}

template <class T>
Session<T>::Session(data::Dataset&& dataset, const SessionOptions& options, const RankPart* part)
    : impl_(std::make_unique<Impl>(nullptr, std::move(dataset), options, part)) {
  reset(options.seed);
}

template <class T>
Session<T>::~Session() = default;

template <class T>
const data::Dataset& Session<T>::dataset() const {
  return impl_->dataset;
}

template <class T>
const ir::Plan& Session<T>::plan() const {
  return impl_->blueprint.plan;
}

template <class T>
const language::CompileResult& Session<T>::compiled() const {
  return impl_->blueprint.compiled;
}

template <class T>
const std::vector<std::string>& Session<T>::warnings() const {
  return impl_->warnings;
}

template <class T>
bool Session<T>::evaluates_by_layers() const {
  return impl_->layers != nullptr;
}

template <class T>
void Session<T>::fit_evaluation(std::int64_t bytes) {
  GNEISS_ASSERT(impl_->layers != nullptr, "the whole graph is evaluated at once");
  impl_->layers->evaluation().fit(bytes, impl_->options.passes.limit_name);
}

template <class T>
std::int64_t Session<T>::evaluation_bytes() const {
  GNEISS_ASSERT(impl_->layers != nullptr, "the whole graph is evaluated at once");
  const ir::Plan& plan = impl_->blueprint.plan;
  const int copies = 2 + runtime::Optimizer<float>::state_values(impl_->options.optimizer);
  return plan.parameter_bytes * copies + plan.state_bytes + impl_->layers->evaluation().bytes();
}

template <class T>
std::string Session<T>::describe_evaluation() const {
  return impl_->layers == nullptr ? std::string() : impl_->layers->evaluation().describe();
}

template <class T>
std::int64_t Session<T>::device_bytes() const {
  return impl_->engine->device_bytes();
}

template <class T>
void Session<T>::set_up() {
  impl_->set_up();
}

template <class T>
void Session<T>::reset(std::uint64_t seed) {
  impl_->seed = seed;
  impl_->engine->reset_optimizer();
  const std::vector<ir::Param>& params = impl_->program().params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const ir::Param& param = params[i];
    const MatrixView<T> values = impl_->parameters.value(i);
    runtime::initialize<T>(param.name, param.init, seed, {values.data, static_cast<std::size_t>(values.size())});
  }
  impl_->engine->send();
}

template <class T>
double Session<T>::forward_backward(std::uint64_t epoch) {
  impl_->set_up();
  if (impl_->part != nullptr && impl_->part->space != nullptr && impl_->part->space->timeline() != nullptr)
    impl_->part->space->timeline()->clear();  // the last epoch is shown
  impl_->engine->run(ir::Phase::kForward, {impl_->seed, epoch});
  double& loss = impl_->loss;
  loss = static_cast<double>(impl_->output("loss").at(0, 0));
  comm::Request sum;
  if (impl_->part != nullptr) sum = impl_->part->communicator->start_sum(std::span<double>(&loss, 1));
  impl_->engine->run(ir::Phase::kBackward, {impl_->seed, epoch});  // sums gradients over the ranks
  if (impl_->part != nullptr) impl_->part->communicator->wait(sum);
  return loss;
}

template <class T>
void Session<T>::leave() {
  impl_->engine->leave();
}

template <class T>
std::int64_t Session<T>::exchange_bytes() const {
  return impl_->engine->exchange_bytes();
}

template <class T>
void Session<T>::update(double lr) {
  impl_->engine->update(lr);
}

template <class T>
double Session<T>::step(std::uint64_t epoch, double lr) {
  impl_->set_up();
  if (impl_->part == nullptr) return impl_->engine->step(impl_->program().output("loss"), {impl_->seed, epoch}, lr);
  const auto start = std::chrono::steady_clock::now();
  const double loss = forward_backward(epoch);  // a sum over ranks
  if (std::isfinite(loss)) update(lr);
  if (impl_->part->tuner != nullptr && !impl_->part->tuner->done())
    impl_->tune(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return loss;
}

template <class T>
void Session<T>::evaluate() {
  impl_->set_up();
  impl_->engine->run(ir::Phase::kInference, {impl_->seed, 0});
  if (impl_->part != nullptr) impl_->bring_logits_together();
}

template <class T>
bool Session<T>::scores_here() const {
  return impl_->part == nullptr || impl_->part->communicator->rank() == 0;
}

template <class T>
void Session<T>::share(std::span<double> numbers) const {
  if (impl_->part != nullptr) comm::share(*impl_->part->communicator, numbers);
}

template <class T>
double Session<T>::penalty() const {
  impl_->engine->fetch();
  const runtime::OptimizerConfig& config = impl_->options.optimizer;
  return runtime::penalty<T>(config, parameter_ranges(impl_->blueprint.plan, config), impl_->parameters.values());
}

template <class T>
double Session<T>::validation_loss() const {
  if (impl_->program().output("val_loss") == ir::kNoValue) return std::numeric_limits<double>::quiet_NaN();
  double loss[] = {static_cast<double>(impl_->output("val_loss").at(0, 0))};
  if (impl_->part != nullptr) impl_->part->communicator->sum(loss);
  return loss[0];
}

template <class T>
std::span<const double> Session<T>::count_scores(std::span<const NodeId> rows, bool by_class) const {
  if (impl_->part != nullptr) return {};  // rows are of all parts
  return impl_->engine->count_scores(rows, by_class);
}

template <class T>
MatrixView<const T> Session<T>::logits() const {
  const MatrixView<const T> here = impl_->output("logits");
  return impl_->all_logits.empty() ? here
                                   : MatrixView<const T>(impl_->all_logits.data(), impl_->part->nodes(), here.cols);
}

template <class T>
bool Session<T>::logits_come_by_rows() const {
  return impl_->layers != nullptr && impl_->layers->evaluation().by_rows();
}

template <class T>
Buffer<T> Session<T>::logits_of(std::span<const NodeId> rows) const {
  if constexpr (std::is_same_v<T, float>) {
    if (logits_come_by_rows()) return impl_->layers->evaluation().logits_of(rows);
  }
  const MatrixView<const T> all = logits();
  Buffer<T> made(rows.size() * static_cast<std::size_t>(all.cols));
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(all.row(rows[i]), all.cols, made.data() + static_cast<std::int64_t>(i) * all.cols);
  return made;
}

template <class T>
MatrixView<const T> Session<T>::training_logits() const {
  return impl_->output("train_logits");
}

template <class T>
MatrixView<const T> Session<T>::embedding() const {
  return impl_->output("embedding");
}

template <class T>
const std::vector<ir::Param>& Session<T>::params() const {
  return impl_->program().params;
}

template <class T>
runtime::Parameters<T>& Session<T>::parameters() {
  impl_->engine->fetch();
  return impl_->parameters;
}

template <class T>
std::vector<T> Session<T>::parameter(std::string_view name) const {
  const std::size_t i = impl_->find(name);
  impl_->engine->fetch();
  return runtime::stored_values<T>(impl_->parameters.value(i), params()[i].stored_transposed);
}

template <class T>
std::vector<T> Session<T>::gradient(std::string_view name) const {
  const std::size_t i = impl_->find(name);
  const ir::Param& param = params()[i];
  impl_->engine->fetch();
  if (param.grad == ir::kNoValue) return std::vector<T>(static_cast<std::size_t>(param.rows * param.cols), T{0});
  return runtime::stored_values<T>(impl_->parameters.gradient(i), param.stored_transposed);
}

template <class T>
void Session<T>::set_parameter(std::string_view name, std::span<const T> stored_values) {
  const std::size_t i = impl_->find(name);
  const ir::Param& param = params()[i];
  impl_->engine->fetch();
  const MatrixView<T> values = impl_->parameters.value(i);
  GNEISS_CHECK(static_cast<std::int64_t>(stored_values.size()) == values.size(), ErrorCode::kShape,
               "parameter '{}' has {} values, {} were given", name, values.size(), stored_values.size());
  const bool frozen = impl_->ready && passes::constant_values(impl_->program())[static_cast<std::size_t>(param.value)];
  for (std::int64_t r = 0; r < values.rows; ++r) {
    for (std::int64_t c = 0; c < values.cols; ++c) {
      const std::int64_t at = param.stored_transposed ? c * values.rows + r : r * values.cols + c;
      const T value = stored_values[static_cast<std::size_t>(at)];
      GNEISS_CHECK(!frozen || values.at(r, c) == value, ErrorCode::kUsage,
                   "'{}' is part of what was computed before the first step: set it before", name);
      values.at(r, c) = value;
    }
  }
  impl_->engine->send();
}

template <class T>
std::size_t Session<T>::snapshot_size() const {
  return impl_->parameters.values().size() + impl_->parameters.states().size();
}

template <class T>
void Session<T>::save_snapshot(std::span<T> out) const {
  GNEISS_ASSERT(out.size() == snapshot_size(), "a snapshot has {} values", snapshot_size());
  impl_->engine->fetch();
  const auto end = std::copy(impl_->parameters.values().begin(), impl_->parameters.values().end(), out.begin());
  std::copy(impl_->parameters.states().begin(), impl_->parameters.states().end(), end);
}

template <class T>
void Session<T>::load_snapshot(std::span<const T> in) {
  GNEISS_ASSERT(in.size() == snapshot_size(), "a snapshot has {} values", snapshot_size());
  const std::span<T> parameters = impl_->parameters.values();
  std::copy_n(in.begin(), parameters.size(), parameters.begin());
  std::copy(in.begin() + static_cast<std::ptrdiff_t>(parameters.size()), in.end(), impl_->parameters.states().begin());
  impl_->engine->send();
}

template <class T>
TrainingState<T> Session<T>::training_state() {
  impl_->engine->fetch();
  return {impl_->parameters.values(), impl_->parameters.states(), impl_->engine->optimizer_state()};
}

template <class T>
void Session<T>::send_training_state() {
  impl_->engine->send();
  impl_->engine->send_optimizer();
}

template class Session<float>;
template class Session<double>;

}  // namespace gneiss::train
