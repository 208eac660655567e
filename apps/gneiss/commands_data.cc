// data info, validate, convert, generate, formats, score and partition.
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "commands.h"
#include "gneiss/dataset.h"
#include "gneiss/error.h"
#include "gneiss/partition.h"
#include "gneiss/score.h"
#include "options.h"

namespace gneiss::app {
namespace {

struct DataArguments {
  std::string data;
  std::string out;
  bool force = false;
  bool json = false;
  SettingFlags flags;

  RunConfig config() const {
    RunConfig made;
    flags.apply(&made);
    made.set("data.name", data, "DATA");
    return made;
  }
  Dataset load() const { return load_dataset(config()); }
};

std::shared_ptr<DataArguments> add_arguments(const Command& command, const char* what,
                                             const std::function<int(const DataArguments&)>& run, Action* action,
                                             const std::vector<std::string>& settings = {"data", "train.threads"}) {
  auto arguments = std::make_shared<DataArguments>();
  command.add_text("what", &arguments->data, "data set: generator, preset, file or folder",
                   {.value_name = what, .required = true});
  arguments->flags.add_to(command, settings);
  command.when_chosen([=] { *action = [=] { return run(*arguments); }; });
  return arguments;
}

void add_destination(const Command& command, const char* names, DataArguments* arguments) {
  command.add_text(names, &arguments->out, "folder to write", {.value_name = "DST", .required = true});
  command.add_flag("--force", &arguments->force, "replace a Gneiss folder of that name");
}

int run_info(const DataArguments& arguments) {
  const Dataset dataset = arguments.load();
  print(arguments.json ? dataset.to_json() + "\n" : dataset.describe());
  return 0;
}

int run_validate(const DataArguments& arguments) {
  const std::vector<DatasetFinding> findings = arguments.load().validate();
  int errors = 0;
  std::string text;
  for (const DatasetFinding& finding : findings) {
    text += fmt::format("{}: {}\n", finding.is_error ? "error" : "warning", finding.message);
    errors += finding.is_error ? 1 : 0;
  }
  text += fmt::format("{}: {} errors, {} warnings\n", arguments.data, errors,
                      findings.size() - static_cast<std::size_t>(errors));
  print(text);
  return errors == 0 ? 0 : exit_code(ErrorCode::kBadData);
}

int run_save(const DataArguments& arguments) {
  const DatasetSizes made = write_dataset(arguments.config(), arguments.out, arguments.force);
  print(fmt::format("{}: {} nodes, {} edges, {} features, {} classes\n", arguments.out, made.nodes, made.edges,
                    made.features, made.classes));
  return 0;
}

struct ScoreArguments {
  std::string data;
  ScoreRequest request;
  std::string damping;
  bool json = false;
  SettingFlags flags;
};

int run_score(const ScoreArguments& arguments) {
  RunConfig config;
  arguments.flags.apply(&config);
  config.set("data.name", arguments.data, "DATA");
  ScoreRequest request = arguments.request;
  if (!arguments.damping.empty()) {
    const std::string& text = arguments.damping;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), request.damping);
    if (failure != std::errc() || end != text.data() + text.size())
      throw Error(ErrorCode::kUsage, fmt::format("expected a number from 0 to 1, got '{}'", text), "--damping",
                  "leave it out for 0.85");
  }
  const ScoreResult result = score_nodes(config, request);
  print(arguments.json ? result.json + "\n" : result.text);
  return 0;
}

void add_score_command(const Command& data, Action* action) {
  const Command command = data.add_command("score", "how well scores foretell which rows mini-batches read");
  auto arguments = std::make_shared<ScoreArguments>();
  ScoreRequest& request = arguments->request;
  command.add_text("what", &arguments->data, "data set: generator, preset, file or folder",
                   {.value_name = "DATA", .required = true});
  command.add_text("--score", request.scores.word(),
                   "degree, rpr, wrpr, vip, presample; auto: all, and the best [auto]", {});
  command.add_integer("--epochs", &request.epochs, "epochs to measure on [2]");
  command.add_integer("--presample-epochs", &request.presample_epochs, "epochs that presample counts over [2]");
  command.add_integer("--iterations", &request.iterations, "of wrpr [as many as hops]");
  command.add_text("--damping", &arguments->damping, "of rpr and wrpr [0.85]", {});
  command.add_flag("--json", &arguments->json, "results as one JSON object on stdout");
  arguments->flags.add_to(command, {"batch", "data", "train.seed", "train.threads", "train.mem"});
  command.when_chosen([=] { *action = [=] { return run_score(*arguments); }; });
}

int print_formats() {
  std::string text = "formats\n";
  for (const NamedSummary& format : dataset_formats()) text += fmt::format("  {:16}{}\n", format.name, format.summary);
  text += "generators and presets\n";
  for (const NamedSummary& generator : dataset_generators())
    text += fmt::format("  {:16}{}\n", generator.name, generator.summary);
  print(text);
  return 0;
}

struct PartitionArguments {
  std::shared_ptr<DataArguments> data;
  PartitionRequest request;
};

int run_partition(const PartitionArguments& arguments) {
  PartitionRequest request = arguments.request;
  request.out = arguments.data->out;
  request.force = arguments.data->force;
  RunConfig config;
  arguments.data->flags.apply(&config);
  config.set("data.name", arguments.data->data, "DATA");
  const PartitionResult result = partition_dataset(config, request);
  print(arguments.data->json ? result.json + "\n" : result.text);
  return 0;
}

void add_partition_command(const Command& data, Action* action) {
  const Command command = data.add_command("partition", "cut a data set into parts for several ranks");
  auto arguments = std::make_shared<PartitionArguments>();
  const auto run = [arguments](const DataArguments&) { return run_partition(*arguments); };
  arguments->data = add_arguments(command, "DATA", run, action,
                                  {"data", "train.threads", "train.network", "train.ranks_per_node", "train.mem"});
  PartitionRequest& request = arguments->request;
  command.add_integer("--parts", &request.parts, "how many parts, one for each rank [2]");
  command.add_text("--method", request.method.word(),
                   "auto, contiguous, clusters, metis, components, stream or degree [auto: the least modelled epoch]",
                   {.value_name = "NAME"});
  command.add_integer("--columns", &request.columns, "columns of the rows that ranks would send [64]");
  command.add_text("--out", &arguments->data->out, "folder to write [nothing is written]", {.value_name = "DIR"});
  command.add_flag("--force", &arguments->data->force, "replace a Gneiss folder of that name");
  command.add_flag("--json", &arguments->data->json, "as one JSON object");
}

}  // namespace

void add_data_commands(const Command& program, Action* action) {
  const Command data = program.add_command("data", "look at, check, convert and make data sets");
  data.require_command();
  const Command info = data.add_command("info", "numbers that describe a data set");
  info.add_flag("--json", &add_arguments(info, "DATA", run_info, action)->json, "as one JSON object");
  const Command validate = data.add_command("validate", "look for what training would stumble over");
  add_arguments(validate, "DATA", run_validate, action);
  const Command convert = data.add_command("convert", "write a data set as a Gneiss folder");
  add_destination(convert, "destination", add_arguments(convert, "SRC", run_save, action).get());
  const Command generate = data.add_command("generate", "make a data set by name and write it as a Gneiss folder");
  const std::vector<std::string> settings = {"data", "train.threads", "train.mem"};
  add_destination(generate, "--out", add_arguments(generate, "SPEC", run_save, action, settings).get());
  add_score_command(data, action);
  add_partition_command(data, action);
  const Command formats = data.add_command("formats", "formats and generators that Gneiss knows");
  formats.when_chosen([=] { *action = print_formats; });
}

}  // namespace gneiss::app
