// The gneiss command: parses the command line, runs one sub-command, turns failures into messages and exit codes.
//
// Results go to stdout, everything else to stderr. Exit codes: 0 ok, 1 internal, 2 usage, 3 bad data, 4 out of memory
// or disk, 5 numeric failure, 75 stopped on request with everything saved.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <new>

#include "commands.h"
#include "gneiss/error.h"
#include "gneiss/gneiss.h"

namespace gneiss::app {

void print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) throw Error(ErrorCode::kDisk, "cannot write the results to stdout");
}

namespace {

int print_doctor(bool measure) {
  if (measure) {
    const Calibration calibration = calibrate();
    print(fmt::format("{}  written to {}\n", calibration.text, calibration.path));
    return 0;
  }
  std::string text;
  for (const Fact& fact : machine_facts()) text += fmt::format("  {:14}{}\n", fact.name, fact.value);
  print(text);
  return 0;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::string help_pages(const CLI::App& app, const std::string& topic) {
  if (topic.empty()) return app.help();
  if (topic == "settings") return settings_markdown();
  if (topic == "defaults") return defaults_markdown();
  if (topic == "passes") {
    std::string text;
    for (const PassSummary& pass : list_passes())
      text += fmt::format("  {:20}{}{}\n", pass.name, pass.purpose, pass.optional ? "" : "  (always)");
    return text;
  }
  const std::vector<std::string> commands = command_names(app);
  if (std::find(commands.begin(), commands.end(), topic) != commands.end()) return app.get_subcommand(topic)->help();
  std::string text = fmt::format("model {}\n", topic);
  for (const ModelArgument& argument : model_arguments(topic)) {
    text += fmt::format("  {:18}{:8}{:12}{}\n", argument.name, argument.type, argument.initial, argument.help);
  }
  return text;
}

/// The command that the arguments name, e.g. `data info`; unknown ones are refused with the nearest name.
const CLI::App* find_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* command = &app;
  for (const std::string& word : arguments) {
    const std::vector<std::string> names = command_names(*command);
    if (names.empty() || word.empty() || word[0] == '-') break;
    if (std::find(names.begin(), names.end(), word) == names.end()) {
      const std::string close = nearest(word, names);
      throw Error(ErrorCode::kUsage, fmt::format("unknown command '{}'", word), command->get_name(),
                  close.empty() ? fmt::format("commands: {}", fmt::join(names, ", "))
                                : fmt::format("did you mean '{}'?", close));
    }
    command = command->get_subcommand(word);
  }
  return command;
}

/// Refuses options that the command does not have, naming the nearest it has.
void check_flags(const CLI::App& command, const std::vector<std::string>& arguments) {
  std::vector<std::string> known = {"--help"};
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const std::string& argument : arguments) {
    if (argument == "--") return;
    if (!argument.starts_with("--")) continue;
    const std::string name = argument.substr(0, argument.find('='));
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string close = nearest(name, known);
    throw Error(ErrorCode::kUsage, fmt::format("unknown option '{}'", name),
                fmt::format("gneiss {}", command.get_name()),
                close.empty() ? fmt::format("gneiss help {} lists the options", command.get_name())
                              : fmt::format("did you mean '{}'?", close));
  }
}

int run(int argc, char** argv) {
  CLI::App app("Gneiss trains graph neural networks.", "gneiss");
  Action action;
  app.require_subcommand(1);
  app.set_version_flag("--version", "gneiss " + version());
  add_train_commands(&app, &action);
  add_run_commands(&app, &action);
  add_sample_command(&app, &action);
  add_data_commands(&app, &action);
  bool measure = false;
  CLI::App* doctor = app.add_subcommand("doctor", "what this machine offers");
  doctor->add_flag("--calibrate", measure, "measure how fast the kernels are here; later plans go by it");
  doctor->callback([&] { action = [&] { return print_doctor(measure); }; });
  std::string topic;
  CLI::App* help = app.add_subcommand("help", "help on a command, a model, `settings`, `defaults` or `passes`");
  help->add_option("topic", topic, "command, model, settings, defaults or passes")->type_name("TOPIC");
  help->callback([&] { action = [&] { return print(help_pages(app, topic)), 0; }; });

  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (!arguments.empty()) check_flags(*find_command(app, arguments), arguments);
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {
    return app.exit(wanted);  // --help and --version
  } catch (const CLI::ParseError& failure) {
    throw Error(ErrorCode::kUsage, failure.what(), "the command line",
                "gneiss help lists the commands, gneiss help COMMAND its options");
  }
  return action();
}

}  // namespace
}  // namespace gneiss::app

int main(int argc, char** argv) {
  try {
    return gneiss::app::run(argc, argv);
  } catch (const gneiss::Error& failure) {
    fmt::print(stderr, "{}\n", failure.what());
    return gneiss::exit_code(failure.code());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: out of memory\n  hint: gneiss plan shows what a training needs\n");
    return gneiss::exit_code(gneiss::ErrorCode::kOutOfMemory);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "error: {}\n  hint: this is a defect of Gneiss; please report it with the command\n",
               failure.what());
    return gneiss::exit_code(gneiss::ErrorCode::kInternal);
  }
}
