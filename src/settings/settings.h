// The table of all settings of a run.
//
// One row holds a setting's key in run files, its flag, type, default, range and help text. The run-file reader, the
// command-line options, `gneiss train --help` and the option list in docs/cli.md are all made from these rows, so they
// cannot diverge.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace gneiss::settings {

enum class SettingType { kBool, kInteger, kReal, kBytes, kText, kChoice, kTextList, kRealList };

struct Setting {
  std::string key;   ///< "optim.lr": group and name in a run file
  std::string flag;  ///< "lr": --lr; --no-NAME too for booleans; '_' may stand for '-'
  SettingType type = SettingType::kText;
  std::string initial = {};  ///< default as text; empty = unset: the model's, format's or task's own
  std::string help = {};
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};
  std::vector<std::string> aliases = {};  ///< further flags
  std::string unset = {};                 ///< what an unset value means, for help: "the model's own"
  std::string former_key = {};            ///< an older key that run files may still have
};

/// All rows, grouped by the part of the key before the dot, in the order in which help lists them.
const std::vector<Setting>& settings();
/// The row with this key, or which had it in an older version; or null.
const Setting* find_setting(std::string_view key);
std::vector<std::string> setting_keys();
/// "a number", "one of a, b" …: what a value must be, for messages and help.
std::string expected_value(const Setting& setting);
/// Checks a value and returns it in canonical form ("yes" -> "true", "32G" -> "34359738368"). Errors: kUsage naming
/// `where`.
std::string check_value(const Setting& setting, std::string_view text, const std::string& where);

/// The option list of docs/cli.md: one table per group.
std::string settings_markdown();

/// Splits at commas, trims, keeps no empty item.
std::vector<std::string> split_list(std::string_view text);
/// The whole of `text` as a finite number; false if it is none.
bool parse_real(std::string_view text, double* value);
bool parse_integer(std::string_view text, long long* value);

}  // namespace gneiss::settings
