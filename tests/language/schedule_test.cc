// A schedule block reaches the pass that it speaks to, layer by layer, and a choice made for the run stands above it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "support/awkward_graph.h"
#include "train/session.h"

namespace gneiss {
namespace {

constexpr const char* kNet =
    "model net() {\n"
    "  h = relu(gcn(dropout(features, 0.5), 8));\n"
    "  return gcn(h, num_classes);\n"
    "}\n";

/// "(AX)W A(XW)": the orders that the pass chose, in the order of the program.
std::string orders(const std::string& schedule, passes::OrderChoice choice = passes::OrderChoice::kAuto) {
  const std::string path = ::testing::TempDir() + "scheduled.gneiss";
  std::ofstream(path) << kNet << schedule;
  train::SessionOptions options;
  options.model = path;
  options.passes.order = choice;
  const ir::Plan plan = train::make_blueprint(testing::awkward_dataset({}), options).plan;
  std::remove(path.c_str());
  const auto report = std::find_if(plan.passes.begin(), plan.passes.end(),
                                   [](const ir::PassReport& pass) { return pass.name == "choose_order"; });
  std::string text;
  for (const std::string& decision : report->decisions) {
    text += decision.find("(AX)W") != std::string::npos ? "(AX)W " : "A(XW) ";
  }
  return text;
}

TEST(Schedule, SetsTheOrderOfEachLayer) {
  EXPECT_EQ(orders("schedule { layer 1: order = aggregate_first; layer 2: order = transform_first; }"), "(AX)W A(XW) ");
  EXPECT_EQ(orders("schedule { layer 1: order = transform_first; layer 2: order = aggregate_first; }"), "A(XW) (AX)W ");
}

TEST(Schedule, AnEntryWithoutALayerHoldsForAllOthers) {
  EXPECT_EQ(orders("schedule { order = aggregate_first; layer 2: order = transform_first; }"), "(AX)W A(XW) ");
  EXPECT_EQ(orders("schedule { order = transform_first; }"), "A(XW) A(XW) ");
}

TEST(Schedule, AChoiceForTheRunStandsAboveIt) {
  EXPECT_EQ(orders("schedule { order = transform_first; }", passes::OrderChoice::kAggregateFirst), "(AX)W (AX)W ");
}

}  // namespace
}  // namespace gneiss
