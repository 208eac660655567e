// What is at chance or stands still after ten epochs and more; the remedies are tried in the order in which they help.
#include "jobs/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace gneiss::jobs {
namespace {

constexpr std::size_t kLeastEpochs = 10;
constexpr double kNoBetter = 0.01;   // of the score
constexpr double kLeastFall = 0.02;  // of the loss
constexpr double kCarefulRate = 0.001;
constexpr std::int64_t kUsualWidth = 64;

/// Settings in the order in which they help most often.
std::vector<std::string> remedies(bool large_features, const settings::Config& config) {
  std::vector<std::string> list;
  const std::string& model = config.text("model.name");
  const bool own = model.ends_with(".gneiss");
  if (large_features) list.emplace_back("--normalize-features standard");
  if (config.real("optim.lr") > kCarefulRate) list.push_back(fmt::format("--lr {}", kCarefulRate));
  if (!own && !config.is_set("model.norm") && model != "mlp") list.emplace_back("--norm batch");
  if (config.integer("model.hidden_channels") < kUsualWidth)
    list.push_back(fmt::format("--hidden-channels {}", kUsualWidth));
  if (config.real("optim.lr") < kCarefulRate) list.emplace_back("--lr 0.01");
  list.emplace_back("--dropout 0");
  list.emplace_back("--epochs 1000");
  list.resize(2);
  return list;
}

}  // namespace

double chance_score(const data::Dataset& dataset, epochs::Metric metric) {
  if (metric == epochs::Metric::kRocAuc) return 0.5;
  const bool shares = metric == epochs::Metric::kAccuracy || metric == epochs::Metric::kMicroF1;
  if (!shares || dataset.labels.kind != data::LabelKind::kSingle) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> counts(static_cast<std::size_t>(dataset.labels.num_classes), 0);
  double all = 0;
  for (const NodeId v : dataset.split.train) {
    const std::int32_t label = dataset.labels.classes[static_cast<std::size_t>(v)];
    if (label < 0) continue;
    ++counts[static_cast<std::size_t>(label)];
    ++all;
  }
  return counts.empty() || all == 0 ? std::numeric_limits<double>::quiet_NaN()
                                    : *std::max_element(counts.begin(), counts.end()) / all;
}

std::string advice_on(const epochs::RunRecord& run, double chance, epochs::Metric metric, bool large_features,
                      const settings::Config& config) {
  if (run.epochs.size() < kLeastEpochs) return {};
  const double first = run.epochs.front().loss;
  double least = first;
  for (const epochs::EpochRecord& epoch : run.epochs) least = std::min(least, epoch.loss);
  const bool at_chance = run.best.train <= chance + kNoBetter;  // false for NaN
  const bool loss_stays = least > first - kLeastFall * std::abs(first);
  if (!at_chance && !loss_stays) return {};
  const std::string what = at_chance ? fmt::format("its {} on the training nodes is {:.2f} %, guessing gets {:.2f} %",
                                                   epochs::metric_name(metric), 100 * run.best.train, 100 * chance)
                                     : fmt::format("the loss went from {:.4g} to {:.4g} at best", first, least);
  const std::vector<std::string> settings = remedies(large_features, config);
  return fmt::format("the model has hardly learnt: {}; try first {} and {}", what, settings[0], settings[1]);
}

}  // namespace gneiss::jobs
