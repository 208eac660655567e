// Our own folder: what is saved comes back, and damage is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "data/generate.h"
#include "data/load.h"
#include "data/npy.h"
#include "data/validate.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::list;
using ::gneiss::testing::npy_bool;
using ::gneiss::testing::npy_f4;
using ::gneiss::testing::npy_i4;
using ::gneiss::testing::npy_i8;
using ::gneiss::testing::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

void expect_equal(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(list(a.graph.offsets()), list(b.graph.offsets()));
  EXPECT_EQ(list(a.graph.sources()), list(b.graph.sources()));
  EXPECT_EQ(list(a.graph.weights()), list(b.graph.weights()));
  EXPECT_EQ(a.features.cols, b.features.cols);
  EXPECT_EQ(a.features.sparse, b.features.sparse);
  EXPECT_EQ(list(a.features.dense), list(b.features.dense));
  EXPECT_EQ(list(a.features.indices), list(b.features.indices));
  EXPECT_EQ(list(a.features.values), list(b.features.values));
  EXPECT_EQ(a.labels.kind, b.labels.kind);
  EXPECT_EQ(a.labels.num_classes, b.labels.num_classes);
  EXPECT_EQ(list(a.labels.classes), list(b.labels.classes));
  EXPECT_EQ(list(a.labels.targets), list(b.labels.targets));
  EXPECT_EQ(a.split.train, b.split.train);
  EXPECT_EQ(a.split.val, b.split.val);
  EXPECT_EQ(a.split.test, b.split.test);
  EXPECT_EQ(a.orig_id, b.orig_id);
  EXPECT_EQ(a.node_names, b.node_names);
  EXPECT_EQ(a.class_names, b.class_names);
}

class FolderTest : public ::testing::Test {
 protected:
  void expect_round_trip(const Dataset& d) {
    save(d, target_, true);
    EXPECT_THAT(verify_files(target_), IsEmpty());
    expect_equal(load(target_.string()), d);
  }
  /// A folder of two nodes, made by hand, with one file replaced or added.
  std::filesystem::path by_hand(const std::string& name, const std::string& content) {
    const TempFolder& f = folder_;
    f.write("h/manifest.json", R"({"format": "gneiss", "version": 1, "num_nodes": 2})");
    f.write("h/in_indptr.npy", npy_i8("(3,)", {0, 2, 3}));
    f.write("h/in_indices.npy", npy_i4("(3,)", {1, 0, 0}));
    if (!name.empty()) f.write("h/" + name, content);
    return f.path() / "h";
  }
  Error error_with(const std::string& name, const std::string& content) {
    return error_of([&] { load(by_hand(name, content).string()); });
  }

  TempFolder folder_;
  std::filesystem::path target_ = folder_.path() / "saved";
};

TEST_F(FolderTest, DenseSparseAndManyLabelsComeBack) {
  expect_round_trip(generate_karate());
  expect_round_trip(load("dcsbm:nodes=50,classes=3,features=40,density=0.1"));
  expect_round_trip(load("dcsbm:nodes=50,classes=6,features=3,multilabel=true,directed=true"));
}

TEST_F(FolderTest, WeightsNamesAndIdsComeBack) {
  LoadOptions options;
  options.labels_path = folder_.write("l.csv", "id,class\nann,x\nbob,y\n");
  expect_round_trip(load(folder_.write("e.csv", "src,dst,w\nann,bob,0.5\nbob,\"c\",2\n").string(), options));
  expect_round_trip(load(folder_.write("f.csv", "100,200\n200,5\n").string()));
}

TEST_F(FolderTest, SparseFeaturesKeepUnusedLastColumns) {
  Dataset d = load("dcsbm:nodes=20,features=500,density=0.01");
  d.features.cols = 1000;
  expect_round_trip(d);
}

TEST_F(FolderTest, FeaturesInHalfComeBack) {
  for (const char* dtype : {"bf16", "f16"}) {
    LoadOptions options;
    options.feature_dtype = dtype;
    const Dataset d = load("dcsbm:nodes=50,classes=3,features=40", options);
    save(d, target_, true);
    EXPECT_EQ(load_npy(target_ / "features.npy").item_bytes, 2U);
    const Dataset same = load(target_.string(), options);
    EXPECT_EQ(same.features.dtype, half_type(dtype));
    EXPECT_EQ(list(same.features.halves), list(d.features.halves));
    EXPECT_TRUE(same.features.dense.empty());
    const Dataset wide = load(target_.string());
    ASSERT_EQ(wide.features.dense.size(), d.features.halves.size());
    for (std::size_t i = 0; i < d.features.halves.size(); ++i)
      EXPECT_EQ(wide.features.dense[i], from_half(d.features.dtype, d.features.halves[i]));
    options.feature_norm = "binary";  // computed in f32, then rounded again
    EXPECT_EQ(load(target_.string(), options).features.nonzeros(), d.features.nonzeros());
  }
}

TEST_F(FolderTest, FeaturesThatAreNotWhatTheManifestSays) {
  save(generate_karate(), target_);
  std::string manifest = read_file(target_ / "manifest.json");
  const auto with = [&](const std::string& dtype) {
    std::string text = manifest;
    text.replace(text.find("\"dtype\": \"f32\""), 14, "\"dtype\": \"" + dtype + "\"");
    write_file(target_ / "manifest.json", text);
    return error_of([&] { load(target_.string()); });
  };
  EXPECT_THAT(with("f8").message(), HasSubstr("dtype 'f8' is none of f32, bf16, f16"));
  const Error other = with("bf16");
  EXPECT_EQ(other.code(), ErrorCode::kBadData);
  EXPECT_THAT(other.message(), HasSubstr("the manifest says that features are bf16, the array is no row-major '<u2'"));
}

TEST_F(FolderTest, ArraysAreMappableByOthers) {
  save(generate_karate(), target_);
  for (const auto& entry : std::filesystem::directory_iterator(target_)) {
    if (entry.path().extension() != ".npy") continue;
    const NpyArray array = load_npy(entry.path());
    EXPECT_EQ((array.data.data() - array.file->bytes().data()) % 4096, 0) << entry.path();
  }
  EXPECT_EQ(load_npy(target_ / "in_indptr.npy").type, DType::kI64);
  EXPECT_EQ(load_npy(target_ / "in_indices.npy").type, DType::kI32);
}

TEST_F(FolderTest, ReplacesOnlyWhenForcedAndOnlyItsOwn) {
  const Dataset d = generate_karate();
  save(d, target_);
  const Error exists = error_of([&] { save(d, target_); });
  EXPECT_EQ(exists.code(), ErrorCode::kUsage);
  EXPECT_THAT(exists.hint(), HasSubstr("--force"));
  save(d, target_, true);
  folder_.write("precious/thesis.txt", "years of work");
  EXPECT_THAT(error_of([&] { save(d, folder_.path() / "precious", true); }).message(),
              HasSubstr("is not a Gneiss folder"));
  folder_.write("other/manifest.json", R"({"name": "an extension"})");
  EXPECT_THAT(error_of([&] { save(d, folder_.path() / "other", true); }).message(),
              HasSubstr("belongs to something else"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "precious/thesis.txt"));
}

TEST_F(FolderTest, LeavesNothingBehind) {
  save(generate_karate(), target_);
  save(generate_karate(), target_, true);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    names.push_back(entry.path().filename().string());
  EXPECT_THAT(names, ElementsAre("saved"));
}

TEST_F(FolderTest, FailsCleanlyWhereItCannotWrite) {
  const Error error = error_of([&] { save(generate_karate(), folder_.write("file", "x") / "below"); });
  EXPECT_EQ(error.code(), ErrorCode::kDisk);
}

TEST_F(FolderTest, ChecksumsOfLongFilesAreThoseOfTheWhole) {
  // Longer than the parts that are summed side by side: written in one go, checked in parts.
  save(load("ogbn-arxiv:scale=0.12"), target_);
  ASSERT_GT(std::filesystem::file_size(target_ / "features.npy"), std::uintmax_t{9} << 20);
  EXPECT_THAT(verify_files(target_), SizeIs(0));
  {
    std::fstream file(target_ / "features.npy", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x7f');
  }
  EXPECT_THAT(verify_files(target_), SizeIs(1));
}

TEST_F(FolderTest, SymmetryIsTheManifestsWordWhereChecksumsVouchForIt) {
  Dataset directed = load("dcsbm:nodes=300,classes=3,features=8");
  directed.graph = graph::build_graph(
      {Buffer<NodeId>::copy_of(std::vector<NodeId>{0, 1}), Buffer<NodeId>::copy_of(std::vector<NodeId>{1, 2}), {}},
      300);
  ASSERT_FALSE(directed.graph.symmetric());
  save(directed, target_);
  EXPECT_FALSE(load(target_.string()).graph.symmetric());
  std::string manifest = read_file(target_ / "manifest.json");
  const std::string word = "\"symmetric\": false";
  ASSERT_NE(manifest.find(word), std::string::npos);
  write_file(target_ / "manifest.json", manifest.replace(manifest.find(word), word.size(), "\"symmetric\": true"));
  const Dataset believed = load(target_.string());
  EXPECT_TRUE(believed.graph.symmetric());
  std::vector<std::string> errors;
  for (const Finding& finding : validate(believed, {})) {
    if (finding.severity == Severity::kError) errors.push_back(finding.message);
  }
  EXPECT_THAT(errors, ElementsAre(HasSubstr("symmetric")));
  LoadOptions unchecked;
  unchecked.verify_checksums = false;
  EXPECT_FALSE(load(target_.string(), unchecked).graph.symmetric());
}

TEST_F(FolderTest, SymmetryIsSearchedWhereWeightsWereAddedLater) {
  Dataset dataset = generate_karate();
  ASSERT_TRUE(dataset.graph.symmetric());
  save(dataset, target_);
  std::vector<float> weights(static_cast<std::size_t>(dataset.graph.num_edges()), 1);
  weights[0] = 2;  // of one direction only
  write_npy(target_ / "edge_weight.npy", "<f4", {dataset.graph.num_edges()}, std::as_bytes(std::span(weights)));
  EXPECT_FALSE(load(target_.string()).graph.symmetric());
}

TEST_F(FolderTest, ThreadsChangeNothing) {
  const Dataset written = load("dcsbm:nodes=9000,classes=3,features=600,seed=2");  // 21 MB: three parts of a checksum
  save(written, folder_.path() / "alone");
  save(written, target_, false, 3);
  EXPECT_EQ(read_file(target_ / "manifest.json"), read_file(folder_.path() / "alone" / "manifest.json"));
  LoadOptions options;
  options.threads = 3;
  expect_equal(load(target_.string(), options), written);
  {
    std::fstream file(target_ / "features.npy", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(20'000'000);
    file.write("\xff\xff\xff\xff\xff\xff\xff\xff", 8);
  }
  ASSERT_THAT(verify_files(target_, 3), SizeIs(1));
  EXPECT_EQ(verify_files(target_, 3)[0].message, verify_files(target_)[0].message);
  options.verify_checksums = false;
  EXPECT_THAT(error_of([&] { load(target_.string(), options); }).message(), HasSubstr("are NaN or infinite"));
}

TEST_F(FolderTest, FindsDamage) {
  save(generate_karate(), target_);
  {
    std::fstream file(target_ / "features.npy", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(5000);
    file.put('\x7f');
  }
  const auto findings = verify_files(target_);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].message, HasSubstr("features.npy: "));
  EXPECT_THAT(findings[0].message, HasSubstr("checksum"));
  EXPECT_THAT(error_of([&] { load(target_.string()); }).message(), HasSubstr("features.npy: "));
  LoadOptions careless;
  careless.verify_checksums = false;
  EXPECT_EQ(load(target_.string(), careless).num_nodes(), 34);
  std::filesystem::resize_file(target_ / "features.npy", 5000);
  EXPECT_THAT(error_of([&] { load(target_.string()); }).message(),
              HasSubstr("the file has 5000 bytes, the manifest says"));
  std::filesystem::remove(target_ / "features.npy");
  EXPECT_THAT(error_of([&] { load(target_.string()); }).message(), HasSubstr("lists this file, but it is not there"));
}

TEST_F(FolderTest, ReadsAFolderMadeByHand) {
  by_hand("train_mask.npy", npy_bool("(2,)", {0, 1}));
  by_hand("labels.npy", npy_i4("(2,)", {1, -1}));
  const Dataset d = load(by_hand("features.npy", npy_f4("(2, 1)", {3, 4})).string());
  EXPECT_THAT(list(d.graph.sources()), ElementsAre(0, 1, 0));  // sorted within the row
  EXPECT_THAT(d.split.train, ElementsAre(1));
  EXPECT_THAT(list(d.labels.classes), ElementsAre(1, -1));
  EXPECT_EQ(d.labels.num_classes, 2);
}

TEST_F(FolderTest, LargeArraysAreCheckedWhereTheyLie) {
  constexpr std::int64_t kNodes = 1000;
  constexpr std::int64_t kRow = 400;  // sources of each node: arrays of more than 1 MiB are not copied
  std::vector<std::int64_t> offsets;
  for (std::int64_t v = 0; v <= kNodes; ++v) offsets.push_back(v * kRow);
  std::vector<std::int32_t> ids;
  for (std::int64_t e = 0; e < kNodes * kRow; ++e)
    ids.push_back(static_cast<std::int32_t>(2 * (e % kRow) + e / kRow % 2));
  const auto folder = by_hand("manifest.json", R"({"format": "gneiss", "version": 1, "num_nodes": 1000})");
  const auto load_with = [&](std::size_t offset, std::int64_t end, std::size_t edge, std::int32_t source) {
    auto wrong_offsets = offsets;
    auto wrong_ids = ids;
    wrong_offsets[offset] = end;
    wrong_ids[edge] = source;
    write_npy(folder / "in_indptr.npy", "<i8", {kNodes + 1}, std::as_bytes(std::span(wrong_offsets)));
    write_npy(folder / "in_indices.npy", "<i4", {kNodes * kRow}, std::as_bytes(std::span(wrong_ids)));
    return load(folder.string());
  };
  const auto message = [&](std::size_t offset, std::int64_t end, std::size_t edge, std::int32_t source) {
    return error_of([&] { load_with(offset, end, edge, source); }).message();
  };
  EXPECT_EQ(list(load_with(0, 0, 0, 0).graph.sources()), ids);
  EXPECT_THAT(message(0, 0, 123456, kNodes), HasSubstr("element [123456] is 1000, outside 0..999"));
  EXPECT_THAT(message(0, 0, 399, kNodes), HasSubstr("element [399] is 1000, outside 0..999"));
  EXPECT_THAT(message(0, 0, 400, -1), HasSubstr("element [400] is -1, outside 0..999"));
  EXPECT_THAT(message(3, 2000, 0, 0), HasSubstr("row offset [4] is 1600, expected 2000..400000"));
  EXPECT_THAT(message(0, 5, 0, 0), HasSubstr("must start with 0"));
  EXPECT_THAT(message(kNodes, kNodes * kRow - 1, 0, 0), HasSubstr("offsets end at 399999"));
  const Dataset sorted = load_with(0, 0, 800, 500);
  EXPECT_EQ(list(sorted.graph.offsets()), offsets);
  EXPECT_TRUE(std::is_sorted(sorted.graph.sources().begin() + 800, sorted.graph.sources().begin() + 1200));
  EXPECT_EQ(std::count(sorted.graph.sources().begin() + 800, sorted.graph.sources().begin() + 1200, 500), 2);
}

TEST_F(FolderTest, NamesWhatIsWrong) {
  EXPECT_THAT(error_with("in_indptr.npy", npy_i8("(3,)", {0, 0, 0})).message(),
              HasSubstr("offsets end at 0, but there are 3 edges"));
  EXPECT_THAT(error_with("in_indptr.npy", npy_i8("(3,)", {0, 3, 2})).message(),
              HasSubstr("row offset [2] is 2, expected 3..3"));
  EXPECT_THAT(error_with("in_indptr.npy", npy_i8("(3,)", {0, 2, 9})).message(),
              HasSubstr("row offset [2] is 9, expected 2..3"));
  EXPECT_THAT(error_with("in_indptr.npy", npy_i8("(4,)", {0, 1, 2, 3})).message(),
              HasSubstr("offsets for 3 nodes, but the manifest says 2"));
  EXPECT_THAT(error_with("in_indptr.npy", npy_i8("(0,)", {})).message(), HasSubstr("at least one number"));
  EXPECT_THAT(error_with("in_indices.npy", npy_i4("(3,)", {0, 5, 0})).message(),
              HasSubstr("element [1] is 5, outside 0..1"));
  by_hand("in_indices.npy", npy_i4("(3,)", {1, 0, 0}));
  EXPECT_THAT(error_with("edge_weight.npy", npy_f4("(2,)", {1, 2})).message(),
              HasSubstr("expected 3 edge weights, got shape (2,)"));
  std::filesystem::remove(folder_.path() / "h/edge_weight.npy");
  EXPECT_THAT(error_with("features.npy", npy_f4("(3, 1)", {1, 2, 3})).message(), HasSubstr("expected 2 feature rows"));
  std::filesystem::remove(folder_.path() / "h/features.npy");
  EXPECT_THAT(error_with("labels.npy", npy_i4("(2,)", {0, -3})).message(), HasSubstr("label of node 1 is -3"));
  std::filesystem::remove(folder_.path() / "h/labels.npy");
  EXPECT_THAT(error_with("train_idx.npy", npy_i4("(2,)", {1, 1})).message(), HasSubstr("node 1 is listed twice"));
}

TEST_F(FolderTest, ChecksTheManifest) {
  const auto message = [&](const std::string& text) { return error_with("manifest.json", text).message(); };
  EXPECT_THAT(message("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(message("[]"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(message("{}"), HasSubstr("belongs to something else"));
  EXPECT_THAT(message(R"({"format": "gneiss", "version": 2})"), HasSubstr("version 2 is not read"));
  EXPECT_THAT(message(R"({"format": "gneiss", "version": 1, "version": 1})"), HasSubstr("'version' is given twice"));
  EXPECT_THAT(message(R"({"format": "gneiss", "version": 1, "num_nodes": -4})"),
              HasSubstr("expected a whole number from 0 on, got -4"));
  EXPECT_THAT(message(R"({"format": "gneiss", "version": 1, "num_nodes": 1e99})"),
              HasSubstr("expected a whole number"));
  EXPECT_THAT(message(R"({"format": "gneiss", "version": 1, "labels": {"kind": "odd"}})"),
              HasSubstr("unknown kind of labels 'odd'"));
  EXPECT_THAT(message(R"({"format": "gneiss", "version": 1, "class_names": [1]})"),
              HasSubstr("expected a list of strings"));
  EXPECT_THAT(message(R"({"format": "gneiss", "version": 1, "name": 3})"), HasSubstr("expected a string"));
  EXPECT_THAT(message(R"({"format": "gneiss", "version": 1, "files": {"../x": {}}})"),
              HasSubstr("not the name of a file in the folder"));
  EXPECT_THAT(message(R"({"format": "gneiss", "version": 1, "files": {"x": {"bytes": 1, "crc32": "zz"}}})"),
              HasSubstr("hexadecimal"));
  EXPECT_THAT(message(std::string(5000, '[')), HasSubstr("nested deeper"));
}

}  // namespace
}  // namespace gneiss::data
