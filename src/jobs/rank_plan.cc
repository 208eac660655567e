// An epoch of a rank is walked through step by step, with a clock of its own and one of its link. The model is LogP's
// without a gap of its own: a message takes the latency, its bytes go by the rate, one transfer after the other; all
// ranks come to an exchange at the same time. Copying rows to and from messages is a step's own modelled time.
#include "jobs/rank_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/error.h"
#include "data/given.h"
#include "data/preprocess.h"
#include "graph/reorder.h"
#include "ir/beside_exchange.h"
#include "jobs/rank_machine.h"
#include "partition/owners.h"
#include "train/cut_nodes.h"
#include "train/rank_plan.h"

namespace gneiss::jobs {
namespace {

using ir::Op;
using ir::OpKind;

class Epoch {
 public:
  Epoch(const train::PlannedRank& rank, int ranks, const partition::EpochModel& model)
      : rank_(rank), plan_(rank.plan), ranks_(ranks), model_(model), gradient_sums_(ir::gradient_sums(plan_)) {}

  RanksEstimate run(double update_seconds) {
    ir::Phase before = ir::Phase::kSetup;
    for (std::int32_t i = 0; i < std::ssize(plan_.steps);) {
      std::int32_t end = i + 1;
      const std::int32_t band = step(i).band;
      while (band >= 0 && end < std::ssize(plan_.steps) && step(end).band == band) ++end;
      const ir::Phase phase = op(i).phase;
      if (phase == ir::Phase::kBackward && before == ir::Phase::kForward) {
        sums_.push_back(sum_over_ranks(1));  // of the loss
        start_sums(ir::GradientSum::kBeforeBackward, ir::GradientSum::kBeforeBackward + 1);
      }
      if (phase == ir::Phase::kForward || phase == ir::Phase::kBackward) run_steps(i, end);
      before = phase;
      i = end;
    }
    wait_for_all();
    for (const double sum : sums_) wait(sum);
    work(update_seconds);
    made_.ranks = ranks_;
    made_.bytes = rank_.bytes;
    return made_;
  }

 private:
  const ir::Step& step(std::int32_t i) const { return plan_.steps[static_cast<std::size_t>(i)]; }
  const Op& op(std::int32_t i) const { return plan_.program.ops[static_cast<std::size_t>(step(i).op)]; }

  void run_steps(std::int32_t first, std::int32_t end) {
    const Op& only = op(first);
    double seconds = 0;
    for (std::int32_t i = first; i < end; ++i) seconds += step(i).seconds;
    if (only.kind == OpKind::halo_wait) {
      pending_.push_back(only.inputs[1]);
      return start_sums(first, end);
    }
    const ir::RowOrder order = step(first).band < 0
                                   ? ir::RowOrder::kAny
                                   : ir::row_order(plan_, plan_.bands[static_cast<std::size_t>(step(first).band)]);
    if (only.kind == OpKind::spmm && only.attrs.has("exchange")) {
      wait_for_all();
      work(seconds * rank_.own);
      wait_for_rows(only.inputs[0]);
      work(seconds * (1 - rank_.own));
    } else if (order == ir::RowOrder::kInteriorFirst) {
      work(seconds * rank_.interior);
      wait_for_all();
      work(seconds * (1 - rank_.interior));
    } else if (order == ir::RowOrder::kGhostsFirst) {
      const double rows = static_cast<double>(std::max<std::int64_t>(1, rank_.nodes + rank_.ghosts));
      const double share = static_cast<double>(rank_.ghosts) / rows;
      wait_for_all();
      work(seconds * share);
      start(op(end));
      work(seconds * (1 - share));
    } else {
      wait_for_all();
      run_one(only, seconds);
    }
    start_sums(first, end);
  }

  void run_one(const Op& only, double seconds) {
    switch (only.kind) {
      case OpKind::halo_start:
        work(seconds);
        return start(only);
      case OpKind::halo_add_start:
        return start(only);  // unless its band did
      case OpKind::halo_add_wait:
        wait(arrives_.at(only.inputs[1]));
        return work(seconds);
      case OpKind::halo:
      case OpKind::halo_add:
        work(seconds);
        return wait(exchange(only, plan_.program.type(only.inputs[0]).cols));
      case OpKind::rank_sum:
        return wait(sum_over_ranks(plan_.program.elements(only.inputs[0])));
      case OpKind::rank_range:
        work(seconds);
        return wait(sum_over_ranks(ranks_ * plan_.program.elements(only.results[0])));
      default:
        return work(seconds);
    }
  }

  void start(const Op& exchange_start) {
    const ir::ValueId packed = exchange_start.results.back();
    if (arrives_.count(packed) == 0) arrives_[packed] = exchange(exchange_start, plan_.program.type(packed).cols);
  }

  /// A rank sends and receives at once; what takes longer counts. Rows of nodes go out, their gradients come back.
  double exchange(const Op& op, std::int64_t cols) {
    const std::int64_t rows = std::max(rank_.ghosts, rank_.sends);
    const bool out = op.kind == OpKind::halo || op.kind == OpKind::halo_start;
    made_.sent_bytes += (out ? rank_.sends : rank_.ghosts) * cols * std::int64_t{sizeof(float)};
    return transfer(static_cast<double>(rows * cols) * sizeof(float), static_cast<double>(rank_.partners));
  }

  /// Pieces to their ranks, sums back.
  double sum_over_ranks(std::int64_t values) {
    const double share = static_cast<double>(ranks_ - 1) / ranks_;
    return transfer(2 * share * static_cast<double>(values) * sizeof(float), 2.0 * (ranks_ - 1));
  }

  double transfer(double bytes, double messages) {
    const double seconds = messages * model_.latency + bytes / model_.bytes_per_second;
    link_ = std::max(link_, now_) + seconds;
    made_.communicate_seconds += seconds;
    return link_;
  }

  /// Those of gradients that start behind the steps [first, end).
  void start_sums(std::int32_t first, std::int32_t end) {
    for (const ir::GradientSum& sum : gradient_sums_) {
      if (sum.behind < first || sum.behind >= end) continue;
      const ir::Param& param = plan_.program.params[sum.parameter];
      sums_.push_back(sum_over_ranks(param.rows * param.cols));
    }
  }

  void work(double seconds) {
    now_ += seconds;
    made_.compute_seconds += seconds;
  }

  void wait(double until) {
    if (until <= now_) return;
    made_.exposed_seconds += until - now_;
    now_ = until;
  }

  /// Of a sum that takes them up as they come.
  void wait_for_rows(ir::ValueId rows) {
    for (const Op& op : plan_.program.ops) {
      if (op.kind == OpKind::halo_wait && op.inputs[0] == rows) wait(arrives_.at(op.inputs[1]));
    }
  }

  void wait_for_all() {
    for (const ir::ValueId packed : pending_) wait(arrives_.at(packed));
    pending_.clear();
  }

  const train::PlannedRank& rank_;
  const ir::Plan& plan_;
  int ranks_;
  const partition::EpochModel& model_;
  double now_ = 0;
  double link_ = 0;                        ///< when it is free
  std::map<ir::ValueId, double> arrives_;  ///< by packed rows
  std::vector<ir::ValueId> pending_;       ///< exchanges that the next step waits for
  std::vector<ir::GradientSum> gradient_sums_;
  std::vector<double> sums_;
  RanksEstimate made_;
};

/// The ranks that may be the slowest: of most work, of most ghosts, of most rows to send; and rank 0, which takes the
/// scores.
std::set<int> candidates(const std::vector<partition::PartTraffic>& parts, double node_work) {
  const auto work = [&](const partition::PartTraffic& part) {
    return static_cast<double>(part.edges()) + node_work * static_cast<double>(part.nodes);
  };
  const auto busiest =
      std::max_element(parts.begin(), parts.end(), [&](const auto& a, const auto& b) { return work(a) < work(b); });
  const auto most = std::max_element(parts.begin(), parts.end(),
                                     [](const auto& a, const auto& b) { return a.ghosts() < b.ghosts(); });
  std::vector<std::int64_t> sends(parts.size());
  for (const partition::PartTraffic& part : parts) {
    for (std::size_t p = 0; p < parts.size(); ++p) sends[p] += part.halo_rows[p];
  }
  const auto sender = std::max_element(sends.begin(), sends.end());
  return {0, static_cast<int>(busiest - parts.begin()), static_cast<int>(most - parts.begin()),
          static_cast<int>(sender - sends.begin())};
}

double update_seconds(const ir::Plan& plan, const train::SessionOptions& options) {
  const int sweeps = 3 + 2 * runtime::Optimizer<float>::state_values(options.optimizer);
  return cost::stream_seconds(options.passes.rates, static_cast<double>(plan.parameter_bytes) * sweeps);
}

/// The nodes under other names. A plan reads no values of dense features, so that their rows stay where they are.
data::Dataset renamed_to_plan(const std::shared_ptr<const data::Dataset>& whole, const graph::Order& order,
                              int threads) {
  data::Dataset made = data::share(whole);
  if (order.empty()) return made;
  data::Features rows;
  if (!made.features.sparse) std::swap(rows, made.features);
  data::permute(order, threads, &made);
  if (!rows.empty()) std::swap(rows, made.features);
  return made;
}

RanksEstimate estimate(const std::shared_ptr<const data::Dataset>& whole, train::SessionOptions options,
                       const train::Cutting& cutting, const cost::Rates& rates, int ranks, exchange::Exchange how) {
  options.passes.rates = rates;
  const int threads = train::threads_of(options);
  const train::NodeCut cut = train::find_cut(ranks, cutting, threads, *whole);
  const std::vector<std::int64_t>& starts = cut.starts;
  const data::Dataset dataset = renamed_to_plan(whole, cut.order, threads);
  const std::vector<partition::PartTraffic> parts =
      partition::part_traffic(dataset.graph, partition::owners_of(starts), ranks);
  const train::RankPlanner planner(dataset, options, {.how = how});
  RanksEstimate slowest;
  std::int64_t bytes = 0;
  for (const int rank : candidates(parts, cutting.model.node_work)) {
    const train::PlannedRank planned = planner.plan(starts, parts, rank);
    const RanksEstimate now = Epoch(planned, ranks, cutting.model).run(update_seconds(planned.plan, options));
    const std::int64_t scores =  // rank 0 holds the scores of all nodes
        rank == 0 ? dataset.num_nodes() * dataset.labels.num_classes * std::int64_t{sizeof(float)} : 0;
    bytes = std::max(bytes, planned.bytes + (ranks > 1 ? scores : 0));
    if (now.epoch_seconds() >= slowest.epoch_seconds()) slowest = now;
  }
  slowest.exchange = how;
  slowest.bytes = bytes;
  for (const partition::PartTraffic& part : parts) slowest.ghosts += part.ghosts();
  return slowest;
}

}  // namespace

const RanksEstimate& RankPlan::of(int ranks) const {
  const auto found = std::find_if(table.begin(), table.end(), [&](const RanksEstimate& e) { return e.ranks == ranks; });
  GNEISS_ASSERT(found != table.end(), "no plan for {} ranks", ranks);
  return *found;
}

RankPlan plan_ranks(data::Dataset&& dataset, const train::SessionOptions& options, const settings::Config& config,
                    const RanksToPlan& wanted) {
  const auto whole = std::make_shared<const data::Dataset>(std::move(dataset));
  RankPlan plan;
  plan.per_node = std::min(wanted.per_node, wanted.ranks);
  plan.cut = wanted.method;
  const auto add = [&](int ranks) {
    const RankMachine machine = rank_machine(config, std::min(ranks, wanted.per_node));
    const train::Cutting cutting = {wanted.method, epoch_model(machine, whole->graph, wanted.columns)};
    plan.table.push_back(estimate(whole, options, cutting, machine.use.rates, ranks, wanted.exchange));
    plan.network = machine.network;
    plan.rates = machine.use.rates.source;
  };
  for (int count = 1; count < wanted.ranks; count *= 2) add(count);
  add(wanted.ranks);
  const auto best = std::min_element(plan.table.begin(), plan.table.end(), [](const auto& a, const auto& b) {
    return a.epoch_seconds() < b.epoch_seconds();
  });
  plan.advised = best->ranks;
  return plan;
}

std::string describe(const RankPlan& plan) {
  const std::string places = plan.per_node == 1 ? std::string("each a machine like this one")
                                                : fmt::format("{} on a machine like this one", plan.per_node);
  std::string text = fmt::format("on several ranks, {}: {:.3g} GB/s, {:.3g} us a message ({})\n\n", places,
                                 1e-9 * plan.network.bytes_per_second, 1e6 * plan.network.latency, plan.network.source);
  text += fmt::format("  {:>6} {:>12} {:>10} {:>12} {:>12} {:>11} {:>11} {:>11} {:>8}\n", "ranks", "MiB a rank",
                      "copies", "epoch, ms", "compute, ms", "sent, ms", "hidden, ms", "exposed, ms", "speed-up");
  for (const RanksEstimate& row : plan.table) {
    text += fmt::format("{} {:6} {:12.2f} {:10} {:12.4g} {:12.4g} {:11.4g} {:11.4g} {:11.4g} {:8.2f}\n",
                        row.ranks == plan.advised ? "*" : " ", row.ranks,
                        static_cast<double>(row.bytes) / (1024.0 * 1024.0), row.ghosts, 1e3 * row.epoch_seconds(),
                        1e3 * row.compute_seconds, 1e3 * row.communicate_seconds, 1e3 * row.hidden_seconds(),
                        1e3 * row.exposed_seconds, plan.table[0].epoch_seconds() / row.epoch_seconds());
  }
  text += plan.advised == 1 ? std::string("\n  One rank is the fastest.\n")
                            : fmt::format("\n  {} ranks are the fastest.\n", plan.advised);
  text += fmt::format(
      "  Assumed: parts by {}, the slowest rank of those with most work and most copies; all ranks come to an\n"
      "  exchange at the same time; a link moves one message after the other; rates of {}.\n"
      "  Parts of a preset that is scaled down are smaller, and more of their nodes lie on the border.\n",
      plan.cut, plan.rates);
  return text;
}

}  // namespace gneiss::jobs
