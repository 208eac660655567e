// The plans of ranks that are not there: from the whole data set and a cut, without talking.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "exchange/fetches.h"
#include "graph/reorder.h"
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
  std::int64_t exchange_bytes = 0;       ///< what taking up others' rows takes besides the plan
  std::int64_t bytes = 0;                ///< data, lists of rows, and the most that its session takes at a time;
                                         ///< of a plan for a device, what it takes of its memory
};

/// What a rank takes: `data_bytes` of its part, as it came, and `exchange_bytes` besides its plan.
std::int64_t rank_bytes(const ir::Plan& plan, const RankPart& part, std::int64_t data_bytes,
                        std::int64_t exchange_bytes, const data::Labels& labels, const SessionOptions& options);

/// Where own nodes and ghosts of a device stood before nodes were renamed so that parts are runs of them: RankPart's
/// `order`. `old_names`: old nodes by new ones; empty: nodes kept theirs.
std::vector<std::int64_t> order_of(const comm::HaloPlan& halo, std::span<const std::int64_t> starts, int rank,
                                   const graph::Order& old_names);

/// How rows are taken up.
struct PlannedExchange {
  bool fetched = false;  ///< devices read them where others have them; else ranks are sent them, by halo or stream
  exchange::Exchange how = exchange::Exchange::kHalo;
  exchange::Tuning tuning = {};  ///< of fine
};

class RankPlanner {
 public:
  /// `whole` must outlive this. Errors: as make_blueprint.
  RankPlanner(const data::Dataset& whole, const SessionOptions& options, const PlannedExchange& exchange = {});

  /// Of rank `rank` of those that own the runs of nodes `starts`, which read of each other what `traffic` says: both
  /// ways, if they are cut so.
  PlannedRank plan(std::span<const std::int64_t> starts, std::span<const partition::PartTraffic> traffic,
                   int rank) const;

 private:
  const data::Dataset& whole_;
  SessionOptions options_;
  PlannedExchange exchange_;
  std::int64_t nonzeros_;     ///< of all features, if they are sparse
  std::vector<double> sums_;  ///< numbers_to_choose_by, of the whole
};

}  // namespace gneiss::train
