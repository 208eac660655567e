// Rows are sorted and cut into runs: a gap of less than a page costs less to read than another call does. A run is one
// read that puts each row where it belongs and gaps into a page that nobody looks at.
//
// By io_uring all runs are handed over before any is waited for. Without it each is first read without waiting
// (RWF_NOWAIT); where that fails, the system is asked to read ahead (POSIX_FADV_WILLNEED), and the run is read again
// once all others were tried. A disk sees all reads of a batch at the same time either way. What did not come whole is
// read once more by plain reads, in the order of the file, and they name what is wrong: so errors do not depend on the
// way. The system's own read-ahead is off: it would read what nobody asks for.
//
// Where the system's cache is bounded, a batch is read in groups of runs, and once so much was read as the bound says,
// the system is told to let the whole file go (POSIX_FADV_DONTNEED): one call for thousands of reads, where letting
// each go by itself would cost as much as reading it. Nothing tells for sure what of it the cache had already, so all
// counts.
#include "data/feature_file.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/given.h"
#include "data/ring_reads.h"

namespace gneiss::data {
namespace {

constexpr std::int64_t kGapBytes = 4096;
constexpr std::int64_t kRunBytes = std::int64_t{256} << 10;
constexpr std::int64_t kRunRows = kMostParts / 2;  ///< each may bring a gap
constexpr std::int64_t kLeastGroup = std::int64_t{1} << 20;

/// A row to read, and its place in the result.
struct Wanted {
  NodeId row;
  std::uint32_t place;
};

}  // namespace

/// Wanted rows that are read at once.
struct FeatureFile::Run {
  NodeId first = 0;
  NodeId last = 0;
  RingRead read;
};

/// What a thread keeps from call to call.
struct FeatureFile::Scratch {
  std::vector<Wanted> wanted;
  std::vector<iovec> parts;
  std::vector<Run> runs;
  std::vector<RingRead> reads;
  std::vector<std::byte> gap = std::vector<std::byte>(kGapBytes);
};

std::shared_ptr<const FeatureFile> FeatureFile::of(const Features& features, FileReads reads,
                                                   std::int64_t cache_bytes) {
  if (features.sparse || features.empty() || is_lent(features)) return nullptr;
  const bool halves = features.dtype != HalfType::kNone;
  if (!(halves ? as_in_file(features.halves) : as_in_file(features.dense))) return nullptr;
  const std::shared_ptr<const void>& keeper = halves ? features.halves.keeper() : features.dense.keeper();
  if (const auto* scratch = std::get_deleter<ScratchPages>(keeper)) {
    const FilePlace place{"a scratch file in " + scratch_folder().string(), scratch->offset};
    return std::shared_ptr<const FeatureFile>(
        new FeatureFile(scratch->file, place, features.row_bytes(), reads, cache_bytes));
  }
  const void* const data = halves ? static_cast<const void*>(features.halves.data()) : features.dense.data();
  const std::optional<FilePlace> place = file_behind(data);
  if (!place) return nullptr;
  return at(*place, features.row_bytes(), reads, cache_bytes);
}

std::shared_ptr<const FeatureFile> FeatureFile::at(const FilePlace& place, std::int64_t row_bytes, FileReads reads,
                                                   std::int64_t cache_bytes) {
  const int descriptor = open(place.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  return std::shared_ptr<const FeatureFile>(
      new FeatureFile(std::make_shared<const OpenFile>(descriptor), place, row_bytes, reads, cache_bytes));
}

FeatureFile::FeatureFile(std::shared_ptr<const OpenFile> file, const FilePlace& place, std::int64_t row_bytes,
                         FileReads reads, std::int64_t cache_bytes)
    : file_(std::move(file)),
      descriptor_(file_->descriptor()),
      path_(place.path),
      begin_(place.offset),
      row_bytes_(row_bytes),
      way_(reads),
      cache_bytes_(cache_bytes) {
  posix_fadvise(descriptor_, 0, 0, POSIX_FADV_RANDOM);
  if (cache_bytes_ >= 0) let_go();  // what reading it for its checksum has brought
}

std::int64_t FeatureFile::scratch_bytes(std::int64_t rows) {
  return rows * static_cast<std::int64_t>(sizeof(Wanted) + 2 * sizeof(iovec) + sizeof(Run) + sizeof(RingRead)) +
         kGapBytes;
}

std::string FeatureFile::describe_reads() const {
  if (way_ == FileReads::kByPosition) return "single reads (as asked for)";
  if (!ring_fault().empty()) return "single reads (" + ring_fault() + ")";
  const Traffic all = traffic();
  if (all.ring_reads == all.reads) return "io_uring";
  if (all.ring_reads == 0) return "single reads (the system gave no thread a ring)";
  return fmt::format("io_uring and {} single reads (what a ring did not bring)", all.reads - all.ring_reads);
}

void FeatureFile::cut_into_runs(std::span<const NodeId> rows, std::span<const std::uint32_t> places, std::byte* out,
                                Scratch* scratch) const {
  std::vector<Wanted>& wanted = scratch->wanted;
  wanted.clear();
  wanted.reserve(rows.size());
  scratch->runs.reserve(rows.size());
  scratch->reads.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    wanted.push_back({rows[i], places.empty() ? static_cast<std::uint32_t>(i) : places[i]});
  std::ranges::sort(
      wanted, [](const Wanted& a, const Wanted& b) { return a.row != b.row ? a.row < b.row : a.place < b.place; });
  scratch->runs.clear();
  scratch->parts.clear();
  scratch->parts.reserve(2 * wanted.size());  // runs point into it
  std::size_t next = 0;
  while (next < wanted.size()) {
    const std::int64_t begin = static_cast<std::int64_t>(wanted[next].row) * row_bytes_;
    const std::size_t first_part = scratch->parts.size();
    std::int64_t end = begin;
    const std::size_t first = next;
    for (; next < wanted.size(); ++next) {
      const std::int64_t at = static_cast<std::int64_t>(wanted[next].row) * row_bytes_;
      // A row that is wanted twice is read twice: its second place begins a run of its own.
      const bool is_far = at < end || at - end > kGapBytes || at + row_bytes_ - begin > kRunBytes;
      if (next > first && (is_far || static_cast<std::int64_t>(next - first) >= kRunRows)) break;
      if (at > end) scratch->parts.push_back({scratch->gap.data(), static_cast<std::size_t>(at - end)});
      scratch->parts.push_back(
          {out + static_cast<std::int64_t>(wanted[next].place) * row_bytes_, static_cast<std::size_t>(row_bytes_)});
      end = at + row_bytes_;
    }
    const std::span<const iovec> parts = std::span<const iovec>(scratch->parts).subspan(first_part);
    scratch->runs.push_back({wanted[first].row,
                             wanted[next - 1].row,
                             {static_cast<std::int64_t>(begin_) + begin, end - begin, parts, false, false}});
  }
}

std::int64_t FeatureFile::read_by_ring(std::span<Run> runs, Scratch* scratch) const {
  Ring* const ring = ring_of_this_thread();
  if (ring == nullptr) {
    read_by_position(runs);
    return 0;
  }
  scratch->reads.clear();
  for (const Run& run : runs) scratch->reads.push_back(run.read);
  ring->read(descriptor_, scratch->reads);
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].read = scratch->reads[i];
  return std::ranges::count_if(runs, [](const Run& run) { return run.read.whole; });
}

/// What the system's cache has; the rest is asked for.
void FeatureFile::read_by_position(std::span<Run> runs) const {
  for (Run& run : runs) {
    RingRead& read = run.read;
    const auto count = static_cast<int>(read.parts.size());
    read.whole = read.at_once =
        preadv2(descriptor_, read.parts.data(), count, static_cast<off_t>(read.at), RWF_NOWAIT) == read.bytes;
    if (!read.whole)
      posix_fadvise(descriptor_, static_cast<off_t>(read.at), static_cast<off_t>(read.bytes), POSIX_FADV_WILLNEED);
  }
}

void FeatureFile::wait_for(const Run& run) const {
  auto at = static_cast<off_t>(run.read.at);
  for (const iovec& part : run.read.parts) {
    auto* const to = static_cast<std::byte*>(part.iov_base);
    std::size_t done = 0;
    while (done < part.iov_len) {
      const ssize_t got = pread(descriptor_, to + done, part.iov_len - done, at);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        throw Error(ErrorCode::kDisk,
                    fmt::format("row {} of the features cannot be read: {}", run.first, std::strerror(errno)), path_,
                    "the disk or the connection to it may be failing; copy the data elsewhere");
      }
      if (got == 0) {
        throw Error(ErrorCode::kBadData,
                    fmt::format("the file ends before row {} of the features: it was cut short while in use", run.last),
                    path_, "bring the whole file back, and leave it alone while it is trained on");
      }
      done += static_cast<std::size_t>(got);
      at += got;
    }
  }
}

void FeatureFile::read(std::span<const NodeId> rows, std::span<const std::uint32_t> places, std::byte* out) const {
  GNEISS_ASSERT(places.empty() || places.size() == rows.size(), "{} places for {} rows", places.size(), rows.size());
  thread_local Scratch scratch;
  cut_into_runs(rows, places, out, &scratch);
  const std::span<Run> runs = scratch.runs;
  if (cache_bytes_ < 0) {
    read_runs(runs, &scratch);
  } else {
    const std::int64_t at_once = std::max<std::int64_t>(cache_bytes_ / 4, kLeastGroup);
    for (std::size_t begin = 0; begin < runs.size();) {
      std::int64_t bytes = 0;
      std::size_t end = begin;
      while (end < runs.size() && bytes < at_once) bytes += page_bytes(runs[end++]);
      read_runs(runs.subspan(begin, end - begin), &scratch);
      begin = end;
    }
  }
  rows_ += std::ssize(rows);
}

std::int64_t FeatureFile::page_bytes(const Run& run) {
  constexpr std::int64_t kPage = 4096;
  return (run.read.at + run.read.bytes + kPage - 1) / kPage * kPage - run.read.at / kPage * kPage;
}

void FeatureFile::let_go() const {
  posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED);
  ++let_go_;
}

void FeatureFile::read_runs(std::span<Run> runs, Scratch* scratch) const {
  std::int64_t by_ring = 0;
  if (way_ == FileReads::kRing) {
    by_ring = read_by_ring(runs, scratch);
  } else {
    read_by_position(runs);
  }
  std::int64_t bytes = 0;
  std::int64_t waited = 0;
  std::int64_t brought = 0;
  for (const Run& run : runs) {
    if (!run.read.whole) wait_for(run);
    bytes += run.read.bytes;
    if (!run.read.at_once || !run.read.whole) waited += run.read.bytes;
    brought += page_bytes(run);
  }
  reads_ += std::ssize(runs);
  bytes_ += bytes;
  waited_bytes_ += waited;
  ring_reads_ += by_ring;
  if (cache_bytes_ < 0 || brought_.fetch_add(brought) + brought <= cache_bytes_) return;
  brought_ = 0;
  let_go();
}

}  // namespace gneiss::data
