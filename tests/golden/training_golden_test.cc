// Optimizers, learning-rate schedules and metrics beside torch and scikit-learn (numbers from make_goldens.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "epochs/metrics.h"
#include "epochs/schedule.h"
#include "golden_files.h"
#include "runtime/optimizer.h"

namespace gneiss::golden {
namespace {

using Json = nlohmann::json;

Json load_json(const std::string& name) {
  std::ifstream in(golden_path(name));
  return Json::parse(in);
}

// ---------------------------------------------------------------- optimizers

runtime::OptimizerConfig optimizer_config(const Json& golden) {
  const std::string kind = golden.at("kind");
  const Json& options = golden.at("options");
  runtime::OptimizerConfig config;
  config.kind = kind == "sgd"    ? runtime::OptimizerKind::kSgd
                : kind == "adam" ? runtime::OptimizerKind::kAdam
                                 : runtime::OptimizerKind::kAdamW;
  config.lr = options.at("lr");
  config.momentum = options.value("momentum", 0.0);
  config.nesterov = options.value("nesterov", false);
  config.weight_decay = options.value("weight_decay", 0.0);
  config.eps = options.value("eps", config.eps);
  if (options.contains("betas")) {
    config.beta1 = options.at("betas").at(0);
    config.beta2 = options.at("betas").at(1);
  }
  config.clip_norm = golden.at("clip_norm");
  return config;
}

template <class T>
void check_optimizer(const Json& all, const std::string& name, double bound) {
  const Json& golden = all.at("cases").at(name);
  const auto a = all.at("a").get<std::vector<std::vector<double>>>();
  const auto c = all.at("c").get<std::vector<double>>();
  const auto points = golden.at("points").get<std::vector<std::vector<double>>>();
  const runtime::OptimizerConfig config = optimizer_config(golden);
  const std::size_t n = c.size();
  runtime::Optimizer<T> optimizer(config, {{0, static_cast<std::int64_t>(n), config.weight_decay}},
                                  static_cast<std::int64_t>(n));
  std::vector<std::byte> workspace(1 << 20);
  const kernels::Context context{1, workspace};

  std::vector<T> x(points[0].begin(), points[0].end());
  for (std::size_t step = 1; step < points.size(); ++step) {
    std::vector<T> gradient(n);
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < n; ++j) sum += a[i][j] * (static_cast<double>(x[j]) - c[j]);
      gradient[i] = static_cast<T>(sum);
    }
    optimizer.step(context, config.lr, x, gradient);
    for (std::size_t i = 0; i < n; ++i)
      EXPECT_NEAR(x[i], points[step][i], bound) << name << " step " << step << " x" << i;
  }
}

TEST(OptimizerGolden, EveryRuleFollowsTorch) {
  const Json all = load_json("optimizers.json");
  EXPECT_EQ(all.at("cases").size(), 10U);
  for (const auto& [name, golden] : all.at("cases").items()) {
    check_optimizer<double>(all, name, 1e-12);
    check_optimizer<float>(all, name, 2e-5);
  }
}

// ---------------------------------------------------------------- schedules

epochs::ScheduleConfig schedule_config(const std::string& name, const Json& golden) {
  epochs::ScheduleConfig config;
  if (name.find("cosine") != std::string::npos) config.kind = epochs::ScheduleKind::kCosine;
  if (name.find("plateau") != std::string::npos) config.kind = epochs::ScheduleKind::kPlateau;
  config.warmup_epochs = golden.value("warmup_epochs", std::int64_t{0});
  config.warmup_start = golden.value("warmup_start", config.warmup_start);
  config.min_lr = golden.value("min_lr", 0.0);
  config.factor = golden.value("factor", config.factor);
  config.patience = golden.value("patience", config.patience);
  return config;
}

TEST(ScheduleGolden, EveryRateIsTorchs) {
  const Json all = load_json("schedules.json");
  EXPECT_EQ(all.at("cases").size(), 6U);
  for (const auto& [name, golden] : all.at("cases").items()) {
    const auto rates = golden.at("lr").get<std::vector<double>>();
    epochs::Schedule schedule(schedule_config(name, golden), golden.at("base"), golden.at("epochs"),
                              golden.value("mode", "") == "max");
    for (std::size_t epoch = 0; epoch < rates.size(); ++epoch) {
      EXPECT_NEAR(schedule.lr(static_cast<std::int64_t>(epoch)), rates[epoch], 1e-12) << name << " epoch " << epoch;
      if (golden.contains("metrics")) schedule.observe(golden.at("metrics").at(epoch));
    }
  }
}

// ---------------------------------------------------------------- metrics

data::Labels labels_of(const Json& golden) {
  data::Labels labels;
  const Json& truth = golden.at("truth");
  if (golden.at("kind") == "single") {
    labels.kind = data::LabelKind::kSingle;
    labels.num_classes = golden.at("classes");
    labels.classes = Buffer<std::int32_t>(truth.size());
    for (std::size_t i = 0; i < truth.size(); ++i) labels.classes.data()[i] = truth[i];
    return labels;
  }
  labels.kind = data::LabelKind::kMulti;
  const std::size_t tasks = truth.at(0).size();
  labels.num_classes = static_cast<std::int64_t>(tasks);
  labels.targets = Buffer<float>(truth.size() * tasks);
  for (std::size_t i = 0; i < truth.size() * tasks; ++i) {
    const Json& entry = truth[i / tasks][i % tasks];
    labels.targets.data()[i] = entry.is_null() ? std::numeric_limits<float>::quiet_NaN() : entry.get<float>();
  }
  return labels;
}

TEST(MetricGolden, EveryScoreIsOgbsOrScikitLearns) {
  const Json all = load_json("metrics.json");
  int compared = 0;
  for (const Json& golden : all.at("cases")) {
    const data::Labels labels = labels_of(golden);
    std::vector<float> logits;
    for (const Json& row : golden.at("logits")) {
      for (const Json& value : row) logits.push_back(value);
    }
    const auto n = static_cast<std::int64_t>(golden.at("truth").size());
    std::vector<NodeId> rows(static_cast<std::size_t>(n));
    std::iota(rows.begin(), rows.end(), 0);
    const MatrixView<const float> view(logits.data(), n, labels.num_classes);
    for (const std::string& name : epochs::metric_names()) {
      if (!golden.contains(name)) continue;
      epochs::Evaluator evaluator(epochs::parse_metric(name), labels);
      EXPECT_NEAR(evaluator.score(view, rows), golden.at(name).get<double>(), 1e-12) << name << " of case " << compared;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 4 * 3 + 4 * 2 + 2);
}

}  // namespace
}  // namespace gneiss::golden
