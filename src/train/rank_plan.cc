// A rank's part is cut out and planned as a rank would, with a communicator that knows what all ranks would add up.
#include "train/rank_plan.h"

#include <algorithm>

#include "base/error.h"

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

}  // namespace

std::int64_t rank_bytes(const ir::Plan& plan, const RankPart& part, std::int64_t data_bytes, const data::Labels& labels,
                        const SessionOptions& options) {
  const PlannedBytes planned = planned_bytes(plan, label_bytes(labels), options);
  const auto lists = static_cast<std::int64_t>(part.ids.size() * sizeof(std::int64_t)) +
                     (part.halo.sends() + part.halo.ghosts) * static_cast<std::int64_t>(sizeof(NodeId));
  return data_bytes + lists + planned.peak_of_kept();
}

RankPlanner::RankPlanner(const data::Dataset& whole, const SessionOptions& options)
    : whole_(whole), options_(options), nonzeros_(whole.features.sparse ? whole.features.nonzeros() : 0) {
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
  RankData here = cut_part(whole_, starts, rank, &ghosts);
  StandIn stand_in(rank, static_cast<int>(starts.size()) - 1, sums_);
  here.part.communicator = &stand_in;
  here.part.feature_nonzeros = nonzeros_;
  here.part.loss_share = here.part.val_loss_share = 1.0 / stand_in.ranks();
  std::int64_t sends = 0;
  for (const partition::PartTraffic& other : traffic) sends += other.halo_rows[static_cast<std::size_t>(rank)];
  here.part.halo.send_rows.resize(static_cast<std::size_t>(sends));

  PlannedRank made;
  made.plan = make_blueprint(here.dataset, options_, sizeof(float), &here.part).plan;
  made.nodes = here.part.halo.owned;
  made.ghosts = here.part.halo.ghosts;
  made.sends = sends;
  const std::vector<std::int64_t>& from = traffic[static_cast<std::size_t>(rank)].halo_rows;
  made.partners = std::count_if(from.begin(), from.end(), [](std::int64_t rows) { return rows > 0; });
  made.interior = interior_edges(here.dataset.graph, made.nodes);
  made.data_bytes = here.dataset.bytes();
  made.bytes = rank_bytes(made.plan, here.part, made.data_bytes, here.dataset.labels, options_);
  return made;
}

}  // namespace gneiss::train
