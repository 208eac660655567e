// Rows of features that stay in their file and are read where a batch needs them.
//
// A data set in our folder maps its features. Training on mini-batches in less memory than they take must not touch
// those pages: each would stay with the process. This reads rows by position instead, so that the process holds the
// rows of the batches at hand, and what the system keeps of the file in its cache is the system's to drop. A read that
// fails is an error with the file's name, where a page that cannot be read would end the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/file_pages.h"
#include "data/dataset.h"

namespace gneiss::data {

/// How rows are asked for. Both bring the same bytes and the same errors.
enum class FileReads : std::uint8_t {
  kRing,        ///< by io_uring, many at a time (data/ring_reads.h); by position where there is no ring
  kByPosition,  ///< by preadv2, one after the other
};

class FeatureFile {
 public:
  /// The file that dense features are pages of, be it a scratch file that has no name (ScratchPages). Null if they lie
  /// in memory, were changed or lent, or if another file has lost its name.
  ///   cache_bytes  of the file's pages the system's cache is to keep no more than that, and what reads of the threads
  ///                have just brought; kAnyCache: it keeps what it has room for
  static std::shared_ptr<const FeatureFile> of(const Features& features, FileReads reads = FileReads::kRing,
                                               std::int64_t cache_bytes = kAnyCache);
  static constexpr std::int64_t kAnyCache = -1;
  /// Rows from a place in a file on. Null if that cannot be opened.
  static std::shared_ptr<const FeatureFile> at(const FilePlace& place, std::int64_t row_bytes, FileReads reads,
                                               std::int64_t cache_bytes = kAnyCache);
  FeatureFile(const FeatureFile&) = delete;
  FeatureFile& operator=(const FeatureFile&) = delete;

  /// Reads the bytes of rows[i], as they are stored, to out + i * row_bytes().
  /// Aliasing  rows in any order, also several times. For several threads at the same time.
  /// Cost      O(rows log rows); rows that lie near each other are read at once, with what is between them. Reads that
  ///           the system's cache cannot serve are asked for before the first is waited for.
  /// Errors    kDisk where the system cannot read, kBadData where the file has become too short: with its name.
  void read(std::span<const NodeId> rows, std::byte* out) const { read(rows, {}, out); }
  /// The same to out + places[i] * row_bytes(); no places: to i.
  void read(std::span<const NodeId> rows, std::span<const std::uint32_t> places, std::byte* out) const;

  /// Of a scratch file it says where that lies.
  const std::string& path() const { return path_; }
  /// "io_uring", or "single reads (why)"; of what has been read, if something has: also how much of it had no ring.
  std::string describe_reads() const;
  std::int64_t row_bytes() const { return row_bytes_; }
  /// What read() needs beside `out`, at most.
  static std::int64_t scratch_bytes(std::int64_t rows);

  /// What has been read so far.
  struct Traffic {
    std::int64_t rows = 0;
    std::int64_t reads = 0;         ///< of one or several rows
    std::int64_t bytes = 0;         ///< of the file, rows and what lies between them
    std::int64_t waited_bytes = 0;  ///< of these, in reads that the system's cache could not serve at once
    std::int64_t ring_reads = 0;    ///< reads that a ring brought whole
    std::int64_t let_go = 0;        ///< times that the system's cache was told to let the file go
  };
  Traffic traffic() const { return {rows_, reads_, bytes_, waited_bytes_, ring_reads_, let_go_}; }

 private:
  struct Run;
  struct Scratch;

  FeatureFile(std::shared_ptr<const OpenFile> file, const FilePlace& place, std::int64_t row_bytes, FileReads reads,
              std::int64_t cache_bytes);

  void cut_into_runs(std::span<const NodeId> rows, std::span<const std::uint32_t> places, std::byte* out,
                     Scratch* scratch) const;
  /// How many runs a ring brought whole.
  std::int64_t read_by_ring(std::span<Run> runs, Scratch* scratch) const;
  void read_by_position(std::span<Run> runs) const;
  void read_runs(std::span<Run> runs, Scratch* scratch) const;
  /// Bytes of the pages that a run touches.
  static std::int64_t page_bytes(const Run& run);
  void let_go() const;
  void wait_for(const Run& run) const;

  std::shared_ptr<const OpenFile> file_;
  int descriptor_;
  std::string path_;
  std::uint64_t begin_;  ///< of the first row
  std::int64_t row_bytes_;
  FileReads way_;
  std::int64_t cache_bytes_;
  mutable std::atomic<std::int64_t> rows_ = 0;
  mutable std::atomic<std::int64_t> reads_ = 0;
  mutable std::atomic<std::int64_t> bytes_ = 0;
  mutable std::atomic<std::int64_t> waited_bytes_ = 0;
  mutable std::atomic<std::int64_t> ring_reads_ = 0;
  mutable std::atomic<std::int64_t> brought_ = 0;  ///< bytes of pages read since the cache let the file go
  mutable std::atomic<std::int64_t> let_go_ = 0;
};

}  // namespace gneiss::data
