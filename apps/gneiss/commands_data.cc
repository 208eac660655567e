// data info, validate, convert, generate and formats.
#include <fmt/format.h>

#include "commands.h"
#include "gneiss/dataset.h"
#include "gneiss/error.h"
#include "options.h"

namespace gneiss::app {
namespace {

struct DataArguments {
  std::string data;
  std::string out;
  bool force = false;
  bool json = false;
  SettingFlags flags;

  Dataset load() const {
    RunConfig config;
    flags.apply(&config);
    config.set("data.name", data, "DATA");
    return load_dataset(config);
  }
};

std::shared_ptr<DataArguments> add_command(CLI::App* data, const char* name, const char* help, const char* what,
                                           const std::function<int(const DataArguments&)>& run, Action* action,
                                           CLI::App** command) {
  *command = data->add_subcommand(name, help);
  auto arguments = std::make_shared<DataArguments>();
  (*command)
      ->add_option("what", arguments->data, "data set: generator, preset, file or folder")
      ->required()
      ->type_name(what);
  arguments->flags.add_to(*command, {"data", "train.threads"});
  (*command)->callback([=] { *action = [=] { return run(*arguments); }; });
  return arguments;
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
  const Dataset dataset = arguments.load();
  dataset.save(arguments.out, arguments.force);
  print(fmt::format("{}: {} nodes, {} edges, {} features, {} classes\n", arguments.out, dataset.num_nodes(),
                    dataset.num_edges(), dataset.num_features(), dataset.num_classes()));
  return 0;
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

}  // namespace

void add_data_commands(CLI::App* app, Action* action) {
  CLI::App* data = app->add_subcommand("data", "look at, check, convert and make data sets");
  data->require_subcommand(1);
  CLI::App* command = nullptr;
  const auto info = add_command(data, "info", "numbers that describe a data set", "DATA", run_info, action, &command);
  command->add_flag("--json", info->json, "as one JSON object");
  add_command(data, "validate", "look for what training would stumble over", "DATA", run_validate, action, &command);
  const auto convert =
      add_command(data, "convert", "write a data set as a Gneiss folder", "SRC", run_save, action, &command);
  command->add_option("destination", convert->out, "folder to write")->required()->type_name("DST");
  command->add_flag("--force", convert->force, "replace a Gneiss folder of that name");
  const auto generate = add_command(data, "generate", "make a data set by name and write it as a Gneiss folder", "SPEC",
                                    run_save, action, &command);
  command->add_option("--out", generate->out, "folder to write")->required()->type_name("DST");
  command->add_flag("--force", generate->force, "replace a Gneiss folder of that name");
  CLI::App* formats = data->add_subcommand("formats", "formats and generators that Gneiss knows");
  formats->callback([=] { *action = print_formats; });
}

}  // namespace gneiss::app
