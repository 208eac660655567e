// Every reader on thousands of damaged copies of good files: each copy must either load or end in a gneiss::Error.
//
// The damage is drawn from a counter-based generator, so a failure is replayed by its number. Built with sanitizers
// this is the fuzzer of the readers; without them it still finds crashes, hangs and foreign exceptions.
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/random.h"
#include "data/generate.h"
#include "data/load.h"
#include "data/validate.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using namespace ::gneiss::testing;  // NOLINT: this file is made of fixtures

constexpr int kRounds = 1500;

/// One to four random edits: a byte set, a bit flipped, a piece removed, doubled, or filled with 0xFF.
std::string damage(std::string text, RandomStream* random) {
  const auto edits = 1 + random->below(4);
  for (std::uint64_t e = 0; e < edits && !text.empty(); ++e) {
    const auto at = static_cast<std::size_t>(random->below(text.size()));
    const auto length = static_cast<std::size_t>(1 + random->below(std::min<std::size_t>(16, text.size() - at)));
    switch (random->below(6)) {
      case 0:
        text[at] = static_cast<char>(random->next());
        break;
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1 << random->below(8)));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(at, length));
        break;
      case 4:
        text.replace(at, length, std::string(length, '\xff'));
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

/// Loads damaged copies of `content` under `name`, everything else in the folder staying as it is.
void fuzz(const TempFolder& folder, const std::string& name, const std::string& content,
          const std::filesystem::path& what, const LoadOptions& options = {}) {
  int loaded = 0;
  int refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    RandomStream random(static_cast<std::uint64_t>(round), 0xF022);
    folder.write(name, damage(content, &random));
    SCOPED_TRACE(name + " round " + std::to_string(round));
    try {
      validate(load(what.string(), options));
      ++loaded;
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      EXPECT_FALSE(error.message().empty());
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  ::testing::Test::RecordProperty("loaded", loaded);
  ::testing::Test::RecordProperty("refused", refused);
  folder.write(name, content);
}

TEST(MutationTest, StoredArchives) {
  const TempFolder folder;
  fuzz(folder, "a.npz", npz(gnn_benchmark_members()), folder.path() / "a.npz");
  fuzz(folder, "b.npz", npz(heterophilous_members()), folder.path() / "b.npz");
}

TEST(MutationTest, DeflatedArchives) {
  const TempFolder folder;
  fuzz(folder, "a.npz", npz(gnn_benchmark_members(), true), folder.path() / "a.npz");
}

/// Members damaged before they are packed, so that checksums hold and the damage reaches the arrays.
TEST(MutationTest, ArraysInsideGoodArchives) {
  for (int round = 0; round < kRounds; ++round) {
    const TempFolder folder;
    RandomStream random(static_cast<std::uint64_t>(round), 0xF023);
    auto members = round % 2 == 0 ? gnn_benchmark_members() : heterophilous_members();
    auto& content = members[static_cast<std::size_t>(random.below(members.size()))].second;
    content = damage(content, &random);
    SCOPED_TRACE(round);
    try {
      validate(load(folder.write("a.npz", npz(members)).string()));
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
    }
  }
}

TEST(MutationTest, Planetoid) {
  const TempFolder folder;
  const auto set = write_planetoid(folder);
  for (const char* part : {"allx", "tx", "ally", "y", "graph", "test.index"}) {
    const std::string name = std::string("set/ind.tiny.") + part;
    fuzz(folder, name, read_file(folder.path() / name), set);
  }
}

TEST(MutationTest, Text) {
  const TempFolder folder;
  fuzz(folder, "e.txt", "# a\nid1,id2,w\n0,1,0.5\n1,2,1e3\n2,2,-4\n", folder.path() / "e.txt");
  fuzz(folder, "e.gz", gzip("0 1\n1 2\n2 3\n3 4\n"), folder.path() / "e.gz");
  fuzz(folder, "m.mtx",
       "%%MatrixMarket matrix coordinate real symmetric\n%%GraphBLAS type double\n4 4 3\n1 1 2.5\n3 1 4\n4 2 -1\n",
       folder.path() / "m.mtx");
  LoadOptions options;
  options.features_path = folder.write("f.csv", "id,a,b\n0,1,2\n1,3,4\n");
  options.labels_path = folder.write("l.csv", "id,label\n0,x\n1,y\n");
  folder.write("e.csv", "0,1\n1,0\n");
  fuzz(folder, "f.csv", "id,a,b\n0,1,2\n1,3,4\n", folder.path() / "e.csv", options);
  fuzz(folder, "l.csv", "id,label\n0,x\n1,y\n", folder.path() / "e.csv", options);
}

/// As fuzz, for files of which there are many, and that need not be good ones.
void few_rounds(const TempFolder& folder, const std::string& name, const std::string& content,
                const std::filesystem::path& what, const LoadOptions& options) {
  for (int round = 0; round < 40; ++round) {
    RandomStream random(static_cast<std::uint64_t>(round), 0xF025);
    folder.write(name, damage(content, &random));
    SCOPED_TRACE(name + " round " + std::to_string(round));
    try {
      validate(load(what.string(), options));
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      EXPECT_FALSE(error.message().empty());
    }
  }
}

/// Every small input that other tests read: what people's tools write.
TEST(MutationTest, TablesOfOtherTools) {
  const TempFolder folder;
  for (const char* root : {"habits", "faults"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(test_data(root))) {
      const std::string path = entry.path().string();
      if (!entry.is_regular_file() || path.find("/ind.") != std::string::npos) continue;
      const std::string content = read_file(entry.path());
      LoadOptions options;
      options.split = "none";
      const std::string name = "t" + entry.path().extension().string();
      few_rounds(folder, name, content, folder.path() / name, options);
      options.features_path = folder.path() / name;
      few_rounds(folder, name, content, folder.write("e.csv", "0,1\n1,0\n"), options);
      options.labels_path = options.features_path;
      options.features_path.clear();
      few_rounds(folder, name, content, folder.path() / "e.csv", options);
    }
  }
}

TEST(MutationTest, GeomGcn) {
  const TempFolder folder;
  const std::string edges = "node_id\tnode_id\n0\t1\n2\t0\n";
  const std::string rows = "node_id\tfeature\tlabel\n1\t0,1,1\t0\n0\t1,0,0\t1\n2\t0,0,0\t1\n";
  folder.write("g/out1_graph_edges.txt", edges);
  folder.write("g/out1_node_feature_label.txt", rows);
  fuzz(folder, "g/out1_graph_edges.txt", edges, folder.path() / "g");
  fuzz(folder, "g/out1_node_feature_label.txt", rows, folder.path() / "g");
}

TEST(MutationTest, OurFolder) {
  const TempFolder folder;
  const auto target = folder.path() / "k";
  save(generate_karate(), target);
  for (const char* name : {"manifest.json", "in_indptr.npy", "in_indices.npy", "labels.npy", "train_idx.npy"}) {
    const std::string content = read_file(target / name);
    LoadOptions options;
    options.verify_checksums = false;  // or damage would never reach the arrays
    fuzz(folder, std::string("k/") + name, content, target, options);
  }
}

TEST(MutationTest, Specs) {
  for (int round = 0; round < kRounds; ++round) {
    RandomStream random(static_cast<std::uint64_t>(round), 0xF024);
    const std::string spec = damage("dcsbm:nodes=60,classes=3,degree=4,features=8,density=0.5,train=0.5", &random);
    SCOPED_TRACE(spec);
    try {
      generate(spec, 0, 1, 50'000'000);
    } catch (const Error& error) {
      EXPECT_EQ(exit_code(error.code()) == 2 || exit_code(error.code()) == 4, true) << error.what();
    }
  }
}

}  // namespace
}  // namespace gneiss::data
