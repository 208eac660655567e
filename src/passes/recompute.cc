// Lists what forward makes and backward reads. Greedily, each turn tries every value that is left: the program with
// this value made again is laid out and measured, and the one that saves most bytes for its modelled time is taken. Ops
// are copied into backward right before their first reader. The end drops what turned out not to be needed.
#include "passes/recompute.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "passes/dead_code.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Phase;
using ir::ValueId;

class Recomputer {
 public:
  Recomputer(const ir::Program& program, const std::set<ValueId>& values, const std::set<ValueId>& for_each_band)
      : from_(program), values_(values), makers_(ir::producers(program)), out_(program) {
    out_.ops.clear();
    now_.resize(program.values.size());
    for (std::size_t v = 0; v < now_.size(); ++v) now_[v] = static_cast<ValueId>(v);
    find_kept();
    passing_.resize(now_.size(), false);
    for (const ValueId v : for_each_band) find_passing(v);
  }

  ir::Program run() {
    for (const Op& op : from_.ops) {
      if (op.phase != Phase::kBackward) {
        out_.ops.push_back(op);
        continue;
      }
      for (const ValueId input : op.inputs) {
        if (values_.count(input) > 0 && !remade(input)) remake(input);
      }
      Op copy = op;
      for (ValueId& input : copy.inputs) input = now_[static_cast<std::size_t>(input)];
      out_.ops.push_back(std::move(copy));
      if (ends_band(op)) forget_passing();
    }
    return std::move(out_);
  }

 private:
  bool remade(ValueId value) const { return now_[static_cast<std::size_t>(value)] != value; }

  const Op& maker(ValueId value) const {
    return from_.ops[static_cast<std::size_t>(makers_[static_cast<std::size_t>(value)])];
  }

  /// What lives until backward without our doing: parameters and all else that forward did not make, and what ops of
  /// backward read.
  void find_kept() {
    kept_.assign(from_.values.size(), true);
    for (const Op& op : from_.ops) {
      const bool leaf = op.inputs.empty() && op.kind != OpKind::constant;
      // What other ranks have a part in is made once: they do not choose the same values.
      if (op.phase != Phase::kForward || leaf || ir::is_between_ranks(op.kind)) continue;
      for (const ValueId r : op.results) {
        if (r != ir::kNoValue) kept_[static_cast<std::size_t>(r)] = false;
      }
    }
    for (const Op& op : from_.ops) {
      if (op.phase != Phase::kBackward) continue;
      for (const ValueId input : op.inputs) kept_[static_cast<std::size_t>(input)] = true;
    }
    for (const ValueId v : values_) kept_[static_cast<std::size_t>(v)] = false;
  }

  /// What is made again together with `value`, and not for others too.
  void find_passing(ValueId value) {
    passing_[static_cast<std::size_t>(value)] = true;
    for (const ValueId input : maker(value).inputs) {
      const auto v = static_cast<std::size_t>(input);
      if (!kept_[v] && !passing_[v] && values_.count(input) == 0) find_passing(input);
    }
  }

  /// Rows of all nodes are read: what comes before is through.
  static bool ends_band(const Op& op) {
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (ir::reads_whole(op, k)) return true;
    }
    return false;
  }

  void forget_passing() {
    for (std::size_t v = 0; v < passing_.size(); ++v) {
      if (passing_[v]) now_[v] = static_cast<ValueId>(v);
    }
  }

  void remake(ValueId value) {
    Op copy = maker(value);
    for (ValueId& input : copy.inputs) {
      if (!kept_[static_cast<std::size_t>(input)] && !remade(input)) remake(input);
      input = now_[static_cast<std::size_t>(input)];
    }
    copy.phase = Phase::kBackward;
    for (ValueId& result : copy.results) {
      if (result == ir::kNoValue) continue;
      const ir::Value& old = from_.values[static_cast<std::size_t>(result)];
      const auto again = static_cast<ValueId>(out_.values.size());
      out_.values.push_back({old.name + ".again", old.type});
      // A sibling that is kept stays with its readers.
      if (!kept_[static_cast<std::size_t>(result)]) now_[static_cast<std::size_t>(result)] = again;
      result = again;
    }
    out_.ops.push_back(std::move(copy));
  }

  const ir::Program& from_;
  const std::set<ValueId>& values_;
  std::vector<std::int32_t> makers_;
  ir::Program out_;
  std::vector<ValueId> now_;  ///< what stands for a value in backward
  std::vector<bool> kept_;
  std::vector<bool> passing_;  ///< values made again for each band of rows that reads them
};

class Chooser {
 public:
  Chooser(const ir::Program& program, const Measure& measure, std::vector<std::string>* decisions)
      : program_(program), measure_(measure), decisions_(decisions) {}

  /// Until it fits.
  ir::Program fit() {
    before_ = at_ = measure_(program_);
    constexpr double kAnyTime = std::numeric_limits<double>::infinity();
    std::vector<ValueId> left = recomputable(program_);
    choose(&left, 0, kAnyTime);
    if (at_.excess_bytes > 0) shorten(kAnyTime);
    if (at_.excess_bytes > 0) chosen_with_all(left);
    if (at_.excess_bytes <= 0) spare(0);
    return result();
  }

  /// What is cheap.
  ir::Program take_cheap(const RecomputeLimits& limits) {
    before_ = at_ = measure_(program_);
    if (before_.excess_bytes < limits.least_arena_bytes) return program_;
    least_gain_ = static_cast<double>(before_.excess_bytes + limits.besides_bytes) * limits.exchange / before_.seconds;
    choose_within(limits.most_time);
    Chooser more = *this;
    more.choose_within(limits.time_for_more);
    const bool worth_more = at_.excess_bytes - more.at_.excess_bytes >= limits.least_more_bytes;
    return (worth_more ? more : *this).result_from(limits.least_saving);
  }

 private:
  /// More values, as long as one saves anything, for up to so much of a step.
  void choose_within(double most_time) {
    const double most_seconds = before_.seconds * (1 + most_time);
    std::vector<ValueId> left = recomputable(program_);
    std::erase_if(left, [&](ValueId value) { return chosen_.count(value) > 0; });
    choose(&left, -1, most_seconds);
    shorten(most_seconds);
    spare(at_.excess_bytes);
  }

  /// Values out of `left`, in each turn the best one, while more than `most_bytes` are taken.
  void choose(std::vector<ValueId>* left, std::int64_t most_bytes, double most_seconds) {
    while (at_.excess_bytes > most_bytes && !left->empty()) {
      const ValueId best = best_of(*left, most_seconds);
      if (best == ir::kNoValue) return;
      chosen_.insert(best);
      std::erase(*left, best);
      at_ = measure_(recompute(program_, chosen_, passing_));
    }
  }

  /// Of the arena.
  double saving() const {
    return 1 - static_cast<double>(at_.excess_bytes) / static_cast<double>(before_.excess_bytes);
  }

  /// The program as it was if the values save less than that.
  ir::Program result_from(double least_saving) const { return saving() < least_saving ? program_ : result(); }

  Footprint with(ValueId value) const {
    std::set<ValueId> values = chosen_;
    values.insert(value);
    return measure_(recompute(program_, values, passing_));
  }

  /// The cheapest value that makes the program fit, else the one that saves most for its time; kNoValue: none saves
  /// anything and leaves a step within `most_seconds`.
  ValueId best_of(const std::vector<ValueId>& left, double most_seconds) const {
    ValueId best = ir::kNoValue;
    Footprint best_at;
    const auto gain = [&](const Footprint& now) {
      constexpr double kLeastSeconds = 1e-6;
      return static_cast<double>(at_.excess_bytes - now.excess_bytes) /
             std::max(kLeastSeconds, now.seconds - at_.seconds);
    };
    for (const ValueId value : left) {
      const Footprint now = with(value);
      if (now.excess_bytes >= at_.excess_bytes || now.seconds > most_seconds || gain(now) < least_gain_) continue;
      const bool fits = now.excess_bytes <= 0;
      const bool best_fits = best != ir::kNoValue && best_at.excess_bytes <= 0;
      const bool better = best == ir::kNoValue || (fits != best_fits ? fits
                                                   : fits            ? now.seconds < best_at.seconds
                                                                     : gain(now) > gain(best_at));
      if (!better) continue;
      best = value;
      best_at = now;
    }
    return best;
  }

  /// Makes values again for each band that reads them where that saves memory.
  void shorten(double most_seconds) {
    for (const ValueId value : chosen_) {
      std::set<ValueId> more = passing_;
      more.insert(value);
      const Footprint now = measure_(recompute(program_, chosen_, more));
      if (now.excess_bytes >= at_.excess_bytes || now.seconds > most_seconds) continue;
      passing_ = std::move(more);
      at_ = now;
    }
  }

  /// The last resort: values that save nothing one by one may do so together.
  void chosen_with_all(const std::vector<ValueId>& left) {
    std::set<ValueId> all = chosen_;
    all.insert(left.begin(), left.end());
    const Footprint now = measure_(recompute(program_, all, passing_));
    if (now.excess_bytes >= at_.excess_bytes) return;
    chosen_ = std::move(all);
    at_ = now;
  }

  ir::Program result() const {
    report();
    return chosen_.empty() ? program_ : eliminate_dead_code(recompute(program_, chosen_, passing_));
  }

  std::set<ValueId> passing_of(const std::set<ValueId>& values) const {
    std::set<ValueId> both;
    std::set_intersection(values.begin(), values.end(), passing_.begin(), passing_.end(),
                          std::inserter(both, both.end()));
    return both;
  }

  /// Keeps what need not be made again for no more than `most_bytes`, the largest first.
  void spare(std::int64_t most_bytes) {
    std::vector<ValueId> by_size(chosen_.begin(), chosen_.end());
    std::sort(by_size.begin(), by_size.end(),
              [&](ValueId a, ValueId b) { return program_.elements(a) > program_.elements(b); });
    for (const ValueId value : by_size) {
      std::set<ValueId> fewer = chosen_;
      fewer.erase(value);
      const Footprint now = measure_(recompute(program_, fewer, passing_of(fewer)));
      if (now.excess_bytes > most_bytes) continue;
      passing_ = passing_of(fewer);
      chosen_ = std::move(fewer);
      at_ = now;
    }
  }

  void report() const {
    for (const ValueId value : chosen_) {
      decisions_->push_back(fmt::format("%{} ({:.1f} MiB) is made again in backward{}", program_.value_name(value),
                                        static_cast<double>(program_.elements(value)) * sizeof(float) / (1 << 20),
                                        passing_.count(value) > 0 ? ", for each band" : ""));
    }
    if (chosen_.empty()) return;
    decisions_->push_back(fmt::format("together: {:.1f} MiB less for {:.3g} s a step",
                                      static_cast<double>(before_.excess_bytes - at_.excess_bytes) / (1 << 20),
                                      at_.seconds - before_.seconds));
  }

  const ir::Program& program_;
  const Measure& measure_;
  std::vector<std::string>* decisions_;
  std::set<ValueId> chosen_;
  std::set<ValueId> passing_;  ///< of the chosen, those made again for each band that reads them
  Footprint before_;
  Footprint at_;
  double least_gain_ = 0;  ///< bytes that a value saves for a second
};

}  // namespace

std::vector<ValueId> recomputable(const ir::Program& program) {
  std::vector<bool> read(program.values.size(), false);
  for (const Op& op : program.ops) {
    if (op.phase != Phase::kBackward) continue;
    for (const ValueId input : op.inputs) read[static_cast<std::size_t>(input)] = true;
  }
  for (const ir::Output& output : program.outputs) read[static_cast<std::size_t>(output.value)] = false;
  std::vector<ValueId> values;
  for (const Op& op : program.ops) {
    const bool once = ir::is_loss(op.kind) || ir::is_between_ranks(op.kind);
    if (op.phase != Phase::kForward || op.inputs.empty() || once) continue;
    for (const ValueId r : op.results) {
      if (r != ir::kNoValue && read[static_cast<std::size_t>(r)] && program.type(r).domain != ir::Domain::kGlobal)
        values.push_back(r);
    }
  }
  return values;
}

ir::Program recompute(const ir::Program& program, const std::set<ValueId>& values,
                      const std::set<ValueId>& for_each_band) {
  return Recomputer(program, values, for_each_band).run();
}

ir::Program recompute_to_fit(const ir::Program& program, const Measure& measure, std::vector<std::string>* decisions) {
  return Chooser(program, measure, decisions).fit();
}

ir::Program recompute_cheap(const ir::Program& program, const Measure& measure, const RecomputeLimits& limits,
                            std::vector<std::string>* decisions) {
  return Chooser(program, measure, decisions).take_cheap(limits);
}

}  // namespace gneiss::passes
