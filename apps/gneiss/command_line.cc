// Each call goes on to CLI11 with the habits of this program: values without a type beside them, lists that take one
// element at a time.
#include "command_line.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "gneiss/error.h"

namespace gneiss::app {
namespace {

CLI::Option* dress(CLI::Option* option, const OptionStyle& style) {
  option->type_name(style.value_name)->required(style.required);
  if (style.group.has_value()) option->group(*style.group);
  if (style.delimiter != '\0') option->delimiter(style.delimiter);
  return option;
}

}  // namespace

Command Command::add_command(const std::string& name, const std::string& help) const {
  return Command(app_->add_subcommand(name, help));
}

void Command::require_command() const { app_->require_subcommand(1); }

void Command::add_flag(const std::string& names, bool* given, const std::string& help) const {
  app_->add_flag(names, *given, help);
}

void Command::add_flag(const std::string& names, std::function<void()> given, const std::string& help,
                       const std::string& group) const {
  app_->add_flag_callback(names, std::move(given), help)->group(group);
}

void Command::add_text(const std::string& names, std::string* value, const std::string& help,
                       const OptionStyle& style) const {
  dress(app_->add_option(names, *value, help), style);
}

void Command::add_text(const std::string& names, std::function<void(const std::string&)> given, const std::string& help,
                       const OptionStyle& style) const {
  dress(app_->add_option_function<std::string>(names, given, help), style)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void Command::add_integer(const std::string& names, std::int64_t* value, const std::string& help) const {
  dress(app_->add_option(names, *value, help), {});
}

void Command::add_list(const std::string& names, std::vector<std::string>* values, const std::string& help,
                       const OptionStyle& style) const {
  dress(app_->add_option(names, *values, help), style)->allow_extra_args(false);
}

void Command::when_chosen(std::function<void()> action) const { app_->callback(std::move(action)); }

std::string Command::name() const { return app_->get_name(); }
std::string Command::help() const { return app_->help(); }

std::vector<std::string> Command::command_names() const {
  std::vector<std::string> names;
  for (const CLI::App* command : app_->get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

Command Command::command(const std::string& name) const { return Command(app_->get_subcommand(name)); }

std::vector<std::string> Command::long_options() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

CommandLine::CommandLine(const std::string& description, const std::string& name, const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_version_flag("--version", version);
}

CommandLine::~CommandLine() = default;

Command CommandLine::program() const { return Command(app_.get()); }

std::optional<int> CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& wanted) {
    return app_->exit(wanted);  // --help and --version
  } catch (const CLI::ParseError& failure) {
    throw Error(ErrorCode::kUsage, failure.what(), "the command line",
                "gneiss help lists the commands, gneiss help COMMAND its options");
  }
  return {};
}

}  // namespace gneiss::app
