// Generators: what they promise, whatever the number of threads.
#include "data/generate.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "base/random.h"
#include "data/info.h"
#include "data/load.h"
#include "data/sample_graph.h"
#include "data/validate.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::list;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void expect_same(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(list(a.graph.offsets()), list(b.graph.offsets()));
  EXPECT_EQ(list(a.graph.sources()), list(b.graph.sources()));
  EXPECT_EQ(list(a.features.dense), list(b.features.dense));
  EXPECT_EQ(list(a.features.indices), list(b.features.indices));
  EXPECT_EQ(list(a.labels.classes), list(b.labels.classes));
  EXPECT_EQ(list(a.labels.targets), list(b.labels.targets));
  EXPECT_EQ(a.split.train, b.split.train);
}

TEST(KarateTest, IsTheRealGraph) {
  const DatasetInfo x = info(load("karate"));
  EXPECT_EQ(x.nodes, 34);
  EXPECT_EQ(x.undirected_edges, 78);
  EXPECT_EQ(x.edges, 156);
  EXPECT_TRUE(x.symmetric);
  EXPECT_EQ(x.max_in_degree, 17);
  EXPECT_THAT(x.class_sizes, ElementsAre(17, 17));
  EXPECT_EQ(x.feature_nonzeros, 34);
  EXPECT_EQ(x.train, 4);
  EXPECT_EQ(x.val + x.test, 30);
  // 67 of the 78 friendships are within a faction: the published cut of the two factions has 11 edges.
  EXPECT_NEAR(x.homophily, 67.0 / 78.0, 1e-12);
  EXPECT_THAT(validate(load("karate")), IsEmpty());
}

TEST(DcsbmTest, HitsItsNumbersExactly) {
  const DatasetInfo x = info(load("dcsbm:nodes=2000,edges=15001,classes=7,features=33,homophily=0.9"));
  EXPECT_EQ(x.nodes, 2000);
  EXPECT_EQ(x.edges, 15001);
  EXPECT_TRUE(x.symmetric);
  EXPECT_EQ(x.self_loops, 1);  // an odd count of a symmetric graph
  EXPECT_EQ(x.parallel_edges, 0);
  EXPECT_EQ(x.classes, 7);
  EXPECT_EQ(x.features, 33);
  EXPECT_NEAR(x.homophily, 0.9, 0.05);
  EXPECT_EQ(x.train, 1200);
  EXPECT_GT(x.max_in_degree, 20 * x.mean_in_degree / 3);
}

TEST(DcsbmTest, MakesDirectedSparseAndManyLabelData) {
  const DatasetInfo x = info(load("dcsbm:nodes=3000,edges=9000,features=500,density=0.031,directed=true"));
  EXPECT_EQ(x.edges, 9000);
  EXPECT_EQ(x.undirected_edges, 9000);
  EXPECT_FALSE(x.symmetric);
  EXPECT_TRUE(x.features_sparse);
  EXPECT_NEAR(x.feature_density, 0.031, 0.0005);
  const Dataset many = load("dcsbm:nodes=500,classes=20,multilabel=true");
  EXPECT_EQ(many.labels.kind, LabelKind::kMulti);
  EXPECT_EQ(many.labels.targets.size(), 500U * 20U);
}

TEST(DcsbmTest, FeaturesTellTheClasses) {
  // The nearest class mean of half the nodes must recognise the other half far better than chance (a fifth).
  const Dataset d = load("dcsbm:nodes=1000,classes=5,features=64,signal=1");
  std::vector<std::vector<double>> mean(5, std::vector<double>(64, 0));
  const auto row = [&](std::size_t v, std::size_t f) { return static_cast<double>(d.features.dense[v * 64 + f]); };
  for (std::size_t v = 0; v < 500; ++v) {
    for (std::size_t f = 0; f < 64; ++f) mean[static_cast<std::size_t>(d.labels.classes[v])][f] += row(v, f) / 100;
  }
  int right = 0;
  for (std::size_t v = 500; v < 1000; ++v) {
    std::vector<double> score(5, 0);
    for (std::size_t c = 0; c < 5; ++c) {
      for (std::size_t f = 0; f < 64; ++f) score[c] -= (row(v, f) - mean[c][f]) * (row(v, f) - mean[c][f]);
    }
    right += std::max_element(score.begin(), score.end()) - score.begin() == d.labels.classes[v] ? 1 : 0;
  }
  EXPECT_GT(right, 350);
}

TEST(DcsbmTest, DependsOnTheSeedAndNotOnThreads) {
  for (const char* spec : {"dcsbm:nodes=5000,degree=12,features=20",
                           "dcsbm:nodes=5000,features=200,density=0.05,directed=true", "rmat:scale=11"}) {
    const Dataset one = generate(spec, 3, 1);
    expect_same(one, generate(spec, 3, 2));
    expect_same(one, generate(spec, 3, 5));
    EXPECT_NE(list(one.graph.sources()), list(generate(spec, 4, 1).graph.sources())) << spec;
  }
  expect_same(generate("dcsbm:seed=9", 0, 1), generate("dcsbm", 9, 1));
}

/// Rows that memory does not hold are drawn piece by piece into a scratch file.
TEST(SampleGraph, IsTheSameInPieces) {
  for (const bool directed : {false, true}) {
    for (const bool exact : {true, false}) {
      SampleOptions options = {.nodes = 300, .edges = 4001, .directed = directed, .exact = exact, .seed = 7};
      // Drawn twice over from few nodes, so that there are double edges, surplus ones, and one long row.
      const FillPairs fill = [](std::uint64_t first, std::span<NodePair> pairs) {
        for (std::size_t i = 0; i < pairs.size(); ++i) {
          const PhiloxBlock word = philox(3, {static_cast<std::uint32_t>(first + i), 0, 0, 0});
          pairs[i] = {static_cast<NodeId>(word[0] % 4 == 0 ? 5 : word[1] % 300), static_cast<NodeId>(word[2] % 300)};
        }
      };
      const graph::Graph whole = sample_graph(options, fill);
      for (const std::int64_t room : {4, 400, 6000}) {
        for (const int threads : {1, 3}) {
          options.room_bytes = room;
          options.threads = threads;
          const graph::Graph pieces = sample_graph(options, fill);
          EXPECT_EQ(list(pieces.offsets()), list(whole.offsets())) << room;
          EXPECT_EQ(list(pieces.sources()), list(whole.sources())) << room;
          EXPECT_EQ(pieces.symmetric(), !directed);
        }
      }
      EXPECT_EQ(graph::Graph(300, Buffer<EdgeId>::copy_of(whole.offsets()), Buffer<NodeId>::copy_of(whole.sources()))
                    .symmetric(),
                !directed);
    }
  }
}

TEST(SampleGraph, SaysWhereItsScratchFileHasNoRoom) {
  const ::gneiss::testing::Environment folder("TMPDIR", "/proc/no/such/folder");
  const Error error = error_of([] {
    sample_graph({.nodes = 100, .edges = 1000, .room_bytes = 40}, [](std::uint64_t first, std::span<NodePair> pairs) {
      for (std::size_t i = 0; i < pairs.size(); ++i)
        pairs[i] = {static_cast<NodeId>((first + i) % 100), static_cast<NodeId>((first + i) / 100 % 100)};
    });
  });
  EXPECT_EQ(error.code(), ErrorCode::kDisk);
  EXPECT_THAT(error.message(), HasSubstr("/proc/no/such/folder"));
}

TEST(DcsbmTest, WorksAtTheEdges) {
  EXPECT_EQ(info(load("dcsbm:nodes=1,classes=1,degree=0")).edges, 0);
  EXPECT_EQ(info(load("dcsbm:nodes=5,classes=5,degree=1,features=0")).features, 0);
  EXPECT_EQ(info(load("dcsbm:nodes=30,classes=2,features=10,density=0.95")).features, 10);  // nearly full rows
  EXPECT_EQ(info(load("dcsbm:nodes=20,classes=1,edges=300")).edges, 300);                   // 150 of 190 pairs
}

/// The share of edges with an end at the 1 % of nodes with most.
double top_share(const Dataset& dataset) {
  const std::span<const EdgeId> offsets = dataset.graph.offsets();
  const auto degree = [&](NodeId v) {
    return offsets[static_cast<std::size_t>(v) + 1] - offsets[static_cast<std::size_t>(v)];
  };
  std::vector<NodeId> nodes(static_cast<std::size_t>(dataset.num_nodes()));
  std::iota(nodes.begin(), nodes.end(), NodeId{0});
  std::stable_sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) { return degree(a) > degree(b); });
  std::vector<bool> top(nodes.size(), false);
  for (std::size_t i = 0; i < nodes.size() / 100; ++i) top[static_cast<std::size_t>(nodes[i])] = true;
  std::int64_t touching = 0;
  for (NodeId v = 0; v < dataset.num_nodes(); ++v)
    for (EdgeId e = offsets[static_cast<std::size_t>(v)]; e < offsets[static_cast<std::size_t>(v) + 1]; ++e)
      touching += top[static_cast<std::size_t>(v)] ||
                  top[static_cast<std::size_t>(dataset.graph.sources()[static_cast<std::size_t>(e)])];
  return static_cast<double>(touching) / static_cast<double>(dataset.graph.num_edges());
}

TEST(DcsbmTest, TheTopPercentOfNodesHasTheShareOfEdgesThatWasAskedFor) {
  double before = 0;
  for (const double top : {0.1, 0.32, 0.46, 0.8}) {
    const double got = top_share(load(fmt::format("dcsbm:nodes=50000,degree=12,features=0,top={}", top)));
    EXPECT_LE(got, 1.02 * top);
    EXPECT_GE(got, (top < 0.5 ? 0.8 : 0.7) * top) << "hubs that meet again draw anew";
    EXPECT_GT(got, before);
    before = got;
  }
}

TEST(DcsbmTest, TrainingNodesGatherInAPartOfTheCommunities) {
  const Dataset even = load("dcsbm:nodes=4000,classes=20,train=0.01,val=0.1,test=0.1,seed=3");
  const Dataset gathered = load("dcsbm:nodes=4000,classes=20,train=0.01,val=0.1,test=0.1,seed=3,spread=0.1");
  EXPECT_EQ(even.split.train.size(), 40U);  // the rest is in no part
  EXPECT_EQ(even.split.val.size(), 400U);
  EXPECT_EQ(even.split.test.size(), 400U);
  EXPECT_EQ(gathered.split.train.size(), even.split.train.size());
  EXPECT_EQ(gathered.split.val.size(), even.split.val.size());
  EXPECT_EQ(list(gathered.graph.sources()), list(even.graph.sources()));
  std::set<std::int32_t> classes;
  for (const NodeId v : gathered.split.train) classes.insert(gathered.labels.classes[static_cast<std::size_t>(v)]);
  EXPECT_EQ(classes, (std::set<std::int32_t>{0, 1}));
  classes.clear();
  for (const NodeId v : even.split.train) classes.insert(even.labels.classes[static_cast<std::size_t>(v)]);
  EXPECT_GT(classes.size(), 10U);
  std::set<NodeId> all;  // the parts stay apart
  for (const auto* part : {&gathered.split.train, &gathered.split.val, &gathered.split.test})
    for (const NodeId v : *part) EXPECT_TRUE(all.insert(v).second) << v;
}

TEST(RmatTest, IsASimpleGraphOfItsScale) {
  const DatasetInfo x = info(load("rmat:scale=10,edge_factor=8"));
  EXPECT_EQ(x.nodes, 1024);
  EXPECT_TRUE(x.symmetric);
  EXPECT_EQ(x.self_loops, 0);
  EXPECT_EQ(x.parallel_edges, 0);
  EXPECT_GT(x.undirected_edges, 1024 * 4);
  EXPECT_LE(x.undirected_edges, 1024 * 8);
  EXPECT_FALSE(info(load("rmat:scale=8,directed=true")).symmetric);
}

TEST(PresetTest, HaveTheSizesOfTheTables) {
  struct Row {
    const char* name;
    std::int64_t nodes, edges, features, classes;
  };
  constexpr Row kTable[] = {{"corafull", 19793, 126842, 8710, 70},
                            {"physics", 34493, 495924, 8415, 5},
                            {"ppi", 56944, 1612348, 50, 121},
                            {"nell", 65755, 251550, 61278, 186},
                            {"flickr", 88250, 899756, 500, 7},
                            {"reddit", 232965, 114615892, 602, 41},
                            {"yelp", 716847, 13954819, 300, 100},
                            {"amazonproducts", 1569960, 264339468, 200, 107},
                            {"ogbn-arxiv", 169343, 1166243, 128, 40},
                            {"ogbn-products", 2449029, 61859140, 100, 47},
                            {"ogbn-proteins", 132534, 39561252, 128, 112},
                            {"enwiki-2013", 4203323, 202623226, 96, 128},
                            {"com-orkut", 3072441, 117185083, 128, 32},
                            {"papers100m", 111059956, 3231371744, 128, 172},
                            {"mag240m", 244160499, 3500000000, 768, 153},
                            {"wikikg90m", 87143637, 1000000000, 768, 32},
                            {"twitter", 41652230, 2405026092, 256, 64},
                            {"uk-2006-05", 77741046, 5300000000, 256, 64}};
  ASSERT_EQ(presets().size(), std::size(kTable));
  for (std::size_t i = 0; i < std::size(kTable); ++i) {
    const DcsbmOptions& o = presets()[i].options;
    EXPECT_EQ(presets()[i].name, kTable[i].name);
    EXPECT_EQ(o.nodes, kTable[i].nodes);
    EXPECT_EQ(o.edges, kTable[i].edges);
    EXPECT_EQ(o.features, kTable[i].features);
    EXPECT_EQ(o.classes, kTable[i].classes);
    EXPECT_EQ(o.multilabel,
              o.name == "ppi" || o.name == "yelp" || o.name == "amazonproducts" || o.name == "ogbn-proteins");
  }
}

TEST(PresetTest, IsMadeInFullAndScaled) {
  const DatasetInfo full = info(load("corafull"));
  EXPECT_EQ(full.nodes, 19793);
  EXPECT_EQ(full.edges, 126842);
  EXPECT_EQ(full.features, 8710);
  EXPECT_EQ(full.classes, 70);
  EXPECT_NEAR(full.feature_density, 0.0065, 0.0001);
  const DatasetInfo part = info(load("yelp:scale=0.01"));
  EXPECT_EQ(part.nodes, 7168);
  EXPECT_EQ(part.edges, 139548);
  EXPECT_EQ(part.label_kind, LabelKind::kMulti);
}

TEST(GeneratorSpecTest, RefusesWhatItDoesNotKnow) {
  const auto fails = [](const char* spec) { return error_of([&] { generate(spec, 0, 1); }); };
  EXPECT_THAT(fails("dcsmb").hint(), HasSubstr("did you mean 'dcsbm'?"));
  EXPECT_THAT(fails("dcsbm:node=3").hint(), HasSubstr("did you mean 'nodes'?"));
  EXPECT_THAT(fails("dcsbm:nodes=3,nodes=4").message(), HasSubstr("'nodes' is given twice"));
  EXPECT_THAT(fails("dcsbm:nodes").message(), HasSubstr("expected key=value, got 'nodes'"));
  EXPECT_THAT(fails("dcsbm:nodes=many").message(), HasSubstr("nodes: expected a whole number, got 'many'"));
  EXPECT_THAT(fails("dcsbm:homophily=nan").message(), HasSubstr("homophily: expected a number, got 'nan'"));
  EXPECT_THAT(fails("dcsbm:multilabel=maybe").message(), HasSubstr("expected true or false"));
  EXPECT_THAT(fails("dcsbm:homophily=1.5").message(), HasSubstr("homophily = 1.5 is outside 0..1"));
  EXPECT_THAT(fails("dcsbm:top=0.95").message(), HasSubstr("top = 0.95 is outside 0..0.9"));
  EXPECT_THAT(fails("dcsbm:spread=2").message(), HasSubstr("spread = 2 is outside 0..1"));
  EXPECT_THAT(fails("dcsbm:top=0.5,power=3").message(), HasSubstr("either power or top"));
  EXPECT_THAT(fails("dcsbm:classes=10,train=0.9,spread=0.1").message(), HasSubstr("training nodes do not fit into 1"));
  EXPECT_THAT(fails("dcsbm:nodes=0").message(), HasSubstr("nodes = 0 is outside"));
  EXPECT_THAT(fails("dcsbm:edges=5,degree=2").message(), HasSubstr("either edges or degree"));
  EXPECT_THAT(fails("flickr:nodes=10").message(), HasSubstr("use scale="));
  EXPECT_THAT(fails("flickr:scale=2").message(), HasSubstr("scale = 2 is outside 0..1"));
  EXPECT_THAT(fails("karate:seed=1").message(), HasSubstr("karate has no option 'seed'"));
  EXPECT_THAT(fails("rmat:a=0.9,b=0.9").message(), HasSubstr("a + b + c = 1.99 is outside 0..1"));
  EXPECT_THAT(fails("rmat:scale=40").message(), HasSubstr("scale = 40 is outside 1..30"));
}

TEST(GeneratorSpecTest, RefusesWhatDoesNotFit) {
  const Error error = error_of([] { generate("reddit", 0, 1, 100'000'000); });
  EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(error.message(), HasSubstr("the limit is 100 MB"));
  EXPECT_EQ(error_of([] { generate("rmat:scale=20", 0, 1, 1'000'000); }).code(), ErrorCode::kOutOfMemory);
}

}  // namespace
}  // namespace gneiss::data
