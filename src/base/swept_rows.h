// Rows of files that the tasks of a band work through.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace gneiss {

/// Rows of a value in a file.
struct FileRows {
  std::byte* data;
  std::int64_t row_bytes;
  bool written;
};

/// Maps pages before a band works on them, and gives them back when tasks are through: those of tasks side by side
/// together, some MiB at a time and in whole huge pages. To give pages back interrupts every processor that may know
/// them, and what is left of a huge page is mapped again 4 KiB at a time.
class SweptRows {
 public:
  /// `cuts`: rows at which tasks start, and their number; they have to stay.
  SweptRows(std::vector<FileRows> files, std::span<const std::int64_t> cuts);

  /// All tasks are to do, once more.
  void start();
  /// Rows [begin, end) are going to be read or written.
  void map(std::int64_t begin, std::int64_t end) const;
  /// A task is through with its rows. For several threads at the same time.
  void through(std::int64_t task);

 private:
  enum class State : char { kOpen, kThrough, kGivenBack };

  /// Tasks side by side, and whether the pages that they share with others may go.
  struct Run {
    std::int64_t first;
    std::int64_t last;
    bool with_page_before;
    bool with_page_behind;
  };

  Run run_around(std::int64_t task) const;
  void give_back(const Run& run) const;
  std::int64_t row(std::int64_t task) const { return cuts_[static_cast<std::size_t>(task)]; }
  State state(std::int64_t task) const { return states_[static_cast<std::size_t>(task)]; }

  std::vector<FileRows> files_;
  std::span<const std::int64_t> cuts_;
  std::int64_t row_bytes_ = 0;  ///< of all files
  std::mutex mutex_;
  std::vector<State> states_;
};

}  // namespace gneiss
