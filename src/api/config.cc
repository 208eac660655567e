// RunConfig as the public headers have it, over settings::Config.
#include "gneiss/config.h"

#include "api/impl.h"
#include "base/names.h"
#include "defaults/choose_defaults.h"
#include "settings/habits.h"

namespace gneiss {
namespace {

std::vector<SettingInfo> make_settings() {
  std::vector<SettingInfo> infos;
  for (const settings::Setting& setting : settings::settings()) {
    infos.push_back({setting.key, setting.flag, setting.aliases, setting.type == settings::SettingType::kBool,
                     settings::expected_value(setting), setting.initial, setting.unset, setting.help});
  }
  return infos;
}

}  // namespace

const std::vector<SettingInfo>& list_settings() {
  static const std::vector<SettingInfo> infos = make_settings();
  return infos;
}

std::string settings_markdown() { return settings::settings_markdown(); }

std::string defaults_markdown() { return defaults::defaults_markdown(); }

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  return nearest_name(name, candidates);
}

std::string habit_of_option(std::string_view option, const std::vector<std::string>& known) {
  return settings::option_habit(option, known);
}

RunConfig::RunConfig() : impl_(std::make_unique<Impl>()) {}
RunConfig::RunConfig(const RunConfig& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
RunConfig& RunConfig::operator=(const RunConfig& other) {
  *impl_ = *other.impl_;
  return *this;
}
RunConfig::RunConfig(RunConfig&& other) noexcept = default;
RunConfig& RunConfig::operator=(RunConfig&& other) noexcept = default;
RunConfig::~RunConfig() = default;

void RunConfig::load_yaml(const std::string& path) { impl_->config.load_yaml(path); }

void RunConfig::set(std::string_view key, std::string_view value, const std::string& where) {
  impl_->config.set(key, value, settings::Origin::kFlag, where.empty() ? std::string(key) : where);
}

std::string RunConfig::get(std::string_view key) const {
  return settings::find_setting(key) == nullptr ? std::string() : impl_->config.text(key);
}

std::map<std::string, std::string> RunConfig::values() const { return impl_->config.values(); }

std::string RunConfig::to_yaml() const { return impl_->config.to_yaml(); }

}  // namespace gneiss
