// train and plan.
#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <thread>

#include "commands.h"
#include "gneiss/error.h"
#include "gneiss/train.h"
#include "options.h"
#include "progress_bar.h"

namespace gneiss::app {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

std::atomic<int> stop_signal = 0;

/// Waits for signals on a thread of its own: the first asks for an orderly end, the second acts as if nobody caught it (exit status
/// 128 + signal).
void watch_signals(sigset_t signals) {
  int signal = 0;
  sigwait(&signals, &signal);
  stop_signal = signal;
  sigwait(&signals, &signal);
  std::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  std::raise(signal);
}

/// Blocks the signals in this thread and all that it will start, so that none is delivered on a thread that computes: with
/// oneDNN 2.6 a handler there ends in heap corruption (presumably its generated code keeps data below the stack's red zone).
void catch_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread(watch_signals, signals).detach();
}

/// What train and plan share.
struct TrainArguments {
  std::string data;
  bool json = false;
  bool quiet = false;
  std::vector<std::string> print_after;
  SettingFlags flags;

  RunConfig config() const {
    RunConfig config;
    flags.apply(&config);
    if (data.ends_with(".yaml") || data.ends_with(".yml")) {
      config.load_yaml(data);
    } else if (!data.empty()) {
      if (!config.get("data.name").empty()) {
        throw Error(ErrorCode::kUsage, fmt::format("two data sets: '{}' and --data '{}'", data, config.get("data.name")), "--data",
                    "--data goes with a run file; otherwise name the data set once");
      }
      config.set("data.name", data, "DATA");
    }
    return config;
  }
};

std::shared_ptr<TrainArguments> add_arguments(CLI::App* command) {
  auto arguments = std::make_shared<TrainArguments>();
  command->add_option("what", arguments->data, "data set (generator, preset, file or folder), or a run file (.yaml)")->type_name("DATA|RUN.yaml");
  command->add_flag("--json", arguments->json, "results as one JSON object on stdout");
  arguments->flags.add_to(command, {"data", "model", "loss", "optim", "schedule", "train", "out", "passes"});
  return arguments;
}

std::string part_line(const TrainResult& result, const char* name, const PartScores& scores) {
  const bool many = scores.runs.size() > 1;
  const std::string mean = format_score(result.metric, scores.mean);
  const std::string spread = many ? " ± " + format_score(result.metric, scores.std) : "";
  return fmt::format("  {:6}{} {}{}\n", name, result.metric, mean, spread);
}

std::string result_text(const TrainResult& result) {
  const std::size_t runs = result.test.runs.size();
  std::string text = fmt::format("{} on {}, {} run{}\n", result.model, result.dataset, runs, runs == 1 ? "" : "s");
  text += part_line(result, "test", result.test);
  text += part_line(result, "val", result.val);
  text += part_line(result, "train", result.train);
  text += fmt::format("  epoch {:.3f} ms (median), peak memory {:.1f} MiB of {:.1f} planned\n", 1e3 * result.epoch_seconds_median,
                      static_cast<double>(result.peak_rss_bytes) / kMiB, static_cast<double>(result.plan_peak_bytes) / kMiB);
  if (!result.run_folder.empty()) text += fmt::format("  run folder {}\n", result.run_folder);
  return text;
}

void warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) fmt::print(stderr, "warning: {}\n", warning);
}

int run_train(const TrainArguments& arguments) {
  const RunConfig config = arguments.config();
  catch_signals();
  ProgressBar bar(arguments.quiet);
  Progress progress;
  progress.on_start = [&](const TrainingStart& start) {
    warn(start.warnings);
    bar.start(start);
  };
  progress.on_epoch = [&](const EpochProgress& epoch) { bar.update(epoch); };
  progress.should_stop = [] { return stop_signal != 0; };
  const TrainResult result = train_model(config, progress);
  bar.clear();
  print(arguments.json ? result.json + "\n" : result_text(result));
  if (!result.interrupted) return 0;
  throw Error(ErrorCode::kStopped, fmt::format("stopped on request after epoch {} of run {}", result.losses.back().size(), result.losses.size()),
              result.run_folder, result.run_folder.empty() ? "nothing was saved (--no-save)" : "the weights so far are saved there");
}

int run_plan(const TrainArguments& arguments) {
  const PlanResult result = plan_training(arguments.config(), arguments.print_after);
  warn(result.warnings);
  print(arguments.json ? result.json + "\n" : result.text);
  return 0;
}

}  // namespace

void add_train_commands(CLI::App* app, Action* action) {
  CLI::App* train = app->add_subcommand("train", "train a model on a data set");
  const auto train_arguments = add_arguments(train);
  train->add_flag("-q,--quiet", train_arguments->quiet, "no progress bar");
  train->callback([=] { *action = [=] { return run_train(*train_arguments); }; });

  CLI::App* plan = app->add_subcommand("plan", "show what a training would do and need, without doing it");
  const auto plan_arguments = add_arguments(plan);
  plan->add_option("--print-after,--print_after", plan_arguments->print_after, "print the program after this pass, or after all")
      ->delimiter(',')
      ->type_name("")
      ->allow_extra_args(false)
      ->group("Passes");
  plan->callback([=] { *action = [=] { return run_plan(*plan_arguments); }; });
}

}  // namespace gneiss::app
