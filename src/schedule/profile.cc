// Profiles as JSON files, and the bound that follows from one. A file names every field that it needs; a field that
// nobody knows is refused, for it is a misspelt one.
#include "schedule/profile.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/names.h"
#include "schedule/machine.h"

namespace gneiss::schedule {
namespace {

constexpr double kMostMs = 1e9;
constexpr double kMostCount = 1e15;

/// A field of a profile file that is a number.
struct Field {
  const char* key;
  double least;
  double most;
  bool whole;
  bool required;
  std::function<double(const Profile&)> get;
  std::function<void(Profile*, double)> set;
};

Field time_field(const char* key, Nanoseconds StageTimes::*member) {
  return {key,
          0,
          kMostMs,
          false,
          true,
          [member](const Profile& p) { return to_ms(p.times.*member); },
          [member](Profile* p, double v) { p->times.*member = from_ms(v); }};
}

template <class T>
Field field(const char* key, double least, double most, bool required, T Profile::*member) {
  return {key,
          least,
          most,
          std::is_integral_v<T>,
          required,
          [member](const Profile& p) { return static_cast<double>(p.*member); },
          [member](Profile* p, double v) { p->*member = static_cast<T>(v); }};
}

const std::vector<Field>& fields() {
  static const std::vector<Field> list = {
      field("batches", 0, kMostCount, false, &Profile::batches),
      field("workers", 1, 4096, true, &Profile::workers),
      time_field("cpu_batch_ms", &StageTimes::cpu_batch),
      time_field("device_batch_ms", &StageTimes::device_batch),
      time_field("dma_ms", &StageTimes::dma),
      time_field("uva_ms", &StageTimes::uva),
      time_field("train_ms", &StageTimes::train),
      field("uva_link_share", 0, 1, false, &Profile::uva_link_share),
      field("uva_device_share", 0, 1, false, &Profile::uva_device_share),
      field("dma_bytes", 0, kMostCount, false, &Profile::dma_bytes),
      field("uva_bytes", 0, kMostCount, false, &Profile::uva_bytes),
      field("variation", 0, 1, false, &Profile::variation),
      field("published_seconds", 0, kMostMs, false, &Profile::published_seconds),
  };
  return list;
}

std::vector<std::string> field_names() {
  std::vector<std::string> names = {"name"};
  for (const Field& known : fields()) names.emplace_back(known.key);
  return names;
}

[[noreturn]] void refuse(const std::string& where, const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::kBadData, message, where, hint);
}

void read_field(const Field& known, const Json& value, const std::string& where, Profile* profile) {
  const std::string what =
      fmt::format("a {}number from {} to {}", known.whole ? "whole " : "", known.least, known.most);
  if (!value.is_number())
    refuse(where, fmt::format("field '{}': expected {}, got {}", known.key, what, value.dump()),
           "write it as a number");
  const double number = value.real();
  const bool fits = number >= known.least && number <= known.most && (!known.whole || number == std::floor(number));
  if (!fits)
    refuse(where, fmt::format("field '{}': expected {}, got {}", known.key, what, value.dump()),
           "times are milliseconds for one batch, shares are parts of one");
  known.set(profile, number);
}

}  // namespace

Nanoseconds from_ms(double milliseconds) { return static_cast<Nanoseconds>(std::llround(milliseconds * 1e6)); }
double to_ms(Nanoseconds time) { return static_cast<double>(time) * 1e-6; }
double to_seconds(Nanoseconds time) { return static_cast<double>(time) * 1e-9; }

Profile parse_profile(std::string_view text, const std::string& where) {
  const Json json = Json::parse(text, where, 4);
  if (!json.is_object()) refuse(where, "expected an object with the fields of a profile", "docs/batches.md lists them");
  Profile profile;
  std::vector<std::string> seen;
  for (const Json::Member& member : json.members()) {
    seen.push_back(member.key);
    if (member.key == "name") {
      if (!member.value.is_text()) refuse(where, "field 'name': expected a text, got " + member.value.dump(), "");
      profile.name = member.value.text();
      continue;
    }
    const auto known =
        std::ranges::find_if(fields(), [&](const Field& candidate) { return member.key == candidate.key; });
    if (known == fields().end())
      refuse(where, fmt::format("a profile has no field '{}'", member.key),
             unknown_name_hint(member.key, field_names()));
    read_field(*known, member.value, where, &profile);
  }
  for (const Field& known : fields()) {
    if (known.required && std::ranges::find(seen, known.key) == seen.end())
      refuse(where, fmt::format("the profile has no field '{}'", known.key),
             "add it; docs/batches.md says what each field is");
  }
  if (profile.name.empty()) profile.name = where;
  return profile;
}

std::string to_json(const Profile& profile) {
  Json json = Json::object();
  json["name"] = profile.name;
  for (const Field& known : fields()) {
    const double value = known.get(profile);
    if (known.whole) {
      json[known.key] = static_cast<std::int64_t>(value);
    } else {
      json[known.key] = value;
    }
  }
  return json.dump(2) + "\n";
}

Profile find_profile(const std::string& name_or_path) {
  std::vector<std::string> names;
  for (const Machine& machine : machines()) names.emplace_back(machine.name);
  for (const Profile& profile : named_profiles()) {
    if (profile.name == name_or_path) return profile;
    names.push_back(profile.name);
  }
  if (find_machine(name_or_path) != nullptr) {
    throw Error(ErrorCode::kUsage,
                fmt::format("'{}' is a machine by its rates: its stage times follow from batches", name_or_path),
                "--device",
                fmt::format("train on it, e.g. gneiss train DATA --batch-size 1024 --device sim:{}", name_or_path));
  }
  if (std::filesystem::exists(name_or_path)) return parse_profile(read_file(name_or_path, 1 << 20), name_or_path);
  throw Error(ErrorCode::kUsage, fmt::format("there is neither a profile nor a file '{}'", name_or_path), "--device",
              unknown_name_hint(name_or_path, names));
}

Nanoseconds lower_bound(const Profile& profile, std::int64_t batches, std::int64_t* cpu_batches) {
  const StageTimes& times = profile.times;
  const auto cost = [&](std::int64_t cpu) {
    const auto c = static_cast<double>(cpu);
    const auto route1 = static_cast<double>(batches - cpu) * static_cast<double>(times.route1());
    const double busiest = std::max(
        {c * static_cast<double>(times.cpu_batch), c * static_cast<double>(times.dma) + profile.uva_link_share * route1,
         profile.uva_device_share * route1 + static_cast<double>(batches) * static_cast<double>(times.train), route1});
    return static_cast<Nanoseconds>(busiest);
  };
  Nanoseconds least = std::numeric_limits<Nanoseconds>::max();
  for (std::int64_t cpu = 0; cpu <= batches; ++cpu) {
    const Nanoseconds at = cost(cpu);
    if (at >= least) continue;
    least = at;
    if (cpu_batches != nullptr) *cpu_batches = cpu;
  }
  return least;
}

}  // namespace gneiss::schedule
