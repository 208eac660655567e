// predict, embed and eval: what a run folder is good for.
#include <fmt/format.h>

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

std::shared_ptr<RunArguments> add_arguments(CLI::App* command) {
  auto arguments = std::make_shared<RunArguments>();
  command->add_option("run", arguments->run, "run folder")->required()->type_name("RUN");
  arguments->flags.add_to(command, {"data", "train.threads"});
  return arguments;
}

void add_output(CLI::App* command, RunArguments* arguments) {
  command->add_option("--out", arguments->out, "file to write [stdout]")->type_name("FILE");
  command->add_option("--as", arguments->format.format, "csv, tsv, npy or jsonl [by the file's name, else csv]")
      ->type_name("");
}

int run_eval(const RunArguments& arguments) {
  const EvalResult result = evaluate(arguments.run, arguments.overrides());
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

void add_run_commands(CLI::App* app, Action* action) {
  CLI::App* predict_command = app->add_subcommand("predict", "predict every node with a trained model");
  const auto predict_arguments = add_arguments(predict_command);
  add_output(predict_command, predict_arguments.get());
  predict_command->add_flag("--probabilities", predict_arguments->format.probabilities,
                            "the probability of every class too");
  predict_command->callback([=] {
    *action = [=] {
      print(predict(predict_arguments->run, predict_arguments->overrides(), predict_arguments->format,
                    predict_arguments->out));
      return 0;
    };
  });

  CLI::App* embed_command = app->add_subcommand("embed", "write the embedding of every node");
  const auto embed_arguments = add_arguments(embed_command);
  add_output(embed_command, embed_arguments.get());
  embed_command->callback([=] {
    *action = [=] {
      print(embed(embed_arguments->run, embed_arguments->overrides(), embed_arguments->format, embed_arguments->out));
      return 0;
    };
  });

  CLI::App* eval_command = app->add_subcommand("eval", "score a trained model");
  const auto eval_arguments = add_arguments(eval_command);
  eval_command->add_flag("--json", eval_arguments->json, "results as one JSON object on stdout");
  eval_command->callback([=] { *action = [=] { return run_eval(*eval_arguments); }; });
}

}  // namespace gneiss::app
