// The gneiss command: parses the command line, runs one sub-command, turns failures into messages and exit codes.
//
// Results go to stdout, everything else to stderr. Exit codes: 0 ok, 1 internal, 2 usage, 3 bad data, 4 out of memory
// or disk, 5 numeric failure, 6 another rank lost, 75 stopped on request with everything saved.
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

int print_doctor(bool measure, std::int64_t ranks, const std::string& device) {
  if (!device.empty() && ranks != 1)
    throw Error(ErrorCode::kUsage, "--device measures one card, --ranks several ranks", "gneiss doctor",
                "leave one of them out");
  if (measure) {
    const Calibration calibration = device.empty()
                                        ? calibrate(static_cast<int>(std::clamp<std::int64_t>(ranks, 0, 1 << 20)))
                                        : calibrate_device(device);
    if (!calibration.path.empty()) print(fmt::format("{}  written to {}\n", calibration.text, calibration.path));
    return 0;
  }
  if (ranks != 1)
    throw Error(ErrorCode::kUsage, "--ranks says how many ranks measure together", "gneiss doctor", "add --calibrate");
  if (!device.empty())
    throw Error(ErrorCode::kUsage, "--device says which card is measured", "gneiss doctor", "add --calibrate");
  std::string text;
  for (const Fact& fact : machine_facts()) text += fmt::format("  {:14}{}\n", fact.name, fact.value);
  print(text);
  return 0;
}

std::string help_pages(const Command& program, const std::string& topic) {
  if (topic.empty()) return program.help();
  if (topic == "settings") return settings_markdown();
  if (topic == "defaults") return defaults_markdown();
  if (topic == "profiles") return profiles_text();
  if (topic == "passes") {
    std::string text;
    for (const PassSummary& pass : list_passes())
      text += fmt::format("  {:20}{}{}\n", pass.name, pass.purpose, pass.optional ? "" : "  (always)");
    return text;
  }
  const std::vector<std::string> commands = program.command_names();
  if (std::find(commands.begin(), commands.end(), topic) != commands.end()) return program.command(topic).help();
  std::string text = fmt::format("model {}\n", topic);
  for (const ModelArgument& argument : model_arguments(topic)) {
    text += fmt::format("  {:18}{:8}{:12}{}\n", argument.name, argument.type, argument.initial, argument.help);
  }
  return text;
}

/// The command that the arguments name, e.g. `data info`; unknown ones are refused with the nearest name.
Command find_command(const Command& program, const std::vector<std::string>& arguments) {
  Command command = program;
  for (const std::string& word : arguments) {
    const std::vector<std::string> names = command.command_names();
    if (names.empty() || word.empty() || word[0] == '-') break;
    if (std::find(names.begin(), names.end(), word) == names.end()) {
      const std::string close = nearest(word, names);
      throw Error(ErrorCode::kUsage, fmt::format("unknown command '{}'", word), command.name(),
                  close.empty() ? fmt::format("commands: {}", fmt::join(names, ", "))
                                : fmt::format("did you mean '{}'?", close));
    }
    command = command.command(word);
  }
  return command;
}

/// Is `option` ("--lr", "--no-save") that of a setting of trainings?
bool is_setting(const std::string& option) {
  std::string flag = option.substr(2);
  std::replace(flag.begin(), flag.end(), '_', '-');
  const std::vector<SettingInfo>& all = list_settings();
  return flag == "model-arg" || std::any_of(all.begin(), all.end(), [&](const SettingInfo& setting) {
           const auto is = [&](const std::string& name) {
             return name == flag || (setting.is_switch && "no-" + name == flag);
           };
           return is(setting.flag) || std::any_of(setting.aliases.begin(), setting.aliases.end(), is);
         });
}

/// Refuses options that the command does not have, naming the nearest it has.
void check_flags(const Command& command, const std::vector<std::string>& arguments) {
  std::vector<std::string> known = command.long_options();
  known.push_back("--help");
  for (const std::string& argument : arguments) {
    if (argument == "--") return;
    if (!argument.starts_with("--")) continue;
    const std::string name = argument.substr(0, argument.find('='));
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string hint = habit_of_option(name, known);
    if (const std::string close = nearest(name, known); hint.empty() && !close.empty())
      hint = fmt::format("did you mean '{}'?", close);
    if (command.name() == "resume" && is_setting(name)) {
      throw Error(ErrorCode::kUsage, fmt::format("a resumed training keeps its settings, '{}' cannot be given", name),
                  "gneiss resume",
                  fmt::format("leave it out; with other settings train anew: gneiss train "
                              "RUN/config.yaml {} …",
                              name));
    }
    if (hint.empty()) hint = fmt::format("gneiss help {} lists the options", command.name());
    throw Error(ErrorCode::kUsage, fmt::format("unknown option '{}'", name), fmt::format("gneiss {}", command.name()),
                hint);
  }
}

int run(int argc, char** argv) {
  CommandLine line("Gneiss trains graph neural networks.", "gneiss", "gneiss " + version());
  const Command program = line.program();
  Action action;
  program.require_command();
  add_train_commands(program, &action);
  add_run_commands(program, &action);
  add_sample_command(program, &action);
  add_schedule_command(program, &action);
  add_profile_command(program, &action);
  add_data_commands(program, &action);
  bool measure = false;
  const Command doctor = program.add_command("doctor", "what this machine offers");
  doctor.add_flag("--calibrate", &measure, "measure how fast the kernels are here; later plans go by it");
  std::int64_t ranks = 1;
  doctor.add_integer("--ranks", &ranks, "so many ranks measure together, threads of this process [1]");
  std::string device;
  doctor.add_text("--device", &device, "the card to measure in place of the processors: cuda or cuda:N",
                  {.value_name = "DEVICE"});
  doctor.when_chosen([&] { action = [&] { return print_doctor(measure, ranks, device); }; });
  std::string topic;
  const Command help =
      program.add_command("help", "help on a command, a model, `settings`, `defaults`, `passes` or `profiles`");
  help.add_text("topic", &topic, "command, model, settings, defaults, passes or profiles", {.value_name = "TOPIC"});
  help.when_chosen([&] { action = [&] { return print(help_pages(program, topic)), 0; }; });

  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty()) check_flags(find_command(program, arguments), arguments);
  const std::optional<int> done = line.parse(argc, argv);
  return done.has_value() ? *done : action();
}

}  // namespace
}  // namespace gneiss::app

int main(int argc, char** argv) {
  try {
    gneiss::name_unreadable_files();
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
