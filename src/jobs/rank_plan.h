// What a training takes on several ranks: memory of a rank, seconds of an epoch, and how many ranks are worth it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/network.h"
#include "data/dataset.h"
#include "exchange/exchange.h"
#include "settings/config.h"
#include "train/session.h"

namespace gneiss::jobs {

/// A training on so many ranks. Seconds are those of an epoch on the rank that takes longest.
struct RanksEstimate {
  int ranks = 1;
  exchange::Exchange exchange = exchange::Exchange::kHalo;  ///< how rows of others are taken up
  std::int64_t bytes = 0;                                   ///< of the rank that takes most
  std::int64_t ghosts = 0;                                  ///< copies of others' nodes, of all ranks
  std::int64_t sent_bytes = 0;                              ///< in an epoch: rows of nodes and their gradients
  double compute_seconds = 0;                               ///< modelled
  double communicate_seconds = 0;                           ///< what transfers would take one after the other
  double exposed_seconds = 0;                               ///< of that, what ranks wait for

  double hidden_seconds() const { return communicate_seconds - exposed_seconds; }
  double epoch_seconds() const { return compute_seconds + exposed_seconds; }
};

struct RankPlan {
  int per_node = 1;                  ///< ranks on a machine
  cost::Network network;             ///< between as many ranks as were asked for
  std::string cut;                   ///< by which method
  std::string rates;                 ///< of a rank of those: of which machine
  std::vector<RanksEstimate> table;  ///< on 1, 2, 4, … ranks and on those asked for, ascending
  int advised = 1;                   ///< ranks of the shortest epoch

  const RanksEstimate& of(int ranks) const;
};

struct RanksToPlan {
  int ranks = 2;
  int per_node = 1;          ///< that share a machine
  std::string method;        ///< by which the graph is cut
  std::int64_t columns = 1;  ///< of the rows that are summed and sent
  exchange::Exchange exchange = exchange::Exchange::kHalo;
};

/// Plans trainings on 1, 2, 4, … up to `ranks` ranks. The busiest ranks are planned each, by the rates of what a rank
/// has of this machine: one rank has all of it. Errors: as rank_machine, partition::cut_graph and make_blueprint.
RankPlan plan_ranks(data::Dataset&& dataset, const train::SessionOptions& options, const settings::Config& config,
                    const RanksToPlan& wanted);
std::string describe(const RankPlan& plan);

}  // namespace gneiss::jobs
