// What is done with the table of settings: rows are found, values are checked against them, and the page in docs/ is
// made of them. The rows stand in table_of_*.cc.
#include "settings/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/names.h"
#include "base/visible.h"
#include "settings/habits.h"
#include "settings/table.h"

namespace gneiss::settings {
namespace {

using enum SettingType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
std::vector<Setting> all_settings() {
  std::vector<Setting> all;
  for (auto* part : {data_settings, model_settings, loss_settings, optimizer_settings, schedule_settings,
                     train_settings, batch_settings, device_settings, output_settings}) {
    for (Setting& setting : part()) all.push_back(std::move(setting));
  }
  return all;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// "32G", "32GB" or "32GiB" as bytes, all of them times 2^30; false if it is no size.
bool parse_bytes(std::string_view text, double* value) {
  if (text.ends_with('B')) text.remove_suffix(1);
  const bool binary = text.ends_with('i');
  if (binary) text.remove_suffix(1);
  double unit = 1;
  const std::size_t at = text.empty() ? std::string_view::npos : std::string_view("KMGT").find(text.back() & ~0x20);
  if (at != std::string_view::npos) {
    unit = std::pow(1024.0, static_cast<double>(at + 1));
    text.remove_suffix(1);
  } else if (binary) {
    return false;
  }
  if (!parse_real(text, value)) return false;
  *value = std::floor(*value * unit);
  return *value < 9.0e18;
}

[[noreturn]] void fail(const Setting& setting, std::string_view text, const std::string& where) {
  std::string hint = fmt::format("'{}' means: {}", setting.key, setting.help);
  if (!setting.choices.empty()) {
    const std::string nearest = nearest_name(text, setting.choices);
    if (!nearest.empty()) hint = fmt::format("did you mean '{}'?", nearest);
  }
  if (const std::string habit = value_habit(setting.key, text); !habit.empty()) hint = habit;
  throw Error(ErrorCode::kUsage,
              fmt::format("{}: expected {}, got '{}'", setting.key, expected_value(setting), visible(text)), where,
              hint);
}

bool in_range(const Setting& setting, double value) { return value >= setting.least && value <= setting.most; }

std::string bound(double value) { return fmt::format("{:g}", value); }

}  // namespace

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = all_settings();
  return all;
}

const Setting* find_setting(std::string_view key) {
  const auto& all = settings();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Setting& s) {
    return s.key == key || (!s.former_key.empty() && s.former_key == key);
  });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> setting_keys() {
  std::vector<std::string> keys;
  for (const Setting& setting : settings()) keys.push_back(setting.key);
  return keys;
}

std::string expected_value(const Setting& setting) {
  std::string range;
  if (setting.least != -kInfinity && setting.most != kInfinity) {
    range = fmt::format(" from {} to {}", bound(setting.least), bound(setting.most));
  } else if (setting.least != -kInfinity) {
    range = fmt::format(" of at least {}", bound(setting.least));
  }
  switch (setting.type) {
    case kBool:
      return "true or false";
    case kInteger:
      return "a whole number" + range;
    case kReal:
      return "a number" + range;
    case kBytes:
      return "a number of bytes";
    case kChoice:
      return "one of " + join(setting.choices, ", ");
    case kRealList:
      return "a list of numbers" + range;
    case kTextList:
      return "a list";
    case kText:
      break;
  }
  return "a text";
}

std::string check_value(const Setting& setting, std::string_view raw, const std::string& where) {
  const std::string_view text = trim(raw);
  double real = 0;
  long long integer = 0;
  switch (setting.type) {
    case kBool:
      for (const std::string_view yes : {"true", "yes", "on", "1"}) {
        if (lower(text) == yes) return "true";
      }
      for (const std::string_view no : {"false", "no", "off", "0"}) {
        if (lower(text) == no) return "false";
      }
      fail(setting, text, where);
    case kInteger:
      if (!parse_integer(text, &integer) || !in_range(setting, static_cast<double>(integer)))
        fail(setting, text, where);
      return std::to_string(integer);
    case kReal:
      if (!parse_real(text, &real) || !in_range(setting, real)) fail(setting, text, where);
      return fmt::format("{}", real);
    case kBytes:
      if (!parse_bytes(text, &real) || !in_range(setting, real)) fail(setting, text, where);
      return fmt::format("{:.0f}", real);
    case kChoice:
      if (std::find(setting.choices.begin(), setting.choices.end(), text) == setting.choices.end())
        fail(setting, text, where);
      return std::string(text);
    case kRealList:
      for (const std::string& item : split_list(text)) {
        if (!parse_real(item, &real) || !in_range(setting, real)) fail(setting, text, where);
      }
      return join(split_list(text), ",");
    case kTextList:
      return join(split_list(text), ",");
    case kText:
      if (text.empty()) fail(setting, text, where);
      return std::string(text);
  }
  return std::string(text);
}

std::string settings_markdown() {
  std::string text;
  std::string group;
  for (const Setting& setting : settings()) {
    const std::string this_group = setting.key.substr(0, setting.key.find('.'));
    if (this_group != group) {
      group = this_group;
      text += fmt::format("\n### {}\n\n| flag | in a run file | value | default | meaning |\n|---|---|---|---|---|\n",
                          group);
    }
    std::string flags = fmt::format("`--{}`", setting.flag);
    if (setting.type == kBool) flags += fmt::format(" `--no-{}`", setting.flag);
    for (const std::string& alias : setting.aliases) flags += fmt::format(" `--{}`", alias);
    text += fmt::format("| {} | `{}` | {} | {} | {} |\n", flags, setting.key, expected_value(setting),
                        setting.initial.empty() ? setting.unset : "`" + setting.initial + "`", setting.help);
  }
  return text;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = trim(text.substr(0, comma));
    if (!item.empty()) items.emplace_back(item);
    text.remove_prefix(std::min(text.size(), comma + 1));
  }
  return items;
}

bool parse_real(std::string_view text, double* value) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(*value);
}

bool parse_integer(std::string_view text, long long* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace gneiss::settings
