// The settings of a run.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gneiss/settings.h"

namespace gneiss {

/// One setting: its key in run files, its flag on the command line, and what it means.
struct SettingInfo {
  std::string key;   ///< "optim.lr"
  std::string flag;  ///< "lr", without dashes
  std::vector<std::string> aliases;
  bool is_switch = false;  ///< true or false: --FLAG and --no-FLAG
  std::string expected;    ///< "a number of at least 0"
  std::string initial;     ///< default; empty = unset
  std::string unset;       ///< what unset means
  std::string help;
};

/// All settings, grouped by the part of the key before the dot.
const std::vector<SettingInfo>& list_settings();
/// The settings as Markdown tables, for the documentation.
std::string settings_markdown();
/// The rule for values that nobody gave, as Markdown: what built-in models take where labels are scarce and where not.
std::string defaults_markdown();

/// The candidate nearest to a misspelt name, or "" when none is near.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

/// What an option of other programs ("--num-workers", "--gpu") is here, as a sentence for people; "" if it is nobody's
/// habit. `known` are the options at hand, with dashes: no other one is proposed.
std::string habit_of_option(std::string_view option, const std::vector<std::string>& known);

/// Settings with defaults, a run file's values over them, and values set one by one over those.
class RunConfig {
 public:
  RunConfig();
  RunConfig(const RunConfig& other);
  RunConfig& operator=(const RunConfig& other);
  RunConfig(RunConfig&& other) noexcept;
  RunConfig& operator=(RunConfig&& other) noexcept;
  ~RunConfig();

  /// Reads a run file (YAML). Values given by set() stay. Errors: kUsage with file:line:column; kBadData if unreadable.
  void load_yaml(const std::string& path);
  /// Sets one value: config.set(keys::lr, 0.01). What is no value of the setting does not compile. Errors: kUsage for a
  /// number out of its range.
  template <class T, ValueOf<T> V>
  void set(const Setting<T>& setting, const V& value) {
    set(setting.key, setting_text(value));
  }
  /// Sets a list: config.set(keys::betas, {0.9, 0.999}).
  template <class T>
  void set(const Setting<std::vector<T>>& setting, const std::type_identity_t<std::vector<T>>& values) {
    set(setting.key, setting_text(values));
  }
  /// Sets an argument of the model by its name: a truth, a number or a text. The model says whether it has one.
  template <class V>
  requires(ValueOf<V, bool> || ValueOf<V, double> || ValueOf<V, std::string>) void set_argument(std::string_view name,
                                                                                                const V& value) {
    set("model.args." + std::string(name), setting_text(value));
  }
  /// Sets one value as text, for words of files and commands; `key` is a setting's key or "model.args.NAME" for an
  /// argument of the model; `where` is named in errors ("--lr"). Errors: kUsage for an unknown key, with the nearest,
  /// or a bad value.
  void set(std::string_view key, std::string_view value, const std::string& where = {});
  /// The value of a key, given or default; "" if unset.
  std::string get(std::string_view key) const;
  /// Every key that has a value.
  std::map<std::string, std::string> values() const;
  /// All of it as a run file.
  std::string to_yaml() const;

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace gneiss
