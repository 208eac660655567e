// Rows of features that are read from their file: the same bytes as in memory, and an error where they cannot be had.
#include "data/feature_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/pages.h"
#include "data/load.h"
#include "data/preprocess.h"
#include "data/readers.h"
#include "data/ring_reads.h"
#include "graph/reorder.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

namespace fs = std::filesystem;
using ::gneiss::testing::error_of;
using ::gneiss::testing::TempFolder;
using ::testing::HasSubstr;

/// A folder with features that are mapped, not copied: 6000 rows of 100 numbers.
fs::path write_folder(const TempFolder& folder, const std::string& type = "f32") {
  LoadOptions options;
  options.feature_dtype = type;
  const fs::path path = folder.path() / "graph";
  save(load("dcsbm:nodes=6000,classes=3,features=100", options), path, true, 2);
  return path;
}

/// Rows apart, side by side, twice, and the last.
std::vector<NodeId> some_rows() {
  std::vector<NodeId> rows = {5999, 17, 0, 17, 1500, 1501, 1502, 1510, 3};
  for (NodeId v = 2000; v < 2900; v += 7) rows.push_back(v);
  return rows;
}

TEST(FeatureFileTest, ReadsTheRowsThatMemoryHolds) {
  const TempFolder folder;
  for (const char* type : {"f32", "bf16"}) {
    LoadOptions options;
    options.feature_dtype = type;
    const Dataset dataset = load(write_folder(folder, type).string(), options);
    for (const FileReads way : {FileReads::kRing, FileReads::kByPosition}) {
      const auto file = FeatureFile::of(dataset.features, way);
      ASSERT_NE(file, nullptr) << type;
      EXPECT_EQ(fs::path(file->path()).filename(), "features.npy");
      const std::vector<NodeId> rows = some_rows();
      std::vector<std::byte> got(rows.size() * static_cast<std::size_t>(file->row_bytes()));
      file->read(rows, got.data());
      const auto* const memory = dataset.features.dtype == HalfType::kNone
                                     ? reinterpret_cast<const std::byte*>(dataset.features.dense.data())
                                     : reinterpret_cast<const std::byte*>(dataset.features.halves.data());
      EXPECT_EQ(file->row_bytes(), dataset.features.dtype == HalfType::kNone ? 400 : 200);
      for (std::size_t i = 0; i < rows.size(); ++i)
        ASSERT_EQ(std::memcmp(got.data() + static_cast<std::int64_t>(i) * file->row_bytes(),
                              memory + rows[i] * file->row_bytes(), static_cast<std::size_t>(file->row_bytes())),
                  0)
            << type << " row " << rows[i];
      EXPECT_EQ(file->traffic().rows, std::ssize(rows));
      EXPECT_GE(file->traffic().bytes, (std::ssize(rows) - 1) * file->row_bytes()) << "one row is wanted twice";
      EXPECT_LT(file->traffic().bytes, 6000 * file->row_bytes()) << "gaps are left out";
      EXPECT_LT(file->traffic().reads, 9) << "neighbours come in one read";
    }
  }
}

TEST(FeatureFileTest, ThereIsNoneWhereFeaturesAreNoFile) {
  const TempFolder folder;
  EXPECT_EQ(FeatureFile::of(load("dcsbm:nodes=6000,features=100", {}).features), nullptr) << "generated";
  const fs::path path = write_folder(folder);
  Dataset dataset = load(path.string(), {});
  ASSERT_NE(FeatureFile::of(dataset.features), nullptr);
  dataset.features.dense[0] = 1;
  EXPECT_EQ(FeatureFile::of(dataset.features), nullptr) << "changed in memory";
  dataset = load(path.string(), {});
  fs::copy_file(path / "features.npy", path / "other.npy");
  fs::remove(path / "features.npy");
  EXPECT_EQ(FeatureFile::of(dataset.features), nullptr) << "the name is gone";
  fs::rename(path / "other.npy", path / "features.npy");
  EXPECT_EQ(FeatureFile::of(dataset.features), nullptr) << "the name is another file's";
}

TEST(FeatureFileTest, AFileThatBecameTooShortIsNamed) {
  const TempFolder folder;
  const fs::path path = write_folder(folder) / "features.npy";
  const Dataset dataset = load(path.parent_path().string(), {});
  const std::uintmax_t whole = fs::file_size(path);
  for (const FileReads way : {FileReads::kRing, FileReads::kByPosition}) {
    fs::resize_file(path, whole);
    const auto file = FeatureFile::at({path.string(), 128 * 32}, 400, way);
    ASSERT_NE(file, nullptr);
    fs::resize_file(path, fs::file_size(path) - 1000 * 400);
    std::vector<std::byte> out(400);
    const std::vector<NodeId> there = {4999};
    file->read(there, out.data());
    const std::vector<NodeId> gone = {5500};
    const Error error = error_of([&] { file->read(gone, out.data()); });
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
    EXPECT_THAT(error.what(), HasSubstr("the file ends before row 5500 of the features"));
    EXPECT_THAT(error.where(), HasSubstr("features.npy"));
  }
}

/// The memory of this process is a file whose pages can be taken away: reading them then ends in EIO.
TEST(FeatureFileTest, ADiskThatFailsIsNamedAlikeBothWays) {
  if (!ring_fault().empty()) GTEST_SKIP() << "both ways are one: " << ring_fault();
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const pages = mmap(nullptr, 64 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  std::memset(pages, 7, 64 * page);
  munmap(static_cast<std::byte*>(pages) + 32 * page, page);
  std::vector<std::string> said;
  for (const FileReads way : {FileReads::kRing, FileReads::kByPosition}) {
    const FilePlace place = {"/proc/self/mem", reinterpret_cast<std::uintptr_t>(pages)};
    const auto file = FeatureFile::at(place, static_cast<std::int64_t>(page), way);
    ASSERT_NE(file, nullptr);
    std::vector<std::byte> out(3 * page);
    const std::vector<NodeId> there = {40, 3, 4};
    file->read(there, out.data());
    EXPECT_EQ(out.back(), std::byte{7});
    const std::vector<NodeId> bad = {40, 32, 3};
    const Error error = error_of([&] { file->read(bad, out.data()); });
    EXPECT_EQ(error.code(), ErrorCode::kDisk);
    EXPECT_EQ(error.where(), "/proc/self/mem");
    said.push_back(error.message());
  }
  EXPECT_EQ(said[0], "row 32 of the features cannot be read: Input/output error");
  EXPECT_EQ(said[1], said[0]);
  munmap(pages, 32 * page);
  munmap(static_cast<std::byte*>(pages) + 33 * page, 31 * page);
}

TEST(FeatureFileTest, MoreReadsThanARingHasPlaces) {
  if (!ring_fault().empty()) GTEST_SKIP() << "both ways are one: " << ring_fault();
  const TempFolder folder;
  const Dataset dataset = load(write_folder(folder).string(), {});
  std::vector<NodeId> rows;
  for (NodeId v = 5999; v >= 0; v -= 12) rows.push_back(v);  // 4400 bytes apart
  std::vector<std::vector<std::byte>> got;
  for (const FileReads way : {FileReads::kRing, FileReads::kByPosition}) {
    const auto file = FeatureFile::of(dataset.features, way);
    got.emplace_back(rows.size() * 400);
    file->read(rows, got.back().data());
    EXPECT_EQ(file->traffic().reads, 500);
    EXPECT_EQ(file->traffic().ring_reads, way == FileReads::kRing ? 500 : 0);
    EXPECT_EQ(file->describe_reads(), way == FileReads::kRing ? "io_uring" : "single reads (as asked for)");
  }
  EXPECT_EQ(got[0], got[1]);
  EXPECT_EQ(std::memcmp(got[0].data(), &dataset.features.dense[5999 * 100], 400), 0);
}

/// A ring belongs to the process that made it: a child reads by position, and says so.
TEST(FeatureFileTest, AThreadWithoutARingIsSaid) {
  if (!ring_fault().empty()) GTEST_SKIP() << ring_fault();
  const TempFolder folder;
  const Dataset dataset = load(write_folder(folder).string(), {});
  const auto file = FeatureFile::of(dataset.features);
  const std::vector<NodeId> rows = some_rows();
  std::vector<std::byte> out(rows.size() * 400);
  file->read(rows, out.data());
  EXPECT_EQ(file->describe_reads(), "io_uring");
  const pid_t child = fork();
  if (child == 0) {
    std::vector<std::byte> again(out.size());
    const auto of_child = FeatureFile::of(dataset.features);
    of_child->read(rows, again.data());
    file->read(rows, again.data());
    const bool is_said = of_child->describe_reads() == "single reads (the system gave no thread a ring)" &&
                         file->describe_reads().starts_with("io_uring and ");
    _exit(is_said && again == out ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(FeatureFileTest, RowsGoToTheirPlaces) {
  const TempFolder folder;
  const Dataset dataset = load(write_folder(folder).string(), {});
  for (const FileReads way : {FileReads::kRing, FileReads::kByPosition}) {
    const auto file = FeatureFile::of(dataset.features, way);
    std::vector<float> out(4 * 100, -1);
    file->read(std::vector<NodeId>{7, 5999, 7}, std::vector<std::uint32_t>{3, 0, 1},
               reinterpret_cast<std::byte*>(out.data()));
    const float* const memory = dataset.features.dense.data();
    EXPECT_TRUE(std::equal(out.begin(), out.begin() + 100, memory + 599900));
    EXPECT_TRUE(std::equal(out.begin() + 100, out.begin() + 200, memory + 700));
    EXPECT_EQ(out[250], -1);
    EXPECT_TRUE(std::equal(out.begin() + 300, out.end(), memory + 700));
  }
}

/// Renamed rows lie in a file without a name.
TEST(FeatureFileTest, AScratchFileIsRead) {
  const TempFolder folder;
  for (const char* type : {"f32", "bf16"}) {
    LoadOptions options;
    options.feature_dtype = type;
    Dataset dataset = load(write_folder(folder, type).string(), options);
    const graph::Order order = graph::degree_order(dataset.graph);
    Dataset expected = load((folder.path() / "graph").string(), options);
    permute(order, 1, &expected);
    permute(order, 2, &dataset, {.features = Move::kToFile, .window_bytes = 70000, .readable = true});
    const auto file = FeatureFile::of(dataset.features);
    ASSERT_NE(file, nullptr);
    EXPECT_THAT(file->path(), HasSubstr("a scratch file in "));
    const std::vector<NodeId> rows = some_rows();
    const auto row_bytes = static_cast<std::size_t>(file->row_bytes());
    std::vector<std::byte> got(rows.size() * row_bytes);
    file->read(rows, got.data());
    const bool halves = expected.features.dtype != HalfType::kNone;
    const auto* const memory = halves ? reinterpret_cast<const std::byte*>(expected.features.halves.data())
                                      : reinterpret_cast<const std::byte*>(expected.features.dense.data());
    for (std::size_t i = 0; i < rows.size(); ++i)
      ASSERT_EQ(
          std::memcmp(got.data() + i * row_bytes, memory + static_cast<std::size_t>(rows[i]) * row_bytes, row_bytes), 0)
          << type << " row " << rows[i];
    fs::remove_all(folder.path() / "graph");
  }
}

/// Bytes of a file that the system's cache has.
std::int64_t cached_bytes(const fs::path& path) {
  const auto size = static_cast<std::size_t>(fs::file_size(path));
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* const data = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  std::vector<unsigned char> there((size + page - 1) / page);
  EXPECT_EQ(mincore(data, size, there.data()), 0);
  munmap(data, size);
  close(file);
  return static_cast<std::int64_t>(page) * std::ranges::count_if(there, [](unsigned char c) { return (c & 1U) != 0; });
}

TEST(FeatureFileTest, TheSystemsCacheIsBounded) {
  const ::gneiss::testing::Environment on_disk("TMPDIR", "/var/tmp");
  const TempFolder folder;
  struct statfs status {};
  ASSERT_EQ(statfs(folder.path().c_str(), &status), 0);
  if (static_cast<unsigned long>(status.f_type) == TMPFS_MAGIC) GTEST_SKIP() << "files lie in memory";
  const Dataset dataset = load(write_folder(folder).string(), {});
  const fs::path path = folder.path() / "graph" / "features.npy";
  constexpr std::int64_t kMapped = 2 * 4096;  // the data set maps the first and the last page, which no one can drop
  std::vector<NodeId> rows(6000);
  std::iota(rows.begin(), rows.end(), NodeId{0});
  std::vector<std::byte> whole(rows.size() * 400);
  FeatureFile::of(dataset.features)->read(rows, whole.data());
  give_back_tail(const_cast<float*>(dataset.features.dense.data()), 0, dataset.features.dense.size_bytes());
  if (cached_bytes(path) < 2'400'000) GTEST_SKIP() << "the system keeps less anyway";
  for (const FileReads way : {FileReads::kRing, FileReads::kByPosition}) {
    for (const std::int64_t bound : {std::int64_t{0}, std::int64_t{600'000}}) {
      const auto file = FeatureFile::of(dataset.features, way, bound);
      ASSERT_NE(file, nullptr);
      EXPECT_LE(cached_bytes(path), kMapped) << "what was there before";
      std::vector<std::byte> got(whole.size());
      for (std::size_t begin = 0; begin < rows.size(); begin += 1000)
        file->read(std::span(rows).subspan(begin, 1000), got.data() + begin * 400);
      EXPECT_EQ(got, whole);
      EXPECT_LE(cached_bytes(path), bound + kMapped);
      EXPECT_GE(file->traffic().let_go, 3);
    }
  }
  const auto unbounded = FeatureFile::of(dataset.features);
  unbounded->read(rows, whole.data());
  EXPECT_EQ(unbounded->traffic().let_go, 0);
  EXPECT_GE(cached_bytes(path), 2'400'000);
}

}  // namespace
}  // namespace gneiss::data
