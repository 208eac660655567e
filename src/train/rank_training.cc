// The data set is cut before sessions are made, so that the whole of it need not lie beside them.
#include "train/rank_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "data/parts.h"
#include "data/ranges.h"
#include "data/validate.h"
#include "pgas/thread_space.h"
#include "train/rank_plan.h"

namespace gneiss::train {
std::unique_ptr<pgas::Space> space_of(comm::Communicator& communicator, const pgas::Link& link) {
  const auto devices = static_cast<std::size_t>(communicator.ranks());
  std::vector<std::int64_t> one_each(devices + 1);
  std::iota(one_each.begin(), one_each.end(), std::int64_t{0});
  const auto meet = [&communicator, one_each, copies = std::vector<pgas::SharedRows>(devices)](
                        const pgas::SharedRows& mine, std::span<pgas::SharedRows> all) mutable {
    std::fill(copies.begin(), copies.end(), mine);
    communicator.exchange({std::as_bytes(std::span(copies)), one_each}, {std::as_writable_bytes(all), one_each},
                          sizeof(pgas::SharedRows));
  };
  return pgas::thread_space(communicator.rank(), communicator.ranks(), meet, link);
}

RankTraining::RankTraining(comm::Ranks* ranks, data::Dataset&& whole, const SessionOptions& options,
                           const RowExchange& exchange, const Cutting& cutting)
    : ranks_(ranks),
      whole_(std::move(whole)),
      exchange_(exchange),
      options_(options),
      members_(static_cast<std::size_t>(ranks_->here())) {
  GNEISS_ASSERT(!exchange_.fetched || ranks_->here() == ranks_->count(), "rows are fetched within one process");
  check_dataset(whole_);
  NodeCut made = cut_nodes(ranks_->count(), cutting, threads_of(options), &whole_);
  const std::vector<std::int64_t> starts = std::move(made.starts);
  cut_ = std::move(made.description);
  refused_ = std::move(made.refused);
  const std::uint64_t hash = cut_hash(whole_, starts);
  std::vector<data::Dataset> parts(members_.size());
  const auto part_of = [&](const comm::Communicator& communicator) -> data::Dataset& {
    return parts[static_cast<std::size_t>(communicator.rank() - ranks_->first())];
  };
  ranks_->run([&](comm::Communicator& communicator) {
    // Each process has cut by itself; METIS and measured rates are not the same on all machines.
    if (ranks_->here() < ranks_->count()) comm::agree(communicator, "cut of the graph (--partition)", hash);
    Member& here = member(communicator);
    RankData cut = cut_checked(communicator, starts);
    here.part = std::move(cut.part);
    here.data_bytes = cut.dataset.bytes();
    part_of(communicator) = std::move(cut.dataset);
    if (exchange_.fetched) {
      here.space = space_of(communicator, exchange_.link);
      here.part.space = here.space.get();
    }
    double ghosts[] = {static_cast<double>(here.part.halo.ghosts)};
    communicator.sum(ghosts);
    if (communicator.rank() == ranks_->first()) ghosts_ = static_cast<std::int64_t>(ghosts[0]);
  });
  whole_.graph.drop_edges();
  whole_.features.drop_values();
  options_.threads = std::max(1, threads_of(options) / ranks_->here());
  ranks_->run([&](comm::Communicator& communicator) {
    Member& here = member(communicator);
    here.session = std::make_unique<Session<float>>(std::move(part_of(communicator)), options_, &here.part);
    if (communicator.rank() != ranks_->first()) here.weights = Buffer<float>(here.session->snapshot_size());
    here.session->set_up();
  });
}

/// Of data that nobody has looked at, a rank looks at its part, and the ranks count together whose numbers are odd.
RankData RankTraining::cut_checked(comm::Communicator& communicator, std::span<const std::int64_t> starts) {
  if (!whole_.by_parts) return cut_dataset(whole_, starts, communicator, options_.loss.kind, options_.class_weights);
  const auto rank = static_cast<std::size_t>(communicator.rank());
  data::check_in_edges(whole_, starts[rank], starts[rank + 1]);
  data::check_feature_rows(whole_, starts[rank], starts[rank + 1]);
  RankData cut = cut_dataset(whole_, starts, communicator, options_.loss.kind, options_.class_weights);
  data::check_finite(cut.dataset, whole_.allows_nan);
  double odd[] = {data::negative_weights(cut.dataset).empty() ? 0.0 : 1.0,
                  data::large_numbers(cut.dataset).empty() ? 0.0 : 1.0};
  communicator.sum(odd);
  if (communicator.rank() == ranks_->first()) {
    negative_parts_ = static_cast<int>(odd[0]);
    large_parts_ = static_cast<int>(odd[1]);
  }
  return cut;
}

/// Gets of one device may be under way in another's memory: all spaces end first.
RankTraining::~RankTraining() {
  for (Member& here : members_) here.space.reset();
}

epochs::RunRecord RankTraining::run(const data::Split& split, const FullGraphOptions& options,
                                    epochs::Evaluator& evaluator, std::uint64_t seed, const Watcher& watcher,
                                    std::span<float> best_weights, const Start* start) {
  epochs::RunRecord record;
  ranks_->run([&](comm::Communicator& communicator) {
    Member& here = member(communicator);
    if (communicator.rank() == ranks_->first()) {
      record = train_run(*here.session, split, options, evaluator, seed, watcher, best_weights, start);
    } else {
      if (start != nullptr) std::copy(best_weights.begin(), best_weights.end(), here.weights.begin());
      train_run(*here.session, split, options, evaluator, seed, {}, here.weights.span(), start);
    }
  });
  return record;
}

std::int64_t RankTraining::bytes() const {
  std::int64_t bytes = 0;
  for (const Member& here : members_) {
    bytes += rank_bytes(here.session->plan(), here.part, here.data_bytes, here.session->dataset().labels, options_);
  }
  return bytes;
}

std::vector<std::string> RankTraining::notes() const {
  std::vector<std::string> notes = {fmt::format("{} {} with {}: they {} {} copies of others' nodes, of {} nodes",
                                                ranks_->count(), exchange_.fetched ? "devices" : "ranks", cut_,
                                                exchange_.fetched ? "fetch" : "hold", ghosts_, whole_.num_nodes())};
  std::vector<std::string> refused;
  for (const partition::Refusal& way : refused_) refused.push_back(fmt::format("{}: {}", way.method, way.reason));
  if (!refused.empty()) notes.push_back("--partition auto could not take " + join(refused, "; "));
  return notes;
}

std::string RankTraining::negative_weights() const {
  if (negative_parts_ == 0) return {};
  return fmt::format(
      "{} of {} parts have edges of negative weights: a normalisation by degrees, as gcn's, cuts nodes off whose "
      "weights sum to 0 or less; gneiss data validate says how many",
      negative_parts_, ranks_->count());
}

std::vector<std::string> RankTraining::large_numbers() const {
  if (large_parts_ == 0) return {};
  return {
      fmt::format("{} of {} parts have large numbers, on which networks train badly; gneiss data validate says which",
                  large_parts_, ranks_->count())};
}

}  // namespace gneiss::train
