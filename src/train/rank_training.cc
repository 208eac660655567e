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
#include "pgas/space.h"
#include "train/rank_plan.h"

namespace gneiss::train {

RankTraining::RankTraining(comm::Ranks* ranks, data::Dataset&& whole, const SessionOptions& options,
                           const RowExchange& exchange, const Cutting& cutting)
    : ranks_(ranks),
      whole_(std::move(whole)),
      exchange_(exchange),
      options_(options),
      members_(static_cast<std::size_t>(ranks_->here())) {
  GNEISS_ASSERT(exchange_.devices.empty() ? options.device == nullptr
                                          : std::ssize(exchange_.devices) == ranks_->count() && exchange_.fetched,
                "{} devices for {} ranks", exchange_.devices.size(), ranks_->count());
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
    here.part.exchange = exchange_.how;
    if (exchange_.fetched) {
      here.space = communicator.make_space(exchange_.link);
      GNEISS_ASSERT(!here.space->reads_in_place() || ranks_->here() == ranks_->count() || exchange_.heap != nullptr,
                    "rows are read in place in memory that all devices have");
      here.part.space = here.space.get();
      if (exchange_.traced) {
        here.timeline = std::make_unique<pgas::Timeline>();
        here.space->note_in(here.timeline.get());
      }
      here.part.tuning = exchange_.tuning;
      here.part.heap = exchange_.heap;
      here.part.nvshmem = exchange_.nvshmem.get();
      if (exchange_.how == exchange::Exchange::kFine && exchange_.tunes != nullptr) {
        here.tuner = std::make_unique<exchange::Tuner>(exchange_.tuning, exchange_.tunes);
        here.part.tuner = here.tuner.get();
      }
      here.part.in_order = exchange_.in_order && exchange_.how == exchange::Exchange::kHalo;
      if (here.part.in_order) here.part.order = order_of(here.part.halo, starts, communicator.rank(), made.order);
    }
    double ghosts[] = {static_cast<double>(here.part.halo.ghosts)};
    communicator.sum(ghosts);
    if (communicator.rank() == ranks_->first()) ghosts_ = static_cast<std::int64_t>(ghosts[0]);
  });
  whole_.graph.drop_edges();
  whole_.features.drop_values();
  // Processes of this machine share its threads as ranks of a process do.
  options_.threads = std::max(1, threads_of(options) / (exchange_.heap != nullptr ? ranks_->count() : ranks_->here()));
  ranks_->run([&](comm::Communicator& communicator) {
    Member& here = member(communicator);
    SessionOptions own = options_;
    if (!exchange_.devices.empty()) own.device = exchange_.devices[static_cast<std::size_t>(communicator.rank())];
    here.session = std::make_unique<Session<float>>(std::move(part_of(communicator)), own, &here.part);
    if (communicator.rank() != ranks_->first()) here.weights = Buffer<float>(here.session->snapshot_size());
    here.session->set_up();
  });
}

/// Of data that nobody has looked at, a rank looks at its part, and the ranks count together whose numbers are odd.
RankData RankTraining::cut_checked(comm::Communicator& communicator, std::span<const std::int64_t> starts) {
  if (!whole_.by_parts)
    return cut_dataset(whole_, starts, communicator, options_.loss.kind, options_.class_weights,
                       exchange_.in_order && exchange_.fetched && is_cut_both_ways(whole_, exchange_.how));
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

/// Gets of one device may be under way in another's memory: all spaces end first. Cards' memory that processes share
/// has to be closed by all before one gives it back.
RankTraining::~RankTraining() {
  if (!exchange_.devices.empty() && exchange_.heap != nullptr) {
    try {
      ranks_->run([&](comm::Communicator& communicator) {
        double all[] = {0};
        communicator.sum(all);
        member(communicator).session->leave();
        communicator.sum(all);
      });
    } catch (const Error&) {  // a process is lost, and the training ends with that
    }
  }
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
  const std::vector<std::int64_t> each = member_bytes();
  return std::accumulate(each.begin(), each.end(), std::int64_t{0});
}

std::vector<std::int64_t> RankTraining::member_bytes() const {
  std::vector<std::int64_t> bytes;
  for (const Member& here : members_) {
    const bool on_host = exchange_.devices.empty();
    bytes.push_back(rank_bytes(here.session->plan(), here.part, here.data_bytes,
                               on_host ? here.session->exchange_bytes() : 0, here.session->dataset().labels, options_));
  }
  return bytes;
}

std::vector<std::int64_t> RankTraining::device_bytes() const {
  std::vector<std::int64_t> bytes;
  for (const Member& here : members_) bytes.push_back(here.session->device_bytes());
  return bytes;
}

std::vector<std::int64_t> RankTraining::exchange_bytes() const {
  std::vector<std::int64_t> bytes;
  for (const Member& here : members_) bytes.push_back(here.session->exchange_bytes());
  return bytes;
}

std::vector<const pgas::Timeline*> RankTraining::timelines() const {
  std::vector<const pgas::Timeline*> timelines;
  for (const Member& here : members_) {
    if (here.timeline != nullptr) timelines.push_back(here.timeline.get());
  }
  return timelines;
}

std::vector<std::string> RankTraining::notes() const {
  std::vector<std::string> notes = {fmt::format("{} {} with {}: they {} {} copies of others' nodes, of {} nodes",
                                                ranks_->count(), exchange_.of_devices ? "devices" : "ranks", cut_,
                                                exchange_.fetched ? "fetch" : "hold", ghosts_, whole_.num_nodes())};
  std::vector<std::string> refused;
  for (const partition::Refusal& way : refused_) refused.push_back(fmt::format("{}: {}", way.method, way.reason));
  if (!refused.empty()) notes.push_back("--partition auto could not take " + join(refused, "; "));
  if (exchange_.how == exchange::Exchange::kHalo) return notes;
  bool split = false;
  for (const ir::PassReport& pass : members_[0].session->plan().passes) {
    if (pass.name != "overlap") continue;
    split = true;
    notes.insert(notes.end(), pass.decisions.begin(), pass.decisions.end());
  }
  if (!split) notes.push_back(fmt::format("not by {}: the pass overlap is off", exchange::name_of(exchange_.how)));
  return notes;
}

std::vector<std::vector<std::int64_t>> RankTraining::fetched_bytes() const {
  std::vector<std::vector<std::int64_t>> bytes;
  for (const Member& here : members_) {
    if (here.space == nullptr) continue;
    bytes.push_back(here.space->traffic().bytes_from);
    bytes.back().resize(static_cast<std::size_t>(ranks_->count()), 0);
  }
  return bytes;
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
