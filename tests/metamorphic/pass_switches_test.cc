// Every optional pass, switched off where it does something: the plan is another one, the results are the same to
// rounding. Each case stands for what some passes are there for; a pass that changes the plan of none of them fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "comm/loopback.h"
#include "data/half_features.h"
#include "data/load.h"
#include "ir/text.h"
#include "runtime/device.h"
#include "support/awkward_graph.h"
#include "support/data_fixtures.h"
#include "train/rank_data.h"
#include "train/session.h"

namespace gneiss {
namespace {

using Args = std::vector<std::pair<std::string, language::ArgValue>>;

/// A model on a data set, with options under which some passes have something to do.
struct Case {
  std::string name;
  data::Dataset dataset;
  train::SessionOptions options;
  bool in_f32 = false;  ///< else in f64, where rounding is small but some passes have nothing to do
  double rounding = 1e-9;
};

std::string own_model(const std::string& name) {
  return std::string(GNEISS_SOURCE_DIR) + "/tests/synth/models/" + name + ".gneiss";
}

Case in_f64(const std::string& name, const std::string& model, const Args& args,
            const testing::AwkwardOptions& graph = {}) {
  Case one{name, testing::awkward_dataset(graph), {}};
  one.options.model = model;
  one.options.model_args = args;
  one.options.threads = 1;
  one.options.seed = 5;
  one.options.optimizer.weight_decay = 5e-4;
  return one;
}

Case in_f32(const std::string& name, const std::string& model, const Args& args, const std::string& data) {
  Case one = in_f64(name, model, args);
  one.dataset = data::load(data);
  one.in_f32 = true;
  one.rounding = 2e-4;
  return one;
}

/// What nothing but a model, its arguments and the graph decides about.
void add_models(std::vector<Case>* all) {
  all->push_back(in_f64("gcn", "gcn", {{"dropout", 0.5}}));
  // No bias before a batch norm: its gradient is zero but for rounding, and Adam would make steps of the rounding.
  all->push_back(in_f64("gcn_batch_norm", "gcn", {{"norm", std::string("batch")}, {"bias", false}}));
  all->push_back(in_f64("sage_max", "sage", {{"aggr", std::string("max")}, {"dropout", 0.0}}));
  all->push_back(in_f64("sage_mean", "sage", {{"aggr", std::string("mean")}, {"norm", std::string("layer")}}));
  all->push_back(in_f64("gin", "gin", {{"train_eps", true}}));
  all->push_back(in_f64("gat", "gat", {{"heads", std::int64_t{4}}, {"hidden_channels", std::int64_t{16}}}));
  all->push_back(in_f64("edge_conv", own_model("edge_conv"), {}));
  all->push_back(in_f64("gated_mean", own_model("gated_mean"), {}));
}

/// What options, sparse features, labels or missing weights decide about, in f64.
void add_choices(std::vector<Case>* all) {
  testing::AwkwardOptions sparse;
  sparse.sparse_features = true;
  all->push_back(in_f64("sparse_gin", "gin", {}, sparse));
  all->back().options.passes.sparse_path = passes::SparsePath::kSparse;
  all->push_back(in_f64("sparse_gcn", "gcn", {{"input_dropout", 0.5}}, sparse));
  all->back().options.passes.sparse_path = passes::SparsePath::kDense;
  all->push_back(in_f64("sparse_sage", "sage", {}, sparse));
  all->back().options.passes.sparse_path = passes::SparsePath::kDense;
  all->back().options.passes.order = passes::OrderChoice::kTransformFirst;
  testing::AwkwardOptions plain;
  plain.weighted = false;
  plain.self_loops = false;
  all->push_back(in_f64("factored_weights", "gcn", {}, plain));
  all->back().options.passes.factor_degree = 0;
  all->push_back(in_f64("short_training", "gcn", {}, plain));
  all->back().options.passes.factor_degree = 0;
  all->back().options.passes.repeats = {1e-6, 0};
  all->push_back(in_f64("rows_of_the_loss", "gin", {}));
  all->back().options.passes.loss_rows.most_share = 1e9;
  all->push_back(in_f64("symmetric", "gcn", {}));
  all->back().dataset = data::load("dcsbm:nodes=100,classes=4,features=20,degree=8,seed=3");
}

/// What f32 and its kernels alone have.
void add_floats(std::vector<Case>* all) {
  const std::string communities = "dcsbm:nodes=3000,classes=7,features=40,degree=8,seed=3";
  all->push_back(in_f32("bands", "sage", {{"num_layers", std::int64_t{3}}}, communities));
  all->back().options.passes.split_limits = {0, 0, 1e9};
  all->push_back(in_f32("gathered_narrow", "gcn", {}, communities));
  all->back().options.passes.order = passes::OrderChoice::kTransformFirst;  // 7 columns
  all->push_back(in_f32("remade", "gcn", {{"num_layers", std::int64_t{3}}, {"dropout", 0.5}}, communities));
  all->back().options.passes.recompute_limits = {0, 0.01, 0.2, 0.2, 1e-3};
  all->push_back(in_f32("in_a_file", "sage", {}, communities));
  all->back().options.passes.order = passes::OrderChoice::kAggregateFirst;
  all->back().options.passes.stream_limits = {0, 1e9};
  all->back().options.passes.file_room.scratch_bytes = std::int64_t{1} << 30;
  all->push_back(in_f32("halves", "gcn", {}, communities));
  data::halve_features(HalfType::kBf16, "halves", &all->back().dataset.features);
  all->back().rounding = 4e-3;  // of bf16, to which constants are rounded
  all->push_back(in_f32("edge_loops", own_model("gated_mean"), {{"num_layers", std::int64_t{1}}}, "karate"));
  all->back().options.passes.edge_loops = true;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  add_models(&all);
  add_choices(&all);
  add_floats(&all);
  return all;
}

/// All that tells one plan from another but for the numbers and modelled times of its parts.
std::string text_of(const ir::Plan& plan) {
  std::string text = ir::print(ir::parse(ir::print(plan.program)));
  const auto add = [&](const char* what, auto... numbers) {
    text += what;
    ((text += ' ' + std::to_string(numbers)), ...);
    text += '\n';
  };
  for (const ir::Step& step : plan.steps) add(step.variant.c_str(), step.op, step.band, step.loop);
  for (const ir::RowBand& band : plan.bands) add("band", band.first_step, band.last_step, band.streams);
  for (std::size_t v = 0; v < plan.placements.size(); ++v) {
    const ir::Placement& place = plan.placements[v];
    add("place", static_cast<int>(place.storage), place.offset_bytes, plan.stride(static_cast<ir::ValueId>(v)));
  }
  add("features", plan.features_streamed, plan.file_bytes, plan.loss_tiles.size());
  return text;
}

constexpr std::size_t kSteps = 4;

/// Losses of some training steps, then the weights and logits after them.
template <class T>
std::vector<double> results(const Case& one, const train::SessionOptions& options) {
  train::Session<T> session(one.dataset, options);
  EXPECT_TRUE(session.warnings().empty()) << session.warnings().front();
  std::vector<double> all;
  for (std::uint64_t epoch = 1; epoch <= kSteps; ++epoch) {
    all.push_back(session.forward_backward(epoch));
    session.update(0.01);
  }
  session.evaluate();
  const auto logits = session.logits();
  for (std::int64_t v = 0; v < logits.rows; ++v) {
    for (std::int64_t c = 0; c < logits.cols; ++c) all.push_back(static_cast<double>(logits.at(v, c)));
  }
  std::vector<T> weights(session.snapshot_size());
  session.save_snapshot(weights);
  all.insert(all.end(), weights.begin(), weights.end());
  return all;
}

std::vector<double> results_of(const Case& one, const train::SessionOptions& options) {
  return one.in_f32 ? results<float>(one, options) : results<double>(one, options);
}

std::string plan_text(const Case& one, const train::SessionOptions& options) {
  return text_of(train::make_blueprint(one.dataset, options, one.in_f32 ? 4 : 8).plan);
}

void expect_close(const std::vector<double>& with, const std::vector<double>& without, double tolerance) {
  ASSERT_EQ(with.size(), without.size());
  double worst = 0;  // of losses; what lies behind them may be ten times as far off
  for (std::size_t i = 0; i < with.size(); ++i) {
    ASSERT_TRUE(std::isfinite(with[i]) && std::isfinite(without[i])) << i;
    worst = std::max(worst, std::abs(with[i] - without[i]) / (i < kSteps ? 1 : 10));
  }
  EXPECT_LT(worst, tolerance);
}

TEST(PassSwitches, EachChangesSomePlanAndRoundingOnly) {
  const gneiss::testing::TempFolder folder;
  const gneiss::testing::Environment cache("XDG_CACHE_HOME", folder.path().string());
  const gneiss::testing::Environment scratch("TMPDIR", folder.path().string());
  std::map<std::string, int> changed;
  for (const Case& one : cases()) {
    const std::string all = plan_text(one, one.options);
    const std::vector<double> with = results_of(one, one.options);
    for (const passes::PassInfo& pass : passes::list_passes()) {
      train::SessionOptions options = one.options;
      options.passes.disabled.insert(pass.name);
      if (!pass.optional || plan_text(one, options) == all) continue;
      ++changed[pass.name];
      SCOPED_TRACE(one.name + " without " + pass.name);
      expect_close(with, results_of(one, options), one.rounding);
    }
  }
  for (const passes::PassInfo& pass : passes::list_passes()) {
    const bool sweeps = pass.name == "dce";  // the passes around it sweep up after themselves and leave it nothing
    const bool of_ranks = pass.name == "overlap";           // the next test
    const bool of_devices = pass.name == "fuse_epilogues";  // e2e/device_test
    EXPECT_TRUE(!pass.optional || sweeps || of_ranks || of_devices || changed[pass.name] > 0)
        << pass.name << " has nothing to do in any case";
  }
}

/// The plan of a device, in the emulation: what is off there changes rounding as well.
TEST(PassSwitches, EachChangesRoundingOnlyOnADevice) {
  std::map<std::string, int> changed;
  std::vector<Case> all;
  add_models(&all);
  testing::AwkwardOptions sparse;
  sparse.sparse_features = true;
  all.push_back(in_f64("sparse_gin", "gin", {}, sparse));
  for (Case& one : all) {
    one.in_f32 = true;
    one.rounding = 2e-4;
    one.options.passes.target = planner::Target::kDevice;
    one.options.device = runtime::make_emulated_device();
    const std::string whole = plan_text(one, one.options);
    const std::vector<double> with = results_of(one, one.options);
    for (const passes::PassInfo& pass : passes::list_passes()) {
      train::SessionOptions options = one.options;
      options.passes.disabled.insert(pass.name);
      if (!pass.optional || plan_text(one, options) == whole) continue;
      ++changed[pass.name];
      SCOPED_TRACE(one.name + " without " + pass.name);
      expect_close(with, results_of(one, options), one.rounding);
    }
  }
  for (const char* pass :
       {"fuse_messages", "fuse_attention", "hoist_constants", "fuse_elementwise", "cse", "fuse_epilogues"})
    EXPECT_GT(changed[pass], 0) << pass;
}

TEST(PassSwitches, OverlapChangesThePlanOfARankAndNoBit) {
  const Case one = in_f32("ranks", "gcn", {{"dropout", 0.5}}, "dcsbm:nodes=300,classes=4,features=20,degree=8,seed=3");
  const std::vector<std::int64_t> starts = {0, 150, 300};
  comm::loopback(2)->run([&](comm::Communicator& communicator) {
    const train::RankData here = train::cut_dataset(one.dataset, starts, communicator, one.options.loss.kind, {});
    std::vector<std::string> texts;
    std::vector<std::vector<double>> losses;
    for (const bool off : {false, true}) {
      train::SessionOptions options = one.options;
      if (off) options.passes.disabled.insert("overlap");
      train::Session<float> session(here.dataset, options, &here.part);
      session.set_up();
      losses.emplace_back();
      for (std::uint64_t epoch = 1; epoch <= kSteps; ++epoch) {
        losses.back().push_back(session.forward_backward(epoch));
        session.update(0.01);
      }
      texts.push_back(text_of(session.plan()));
    }
    EXPECT_NE(texts[0], texts[1]);
    EXPECT_EQ(losses[0], losses[1]);
  });
}

TEST(PassSwitches, TheOrderOfProductAndSumChangesRoundingOnly) {
  std::vector<Case> models;
  add_models(&models);
  int changed = 0;
  for (const Case& one : models) {
    SCOPED_TRACE(one.name);
    std::vector<std::string> texts;
    std::vector<std::vector<double>> outcomes;
    for (const auto order : {passes::OrderChoice::kTransformFirst, passes::OrderChoice::kAggregateFirst}) {
      train::SessionOptions options = one.options;
      options.passes.order = order;
      texts.push_back(plan_text(one, options));
      outcomes.push_back(results_of(one, options));
    }
    changed += texts[0] != texts[1] ? 1 : 0;
    expect_close(outcomes[0], outcomes[1], one.rounding);
  }
  EXPECT_GE(changed, 5);
}

}  // namespace
}  // namespace gneiss
