// Values are kept as checked text with their origin. A value replaces those of origins that rank no higher: default,
// script, file, flag. Typed access parses the text.
#include "settings/config.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/names.h"
#include "base/visible.h"

namespace gneiss::settings {
namespace {

constexpr std::string_view kArgPrefix = "model.args.";

const Setting& setting_of(std::string_view key) {
  const Setting* setting = find_setting(key);
  GNEISS_ASSERT(setting != nullptr, "no setting is called '{}'", key);
  return *setting;
}

bool is_identifier(std::string_view name) {
  if (name.empty() || name.size() > 100 || (name[0] >= '0' && name[0] <= '9')) return false;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && !(c >= '0' && c <= '9')) return false;
  }
  return true;
}

/// A YAML scalar that reads back as the same text.
std::string yaml_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string yaml_value(const Setting& setting, const std::string& value) {
  if (setting.type == SettingType::kText || setting.type == SettingType::kChoice) return yaml_text(value);
  if (setting.type == SettingType::kRealList) return "[" + value + "]";
  if (setting.type != SettingType::kTextList) return value;
  std::vector<std::string> items = split_list(value);
  for (std::string& item : items) item = yaml_text(item);
  return "[" + join(items, ", ") + "]";
}

ModelArg typed_arg(const Setting& setting, const std::string& value) {
  switch (setting.type) {
    case SettingType::kInteger:
      return static_cast<std::int64_t>(std::stoll(value));
    case SettingType::kReal:
      return std::stod(value);
    case SettingType::kBool:
      return value == "true";
    default:
      return value;
  }
}

}  // namespace

void Config::set(std::string_view key, std::string_view value, Origin origin, const std::string& where) {
  std::string checked;
  if (key.substr(0, kArgPrefix.size()) == kArgPrefix) {
    const std::string_view name = key.substr(kArgPrefix.size());
    if (!is_identifier(name)) {
      throw Error(ErrorCode::kUsage, fmt::format("'{}' is no name of a model argument", visible(name)), where,
                  "names are letters, digits and '_'");
    }
    const std::string row = "model." + std::string(name);
    if (find_setting(row) != nullptr && row != "model.name") return set(row, value, origin, where);
    checked = value;
  } else {
    const Setting* setting = find_setting(key);
    if (setting == nullptr) {
      const std::string nearest = nearest_name(key, setting_keys());
      throw Error(ErrorCode::kUsage, fmt::format("unknown setting '{}'", visible(key)), where,
                  nearest.empty() ? "docs/cli.md lists all settings" : fmt::format("did you mean '{}'?", nearest));
    }
    if (setting->key != key) return set(setting->key, value, origin, where);
    checked = check_value(*setting, value, where);
  }
  if (origin == Origin::kFile) file_values_[std::string(key)] = checked;
  Entry& entry = entries_[std::string(key)];
  if (entry.origin > origin) return;
  entry = {std::move(checked), origin, where};
}

void Config::merge(const Config& other) {
  for (const auto& [key, entry] : other.entries_) set(key, entry.value, entry.origin, entry.where);
}

void Config::unset(std::string_view key) {
  if (const auto found = entries_.find(key); found != entries_.end()) entries_.erase(found);
  if (const auto found = file_values_.find(key); found != file_values_.end()) file_values_.erase(found);
}

const Config::Entry* Config::find(std::string_view key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

bool Config::is_set(std::string_view key) const { return find(key) != nullptr; }

bool Config::has(std::string_view key) const { return !text(key).empty(); }

std::string Config::where(std::string_view key) const {
  const Entry* entry = find(key);
  return entry == nullptr ? "" : entry->where;
}

Origin Config::origin(std::string_view key) const {
  const Entry* entry = find(key);
  return entry == nullptr ? Origin::kDefault : entry->origin;
}

std::string Config::file_text(std::string_view key) const {
  const auto found = file_values_.find(key);
  return found == file_values_.end() ? "" : found->second;
}

const std::string& Config::text(std::string_view key) const {
  const Entry* entry = find(key);
  return entry == nullptr ? setting_of(key).initial : entry->value;
}

std::int64_t Config::integer(std::string_view key) const { return has(key) ? std::stoll(text(key)) : 0; }

double Config::real(std::string_view key) const {
  double value = 0;
  parse_real(text(key), &value);
  return value;
}

bool Config::flag(std::string_view key) const { return text(key) == "true"; }

std::optional<bool> Config::optional_flag(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  return flag(key);
}

std::vector<std::string> Config::list(std::string_view key) const { return split_list(text(key)); }

std::vector<double> Config::reals(std::string_view key) const {
  std::vector<double> values;
  for (const std::string& item : list(key)) {
    double value = 0;
    if (!parse_real(item, &value)) {
      throw Error(ErrorCode::kUsage, fmt::format("{}: expected a list of numbers, got '{}'", key, item), where(key));
    }
    values.push_back(value);
  }
  return values;
}

std::vector<std::pair<std::string, ModelArg>> Config::model_args() const {
  std::vector<std::pair<std::string, ModelArg>> args;
  for (const Setting& setting : settings()) {
    const bool of_model = setting.key.rfind("model.", 0) == 0 && setting.key != "model.name";
    if (of_model && is_set(setting.key))
      args.emplace_back(setting.key.substr(6), typed_arg(setting, text(setting.key)));
  }
  for (const auto& [key, entry] : entries_) {
    if (key.rfind(kArgPrefix, 0) == 0) args.emplace_back(key.substr(kArgPrefix.size()), guess_arg(entry.value));
  }
  return args;
}

std::string Config::to_yaml() const {
  std::string yaml = "# Settings of a Gneiss run. `gneiss train THIS_FILE` repeats it.\n";
  std::string group;
  const auto add_args = [&] {
    std::string args;
    for (const auto& [key, entry] : entries_) {
      if (key.rfind(kArgPrefix, 0) != 0) continue;
      const bool is_text = std::holds_alternative<std::string>(guess_arg(entry.value));
      args +=
          fmt::format("    {}: {}\n", key.substr(kArgPrefix.size()), is_text ? yaml_text(entry.value) : entry.value);
    }
    if (!args.empty()) yaml += "  args:\n" + args;
  };
  for (const Setting& setting : settings()) {
    const std::size_t dot = setting.key.find('.');
    if (setting.key.substr(0, dot) != group) {
      if (group == "model") add_args();
      group = setting.key.substr(0, dot);
      yaml += group + ":\n";
    }
    const std::string& value = text(setting.key);
    // Where a run was written is not how to repeat it.
    if (value.empty() || setting.key == "out.folder" || setting.key == "out.force") continue;
    yaml += fmt::format("  {}: {}\n", setting.key.substr(dot + 1), yaml_value(setting, value));
  }
  return yaml;
}

std::map<std::string, std::string> Config::values() const {
  std::map<std::string, std::string> all;
  for (const Setting& setting : settings()) {
    if (has(setting.key)) all[setting.key] = text(setting.key);
  }
  for (const auto& [key, entry] : entries_) all[key] = entry.value;
  return all;
}

ModelArg guess_arg(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  long long integer = 0;
  if (parse_integer(text, &integer)) return static_cast<std::int64_t>(integer);
  double real = 0;
  if (parse_real(text, &real)) return real;
  return std::string(text);
}

std::string arg_text(const ModelArg& arg) {
  if (const auto* integer = std::get_if<std::int64_t>(&arg)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&arg)) return fmt::format("{}", *real);
  if (const auto* flag = std::get_if<bool>(&arg)) return *flag ? "true" : "false";
  return std::get<std::string>(arg);
}

}  // namespace gneiss::settings
