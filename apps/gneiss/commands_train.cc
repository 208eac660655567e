// train, resume, plan and synth.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <thread>

#include "commands.h"
#include "gneiss/error.h"
#include "gneiss/synth.h"
#include "gneiss/train.h"
#include "options.h"
#include "progress_bar.h"

namespace gneiss::app {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

std::atomic<int> stop_signal = 0;

/// Waits for signals on a thread of its own: the first asks for an orderly end, the second acts as if nobody caught it
/// (exit status 128 + signal).
void watch_signals(sigset_t signals) {
  int signal = 0;
  sigwait(&signals, &signal);
  stop_signal = signal;
  sigwait(&signals, &signal);
  std::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  std::raise(signal);
}

/// Blocks the signals in this thread and all that it will start, so that none is delivered on a thread that computes:
/// with oneDNN 2.6 a handler there ends in heap corruption (presumably its generated code keeps data below the stack's
/// red zone). Called where there may be threads: a training that forks has none before.
void catch_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread(watch_signals, signals).detach();
}

/// What train, plan and synth share.
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
        throw Error(ErrorCode::kUsage,
                    fmt::format("two data sets: '{}' and --data '{}'", data, config.get("data.name")), "--data",
                    "--data goes with a run file; otherwise name the data set once");
      }
      config.set("data.name", data, "DATA");
    }
    return config;
  }
};

std::shared_ptr<TrainArguments> add_arguments(const Command& command, const std::vector<std::string>& groups) {
  auto arguments = std::make_shared<TrainArguments>();
  command.add_text("what", &arguments->data, "data set (generator, preset, file or folder), or a run file (.yaml)",
                   {.value_name = "DATA|RUN.yaml"});
  arguments->flags.add_to(command, groups);
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
  text += fmt::format("  epoch {:.3f} ms (median), peak memory {:.1f} MiB of {:.1f} planned\n",
                      1e3 * result.epoch_seconds_median, static_cast<double>(result.peak_rss_bytes) / kMiB,
                      static_cast<double>(result.plan_peak_bytes) / kMiB);
  text += result.routes;
  if (!result.run_folder.empty()) text += fmt::format("  run folder {}\n", result.run_folder);
  return text;
}

void warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) fmt::print(stderr, "warning: {}\n", warning);
}

std::string defaults_line(const std::string& defaults) {
  return fmt::format("defaults for {}; flags overrule them (gneiss help defaults)", defaults);
}

/// What train and resume show, of a training that `train` does.
int show_training(bool json, bool quiet, const std::function<TrainResult(const Progress&)>& train) {
  ProgressBar bar(quiet);
  Progress progress;
  progress.on_begin = catch_signals;
  progress.on_start = [&](const TrainingStart& start) {
    warn(start.warnings);
    if (!start.defaults.empty() && !quiet && !json) fmt::print(stderr, "{}\n", defaults_line(start.defaults));
    bar.start(start);
  };
  progress.on_epoch = [&](const EpochProgress& epoch) { bar.update(epoch); };
  progress.should_stop = [] { return stop_signal != 0; };
  progress.on_warning = [&](const std::string& text) {
    bar.clear();
    warn({text});
  };
  const TrainResult result = train(progress);
  bar.clear();
  if (result.rank != 0) return 0;
  if (result.was_complete) {
    print(json ? result.json : fmt::format("the training in {} is complete\n", result.run_folder));
    return 0;
  }
  print(json ? result.json + "\n" : result_text(result));
  if (!result.advice.empty() && !json) warn({result.advice});
  if (!result.interrupted) return 0;
  throw Error(
      ErrorCode::kStopped,
      fmt::format("stopped on request after epoch {} of run {}", result.losses.back().size(), result.losses.size()),
      result.run_folder,
      result.run_folder.empty() ? std::string("nothing was saved (--no-save)")
      : result.can_go_on
          ? fmt::format("the weights so far are saved there; gneiss resume {} goes on", result.run_folder)
          : std::string("the weights so far are saved there"));
}

int run_train(const TrainArguments& arguments) {
  const RunConfig config = arguments.config();
  return show_training(arguments.json, arguments.quiet,
                       [&](const Progress& progress) { return train_model(config, progress); });
}

struct ResumeArguments {
  std::string run;
  bool json = false;
  bool quiet = false;
  SettingFlags flags;
};

int run_resume(const ResumeArguments& arguments) {
  RunConfig overrides;
  arguments.flags.apply(&overrides);
  return show_training(arguments.json, arguments.quiet,
                       [&](const Progress& progress) { return resume_training(arguments.run, overrides, progress); });
}

void add_resume_command(const Command& program, Action* action) {
  const Command resume = program.add_command("resume", "go on with a training that was stopped or killed");
  const auto arguments = std::make_shared<ResumeArguments>();
  resume.add_text("run", &arguments->run, "run folder that was to be written, or the .partial- folder left of it",
                  {.value_name = "RUN", .required = true});
  arguments->flags.add_to(resume, {"data.name", "train.threads", "out.checkpoint_every", "out.force"});
  resume.add_flag("--json", &arguments->json, "results as one JSON object on stdout");
  resume.add_flag("-q,--quiet", &arguments->quiet, "no progress bar");
  resume.when_chosen([=] { *action = [=] { return run_resume(*arguments); }; });
}

int run_plan(const TrainArguments& arguments) {
  const PlanResult result = plan_training(arguments.config(), arguments.print_after);
  warn(result.warnings);
  print(arguments.json ? result.json + "\n" : result.text);
  return 0;
}

struct SynthArguments {
  std::shared_ptr<TrainArguments> training;
  std::string shape;
  std::string folder;
  Worded<ProgramTarget> target = ProgramTarget::kOpenmp;
  bool force = false;
};

std::string target_names() {
  std::string names;
  for (const SynthTarget& target : synth_targets()) names += (names.empty() ? "" : ", ") + target.name;
  return names;
}

/// The spec of a generator for `N,M,F,C`: a directed graph on which every node trains, so that the program asks nothing
/// of other data but these sizes.
std::string data_of_shape(const std::string& shape) {
  constexpr const char* kKeys[] = {"nodes", "edges", "features", "classes"};
  std::string spec;
  std::string_view rest = shape;
  for (const char* key : kKeys) {
    const std::string_view number = rest.substr(0, rest.find(','));
    const bool whole = !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
    if (!whole) break;
    spec += fmt::format("{}{}={}", spec.empty() ? "dcsbm:" : ",", key, number);
    rest.remove_prefix(std::min(number.size() + 1, rest.size()));
    if (key == kKeys[3] && rest.empty()) return spec + ",directed=true,train=1,val=0";
  }
  throw Error(ErrorCode::kUsage, fmt::format("expected four whole numbers, got '{}'", shape), "--shape",
              "write --shape NODES,EDGES,FEATURES,CLASSES, for example --shape 2708,10556,1433,7");
}

int run_synth(const SynthArguments& arguments) {
  RunConfig config = arguments.training->config();
  if (!arguments.shape.empty()) {
    if (!config.get("data.name").empty()) {
      throw Error(ErrorCode::kUsage, fmt::format("both a data set, '{}', and a shape", config.get("data.name")),
                  "--shape", "give one of them");
    }
    config.set("data.name", data_of_shape(arguments.shape), "--shape");
  }
  const SynthResult result = synthesize(config, arguments.target, arguments.folder, arguments.force);
  warn(result.warnings);
  if (!result.defaults.empty()) print(defaults_line(result.defaults) + "\n");
  print(fmt::format(
      "{} on {}: {} kernel calls in {} files\n  cmake -S {} -B {}/build && cmake --build {}/build && {}/build/train\n",
      result.model, result.dataset, result.steps, result.files.size(), arguments.folder, arguments.folder,
      arguments.folder, arguments.folder));
  return 0;
}

}  // namespace

void add_train_commands(const Command& program, Action* action) {
  const Command train = program.add_command("train", "train a model on a data set");
  const std::vector<std::string> groups = {"data",  "model", "loss",   "optim", "schedule",
                                           "train", "batch", "device", "out",   "passes"};
  const auto train_arguments = add_arguments(train, groups);
  train.add_flag("--json", &train_arguments->json, "results as one JSON object on stdout");
  train.add_flag("-q,--quiet", &train_arguments->quiet, "no progress bar");
  train.when_chosen([=] { *action = [=] { return run_train(*train_arguments); }; });

  add_resume_command(program, action);

  const Command plan = program.add_command("plan", "show what a training would do and need, without doing it");
  const auto plan_arguments = add_arguments(plan, groups);
  plan.add_flag("--json", &plan_arguments->json, "results as one JSON object on stdout");
  plan.add_list("--print-after,--print_after", &plan_arguments->print_after,
                "print the program after this pass, or after all", {.group = "Passes", .delimiter = ','});
  plan.when_chosen([=] { *action = [=] { return run_plan(*plan_arguments); }; });

  const Command synth = program.add_command("synth", "write a training as a C++ program of its own");
  const auto synth_arguments = std::make_shared<SynthArguments>();
  synth_arguments->training =
      add_arguments(synth, {"data", "model", "loss", "optim", "schedule", "train", "batch", "passes"});
  synth.add_text("-o,--output", &synth_arguments->folder, "folder to write", {.value_name = "DIR", .required = true});
  synth.add_text("--shape", &synth_arguments->shape,
                 "sizes of the data, nodes,edges,features,classes, where none is at hand", {.value_name = "N,M,F,C"});
  synth.add_text("--target", synth_arguments->target.word(), "language of the program: " + target_names() + " [openmp]",
                 {});
  synth.add_flag("--force", &synth_arguments->force, "replace the files of a program there");
  synth.when_chosen([=] { *action = [=] { return run_synth(*synth_arguments); }; });
}

}  // namespace gneiss::app
