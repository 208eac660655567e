// load(): what a name is, options that every format shares, info and validate.
#include "data/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/generate.h"
#include "data/info.h"
#include "data/validate.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::gnn_benchmark_members;
using ::gneiss::testing::heterophilous_members;
using ::gneiss::testing::list;
using ::gneiss::testing::npy_f4;
using ::gneiss::testing::npz;
using ::gneiss::testing::TempFolder;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LoadTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    return folder_.write(name, content).string();
  }
  Error error(const std::string& what, const LoadOptions& options = {}) {
    return error_of([&] { load(what, options); });
  }

  TempFolder folder_;
};

TEST_F(LoadTest, RecognisesFilesByContent) {
  EXPECT_EQ(load(file("a.bin", npz(gnn_benchmark_members()))).format, "gnn-benchmark");
  EXPECT_EQ(load(file("b", npz(heterophilous_members()))).format, "heterophilous");
  EXPECT_EQ(load(file("c.txt", "%%MatrixMarket matrix coordinate pattern general\n1 1 0\n")).format, "matrix-market");
  EXPECT_EQ(load(file("d", "0 1\n")).format, "edge-list");
}

TEST_F(LoadTest, RecognisesFolders) {
  file("one/x.npz", npz(heterophilous_members()));
  EXPECT_EQ(load((folder_.path() / "one").string()).format, "heterophilous");
  file("two/two.npz", npz(heterophilous_members()));
  file("two/two_directed.npz", npz(heterophilous_members()));
  EXPECT_EQ(load((folder_.path() / "two").string()).name, "two");
  EXPECT_EQ(load((folder_.path() / "two/").string()).name, "two");
  file("three/graph.tsv", "0\t1\n");
  file("three/README.txt", "hello");
  EXPECT_EQ(load((folder_.path() / "three").string()).format, "edge-list");
}

TEST_F(LoadTest, SaysWhatItLookedFor) {
  EXPECT_THAT(error("karat").hint(), HasSubstr("did you mean 'karate'?"));
  EXPECT_EQ(error("karat").code(), ErrorCode::kUsage);
  EXPECT_EQ(error("no/such/file.npz").code(), ErrorCode::kBadData);
  EXPECT_EQ(error(std::string(100000, 'x')).code(), ErrorCode::kUsage);
  EXPECT_EQ(error(std::string("a\0b", 3)).code(), ErrorCode::kUsage);
  EXPECT_EQ(error("").code(), ErrorCode::kUsage);
  std::filesystem::create_directory(folder_.path() / "empty");
  EXPECT_THAT(error((folder_.path() / "empty").string()).message(),
              HasSubstr("looked for manifest.json, ind.*, *.npz"));
  file("many/a.npz", "x");
  file("many/b.npz", "x");
  EXPECT_THAT(error((folder_.path() / "many").string()).hint(), HasSubstr("name one: a.npz, b.npz"));
  EXPECT_THAT(error(file("x.npz", npz({{"foo", npy_f4("(1,)", {1})}}))).message(),
              HasSubstr("no known layout; it has: foo"));
  EXPECT_THAT(error(file("x.npy", npy_f4("(1,)", {1}))).message(), HasSubstr("one .npy array is no data set"));
  EXPECT_THAT(error(file("x.bin", std::string("\x01\x02\x00\x03", 4))).message(),
              HasSubstr("a binary file of no known format"));
  EXPECT_THAT(error(file("x.txt", "")).message(), HasSubstr("the file is empty"));
}

TEST_F(LoadTest, RefusesUnknownOptionValues) {
  LoadOptions options;
  options.format = "planetiod";
  EXPECT_THAT(error("x", options).hint(), HasSubstr("did you mean 'planetoid'?"));
  options = {};
  options.feature_norm = "l2";
  EXPECT_EQ(error("karate", options).code(), ErrorCode::kUsage);
  options = {};
  options.feature_form = "spars";
  EXPECT_THAT(error("karate", options).hint(), HasSubstr("did you mean 'sparse'?"));
  options = {};
  options.split = "3";
  EXPECT_THAT(error("karate", options).message(), HasSubstr("--split 3: the data offer 1 splits"));
  options.split = "publik";
  EXPECT_THAT(error("karate", options).hint(), HasSubstr("did you mean 'public'?"));
}

TEST_F(LoadTest, NamesTheFormatsItReads) {
  EXPECT_THAT(data_format_names(), ElementsAre("gneiss", "planetoid", "gnn-benchmark", "heterophilous", "geom-gcn",
                                               "edge-list", "matrix-market", "metis", "dimacs"));
}

TEST_F(LoadTest, AppliesSharedOptions) {
  LoadOptions options;
  options.feature_form = "sparse";
  options.split = "ratio:50/25/25";
  options.add_self_loops = true;
  const Dataset d = load("karate", options);
  EXPECT_TRUE(d.features.sparse);
  EXPECT_EQ(d.split.train.size(), 17U);
  EXPECT_EQ(info(d).self_loops, 34);
  options = {};
  options.to_undirected = true;
  EXPECT_TRUE(load("dcsbm:directed=true", options).graph.symmetric());
}

TEST_F(LoadTest, KeepsTheLargestComponentAndDrawsOnIt) {
  LoadOptions options;
  options.largest_component = true;
  options.labels_path = file("l.csv", "0\n1\n0\n1\n0\n1\n");
  const Dataset d = load(file("e.txt", "0 1\n2 3\n3 4\n4 5\n"), options);
  EXPECT_THAT(d.orig_id, ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(d.split.train.size() + d.split.val.size() + d.split.test.size(), 4U);
}

TEST_F(LoadTest, RefusesGraphsBeyondTheLimit) {
  LoadOptions options;
  options.max_bytes = 100;
  EXPECT_EQ(error(file("e.txt", "0 1\n5 900\n7 8\n"), options).code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(error(file("m.mtx", "%%MatrixMarket matrix coordinate pattern general\n2000000000 2000000000 0\n")).code(),
            ErrorCode::kOutOfMemory);
}

TEST_F(LoadTest, RefusesNanUnlessAllowed) {
  auto members = heterophilous_members();
  members[0].second = npy_f4(
      "(4, 2)", {1, 2, 3, 4, std::numeric_limits<float>::quiet_NaN(), 6, 7, std::numeric_limits<float>::infinity()});
  const std::string path = file("h.npz", npz(members));
  EXPECT_THAT(error(path).message(), HasSubstr("2 feature values are NaN or infinite, the first in row 2"));
  EXPECT_THAT(error(path).hint(), HasSubstr("--allow-nan"));
  LoadOptions options;
  options.allow_nan = true;
  EXPECT_EQ(load(path, options).num_nodes(), 4);
}

TEST(InfoTest, CountsEdges) {
  Dataset d;
  d.graph = graph::build_graph({Buffer<NodeId>::copy_of(std::vector<NodeId>{0, 1, 0, 2, 2}),
                                Buffer<NodeId>::copy_of(std::vector<NodeId>{1, 0, 1, 2, 1}),
                                {}},
                               4);
  d.labels.kind = LabelKind::kSingle;
  d.labels.num_classes = 2;
  d.labels.classes = Buffer<std::int32_t>::copy_of(std::vector<std::int32_t>{0, 0, 1, -1});
  const DatasetInfo x = info(d);
  EXPECT_EQ(x.edges, 5);
  EXPECT_EQ(x.undirected_edges, 2);
  EXPECT_EQ(x.self_loops, 1);
  EXPECT_EQ(x.parallel_edges, 1);
  EXPECT_EQ(x.isolated_nodes, 1);
  EXPECT_EQ(x.max_in_degree, 3);
  EXPECT_DOUBLE_EQ(x.mean_in_degree, 1.25);
  EXPECT_FALSE(x.symmetric);
  EXPECT_THAT(x.class_sizes, ElementsAre(2, 1));
  EXPECT_EQ(x.unlabelled, 1);
  EXPECT_DOUBLE_EQ(x.homophily, 0.5);
}

class ValidateTest : public ::testing::Test {
 protected:
  std::vector<std::string> messages(Severity severity) {
    std::vector<std::string> out;
    for (const Finding& finding : validate(d_)) {
      if (finding.severity == severity) out.push_back(finding.message);
    }
    return out;
  }

  Dataset d_ = generate_karate();
};

TEST_F(ValidateTest, FindsErrors) {
  EXPECT_THAT(messages(Severity::kError), IsEmpty());
  d_.labels.classes[5] = 9;
  d_.split.train.clear();
  d_.split.val = {99};
  d_.features.dense[40] = std::numeric_limits<float>::quiet_NaN();
  const auto errors = messages(Severity::kError);
  EXPECT_THAT(errors, Contains(HasSubstr("label of node 5 is 9, outside 0..1")));
  EXPECT_THAT(errors, Contains(HasSubstr("the split has no training nodes")));
  EXPECT_THAT(errors, Contains(HasSubstr("the val split names node 99, outside 0..33")));
  EXPECT_THAT(errors, Contains(HasSubstr("1 feature values are NaN or infinite, the first in row 1")));
  EXPECT_THAT(validate(Dataset()), Contains(Field(&Finding::message, HasSubstr("the graph has no nodes"))));
}

TEST_F(ValidateTest, Warns) {
  d_.split.test = {0, 4};
  d_.split.val.clear();
  d_.labels.classes[4] = -1;
  const auto warnings = messages(Severity::kWarning);
  EXPECT_THAT(warnings, Contains(HasSubstr("1 nodes of the test split are also in train")));
  EXPECT_THAT(warnings, Contains(HasSubstr("the val split is empty")));
  EXPECT_THAT(warnings, Contains(HasSubstr("1 nodes of the test split have no label")));
  d_.split.train = {0};
  EXPECT_THAT(messages(Severity::kWarning), Contains(HasSubstr("1 of 2 classes have no training node")));
  d_.features = {};
  d_.labels.num_classes = 1;
  EXPECT_THAT(messages(Severity::kWarning), Contains(HasSubstr("there are no node features")));
  EXPECT_THAT(messages(Severity::kWarning), Contains(HasSubstr("there is only 1 class")));
  d_.labels = {};
  EXPECT_THAT(messages(Severity::kWarning), Contains(HasSubstr("there are no labels")));
  d_.graph = graph::build_graph({}, 34);
  EXPECT_THAT(messages(Severity::kWarning), Contains(HasSubstr("the graph has no edges")));
}

}  // namespace
}  // namespace gneiss::data
