// Each function reads the settings that one struct needs and checks what only the data can tell.
#include "jobs/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/names.h"
#include "base/process.h"
#include "comm/launch.h"
#include "comm/processes.h"
#include "data/feature_file.h"
#include "data/generate.h"
#include "data/given.h"
#include "jobs/rank_machine.h"
#include "settings/habits.h"
#include "tiers/scorer.h"

namespace gneiss::jobs {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::string absolute_text(const fs::path& path) { return fs::absolute(path).lexically_normal().string(); }

/// `name` as seen from here, else from the folder of the run file; empty if it is in neither.
std::string find_path(const settings::Config& config, const std::string& name) {
  if (is_there(name)) return absolute_text(name);
  const fs::path beside = config.file().parent_path() / name;
  if (!config.file().empty() && is_there(beside)) return absolute_text(beside);
  return {};
}

/// The data set `name` of a run file, looked for in the folder that the command line gave.
std::string find_in(const fs::path& folder, const fs::path& name) {
  if (!is_folder(folder)) return {};
  if (is_there(folder / name)) return absolute_text(folder / name);
  const fs::path here = fs::absolute(folder).lexically_normal();
  const fs::path base = here.filename().empty() ? here.parent_path().filename() : here.filename();
  const fs::path first = *name.begin();
  if (name != first && base == first) {
    const fs::path rest = name.lexically_relative(first);
    if (is_there(folder / rest)) return absolute_text(folder / rest);
  }
  return {};
}

std::string number_text(double value) { return fmt::format("{}", value); }

runtime::OptimizerConfig optimizer_config(const settings::Config& config) {
  const std::string& name = config.text("optim.name");
  runtime::OptimizerConfig optimizer;
  optimizer.kind = name == "sgd"     ? runtime::OptimizerKind::kSgd
                   : name == "adamw" ? runtime::OptimizerKind::kAdamW
                                     : runtime::OptimizerKind::kAdam;
  const std::vector<double> betas = config.reals("optim.betas");
  if (betas.size() != 2) {
    throw Error(ErrorCode::kUsage, fmt::format("optim.betas: expected two numbers, got {}", betas.size()),
                config.where("optim.betas"), "write --betas 0.9,0.999");
  }
  optimizer.lr = config.real("optim.lr");
  optimizer.beta1 = betas[0];
  optimizer.beta2 = betas[1];
  optimizer.eps = config.real("optim.eps");
  optimizer.momentum = config.real("optim.momentum");
  optimizer.nesterov = config.flag("optim.nesterov");
  if (optimizer.nesterov && optimizer.momentum == 0) {
    throw Error(ErrorCode::kUsage, "optim.nesterov needs a momentum", config.where("optim.nesterov"),
                "add --momentum 0.9");
  }
  optimizer.weight_decay = config.real("optim.weight_decay");
  optimizer.decay_first_layer_only = config.text("optim.weight_decay_on") == "first";
  optimizer.clip_norm = config.real("optim.clip_norm");
  return optimizer;
}

passes::LossSpec loss_spec(const settings::Config& config, const data::Labels& labels) {
  using Kind = passes::LossSpec::Kind;
  const std::string& name = config.text("loss.name");
  const Kind usual = train::default_loss(labels);
  Kind kind = usual;
  if (name == "cross_entropy") kind = Kind::kCrossEntropy;
  if (name == "bce_with_logits") kind = Kind::kBceWithLogits;
  if (name == "mse") kind = Kind::kMse;
  const bool both_float = kind != Kind::kCrossEntropy && usual != Kind::kCrossEntropy;
  if (kind != usual && !both_float) {
    throw Error(ErrorCode::kUsage,
                fmt::format("loss '{}' does not go with labels of {}", name,
                            usual == Kind::kCrossEntropy ? "one class per node" : "many values per node"),
                config.where("loss.name"), "leave the loss out: it is chosen by the labels");
  }
  passes::LossSpec loss;
  loss.kind = kind;
  loss.label_smoothing = config.real("loss.label_smoothing");
  if (loss.label_smoothing > 0 && kind != Kind::kCrossEntropy) {
    throw Error(ErrorCode::kUsage, "loss.label_smoothing is for the cross entropy",
                config.where("loss.label_smoothing"), "leave it out");
  }
  return loss;
}

/// scikit-learn's "balanced": labelled training nodes / (classes * nodes of the class).
std::vector<float> balanced_weights(const data::Dataset& dataset) {
  std::vector<double> counts(static_cast<std::size_t>(dataset.labels.num_classes), 0);
  double total = 0;
  for (const NodeId v : dataset.split.train) {
    const std::int32_t label = dataset.labels.classes[static_cast<std::size_t>(v)];
    if (label < 0) continue;
    ++counts[static_cast<std::size_t>(label)];
    ++total;
  }
  std::vector<float> weights;
  for (const double count : counts) {
    weights.push_back(count == 0 ? 0.0F : static_cast<float>(total / (static_cast<double>(counts.size()) * count)));
  }
  return weights;
}

std::vector<float> class_weights(const settings::Config& config, const data::Dataset& dataset) {
  const std::string& text = config.text("loss.class_weights");
  if (text.empty()) return {};
  const std::string where = config.where("loss.class_weights");
  if (dataset.labels.kind != data::LabelKind::kSingle) {
    throw Error(ErrorCode::kUsage, "loss.class_weights are for one class per node", where, "leave them out");
  }
  if (text == "balanced") return balanced_weights(dataset);
  std::vector<float> weights;
  for (const double value : config.reals("loss.class_weights")) {
    if (value < 0)
      throw Error(ErrorCode::kUsage, fmt::format("loss.class_weights: {} is negative", value), where,
                  "weights are 0 or more");
    weights.push_back(static_cast<float>(value));
  }
  if (static_cast<std::int64_t>(weights.size()) != dataset.labels.num_classes) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("loss.class_weights: {} weights for {} classes", weights.size(), dataset.labels.num_classes), where,
        "give one per class, or 'balanced'");
  }
  return weights;
}

passes::OrderChoice order_choice(const std::string& name) {
  if (name == "transform_first") return passes::OrderChoice::kTransformFirst;
  if (name == "aggregate_first") return passes::OrderChoice::kAggregateFirst;
  return passes::OrderChoice::kAuto;
}

planner::SourceTiling source_tiling(const std::string& name) {
  if (name == "on") return planner::SourceTiling::kOn;
  return name == "off" ? planner::SourceTiling::kOff : planner::SourceTiling::kAuto;
}

passes::SparsePath sparse_path(const std::string& name) {
  if (name == "sparse") return passes::SparsePath::kSparse;
  return name == "dense" ? passes::SparsePath::kDense : passes::SparsePath::kAuto;
}

}  // namespace

void apply_script(const language::ScriptSettings& script, const std::string& where, settings::Config* config) {
  const auto set = [&](std::string_view key, const std::string& value) {
    config->set(key, value, settings::Origin::kScript, where);
  };
  if (script.epochs) set("train.epochs", std::to_string(*script.epochs));
  if (script.optimizer.empty()) return;
  set("optim.name", script.optimizer);
  set("optim.lr", number_text(script.lr));
  set("optim.betas", number_text(script.beta1) + "," + number_text(script.beta2));
  set("optim.eps", number_text(script.eps));
  set("optim.weight_decay", number_text(script.weight_decay));
  set("optim.momentum", number_text(script.momentum));
}

int thread_count(const settings::Config& config) {
  const std::int64_t asked = config.integer("train.threads");
  return asked > 0 ? static_cast<int>(asked) : threads_of_process();
}

std::int64_t memory_limit(const settings::Config& config) {
  return config.has("train.mem") ? config.integer("train.mem") : memory_limit_bytes();
}

std::int64_t page_cache_bytes(const settings::Config& config) {
  return config.has("train.page_cache") ? config.integer("train.page_cache") : data::FeatureFile::kAnyCache;
}

bool split_changes(const settings::Config& config) {
  const std::string& split = config.text("data.split");
  return split == "cycle" || split == "all" || config.flag("data.split_per_run");
}

static data::TableOptions table_options(const settings::Config& config) {
  return {.separator = config.text("data.separator"),
          .decimal = config.text("data.decimal"),
          .header = config.optional_flag("data.header"),
          .source_column = config.text("data.source_column"),
          .target_column = config.text("data.target_column"),
          .weight_column = config.text("data.weight_column"),
          .id_column = config.text("data.id_column"),
          .label_column = config.text("data.label_column")};
}

data::LoadOptions load_options(const settings::Config& config, std::int64_t run, int num_splits) {
  data::LoadOptions options;
  options.format = config.text("data.format");
  options.split = config.text("data.split");
  options.seed = static_cast<std::uint64_t>(config.integer("data.seed"));
  if (options.split == "cycle" || options.split == "all") {
    options.split = std::to_string(run % std::max(1, num_splits));
  } else if (split_changes(config)) {
    options.split_draw = static_cast<std::uint64_t>(run);
  }
  options.threads = thread_count(config);
  options.to_undirected = config.optional_flag("data.to_undirected");
  options.remove_self_loops = config.optional_flag("data.remove_self_loops");
  options.coalesce = config.flag("data.coalesce");
  options.add_self_loops = config.flag("data.add_self_loops");
  options.ignore_weights = config.flag("data.ignore_weights");
  options.largest_component = config.flag("data.largest_component");
  options.binarize = config.optional_flag("data.binarize");
  options.feature_norm = config.text("data.normalize_features");
  options.feature_form = config.text("data.feature_form");
  options.feature_dtype = config.text("data.feature_dtype");
  options.features_path = resolve_file(config, "data.features");
  options.labels_path = resolve_file(config, "data.labels");
  options.label_kind = config.text("data.label_kind");
  options.train_ids = resolve_file(config, "data.train_ids");
  options.val_ids = resolve_file(config, "data.val_ids");
  options.test_ids = resolve_file(config, "data.test_ids");
  options.tables = table_options(config);
  options.allow_nan = config.flag("data.allow_nan");
  options.max_bytes = config.integer(config.has("data.max_bytes") ? "data.max_bytes" : "train.mem");
  return options;
}

/// What is set up once is for all runs, unless each has a split of its own.
static cost::Repeats repeats(const settings::Config& config) {
  const bool one_setup = !split_changes(config);
  std::int64_t epochs = config.integer("train.epochs") * (one_setup ? config.integer("train.runs") : 1);
  if (config.has("passes.epochs")) epochs = config.integer("passes.epochs");
  const auto steps = static_cast<double>(epochs);
  return {steps, std::ceil(steps / static_cast<double>(config.integer("train.eval_every")))};
}

std::int64_t scratch_file_limit() { return static_cast<std::int64_t>(scratch_room() / 4); }

train::SessionOptions session_options(const settings::Config& config, const data::Dataset& dataset) {
  return session_options(config, dataset, rates_of_training(rank_count(config)));
}

train::SessionOptions session_options(const settings::Config& config, const data::Dataset& dataset,
                                      const cost::RatesInUse& rates) {
  train::SessionOptions options;
  options.model = resolve_file(config, "model.name");
  for (auto& [name, value] : config.model_args()) options.model_args.emplace_back(name, value);
  options.loss = loss_spec(config, dataset.labels);
  options.class_weights = class_weights(config, dataset);
  for (const std::string& pass : config.list("passes.off")) options.passes.disabled.insert(pass);
  options.passes.order = order_choice(config.text("passes.order"));
  options.passes.source_tiles = source_tiling(config.text("passes.source_tiles"));
  options.passes.sparse_path = sparse_path(config.text("passes.sparse_path"));
  options.passes.edge_loops = config.flag("passes.jit");
  options.overlap = config.flag("train.overlap");
  options.passes.file_room.scratch_bytes = scratch_file_limit();
  options.passes.most_dense_bytes = memory_limit_bytes() / 2;
  options.passes.repeats = repeats(config);
  options.passes.rates = rates.rates;
  if (!rates.warning.empty()) options.warnings.push_back(rates.warning);
  options.optimizer = optimizer_config(config);
  options.seed = static_cast<std::uint64_t>(config.integer("train.seed"));
  options.threads = thread_count(config);
  return options;
}

train::FullGraphOptions full_graph_options(const settings::Config& config, const data::Dataset& dataset) {
  train::FullGraphOptions options;
  options.epochs = config.integer("train.epochs");
  options.eval_every = config.integer("train.eval_every");
  options.patience = config.integer("train.patience");
  const std::string& monitor = config.text("train.monitor");
  options.monitor = monitor == "loss"        ? epochs::Monitor::kLoss
                    : monitor == "both"      ? epochs::Monitor::kBoth
                    : monitor == "objective" ? epochs::Monitor::kObjective
                                             : epochs::Monitor::kMetric;
  options.metric =
      config.has("train.metric") ? epochs::parse_metric(config.text("train.metric")) : epochs::default_metric(dataset);
  options.lr = config.real("optim.lr");
  const std::string& schedule = config.text("schedule.name");
  options.schedule.kind = schedule == "cosine"    ? epochs::ScheduleKind::kCosine
                          : schedule == "plateau" ? epochs::ScheduleKind::kPlateau
                                                  : epochs::ScheduleKind::kConstant;
  options.schedule.warmup_epochs = config.integer("schedule.warmup_epochs");
  options.schedule.warmup_start = config.real("schedule.warmup_start");
  options.schedule.min_lr = config.real("schedule.min_lr");
  options.schedule.factor = config.real("schedule.factor");
  options.schedule.patience = config.integer("schedule.patience");
  options.schedule.threshold = config.real("schedule.threshold");
  if (options.schedule.warmup_epochs > options.epochs) {
    throw Error(ErrorCode::kUsage,
                fmt::format("schedule.warmup_epochs: {} is more than the {} epochs", options.schedule.warmup_epochs,
                            options.epochs),
                config.where("schedule.warmup_epochs"), "shorten the warm-up or raise --epochs");
  }
  if (options.schedule.min_lr > options.lr) {
    throw Error(ErrorCode::kUsage,
                fmt::format("schedule.min_lr: {} is above the learning rate {}", options.schedule.min_lr, options.lr),
                config.where("schedule.min_lr"), "lower it or raise --lr");
  }
  return options;
}

int rank_count(const settings::Config& config) { return static_cast<int>(config.integer("train.ranks")); }

int device_count(const settings::Config& config) { return static_cast<int>(config.integer("train.devices")); }

void check_exchange(const settings::Config& config, bool plans) {
  if (config.origin("train.ranks_per_node") == settings::Origin::kFlag && !(plans && rank_count(config) > 1)) {
    throw Error(ErrorCode::kUsage, "--ranks-per-node says how planned ranks share machines",
                config.where("train.ranks_per_node"),
                "use it with gneiss plan --ranks N or gneiss data partition; a training finds out by itself");
  }
  // Run files hold every setting, asked for or not.
  const auto asked = [&](const char* key) { return config.origin(key) == settings::Origin::kFlag; };
  const bool shares_graph = device_count(config) > 1 && !trains_batches(config);
  const bool ranks = rank_count(config) > 1 || comm::find_launch().ranks > 1;
  if (asked("train.exchange") && !shares_graph && !ranks) {
    throw Error(ErrorCode::kUsage,
                "--exchange says how devices or ranks that share the graph take up each other's rows",
                config.where("train.exchange"), "add --devices 4 or --ranks 4, or leave it out");
  }
  if (plans && ranks && !shares_graph && config.text("train.exchange") == "fine") {
    throw Error(ErrorCode::kUsage, "--exchange fine has no modelled time on ranks", config.where("train.exchange"),
                "use halo or stream; --devices in place of --ranks shows the bytes that fine fetches");
  }
  if (!asked("train.machine") || (shares_graph && (plans || config.text("train.exchange") == "auto"))) return;
  throw Error(ErrorCode::kUsage, "--machine says whose links plans of several devices and --exchange auto go by",
              config.where("train.machine"),
              "use it with --devices N and no other --exchange; with --batch-size the machine is --device sim:NAME");
}

exchange::Exchange rank_exchange(const settings::Config& config) {
  const bool stream = config.text("train.exchange") == exchange::name_of(exchange::Exchange::kStream);
  return stream ? exchange::Exchange::kStream : exchange::Exchange::kHalo;
}

void check_ranks(const settings::Config& config, int ranks) {
  if (ranks == 1 && (device_count(config) == 1 || trains_batches(config))) return;
  const char* const several = device_count(config) > 1 ? "--devices" : "--ranks";
  if (ranks > 1 && device_count(config) > 1) {
    throw Error(ErrorCode::kUnsupported, "devices are those of one rank: --devices does not go with --ranks",
                config.where("train.devices"), "leave one of the two out");
  }
  struct Refused {
    std::string_view key;
    bool asked;
    const char* why;
  };
  const Refused refused[] = {
      {"batch.size", config.has("batch.size"), "mini-batches run on one rank"},
      {"device.name", names_batch_device(config), "devices take mini-batches"},
      {"train.mem", config.has("train.mem"), "a limit of memory is kept on one rank only"},
      {"passes.jit", config.flag("passes.jit"), "loops over edges are compiled for one rank only"},
  };
  for (const Refused& option : refused) {
    if (!option.asked) continue;
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format("--{} does not go with {}: {}", settings::find_setting(option.key)->flag, several, option.why),
        config.where(option.key), "leave one of the two out");
  }
}

bool trains_batches(const settings::Config& config) { return config.has("batch.size"); }

minibatch::SamplerOptions sampler_options(const settings::Config& config, std::int32_t hops) {
  constexpr const char* kFanout = "15,10,5";
  const auto is_on = [&](const char* key) { return config.has(key) && config.flag(key); };
  const bool given = config.has("batch.fanout");
  minibatch::SamplerOptions options;
  options.fanout = given ? minibatch::parse_fanout(config.text("batch.fanout"), config.where("batch.fanout"))
                         : minibatch::parse_fanout(kFanout, "");
  if (!given && hops > 0) options.fanout.resize(static_cast<std::size_t>(hops), options.fanout.back());
  options.replace = is_on("batch.replace");
  options.weighted = is_on("batch.weighted");
  options.labor = is_on("batch.labor");
  options.layer_dependency = is_on("batch.layer_dependency");
  if (config.has("batch.dependency")) options.batch_dependency = config.integer("batch.dependency");
  if (config.text("batch.semantics") == "subgraph") options.semantics = minibatch::Semantics::kSubgraph;
  return options;
}

train::BatchOptions batch_options(const settings::Config& config, std::int32_t hops) {
  train::BatchOptions options;
  options.sampler = sampler_options(config, hops);
  options.batch_size = config.integer("batch.size");
  if (config.text("batch.degrees") == "batch") options.degrees = passes::DegreesOf::kBatch;
  options.device = device_options(config);
  options.devices = device_count(config);
  return options;
}

void check_processes(const settings::Config& config) {
  if (!config.flag("train.processes")) return;
  if (device_count(config) == 1) {
    throw Error(ErrorCode::kUsage, "--processes makes processes of the devices of a training, and there is one",
                config.where("train.processes"), "add --devices 2, or leave it out");
  }
  GNEISS_CHECK(device_count(config) <= comm::kMostProcesses, ErrorCode::kUsage,
               "expected at most {} devices with --processes, got {}", comm::kMostProcesses, device_count(config));
}

bool takes_nvshmem(const settings::Config& config) { return config.text("train.peer_memory") == "nvshmem"; }

void check_peer_memory(const settings::Config& config) {
  if (!takes_nvshmem(config)) return;
  if (!config.flag("train.processes")) {
    throw Error(ErrorCode::kUsage, "--peer-memory nvshmem is between processes, and devices are threads of one",
                config.where("train.peer_memory"), "add --processes, or leave it out");
  }
  const std::string& device = config.text("device.name");
  if (!trains_batches(config) && (device == "emulated" || device.starts_with("cuda"))) return;
  throw Error(ErrorCode::kUnsupported,
              "--peer-memory nvshmem is for the memory of cards; virtual devices of the CPU share the host's",
              config.where("train.peer_memory"),
              trains_batches(config) ? "leave it out" : "add --device cuda, or leave it out");
}

constexpr std::string_view kSimulated = "sim:";
constexpr std::string_view kThreads = "host:";

bool names_batch_device(const settings::Config& config) {
  const std::string& device = config.text("device.name");
  return device.starts_with(kSimulated) || device.starts_with(kThreads);
}

namespace {

/// Devices that share batches all do the same: nobody schedules routes for them yet.
void check_parallel_devices(const settings::Config& config) {
  for (const char* key : {"device.schedule", "device.batches", "device.trace"}) {
    if (!config.has(key)) continue;
    throw Error(ErrorCode::kUnsupported,
                fmt::format("--{} is for one device: several share each batch, and all read through the tiers",
                            settings::find_setting(key)->flag),
                config.where(key), "leave it out, or --devices");
  }
  const std::string& name = config.text("device.name");
  if (name.empty() || name == "cpu" || name == "auto") return;
  if (name.starts_with(kSimulated) && schedule::find_machine(name.substr(kSimulated.size())) != nullptr) return;
  throw Error(ErrorCode::kUnsupported,
              fmt::format("several devices are those of a machine by its rates, not '{}'", name),
              config.where("device.name"), "use --device sim:v100, or leave it out");
}

}  // namespace

std::optional<train::DeviceOptions> device_options(const settings::Config& config) {
  const std::string schedule = config.text("device.schedule");
  for (const char* name : {"constant", "cosine", "plateau"}) {
    if (schedule != name) continue;
    throw Error(ErrorCode::kUsage, fmt::format("'{}' is no schedule of batches", schedule),
                config.where("device.schedule"), fmt::format("of the learning rate it is --lr-schedule {}", name));
  }
  const schedule::Choice choice =
      schedule::parse_choice(schedule.empty() ? "best" : schedule, config.where("device.schedule"));
  const bool several = trains_batches(config) && device_count(config) > 1;
  if (several) check_parallel_devices(config);
  if (!names_batch_device(config)) {
    if (several) {
      if (!config.has("device.mem")) return {};
      train::DeviceOptions unnamed;
      unnamed.memory_bytes = config.integer("device.mem");
      return unnamed;
    }
    for (const char* key : {"device.schedule", "device.batches", "device.hot", "device.mem", "device.hot_score",
                            "device.hot_edges", "device.trace"}) {
      if (!config.has(key) || (key == std::string_view("device.mem") && !trains_batches(config))) continue;
      // Devices that share the graph show their sums, gets and waits.
      if (key == std::string_view("device.trace") && !trains_batches(config) && device_count(config) > 1) continue;
      throw Error(ErrorCode::kUsage,
                  fmt::format("--{} is for a device that prepares batches, and there is none",
                              settings::find_setting(key)->flag),
                  config.where(key), "add --device, e.g. --device sim:uk-sage-b, or leave it out");
    }
    return {};
  }
  const std::string& device = config.text("device.name");
  const bool threads = device.starts_with(kThreads);
  train::DeviceOptions machine;
  const std::string name = device.substr(threads ? kThreads.size() : kSimulated.size());
  if (!threads) machine.machine = schedule::find_machine(name);
  if (machine.machine == nullptr) machine.profile = schedule::find_profile(name);
  machine.threads = threads;
  if (machine.machine != nullptr) machine.memory_bytes = machine.machine->memory_bytes;
  if (config.has("device.mem")) machine.memory_bytes = config.integer("device.mem");
  machine.plan.choice = choice;
  if (config.has("device.batches")) machine.plan.gbs = config.integer("device.batches");
  machine.plan.seed = static_cast<std::uint64_t>(config.integer("train.seed"));
  return machine;
}

namespace {

/// A share of `rows` or a number of them, as a setting says: "10%", "5000"; "auto".
std::int64_t count_of_rows(const settings::Config& config, std::string_view key, std::int64_t rows) {
  const std::string_view flag = settings::find_setting(key)->flag;
  std::string text = config.text(key);
  if (text == "auto") {
    const std::optional<train::DeviceOptions> device = device_options(config);
    if (!device || device->memory_bytes < 0)
      throw Error(ErrorCode::kUsage,
                  device && names_batch_device(config)
                      ? fmt::format("how much memory '{}' has is not known", config.text("device.name"))
                      : "how much memory a device has is not known",
                  config.where(key), "say it with --device-mem, e.g. 16G, or give a number of rows");
    return train::kAsManyHotRowsAsFit;
  }
  const bool is_share = text.ends_with('%');
  if (is_share) text.pop_back();
  while (text.ends_with(' ')) text.pop_back();
  double number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = is_share || number == std::floor(number);
  const double most = is_share ? 100 : 1e18;
  if (failure != std::errc() || end != text.data() + text.size() || !(number >= 0 && number <= most) || !whole) {
    throw Error(ErrorCode::kUsage,
                fmt::format("expected a share of the rows or a number of them, got '{}'", config.text(key)),
                config.where(key), fmt::format("write e.g. --{0} 10% or --{0} 5000", flag));
  }
  if (is_share) return tiers::hot_rows(number / 100, rows);
  return std::min(rows, static_cast<std::int64_t>(number));
}

}  // namespace

std::int64_t hot_row_count(const settings::Config& config, std::int64_t nodes) {
  if (config.has("device.hot")) return count_of_rows(config, "device.hot", nodes);
  if (config.has("device.hot_score"))
    throw Error(ErrorCode::kUsage, "--hot-score chooses hot rows, and there are none", config.where("device.hot_score"),
                "add --hot, e.g. --hot 10%, or leave it out");
  return 0;
}

std::int64_t hot_edge_count(const settings::Config& config, std::int64_t nodes) {
  return config.has("device.hot_edges") ? count_of_rows(config, "device.hot_edges", nodes) : 0;
}

std::string resolve_file(const settings::Config& config, std::string_view key) {
  const std::string& name = config.text(key);
  if (name.empty()) return name;
  if (key == "model.name" && language::builtin_model(name) != nullptr) return name;
  const std::string found = find_path(config, name);
  return found.empty() ? name : found;
}

std::string resolve_data(const settings::Config& config) {
  const std::string& name = config.text("data.name");
  if (name.empty()) {
    throw Error(ErrorCode::kUsage, "no data set is named", "data",
                "name a generator, a file or a folder, e.g. gneiss train karate");
  }
  if (data::is_generator(name) || name.starts_with(data::kGivenPrefix)) return name;
  const std::string in_file = config.file_text("data.name");
  if (config.origin("data.name") == settings::Origin::kFlag) {
    std::string found = in_file.empty() ? "" : find_in(name, in_file);
    if (found.empty() && is_there(name)) found = absolute_text(name);
    return found.empty() ? name : found;
  }
  const std::string found = find_path(config, name);
  if (found.empty()) {
    throw Error(ErrorCode::kBadData, fmt::format("the run file's data set '{}' is not here", name),
                config.where("data.name"),
                "say where it lies with --data: the data set itself, or a folder that holds it");
  }
  return found;
}

language::Source model_source(const std::string& model, const std::string& where) {
  const bool is_file = model.find('/') != std::string::npos || model.ends_with(".gneiss") || is_there(model);
  if (!is_file && language::builtin_model(model) == nullptr) {
    const std::vector<std::string> names = language::builtin_model_names();
    const std::string habit = settings::value_habit("model.name", model);
    const std::string hint =
        habit.empty() ? unknown_name_hint(model, names) : fmt::format("{} known: {}", habit, join(names, ", "));
    throw Error(ErrorCode::kUsage, fmt::format("there is no model '{}'", model), where.empty() ? "--model" : where,
                hint + ", or the path of a .gneiss file");
  }
  return language::load_model(model);
}

}  // namespace gneiss::jobs
