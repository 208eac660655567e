// train and resume: load the data, train run by run, keep the best run's weights and checkpoints on the way, and write
// the run folder and the report.
#include "jobs/job.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "base/file_pages.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/process.h"
#include "base/version.h"
#include "comm/launch.h"
#include "comm/loopback.h"
#include "comm/processes.h"
#include "data/data_hash.h"
#include "data/info.h"
#include "data/ranges.h"
#include "jobs/advice.h"
#include "jobs/auto_device.h"
#include "jobs/batch_session.h"
#include "jobs/card_deal.h"
#include "jobs/checkpoints.h"
#include "jobs/device_choice.h"
#include "jobs/device_plan.h"
#include "jobs/go_on.h"
#include "jobs/model_file.h"
#include "jobs/options.h"
#include "jobs/rank_machine.h"
#include "jobs/routes.h"
#include "jobs/run_facts.h"
#include "jobs/tuned_numbers.h"
#include "jobs/weights.h"
#include "jobs/workload.h"
#include "language/diagnostics.h"
#include "pgas/symmetric_heap.h"
#include "runs/run_folder.h"
#include "runs/safetensors.h"
#include "runtime/nvshmem.h"
#include "train/rank_training.h"

namespace gneiss::jobs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kInitCopy = "init.safetensors";

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::int64_t count_parameters(const std::vector<ir::Param>& params) {
  std::int64_t count = 0;
  for (const ir::Param& param : params) count += param.trainable ? param.rows * param.cols : 0;
  return count;
}

RunFacts facts_of(const settings::Config& config, const data::Dataset& dataset) {
  RunFacts facts;
  facts.known = true;
  facts.label_kind = data::label_kind_name(dataset.labels.kind);
  facts.class_names = dataset.class_names;
  facts.features_file = config.text("data.features");
  facts.labels_file = config.text("data.labels");
  facts.feature_names = dataset.feature_names;
  facts.statistics = dataset.feature_statistics;
  facts.symmetric = dataset.graph.symmetric();
  facts.weighted = dataset.graph.weighted();
  facts.fingerprint = fingerprint(dataset);
  return facts;
}

/// The training of one config, run by run.
class Trainer {
 public:
  Trainer(settings::Config config, const JobWatcher& watcher, GivenData given,
          std::optional<runs::Unfinished> from = {})
      : config_(std::move(config)),
        watcher_(watcher),
        given_(std::move(given)),
        checkpoints_(config_, std::move(from)) {}

  runs::Report train() {
    try {
      return train_all();
    } catch (const Error& error) {
      tell_processes(error);
      std::string hint = error.hint();
      if (error.code() == ErrorCode::kOutOfMemory && on_several_cards())
        hint = "end what else runs on that card, or name others as --device cuda:0,2 does; or " + hint;
      const bool repeats = error.code() == ErrorCode::kNumeric;  // the same numbers come again
      const bool has_checkpoint = folder_ != nullptr && folder_->has_checkpoint();
      const char* const next = hint.empty() ? "" : "; ";
      if (!repeats && has_checkpoint) {
        hint += fmt::format("{}gneiss resume {} goes on from the last checkpoint", next, folder_->path().string());
      } else if (device_ != nullptr && error.code() == ErrorCode::kInternal) {
        hint += fmt::format("{}nothing is kept of this training: no checkpoint was written, as --checkpoint-every does",
                            next);
      }
      throw Error(error.code(), who_says(error) + error.message(), error.where(), hint);
    }
  }

 private:
  /// Several processes write to one terminal; who has lost another names itself.
  std::string who_says(const Error& error) const {
    if (world_ == nullptr || world_->here() == world_->count() || error.code() == ErrorCode::kPeerLost) return "";
    return fmt::format("rank {} of {}: ", world_->first(), world_->count());
  }

  runs::Report train_all() {
    report_.version = version_text();
    check_exchange(config_, false);
    // Threads may begin here, MPI's too; processes are forked before any.
    const bool forks = config_.flag("train.processes");
    if (!forks && watcher_.on_begin) watcher_.on_begin();
    world_ = comm::make_ranks(rank_count(config_));
    check_ranks(config_, world_ == nullptr ? 1 : world_->count());
    check_processes(config_);
    check_peer_memory(config_);
    if (forks) {
      fork_processes();
      watcher_.on_begin();
    }
    if (device_count(config_) > 1 && !trains_batches(config_)) {
      world_ = forks ? std::move(processes_) : comm::loopback(device_count(config_));
    }
    report_.rank = world_ != nullptr ? world_->first() : processes_ != nullptr ? processes_->first() : 0;
    device_ = choose_device(config_, &device_notes_, report_.rank);  // before the data are read
    if (takes_nvshmem(config_)) load_nvshmem();
    workload_ = std::make_unique<Workload>(&config_, PlanFor::kThisMachine, given_, KeepOrder::kIfNeeded,
                                           world_ == nullptr ? 0 : world_->count(), agreed_rates());
    check_that_ranks_agree();
    look_at_numbers();
    checkpoints_.look_at_model(workload_->source().text);
    read_init();
    report_.reorder = workload_->reorder();
    report_.defaults = workload_->defaults();
    report_.load_seconds = seconds_since(started_) - report_.reorder.seconds;
    open_folder();
    checkpoints_.take_up(&report_, &best_facts_);
    const auto start = Clock::now();
    for (std::int64_t run = checkpoints_.first_run(); run < workload_->runs() && !report_.interrupted; ++run)
      train_one(run);
    report_.train_seconds = seconds_since(start);
    finish();
    return std::move(report_);
  }

  /// As it was loaded, then as it is left in the session, which may have taken it.
  const data::Dataset& dataset() const {
    if (ranks_ != nullptr) return ranks_->dataset();
    return session_ != nullptr ? session_->dataset() : workload_->dataset();
  }

  /// Of several ranks, rank 0's.
  train::Session<float>& session() { return ranks_ != nullptr ? ranks_->session() : *session_; }

  /// A program that calls this as a library would go on in each of them.
  void fork_processes() {
    if (!watcher_.on_begin) {
      throw Error(ErrorCode::kUnsupported,
                  "processes are forked from the command gneiss train, and a program called this training",
                  config_.where("train.processes"), "leave processes out: devices are threads then, to the same bits");
    }
    const int devices = device_count(config_);
    // Addresses, of which a device takes memory as it needs it: no more than there is.
    if (!trains_batches(config_))
      heap_ = pgas::SymmetricHeap::make(devices, static_cast<std::size_t>(memory_limit(config_)));
    processes_ = comm::fork_ranks(devices);
  }

  /// What this process ran into outside of a step, for the first one to say.
  void tell_processes(const Error& error) noexcept {
    comm::Ranks* const forked = heap_ != nullptr ? world_.get() : processes_.get();
    if (forked == nullptr) return;
    try {
      forked->run([&](comm::Communicator&) { throw Error(error); });
    } catch (const Error&) {  // that one, or they know of another already
    }
  }

  /// Each process says by itself what is wrong with the library, before any meets another.
  void load_nvshmem() {
    runtime::Nvshmem::load();
    world_->run([&](comm::Communicator& all) { nvshmem_ = std::make_shared<runtime::Nvshmem>(&all); });
  }

  bool in_several_processes() const { return world_ != nullptr && world_->here() < world_->count(); }

  /// Of several that share the graph: rows are read in others' memory. Devices always do so, ranks by `fine` alone.
  bool fetches_rows() const {
    return device_count(config_) > 1 ||
           exchange::exchange_of(config_.text("train.exchange")) == exchange::Exchange::kFine;
  }

  /// Processes choose by the rates of rank 0: each machine has measured its own, and other choices are other programs.
  std::optional<cost::RatesInUse> agreed_rates() {
    if (!in_several_processes()) return {};
    cost::RatesInUse use = rates_of_training(rank_count(config_));
    world_->run([&](comm::Communicator& communicator) {
      comm::agree(communicator, "version of gneiss", hash_text(version_text()));
      cost::share_rates(communicator, &use);
    });
    return use;
  }

  /// Processes on several machines could have been started with anything, and each of one machine reads by itself.
  void check_that_ranks_agree() {
    comm::Ranks* const ranks = world_ != nullptr ? world_.get() : processes_.get();
    if (ranks == nullptr || ranks->here() == ranks->count()) return;
    std::string settings;
    for (const auto& [key, value] : config_.values()) settings += key + "=" + value + ";";
    const std::uint64_t data = data::data_hash(dataset());
    ranks->run([&](comm::Communicator& communicator) {
      comm::agree(communicator, "version of gneiss", hash_text(version_text()));
      comm::agree(communicator, "configuration", hash_text(settings));
      comm::agree(communicator, "data set", data);
    });
  }

  /// The weights of --init; a training that goes on has its own copy.
  void read_init() {
    if (!config_.has("train.init")) return;
    const std::string file = init_file(config_);
    std::filesystem::path copy;
    if (checkpoints_.from()) copy = checkpoints_.from()->folder / kInitCopy;
    init_ = runs::read_safetensors(std::filesystem::exists(copy) ? copy : std::filesystem::path(file));
  }

  /// The folder has from the start what a training needs to go on, wherever its model and first weights came from.
  void open_folder() {
    if (!config_.flag("out.save") || report_.rank != 0) return;
    if (checkpoints_.from()) {
      folder_ = std::make_unique<runs::RunFolder>(*checkpoints_.from(), config_.flag("out.force"));
    } else {
      begin_folder();
    }
    folder_->write("model.gneiss", workload_->source().text);
    if (init_) folder_->write(kInitCopy, runs::encode_safetensors(*init_));
  }

  void begin_folder() {
    const std::filesystem::path path = config_.has("out.folder")
                                           ? std::filesystem::path(config_.text("out.folder"))
                                           : runs::default_run_folder(dataset().name, model_title(config_));
    folder_ = std::make_unique<runs::RunFolder>(path, config_.flag("out.force"));
    for (const std::filesystem::path& other : runs::unfinished_beside(folder_->path())) {
      checkpoints_.warnings().push_back(fmt::format(
          "an unfinished training lies beside the new run folder; gneiss resume {} goes on with it", other.string()));
    }
  }

  /// After a step: a checkpoint, if it is time for one or the training is to stop.
  void after_step(std::int64_t run, const epochs::Position& position, const epochs::RunRecord& record, bool stops) {
    if (folder_ == nullptr || !checkpoints_.is_due(stops)) return;
    const train::TrainingState<float> state = session().training_state();
    const std::string warning = checkpoints_.keep(
        {run,
         position,
         record,
         config_,
         report_,
         best_facts_,
         {state.values, state.states, {state.optimizer.first, state.optimizer.second, state.optimizer.steps}},
         batches_ == nullptr ? minibatch::BatchShape() : batches_->room(),
         weights_.span(),
         best_weights_.span()},
        folder_.get());
    if (warning.empty()) return;
    report_.warnings.push_back(warning);
    if (watcher_.on_warning) watcher_.on_warning(warning);
  }

  void describe_start(const train::Session<float>& session) {
    const data::Dataset& dataset = this->dataset();
    report_.model = model_title(config_);
    report_.dataset = dataset.name;
    report_.metric = epochs::metric_name(workload_->driver().metric);
    report_.parameters = count_parameters(session.params());
    report_.nodes = dataset.num_nodes();
    report_.edges = dataset.graph.num_edges();
    report_.features = dataset.features.cols;
    report_.classes = dataset.labels.num_classes;
    report_.threads = thread_count(config_);
    report_.planned_runs = workload_->runs();
    report_.planned_epochs = workload_->driver().epochs;
    report_.feature_dtype = half_name(dataset.features.dtype);
    report_.feature_bytes_saved = session.plan().bytes_saved_by_halves();
    report_.notes = dataset.notes;
    report_.notes.insert(report_.notes.end(), device_notes_.begin(), device_notes_.end());
    if (device_ != nullptr) {
      report_.notes.push_back(describe_device(session));
      const std::string of_edges = note_on_edge_values(session.plan(), config_.flag("passes.jit"));
      if (!of_edges.empty()) report_.notes.push_back(of_edges);
    }
    report_.warnings = workload_->session().warnings;
    report_.warnings.insert(report_.warnings.end(), session.warnings().begin(), session.warnings().end());
    report_.warnings.insert(report_.warnings.end(), large_numbers_.begin(), large_numbers_.end());
    report_.warnings.insert(report_.warnings.end(), checkpoints_.warnings().begin(), checkpoints_.warnings().end());
    const std::vector<ir::Op>& ops = session.compiled().program.ops;
    const bool weighs =
        std::any_of(ops.begin(), ops.end(), [](const ir::Op& op) { return op.kind == ir::OpKind::edge_weight; });
    if (weighs && !negative_weights_.empty()) report_.warnings.push_back(negative_weights_);
    if (!session.plan().fit.empty()) report_.notes.push_back(session.plan().fit);
    for (const language::Diagnostic& warning : session.compiled().diagnostics)
      report_.notes.push_back(language::render(warning));
    report_.config = config_.values();
    if (batches_ != nullptr) {
      report_.plan_peak_bytes = evaluating_bytes(*workload_, session, batches_->bytes());
      report_.notes.push_back(batches_->describe());
      if (session.evaluates_by_layers()) report_.notes.push_back(session.describe_evaluation());
      if (batches_->routed() != nullptr) report_.notes.push_back(describe_plan(*batches_->routed()));
      if (const auto& file = workload_->session().feature_file)
        report_.notes.push_back(describe_place(*file, workload_->dataset().features));
      if (workload_->hot_rows().count != 0)
        report_.notes.push_back(describe_hot_rows(workload_->hot_rows(), batches_->tier_map()));
      if (const train::KeptEdges kept = batches_->kept_edges(); kept.rows > 0)
        report_.notes.push_back(describe_hot_edges(kept, workload_->dataset().num_nodes()));
      trace();  // a file that cannot be written shows before the training
    } else if (ranks_ != nullptr) {
      report_.plan_peak_bytes = workload_->peak_bytes_with(ranks_->bytes(), session.plan());
      const std::vector<std::string> notes = ranks_->notes();
      report_.notes.insert(report_.notes.end(), notes.begin(), notes.end());
      trace();
      if (fetches_rows())
        report_.notes.push_back(
            fmt::format("rows of others come by {} ({})", exchange::name_of(exchange_.how), exchange_.why));
    } else {
      report_.plan_peak_bytes = workload_->peak_bytes(session.plan());
    }
    if (watcher_.on_start && report_.rank == 0) watcher_.on_start(report_);
  }

  std::string describe_device(const train::Session<float>& session) const {
    constexpr double kMiB = 1 << 20;
    const ir::Plan& plan = session.plan();
    const double seconds = plan.seconds(ir::Phase::kForward) + plan.seconds(ir::Phase::kBackward);
    const std::string driver = device_->driver().empty() ? "" : ", " + device_->driver();
    std::int64_t bytes = session.device_bytes();
    std::string several;
    if (ranks_ != nullptr) {
      const std::vector<std::int64_t> each = ranks_->device_bytes();
      bytes = std::accumulate(each.begin(), each.end(), std::int64_t{0});
      if (on_several_cards())
        several =
            fmt::format("{}, {}the first ", describe_deal(card_of_), in_several_processes() ? "each a process, " : "");
      else if (in_several_processes())
        several = fmt::format("one of {} devices, each a process, that share ", world_->count());
      else
        several = fmt::format("{} devices that share ", each.size());
    }
    const char* const whose = on_several_cards() && !in_several_processes() ? "their" : "its";
    const std::string heap = nvshmem_ == nullptr ? "" : ", most of them in the heap of " + nvshmem_->name();
    return fmt::format("trained on: {}{}{}, {:.1f} MiB of {} memory{}; by the rates of {} an epoch {}takes {:.3f} ms",
                       several, device_->name(), driver, static_cast<double>(bytes) / kMiB, whose, heap,
                       workload_->session().passes.rates.source, several.empty() ? "" : "of the first ", 1e3 * seconds);
  }

  /// Batches read edges and features in every epoch: the data set is theirs to keep.
  void make_session() {
    settle_device();
    if (world_ != nullptr) {
      const train::Cutting cutting = cutting_options();  // by the data set, which goes then
      train::RowExchange rows;
      if (fetches_rows()) {
        std::vector<std::shared_ptr<runtime::Device>> devices;
        if (device_ != nullptr) devices = deal_devices();
        const train::SessionOptions& options = workload_->session();
        const Sharers sharers = {world_->count(), in_several_processes() && heap_ == nullptr, on_several_cards(),
                                 device_ == nullptr ? "" : device_->name()};
        exchange_ = training_exchange(config_, sharers, options.passes.rates, dataset().graph,
                                      options.compiled->program, workload_->gathered_width());
        if (!exchange_.warning.empty()) checkpoints_.warnings().push_back(exchange_.warning);
        settle_exchange();
        rows = {.fetched = true,
                .how = exchange_.how,
                .tuning = exchange_.tuning,
                .tunes = exchange_.tunes,
                .traced = config_.has("device.trace"),
                .of_devices = device_count(config_) > 1,
                .devices = std::move(devices),
                .heap = heap_,
                .nvshmem = nvshmem_};
      }
      if (!rows.fetched) rows.how = rank_exchange(config_);
      ranks_ = std::make_unique<train::RankTraining>(world_.get(), workload_->take_dataset(), workload_->session(),
                                                     rows, cutting);
      if (!ranks_->dataset().by_parts) return;
      negative_weights_ = ranks_->negative_weights();
      large_numbers_ = ranks_->large_numbers();
      return;
    }
    if (trains_batches(config_)) {
      BatchSession made = make_batch_session(config_, workload_.get(), {}, processes_.get());
      session_ = std::move(made.session);
      batches_ = std::move(made.batches);
      return;
    }
    if (device_ != nullptr) run_on(device_, &workload_->session());
    session_ = std::make_unique<train::Session<float>>(workload_->take_dataset(), workload_->session());
  }

  /// All plans are made by the rates of one card from then on, so that they make the same choices.
  std::vector<std::shared_ptr<runtime::Device>> deal_devices() {
    DealtDevices dealt = open_devices(config_, device_, in_several_processes() ? world_->first() : -1);
    plan_for_device(device_->room().free_bytes, &workload_->session(), first_of(dealt, *device_));
    card_of_ = std::move(dealt.card_of);
    return std::move(dealt.devices);
  }

  bool on_several_cards() const { return cards_of(card_of_).size() > 1; }

  /// What --device auto came to is a setting from then on: a training that is resumed goes on where it began.
  void settle_device() {
    if (config_.text("device.name") != "auto") return;
    if (device_ != nullptr) {
      const std::int64_t epochs = workload_->driver().epochs * workload_->runs();
      const std::int64_t every = workload_->driver().eval_every;
      const AutoChoice choice = weigh_device(device_.get(), workload_->dataset(), workload_->session(),
                                             {epochs, (epochs + every - 1) / every});
      device_notes_.push_back(choice.note);
      if (!choice.device) device_.reset();
    }
    config_.set("device.name", device_ != nullptr ? "cuda" : "cpu", settings::Origin::kFlag, "--device auto");
    if (device_ != nullptr) return;
    config_.unset("device.mem");
    config_.unset("device.tensor_cores");
  }

  /// Likewise what --exchange auto came to on cards: it goes by whether they are several, and a training may go on
  /// where there are more or fewer.
  void settle_exchange() {
    if (device_ == nullptr || config_.text("train.exchange") != "auto") return;
    config_.set("train.exchange", exchange::name_of(exchange_.how), settings::Origin::kFlag, "--exchange auto");
  }

  train::Cutting cutting_options() {
    const std::string& method = config_.text("train.partition");
    const int sharing = device_count(config_) > 1 ? 1 : ranks_sharing(rank_count(config_));
    RankMachine machine = rank_machine(config_, sharing);
    if (in_several_processes()) {
      world_->run([&](comm::Communicator& communicator) {
        cost::share_rates(communicator, &machine.use);
        double link[] = {machine.network.bytes_per_second, machine.network.latency};
        comm::share(communicator, link);
        machine.network.bytes_per_second = link[0];
        machine.network.latency = link[1];
      });
    }
    return {method, epoch_model(machine, workload_->dataset().graph, workload_->gathered_width())};
  }

  /// Before a session frees edges and features. Ranks that read their parts look at the numbers there.
  void look_at_numbers() {
    const data::Dataset& dataset = this->dataset();
    report_.data_bytes = dataset.bytes();
    if (!dataset.by_parts) {
      negative_weights_ = data::negative_weights(dataset);
      large_numbers_ = data::large_numbers(dataset);
    }
    chance_ = chance_score(dataset, workload_->driver().metric);
  }

  void train_one(std::int64_t run) {
    if (run > 0 && split_changes(config_)) {
      batches_.reset();
      session_.reset();
      ranks_.reset();
      workload_->reload(run);
    }
    if (session_ == nullptr && ranks_ == nullptr) {
      facts_ = facts_of(config_, dataset());  // before the session frees what it can
      look_at_data(run);
      make_session();
      if (init_) load_init(*init_, config_, &session());
      const ir::Plan* const blocks = batches_ == nullptr ? nullptr : &batches_->plan();
      checkpoints_.look_at_plan(plan_hash(session().plan(), blocks, session().describe_evaluation()), run);
    }
    if (run == checkpoints_.first_run()) {
      weights_ = Buffer<float>::zeros(session().snapshot_size());
      best_weights_ = Buffer<float>::zeros(session().snapshot_size());
      if (init_) first_weights_ = Buffer<float>::zeros(session().snapshot_size());
      if (init_) session().save_snapshot(first_weights_.span());
      if (checkpoints_.from()) checkpoints_.put_back(session().training_state(), weights_.span(), best_weights_.span());
      describe_start(session());
    }
    const data::Split split = epochs::labelled_split(dataset());
    train::check_split(dataset(), split, workload_->driver().metric);
    if (session_ != nullptr) session_->set_up();
    give_back_code();  // epochs run a part of what made them ready
    epochs::Evaluator evaluator(workload_->driver().metric, dataset().labels, train::threads_of(workload_->session()));
    const train::Watcher watcher{
        [&](const epochs::EpochRecord& epoch) { watch(run, epoch); }, should_stop(),
        [&](const auto& position, const auto& record, bool stops) { after_step(run, position, record, stops); }};
    const auto seed = static_cast<std::uint64_t>(config_.integer("train.seed") + run);
    train::FullGraphOptions driver = workload_->driver();
    driver.batches = batches_.get();
    driver.first_weights = first_weights_.span();
    const train::Start* const from = checkpoints_.start(run);
    epochs::RunRecord record =
        ranks_ != nullptr ? ranks_->run(split, driver, evaluator, seed, watcher, weights_.span(), from)
                          : train::train_run(*session_, split, driver, evaluator, seed, watcher, weights_.span(), from);
    report_.interrupted = record.interrupted;
    const bool better = run == 0 || is_better(record, report_.runs[static_cast<std::size_t>(report_.saved_run)]);
    report_.runs.push_back(std::move(record));
    if (better) {
      std::swap(weights_, best_weights_);
      report_.saved_run = run;
      best_facts_ = facts_;
    }
  }

  /// Processes stop where the first one does.
  std::function<bool()> should_stop() const {
    if (processes_ == nullptr || report_.rank == 0) return watcher_.should_stop;
    return [this] { return batches_->was_stopped(); };
  }

  /// Of every data set that is trained on, before a session frees what it can.
  void look_at_data(std::int64_t run) {
    if (folder_ == nullptr && !checkpoints_.from()) return;
    checkpoints_.look_at_data(workload_->dataset(), report_.reorder.method, run);
    workload_->rest_features();
  }

  void trace() const {
    if (!config_.has("device.trace") || report_.rank != 0) return;
    if (ranks_ != nullptr) return write_trace(config_.text("device.trace"), ranks_->timelines());
    write_trace(config_.text("device.trace"), *batches_->routed());
  }

  void watch(std::int64_t run, const epochs::EpochRecord& epoch) {
    if (report_.start_seconds == 0) report_.start_seconds = seconds_since(started_) - epoch.eval_seconds;
    if (folder_ != nullptr) folder_->add_epoch(run, epoch);
    if (watcher_.on_epoch && report_.rank == 0) watcher_.on_epoch(run, epoch);
  }

  bool is_better(const epochs::RunRecord& run, const epochs::RunRecord& best) const {
    if (std::isnan(run.best.val)) return false;
    const epochs::Monitor monitor = workload_->driver().monitor;
    if (monitor == epochs::Monitor::kLoss || monitor == epochs::Monitor::kObjective)
      return run.best_val_loss < best.best_val_loss;
    return epochs::higher_is_better(workload_->driver().metric) ? run.best.val > best.best.val
                                                                : run.best.val < best.best.val;
  }

  void finish() {
    report_.peak_rss_bytes = peak_rss_bytes();
    const bool large = !large_numbers_.empty() && large_numbers_[0].starts_with("features");
    if (!report_.interrupted)
      report_.advice = advice_on(report_.runs[static_cast<std::size_t>(report_.saved_run)], chance_,
                                 workload_->driver().metric, large, config_);
    if (ranks_ != nullptr && fetches_rows()) {
      report_.routes["exchange"] = exchange::name_of(exchange_.how);
      report_.routes["processes"] = in_several_processes();
      report_.routes["fetched_bytes"] = ranks_->fetched_bytes();
      report_.routes["bytes"] = device_ == nullptr ? ranks_->member_bytes() : ranks_->device_bytes();
      report_.routes["exchange_bytes"] = ranks_->exchange_bytes();
      if (device_ != nullptr && card_of_[0] >= 0) report_.routes["cards"] = card_of_;
      trace();
      if (const exchange::Tuner* tuner = ranks_->tuner(); tuner != nullptr) {
        const exchange::Tuning& at = tuner->current();
        report_.routes["tuner"] = Json::object({{"trials", tuner->trials()},
                                                {"done", tuner->done()},
                                                {"piece", at.piece},
                                                {"dist", at.dist},
                                                {"warps", at.warps},
                                                {"stages", at.stages}});
        const std::string fault = tuner->done() && report_.rank == 0 ? save_tuned(exchange_.key, at) : "";
        if (!fault.empty()) report_.warnings.push_back("the numbers of the tuner are not kept: " + fault);
      }
    }
    if (batches_ != nullptr) report_.routes_text = batches_->describe() + "\n";
    if (batches_ != nullptr && batches_->routed() != nullptr) {
      report_.routes_text += describe_epoch(*batches_->routed());
      report_.routes = to_json(*batches_->routed());
      trace();
    }
    if (batches_ != nullptr && batches_->parallel() != nullptr) {
      report_.routes_text += describe_epoch(*batches_->parallel());
      report_.routes = to_json(*batches_->parallel());
    }
    if (const auto& file = workload_->session().feature_file) {
      report_.routes_text += describe_traffic(*file);
      report_.routes["file"] = to_json(*file);
    }
    if (folder_ == nullptr) return;
    report_.run_folder = folder_->path().string();
    session().load_snapshot(best_weights_);
    const epochs::RunRecord& saved = report_.runs[static_cast<std::size_t>(report_.saved_run)];
    folder_->write(runs::kModelFile, runs::encode_safetensors(model_file(config_, *workload_, dataset(), session(),
                                                                         report_.saved_run, saved.best_epoch)));
    folder_->write("model.gneiss", workload_->source().text);
    folder_->write("config.yaml", config_.to_yaml());
    best_facts_.metric = report_.metric;
    folder_->write("data.json", to_json(best_facts_));
    folder_->write("report.json", runs::to_json(report_) + "\n");
    folder_->commit(!report_.interrupted);
    report_.can_go_on = folder_->has_checkpoint() && report_.interrupted;
  }

  const Clock::time_point started_ = Clock::now();
  settings::Config config_;
  const JobWatcher& watcher_;
  GivenData given_;
  runs::Report report_;
  Checkpoints checkpoints_;
  std::unique_ptr<comm::Ranks> processes_;   ///< of --processes: each is a device, and this is one of them
  std::unique_ptr<comm::Ranks> world_;       ///< of several ranks, those of this process
  std::shared_ptr<runtime::Device> device_;  ///< null: the host; sessions share it
  std::vector<int> card_of_;                 ///< of several devices, see deal_cards; else empty
  std::vector<std::string> device_notes_;
  std::shared_ptr<runtime::Nvshmem> nvshmem_;  ///< that holds what devices show each other; null: they do themselves
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<runs::RunFolder> folder_;
  std::unique_ptr<train::Session<float>> session_;  ///< of one rank; null where there are several
  std::unique_ptr<train::RankTraining> ranks_;      ///< or these
  std::shared_ptr<pgas::SymmetricHeap> heap_;       ///< of devices that are processes and share the graph
  TrainingExchange exchange_;                       ///< of those that share the graph and fetch rows
  std::unique_ptr<train::BatchTraining> batches_;  ///< of the session; null: every epoch is one step on the whole graph
  std::optional<runs::SafeTensors> init_;          ///< of --init
  Buffer<float> first_weights_;                    ///< the same, as every run begins; empty without
  Buffer<float> weights_;
  Buffer<float> best_weights_;
  RunFacts facts_;  ///< of the data set at hand: a split of its own gives a run its own statistics
  RunFacts best_facts_;
  std::string negative_weights_;
  std::vector<std::string> large_numbers_;
  double chance_ = 0;
};

}  // namespace

runs::Report train(settings::Config config, const JobWatcher& watcher, GivenData given) {
  return Trainer(std::move(config), watcher, std::move(given)).train();
}

runs::Report go_on(settings::Config config, const JobWatcher& watcher, GivenData given, runs::Unfinished from) {
  return Trainer(std::move(config), watcher, std::move(given), std::move(from)).train();
}

}  // namespace gneiss::jobs
