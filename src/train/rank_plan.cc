// A rank's part is cut out and planned as a rank would, with a communicator that knows what all ranks would add up.
#include "train/rank_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "exchange/own_first.h"
#include "runtime/device_layout.h"
#include "runtime/exchange_bytes.h"
#include "runtime/exchanging_steps.h"
#include "train/dataset_inputs.h"

namespace gneiss::train {
namespace {

/// In place of the others: what they would add up is known of the whole.
class StandIn final : public comm::Communicator {
 public:
  StandIn(int rank, int ranks, std::span<const double> sums) : rank_(rank), ranks_(ranks), sums_(sums) {}
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  void abort(const std::string&) noexcept override {}

 private:
  comm::Request do_start_exchange(comm::RowsByRank<const std::byte>, comm::RowsByRank<std::byte>,
                                  std::int64_t) override {
    GNEISS_ASSERT(false, "a plan exchanges nothing");
  }
  comm::Request do_start_sum(std::span<float>) override { GNEISS_ASSERT(false, "a plan sums no floats"); }
  comm::Request do_start_sum(std::span<double> values) override {
    GNEISS_ASSERT(values.size() == sums_.size(), "{} numbers are summed, {} are known", values.size(), sums_.size());
    std::copy(sums_.begin(), sums_.end(), values.begin());
    return {1};
  }
  void do_progress() override {}
  void do_wait(comm::Request) override {}

  int rank_;
  int ranks_;
  std::span<const double> sums_;
};

/// The lists of a rank's halo that it can make without asking others.
void list_rows(std::span<const std::int64_t> starts, std::span<const NodeId> ghosts,
               std::span<const partition::PartTraffic> traffic, int rank, comm::HaloPlan* halo) {
  for (const std::int64_t start : starts)
    halo->receive_at.push_back(std::lower_bound(ghosts.begin(), ghosts.end(), start) - ghosts.begin());
  for (std::size_t p = 0; p + 1 < starts.size(); ++p) {
    for (std::int64_t i = halo->receive_at[p]; i < halo->receive_at[p + 1]; ++i)
      halo->ghost_rows.push_back(ghosts[static_cast<std::size_t>(i)] - static_cast<NodeId>(starts[p]));
  }
  halo->send_at.push_back(0);
  for (const partition::PartTraffic& other : traffic)
    halo->send_at.push_back(halo->send_at.back() + other.halo_rows[static_cast<std::size_t>(rank)]);
  halo->send_rows.resize(static_cast<std::size_t>(halo->send_at.back()));
  halo->held_at.resize(traffic.size());
}

/// Of the edges, those into rows that no edge from a ghost comes into.
double interior_edges(const graph::Graph& local, std::int64_t owned) {
  std::int64_t interior = 0;
  for (std::size_t v = 0; v < static_cast<std::size_t>(owned); ++v) {
    const EdgeId begin = local.offsets()[v];
    const EdgeId end = local.offsets()[v + 1];
    const bool waits = end > begin && local.sources()[static_cast<std::size_t>(end) - 1] >= owned;
    interior += waits ? 0 : end - begin;
  }
  return local.num_edges() == 0 ? 1 : static_cast<double>(interior) / static_cast<double>(local.num_edges());
}

/// Of the edges, those from own nodes.
double own_edges(const graph::Graph& local, std::int64_t owned) {
  const auto own = std::count_if(local.sources().begin(), local.sources().end(),
                                 [&](NodeId source) { return std::int64_t{source} < owned; });
  return local.num_edges() == 0 ? 1 : static_cast<double>(own) / static_cast<double>(local.num_edges());
}

}  // namespace

std::int64_t rank_bytes(const ir::Plan& plan, const RankPart& part, std::int64_t data_bytes,
                        std::int64_t exchange_bytes, const data::Labels& labels, const SessionOptions& options) {
  PlannedBytes planned = planned_bytes(plan, label_bytes(labels), options);
  planned.setup += exchange_bytes;
  planned.steps += exchange_bytes;
  const auto lists = static_cast<std::int64_t>(part.ids.size() * sizeof(std::int64_t)) +
                     (part.halo.sends() + part.halo.ghosts) * static_cast<std::int64_t>(sizeof(NodeId));
  return data_bytes + lists + planned.peak_of_kept();
}

std::vector<std::int64_t> order_of(const comm::HaloPlan& halo, std::span<const std::int64_t> starts, int rank,
                                   const graph::Order& old_names) {
  std::vector<std::int64_t> places;
  const auto add = [&](std::int64_t node) {
    places.push_back(old_names.empty() ? node : old_names[static_cast<std::size_t>(node)]);
  };
  for (std::int64_t v = 0; v < halo.owned; ++v) add(starts[static_cast<std::size_t>(rank)] + v);
  for (std::size_t p = 0; p + 1 < starts.size(); ++p) {
    for (std::int64_t i = halo.receive_at[p]; i < halo.receive_at[p + 1]; ++i)
      add(starts[p] + halo.ghost_rows[static_cast<std::size_t>(i)]);
  }
  return places;
}

RankPlanner::RankPlanner(const data::Dataset& whole, const SessionOptions& options, const PlannedExchange& exchange)
    : whole_(whole),
      options_(options),
      exchange_(exchange),
      nonzeros_(whole.features.sparse ? whole.features.nonzeros() : 0) {
  GNEISS_ASSERT(options.compiled != nullptr, "ranks are planned for a model that was compiled");
  ir::Program program = options.compiled->program;
  const runtime::DerivedGraphs graphs = runtime::derive_graphs(whole.graph, &program, threads_of(options));
  sums_ = numbers_to_choose_by(program, loss_rows_of(whole, graphs));
  options_.passes.edge_loops = false;
  options_.passes.file_room = {};
  options_.passes.excess_bytes = nullptr;
  options_.passes.print = nullptr;
}

PlannedRank RankPlanner::plan(std::span<const std::int64_t> starts, std::span<const partition::PartTraffic> traffic,
                              int rank) const {
  std::vector<NodeId> ghosts;
  const bool on_device = options_.passes.target == planner::Target::kDevice;
  const bool both_ways = exchange_.fetched && is_cut_both_ways(whole_, exchange_.how);
  RankData here = cut_part(whole_, starts, rank, &ghosts, both_ways);
  StandIn stand_in(rank, static_cast<int>(starts.size()) - 1, sums_);
  here.part.communicator = &stand_in;
  here.part.feature_nonzeros = nonzeros_;
  here.part.loss_share = here.part.val_loss_share = 1.0 / stand_in.ranks();
  list_rows(starts, ghosts, traffic, rank, &here.part.halo);
  here.part.exchange = exchange_.how;
  here.part.in_order = exchange_.fetched && exchange_.how == exchange::Exchange::kHalo;

  PlannedRank made;
  Blueprint blueprint = make_blueprint(here.dataset, options_, sizeof(float), &here.part);
  const auto in_edges = [&](std::int32_t graph) {
    const std::optional<graph::Graph>& derived = blueprint.graphs[static_cast<std::size_t>(graph)];
    return derived ? derived->in_edges() : here.dataset.graph.in_edges();
  };
  made.fetches = exchange::fetches_of(blueprint.plan.program, here.part.halo, exchange_.tuning, in_edges,
                                      on_device ? exchange::SumsBy::kCard : exchange::SumsBy::kHost);
  if (on_device) {
    const DatasetInputs inputs(here.dataset, blueprint.plan, options_.class_weights, here.part.ids);
    const runtime::ExchangingSteps steps(blueprint.plan, {nullptr, &here.part.halo, exchange_.tuning}, in_edges);
    made.exchange_bytes = steps.bytes();
    made.bytes = runtime::device_layout(blueprint.plan, inputs.inputs(), options_.optimizer).bytes + steps.bytes();
  } else {
    made.exchange_bytes =
        runtime::exchange_bytes(blueprint.plan, here.part.halo, exchange_.fetched, exchange_.tuning, in_edges);
  }
  made.plan = std::move(blueprint.plan);
  made.nodes = here.part.halo.owned;
  made.ghosts = here.part.halo.ghosts;
  made.sends = here.part.halo.sends();
  const std::vector<std::int64_t>& from = traffic[static_cast<std::size_t>(rank)].halo_rows;
  made.partners = std::count_if(from.begin(), from.end(), [](std::int64_t rows) { return rows > 0; });
  made.interior = interior_edges(here.dataset.graph, made.nodes);
  made.own = own_edges(here.dataset.graph, made.nodes);
  made.data_bytes = here.dataset.bytes();
  if (!on_device)
    made.bytes = rank_bytes(made.plan, here.part, made.data_bytes, made.exchange_bytes, here.dataset.labels, options_);
  return made;
}

}  // namespace gneiss::train
