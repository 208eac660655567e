// The data set is cut before sessions are made, so that the whole of it need not lie beside them.
#include "train/rank_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "partition/contiguous.h"
#include "train/planned_bytes.h"

namespace gneiss::train {

RankTraining::RankTraining(std::unique_ptr<comm::Ranks> ranks, data::Dataset* whole, const SessionOptions& options)
    : ranks_(std::move(ranks)), options_(options), members_(static_cast<std::size_t>(ranks_->here())) {
  check_dataset(*whole);
  nodes_ = whole->num_nodes();
  const std::vector<std::int64_t> starts = partition::contiguous(whole->graph.offsets(), ranks_->count());
  ranks_->run([&](comm::Communicator& communicator) {
    Member& here = member(communicator);
    here.data =
        std::make_unique<RankData>(cut_dataset(*whole, starts, communicator, options.loss.kind, options.class_weights));
    here.data_bytes = here.data->dataset.bytes();
    double ghosts[] = {static_cast<double>(here.data->part.halo.ghosts)};
    communicator.sum(ghosts);
    if (communicator.rank() == ranks_->first()) ghosts_ = static_cast<std::int64_t>(ghosts[0]);
  });
  whole->graph.drop_edges();
  whole->features.drop_values();
  options_.threads = std::max(1, threads_of(options) / ranks_->here());
  ranks_->run([&](comm::Communicator& communicator) {
    Member& here = member(communicator);
    data::Dataset& dataset = here.data->dataset;
    here.session = std::make_unique<Session<float>>(dataset, options_, &dataset, &here.data->part);
    if (communicator.rank() != ranks_->first()) here.weights = Buffer<float>(here.session->snapshot_size());
    here.session->set_up();
  });
}

epochs::RunRecord RankTraining::run(const data::Split& split, const FullGraphOptions& options,
                                    epochs::Evaluator& evaluator, std::uint64_t seed, const Watcher& watcher,
                                    std::span<float> best_weights) {
  epochs::RunRecord record;
  ranks_->run([&](comm::Communicator& communicator) {
    Member& here = member(communicator);
    if (communicator.rank() == ranks_->first()) {
      record = train_run(*here.session, split, options, evaluator, seed, watcher, best_weights);
    } else {
      train_run(*here.session, split, options, evaluator, seed, {}, here.weights.span());
    }
  });
  return record;
}

std::int64_t RankTraining::bytes() const {
  std::int64_t bytes = 0;
  for (const Member& here : members_) {
    const PlannedBytes planned = planned_bytes(here.session->plan(), here.data->dataset, options_);
    bytes += here.data_bytes + std::max({planned.derived, planned.structures, planned.setup, planned.steps});
  }
  return bytes;
}

std::string RankTraining::describe() const {
  return fmt::format("{} ranks with parts of consecutive nodes: they hold {} copies of others' nodes, of {} nodes",
                     ranks_->count(), ghosts_, nodes_);
}

}  // namespace gneiss::train
