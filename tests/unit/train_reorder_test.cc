// When the automatic choice reorders, what the other settings do, and that data stay as loaded where nothing is done.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/file.h"
#include "base/file_pages.h"
#include "data/load.h"
#include "jobs/workload.h"
#include "support/compile_model.h"
#include "support/data_fixtures.h"
#include "train/reorder.h"
#include "train/session.h"

namespace gneiss::train {
namespace {

using ::gneiss::testing::Environment;
using ::gneiss::testing::list;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::int64_t kColumns = 32;

/// Of a machine whose cache holds the rows of so many nodes and not one row more, and where tiles of sources cost too
/// much to begin.
cost::Rates cache_rates(std::int64_t nodes) {
  cost::Rates rates = cost::default_rates();
  const double bytes = static_cast<double>(nodes * kColumns) * sizeof(float);
  rates.gather = {{kColumns}, {bytes, bytes + 1}, {100e9, 25e9}};
  rates.tile_gather = rates.gather;
  rates.segments = 1e6;
  return rates;
}
cost::Rates one_cluster_rates() { return cache_rates(kClusterNodes); }

data::Dataset community_data(const std::string& more = {}) {
  return data::load("dcsbm:nodes=20000,degree=12,classes=100,features=4,seed=2" + more);
}

TEST(ReorderTest, AutoTakesClustersWhereTheyBringNeighboursTogether) {
  const data::Dataset dataset = community_data();
  graph::Order order;
  const epochs::ReorderReport report =
      choose_order(dataset.graph, "auto", kColumns, 100, one_cluster_rates(), 1, &order);
  EXPECT_EQ(report.method, "clusters");
  EXPECT_EQ(report.asked, "auto");
  EXPECT_GT(report.same_cluster_after, report.same_cluster_before + 0.1);
  EXPECT_GT(report.seconds, 0);
  EXPECT_EQ(order, graph::cluster_order(dataset.graph, 1));
  EXPECT_THAT(describe(report), HasSubstr("clusters ("));
}

TEST(ReorderTest, AutoGoesByRegionsWhereACacheHoldsOne) {
  // Communities of some 40,000 nodes: more than a cluster, less than a region.
  const data::Dataset dataset = data::load("dcsbm:nodes=160000,degree=24,classes=4,features=1,seed=2");
  graph::Order order;
  const auto choose = [&](std::int64_t cached, std::int64_t epochs) {
    return choose_order(dataset.graph, "auto", kColumns, epochs, cache_rates(cached), 1, &order);
  };
  const epochs::ReorderReport chosen = choose(kRegionNodes, 200);
  EXPECT_EQ(chosen.method, "clusters") << chosen.reason;
  EXPECT_LT(chosen.same_cluster_after, 0.3);
  EXPECT_GT(chosen.same_region_after, chosen.same_region_before + 0.2);
  EXPECT_EQ(choose(kClusterNodes, 50).method, "none") << "no cache holds a region";
  EXPECT_EQ(choose(kRegionNodes, 80).method, "none") << "a region saves less than a cluster, and later";
}

TEST(ReorderTest, AutoStaysWhereTilesOfSourcesServeAsWell) {
  const data::Dataset dataset = community_data();
  graph::Order order;
  cost::Rates rates = one_cluster_rates();
  EXPECT_EQ(choose_order(dataset.graph, "auto", kColumns, 100, rates, 1, &order).method, "clusters");
  rates.segments = 1e15;
  for (double& rate : rates.stream.rates) rate = 1e12;
  const epochs::ReorderReport report = choose_order(dataset.graph, "auto", kColumns, 100, rates, 1, &order);
  EXPECT_EQ(report.method, "none");
  EXPECT_THAT(report.reason, HasSubstr("come as from a cache, tile by tile"));
}

TEST(ReorderTest, CountsTheNarrowerSideOfAProduct) {
  const auto width = [](const char* model, std::int64_t features, std::int64_t classes, std::int64_t layers) {
    const data::Dataset dataset = data::load(fmt::format("dcsbm:nodes=200,classes={},features={}", classes, features));
    return gathered_width(
        testing::compile_builtin(model, dataset, {{"hidden_channels", std::int64_t{32}}, {"num_layers", layers}}));
  };
  EXPECT_EQ(width("gcn", 200, 90, 3), 32) << "200 features and 90 classes meet 32 channels";
  EXPECT_EQ(width("gcn", 20, 9, 3), 32);
  EXPECT_EQ(width("sage", 200, 90, 3), 32) << "features are summed once";
  EXPECT_EQ(width("sage", 200, 90, 1), 200) << "and nothing else is gathered";
  EXPECT_EQ(width("mlp", 200, 90, 3), 0);
}

TEST(ReorderTest, AutoStaysWhereItCannotPay) {
  const data::Dataset dataset = community_data();
  graph::Order order;
  const auto reason = [&](const data::Dataset& data, std::int64_t width) {
    const epochs::ReorderReport report = choose_order(data.graph, "auto", width, 50, one_cluster_rates(), 1, &order);
    EXPECT_EQ(report.method, "none");
    EXPECT_THAT(order, IsEmpty());
    EXPECT_THAT(describe(report), HasSubstr("as given: " + report.reason));
    return report.reason;
  };
  EXPECT_THAT(reason(dataset, 0), HasSubstr("nothing is gathered"));
  EXPECT_THAT(reason(dataset, 8), HasSubstr("come as from a cache"));
  EXPECT_THAT(reason(data::load("dcsbm:nodes=50000,degree=12,classes=1,features=4,power=10"), kColumns),
              HasSubstr("clusters would bring only"));
  EXPECT_THAT(reason(data::load("dcsbm:nodes=200000,degree=60,classes=1,features=1,power=10"), kColumns),
              HasSubstr("clusters would bring few edges"));
  EXPECT_THAT(reason(data::load("dcsbm:nodes=8300,degree=4,features=4"), kColumns), HasSubstr("as it is"));
  EXPECT_EQ(choose_order(dataset.graph, "auto", kColumns, 10, one_cluster_rates(), 1, &order).reason,
            "10 epochs would not win it back");
  EXPECT_THAT(order, IsEmpty());
}

TEST(ReorderTest, AutoWantsLessOfMoreEpochs) {
  const data::Dataset dataset = data::load("dcsbm:nodes=50000,degree=12,classes=1,features=4,power=10");
  graph::Order order;
  EXPECT_THAT(choose_order(dataset.graph, "auto", kColumns, 50, one_cluster_rates(), 1, &order).reason,
              HasSubstr("clusters would bring only"));
  EXPECT_EQ(choose_order(dataset.graph, "auto", kColumns, 200, one_cluster_rates(), 1, &order).method, "clusters");
}

/// Rows of a cluster of nodes come faster than those of the larger tiles of sources that segments make worth it.
TEST(ReorderTest, AutoBringsNeighboursTogetherWithinTilesOfSources) {
  const data::Dataset dataset = data::load("dcsbm:nodes=60000,degree=150,classes=40,features=1,seed=2");
  graph::Order order;
  cost::Rates rates = cache_rates(4 * kClusterNodes);
  rates.gather.rates[1] = 1e9;
  const double bytes = static_cast<double>(kClusterNodes * kColumns) * sizeof(float);
  rates.tile_gather = {{kColumns}, {bytes, bytes + 1}, {100e9, 100e9}};
  rates.segments = 1e15;
  for (double& rate : rates.stream.rates) rate = 1e12;
  EXPECT_THAT(choose_order(dataset.graph, "auto", kColumns, 200, rates, 1, &order).reason, HasSubstr("tile by tile"));
  rates.tile_gather.rates[1] = 80e9;
  rates.segments = 1e9;  // dear enough for few large tiles
  const epochs::ReorderReport report = choose_order(dataset.graph, "auto", kColumns, 200, rates, 1, &order);
  EXPECT_EQ(report.method, "clusters") << report.reason;
  EXPECT_GT(report.same_cluster_after, 0.2);
}

TEST(ReorderTest, AutoGoesByTheMachinesRates) {
  const data::Dataset dataset = community_data();
  graph::Order order;
  cost::Rates rates = one_cluster_rates();
  EXPECT_EQ(choose_order(dataset.graph, "auto", kColumns, 100, rates, 1, &order).method, "clusters");
  rates.gather.rates[1] = 0.95 * rates.gather.rates[0];  // memory as fast as the cache
  EXPECT_THAT(choose_order(dataset.graph, "auto", kColumns, 100, rates, 1, &order).reason,
              HasSubstr("come as from a cache"));
}

TEST(ReorderTest, AutoGoesByThePlannedEpochs) {
  for (const char* planned : {"", "200"}) {
    settings::Config config;
    // Rows of 256 floats: 59 MiB, more than any rates take for a cache.
    config.set("data.name", "dcsbm:nodes=60000,degree=4,features=4,seed=2", settings::Origin::kFlag, "test");
    config.set("model.hidden_channels", "256", settings::Origin::kFlag, "test");
    config.set("model.num_layers", "3", settings::Origin::kFlag, "test");
    config.set("train.epochs", "10", settings::Origin::kFlag, "test");
    config.set("train.reorder", "auto", settings::Origin::kFlag, "test");
    if (*planned != 0) config.set("passes.epochs", planned, settings::Origin::kFlag, "test");
    const jobs::Workload workload(&config, jobs::PlanFor::kAnyMachine);
    EXPECT_EQ(workload.reorder().reason == "10 epochs would not win it back", *planned == 0)
        << workload.reorder().reason;
  }
}

TEST(ReorderTest, LargeFeaturesOfAFileStayThere) {
  const gneiss::testing::TempFolder place;
  const std::string folder = (place.path() / "graph").string();
  data::save(data::load("dcsbm:nodes=9000,classes=90,features=500,seed=2"), folder);  // 18 MB of features
  const auto reason = [&](const std::string& data, const std::string& mem) {
    settings::Config config;
    config.set("data.name", data, settings::Origin::kFlag, "test");
    config.set("train.mem", mem, settings::Origin::kFlag, "test");
    return jobs::Workload(&config, jobs::PlanFor::kAnyMachine).reorder().reason;
  };
  EXPECT_EQ(reason(folder, "120M"), "features of 18 MB stay in their file");
  EXPECT_THAT(reason(folder, "200M"), Not(HasSubstr("stay in their file")));
  EXPECT_THAT(reason("dcsbm:nodes=9000,classes=90,features=500,seed=2", "120M"), Not(HasSubstr("stay in their file")));
}

TEST(ReorderTest, LargeFeaturesMoveToAFileOfTheirOwn) {
  const Environment room("TMPDIR", "/var/tmp");
  if (scratch_room() < 2'000'000'000) GTEST_SKIP() << "no 2 GB of disk at /var/tmp";
  const gneiss::testing::TempFolder place;
  const std::string folder = (place.path() / "graph").string();
  data::save(data::load("dcsbm:nodes=70000,degree=4,features=1000,seed=2"), folder);  // 280 MB of features
  const auto workload = [&](const char* method) {
    settings::Config config;
    config.set("data.name", folder, settings::Origin::kFlag, "test");
    config.set("train.reorder", method, settings::Origin::kFlag, "test");
    config.set("train.mem", "1500M", settings::Origin::kFlag, "test");
    return std::make_unique<jobs::Workload>(&config, jobs::PlanFor::kAnyMachine);
  };
  EXPECT_THAT(workload("auto")->reorder().reason, Not(HasSubstr("stay in their file")));
  EXPECT_TRUE(as_in_file(workload("degree")->dataset().features.dense));
  const Environment no_room("TMPDIR", (place.path() / "absent").string());
  EXPECT_EQ(workload("auto")->reorder().reason, "features of 280 MB stay in their file");
  EXPECT_FALSE(as_in_file(workload("degree")->dataset().features.dense));
}

TEST(ReorderTest, PlansKnowWhereTheNodesLie) {
  double as_given = 0;
  for (const char* method : {"none", "clusters"}) {
    settings::Config config;
    config.set("data.name", "dcsbm:nodes=20000,degree=12,classes=100,features=4,seed=2", settings::Origin::kFlag,
               "test");
    config.set("train.reorder", method, settings::Origin::kFlag, "test");
    const jobs::Workload workload(&config, jobs::PlanFor::kAnyMachine);
    const Near near = make_blueprint(workload.dataset(), workload.session()).plan.near;
    EXPECT_DOUBLE_EQ(near.cluster, graph::near_edges(workload.dataset().graph).cluster);
    EXPECT_GT(near.cluster, as_given + 0.1) << method;
    as_given = near.cluster;
  }
}

TEST(ReorderTest, AMethodThatIsNamedIsApplied) {
  const data::Dataset dataset = community_data();
  graph::Order order;
  for (const char* method : {"degree", "rcm", "clusters"}) {
    EXPECT_EQ(choose_order(dataset.graph, method, 0, 100, one_cluster_rates(), 1, &order).method, method);
    EXPECT_EQ(order.size(), 20000U);
  }
  EXPECT_EQ(choose_order(dataset.graph, "none", kColumns, 100, one_cluster_rates(), 1, &order).seconds, 0);
  EXPECT_THAT(order, IsEmpty());
}

TEST(ReorderTest, WithoutItDataStayAsTheyWereLoaded) {
  const char* small = "dcsbm:nodes=8000,degree=12,classes=100,features=4,seed=2";
  const data::Dataset loaded = data::load(small);
  for (const char* method : {"none", "auto"}) {  // one cluster of nodes: nothing to gain by any rates
    settings::Config config;
    config.set("data.name", small, settings::Origin::kFlag, "test");
    config.set("train.reorder", method, settings::Origin::kFlag, "test");
    const jobs::Workload workload(&config, jobs::PlanFor::kAnyMachine);
    const data::Dataset& kept = workload.dataset();
    EXPECT_EQ(workload.reorder().method, "none");
    EXPECT_EQ(list(kept.graph.offsets()), list(loaded.graph.offsets()));
    EXPECT_EQ(list(kept.graph.sources()), list(loaded.graph.sources()));
    EXPECT_EQ(list(kept.features.dense), list(loaded.features.dense));
    EXPECT_EQ(list(kept.labels.classes), list(loaded.labels.classes));
    EXPECT_EQ(kept.split.train, loaded.split.train);
    EXPECT_EQ(kept.orig_id, loaded.orig_id);
  }
}

TEST(ReorderTest, DataReadAgainForAnotherRunAreInTheSameOrder) {
  settings::Config config;
  config.set("data.name", "dcsbm:nodes=3000,classes=9,features=4,seed=2", settings::Origin::kFlag, "test");
  config.set("data.split", "random", settings::Origin::kFlag, "test");
  config.set("data.split_per_run", "true", settings::Origin::kFlag, "test");
  config.set("train.reorder", "clusters", settings::Origin::kFlag, "test");
  jobs::Workload workload(&config, jobs::PlanFor::kAnyMachine);
  const std::vector<std::int64_t> ids = workload.dataset().orig_id;
  const std::vector<NodeId> train = workload.dataset().split.train;
  EXPECT_EQ(ids.size(), 3000U);
  workload.reload(1);
  EXPECT_EQ(workload.dataset().orig_id, ids);
  EXPECT_NE(workload.dataset().split.train, train);
}

}  // namespace
}  // namespace gneiss::train
