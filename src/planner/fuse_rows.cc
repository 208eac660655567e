// Walks the steps of each phase with one open group. A step joins if it works on the same rows, its kernel can be cut
// into bands, and it reads nothing of the group but its own rows; else the group is closed and another begins, with
// those last steps that do not need the others. The rows of a band are as many as keep what the group passes on in part
// of L2.
#include "planner/fuse_rows.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "planner/stream_features.h"

namespace gneiss::planner {
namespace {

using ir::Op;
using ir::Step;
using ir::ValueId;

/// Rows of all values that a band passes on: a part of L2 (512 KiB and more) that leaves room for neighbours' rows.
constexpr std::int64_t kBandBytes = std::int64_t{192} << 10;
/// Bands are whole tiles of the dense product; more rows than this gain nothing.
constexpr std::int64_t kTileRows = 48;
constexpr std::int64_t kMostBandRows = 960;
/// A larger partial result would make the round trip to L2 for every band: the sum runs by itself. A product of 128 x
/// 128 values still joins.
constexpr std::int64_t kMostTaskBytes = std::int64_t{64} << 10;
/// Columns of the left operand of a sum over rows, a^T b. Wider ones are features or their sums: they come from memory,
/// prefetched from block to block of rows, and every band would begin without that.
constexpr std::int64_t kMostLeftColumns = 256;

class Grouper {
 public:
  Grouper(ir::Plan* plan, std::vector<std::string>* decisions)
      : plan_(*plan), program_(plan->program), decisions_(decisions) {}

  void run() {
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(plan_.steps.size()); ++i) {
      if (joins(i)) {
        add(i);
        continue;
      }
      const std::vector<std::int32_t> along = group_with(i);
      open_.resize(open_.size() - along.size());
      close();
      open(i, along);
    }
    close();
  }

 private:
  const Step& step(std::int32_t i) const { return plan_.steps[static_cast<std::size_t>(i)]; }
  const Op& op(std::int32_t i) const { return program_.ops[static_cast<std::size_t>(step(i).op)]; }

  /// The setup runs in bands where it makes what stays in a file.
  bool can_be_cut(std::int32_t i) const {
    if (op(i).phase == ir::Phase::kSetup && plan_.file_constants.empty()) return false;
    return step(i).band_rows > 0 && (!too_large(i) || streams(i));
  }

  /// Is it a sum over rows that does better by itself?
  bool too_large(std::int32_t i) const {
    if (step(i).task_bytes > kMostTaskBytes) return true;
    return step(i).task_bytes > 0 && op(i).kind == ir::OpKind::gemm &&
           program_.type(op(i).inputs[0]).cols > kMostLeftColumns;
  }

  /// What stays in a file is read, and written, in bands, whatever that costs besides.
  bool streams(std::int32_t i) const { return works_in_file(plan_, op(i)); }

  bool same_rows(ValueId a, ValueId b) const {
    const ir::Type& x = program_.type(a);
    const ir::Type& y = program_.type(b);
    return x.domain == y.domain && x.set == y.set;
  }

  /// In one phase, or backward going on where forward ends: rows of the loss's gradient are used as they are made.
  static bool may_run_with(ir::Phase phase, ir::Phase first) {
    return phase == first || (first == ir::Phase::kForward && phase == ir::Phase::kBackward);
  }

  bool joins(std::int32_t i) const {
    if (open_.empty() || !can_be_cut(i) || !may_run_with(op(i).phase, op(open_[0]).phase)) return false;
    if (too_large(i) || too_large(open_[0])) return false;
    if (!same_rows(ir::row_value(op(i)), ir::row_value(op(open_[0])))) return false;
    for (std::size_t k = 0; k < op(i).inputs.size(); ++k) {
      const ValueId v = op(i).inputs[k];
      if (made_.count(v) > 0 && (program_.type(v).domain == ir::Domain::kGlobal || ir::reads_whole(op(i), k)))
        return false;
    }
    return true;
  }

  /// The last steps of the open group that do not need those before them, make rows for step i and can be in one group
  /// with it.
  std::vector<std::int32_t> group_with(std::int32_t i) const {
    if (open_.empty() || !can_be_cut(i)) return {};
    std::set<ValueId> wanted(op(i).inputs.begin(), op(i).inputs.end());
    std::size_t first = open_.size();
    while (first > 1 && std::any_of(op(open_[first - 1]).results.begin(), op(open_[first - 1]).results.end(),
                                    [&](ValueId r) { return wanted.count(r) > 0; })) {
      --first;
      wanted.insert(op(open_[first]).inputs.begin(), op(open_[first]).inputs.end());
    }
    for (;; ++first) {
      Grouper group(&plan_, decisions_);
      for (std::size_t k = first; k < open_.size(); ++k) group.add(open_[k]);
      if (group.open_.empty()) return {};
      if (group.joins(i) && !reads_of(first)) return group.open_;
    }
  }

  /// Do the steps of the open group from the `first` on read what those before them make?
  bool reads_of(std::size_t first) const {
    std::set<ValueId> before;
    for (std::size_t k = 0; k < first; ++k) before.insert(op(open_[k]).results.begin(), op(open_[k]).results.end());
    return std::any_of(open_.begin() + static_cast<std::ptrdiff_t>(first), open_.end(), [&](std::int32_t i) {
      return std::any_of(op(i).inputs.begin(), op(i).inputs.end(), [&](ValueId v) { return before.count(v) > 0; });
    });
  }

  void open(std::int32_t i, const std::vector<std::int32_t>& along) {
    for (const std::int32_t k : along) add(k);
    if (can_be_cut(i)) add(i);
  }

  void add(std::int32_t i) {
    open_.push_back(i);
    for (const ValueId r : op(i).results) made_.insert(r);
  }

  /// Bytes of one row of every value that more than one op of the open group has to do with: what is only passed by
  /// need not stay.
  std::int64_t bytes_of_row() const {
    std::map<ValueId, int> uses;
    for (const std::int32_t i : open_) {
      std::set<ValueId> values(op(i).results.begin(), op(i).results.end());
      for (std::size_t k = 0; k < op(i).inputs.size(); ++k) {
        if (!ir::reads_whole(op(i), k)) values.insert(op(i).inputs[k]);
      }
      for (const ValueId v : values) ++uses[v];
    }
    std::int64_t bytes = 0;
    for (const auto& [v, count] : uses) {
      if (v == ir::kNoValue || count < 2 || !same_rows(v, ir::row_value(op(open_[0])))) continue;
      bytes += program_.type(v).cols * plan_.value_bytes;
    }
    return std::max<std::int64_t>(1, bytes);
  }

  void close() {
    const bool streamed = std::any_of(open_.begin(), open_.end(), [&](std::int32_t i) { return streams(i); });
    ir::RowBand band;
    band.streams = streamed;
    if (!open_.empty()) {
      band.first_step = open_.front();
      band.last_step = open_.back();
    }
    const bool beside_exchange = !open_.empty() && ir::row_order(plan_, band) != ir::RowOrder::kAny;
    if (open_.size() > 1 || streamed || beside_exchange) {
      band.rows = step(open_[0]).band_rows;
      band.band_rows = std::clamp(kBandBytes / bytes_of_row() / kTileRows * kTileRows, kTileRows, kMostBandRows);
      band.tasks = ir::band_tasks(band.rows, band.band_rows);
      if (beside_exchange && band.tasks < band.rows) ++band.tasks;  // for rows that go first end where no task would
      std::string names;
      for (const std::int32_t i : open_) {
        plan_.steps[static_cast<std::size_t>(i)].band = static_cast<std::int32_t>(plan_.bands.size());
        names += fmt::format("{}{}", names.empty() ? "" : ", ", ir::traits(op(i).kind).name);
      }
      decisions_->push_back(fmt::format("band {}: {} ({} rows at a time, {} tasks)", plan_.bands.size(), names,
                                        band.band_rows, band.tasks));
      plan_.bands.push_back(band);
    }
    open_.clear();
    made_.clear();
  }

  ir::Plan& plan_;
  const ir::Program& program_;
  std::vector<std::string>* decisions_;
  std::vector<std::int32_t> open_;  ///< steps of the group being made
  std::set<ValueId> made_;          ///< by them
};

}  // namespace

void fuse_rows(ir::Plan* plan, std::vector<std::string>* decisions) { Grouper(plan, decisions).run(); }

}  // namespace gneiss::planner
