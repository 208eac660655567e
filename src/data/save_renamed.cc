// The new order is cut into runs of ascending old ids. Each run is a place in the new file that grows as old rows come
// by, so that every file is read in its order and written in as many places as there are runs, through a buffer each.
#include "data/save_renamed.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/sweep.h"
#include "data/checksum.h"
#include "data/folder_writer.h"
#include "data/npz_write.h"
#include "graph/reorder.h"

namespace gneiss::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLeastBuffer = std::int64_t{4} << 10;
constexpr std::int64_t kMostBuffer = std::int64_t{1} << 20;
constexpr std::int64_t kFilesAtOnce = 2;  // edges and their weights

/// First new ids of the runs, and the number of nodes.
std::vector<std::int64_t> runs_of(std::span<const NodeId> order) {
  std::vector<std::int64_t> starts = {0};
  for (std::size_t v = 1; v < order.size(); ++v) {
    if (order[v] < order[v - 1]) starts.push_back(static_cast<std::int64_t>(v));
  }
  starts.push_back(std::ssize(order));
  return starts;
}

/// Whose rows go where.
struct Renaming {
  std::span<const NodeId> order;
  graph::Order position;             ///< new id by old id
  std::vector<std::int64_t> starts;  ///< of runs
  std::int64_t buffer_bytes;         ///< of one run of one file

  std::int64_t nodes() const { return std::ssize(order); }
  std::size_t run_of(std::int64_t old) const {
    const NodeId at = position[static_cast<std::size_t>(old)];
    return static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), at) - starts.begin()) - 1;
  }
};

/// An array that is written in several places at a time.
class RunsFile {
 public:
  /// `starts`: [runs + 1] the places of the runs, in elements behind the header.
  RunsFile(fs::path path, const std::string& descr, const std::vector<std::int64_t>& shape, std::size_t item_bytes,
           std::span<const std::int64_t> starts, std::int64_t buffer_bytes)
      : path_(std::move(path)), buffer_bytes_(static_cast<std::size_t>(buffer_bytes)) {
    constexpr std::size_t kPage = 4096;  // as write_npy
    const std::string header = npy_header(descr, shape, kPage);
    file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file_ < 0) fail(errno);
    put(header.data(), header.size(), 0);
    for (std::size_t run = 0; run + 1 < starts.size(); ++run)
      runs_.push_back({header.size() + static_cast<std::size_t>(starts[run]) * item_bytes, {}});
  }
  RunsFile(const RunsFile&) = delete;
  RunsFile& operator=(const RunsFile&) = delete;
  ~RunsFile() {
    if (file_ >= 0) close(file_);
  }

  template <class T>
  void append(std::size_t run, std::span<const T> row) {
    const std::span<const std::byte> bytes = std::as_bytes(row);
    Run& to = runs_[run];
    if (to.held.size() + bytes.size() > buffer_bytes_) flush(&to);
    if (bytes.size() >= buffer_bytes_) {
      put(bytes.data(), bytes.size(), to.at);
      to.at += bytes.size();
      return;
    }
    if (to.held.capacity() == 0) to.held.reserve(buffer_bytes_);
    to.held.insert(to.held.end(), bytes.begin(), bytes.end());
  }

  /// Writes what is held; the checksum of the file.
  std::uint32_t finish() {
    for (Run& run : runs_) {
      flush(&run);
      run.held = {};
    }
    if (fsync(file_) != 0 || close(std::exchange(file_, -1)) != 0) fail(errno);
    return checksum(MappedFile(path_));
  }

 private:
  struct Run {
    std::size_t at;  ///< in the file, of what is held
    std::vector<std::byte> held;
  };

  void flush(Run* run) {
    put(run->held.data(), run->held.size(), run->at);
    run->at += run->held.size();
    run->held.clear();
  }

  void put(const void* data, std::size_t bytes, std::size_t at) {
    const auto* from = static_cast<const std::byte*>(data);
    while (bytes > 0) {
      const ssize_t done = pwrite(file_, from, bytes, static_cast<off_t>(at));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail(done < 0 ? errno : ENOSPC);
      from += done;
      at += static_cast<std::size_t>(done);
      bytes -= static_cast<std::size_t>(done);
    }
  }

  [[noreturn]] void fail(int error) const {
    throw Error(ErrorCode::kDisk, fmt::format("cannot write '{}': {}", path_.string(), std::strerror(error)),
                path_.string(), "check free space and permissions");
  }

  fs::path path_;
  std::size_t buffer_bytes_;
  int file_ = -1;
  std::vector<Run> runs_;
};

/// Offsets of rows in their new order.
Buffer<EdgeId> renamed_offsets(const Renaming& to, std::span<const EdgeId> offsets) {
  Buffer<EdgeId> made(offsets.size());
  made[0] = 0;
  for (std::size_t v = 0; v < to.order.size(); ++v) {
    const auto old = static_cast<std::size_t>(to.order[v]);
    made[v + 1] = made[v] + offsets[old + 1] - offsets[old];
  }
  return made;
}

std::vector<std::int64_t> at_runs(const Renaming& to, std::span<const EdgeId> offsets) {
  std::vector<std::int64_t> starts;
  for (const std::int64_t start : to.starts) starts.push_back(offsets[static_cast<std::size_t>(start)]);
  return starts;
}

/// Sources get their new names and ascend again; parallel edges keep their order, so that their weights do.
void write_edges(const graph::Graph& graph, const Renaming& to, FolderWriter* writer) {
  std::vector<std::int64_t> starts;
  {
    const Buffer<EdgeId> offsets = renamed_offsets(to, graph.offsets());
    writer->write("in_indptr", "<i8", std::span<const EdgeId>(offsets));
    starts = at_runs(to, offsets);
  }
  const std::vector<std::int64_t> shape = {graph.num_edges()};
  RunsFile ids(writer->path_of("in_indices"), "<i4", shape, sizeof(NodeId), starts, to.buffer_bytes);
  std::unique_ptr<RunsFile> weights;
  if (graph.weighted())
    weights = std::make_unique<RunsFile>(writer->path_of("edge_weight"), "<f4", shape, sizeof(float), starts,
                                         to.buffer_bytes);
  Sweep<NodeId> old_ids(graph.sources());
  Sweep<float> old_weights(graph.weights());
  std::vector<std::pair<NodeId, float>> row;
  std::vector<NodeId> row_ids;
  std::vector<float> row_weights;
  for (std::int64_t v = 0; v < to.nodes(); ++v) {
    const EdgeId begin = graph.offsets()[static_cast<std::size_t>(v)];
    const EdgeId end = graph.offsets()[static_cast<std::size_t>(v) + 1];
    const std::size_t run = to.run_of(v);
    row_ids.clear();
    for (const NodeId source : old_ids.at(begin, end)) row_ids.push_back(to.position[static_cast<std::size_t>(source)]);
    if (weights == nullptr) {
      std::sort(row_ids.begin(), row_ids.end());
    } else {
      const std::span<const float> with = old_weights.at(begin, end);
      row.clear();
      for (std::size_t k = 0; k < row_ids.size(); ++k) row.emplace_back(row_ids[k], with[k]);
      std::stable_sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      row_weights.clear();
      for (std::size_t k = 0; k < row.size(); ++k) {
        row_ids[k] = row[k].first;
        row_weights.push_back(row[k].second);
      }
      weights->append(run, std::span<const float>(row_weights));
    }
    ids.append(run, std::span<const NodeId>(row_ids));
  }
  writer->record("in_indices", ids.finish());
  if (weights != nullptr) writer->record("edge_weight", weights->finish());
}

/// Rows as they are.
template <class T>
void write_rows(const std::string& name, const std::string& descr, const std::vector<std::int64_t>& shape,
                std::span<const T> values, const Renaming& to, std::span<const std::int64_t> starts,
                const auto& row_begin, FolderWriter* writer) {
  RunsFile file(writer->path_of(name), descr, shape, sizeof(T), starts, to.buffer_bytes);
  Sweep<T> old(values);
  for (std::int64_t v = 0; v < to.nodes(); ++v) file.append(to.run_of(v), old.at(row_begin(v), row_begin(v + 1)));
  writer->record(name, file.finish());
}

void write_features(const Features& features, const Renaming& to, FolderWriter* writer) {
  if (features.sparse) {
    const Buffer<EdgeId> offsets = renamed_offsets(to, features.offsets);
    writer->write("features_indptr", "<i8", std::span<const EdgeId>(offsets));
    const std::vector<std::int64_t> starts = at_runs(to, offsets);
    const auto begin = [&](std::int64_t v) { return features.offsets[static_cast<std::size_t>(v)]; };
    const std::vector<std::int64_t> shape = {features.nonzeros()};
    write_rows<NodeId>("features_indices", "<i4", shape, features.indices, to, starts, begin, writer);
    write_rows<float>("features_data", "<f4", shape, features.values, to, starts, begin, writer);
    return;
  }
  if (features.empty()) return;
  std::vector<std::int64_t> starts;
  for (const std::int64_t start : to.starts) starts.push_back(start * features.cols);
  const auto begin = [&](std::int64_t v) { return v * features.cols; };
  const std::vector<std::int64_t> shape = {features.rows, features.cols};
  if (features.dtype == HalfType::kNone) {
    write_rows<float>("features", "<f4", shape, features.dense, to, starts, begin, writer);
  } else {
    const char* descr = features.dtype == HalfType::kBf16 ? "<u2" : "<f2";
    write_rows<std::uint16_t>("features", descr, shape, features.halves, to, starts, begin, writer);
  }
}

}  // namespace

std::int64_t least_buffer_bytes(std::int64_t runs) { return kFilesAtOnce * runs * kLeastBuffer; }

void save_renamed(const Dataset& dataset, std::span<const NodeId> order, std::int64_t buffer_bytes,
                  const fs::path& path, bool force) {
  Renaming to = {order, graph::inverse_order(order, 1), runs_of(order), 0};
  const std::int64_t runs = std::ssize(to.starts) - 1;
  to.buffer_bytes =
      std::clamp(buffer_bytes / (kFilesAtOnce * std::max<std::int64_t>(1, runs)), kLeastBuffer, kMostBuffer);
  save_folder(dataset, path, force, 1, [&](FolderWriter* writer) {
    write_edges(dataset.graph, to, writer);
    write_features(dataset.features, to, writer);
  });
}

}  // namespace gneiss::data
