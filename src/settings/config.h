// The settings of a run and where each value came from.
//
// Precedence, lowest first: the table's default, what was chosen for the data (defaults/choose_defaults.h), a training
// script in the model's text, the run file, the command line.
// Run files are YAML, read strictly: an unknown key, a wrong type, a key given twice, anchors and aliases are errors
// that name line and column.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "settings/settings.h"

namespace gneiss::settings {

/// Where a value came from; a later one replaces an earlier one.
enum class Origin : std::uint8_t { kDefault, kChosen, kScript, kFile, kFlag };

using ModelArg = std::variant<std::int64_t, double, bool, std::string>;

class Config {
 public:
  /// Sets a key ("optim.lr", or "model.args.NAME" for an argument of the model). A value of higher origin stays.
  /// Errors: kUsage for an unknown key (with the nearest) or a bad value; `where` names the place, e.g. "--lr" or
  /// "run.yaml:3:5".
  void set(std::string_view key, std::string_view value, Origin origin, const std::string& where);
  /// Reads a run file over the values at hand. Errors: kUsage with file:line:column; kBadData if it cannot be read.
  void load_yaml(const std::filesystem::path& path);
  void parse_yaml(std::string_view text, const std::string& name);

  /// Takes every value that `other` was given and that may replace the one here.
  void merge(const Config& other);

  /// Takes back what was given for a key.
  void unset(std::string_view key);

  /// True if a choice, script, file or flag gave the key.
  bool is_set(std::string_view key) const;
  /// True if the key has a value, given or default.
  bool has(std::string_view key) const;
  /// The place that gave the key, "" for a default.
  std::string where(std::string_view key) const;
  Origin origin(std::string_view key) const;

  const std::string& text(std::string_view key) const;  ///< "" if unset
  std::int64_t integer(std::string_view key) const;
  double real(std::string_view key) const;
  bool flag(std::string_view key) const;
  std::optional<bool> optional_flag(std::string_view key) const;
  std::vector<std::string> list(std::string_view key) const;
  std::vector<double> reals(std::string_view key) const;

  /// Every argument for the model that was given: the rows of the table's model group by their own names, then
  /// model.args.
  std::vector<std::pair<std::string, ModelArg>> model_args() const;

  /// What the run file says, even where a flag replaces it; "" if it does not name the key.
  std::string file_text(std::string_view key) const;
  /// The run file that was read, empty if none.
  const std::filesystem::path& file() const { return file_; }

  /// All values, given and default, as a run file that load_yaml reads back to the same settings.
  std::string to_yaml() const;
  /// {"optim.lr": 0.01, …}: every key that has a value.
  std::map<std::string, std::string> values() const;

 private:
  struct Entry {
    std::string value;
    Origin origin = Origin::kDefault;
    std::string where;
  };
  const Entry* find(std::string_view key) const;

  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::string, std::string, std::less<>> file_values_;
  std::filesystem::path file_;
};

/// A model argument as its text suggests: true/false, whole number, number, else text.
ModelArg guess_arg(std::string_view text);
std::string arg_text(const ModelArg& arg);

}  // namespace gneiss::settings
