// Rows are sorted and cut into runs: a gap of less than a page costs less to read than another call does. Each run is
// first read without waiting (RWF_NOWAIT); where that fails, the system is asked to read ahead (POSIX_FADV_WILLNEED),
// and the run is read again once all others were tried. So a disk sees all reads of a batch at the same time, without a
// ring of requests. The system's own read-ahead is off: it would read what nobody asks for.
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
#include "base/file_pages.h"
#include "data/given.h"

namespace gneiss::data {
namespace {

constexpr std::int64_t kGapBytes = 4096;
constexpr std::int64_t kRunBytes = std::int64_t{256} << 10;

/// A row to read, and its place in the result.
struct Wanted {
  NodeId row;
  std::uint32_t place;
};

template <class T>
const void* in_file(const Buffer<T>& buffer) {
  return as_in_file(buffer) ? buffer.data() : nullptr;
}

}  // namespace

/// Wanted rows that are read at once.
struct FeatureFile::Run {
  std::span<const Wanted> rows;
  std::int64_t begin = 0;  ///< bytes behind the first row of the file
  std::int64_t bytes = 0;
};

std::shared_ptr<const FeatureFile> FeatureFile::of(const Features& features) {
  if (features.sparse || features.empty() || is_lent(features)) return nullptr;
  const bool halves = features.dtype != HalfType::kNone;
  const void* const data = halves ? in_file(features.halves) : in_file(features.dense);
  if (data == nullptr) return nullptr;
  std::optional<FilePlace> place = file_behind(data);
  if (!place) return nullptr;
  const int descriptor = open(place->path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM);
  const std::int64_t row_bytes =
      features.cols * static_cast<std::int64_t>(halves ? sizeof(std::uint16_t) : sizeof(float));
  return std::shared_ptr<const FeatureFile>(
      new FeatureFile(descriptor, std::move(place->path), place->offset, row_bytes));
}

FeatureFile::~FeatureFile() { close(descriptor_); }

std::int64_t FeatureFile::scratch_bytes(std::int64_t rows) {
  return rows * static_cast<std::int64_t>(sizeof(Wanted) + sizeof(Run)) + kRunBytes;
}

/// False where that would have to wait, or where the system cannot say so.
bool FeatureFile::read_at_once(const Run& run, std::span<std::byte> to) const {
  const iovec where{to.data(), to.size()};
  const ssize_t got = preadv2(descriptor_, &where, 1, static_cast<off_t>(begin_) + run.begin, RWF_NOWAIT);
  return got == std::ssize(to);
}

void FeatureFile::wait_for(const Run& run, std::span<std::byte> to) const {
  std::size_t done = 0;
  while (done < to.size()) {
    const off_t at = static_cast<off_t>(begin_) + run.begin + static_cast<off_t>(done);
    const ssize_t got = pread(descriptor_, to.data() + done, to.size() - done, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw Error(ErrorCode::kDisk,
                  fmt::format("row {} of the features cannot be read: {}", run.rows.front().row, std::strerror(errno)),
                  path_, "the disk or the connection to it may be failing; copy the data elsewhere");
    }
    if (got == 0) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("the file ends before row {} of the features: it was cut short while in use",
                              run.rows.back().row),
                  path_, "bring the whole file back, and leave it alone while it is trained on");
    }
    done += static_cast<std::size_t>(got);
  }
}

void FeatureFile::read(std::span<const NodeId> rows, std::byte* out) const {
  thread_local std::vector<Wanted> wanted;
  thread_local std::vector<Run> late;
  thread_local std::vector<std::byte> bounce;
  wanted.clear();
  late.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) wanted.push_back({rows[i], static_cast<std::uint32_t>(i)});
  std::ranges::sort(wanted, {}, &Wanted::row);
  bounce.resize(static_cast<std::size_t>(std::max(kRunBytes, row_bytes_)));
  const auto deal = [&](const Run& run) {
    for (const Wanted& one : run.rows)
      std::memcpy(out + static_cast<std::int64_t>(one.place) * row_bytes_,
                  bounce.data() + (static_cast<std::int64_t>(one.row) * row_bytes_ - run.begin),
                  static_cast<std::size_t>(row_bytes_));
  };
  std::int64_t bytes = 0;
  std::int64_t waited = 0;
  for (std::size_t first = 0; first < wanted.size();) {
    const std::int64_t begin = static_cast<std::int64_t>(wanted[first].row) * row_bytes_;
    std::int64_t end = begin + row_bytes_;
    std::size_t last = first + 1;
    for (; last < wanted.size(); ++last) {
      const std::int64_t next = static_cast<std::int64_t>(wanted[last].row) * row_bytes_;
      if (next - end > kGapBytes || next + row_bytes_ - begin > kRunBytes) break;
      end = next + row_bytes_;
    }
    const Run run{std::span<const Wanted>(wanted).subspan(first, last - first), begin, end - begin};
    first = last;
    bytes += run.bytes;
    if (read_at_once(run, std::span(bounce).first(static_cast<std::size_t>(run.bytes)))) {
      deal(run);
      continue;
    }
    posix_fadvise(descriptor_, static_cast<off_t>(begin_) + run.begin, run.bytes, POSIX_FADV_WILLNEED);
    late.push_back(run);
  }
  for (const Run& run : late) {
    wait_for(run, std::span(bounce).first(static_cast<std::size_t>(run.bytes)));
    deal(run);
    waited += run.bytes;
  }
  rows_ += std::ssize(rows);
  bytes_ += bytes;
  waited_bytes_ += waited;
}

}  // namespace gneiss::data
