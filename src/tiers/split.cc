// Prefix sums of the heat give the value of any R and M at once, so that only A has to be walked.
#include "tiers/split.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace gneiss::tiers {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// What all candidates share.
class Splitter {
 public:
  explicit Splitter(const SplitRequest& request)
      : request_(request), devices_(std::max<std::int64_t>(1, request.devices)), rows_(std::ssize(request.heat)) {
    check_orders();
    heat_.reserve(at(rows_ + 1));
    heat_.push_back(0);
    for (const double heat : request.heat) heat_.push_back(heat_.back() + heat);
    std::vector<std::int64_t> held(at(devices_), 0);
    graph_bytes_.push_back(0);
    graph_reads_.push_back(0);
    for (std::size_t a = 0; a < request.graph_rows.size(); ++a) {
      std::int64_t& mine = held[pools() ? a % held.size() : 0];
      mine += request.graph_rows[a].bytes;
      graph_bytes_.push_back(std::max(graph_bytes_.back(), mine));
      graph_reads_.push_back(graph_reads_.back() + request.graph_rows[a].reads);
    }
  }

  std::int64_t graph_rows() const { return std::ssize(request_.graph_rows); }

  /// Whether A rows of the graph fit, alone on the devices. Devices without links each hold all of them.
  bool fits(std::int64_t graph_rows) const { return graph_bytes_[at(graph_rows)] <= request_.device_bytes; }

  Split priced(Split split) const {
    const double part = pools() ? 1.0 / static_cast<double>(devices_) : 1;
    const double all = heat_.back();
    const double replicated = heat_[at(split.replicated)];
    const double pooled = heat_[at(split.replicated + split.pooled)] - replicated;
    split.own_rows = replicated + part * pooled;
    split.peer_rows = (1 - part) * pooled;
    split.host_rows = all - replicated - pooled;
    split.graph_reads_on_devices = graph_reads_[at(split.graph_rows)];
    split.graph_reads_on_host = graph_reads_.back() - split.graph_reads_on_devices;
    split.seconds = split.own_rows * request_.row.own + split.peer_rows * request_.row.peer +
                    split.host_rows * request_.row.host + split.graph_reads_on_devices * mixed(request_.graph_read) +
                    split.graph_reads_on_host * request_.graph_read.host;
    split.graph_bytes = 0;
    for (std::int64_t a = 0; a < split.graph_rows; ++a) split.graph_bytes += request_.graph_rows[at(a)].bytes;
    const std::int64_t shares = (split.pooled + devices_ - 1) / devices_;
    split.device_bytes = (split.replicated + shares) * request_.row_bytes + graph_bytes_[at(split.graph_rows)];
    return split;
  }

  /// The best R and M beside A rows of the graph, and what they save a batch; in little time.
  double saved_beside(std::int64_t graph_rows, Split* split) const {
    *split = best_beside(graph_rows);
    const double replicated = heat_[at(split->replicated)];
    const double pooled = heat_[at(split->replicated + split->pooled)] - replicated;
    const double saved_rows =
        replicated * (request_.row.host - request_.row.own) + pooled * (request_.row.host - mixed(request_.row));
    return saved_rows + graph_reads_[at(graph_rows)] * (request_.graph_read.host - mixed(request_.graph_read));
  }

 private:
  bool pools() const { return request_.linked && devices_ > 1; }

  /// Of a read of what the devices share: a G-th is the reader's own.
  double mixed(const ReadSeconds& read) const {
    if (!pools()) return read.own;
    const auto count = static_cast<double>(devices_);
    return (read.own + (count - 1) * read.peer) / count;
  }

  /// Rows of features for which each device has room.
  std::int64_t row_room(std::int64_t graph_rows) const {
    const std::int64_t left = request_.device_bytes - graph_bytes_[at(graph_rows)];
    if (left <= 0) return 0;
    return request_.row_bytes == 0 ? rows_ : std::min(rows_, left / request_.row_bytes);
  }

  std::int64_t pool_beside(std::int64_t room, std::int64_t replicated) const {
    const std::int64_t left = rows_ - replicated;
    const std::int64_t each = room - replicated;
    return each > left / devices_ ? left : std::min(left, each * devices_);
  }

  /// What R saves falls from some R on: the heat falls along both ends that R moves.
  std::int64_t best_replicated(std::int64_t room, double own, double shared) const {
    const auto saves = [&](std::int64_t replicated) {
      const double first = heat_[at(replicated)];
      return first * own + (heat_[at(replicated + pool_beside(room, replicated))] - first) * shared;
    };
    std::int64_t low = 0;
    std::int64_t high = room;
    while (low < high) {
      const std::int64_t middle = low + (high - low + 1) / 2;
      if (saves(middle) > saves(middle - 1)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  Split best_beside(std::int64_t graph_rows) const {
    Split split;
    split.graph_rows = graph_rows;
    const std::int64_t room = row_room(graph_rows);
    const double own = request_.row.host - request_.row.own;
    const double shared = request_.row.host - mixed(request_.row);
    if (room <= 0 || own <= 0) return split;
    split.replicated = pools() && shared > 0 ? best_replicated(room, own, shared) : room;
    if (pools() && shared > 0) split.pooled = pool_beside(room, split.replicated);
    return split;
  }

  void check_orders() const {
    for (std::size_t i = 1; i < request_.heat.size(); ++i) {
      GNEISS_CHECK(request_.heat[i] <= request_.heat[i - 1], ErrorCode::kShape,
                   "row {} is hotter than the one before it: {} and {} reads", i, request_.heat[i],
                   request_.heat[i - 1]);
    }
  }

  const SplitRequest& request_;
  std::int64_t devices_;
  std::int64_t rows_;
  std::vector<double> heat_;               ///< [rows + 1] reads of the first so many
  std::vector<std::int64_t> graph_bytes_;  ///< [graph rows + 1] of the fullest device
  std::vector<double> graph_reads_;        ///< [graph rows + 1]
};

constexpr std::int64_t kTried = 4096;  // values of A at a time

}  // namespace

Split price(const SplitRequest& request, Split split) { return Splitter(request).priced(split); }

Split best_split(const SplitRequest& request) {
  const Splitter splitter(request);
  std::int64_t low = 0;
  std::int64_t high = splitter.graph_rows();
  for (;;) {
    const std::int64_t step = std::max<std::int64_t>(1, (high - low) / kTried);
    Split best;
    double most = splitter.saved_beside(low, &best);
    for (std::int64_t a = low + step; a <= high && splitter.fits(a); a += step) {
      Split candidate;
      const double saved = splitter.saved_beside(a, &candidate);
      if (saved > most) {
        most = saved;
        best = candidate;
      }
    }
    if (step == 1) return splitter.priced(best);
    low = std::max<std::int64_t>(0, best.graph_rows - step);
    high = std::min(splitter.graph_rows(), best.graph_rows + step);
  }
}

std::vector<GraphRow> order_graph_rows(std::span<const EdgeId> offsets, std::span<const double> reads) {
  std::vector<GraphRow> rows;
  for (std::size_t v = 0; v < reads.size(); ++v) {
    if (reads[v] > 0) rows.push_back({static_cast<NodeId>(v), graph_row_bytes(offsets[v + 1] - offsets[v]), reads[v]});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const GraphRow& a, const GraphRow& b) {
    return a.reads * static_cast<double>(b.bytes) > b.reads * static_cast<double>(a.bytes);
  });
  return rows;
}

std::vector<double> falling(std::span<const double> heat) {
  struct Run {
    double sum;
    std::int64_t rows;
    double mean() const { return sum / static_cast<double>(rows); }
  };
  std::vector<Run> runs;
  for (const double h : heat) {
    runs.push_back({h, 1});
    while (runs.size() > 1 && runs.back().mean() > runs[runs.size() - 2].mean()) {
      const Run last = runs.back();
      runs.pop_back();
      runs.back().sum += last.sum;
      runs.back().rows += last.rows;
    }
  }
  std::vector<double> fallen;
  fallen.reserve(heat.size());
  for (const Run& run : runs) fallen.insert(fallen.end(), at(run.rows), run.mean());
  return fallen;
}

}  // namespace gneiss::tiers
