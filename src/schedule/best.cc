// A coarse grid around the split of the lower bound, then steps of a worker's round from the best of it.
//
// The CPU's batches come in rounds of as many as there are workers, so that splits a round apart are what differs; the
// last round arrives at once and has still to go over the link, which is why a little less than the bound's split is
// best.
#include "schedule/best.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "base/error.h"
#include "schedule/run.h"

namespace gneiss::schedule {
namespace {

constexpr double kCloseEnough = 1.002;

struct Candidate {
  std::int64_t cpu_batches = 0;
  std::int64_t cbs = 1;
  std::int64_t gbs = 1;
  std::int64_t copies = 0;
  bool uva_first = false;

  auto operator<=>(const Candidate&) const = default;
};

class Search {
 public:
  Search(const Profile& profile, const PlanOptions& options) : profile_(profile), options_(options) {
    bound_ = lower_bound(profile, options.batches, &split_);
  }

  Planned find() {
    try_pure();
    grid();
    climb();
    Planned planned;
    planned.plan = plan_of(best_);
    planned.rounds = static_cast<int>(tried_.size());
    planned.why = reason();
    return planned;
  }

 private:
  Plan plan_of(const Candidate& candidate) const {
    Plan plan;
    plan.mode = Mode::kBest;
    plan.batches = options_.batches;
    plan.cpu_batches = candidate.cpu_batches;
    plan.cbs = candidate.cbs;
    plan.gbs = candidate.gbs;
    plan.workers = profile_.workers;
    plan.host_slabs = std::min(candidate.cbs, options_.gbs) + 2 * std::int64_t{profile_.workers};
    plan.copies = candidate.copies;
    plan.uva_first = candidate.uva_first;
    plan.uva_alone = profile_.uva_link_share >= 1 || profile_.uva_device_share >= 1;
    plan.x = plan.cpu_batches == 0 ? std::numeric_limits<double>::infinity()
                                   : static_cast<double>(plan.device_batches()) / static_cast<double>(plan.cpu_batches);
    return plan;
  }

  bool done() const { return static_cast<double>(least_) <= kCloseEnough * static_cast<double>(bound_); }

  void attempt(Candidate candidate) {
    candidate.cpu_batches = std::clamp<std::int64_t>(candidate.cpu_batches, 0, options_.batches);
    candidate.gbs = std::clamp<std::int64_t>(candidate.gbs, 1, options_.gbs);
    candidate.cbs = std::max<std::int64_t>(1, candidate.cbs);
    candidate.copies = std::max<std::int64_t>(0, candidate.copies);
    if (done() || !tried_.insert(candidate).second) return;
    const Nanoseconds epoch = simulate(plan_of(candidate), profile_, false).epoch;
    if (epoch >= least_) return;
    least_ = epoch;
    best_ = candidate;
  }

  void try_pure() {
    for (const std::int64_t cpu : {std::int64_t{0}, options_.batches}) attempt({cpu, 1, options_.gbs, 0, false});
  }

  void grid() {
    const std::int64_t workers = profile_.workers;
    const std::int64_t rounds = (split_ + workers - 1) / workers;
    for (const bool uva_first : {false, true}) {
      for (const std::int64_t cbs : {std::int64_t{1}, (workers + 1) / 2, workers}) {
        for (std::int64_t back = 0; back <= 2; ++back)
          attempt({(rounds - back) * workers, cbs, options_.gbs, 0, uva_first});
      }
      attempt({split_, 1, options_.gbs, 0, uva_first});
      attempt({split_, options_.gbs, options_.gbs, 0, uva_first});
      // Steps as long as some copies; the device's buffer holds just them, or all it can.
      for (const std::int64_t copies : {1, 2, 4}) {
        const std::int64_t steps =
            (copies * profile_.times.dma + profile_.times.train / 2) / std::max<Nanoseconds>(1, profile_.times.train);
        for (const std::int64_t gbs : {options_.gbs, steps, steps + 1}) {
          attempt({split_, options_.batches, gbs, copies, uva_first});
          attempt({split_ * 15 / 16, options_.batches, gbs, copies, uva_first});
        }
        attempt({split_, 1, options_.gbs, copies, uva_first});
      }
    }
  }

  /// Single moves from the best, as long as one of them helps.
  void climb() {
    Nanoseconds before = std::numeric_limits<Nanoseconds>::max();
    while (least_ < before && !done()) {
      before = least_;
      const Candidate from = best_;
      const std::int64_t workers = profile_.workers;
      const auto with = [&](auto Candidate::*member, auto value) {
        Candidate moved = from;
        moved.*member = value;
        attempt(moved);
      };
      for (const std::int64_t step : {-2 * workers, -workers, -workers / 2, std::int64_t{-1}, std::int64_t{1}, workers})
        with(&Candidate::cpu_batches, from.cpu_batches + step);
      for (const std::int64_t cbs : {from.cbs - 1, from.cbs + 1, 2 * from.cbs, from.cbs / 2})
        with(&Candidate::cbs, cbs);
      for (const std::int64_t gbs : {from.gbs - 1, from.gbs + 1, from.gbs / 2}) with(&Candidate::gbs, gbs);
      for (const std::int64_t copies : {from.copies - 1, from.copies + 1}) with(&Candidate::copies, copies);
      with(&Candidate::uva_first, !from.uva_first);
    }
  }

  /// Which resources the bound's split keeps busy to its end.
  std::string reason() const {
    const StageTimes& times = profile_.times;
    const auto cpu = best_.cpu_batches;
    const auto device = options_.batches - cpu;
    const auto share = [this](double time) {
      return bound_ == 0 ? 0 : 100 * time / static_cast<double>(std::max<Nanoseconds>(1, least_));
    };
    const double route1 = static_cast<double>(device) * static_cast<double>(times.route1());
    return fmt::format(
        "this split asks {:.0f} % of the epoch of the CPU, {:.0f} % of the link and {:.0f} % of the device",
        share(static_cast<double>(cpu) * static_cast<double>(times.cpu_batch)),
        share(static_cast<double>(cpu) * static_cast<double>(times.dma) + profile_.uva_link_share * route1),
        share(profile_.uva_device_share * route1 +
              static_cast<double>(options_.batches) * static_cast<double>(times.train)));
  }

  const Profile& profile_;
  const PlanOptions& options_;
  Nanoseconds bound_ = 0;
  std::int64_t split_ = 0;
  Candidate best_{.gbs = 1};
  Nanoseconds least_ = std::numeric_limits<Nanoseconds>::max();
  std::set<Candidate> tried_;
};

}  // namespace

Planned best_plan(const Profile& profile, const PlanOptions& options) { return Search(profile, options).find(); }

}  // namespace gneiss::schedule
