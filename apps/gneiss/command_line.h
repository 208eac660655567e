// The command line: commands, their options and what each does when it is chosen. Only command_line.cc knows the parser
// that does the work, CLI11: its templates take ten seconds in every file that names them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace gneiss::app {

/// How an option shows in the help, and what it asks for.
struct OptionStyle {
  std::string value_name = {};            ///< "FILE"; empty: none is shown
  std::optional<std::string> group = {};  ///< its heading; "" hides the option, none leaves it under the general one
  bool required = false;
  char delimiter = '\0';  ///< between the elements of a list
};

/// A command, or the program itself as the one that holds the others. A handle: the CommandLine owns what it names.
class Command {
 public:
  Command add_command(const std::string& name, const std::string& help) const;
  /// Refuses a command line that names none of the commands added here.
  void require_command() const;

  /// `names` is "--long,-l", or "word" for an operand.
  void add_flag(const std::string& names, bool* given, const std::string& help) const;
  void add_flag(const std::string& names, std::function<void()> given, const std::string& help,
                const std::string& group) const;
  void add_text(const std::string& names, std::string* value, const std::string& help, const OptionStyle& style) const;
  /// Of an option given several times the last value counts.
  void add_text(const std::string& names, std::function<void(const std::string&)> given, const std::string& help,
                const OptionStyle& style) const;
  void add_integer(const std::string& names, std::int64_t* value, const std::string& help) const;
  /// One value each time that it is given.
  void add_list(const std::string& names, std::vector<std::string>* values, const std::string& help,
                const OptionStyle& style) const;
  void when_chosen(std::function<void()> action) const;

  std::string name() const;
  std::string help() const;
  std::vector<std::string> command_names() const;
  Command command(const std::string& name) const;
  std::vector<std::string> long_options() const;  ///< "--name"

 private:
  friend class CommandLine;
  explicit Command(CLI::App* app) : app_(app) {}

  CLI::App* app_;
};

class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& name, const std::string& version);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  Command program() const;
  /// Sets the options and calls what the chosen command does. Returns an exit code where everything is done: help or
  /// the version was asked for and printed. Errors: kUsage.
  std::optional<int> parse(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace gneiss::app
