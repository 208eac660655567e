// synth: the training that settings ask for, written as a program.
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/version.h"
#include "comm/loopback.h"
#include "jobs/device_choice.h"
#include "jobs/job.h"
#include "jobs/options.h"
#include "jobs/rank_machine.h"
#include "jobs/workload.h"
#include "runtime/device_layout.h"
#include "synth/project.h"
#include "synth/target.h"
#include "train/cut_nodes.h"
#include "train/dataset_inputs.h"
#include "train/rank_data.h"

namespace gneiss::jobs {
namespace {

/// Programs of a target are for one rank or for several.
void check_ranks_of(const synth::Target& target, const settings::Config& config) {
  if (rank_count(config) != 1 && !target.ranks) {
    throw Error(ErrorCode::kUsage, fmt::format("a program of --target {} runs on one rank", target.name),
                config.where("train.ranks"), "use --target mpi, or leave --ranks out");
  }
  if (rank_count(config) == 1 && target.ranks) {
    throw Error(ErrorCode::kUsage, fmt::format("--target {} writes programs for several ranks", target.name),
                config.where("train.ranks"), "say how many with --ranks, or use --target openmp");
  }
  check_ranks(config, rank_count(config));
}

/// Settings that the loop of a written program has no place for.
void check_settings(const settings::Config& config, const train::FullGraphOptions& driver) {
  if (config.integer("train.runs") != 1 || split_changes(config)) {
    throw Error(ErrorCode::kUsage, "a written program trains one run on one split", config.where("train.runs"),
                "leave --runs out; the program takes --seed and --split");
  }
  if (device_count(config) != 1) {
    throw Error(ErrorCode::kUsage, "a written program runs on one device", config.where("train.devices"),
                "leave --devices out");
  }
  if (config.flag("train.processes")) {
    throw Error(ErrorCode::kUsage, "a written program has no devices that could be processes",
                config.where("train.processes"), "leave --processes out");
  }
  if (!config.flag("train.overlap")) {
    throw Error(ErrorCode::kUsage, "a written program always computes while rows are on their way",
                config.where("train.overlap"), "leave --no-overlap out; the results are the same");
  }
  if (const std::string& exchange = config.text("train.exchange"); exchange != "auto" && exchange != "halo") {
    throw Error(ErrorCode::kUsage, fmt::format("a written program does not take up others' rows by {}", exchange),
                config.where("train.exchange"), "leave --exchange out: it waits for all rows behind its interior ones");
  }
  if (trains_batches(config)) {
    throw Error(ErrorCode::kUsage, "a written program trains on the whole graph, not on mini-batches",
                config.where("batch.size"), "leave --batch-size out");
  }
  if (config.has("train.init")) {
    throw Error(ErrorCode::kUsage, "a written program draws its first weights from the seed",
                config.where("train.init"), "leave --init out");
  }
  if (driver.monitor == epochs::Monitor::kObjective) {
    throw Error(ErrorCode::kUsage, "a written program does not monitor the objective", config.where("train.monitor"),
                "use --monitor metric, loss or both");
  }
}

synth::DataSpec data_spec(const settings::Config& config, const Workload& workload) {
  const data::Dataset& dataset = workload.dataset();
  synth::DataSpec spec;
  spec.name = config.text("data.name");
  spec.title = dataset.name;
  spec.load = load_options(config, 0, 1);
  spec.node_order = workload.reorder().method;
  spec.num_nodes = dataset.num_nodes();
  spec.num_edges = dataset.graph.num_edges();
  spec.num_train = static_cast<std::int64_t>(dataset.split.train.size());
  spec.weighted = dataset.graph.weighted();
  spec.symmetric = dataset.graph.symmetric();
  spec.sparse_features = dataset.features.sparse;
  spec.feature_dtype = dataset.features.dtype;
  spec.label_kind = dataset.labels.kind;
  spec.num_features = dataset.features.cols;
  spec.num_classes = dataset.labels.num_classes;
  return spec;
}

synth::OptimizerSpec optimizer_spec(const settings::Config& config, const runtime::OptimizerConfig& optimizer) {
  return {config.text("optim.name"), optimizer.lr,           optimizer.beta1,
          optimizer.beta2,           optimizer.eps,          optimizer.momentum,
          optimizer.nesterov,        optimizer.weight_decay, optimizer.decay_first_layer_only,
          optimizer.clip_norm};
}

/// The schedule's settings as assignments to the members of ScheduleConfig, those of a constant rate left out.
std::vector<std::pair<std::string, std::string>> schedule_spec(const epochs::ScheduleConfig& schedule) {
  std::vector<std::pair<std::string, std::string>> members;
  const epochs::ScheduleConfig usual;
  const auto real = [&](const char* name, double value, double initial) {
    if (value != initial) members.emplace_back(name, fmt::format("{}", value));
  };
  const auto whole = [&](const char* name, std::int64_t value, std::int64_t initial) {
    if (value != initial) members.emplace_back(name, fmt::format("{}", value));
  };
  if (schedule.kind == epochs::ScheduleKind::kCosine) members.emplace_back("kind", "epochs::ScheduleKind::kCosine");
  if (schedule.kind == epochs::ScheduleKind::kPlateau) members.emplace_back("kind", "epochs::ScheduleKind::kPlateau");
  whole("warmup_epochs", schedule.warmup_epochs, usual.warmup_epochs);
  real("warmup_start", schedule.warmup_start, usual.warmup_start);
  real("min_lr", schedule.min_lr, usual.min_lr);
  real("factor", schedule.factor, usual.factor);
  whole("patience", schedule.patience, usual.patience);
  real("threshold", schedule.threshold, usual.threshold);
  return members;
}

synth::EpochSpec epoch_spec(const settings::Config& config, const train::FullGraphOptions& driver) {
  static constexpr const char* kMonitors[] = {"kMetric", "kLoss", "kBoth", "kObjective"};
  static constexpr const char* kMetrics[] = {"kAccuracy", "kMicroF1", "kMacroF1", "kRocAuc", "kMse", "kRmse", "kMae"};
  return {driver.epochs,
          driver.eval_every,
          driver.patience,
          kMonitors[static_cast<std::size_t>(driver.monitor)],
          kMetrics[static_cast<std::size_t>(driver.metric)],
          epochs::higher_is_better(driver.metric),
          schedule_spec(driver.schedule),
          static_cast<std::uint64_t>(config.integer("train.seed"))};
}

/// Plans for the parts of all ranks, as the ranks of a training make them.
std::vector<train::Blueprint> plan_parts(const settings::Config& config, Workload* workload, synth::RanksSpec* spec) {
  static constexpr const char* kLosses[] = {"kNone", "kCrossEntropy", "kBceWithLogits", "kMse"};
  static_assert(std::size(kLosses) == static_cast<std::size_t>(passes::LossSpec::Kind::kMse) + 1);
  const std::unique_ptr<comm::Ranks> ranks = comm::loopback(rank_count(config));
  const train::Cutting cutting = {
      config.text("train.partition"),
      epoch_model(rank_machine(config, rank_count(config)), workload->dataset().graph, workload->gathered_width())};
  train::SessionOptions options = workload->session();
  options.passes.file_room = {};
  data::Dataset whole = workload->take_dataset();
  train::check_dataset(whole);
  const train::NodeCut cut = train::cut_nodes(ranks->count(), cutting, train::threads_of(options), &whole);
  spec->cut = cut.method.empty() ? train::Cutting().method : cut.method;
  spec->loss = kLosses[static_cast<std::size_t>(options.loss.kind)];
  spec->ranks.resize(static_cast<std::size_t>(ranks->count()));
  std::vector<train::Blueprint> blueprints(spec->ranks.size());
  ranks->run([&](comm::Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    const train::RankData here =
        train::cut_dataset(whole, cut.starts, communicator, options.loss.kind, options.class_weights);
    blueprints[rank] = train::make_blueprint(here.dataset, options, sizeof(float), &here.part);
    spec->ranks[rank] = {&blueprints[rank].plan, here.part.loss_share, here.part.val_loss_share};
  });
  return blueprints;
}

/// What the same training takes of a device, by the executor's own list.
void add_device_memory(const Workload& workload, const ir::Plan& plan, synth::Specification* spec) {
  const train::DatasetInputs inputs(workload.dataset(), plan, spec->class_weights);
  const runtime::DeviceLayout layout = runtime::device_layout(plan, inputs.inputs(), workload.session().optimizer);
  for (const runtime::DevicePart& part : layout.parts) {
    if (part.bytes > 0) spec->device_parts.emplace_back(part.what, part.bytes);
  }
  spec->device_bytes = layout.bytes;
}

}  // namespace

SynthReport synthesize(settings::Config config, std::string_view target_name, const std::filesystem::path& folder,
                       bool force) {
  const synth::Target& target = synth::find_target(target_name);
  check_ranks_of(target, config);
  if (!target.ranks && !target.device)
    config.set("passes.jit", "true", settings::Origin::kFlag, "a program is compiled anyway");
  refuse_device(config, "synth");
  Workload workload(&config, PlanFor::kAnyMachine);
  check_settings(config, workload.driver());
  synth::Specification spec;
  spec.data = data_spec(config, workload);
  std::vector<train::Blueprint> blueprints;
  if (target.ranks) {
    blueprints = plan_parts(config, &workload, &spec.several);
  } else {
    if (target.device) plan_for_device(described_bytes(config), &workload.session());
    blueprints.push_back(train::make_blueprint(workload.dataset(), workload.session()));
  }
  const train::Blueprint& blueprint = blueprints[0];
  const std::string& name = config.text("model.name");
  spec.model = name.ends_with(".gneiss") ? std::filesystem::path(name).stem().string() : name;
  spec.version = version_text();
  for (const language::Source& source : blueprint.compiled.sources) spec.texts.push_back({source.name, source.text});
  spec.calls = blueprint.compiled.calls;
  spec.plan = &blueprint.plan;
  spec.class_weights = workload.session().class_weights;
  spec.optimizer = optimizer_spec(config, workload.session().optimizer);
  spec.epochs = epoch_spec(config, workload.driver());
  if (target.device) add_device_memory(workload, blueprint.plan, &spec);
  const std::vector<synth::SourceFile> files = target.emit(spec);
  synth::write_project(folder, files, force);
  SynthReport report;
  report.model = spec.model;
  report.dataset = spec.data.title;
  for (const synth::SourceFile& file : files) report.files.push_back(file.name);
  report.steps = static_cast<std::int64_t>(blueprint.plan.steps.size());
  report.defaults = workload.defaults();
  report.warnings = workload.session().warnings;
  return report;
}

}  // namespace gneiss::jobs
