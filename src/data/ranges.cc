// Counts and largest sizes, of a sample where there are many values.
#include "data/ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gneiss::data {
namespace {

constexpr double kLargeFeature = 1e4;
constexpr double kLargeTarget = 1e4;
constexpr double kLargeWeight = 1e5;
constexpr std::size_t kBlocks = 256;
constexpr std::size_t kBlock = 4096;

/// The largest size among evenly spread blocks of entries, so that few pages of a file are read.
template <class T, class ToFloat>
double largest(std::span<const T> values, const ToFloat& to_float, RestsOnTheWay<T>* rests = nullptr) {
  const std::size_t step = std::max(kBlock, values.size() / kBlocks);
  double most = 0;
  for (std::size_t begin = 0; begin < values.size(); begin += step) {
    for (const T value : values.subspan(begin, std::min(kBlock, values.size() - begin))) {
      const double size = std::abs(static_cast<double>(to_float(value)));
      if (std::isfinite(size)) most = std::max(most, size);
    }
    if (rests != nullptr) rests->step();
  }
  return most;
}

double largest(std::span<const float> values) {
  return largest(values, [](float value) { return value; });
}

double largest_feature(const Features& features) {
  if (features.dtype != HalfType::kNone) {
    RestsOnTheWay rests(features.halves);
    return largest(
        features.halves.span(), [&](std::uint16_t half) { return from_half(features.dtype, half); }, &rests);
  }
  const Buffer<float>& values = features.sparse ? features.values : features.dense;
  RestsOnTheWay rests(values);
  return largest(
      values.span(), [](float value) { return value; }, &rests);
}

}  // namespace

std::string negative_weights(const Dataset& dataset) {
  const auto weights = dataset.graph.weights();
  const auto negative = std::count_if(weights.begin(), weights.end(), [](float w) { return w < 0; });
  if (negative == 0) return {};
  const float least = *std::min_element(weights.begin(), weights.end());
  const auto offsets = dataset.graph.offsets();
  std::int64_t cut = 0;
  for (std::size_t v = 0; v + 1 < offsets.size(); ++v) {
    double degree = 1;
    for (EdgeId k = offsets[v]; k < offsets[v + 1]; ++k) degree += weights[static_cast<std::size_t>(k)];
    cut += degree <= 0 ? 1 : 0;
  }
  return fmt::format(
      "{} of {} edges have negative weights (the least is {:g}), and {} of {} nodes a weighted in-degree of 0 or less, "
      "self loop included: a normalisation by degrees, as gcn's, cuts these nodes off; take sizes of weights, or "
      "--ignore-weights",
      negative, weights.size(), least, cut, dataset.num_nodes());
}

std::vector<std::string> large_numbers(const Dataset& dataset) {
  std::vector<std::string> notes;
  const double feature = largest_feature(dataset.features);
  if (feature >= kLargeFeature)
    notes.push_back(
        fmt::format("features reach {:g}: networks train badly on such sizes; --normalize-features standard "
                    "brings each column to mean 0 and deviation 1",
                    feature));
  const FeatureStatistics& statistics = dataset.feature_statistics;
  if (statistics.norm == "row" && statistics.least < 0)
    notes.push_back(fmt::format(
        "features have negative values, down to {:g}: row normalisation takes the least one from all of them "
        "first, as PyG does; --normalize-features standard suits them better",
        statistics.least));
  const double target = dataset.labels.kind == LabelKind::kRegression ? largest(dataset.labels.targets.span()) : 0;
  if (target >= kLargeTarget)
    notes.push_back(
        fmt::format("the targets reach {:g}: networks train badly towards such sizes; divide them, or take "
                    "their logarithms, in the label file",
                    target));
  const double weight = largest(dataset.graph.weights());
  if (weight >= kLargeWeight)
    notes.push_back(
        fmt::format("edge weights reach {:g}: sums over edges grow with them, and self loops of weight 1 "
                    "vanish beside them; divide them, or use --ignore-weights",
                    weight));
  return notes;
}

}  // namespace gneiss::data
