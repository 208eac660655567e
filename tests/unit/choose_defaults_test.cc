// The rule that chooses defaults: what it decides on some facts, and that all it chooses is a setting with a valid
// value.
#include "defaults/choose_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <map>

#include "base/error.h"
#include "language/compile.h"
#include "settings/settings.h"

namespace gneiss::defaults {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Cora's public split, and Minesweeper's first.
constexpr Facts kCora{.features = 1433, .train_nodes = 140, .validates = true};
constexpr Facts kTexas{.features = 1703, .train_nodes = 87, .validates = true, .homophily = -0.2};
constexpr Facts kMinesweeper{.features = 7, .train_nodes = 5000, .validates = true};

std::map<std::string, std::string> chosen(const Facts& facts, std::string_view model) {
  std::map<std::string, std::string> values;
  for (const Choice& choice : choose_defaults(facts, model)) values[choice.key] = choice.value;
  return values;
}

TEST(ChooseDefaults, ScarceLabelsAreTrainedWithRestraint) {
  auto gcn = chosen(kCora, "gcn");
  EXPECT_EQ(gcn["model.hidden_channels"], "64");
  EXPECT_EQ(gcn["model.input_dropout"], "0.5");
  EXPECT_EQ(gcn["optim.weight_decay"], "0.0005");
  EXPECT_EQ(gcn["train.monitor"], "both");
  EXPECT_EQ(gcn.count("model.num_layers"), 0U);  // the model's own two
}

TEST(ChooseDefaults, EnoughLabelsAreTrainedDeeper) {
  auto gcn = chosen(kMinesweeper, "gcn");
  EXPECT_EQ(gcn["model.num_layers"], "3");
  EXPECT_EQ(gcn["model.residual"], "true");
  EXPECT_EQ(gcn["model.jk"], "cat");
  EXPECT_EQ(gcn["model.input_dropout"], "0");
  EXPECT_EQ(gcn["optim.weight_decay"], "0");
  EXPECT_EQ(gcn["train.monitor"], "metric");
}

TEST(ChooseDefaults, OneMoreLabelThanFeaturesIsEnough) {
  EXPECT_EQ(chosen({64, 64, true}, "sage")["train.monitor"], "both");
  EXPECT_EQ(chosen({64, 65, true}, "sage")["train.monitor"], "metric");
}

TEST(ChooseDefaults, GinHasANormInBothCases) {
  EXPECT_EQ(chosen(kCora, "gin")["model.norm"], "layer");
  EXPECT_EQ(chosen(kMinesweeper, "gin")["model.norm"], "layer");
}

TEST(ChooseDefaults, NothingIsStoppedEarlyWithoutValidationNodes) {
  for (const Facts& facts : {Facts{1433, 140, false}, Facts{7, 5000, false}}) {
    const auto values = chosen(facts, "gcn");
    EXPECT_EQ(values.count("train.patience"), 0U);
    EXPECT_EQ(values.count("train.monitor"), 0U);
    EXPECT_EQ(values.count("train.epochs"), 1U);
  }
}

TEST(ChooseDefaults, WhereNeighboursAreOfOtherClassesTheNodeItselfCounts) {
  for (const char* model : {"gcn", "sage", "gin", "gat"}) {
    const auto values = chosen(kTexas, model);
    EXPECT_EQ(values.at("model.residual"), "true") << model;
    EXPECT_EQ(values.at("model.jk"), "cat") << model;
    EXPECT_EQ(values.at("optim.weight_decay"), "0.005") << model;
    EXPECT_EQ(values.count("model.args.eps"), std::string_view(model) == "gin" ? 1U : 0U);
  }
  Facts alike = kTexas;
  alike.homophily = 0.6;
  EXPECT_EQ(chosen(alike, "sage"), chosen(kCora, "sage"));
  alike.homophily.reset();  // too few edges to tell
  EXPECT_EQ(chosen(alike, "sage"), chosen(kCora, "sage"));
}

/// 2 n nodes of two classes, an edge both ways between v and v + n; classes alternate with v, and on the other side
/// likewise or the other way round.
data::Dataset pairs(std::int64_t n, bool same_class) {
  std::vector<NodeId> from;
  std::vector<NodeId> to;
  data::Dataset dataset;
  dataset.labels.kind = data::LabelKind::kSingle;
  dataset.labels.num_classes = 2;
  dataset.labels.classes = Buffer<std::int32_t>(static_cast<std::size_t>(2 * n));
  for (std::int64_t v = 0; v < n; ++v) {
    const auto here = static_cast<NodeId>(v);
    const auto there = static_cast<NodeId>(v + n);
    for (const NodeId node : {here, there}) dataset.split.train.push_back(node);
    from.insert(from.end(), {here, there});
    to.insert(to.end(), {there, here});
    const auto label = static_cast<std::int32_t>(v % 2);
    dataset.labels.classes[static_cast<std::size_t>(here)] = label;
    dataset.labels.classes[static_cast<std::size_t>(there)] = same_class ? label : 1 - label;
  }
  dataset.graph = graph::build_graph({Buffer<NodeId>::copy_of(from), Buffer<NodeId>::copy_of(to), {}}, 2 * n);
  return dataset;
}

TEST(AdjustedHomophily, IsOneForEdgesWithinClassesAndMinusOneBetweenTwo) {
  EXPECT_EQ(adjusted_homophily(pairs(10, true)), 1.0);
  EXPECT_EQ(adjusted_homophily(pairs(10, false)), -1.0);
}

TEST(AdjustedHomophily, IsNotKnownFromFewEdgesOrFromTestNodes) {
  EXPECT_EQ(adjusted_homophily(pairs(9, true)), std::nullopt);
  data::Dataset dataset = pairs(10, false);
  dataset.split.train.resize(19);
  EXPECT_EQ(adjusted_homophily(dataset), std::nullopt);
}

TEST(ChooseDefaults, ModelsOfUsersStandOnTheirOwnText) {
  EXPECT_THAT(choose_defaults(kCora, "mine.gneiss"), IsEmpty());
  EXPECT_THAT(choose_defaults(kCora, ""), IsEmpty());
}

// A misspelt key or a value out of range would only fail when a user trains.
TEST(ChooseDefaults, EveryChoiceIsASettingWithAValidValue) {
  for (const std::string& model : language::builtin_model_names()) {
    for (const Facts& facts : {kCora, kTexas, kMinesweeper}) {
      for (const Choice& choice : choose_defaults(facts, model)) {
        if (choice.key == "model.args.eps") continue;  // an argument of the model's text; trained in builtin tests
        const settings::Setting* setting = settings::find_setting(choice.key);
        ASSERT_NE(setting, nullptr) << choice.key;
        EXPECT_EQ(settings::check_value(*setting, choice.value, "test"), choice.value) << choice.key;
      }
    }
  }
}

TEST(ChooseDefaults, ThePageHasTheRule) {
  std::ifstream file(GNEISS_SOURCE_DIR "/docs/training.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(page, HasSubstr("<!-- defaults: begin -->\n" + defaults_markdown() + "<!-- defaults: end -->"))
      << "docs/training.md: replace the part between the marks by the output of `gneiss help defaults`";
}

TEST(FactsOf, CountLabelledNodesOnly) {
  data::Dataset dataset;
  dataset.features.cols = 5;
  dataset.labels.kind = data::LabelKind::kSingle;
  dataset.labels.num_classes = 2;
  dataset.labels.classes = Buffer<std::int32_t>(4);
  const std::int32_t classes[] = {0, -1, 1, -1};
  std::copy(std::begin(classes), std::end(classes), dataset.labels.classes.begin());
  dataset.split.train = {0, 1, 2};
  dataset.split.val = {3};
  const Facts facts = facts_of(dataset);
  EXPECT_EQ(facts.features, 5);
  EXPECT_EQ(facts.train_nodes, 2);
  EXPECT_FALSE(facts.validates);  // the one validation node has no label
}

TEST(FactsOf, ANodeOfManyTasksCountsWithOneTarget) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  data::Dataset dataset;
  dataset.labels.kind = data::LabelKind::kMulti;
  dataset.labels.num_classes = 2;
  dataset.labels.targets = Buffer<float>(6);
  const float targets[] = {1, kNaN, kNaN, kNaN, kNaN, 0};
  std::copy(std::begin(targets), std::end(targets), dataset.labels.targets.begin());
  dataset.split.train = {0, 1};
  dataset.split.val = {2};
  EXPECT_EQ(facts_of(dataset).train_nodes, 1);
  EXPECT_TRUE(facts_of(dataset).validates);
}

TEST(Describe, NamesTheFactsAndTheValues) {
  const std::string line = describe(kCora, choose_defaults(kCora, "gcn"));
  EXPECT_THAT(line, HasSubstr("scarce labels (140 training nodes, 1433 features): hidden_channels 64, dropout 0.5"));
  EXPECT_THAT(line, Not(HasSubstr("model.")));
}

}  // namespace
}  // namespace gneiss::defaults
