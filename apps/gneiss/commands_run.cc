// predict, embed and eval: what a run folder is good for.
#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "gneiss/train.h"
#include "options.h"
#include "progress_bar.h"

namespace gneiss::app {
namespace {

struct RunArguments {
  std::string run;
  std::string out;
  OutputFormat format;
  bool json = false;
  SettingFlags flags;

  RunConfig overrides() const {
    RunConfig config;
    flags.apply(&config);
    return config;
  }
};

std::shared_ptr<RunArguments> add_arguments(const Command& command) {
  auto arguments = std::make_shared<RunArguments>();
  command.add_text("run", &arguments->run, "run folder", {.value_name = "RUN", .required = true});
  arguments->flags.add_to(command,
                          {"data", "train.threads", "train.mem", "train.page_cache", "device.name", "device.mem"});
  return arguments;
}

void add_output(const Command& command, RunArguments* arguments) {
  command.add_text("--out", &arguments->out, "file to write [stdout]", {.value_name = "FILE"});
  command.add_text("--as", arguments->format.format.word(), "csv, tsv, npy or jsonl [by the file's name, else csv]",
                   {});
}

void warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) fmt::print(stderr, "warning: {}\n", warning);
}

int run_eval(const RunArguments& arguments) {
  const EvalResult result = evaluate(arguments.run, arguments.overrides());
  warn(result.warnings);
  if (arguments.json) {
    print(result.json + "\n");
    return 0;
  }
  print(fmt::format("  test  {} {}\n  val   {} {}\n  train {} {}\n", result.metric,
                    format_score(result.metric, result.test), result.metric, format_score(result.metric, result.val),
                    result.metric, format_score(result.metric, result.train)));
  return 0;
}

}  // namespace

void add_run_commands(const Command& program, Action* action) {
  const Command predict_command = program.add_command("predict", "predict every node with a trained model");
  const auto predict_arguments = add_arguments(predict_command);
  add_output(predict_command, predict_arguments.get());
  predict_command.add_flag("--probabilities", &predict_arguments->format.probabilities,
                           "the probability of every class too");
  predict_command.when_chosen([=] {
    *action = [=] {
      std::vector<std::string> warnings;
      const std::string text = predict(predict_arguments->run, predict_arguments->overrides(),
                                       predict_arguments->format, predict_arguments->out, &warnings);
      warn(warnings);
      print(text);
      return 0;
    };
  });

  const Command embed_command = program.add_command("embed", "write the embedding of every node");
  const auto embed_arguments = add_arguments(embed_command);
  add_output(embed_command, embed_arguments.get());
  embed_command.when_chosen([=] {
    *action = [=] {
      std::vector<std::string> warnings;
      const std::string text = embed(embed_arguments->run, embed_arguments->overrides(), embed_arguments->format,
                                     embed_arguments->out, &warnings);
      warn(warnings);
      print(text);
      return 0;
    };
  });

  const Command eval_command = program.add_command("eval", "score a trained model");
  const auto eval_arguments = add_arguments(eval_command);
  eval_command.add_flag("--json", &eval_arguments->json, "results as one JSON object on stdout");
  eval_command.when_chosen([=] { *action = [=] { return run_eval(*eval_arguments); }; });
}

}  // namespace gneiss::app
