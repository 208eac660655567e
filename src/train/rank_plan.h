// The plans of ranks that are not there: from the whole data set and a cut, without talking.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "exchange/fetches.h"
#include "partition/traffic.h"
#include "train/planned_bytes.h"
#include "train/rank_data.h"
#include "train/session.h"

namespace gneiss::train {

/// What one rank of several would run and take.
struct PlannedRank {
  ir::Plan plan;
  std::int64_t nodes = 0;
  std::int64_t ghosts = 0;
  std::int64_t sends = 0;                ///< own rows that others hold copies of, once for each
  std::int64_t partners = 0;             ///< ranks that it receives rows from
  double interior = 1;                   ///< of its edges, those into nodes all of whose in-edges come from own nodes
  double own = 1;                        ///< of its edges, those from own nodes
  std::vector<exchange::Fetch> fetches;  ///< if it is a device that reads rows where others have them
  std::int64_t data_bytes = 0;           ///< its part of the data set
  std::int64_t bytes = 0;  ///< that, lists of rows, pieces of sums that begin with own edges, and the most
                           ///< that its session takes at a time
};

/// What a rank takes: `data_bytes` of its part, as it came.
std::int64_t rank_bytes(const ir::Plan& plan, const RankPart& part, std::int64_t data_bytes, const data::Labels& labels,
                        const SessionOptions& options);

class RankPlanner {
 public:
  /// `whole` must outlive this. `how` they take up rows that they sum; of ranks that are sent rows halo or stream.
  /// Errors: as make_blueprint.
  RankPlanner(const data::Dataset& whole, const SessionOptions& options,
              exchange::Exchange how = exchange::Exchange::kHalo, const exchange::Tuning& tuning = {});

  /// Of rank `rank` of those that own the runs of nodes `starts`, which read of each other what `traffic` says.
  PlannedRank plan(std::span<const std::int64_t> starts, std::span<const partition::PartTraffic> traffic,
                   int rank) const;

 private:
  const data::Dataset& whole_;
  SessionOptions options_;
  exchange::Exchange how_;
  exchange::Tuning tuning_;
  std::int64_t nonzeros_;     ///< of all features, if they are sparse
  std::vector<double> sums_;  ///< numbers_to_choose_by, of the whole
};

}  // namespace gneiss::train
