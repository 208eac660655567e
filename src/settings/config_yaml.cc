// Reading run files: YAML events of yaml-cpp, taken strictly into the settings.
//
//   data: planetoid_cora          # a group's `name` may stand for the group
//   model: {name: gcn, hidden_channels: 16, args: {input_dropout: 0.5}}
//   optim:
//     lr: 0.01
//
// Events instead of yaml-cpp's tree: a tree hides keys given twice, expands aliases, and is built before a limit can
// act.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/names.h"
#include "base/visible.h"
#include "settings/config.h"
#include "settings/habits.h"

namespace gneiss::settings {
namespace {

constexpr std::uint64_t kMaxBytes = 1 << 20;
constexpr std::size_t kMaxDepth = 3;  // file, group, model.args or a list

std::string place(const std::string& name, const YAML::Mark& mark) {
  return fmt::format("{}:{}:{}", name, mark.line + 1, mark.column + 1);
}

/// The line and column of a byte.
std::string place_at(std::string_view text, std::size_t at, const std::string& name) {
  const std::string_view before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("{}:{}:{}", name, line + 1, at - start + 1);
}

/// YAML takes no tabs where it counts blanks; its own message names another place.
void refuse_tabs(std::string_view text, const std::string& name) {
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = text.substr(start, end - start);
    const std::size_t first = std::min(line.find_first_not_of(" \t\r"), line.size());
    const std::size_t tab = line.find('\t');
    if (tab < first && first < line.size() && line[first] != '#')
      throw Error(ErrorCode::kUsage, "a tab stands before the first word of the line",
                  place_at(text, start + tab, name), "YAML takes blanks there: two for each level");
    start = end + 1;
  }
}

/// Collects one document: a map of groups.
class Reader : public YAML::EventHandler {
 public:
  Reader(std::string name, Config* config) : name_(std::move(name)), config_(config) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_) fail(mark, "a second document begins here", "a run file is one document; remove the '---'");
    started_ = true;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (levels_.empty()) return;  // an empty file sets nothing
    refuse_anchor(mark, anchor);
    if (levels_.back().is_map && !levels_.back().has_key)
      fail(mark, "a key is missing before ':'", "write it as key: value");
    if (levels_.size() == 1 && is_group(levels_.back().key)) {
      levels_.back().has_key = false;  // `optim:` with nothing under it
      return;
    }
    const YAML::Mark at = levels_.back().is_map ? levels_.back().key_mark : mark;
    fail(at, fmt::format("'{}' has no value", path()), "give it a value or remove the line");
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(mark, "an alias (*name) is not allowed here", "write the value out");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    if (levels_.empty())
      fail(mark, "expected a mapping of settings, got a single value", "write lines such as 'model: gcn'");
    Level& level = levels_.back();
    if (!level.is_map) {
      if (value.find(',') != std::string::npos)
        fail(mark, fmt::format("an item of '{}' contains a comma", path()), "write its parts as items of their own");
      level.items.push_back(value);
      return;
    }
    if (!level.has_key) return take_key(mark, value);
    level.has_key = false;
    assign(mark, value, tag == "!");
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_anchor(mark, anchor);
    if (levels_.empty() || !levels_.back().is_map || !levels_.back().has_key)
      fail(mark, "a list is not expected here", "write lines such as 'model: gcn'");
    push(mark, false);
  }
  void OnSequenceEnd() override {
    const Level list = levels_.back();
    levels_.pop_back();
    const std::string key = path();
    levels_.back().has_key = false;
    const Setting* setting = find_setting(key);
    const bool takes_list =
        setting != nullptr && (setting->type == SettingType::kTextList || setting->type == SettingType::kRealList);
    if (setting != nullptr && !takes_list) {
      fail(list.mark, fmt::format("{}: expected {}, got a list", key, expected_value(*setting)), "give one value");
    }
    config_->set(key, join(list.items, ","), Origin::kFile, place(name_, list.mark));
  }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_anchor(mark, anchor);
    if (!levels_.empty()) {
      const bool after_key = levels_.back().is_map && levels_.back().has_key;
      const std::string key = after_key ? path() : "";
      if (levels_.size() == 1 && after_key && !is_group(key)) {
        fail(mark, fmt::format("unknown group '{}'", visible(key)), unknown_name_hint(key, groups()));
      }
      if (!after_key || (levels_.size() == 2 && key != "model.args") || levels_.size() > 2) {
        fail(mark,
             after_key ? fmt::format("'{}': expected a value, got a mapping", key) : "a mapping is not expected here",
             "docs/cli.md lists all settings");
      }
    }
    push(mark, true);
  }
  void OnMapEnd() override {
    levels_.pop_back();
    if (!levels_.empty()) levels_.back().has_key = false;
  }

 private:
  struct Level {
    bool is_map = false;
    YAML::Mark mark;
    std::string key;
    YAML::Mark key_mark;
    bool has_key = false;
    std::set<std::string> seen;
    std::vector<std::string> items;
  };

  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& message, const std::string& hint) const {
    throw Error(ErrorCode::kUsage, message, place(name_, mark), hint);
  }
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != YAML::NullAnchor) fail(mark, "an anchor (&name) is not allowed here", "write the value out");
  }
  void push(const YAML::Mark& mark, bool is_map) {
    if (levels_.size() >= kMaxDepth) fail(mark, "settings are nested too deeply", "docs/cli.md lists all settings");
    levels_.push_back(
        {.is_map = is_map, .mark = mark, .key = {}, .key_mark = {}, .has_key = false, .seen = {}, .items = {}});
  }

  void take_key(const YAML::Mark& mark, const std::string& key) {
    Level& level = levels_.back();
    if (!level.seen.insert(key).second) fail(mark, fmt::format("'{}' is given twice", key), "keep one of them");
    level.key = key;
    level.key_mark = mark;
    level.has_key = true;
    if (levels_.size() == 1 && !is_group(key)) fail(mark, fmt::format("unknown key '{}'", visible(key)), key_hint(key));
    const bool has_dot = levels_.size() == 2 && key == "args" && levels_[0].key == "model";
    if (levels_.size() == 2 && !has_dot && find_setting(path()) == nullptr) {
      fail(mark, fmt::format("unknown key '{}'", visible(path())), key_hint(path()));
    }
  }

  void assign(const YAML::Mark& mark, const std::string& value, bool quoted) {
    std::string key = path();
    if (levels_.size() == 1) {
      if (find_setting(key + ".name") == nullptr)
        fail(mark, fmt::format("'{}': expected a mapping, got '{}'", key, visible(value)),
             fmt::format("write its settings below '{}:', one a line", key));
      key += ".name";
    }
    const Setting* setting = find_setting(key);
    if (key == "model.args")
      fail(mark, "model.args: expected a mapping of names to values", "write args: {name: value}");
    const bool numeric = setting != nullptr && setting->type != SettingType::kText &&
                         setting->type != SettingType::kChoice && setting->type != SettingType::kTextList &&
                         setting->type != SettingType::kBytes;
    if (quoted && numeric) {
      fail(mark, fmt::format("{}: expected {}, got the text \"{}\"", key, expected_value(*setting), visible(value)),
           "remove the quotes");
    }
    config_->set(key, value, Origin::kFile, place(name_, mark));
  }

  static std::vector<std::string> groups() {
    std::vector<std::string> names;
    for (const Setting& setting : settings()) {
      std::string group = setting.key.substr(0, setting.key.find('.'));
      if (names.empty() || names.back() != group) {
        if (std::find(names.begin(), names.end(), group) == names.end()) names.push_back(std::move(group));
      }
    }
    return names;
  }
  static bool is_group(const std::string& key) {
    const auto names = groups();
    return std::find(names.begin(), names.end(), key) != names.end();
  }

  /// What a name of other programs is here: the key of the option that does the same, or why there is none.
  static std::string key_habit(const std::string& name) {
    std::vector<std::string> flags;
    for (const Setting& setting : settings()) flags.push_back("--" + setting.flag);
    const std::string habit = option_habit(name, flags);
    for (const Setting& setting : settings()) {
      if (habit.starts_with(fmt::format("did you mean '--{}'?", setting.flag)))
        return fmt::format("did you mean '{}'?", setting.key);
    }
    return habit;
  }

  /// The nearest key; a name given without or under another group is found too.
  static std::string key_hint(const std::string& key) {
    const std::string name = key.substr(key.find('.') + 1);
    for (const Setting& setting : settings()) {
      if (setting.key.substr(setting.key.find('.') + 1) == name) return fmt::format("did you mean '{}'?", setting.key);
    }
    if (const std::string habit = key_habit(name); !habit.empty()) return habit;
    std::vector<std::string> known = setting_keys();
    for (const std::string& group : groups()) known.push_back(group);
    const std::string nearest = nearest_name(key, known);
    if (!nearest.empty()) return fmt::format("did you mean '{}'?", nearest);
    std::vector<std::string> names;
    for (const Setting& setting : settings()) names.push_back(setting.key.substr(setting.key.find('.') + 1));
    const std::string nearest_short = nearest_name(name, names);
    for (const Setting& setting : settings()) {
      if (setting.key.substr(setting.key.find('.') + 1) == nearest_short)
        return fmt::format("did you mean '{}'?", setting.key);
    }
    return "groups: " + join(groups(), ", ");
  }

  std::string path() const {
    std::string text;
    for (const Level& level : levels_) {
      if (!level.is_map) break;
      if (!text.empty()) text += '.';
      text += level.key;
    }
    return text;
  }

  std::string name_;
  Config* config_;
  std::vector<Level> levels_;
  bool started_ = false;
};

}  // namespace

void Config::parse_yaml(std::string_view text, const std::string& name) {
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    throw Error(ErrorCode::kUsage, "a run file holds a zero byte; it is no text", place_at(text, zero, name),
                "a run file is YAML; docs/cli.md shows one");
  }
  refuse_tabs(text, name);
  std::istringstream stream{std::string(text)};
  Config updated = *this;  // a bad file changes nothing
  try {
    YAML::Parser parser(stream);
    Reader reader(name, &updated);
    while (parser.HandleNextDocument(reader)) {
    }
  } catch (const YAML::Exception& e) {
    throw Error(ErrorCode::kUsage, fmt::format("not YAML: {}", e.msg), place(name, e.mark),
                "a run file is YAML; docs/cli.md shows one");
  }
  *this = std::move(updated);
}

void Config::load_yaml(const std::filesystem::path& path) {
  parse_yaml(read_file(path, kMaxBytes), path.string());
  file_ = path;
}

}  // namespace gneiss::settings
