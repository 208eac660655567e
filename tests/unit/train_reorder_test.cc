// When the automatic choice reorders, what the other settings do, and that data stay as loaded where nothing is done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/load.h"
#include "support/data_fixtures.h"
#include "train/reorder.h"
#include "train/workload.h"

namespace gneiss::train {
namespace {

using ::gneiss::testing::list;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kWide = 1 << 20;  // rows that fit in no cache

data::Dataset community_data(const std::string& more = {}) {
  return data::load("dcsbm:nodes=20000,degree=12,classes=100,features=4,seed=2" + more);
}

TEST(ReorderTest, AutoTakesClustersWhereTheyBringNeighboursTogether) {
  const data::Dataset dataset = community_data();
  graph::Order order;
  const ReorderReport report = choose_order(dataset.graph, "auto", kWide, 100, 1, &order);
  EXPECT_EQ(report.method, "clusters");
  EXPECT_EQ(report.asked, "auto");
  EXPECT_GT(report.same_block_after, report.same_block_before + 0.1);
  EXPECT_GT(report.seconds, 0);
  EXPECT_EQ(order, graph::cluster_order(dataset.graph, 1));
  EXPECT_THAT(describe(report), HasSubstr("clusters ("));
}

TEST(ReorderTest, AutoStaysWhereItCannotPay) {
  const data::Dataset dataset = community_data();
  graph::Order order;
  const auto reason = [&](const data::Dataset& data, std::int64_t width) {
    const ReorderReport report = choose_order(data.graph, "auto", width, 100, 1, &order);
    EXPECT_EQ(report.method, "none");
    EXPECT_THAT(order, IsEmpty());
    EXPECT_THAT(describe(report), HasSubstr("as given: " + report.reason));
    return report.reason;
  };
  EXPECT_THAT(reason(dataset, 0), HasSubstr("nothing is gathered"));
  EXPECT_THAT(reason(dataset, 32), HasSubstr("fit in a cache"));
  EXPECT_THAT(reason(data::load("dcsbm:nodes=9000,degree=20,classes=3,features=4"), kWide), HasSubstr("dense"));
  EXPECT_THAT(reason(data::load("dcsbm:nodes=50000,degree=60,classes=1,features=4,power=10"), kWide),
              HasSubstr("clusters would bring only"));
  EXPECT_THAT(reason(data::load("dcsbm:nodes=8000,degree=4,features=4"), kWide), HasSubstr("as it is"));
  EXPECT_EQ(choose_order(dataset.graph, "auto", kWide, 10, 1, &order).reason, "10 epochs would not win it back");
  EXPECT_THAT(order, IsEmpty());
}

TEST(ReorderTest, AMethodThatIsNamedIsApplied) {
  const data::Dataset dataset = community_data();
  graph::Order order;
  for (const char* method : {"degree", "rcm", "clusters"}) {
    EXPECT_EQ(choose_order(dataset.graph, method, 0, 100, 1, &order).method, method);
    EXPECT_EQ(order.size(), 20000U);
  }
  EXPECT_EQ(choose_order(dataset.graph, "none", kWide, 100, 1, &order).seconds, 0);
  EXPECT_THAT(order, IsEmpty());
}

TEST(ReorderTest, WithoutItDataStayAsTheyWereLoaded) {
  const data::Dataset loaded = community_data();
  for (const char* method : {"none", "auto"}) {  // 1.2 MiB of rows: nothing to gain
    Config config;
    config.set("data.name", "dcsbm:nodes=20000,degree=12,classes=100,features=4,seed=2", Origin::kFlag, "test");
    config.set("train.reorder", method, Origin::kFlag, "test");
    const Workload workload(&config);
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
  Config config;
  config.set("data.name", "dcsbm:nodes=3000,classes=9,features=4,seed=2", Origin::kFlag, "test");
  config.set("data.split", "random", Origin::kFlag, "test");
  config.set("data.split_per_run", "true", Origin::kFlag, "test");
  config.set("train.reorder", "clusters", Origin::kFlag, "test");
  Workload workload(&config);
  const std::vector<std::int64_t> ids = workload.dataset().orig_id;
  const std::vector<NodeId> train = workload.dataset().split.train;
  EXPECT_EQ(ids.size(), 3000U);
  workload.reload(1);
  EXPECT_EQ(workload.dataset().orig_id, ids);
  EXPECT_NE(workload.dataset().split.train, train);
}

}  // namespace
}  // namespace gneiss::train
