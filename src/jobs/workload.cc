// Loads the data for the first run, completes the settings by the model's text, puts the nodes in order, and measures
// the memory that all this took, so that plans can be held against a limit.
#include "jobs/workload.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/file_pages.h"
#include "base/pages.h"
#include "base/process.h"
#include "data/given.h"
#include "data/preprocess.h"
#include "defaults/choose_defaults.h"
#include "epochs/metrics.h"
#include "jobs/check_arguments.h"
#include "jobs/options.h"
#include "jobs/rank_machine.h"
#include "passes/to_blocks.h"
#include "planner/stream_features.h"
#include "train/planned_bytes.h"

namespace gneiss::jobs {
namespace {

using Clock = std::chrono::steady_clock;

/// Pages that any training touches and no plan can see: code of the kernel library and its generated kernels, thread
/// stacks.
constexpr std::int64_t kRuntimeBytes = std::int64_t{12} << 20;

/// Features of a file may take this part of the memory while they are renamed, and afterwards.
constexpr std::int64_t kMemoryToFeatures = 8;

/// The same graph whose sources are pages of a scratch file, at rest.
graph::Graph in_scratch_file(const graph::Graph& graph) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  const std::span<const NodeId> from = graph.sources();
  const auto file = std::make_shared<FileMemory>();
  *file = FileMemory(from.size_bytes());
  auto* const to = reinterpret_cast<NodeId*>(file->bytes().data());
  for (std::size_t at = 0; at < from.size(); at += kPiece) {
    const std::size_t count = std::min(kPiece, from.size() - at);
    std::memcpy(to + at, from.data() + at, count * sizeof(NodeId));
    give_back_tail(to + at, 0, count * sizeof(NodeId));
  }
  return graph::Graph::of_fitting(graph.num_src(), Buffer<EdgeId>::copy_of(graph.offsets()),
                                  Buffer<NodeId>::within(file, to, from.size()), {}, graph.symmetric());
}

bool in_file(const data::Features& features) {
  return !data::is_lent(features) && (as_in_file(features.dense) || as_in_file(features.halves));
}

/// Are renamed features better off in a file than in memory? They are where training leaves them in one, and where
/// memory does not hold them.
bool suit_scratch_file(const data::Features& features, std::int64_t memory) {
  const bool are_many =
      features.bytes() >= planner::StreamLimits().least_bytes_of_small || features.bytes() > memory / kMemoryToFeatures;
  return in_file(features) && are_many && features.bytes() <= scratch_file_limit();
}

/// Gives an unset origin its resolved text without changing who set it.
void replace_text(settings::Config* config, std::string_view key, const std::string& value) {
  if (!value.empty() && value != config->text(key)) config->set(key, value, config->origin(key), config->where(key));
}

/// How batches are drawn says nothing without their size: the training would see the whole graph.
void check_batches(const settings::Config& config) {
  device_options(config);
  hot_row_count(config, 0);
  hot_edge_count(config, 0);
  if (config.has("device.hot_score"))
    tiers::parse_scores(config.text("device.hot_score"), config.where("device.hot_score"));
  if (trains_batches(config)) return;
  for (const settings::Setting& setting : settings::settings()) {
    const bool of_device = setting.key.starts_with("device.") && setting.key != "device.mem" &&
                           setting.key != "device.tensor_cores" &&
                           (setting.key != "device.name" || names_batch_device(config));
    // Devices that share the graph show what they do.
    const bool of_graph = setting.key == "device.trace" && device_count(config) > 1;
    const bool of_batches = setting.key.starts_with("batch.") || (of_device && !of_graph);
    if (!of_batches || !config.is_set(setting.key)) continue;
    throw Error(ErrorCode::kUsage,
                fmt::format("--{} is for mini-batches, and without a size of theirs the whole graph is trained on",
                            setting.flag),
                config.where(setting.key), "add --batch-size, e.g. --batch-size 1024, or leave it out");
  }
}

}  // namespace

Workload::Workload(settings::Config* config, PlanFor plan_for, GivenData given, KeepOrder keep, int parts,
                   std::optional<cost::RatesInUse> rates)
    : config_(config),
      plan_for_(plan_for),
      keep_(keep),
      given_(std::move(given)),
      parts_(parts),
      rates_(rates ? std::move(*rates) : rates_of_training(rank_count(*config))),
      baseline_bytes_(current_rss_bytes()) {
  check_batches(*config);
  model_source(resolve_file(*config, "model.name"),
               config->where("model.name"));  // a wrong name shows before the data are read
  replace_text(config, "data.name", resolve_data(*config));
  for (const char* key :
       {"model.name", "train.init", "data.features", "data.labels", "data.train_ids", "data.val_ids", "data.test_ids"})
    replace_text(config, key, resolve_file(*config, key));
  dataset_ = read(load_options(*config, 0, 1), true);
  choose_defaults();
  compile_model();
  put_in_order();
  measure_load();
  set_session();
  driver_ = full_graph_options(*config, dataset_);
  runs_ = config->integer("train.runs");
  const std::string& split = config->text("data.split");
  if (split == "all") {
    if (config->is_set("train.runs") && runs_ != dataset_.num_splits) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("--split all makes {} runs, --runs asks for {}", dataset_.num_splits, runs_),
                  config->where("train.runs"), "leave --runs out, or use --split cycle");
    }
    runs_ = dataset_.num_splits;
  }
}

data::Dataset Workload::read(data::LoadOptions options, bool first) const {
  options.parts = parts_;
  if (given_.dataset == nullptr || (given_.as_loaded && !first)) return data::load(config_->text("data.name"), options);
  return given_.as_loaded ? data::share(given_.dataset) : data::load_given(given_.dataset, options);
}

void Workload::read_all(const std::string& why) {
  parts_ = 0;
  dataset_ = data::Dataset();
  dataset_ = read(load_options(*config_, 0, 1), false);
  dataset_.notes.push_back(why + ": every rank reads the whole data set");
}

void Workload::choose_defaults() {
  if (config_->text("train.defaults") == "plain") return;
  const defaults::Facts facts = defaults::facts_of(dataset_);
  std::vector<defaults::Choice> taken;
  for (const defaults::Choice& choice : defaults::choose_defaults(facts, config_->text("model.name"))) {
    // A fanout has as many numbers as the model has layers: who gives one counts on the model's own.
    const bool follows_fanout = choice.key == "model.num_layers" && config_->has("batch.fanout");
    if (config_->is_set(choice.key) || follows_fanout) continue;
    config_->set(choice.key, choice.value, settings::Origin::kChosen, "--defaults chosen");
    taken.push_back(choice);
  }
  if (!taken.empty()) defaults_ = defaults::describe(facts, taken);
}

std::shared_ptr<const language::CompileResult> Workload::compiled_by(const settings::Config& config) const {
  language::CompileOptions options;
  options.inputs = program_inputs_;
  for (auto& [name, value] : config.model_args()) options.args.emplace_back(name, value);
  return std::make_shared<const language::CompileResult>(language::compile(source_, options));
}

/// A model that is not told how many layers to have gets one for each number of the fanout, if it can.
void Workload::follow_fanout() {
  if (!config_->has("batch.fanout") || config_->is_set("model.num_layers") || !compiled_->ok()) return;
  const auto hops = static_cast<std::int32_t>(sampler_options(*config_, 0).fanout.size());
  if (passes::count_hops(compiled_->program) == hops) return;
  settings::Config config = *config_;
  config.set("model.num_layers", std::to_string(hops), settings::Origin::kChosen, config_->where("batch.fanout"));
  std::shared_ptr<const language::CompileResult> compiled = compiled_by(config);
  if (!compiled->ok() || passes::count_hops(compiled->program) != hops) return;
  *config_ = std::move(config);
  compiled_ = std::move(compiled);
}

/// The one place where a training's model is compiled: its result says what the text asks for, and set_session passes
/// it on. It goes by sizes alone, which stay when nodes are renamed and data read again.
void Workload::compile_model() {
  const std::string& model = config_->text("model.name");
  source_ = model_source(model);
  program_inputs_ = train::program_inputs(dataset_);
  compiled_ = compiled_by(*config_);
  follow_fanout();
  // A session throws the mistakes of the text, which may come of data that it would refuse before.
  if (!compiled_->ok()) return check_arguments(*config_);
  gathered_width_ = train::gathered_width(compiled_->program);
  hops_ = passes::count_hops(compiled_->program);
  for (const language::ScheduleEntry& entry : compiled_->schedule) {
    if (entry.key == "reorder") config_->set("train.reorder", entry.value, settings::Origin::kScript, model);
  }
  if (compiled_->script) apply_script(*compiled_->script, model, config_);
}

void Workload::put_in_order() {
  find_order();
  choose_hot_rows();
  if (!order_.empty()) {
    const auto start = Clock::now();
    rename_nodes();
    reorder_.seconds += std::chrono::duration<double>(Clock::now() - start).count();
  }
  if (!split_changes(*config_) && keep_ == KeepOrder::kIfNeeded) order_ = graph::Order();  // `{}` would keep its memory
}

/// Hot rows come first, whatever order was found.
void Workload::choose_hot_rows() {
  const std::int64_t count = hot_row_count(*config_, dataset_.num_nodes());
  if (count == 0) return;
  // How many fit is known once there is a plan; scores are told apart by a tenth until then, and nodes go by heat
  // alone.
  const bool as_fits = count == train::kAsManyHotRowsAsFit;
  const std::int64_t nodes = dataset_.num_nodes();
  const std::int64_t devices = device_count(*config_);  // which share what each keeps
  const std::int64_t to_choose_by = as_fits                   ? tiers::hot_rows(0.1, nodes)
                                    : count > nodes / devices ? nodes
                                                              : count * devices;
  const int threads = thread_count(*config_);
  std::optional<minibatch::OriginalOrder> sorted;
  const minibatch::InEdges<NodeId> edges =
      minibatch::in_edges(dataset_.graph, dataset_.orig_id, threads, &sorted, minibatch::EdgeSlots::kOfWeights);
  const minibatch::Sampler<NodeId> sampler(edges, sampler_options(*config_, hops_), threads);
  const std::vector<NodeId> seeds = epochs::labelled_split(dataset_).train;
  tiers::ScorerOptions options;
  options.seed = static_cast<std::uint64_t>(config_->integer("train.seed"));
  tiers::Scorer scorer(dataset_.graph, {sampler, seeds, config_->integer("batch.size")}, options, threads);
  const std::string asked = config_->has("device.hot_score") ? config_->text("device.hot_score") : "auto";
  hot_rows_ = tiers::choose_hot(&scorer, tiers::parse_scores(asked, config_->where("device.hot_score")), to_choose_by);
  if (as_fits) hot_rows_.heat = tiers::heat_of(scorer.to_choose_by(), hot_rows_.by_heat);
  order_ = as_fits ? hot_rows_.by_heat : tiers::tier_order(hot_rows_, order_);
  hot_rows_.count = count;
  hot_rows_.by_heat = graph::Order();
}

void Workload::find_order() {
  const std::string& method = config_->text("train.reorder");
  if (dataset_.by_parts && method != "auto" && method != "none") read_all("--reorder moves all edges and features");
  const data::Features& features = dataset_.features;
  const std::int64_t memory = memory_limit();
  // Small ones are not worth a file of their own where nobody asked for an order.
  const bool are_many = features.bytes() >= planner::StreamLimits().least_bytes_of_small;
  const bool to_scratch = are_many && suit_scratch_file(features, memory) && features.bytes() <= memory;
  const bool fit = features.bytes() <= memory / kMemoryToFeatures || to_scratch;
  if (method == "auto" && !fit && (in_file(features) || data::is_lent(features))) {
    reorder_.asked = method;
    reorder_.reason = fmt::format("features of {:.0f} MB stay {}", 1e-6 * static_cast<double>(features.bytes()),
                                  data::is_lent(features) ? "where they are" : "in their file");
    return;
  }
  if (method == "auto" && !dataset_.part_starts.empty()) {
    reorder_.asked = method;
    reorder_.reason = "nodes lie by parts";
    return;
  }
  // One order is for all runs.
  const std::int64_t epochs = config_->has("passes.epochs")
                                  ? config_->integer("passes.epochs")
                                  : config_->integer("train.epochs") * config_->integer("train.runs");
  reorder_ = train::choose_order(dataset_.graph, method, gathered_width_, epochs, rates_.rates, thread_count(*config_),
                                 &order_);
}

std::int64_t Workload::memory_limit() const { return jobs::memory_limit(*config_); }

void Workload::rename_nodes() {
  constexpr std::int64_t kMemoryToTwice = 5;   // of edges, so that a second copy leaves room for batches
  constexpr std::int64_t kMemoryToWindow = 4;  // as much for what renaming the edges leaves, and for the rest
  const std::int64_t memory = memory_limit();
  const std::int64_t left = memory - current_rss_bytes();
  data::Moving moving;
  if (suit_scratch_file(dataset_.features, memory)) {
    moving.features =
        dataset_.features.bytes() <= memory / kMemoryToFeatures ? data::Move::kToFileAtOnce : data::Move::kToFile;
  }
  moving.readable = trains_batches(*config_);
  moving.window_bytes = std::clamp(left / kMemoryToWindow, memory / 16, dataset_.features.bytes() / 8 + 1);
  moving.edges_once = dataset_.graph.bytes() > left / kMemoryToWindow;
  // New rows are written everywhere at once: pages of the old ones are not to be there already.
  const std::span<const NodeId> old = dataset_.graph.sources();
  if (moving.edges_once && pages_are_the_files(old.data(), old.size_bytes()))
    give_back_tail(const_cast<NodeId*>(old.data()), 0, old.size_bytes());
  data::permute(order_, thread_count(*config_), &dataset_, moving);
  // Batches read edges in the order of the original ids, evaluations front to back: memory holds the former alone.
  edges_rest_ = trains_batches(*config_) && !dataset_.graph.weighted() &&
                dataset_.graph.bytes() > memory / kMemoryToTwice && scratch_room() > 0;
  if (edges_rest_) dataset_.graph = in_scratch_file(dataset_.graph);
}

void Workload::reload(std::int64_t run) {
  const data::LoadOptions options = load_options(*config_, run, dataset_.num_splits);
  dataset_ = data::Dataset();  // two at a time could be too much
  malloc_trim(0);              // nor need what the last run freed stay resident
  dataset_ = read(options, false);
  taken_ = false;
  if (!order_.empty()) rename_nodes();
  malloc_trim(0);
  GNEISS_CHECK(train::program_inputs(dataset_) == program_inputs_, ErrorCode::kBadData,
               "the data set changed while it was in use");
  set_session();
}

const data::Dataset& Workload::dataset() const {
  GNEISS_ASSERT(!taken_, "the data set was given away");
  return dataset_;
}

void Workload::rest_features() {
  GNEISS_ASSERT(!taken_, "the data set was given away");
  rest(&dataset_.features.dense);
  rest(&dataset_.features.halves);
}

bool Workload::leave_features_in_file() {
  std::shared_ptr<const data::FeatureFile> file =
      data::FeatureFile::of(dataset().features, data::FileReads::kRing, page_cache_bytes(*config_));
  if (file == nullptr) return false;
  rest_features();
  session_.feature_file = std::move(file);
  return true;
}

data::Dataset Workload::take_dataset() {
  GNEISS_ASSERT(!taken_, "the data set was given away");
  taken_ = true;
  return std::move(dataset_);
}

void Workload::set_session() {
  session_ = session_options(*config_, dataset_, rates_);
  label_bytes_ = train::label_bytes(dataset_.labels);
  session_.compiled = compiled_;
  const bool given = config_->has("train.mem");
  if (!given && plan_for_ == PlanFor::kAnyMachine) return;
  const std::int64_t limit = memory_limit();
  session_.passes.excess_bytes = [this, limit](const ir::Plan& plan) { return peak_bytes(plan) - limit; };
  if (given) return;
  session_.passes.limit_name =
      fmt::format("the memory of this machine, {:.2f} GiB", static_cast<double>(limit) / (1 << 30));
  session_.passes.limit_remedy = "train where there is more";
}

void Workload::measure_load() {
  malloc_trim(0);  // what reading took and gave back need not stay resident
  load_peak_bytes_ = peak_rss_bytes();
  std::int64_t own_bytes = given_.dataset == nullptr ? dataset_.bytes() : 0;  // given ones were there before
  if (dataset_.by_parts) own_bytes -= dataset_.graph.bytes() + dataset_.features.bytes();  // ranks read their parts
  if (edges_rest_) own_bytes -= static_cast<std::int64_t>(dataset_.graph.sources().size_bytes());
  const std::int64_t resident = current_rss_bytes();
  loaded_bytes_ = std::max(resident, baseline_bytes_ + own_bytes);
  loaded_besides_features_ = std::max(resident, baseline_bytes_ + own_bytes - dataset_.features.bytes());
}

std::int64_t Workload::peak_bytes(const ir::Plan& plan) const {
  const train::PlannedBytes planned = train::planned_bytes(plan, label_bytes_, session_);
  // What the caller holds stays, whoever drops it here.
  return peak_bytes_with(given_.dataset != nullptr ? planned.peak_of_kept() : planned.peak(), plan);
}

std::int64_t Workload::peak_bytes_of_kept(const ir::Plan& plan, std::int64_t beside) const {
  return peak_bytes_with(train::planned_bytes(plan, label_bytes_, session_).peak_of_kept(), plan, beside);
}

std::int64_t Workload::peak_bytes_with(std::int64_t training_bytes, const ir::Plan& plan, std::int64_t beside) const {
  const std::int64_t snapshot = plan.parameter_bytes + plan.state_bytes;
  const auto records = static_cast<std::int64_t>(sizeof(epochs::EpochRecord)) * driver_.epochs * runs_;
  const std::int64_t loaded = session_.feature_file == nullptr ? loaded_bytes_ : loaded_besides_features_;
  const std::int64_t training = loaded + kRuntimeBytes + training_bytes + beside;
  // Data that are read again between runs meet the libraries' pages, and what the last run left.
  const std::int64_t reading = load_peak_bytes_ + (runs_ > 1 && split_changes(*config_) ? kRuntimeBytes + beside : 0);
  return std::max(reading, training) + snapshot + records;
}

}  // namespace gneiss::jobs
