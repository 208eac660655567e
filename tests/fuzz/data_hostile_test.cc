// Files made to hurt: each must end in the right kind of error, at the right place, and quickly.
//
// The list is that of the design study: lying headers, overflowing shapes, archives that overlap, lie or explode,
// pickles that call things, sizes beyond the file, ids beyond the graph, numbers that are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <ostream>

#include "data/load.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using namespace ::gneiss::testing;  // NOLINT: this file is made of fixtures
using ::testing::HasSubstr;

using Members = std::vector<std::pair<std::string, std::string>>;

struct Hostile {
  std::string name;
  std::string file;  ///< written, and loaded
  std::string content;
  ErrorCode code;
  std::string message;  ///< part of the message
  std::string where;    ///< part of the place
};

void PrintTo(const Hostile& hostile, std::ostream* out) { *out << hostile.name; }

/// A gnn-benchmark archive with one member replaced.
std::string with(const std::string& name, const std::string& content, bool deflate = false) {
  Members members = gnn_benchmark_members();
  for (auto& [key, value] : members) {
    if (key == name) value = content;
  }
  return npz(members, deflate);
}

std::string hetero_with(const std::string& name, const std::string& content) {
  Members members = heterophilous_members();
  for (auto& [key, value] : members) {
    if (key == name) value = content;
  }
  return npz(members);
}

/// An archive with one member `change` has been at.
std::string part(const std::function<void(ZipPart*)>& change) {
  ZipPart one;
  one.name = "adj_matrix.npy";
  one.content = npy_f4("(4,)", {1, 2, 3, 4});
  change(&one);
  return zip({one});
}

std::string two_parts(const std::function<void(ZipPart*, ZipPart*)>& change) {
  ZipPart a;
  a.name = "adj_indptr.npy";
  a.content = npy_f4("(40,)", std::vector<float>(40, 1));
  ZipPart b = a;
  b.name = "labels.npy";
  change(&a, &b);
  return zip({a, b});
}

std::string with_byte(std::string text, std::size_t at, char value) {
  text[at] = value;
  return text;
}

std::vector<Hostile> archive_cases() {
  const ErrorCode bad = ErrorCode::kBadData;
  const std::string good = npz(gnn_benchmark_members());
  return {
      {"NotAnArchive", "a.npz", "PK but nothing more", bad, "not a zip archive", "a.npz"},
      {"CutOff", "a.npz", good.substr(0, good.size() / 2), bad, "no end-of-directory record", "a.npz"},
      {"DirectoryBeyondFile", "a.npz", with_byte(good, good.size() - 3, '\x7f'), bad, "lies outside the file", "a.npz"},
      {"TooManyMembers", "a.npz", zip({}, std::uint16_t{500}), bad, "500 members cannot fit", "a.npz"},
      {"Encrypted", "a.npz", part([](ZipPart* p) { p->flags = 1; }), bad, "encrypted", "adj_matrix.npy"},
      {"Method", "a.npz", part([](ZipPart* p) { p->method = 93; }), bad, "compression method 93", "adj_matrix.npy"},
      {"PathTraversal", "a.npz", part([](ZipPart* p) { p->name = "../../etc/passwd"; }), bad, "path traversal",
       "../../etc/passwd"},
      {"AbsolutePath", "a.npz", part([](ZipPart* p) { p->name = "/etc/passwd"; }), bad, "path traversal",
       "/etc/passwd"},
      {"Backslash", "a.npz", part([](ZipPart* p) { p->name = "..\\x"; }), bad, "path traversal", "..\\x"},
      {"OtherLocalName", "a.npz", part([](ZipPart* p) { p->local_name = "adj_matrix.npz"; }), bad,
       "another name than the directory", "adj_matrix.npy"},
      {"OtherLocalSize", "a.npz", part([](ZipPart* p) { p->local_bytes = 3; }), bad, "other sizes, checksum or method",
       "adj_matrix.npy"},
      {"OtherZip64Size", "a.npz", part([](ZipPart* p) {
         p->zip64 = true;
         p->local_bytes = 3;
       }),
       bad, "other sizes", "adj_matrix.npy"},
      {"Zip64WithoutField", "a.npz", part([](ZipPart* p) { p->bytes = 0xFFFFFFFF; }), bad, "there is no ZIP64 field",
       "adj_matrix.npy"},
      {"Zip64Lie", "a.npz", part([](ZipPart* p) {
         p->zip64 = true;
         p->packed_bytes = std::uint64_t{1} << 60;
       }),
       bad, "reach beyond the data", "adj_matrix.npy"},
      {"StoredSizesDiffer", "a.npz", part([](ZipPart* p) { p->bytes = 5000; }), bad, "stored member of",
       "adj_matrix.npy"},
      {"Bomb", "a.npz", part([](ZipPart* p) {
         p->deflate = true;
         p->bytes = 0xF0000000;
       }),
       bad, "zip bomb", "adj_matrix.npy"},
      {"SmallerThanDeclared", "a.npz", part([](ZipPart* p) {
         p->deflate = true;
         p->bytes = p->content.size() + 100;
       }),
       bad, "deflate data are damaged", "adj_matrix"},
      {"LargerThanDeclared", "a.npz", part([](ZipPart* p) {
         p->deflate = true;
         p->bytes = p->content.size() - 4;
       }),
       bad, "deflate data are damaged", "adj_matrix"},
      {"Checksum", "a.npz", part([](ZipPart* p) { p->crc = 0x12345678; }), bad, "checksum is", "adj_matrix"},
      {"OffsetBeyondFile", "a.npz", part([](ZipPart* p) { p->offset = 0x7FFFFFFF; }), bad, "no member header at byte",
       "adj_matrix.npy"},
      {"SameName", "a.npz", two_parts([](ZipPart*, ZipPart* b) { b->name = "adj_indptr.npy"; }), bad,
       "two members have this name", "adj_indptr.npy"},
      {"Overlap", "a.npz", two_parts([](ZipPart* a, ZipPart*) { a->packed_bytes = a->bytes = a->content.size() + 60; }),
       bad, "overlaps 'adj_indptr.npy'", "labels.npy"},
  };
}

std::vector<Hostile> array_cases() {
  const ErrorCode bad = ErrorCode::kBadData;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  return {
      {"NoNpyInside", "a.npz", with("adj_indices", "hello, world"), bad, "not a .npy array", "a.npz:adj_indices"},
      {"ShapeOverflow", "a.npz", with("adj_indices", npy("<i4", "(4611686018427387904, 4)", "")), bad, "overflows",
       "a.npz:adj_indices"},
      {"ShapeBeyondMember", "a.npz", with("adj_indices", npy("<i4", "(1000000000,)", "abc"), true), bad,
       "needs 4000000000 bytes, 3 are there", "a.npz:adj_indices"},
      {"ObjectIndices", "a.npz", with("adj_indices", npy("|O", "(3,)", std::string(24, 'x'))), bad, "Python objects",
       "a.npz:adj_indices"},
      {"BigEndian", "a.npz", with("adj_indices", npy(">i4", "(3,)", std::string(12, '\0'))), bad, "big-endian",
       "a.npz:adj_indices"},
      {"NegativeDimension", "a.npz", with("adj_indptr", npy("<i4", "(-4,)", "")), bad, "negative size",
       "a.npz:adj_indptr"},
      {"NodeBeyondGraph", "a.npz", with("adj_indices", npy_i4("(3,)", {1, 3, 2})), bad,
       "element [1] is 3, outside 0..2", "a.npz:adj_indices"},
      {"NegativeNode", "a.npz", with("adj_indices", npy_i4("(3,)", {1, -2, 2})), bad, "element [1] is -2",
       "a.npz:adj_indices"},
      {"OffsetsFall", "a.npz", with("adj_indptr", npy_i4("(4,)", {0, 2, 1, 3})), bad,
       "row offset [2] is 1, expected 2..3", "a.npz:adj_indptr"},
      {"OffsetsEndWrong", "a.npz", with("adj_indptr", npy_i4("(4,)", {0, 1, 2, 2})), bad,
       "row offsets end with 2, but there are 3 entries", "a.npz:adj_indptr"},
      {"OffsetsBeyond", "a.npz", with("adj_indptr", npy_i8("(4,)", {0, 1, 1LL << 40, 3})), bad,
       "row offset [2] is 1099511627776", "a.npz:adj_indptr"},
      {"OffsetsTooFew", "a.npz", with("adj_indptr", npy_i4("(3,)", {0, 1, 3})), bad, "expected 4 row offsets, got 3",
       "a.npz:adj_indptr"},
      {"HugeShape", "a.npz", with("adj_shape", npy_i8("(2,)", {1LL << 40, 1LL << 40})), bad,
       "outside what 32-bit ids can number", "a.npz"},
      {"NegativeShape", "a.npz", with("adj_shape", npy_i8("(2,)", {-3, -3})), bad, "expected two sizes",
       "a.npz:adj_shape"},
      {"NotSquare", "a.npz", with("adj_shape", npy_i8("(2,)", {3, 4})), bad, "3 x 4, not square", "a.npz:adj_shape"},
      {"FeatureRows", "a.npz", with("attr_shape", npy_i8("(2,)", {4, 2})), bad, "4 feature rows for 3 nodes",
       "a.npz:attr_shape"},
      {"FeatureColumn", "a.npz", with("attr_indices", npy_i4("(2,)", {0, 2})), bad, "element [1] is 2, outside 0..1",
       "a.npz:attr_indices"},
      {"FeatureValues", "a.npz", with("attr_data", npy_f4("(1,)", {1})), bad, "1 values for 2 column indices",
       "a.npz:attr_data"},
      {"NanFeature", "a.npz", with("attr_data", npy_f4("(2,)", {1, nan})), bad,
       "1 feature values are NaN or infinite, the first in row 1", "a"},
      {"LabelCount", "a.npz", with("labels", npy_i4("(2,)", {0, 1})), bad, "2 labels for 3 nodes", "a.npz:labels"},
      {"NegativeLabel", "a.npz", with("labels", npy_i4("(3,)", {0, -7, 1})), bad, "label [1] is -7", "a.npz:labels"},
      {"FractionLabel", "a.npz", with("labels", npy_f4("(3,)", {0, 0.5F, 1})), bad, "element [1] is 0.5",
       "a.npz:labels"},
      {"TextLabel", "a.npz", with("labels", npy("|S1", "(3,)", "abc")), bad, "expected numbers, got text",
       "a.npz:labels"},
      {"EdgeShape", "a.npz", hetero_with("edges", npy_i8("(3, 3)", {0, 1, 1, 2, 2, 3, 0, 1, 2})), bad,
       "expected edges [m, 2] or [2, m], got (3, 3)", "a.npz:edges"},
      {"EdgeDims", "a.npz", hetero_with("edges", npy_i8("(6,)", {0, 1, 1, 2, 2, 3})), bad,
       "expected edges [m, 2] or [2, m] (2 dimensions)", "a.npz:edges"},
      {"EdgeBeyond", "a.npz", hetero_with("edges", npy_i8("(1, 2)", {0, 1LL << 50})), bad,
       "element [0, 1] is 1125899906842624, outside 0..3", "a.npz:edges"},
      {"MaskValue", "a.npz", hetero_with("train_masks", npy("|u1", "(2, 4)", std::string("\1\0\0\7\0\0\0\0", 8))), bad,
       "element [0, 3] is 7, outside 0..1", "a.npz:train_masks"},
      {"MaskSplits", "a.npz", hetero_with("val_masks", npy_bool("(0, 4)", {})), bad,
       "expected masks for 4 nodes, got (0, 4)", "a.npz:val_masks"},
      {"MaskWidth", "a.npz", hetero_with("test_masks", npy_bool("(2, 3)", {1, 0, 0, 0, 0, 0})), bad,
       "expected masks for 4 nodes", "a.npz:test_masks"},
      {"MissingMember", "a.npz", npz({{"adj_indptr", npy_i4("(1,)", {0})}}), bad, "no member 'adj_shape'", "a.npz"},
      {"PickledMatrix", "a.npz", npz({{"adj_matrix", npy("|O", "()", "xxxxxxxx")}}), bad, "Python objects",
       "a.npz:adj_matrix"},
  };
}

std::vector<Hostile> text_cases() {
  const ErrorCode bad = ErrorCode::kBadData;
  const std::string mtx = "%%MatrixMarket matrix coordinate real general\n";
  return {
      {"EntriesBeyondFile", "a.mtx", mtx + "9 9 4000000000000000000\n1 1 1\n", bad, "cannot be in a file of",
       "a.mtx:2"},
      {"EntriesOverflow", "a.mtx", mtx + "9 9 99999999999999999999\n", bad, "expected a count", "a.mtx:2"},
      {"TwoBillionRows", "a.mtx", mtx + "2147483647 2147483647 0\n", ErrorCode::kOutOfMemory,
       "a graph of 2147483647 nodes", "a.mtx"},
      {"MtxColumnZero", "a.mtx", mtx + "2 2 1\n1 0 5\n", bad, "column 0 is outside 1..2", "a.mtx:3"},
      {"MtxNul", "a.mtx", mtx + "2 2 1\n1 " + std::string(1, '\0') + "2 5\n", bad, "expected a column", "a.mtx:3"},
      {"IdOverflow", "a.txt", "0 1\n0 99999999999999999999999\n", bad, "expected a whole number as node id", "a.txt:2"},
      {"BinaryAfterText", "a.txt", "0 1\n\x01\x02\x03\n", bad, "a binary file of no known format", "a.txt"},
      {"OneColumn", "a.txt", "0\n1\n", bad, "an edge needs two fields, from and to", "a.txt:1"},
      {"WeightInfinite", "a.txt", "0 1 1e999\n", bad, "the weight of edge 0 is NaN or infinite", "a"},
      {"GzipCutOff", "a.gz", gzip("0 1\n1 2\n").substr(0, 18), bad, "the gzip data are cut off", "a.gz"},
      {"GzipGarbage", "a.gz", gzip("0 1\n1 2\n") + "tail", bad, "something that is not gzip follows", "a.gz"},
      {"GzipDamaged", "a.gz", with_byte(gzip("0 1\n1 2\n"), 12, '\xff'), bad, "gzip data are", "a.gz"},
      {"DeepJson", "set/manifest.json", std::string(100000, '['), bad, "nested deeper than 8", "manifest.json"},
      {"HugeJsonNumber", "set/manifest.json", R"({"format": "gneiss", "version": 1e400})", bad, "not valid JSON",
       "manifest.json"},
      {"RepeatedJsonKey", "set/manifest.json", R"({"format": "gneiss", "format": "gneiss"})", bad, "given twice",
       "manifest.json"},
      {"ManifestEscapes", "set/manifest.json",
       R"({"format": "gneiss", "version": 1, "files": {"../../etc/passwd": {"bytes": 1, "crc32": "0"}}})", bad,
       "not the name of a file in the folder", "files"},
      {"ManifestWithoutFiles", "set/manifest.json", R"({"format": "gneiss", "version": 1})", bad, "cannot read",
       "in_indptr.npy"},
  };
}

class HostileTest : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileTest, EndsInTheRightError) {
  const Hostile& hostile = GetParam();
  const TempFolder folder;
  const auto path = folder.write(hostile.file, hostile.content);
  const Error error = error_of([&] { load(path.string()); });
  EXPECT_EQ(error.code(), hostile.code) << error.what();
  EXPECT_THAT(error.message(), HasSubstr(hostile.message));
  EXPECT_THAT(error.where(), HasSubstr(hostile.where));
}

const auto kName = [](const auto& each) { return each.param.name; };
INSTANTIATE_TEST_SUITE_P(Archive, HostileTest, ::testing::ValuesIn(archive_cases()), kName);
INSTANTIATE_TEST_SUITE_P(Array, HostileTest, ::testing::ValuesIn(array_cases()), kName);
INSTANTIATE_TEST_SUITE_P(Text, HostileTest, ::testing::ValuesIn(text_cases()), kName);

/// A Planetoid set with one part replaced.
struct HostilePart {
  std::string name;
  std::string part;
  std::string content;
  std::string message;
};

void PrintTo(const HostilePart& hostile, std::ostream* out) { *out << hostile.name; }

std::vector<HostilePart> planetoid_cases() {
  const auto matrix = [](std::int32_t rows, const std::vector<std::int32_t>& offsets,
                         const std::vector<std::int32_t>& indices) {
    return PickleWriter().matrix(rows, 4, offsets, indices, std::vector<float>(indices.size(), 1)).finish();
  };
  PickleWriter shared;  // one long list under many keys
  shared.op("}(").integer(0).op("](");
  for (int i = 0; i < 600; ++i) shared.op("K\x01");
  shared.op("eq\x01");
  for (int i = 1; i < 200; ++i) shared.integer(i).op("h\x01");
  shared.op("u");
  return {
      {"Command", "graph",
       "\x80\x02"
       "cposix\nsystem\nU\x02ls\x85R.",
       "Python object 'posix system'"},
      {"Protocol4CutOff", "graph", "\x80\x04\x95", "the pickle is cut off"},
      {"CutOff", "allx", PickleWriter().string(std::string(200, 'x')).finish().substr(0, 50), "cut off"},
      {"ArrayForMatrix", "allx", PickleWriter().array("i4", {1}, "abcd").finish(), "no CSR matrix"},
      {"MatrixForArray", "ally", matrix(1, {0, 0}, {}), "no NumPy array"},
      {"OffsetsFall", "allx", matrix(5, {0, 4, 2, 3, 4, 6}, {0, 1, 2, 3, 3, 0}), "row offset [2] is 2"},
      {"ColumnBeyond", "allx", matrix(5, {0, 1, 2, 3, 4, 6}, {0, 1, 2, 3, 9, 0}), "element [4] is 9, outside 0..3"},
      {"RowsDiffer", "allx", matrix(4, {0, 1, 2, 3, 4}, {0, 1, 2, 3}), "do not belong together"},
      {"ColumnsDiffer", "tx", PickleWriter().matrix(2, 9, {0, 0, 0}, {}, {}).finish(), "do not belong together"},
      {"LabelBytes", "ally", PickleWriter().array("i4", {5, 3}, "few").finish(), "needs 60 bytes, 3 are there"},
      {"TestWord", "test.index", "7\nfive\n", "expected a node id, got 'five'"},
      {"TestBeyond", "test.index", "7\n99\n", "test node 99 is outside 0..7"},
      {"TestTwice", "test.index", "7\n7\n", "node 7 occurs twice"},
      {"TestCount", "test.index", "7\n", "do not belong together"},
      {"NeighbourBeyond", "graph", PickleWriter().adjacency({{1}, {0}, {}, {}, {}, {}, {}, {50}}).finish(),
       "name node 50, outside 0..7"},
      {"NeighbourNegative", "graph", PickleWriter().adjacency({{-1}, {0}, {}, {}, {}, {}, {}, {}}).finish(),
       "name node -1"},
      {"SharedLists", "graph", shared.finish(), "the neighbour lists hold"},
  };
}

class HostilePlanetoidTest : public ::testing::TestWithParam<HostilePart> {};

TEST_P(HostilePlanetoidTest, IsRefusedNamingThePart) {
  const TempFolder folder;
  const auto set = write_planetoid(folder);
  folder.write("set/ind.tiny." + GetParam().part, GetParam().content);
  const Error error = error_of([&] { load(set.string()); });
  EXPECT_EQ(error.code(), ErrorCode::kBadData);
  EXPECT_THAT(error.message(), HasSubstr(GetParam().message));
  EXPECT_THAT(std::string(error.what()), HasSubstr("ind.tiny."));
}

INSTANTIATE_TEST_SUITE_P(All, HostilePlanetoidTest, ::testing::ValuesIn(planetoid_cases()), kName);

}  // namespace
}  // namespace gneiss::data
