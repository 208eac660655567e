// Each setting of the library becomes a flag of its type; help text and choices come from the table.
#include "options.h"

#include <fmt/format.h>

#include <algorithm>

#include "gneiss/error.h"

namespace gneiss::app {
namespace {

const char* group_title(const std::string& group) {
  if (group == "data") return "Data";
  if (group == "model") return "Model";
  if (group == "loss") return "Loss";
  if (group == "optim") return "Optimizer";
  if (group == "schedule") return "Learning-rate schedule";
  if (group == "train") return "Training";
  if (group == "batch") return "Mini-batches";
  if (group == "device") return "Device";
  if (group == "out") return "Output";
  return "Passes";
}

std::string help_text(const SettingInfo& setting) {
  const std::string rest = setting.initial.empty() ? setting.unset : setting.initial;
  return rest.empty() ? setting.help : fmt::format("{} [{}]", setting.help, rest);
}

}  // namespace

std::string flag_names(const SettingInfo& setting, const std::string& prefix) {
  std::vector<std::string> flags = {setting.flag};
  flags.insert(flags.end(), setting.aliases.begin(), setting.aliases.end());
  std::string names;
  for (const std::string& flag : flags) {
    const std::string full = prefix + flag;
    std::string underscored = full;
    std::replace(underscored.begin(), underscored.end(), '-', '_');
    names += fmt::format("{}--{}", names.empty() ? "" : ",", full);
    if (underscored != full) names += ",--" + underscored;
  }
  return names;
}

void SettingFlags::add_switch(const Command& command, const SettingInfo& setting) {
  const auto give = [this, setting](const char* value, const std::string& prefix) {
    given_.push_back({setting.key, value, "--" + prefix + setting.flag});
  };
  const std::string title = group_title(setting.key.substr(0, setting.key.find('.')));
  command.add_flag(
      flag_names(setting), [give] { give("true", ""); }, help_text(setting), title);
  // --no-x is understood but not listed for every switch.
  command.add_flag(
      flag_names(setting, "no-"), [give] { give("false", "no-"); }, "not so", "");
}

void SettingFlags::add_value(const Command& command, const SettingInfo& setting) {
  const auto give = [this, setting](const std::string& value) {
    given_.push_back({setting.key, value, "--" + setting.flag});
  };
  OptionStyle style;
  style.group = group_title(setting.key.substr(0, setting.key.find('.')));
  command.add_text(flag_names(setting), give, help_text(setting), style);
}

void SettingFlags::add_to(const Command& command, const std::vector<std::string>& groups) {
  for (const SettingInfo& setting : list_settings()) {
    const std::string group = setting.key.substr(0, setting.key.find('.'));
    const auto wanted = [&](const std::string& name) { return name == group || name == setting.key; };
    if (std::none_of(groups.begin(), groups.end(), wanted)) continue;
    if (setting.is_switch) {
      add_switch(command, setting);
    } else {
      add_value(command, setting);
    }
  }
  if (std::find(groups.begin(), groups.end(), "model") == groups.end()) return;
  OptionStyle style;
  style.group = group_title("model");
  command.add_list("--model-arg,--model_arg", &model_args_, "argument of the model as name=value; may be repeated",
                   style);
}

void SettingFlags::apply(RunConfig* config) const {
  for (const Given& given : given_) {
    const auto other = std::find_if(given_.begin(), given_.end(),
                                    [&](const Given& g) { return g.key == given.key && g.where != given.where; });
    if (other != given_.end()) {
      throw Error(ErrorCode::kUsage, fmt::format("{} and {} exclude each other", given.where, other->where),
                  given.where, "give one of them");
    }
    config->set(given.key, given.value, given.where);
  }
  for (const std::string& arg : model_args_) {
    const std::size_t equals = arg.find('=');
    if (equals == std::string::npos) {
      throw Error(ErrorCode::kUsage, fmt::format("expected name=value, got '{}'", arg), "--model-arg",
                  "write --model-arg input_dropout=0.5");
    }
    config->set("model.args." + arg.substr(0, equals), arg.substr(equals + 1), "--model-arg");
  }
}

}  // namespace gneiss::app
