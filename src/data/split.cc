// Nodes with labels are shuffled by the seed and cut by shares or by numbers a class.
#include "data/split.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/random.h"

namespace gneiss::data {
namespace {

constexpr std::uint32_t kSplitStream = 0x51711;
constexpr std::size_t kTrainPerClass = 20;
constexpr std::size_t kValPerClass = 30;
constexpr std::size_t kRandomVal = 500;
constexpr std::size_t kRandomTest = 1000;

bool labelled(const Labels& labels, std::size_t v) {
  if (labels.kind == LabelKind::kSingle) return labels.classes[v] >= 0;
  const auto width = static_cast<std::size_t>(labels.num_classes);
  for (std::size_t c = 0; c < width; ++c) {
    if (!std::isnan(labels.targets[v * width + c])) return true;
  }
  return false;
}

std::vector<NodeId> shuffled_nodes(const Labels& labels, std::int64_t num_nodes, std::uint64_t seed) {
  std::vector<NodeId> nodes;
  nodes.reserve(static_cast<std::size_t>(num_nodes));
  for (std::int64_t v = 0; v < num_nodes; ++v) {
    if (labelled(labels, static_cast<std::size_t>(v))) nodes.push_back(static_cast<NodeId>(v));
  }
  RandomStream random(seed, kSplitStream);
  for (std::size_t i = nodes.size(); i > 1; --i) std::swap(nodes[i - 1], nodes[random.below(i)]);
  return nodes;
}

void sort_parts(Split* split) {
  for (auto* part : {&split->train, &split->val, &split->test}) std::sort(part->begin(), part->end());
}

std::vector<double> parse_ratio(const std::string& spec) {
  std::vector<double> parts;
  const char* at = spec.data() + std::string("ratio:").size();
  const char* const end = spec.data() + spec.size();
  while (at < end) {
    double value = 0;
    const auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc{} || !(value >= 0) || !std::isfinite(value) || (stop != end && *stop != '/')) break;
    parts.push_back(value);
    at = stop == end ? end : stop + 1;
    if (stop == end) break;
  }
  const bool good = at == end && parts.size() == 3 && parts[0] > 0 && std::isfinite(parts[0] + parts[1] + parts[2]);
  if (!good) {
    throw Error(ErrorCode::kUsage, fmt::format("split '{}': expected ratio:TRAIN/VAL/TEST with three numbers", spec),
                {}, "for example ratio:60/20/20");
  }
  return parts;
}

Split ratio_split(const std::vector<NodeId>& nodes, const std::string& spec) {
  const std::vector<double> parts = parse_ratio(spec);
  const double total = parts[0] + parts[1] + parts[2];
  const auto size = static_cast<double>(nodes.size());
  const auto train = static_cast<std::size_t>(std::llround(size * parts[0] / total));
  const auto val_end =
      std::clamp(static_cast<std::size_t>(std::llround(size * (parts[0] + parts[1]) / total)), train, nodes.size());
  const auto at = [&](std::size_t i) { return nodes.begin() + static_cast<std::ptrdiff_t>(i); };
  return {{at(0), at(train)}, {at(train), at(val_end)}, {at(val_end), at(nodes.size())}};
}

Split per_class_split(const Labels& labels, const std::vector<NodeId>& nodes, bool random) {
  if (labels.kind != LabelKind::kSingle) {
    throw Error(ErrorCode::kUsage, "splits by class need one class per node", {}, "use --split ratio:60/20/20");
  }
  const auto classes = static_cast<std::size_t>(labels.num_classes);
  std::vector<std::size_t> size(classes, 0);
  for (const NodeId v : nodes) ++size[static_cast<std::size_t>(labels.classes[static_cast<std::size_t>(v)])];
  const auto share = [&](std::size_t c, std::size_t wanted) { return std::min(wanted, size[c] * 2 / 5); };
  std::vector<std::size_t> train_left(classes);
  std::vector<std::size_t> val_left(classes);
  for (std::size_t c = 0; c < classes; ++c) {
    train_left[c] = std::max(share(c, kTrainPerClass), std::min<std::size_t>(1, size[c]));
    val_left[c] = random ? 0 : share(c, kValPerClass);
  }
  Split split;
  std::vector<NodeId> rest;
  for (const NodeId v : nodes) {
    const auto c = static_cast<std::size_t>(labels.classes[static_cast<std::size_t>(v)]);
    if (train_left[c] > 0) {
      --train_left[c];
      split.train.push_back(v);
    } else if (val_left[c] > 0) {
      --val_left[c];
      split.val.push_back(v);
    } else {
      rest.push_back(v);
    }
  }
  if (!random) {
    split.test = std::move(rest);
    return split;
  }
  const std::size_t val = std::min(kRandomVal, rest.size() / 3);
  const std::size_t test = std::min(kRandomTest, rest.size() - val);
  split.val.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(val));
  split.test.assign(rest.begin() + static_cast<std::ptrdiff_t>(val),
                    rest.begin() + static_cast<std::ptrdiff_t>(val + test));
  return split;
}

}  // namespace

Split draw_split(const Labels& labels, std::int64_t num_nodes, const std::string& spec, std::uint64_t seed) {
  if (spec == "none") return {};
  if (labels.kind == LabelKind::kNone) {
    throw Error(ErrorCode::kBadData, fmt::format("split '{}': the data have no labels to split", spec), {},
                "use --split none");
  }
  const std::vector<NodeId> nodes = shuffled_nodes(labels, num_nodes, seed);
  Split split;
  if (spec.starts_with("ratio:")) {
    split = ratio_split(nodes, spec);
  } else if (spec == "random" || spec == "shchur") {
    split = per_class_split(labels, nodes, spec == "random");
  } else {
    const std::vector<std::string> known = {"public", "random", "shchur", "ratio:60/20/20", "none"};
    throw Error(ErrorCode::kUsage, fmt::format("unknown split '{}'", spec), {},
                unknown_name_hint(spec, known) + ", or the number of a split in the file");
  }
  sort_parts(&split);
  return split;
}

}  // namespace gneiss::data
