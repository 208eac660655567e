// A training loop of somebody else's: steps until the validation loss no longer falls, keeps the best weights and puts
// them back.
#include <gneiss/gneiss.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

int main() {
  gneiss::RunConfig config;
  config.set(gneiss::keys::model, "sage");
  config.set(gneiss::keys::hidden_channels, 16);
  config.set(gneiss::keys::aggr, gneiss::Aggregation::kMax);
  config.set(gneiss::keys::seed, 1);
  config.set(gneiss::keys::epochs, 40);
  gneiss::RunConfig data;
  data.set(gneiss::keys::data, "dcsbm:nodes=400,classes=4,features=16");
  const gneiss::Dataset dataset = gneiss::load_dataset(data);
  gneiss::Model model(dataset, config);

  double best = std::numeric_limits<double>::infinity();
  std::vector<gneiss::NamedArray> weights;
  std::vector<double> losses;
  for (int epoch = 0, without_progress = 0; epoch < 40 && without_progress < 10; ++epoch) {
    losses.push_back(model.step());
    const gneiss::ModelScores scores = model.evaluate();
    ++without_progress;
    if (scores.val_loss >= best) continue;
    best = scores.val_loss;
    weights = model.parameters();
    without_progress = 0;
  }
  model.load_parameters(weights);
  const gneiss::ModelScores scores = model.evaluate();
  const gneiss::Array logits = model.logits();
  std::printf("%lld steps, %s %.3f on the test nodes, logits [%lld, %lld]\n", static_cast<long long>(model.steps()),
              model.metric().c_str(), scores.test, static_cast<long long>(logits.shape[0]),
              static_cast<long long>(logits.shape[1]));

  // The same losses as those of a training by the library's own loop.
  config.set(gneiss::keys::save, false);
  const gneiss::TrainResult result = gneiss::train_model(dataset, config);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (result.losses[0][i] != losses[i]) return 2;
  }
  const bool fits = std::abs(scores.val_loss - best) < 1e-12 && logits.shape == std::vector<std::int64_t>{400, 4};
  return fits && scores.test > 0.5 ? 0 : 1;
}
