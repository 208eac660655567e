// A training reads and compiles its model once: what happens to the file afterwards changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "jobs/job.h"
#include "jobs/workload.h"
#include "support/compile_model.h"
#include "support/data_fixtures.h"

namespace gneiss::jobs {
namespace {

using ::testing::HasSubstr;

constexpr const char* kNet =
    "model net(width: int = 8) {\n"
    "  h = relu(gcn(features, width));\n"
    "  return gcn(h, num_classes);\n"
    "}\n";
constexpr const char* kData = "dcsbm:nodes=300,classes=3,features=8,seed=2";

class WorkloadTest : public ::testing::Test {
 protected:
  void SetUp() override { write_file(model_, kNet); }

  settings::Config config(const std::string& data = kData) const {
    settings::Config made;
    const auto set = [&](const char* key, const std::string& value) {
      made.set(key, value, settings::Origin::kFlag, "test");
    };
    set("data.name", data);
    set("model.name", model_.string());
    set("train.epochs", "2");
    set("out.folder", (place_.path() / "run").string());
    return made;
  }

  gneiss::testing::TempFolder place_;
  std::filesystem::path model_ = place_.path() / "net.gneiss";
};

TEST_F(WorkloadTest, CompilesTheModelForAllThatFollows) {
  settings::Config settings = config();
  const Workload workload(&settings, PlanFor::kAnyMachine);
  write_file(model_, "no model any more");
  const train::Blueprint blueprint = train::make_blueprint(workload.dataset(), workload.session());
  EXPECT_EQ(blueprint.compiled.sources.front().text, kNet);
  EXPECT_EQ(workload.source().text, kNet) << "what a checkpoint knows the model by";
  const train::Session<float> session(workload.dataset(), workload.session());
  EXPECT_EQ(session.params().front().cols, 8);
}

TEST_F(WorkloadTest, CompilesItForEveryRunOnceToo) {
  settings::Config settings = config();
  settings.set("data.split", "ratio:60/20/20", settings::Origin::kFlag, "test");
  settings.set("data.split_per_run", "true", settings::Origin::kFlag, "test");
  Workload workload(&settings, PlanFor::kAnyMachine);
  write_file(model_, "no model any more");
  workload.reload(1);
  const train::Session<float> session(workload.dataset(), workload.session());
  EXPECT_EQ(session.params().front().cols, 8);
}

TEST_F(WorkloadTest, RefusesDataThatAreOthersWhenReadAgain) {
  const std::filesystem::path edges = place_.path() / "edges.csv";
  const std::filesystem::path labels = place_.path() / "labels.csv";
  const std::filesystem::path features = place_.path() / "features.csv";
  write_file(edges, "0,1\n1,2\n2,3\n3,4\n4,5\n5,6\n6,7\n7,0\n");
  write_file(labels, "0\n1\n0\n1\n0\n1\n0\n1\n");
  write_file(features, "1,0\n0,1\n1,0\n0,1\n1,0\n0,1\n1,0\n0,1\n");
  settings::Config settings = config(edges.string());
  const auto set = [&](const char* key, const std::string& value) {
    settings.set(key, value, settings::Origin::kFlag, "test");
  };
  set("data.labels", labels.string());
  set("data.features", features.string());
  set("data.split", "ratio:60/20/20");
  set("data.split_per_run", "true");
  Workload workload(&settings, PlanFor::kAnyMachine);
  write_file(edges, "0,1\n1,2\n2,3\n3,4\n4,5\n5,6\n6,7\n");
  try {
    workload.reload(1);
    FAIL() << "an edge is gone";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
    EXPECT_THAT(error.message(), HasSubstr("the data set changed while it was in use"));
  }
}

TEST_F(WorkloadTest, ARunKeepsTheTextThatWasTrained) {
  JobWatcher watcher;
  watcher.on_epoch = [&](std::int64_t, const epochs::EpochRecord&) { write_file(model_, "edited meanwhile"); };
  const runs::Report report = train(config(), watcher);
  EXPECT_EQ(read_file(report.run_folder + "/model.gneiss", 1 << 20), kNet);
}

TEST_F(WorkloadTest, DataAreLookedAtBeforeTheModelsMistakes) {
  write_file(model_, "model net() { return gcn(features, numclasses); }\n");
  const auto message = [&](const std::string& data) {
    settings::Config settings = config(data);
    return gneiss::testing::error_of([&] {
             const Workload workload(&settings, PlanFor::kAnyMachine);
             train::make_blueprint(workload.dataset(), workload.session());
           })
        .message();
  };
  EXPECT_THAT(message(kData), HasSubstr("does not compile"));
  const std::filesystem::path edges = place_.path() / "edges.csv";
  write_file(edges, "0,1\n1,2\n2,0\n");
  EXPECT_THAT(message(edges.string()), HasSubstr("has no node features"));
}

}  // namespace
}  // namespace gneiss::jobs
