// Specs of generators: "name:key=value,…" with strict keys.
#include "data/generate.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/names.h"
#include "base/parallel.h"
#include "base/process.h"

namespace gneiss::data {
namespace {

[[noreturn]] void fail(const std::string& where, const std::string& message, const std::string& hint = {}) {
  throw Error(ErrorCode::kUsage, message, where, hint);
}

/// A parsed spec; every key must be asked for before done().
class Spec {
 public:
  explicit Spec(const std::string& text) : text_(text) {
    const std::size_t colon = text.find(':');
    name = text.substr(0, colon);
    std::string_view rest = colon == std::string::npos ? std::string_view() : std::string_view(text_).substr(colon + 1);
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view item = rest.substr(0, comma);
      const std::size_t equals = item.find('=');
      if (equals == std::string_view::npos || equals == 0)
        fail(text_, fmt::format("expected key=value, got '{}'", item));
      const std::string key(item.substr(0, equals));
      if (!values_.emplace(key, item.substr(equals + 1)).second) fail(text_, fmt::format("'{}' is given twice", key));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }

  template <class T>
  bool number(const char* key, T* out) {
    known_.emplace_back(key);
    const auto found = values_.find(key);
    if (found == values_.end()) return false;
    const std::string& value = found->second;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), *out);
    bool good = error == std::errc{} && end == value.data() + value.size();
    if constexpr (std::is_floating_point_v<T>) good = good && std::isfinite(*out);
    if (!good)
      fail(text_, fmt::format("{}: expected a {}, got '{}'", key,
                              std::is_floating_point_v<T> ? "number" : "whole number", value));
    return true;
  }
  void flag(const char* key, bool* out) {
    known_.emplace_back(key);
    const auto found = values_.find(key);
    if (found == values_.end()) return;
    const std::string& value = found->second;
    if (value != "0" && value != "1" && value != "true" && value != "false")
      fail(text_, fmt::format("{}: expected true or false, got '{}'", key, value));
    *out = value == "1" || value == "true";
  }
  void done() const {
    for (const auto& [key, value] : values_) {
      if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
        fail(text_, fmt::format("{} has no option '{}'", name, key), unknown_name_hint(key, known_));
      }
    }
  }

  std::string name;

 private:
  std::string text_;
  std::map<std::string, std::string> values_;
  std::vector<std::string> known_;
};

Generated dcsbm_from(Spec* spec, DcsbmOptions o) {
  const bool sized = spec->number("nodes", &o.nodes);
  const bool edges = spec->number("edges", &o.edges);
  if (spec->number("degree", &o.degree)) {
    if (edges) fail(spec->name, "give either edges or degree");
    o.edges = 0;
  } else if (sized && !edges && o.edges > 0) {
    fail(spec->name, "nodes without edges: use scale=, which scales both");
  }
  spec->number("classes", &o.classes);
  spec->number("features", &o.features);
  spec->number("density", &o.density);
  spec->number("homophily", &o.homophily);
  const bool power = spec->number("power", &o.power);
  if (spec->number("top", &o.top) && power) fail(spec->name, "give either power or top");
  if (power) o.top = 0;
  spec->number("signal", &o.signal);
  const bool train = spec->number("train", &o.train);
  const bool val = spec->number("val", &o.val);
  if (!spec->number("test", &o.test) && (train || val)) o.test = std::max(0.0, 1 - o.train - o.val);
  spec->number("spread", &o.spread);
  spec->number("seed", &o.how.seed);
  spec->flag("multilabel", &o.multilabel);
  spec->flag("directed", &o.directed);
  double scale = 1;
  if (spec->number("scale", &scale)) {
    if (!(scale > 0 && scale <= 1)) fail(spec->name, fmt::format("scale = {} is outside 0..1", scale));
    o.nodes = std::max<std::int64_t>(o.classes, std::llround(static_cast<double>(o.nodes) * scale));
    o.edges = std::llround(static_cast<double>(o.edges) * scale);
  }
  spec->done();
  return generate_dcsbm(o);
}

Generated rmat_from(Spec* spec, RmatOptions o) {
  spec->number("scale", &o.scale);
  spec->number("edge_factor", &o.edge_factor);
  spec->number("a", &o.a);
  spec->number("b", &o.b);
  spec->number("c", &o.c);
  spec->flag("directed", &o.directed);
  spec->number("features", &o.features);
  spec->number("classes", &o.classes);
  spec->number("seed", &o.how.seed);
  spec->done();
  return generate_rmat(o);
}

}  // namespace

std::vector<std::string> generator_names() {
  std::vector<std::string> names = {"karate", "dcsbm", "rmat"};
  for (const Preset& preset : presets()) names.push_back(preset.name);
  return names;
}

bool is_generator(const std::string& what) {
  const std::vector<std::string> names = generator_names();
  return std::find(names.begin(), names.end(), what.substr(0, what.find(':'))) != names.end();
}

Dataset with_features(Generated made, int threads) {
  Features& features = made.dataset.features;
  constexpr std::int64_t kGrain = 1 << 10;
  if (made.fill_rows) {
    features.dense = Buffer<float>(static_cast<std::size_t>(features.rows * features.cols));
    parallel_chunks(threads, features.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
      made.fill_rows(begin, end, features.dense.data() + begin * features.cols);
    });
  }
  if (made.fill_columns) {
    features.indices = Buffer<NodeId>(static_cast<std::size_t>(features.offsets[features.offsets.size() - 1]));
    features.values = Buffer<float>(features.indices.size());
    std::fill(features.values.begin(), features.values.end(), 1.0F);
    // A chunk has a table as wide as the features.
    parallel_chunks(threads, features.rows, std::max(kGrain, features.cols / 8),
                    [&](std::int64_t begin, std::int64_t end) {
                      made.fill_columns(begin, end, features.offsets,
                                        features.indices.data() + features.offsets[static_cast<std::size_t>(begin)]);
                    });
  }
  return std::move(made.dataset);
}

std::int64_t streamed_room(const StreamedSize& size, std::int64_t max_bytes, int threads) {
  constexpr std::int64_t kMiB = 1 << 20;
  constexpr std::int64_t kBuffers = 28 * kMiB;  // of files on the way, and what code of the rest is still to come
  constexpr std::int64_t kOfThread = 2 * kMiB;  // stacks and histograms
  constexpr std::int64_t kMostWindows = 64;     // each draws all edges anew
  const std::int64_t least = std::max(4 * kMiB, size.edges * static_cast<std::int64_t>(sizeof(NodeId)) / kMostWindows);
  const std::int64_t taken =
      current_rss_bytes() + kBuffers + kOfThread * threads + size.of_node * size.nodes + size.of_features;
  const std::int64_t limit = max_bytes > 0 ? max_bytes : memory_limit_bytes();
  if (limit - taken >= least) return limit - taken;
  const std::int64_t enough = ((taken + least) / kMiB + 2) * kMiB;
  throw Error(
      ErrorCode::kOutOfMemory,
      fmt::format("--mem {}: to write {} takes {} bytes, with edges and features in files", limit, size.name, enough),
      size.name, "allow more, or make it smaller, for example with scale=0.1: what is needed grows with nodes");
}

Generated generate_without_features(const std::string& text, const GenerateOptions& how) {
  Spec spec(text);
  if (spec.name == "karate") {
    spec.done();
    return {generate_karate(), {}, {}};
  }
  if (spec.name == "rmat") return rmat_from(&spec, {.how = how});
  DcsbmOptions options;
  bool known = spec.name == "dcsbm";
  for (const Preset& preset : presets()) {
    if (preset.name != spec.name) continue;
    options = preset.options;
    known = true;
  }
  if (!known)
    fail(text, fmt::format("unknown generator '{}'", spec.name), unknown_name_hint(spec.name, generator_names()));
  options.how = how;
  return dcsbm_from(&spec, options);
}

Dataset generate(const std::string& text, std::uint64_t seed, int threads, std::int64_t max_bytes) {
  return with_features(generate_without_features(text, {.seed = seed, .threads = threads, .max_bytes = max_bytes}),
                       threads);
}

}  // namespace gneiss::data
