#include "support/rank_models.h"

#include <algorithm>
#include <cmath>

#include "comm/loopback.h"
#include "partition/contiguous.h"

namespace gneiss::testing {
namespace {

Step step_of(train::Session<double>& session) {
  Step step;
  step.loss = session.forward_backward(1);
  const std::span<double> gradients = session.parameters().gradients();
  step.gradients.assign(gradients.begin(), gradients.end());
  return step;
}

}  // namespace

std::vector<RankModel> rank_models() {
  const auto text = [](const char* value) { return language::ArgValue(std::string(value)); };
  const auto whole = [](std::int64_t value) { return language::ArgValue(value); };
  return {
      {"gcn", "gcn", {{"dropout", 0.0}}},
      {"gcn, dropout, residual, three layers",
       "gcn",
       {{"dropout", 0.5}, {"input_dropout", 0.3}, {"num_layers", whole(3)}, {"residual", true}, {"jk", text("cat")}}},
      // A bias before batch norm has no gradient but rounding, of which Adam makes whole steps.
      {"gcn, batch norm", "gcn", {{"norm", text("batch")}, {"bias", false}, {"dropout", 0.5}}},
      {"gcn, layer norm over the graph", "gcn", {{"norm", text("layer_graph")}}},
      {"sage, mean", "sage", {}},
      {"sage, max", "sage", {{"aggr", text("max")}, {"num_layers", whole(3)}}},
      {"sage, sum, layer norm", "sage", {{"aggr", text("sum")}, {"norm", text("layer")}}},
      {"gin", "gin", {{"train_eps", true}}},
      {"gin, batch norm, dropout", "gin", {{"norm", text("batch")}, {"dropout", 0.3}}},
      {"gat", "gat", {{"heads", whole(4)}, {"hidden_channels", whole(16)}, {"dropout", 0.0}}},
      {"gat, dropout of attention", "gat", {{"heads", whole(2)}, {"hidden_channels", whole(16)}, {"dropout", 0.4}}},
      {"gatv2", "gat", {{"heads", whole(2)}, {"hidden_channels", whole(16)}, {"v2", true}}},
      {"mlp", "mlp", {}},
  };
}

train::SessionOptions rank_options(const RankModel& model, const data::Dataset& dataset) {
  train::SessionOptions options;
  options.model = model.name;
  options.model_args = model.args;
  options.passes.disabled.insert(model.passes_off.begin(), model.passes_off.end());
  options.loss.kind = train::default_loss(dataset.labels);
  options.threads = 1;
  options.seed = 5;
  options.optimizer.weight_decay = 5e-4;
  if (model.plain_steps) options.optimizer.kind = runtime::OptimizerKind::kSgd;
  return options;
}

Step step_alone(const data::Dataset& dataset, const train::SessionOptions& options) {
  train::Session<double> session(dataset, options);
  return step_of(session);
}

static Step step_on(const data::Dataset& dataset, const train::SessionOptions& options, int ranks, bool both_ways,
                    const Damage& damage, const Attach& attach) {
  Step step;
  const std::vector<std::int64_t> starts = partition::contiguous(dataset.graph.offsets(), ranks);
  comm::loopback(ranks)->run([&](comm::Communicator& communicator) {
    train::RankData here =
        train::cut_dataset(dataset, starts, communicator, options.loss.kind, options.class_weights, both_ways);
    if (damage) damage(&here);
    train::Session<double> session(here.dataset, options, &here.part);
    if (attach) attach(communicator.rank(), &session);
    const Step mine = step_of(session);
    if (communicator.rank() == 0) step = mine;
  });
  return step;
}

Step step_on_ranks(const data::Dataset& dataset, const train::SessionOptions& options, int ranks, const Damage& damage,
                   const Attach& attach) {
  return step_on(dataset, options, ranks, false, damage, attach);
}

Step step_on_devices(const data::Dataset& dataset, const train::SessionOptions& options, int devices,
                     const train::RowExchange& exchange, const Wrap& wrap) {
  std::vector<std::unique_ptr<pgas::Space>> spaces(static_cast<std::size_t>(devices));  // they end after all sessions
  const bool both_ways = train::is_cut_both_ways(dataset, exchange.how);
  const auto share = [&](train::RankData* here) {
    auto& space = spaces[static_cast<std::size_t>(here->part.communicator->rank())];
    space = here->part.communicator->make_space(exchange.link);
    if (wrap) space = wrap(std::move(space));
    here->part.space = space.get();
    here->part.exchange = exchange.how;
    here->part.tuning = exchange.tuning;
  };
  return step_on(dataset, options, devices, both_ways, share, {});
}

double difference(const Step& a, const Step& b) {
  double largest = 1e-3;
  double worst = 0;
  if (a.gradients.size() != b.gradients.size()) return 1;
  for (const double g : a.gradients) largest = std::max(largest, std::abs(g));
  for (std::size_t i = 0; i < a.gradients.size(); ++i) {
    if (!std::isfinite(a.gradients[i]) || !std::isfinite(b.gradients[i])) return 1;  // no maximum takes NaN up
    worst = std::max(worst, std::abs(a.gradients[i] - b.gradients[i]) / largest);
  }
  if (!std::isfinite(a.loss) || !std::isfinite(b.loss)) return 1;
  worst = std::max(worst, std::abs(a.loss - b.loss) / std::max(1e-3, std::abs(a.loss)));
  return worst;
}

}  // namespace gneiss::testing
