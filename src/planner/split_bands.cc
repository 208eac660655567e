// Tries every cut of every band: the arena is planned anew with it, and what crosses the cut is counted as read again.
// The cut that saves most is made, until none saves enough or the time for cuts is used up.
#include "planner/split_bands.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "planner/memory.h"
#include "planner/stream_features.h"

namespace gneiss::planner {
namespace {

using ir::Op;
using ir::ValueId;

class Splitter {
 public:
  Splitter(ir::Plan* plan, const cost::Rates& rates, const SplitLimits& limits, std::vector<std::string>* decisions)
      : plan_(*plan), rates_(rates), limits_(limits), decisions_(decisions) {}

  void run() {
    std::int64_t arena = arena_of(plan_);
    if (arena < limits_.least_arena_bytes) return;
    double seconds_left =
        limits_.most_time * (plan_.seconds(ir::Phase::kForward) + plan_.seconds(ir::Phase::kBackward));
    for (Cut best = best_cut(arena, seconds_left); best.step >= 0; best = best_cut(arena, seconds_left)) {
      decisions_->push_back(fmt::format("cut before {}: {:.1f} MiB of {:.1f} MiB for {:.3g} s a step", name(best.step),
                                        mib(arena - best.arena_bytes), mib(arena), best.seconds));
      cut(best, &plan_);
      arena = best.arena_bytes;
      seconds_left -= best.seconds;
    }
  }

 private:
  /// A band in two: its second half begins with `step`; -1: no cut.
  struct Cut {
    std::size_t band = 0;
    std::int32_t step = -1;
    std::int64_t arena_bytes = 0;  ///< afterwards
    double seconds = 0;            ///< that it costs
  };

  static double mib(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }
  const Op& op(std::int32_t step) const {
    return plan_.program.ops[static_cast<std::size_t>(plan_.steps[static_cast<std::size_t>(step)].op)];
  }
  std::string_view name(std::int32_t step) const { return ir::traits(op(step).kind).name; }

  static std::int64_t arena_of(ir::Plan plan) {
    plan_memory(&plan);
    return plan.arena_bytes;
  }

  /// Bytes that ops behind the cut read again of what ops before it wrote or read.
  double bytes_across(const ir::RowBand& band, std::int32_t step) const {
    std::set<ValueId> before;
    for (std::int32_t i = band.first_step; i < step; ++i) {
      before.insert(op(i).results.begin(), op(i).results.end());
      before.insert(op(i).inputs.begin(), op(i).inputs.end());
    }
    std::set<ValueId> across;
    for (std::int32_t i = step; i <= band.last_step; ++i) {
      for (std::size_t k = 0; k < op(i).inputs.size(); ++k) {
        if (!ir::reads_whole(op(i), k) && before.count(op(i).inputs[k]) > 0) across.insert(op(i).inputs[k]);
      }
    }
    double bytes = 0;
    for (const ValueId v : across)
      bytes += static_cast<double>(plan_.program.elements(v)) * static_cast<double>(plan_.value_bytes);
    return bytes;
  }

  Cut best_cut(std::int64_t arena, double seconds_left) const {
    Cut best;
    best.arena_bytes = arena - static_cast<std::int64_t>(limits_.least_saving * static_cast<double>(arena));
    for (std::size_t b = 0; b < plan_.bands.size(); ++b) {
      for (std::int32_t step = plan_.bands[b].first_step + 1; step <= plan_.bands[b].last_step; ++step) {
        Cut now{b, step, 0, cost::stream_seconds(rates_, bytes_across(plan_.bands[b], step))};
        if (now.seconds > seconds_left) continue;
        ir::Plan plan = plan_;
        cut(now, &plan);
        now.arena_bytes = arena_of(std::move(plan));
        const bool cheaper = now.arena_bytes == best.arena_bytes && best.step >= 0 && now.seconds < best.seconds;
        if (now.arena_bytes < best.arena_bytes || cheaper) best = now;
      }
    }
    return best;
  }

  static bool streams(const ir::Plan& plan, const ir::RowBand& band) {
    for (std::int32_t i = band.first_step; i <= band.last_step; ++i) {
      if (works_in_file(plan, plan.program.ops[static_cast<std::size_t>(plan.steps[static_cast<std::size_t>(i)].op)]))
        return true;
    }
    return false;
  }

  static void cut(const Cut& where, ir::Plan* plan) {
    ir::RowBand second = plan->bands[where.band];
    plan->bands[where.band].last_step = where.step - 1;
    second.first_step = where.step;
    plan->bands.insert(plan->bands.begin() + static_cast<std::ptrdiff_t>(where.band) + 1, second);
    for (ir::RowBand& band : plan->bands) band.streams = streams(*plan, band);
    std::erase_if(plan->bands, [&](const ir::RowBand& band) {
      return band.first_step == band.last_step && !band.streams && ir::row_order(*plan, band) == ir::RowOrder::kAny;
    });
    for (ir::Step& step : plan->steps) step.band = -1;
    for (std::size_t b = 0; b < plan->bands.size(); ++b) {
      for (std::int32_t i = plan->bands[b].first_step; i <= plan->bands[b].last_step; ++i) {
        plan->steps[static_cast<std::size_t>(i)].band = static_cast<std::int32_t>(b);
      }
    }
  }

  ir::Plan& plan_;
  const cost::Rates& rates_;
  const SplitLimits& limits_;
  std::vector<std::string>* decisions_;
};

}  // namespace

void split_bands(ir::Plan* plan, const cost::Rates& rates, const SplitLimits& limits,
                 std::vector<std::string>* decisions) {
  Splitter(plan, rates, limits, decisions).run();
}

}  // namespace gneiss::planner
