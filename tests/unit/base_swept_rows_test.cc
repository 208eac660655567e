// Pages of files that tasks map and give back.
#include "base/pages.h"
#include "base/swept_rows.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <vector>

#include "base/buffer.h"
#include "base/file.h"

namespace gneiss {
namespace {

/// How many bytes of these pages the process has mapped.
std::int64_t mapped_bytes(std::span<const std::byte> memory) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(memory.data()) / page;
  std::vector<std::uint64_t> entries(memory.size() / page);
  std::ifstream map("/proc/self/pagemap", std::ios::binary);
  map.seekg(static_cast<std::streamoff>(first * sizeof(std::uint64_t)));
  map.read(reinterpret_cast<char*>(entries.data()),
           static_cast<std::streamsize>(entries.size() * sizeof(std::uint64_t)));
  EXPECT_TRUE(map.good());
  return std::count_if(entries.begin(), entries.end(), [](std::uint64_t entry) { return entry >> 63 == 1; }) *
         static_cast<std::int64_t>(page);
}

/// Two values one behind the other in a file, swept over in tasks of 1.3 MB of both.
class SweptRowsTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kTasks = 40;
  static constexpr std::int64_t kTaskRows = 777;
  static constexpr std::int64_t kRows = kTasks * kTaskRows;
  static constexpr std::int64_t kNarrow = 400;
  static constexpr std::int64_t kWide = 1300;

  SweptRowsTest() : memory_(kRows * (kNarrow + kWide)) {
    for (std::int64_t task = 0; task <= kTasks; ++task) cuts_.push_back(task * kTaskRows);
    files_ = {{memory_.bytes().data(), kNarrow, true}, {memory_.bytes().data() + kRows * kNarrow, kWide, true}};
    give_back_tail(memory_.bytes().data(), 0, memory_.bytes().size());
  }

  /// A task writes its number to all of its rows.
  void work(SweptRows* swept, std::int64_t task) {
    const std::int64_t begin = cuts_[static_cast<std::size_t>(task)];
    const std::int64_t end = cuts_[static_cast<std::size_t>(task) + 1];
    swept->map(begin, end);
    for (const FileRows& file : files_)
      std::fill(file.data + begin * file.row_bytes, file.data + end * file.row_bytes, static_cast<std::byte>(task + 1));
  }

  void expect_all_written() {
    for (std::int64_t row = 0; row < kRows; ++row) {
      for (const FileRows& file : files_) {
        const std::byte* at = file.data + row * file.row_bytes;
        ASSERT_TRUE(std::all_of(at, at + file.row_bytes, [&](std::byte b) {
          return b == static_cast<std::byte>(row / kTaskRows + 1);
        })) << row;
      }
    }
  }

  FileMemory memory_;
  std::vector<std::int64_t> cuts_;
  std::vector<FileRows> files_;
};

TEST_F(SweptRowsTest, MemoryHoldsAFewTasksAtATime) {
  SweptRows swept(files_, cuts_);
  for (int sweep = 0; sweep < 2; ++sweep) {
    std::int64_t most = 0;
    swept.start();
    for (std::int64_t task = 0; task < kTasks; ++task) {
      work(&swept, task);
      swept.through(task);
      most = std::max(most, mapped_bytes(memory_.bytes()));
    }
    EXPECT_LT(most, std::int64_t{18} << 20) << "8 MiB, a task, and a huge page at both ends of each value";
    EXPECT_LE(mapped_bytes(memory_.bytes()), 3 * sysconf(_SC_PAGESIZE)) << "where the values meet and end";
  }
  expect_all_written();
}

TEST_F(SweptRowsTest, ATaskThatLastsKeepsNoOthers) {
  SweptRows swept(files_, cuts_);
  work(&swept, 3);
  for (std::int64_t task = 0; task < kTasks; ++task) {
    if (task == 3) continue;
    work(&swept, task);
    swept.through(task);
    EXPECT_LT(mapped_bytes(memory_.bytes()), std::int64_t{24} << 20) << task;
  }
  swept.through(3);
  EXPECT_LE(mapped_bytes(memory_.bytes()), 3 * sysconf(_SC_PAGESIZE));
  expect_all_written();
}

TEST_F(SweptRowsTest, TasksMayEndInAnyOrder) {
  std::vector<std::int64_t> order(kTasks);
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = 0; i < kTasks; ++i)
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(i * 7 % kTasks)]);
  SweptRows swept(files_, cuts_);
  for (std::size_t i = 0; i < order.size(); i += 2) {  // two at a time
    work(&swept, order[i]);
    work(&swept, order[i + 1]);
    swept.through(order[i + 1]);
    swept.through(order[i]);
  }
  EXPECT_LE(mapped_bytes(memory_.bytes()), 3 * sysconf(_SC_PAGESIZE));
  expect_all_written();
}

TEST_F(SweptRowsTest, NoTaskIsLeftBetweenOthers) {
  SweptRows swept(files_, cuts_);
  for (std::int64_t task = 0; task < kTasks; ++task) {  // every eighth is through eight tasks later
    work(&swept, task);
    if (task % 8 != 0) swept.through(task);
    if (task % 8 == 7) swept.through(task - 7);
    EXPECT_LT(mapped_bytes(memory_.bytes()), std::int64_t{24} << 20) << task;
  }
  EXPECT_LE(mapped_bytes(memory_.bytes()), 3 * sysconf(_SC_PAGESIZE));
  expect_all_written();
}

TEST_F(SweptRowsTest, WithoutFilesThereIsNothingToDo) {
  SweptRows swept({}, cuts_);
  swept.map(0, kRows);
  for (std::int64_t task = 0; task < kTasks; ++task) swept.through(task);
  EXPECT_EQ(mapped_bytes(memory_.bytes()), 0);
}

}  // namespace
}  // namespace gneiss
