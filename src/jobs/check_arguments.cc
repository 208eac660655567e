// The language's own message for such an argument names the model's text, where the user has written nothing.
#include "jobs/check_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/names.h"
#include "base/visible.h"
#include "jobs/options.h"
#include "language/compile.h"
#include "language/habits.h"

namespace gneiss::jobs {
namespace {

/// The key that gave an argument: that of the table, or model.args.NAME.
std::string key_of(const std::string& name) {
  const std::string own = "model." + name;
  return settings::find_setting(own) != nullptr ? own : "model.args." + name;
}

[[noreturn]] void fail(const settings::Config& config, const std::string& key, const std::string& message,
                       const std::string& hint) {
  throw Error(ErrorCode::kUsage, message, config.where(key), hint);
}

bool fits(const language::ModelParameter& parameter, const settings::ModelArg& value) {
  const bool whole = std::holds_alternative<std::int64_t>(value);
  if (parameter.type == "int") return whole;
  if (parameter.type == "float") return whole || std::holds_alternative<double>(value);
  if (parameter.type == "bool") return std::holds_alternative<bool>(value);
  if (parameter.type != "string") return true;
  const auto* text = std::get_if<std::string>(&value);
  const auto& choices = parameter.choices;
  return text != nullptr && (choices.empty() || std::find(choices.begin(), choices.end(), *text) != choices.end());
}

std::string expected(const language::ModelParameter& parameter) {
  if (parameter.type == "int") return "a whole number";
  if (parameter.type == "float") return "a number";
  if (parameter.type == "bool") return "true or false";
  return parameter.choices.empty() ? "a text" : "one of " + join(parameter.choices, ", ");
}

/// What to write instead: no and off are false for a bool, "none" for a text that may be that.
std::string remedy(const language::ModelParameter& parameter, const std::string& text) {
  const bool no = text == "no" || text == "off" || text == "No" || text == "Off" || text == "false";
  const bool yes = text == "yes" || text == "on" || text == "Yes" || text == "On";
  if (parameter.type == "bool" && (no || yes)) return fmt::format("write {}", yes ? "true" : "false");
  const auto& choices = parameter.choices;
  if (no && std::find(choices.begin(), choices.end(), "none") != choices.end()) return "did you mean 'none'?";
  if (!choices.empty()) return language::choice_habit(text, choices);
  return parameter.doc.empty() ? std::string() : fmt::format("'{}' means: {}", parameter.name, parameter.doc);
}

}  // namespace

void check_arguments(const settings::Config& config) {
  const std::string model = config.text("model.name");
  const std::vector<language::ModelParameter> parameters = language::model_parameters(model_source(model));
  if (parameters.empty()) return;  // the text has mistakes, or takes nothing
  std::vector<std::string> names;
  for (const language::ModelParameter& parameter : parameters) names.push_back(parameter.name);
  for (const auto& [name, value] : config.model_args()) {
    const std::string key = key_of(name);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      fail(config, key, fmt::format("model '{}' has no argument '{}'", model, visible(name)),
           unknown_name_hint(name, names));
    const language::ModelParameter& parameter = parameters[static_cast<std::size_t>(found - names.begin())];
    const std::string text = settings::arg_text(value);
    if (!fits(parameter, value))
      fail(config, key, fmt::format("{}: expected {}, got '{}'", key, expected(parameter), visible(text)),
           remedy(parameter, text));
  }
}

}  // namespace gneiss::jobs
