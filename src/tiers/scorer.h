// All scores by name, and the choice between them by what they would have served.
//
// No score is best everywhere: where training nodes are spread evenly all are alike, where they are gathered those win
// that start at them. So candidates are held against batches that none of them has seen, and the best is taken.
//
// Batches for different purposes never share a draw: training and its replay go by the run's own seed, presampling and
// the choice by seeds made from it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/reorder.h"
#include "tiers/accesses.h"
#include "tiers/scores.h"

namespace gneiss::tiers {

enum class Score : std::uint8_t {
  kDegree,                   ///< out-degree
  kReversePageRank,          ///< until it settles
  kWeightedReversePageRank,  ///< starts at the training nodes, an iteration a hop
  kVip,                      ///< inclusion_score
  kPresample,                ///< counts over sampled epochs
  kOracle,                   ///< counts over the very epochs to be served: what no score can beat
};

std::string_view score_name(Score score);
/// Those that need no look at what is to come, the cheapest first.
std::span<const Score> candidate_scores();
/// "degree,rpr" as scores; "auto" gives all candidates. Errors: kUsage naming `where` for a name that is none, twice
/// the same, and oracle, which is shown beside all others and can be asked of nobody.
std::vector<Score> parse_scores(std::string_view text, const std::string& where);

struct ScorerOptions {
  std::uint64_t seed = 0;  ///< of the run
  PageRankOptions pagerank;
  int weighted_iterations = 0;        ///< 0: as many as hops
  std::int64_t presample_epochs = 2;  ///< that kPresample counts over
  std::int64_t choice_epochs = 1;     ///< that a choice is made by
};

/// Of batches to choose by, which neither presampling nor a run with this seed has.
std::uint64_t choice_seed(std::uint64_t seed);

/// An order of the nodes by a score.
struct Ranking {
  Score score = Score::kDegree;
  graph::Order order;
  double seconds = 0;
};

class Scorer {
 public:
  /// `graph` must outlive this: the one that the sampler of `batches` draws from, under the same names.
  Scorer(const graph::Graph& graph, const Batches& batches, const ScorerOptions& options, int threads);

  /// Errors: as the score; kUsage for kOracle, see replay.
  Ranking rank(Score score);
  /// The order of a replay of epochs under the run's seed.
  Ranking replay(const Accesses& accesses) const;
  /// Accesses of the run's own epochs.
  Accesses held_out(std::int64_t first_epoch, std::int64_t epochs) const;
  /// Accesses to choose by: of batches that neither presampling nor the run has.
  const Accesses& to_choose_by();

 private:
  std::vector<double> scores(Score score);
  std::span<const std::int64_t> orig_id() const { return batches_.sampler.graph().orig_id; }
  const BothEnds& both_ends();

  const graph::Graph& graph_;
  Batches batches_;
  ScorerOptions options_;
  int threads_;
  std::optional<BothEnds> both_ends_;
  std::optional<Accesses> to_choose_by_;
};

/// Which rows are to be hot, and how that was found.
struct HotRows {
  graph::Order by_heat;    ///< all nodes
  std::int64_t count = 0;  ///< of hot rows: the first of the order
  Score score = Score::kDegree;
  double hits = -1;          ///< of batches apart; -1: there was nothing to choose, and so none were sampled
  std::int64_t hits_of = 0;  ///< the rows that these hits are of
  std::int64_t batches = 0;  ///< apart
  double seconds = 0;        ///< that all scores and the choice took
  std::vector<double> heat;  ///< as heat_of, where somebody asked
};

/// The first `count` nodes by the best of these scores. Errors: as the scores.
HotRows choose_hot(Scorer* scorer, std::span<const Score> candidates, std::int64_t count);

/// An order with the hot rows first. `inside` is an order that is wanted within hot and cold rows (clusters), or empty:
/// by heat. Errors: kShape if the two are of different lengths.
graph::Order tier_order(const HotRows& hot, std::span<const NodeId> inside);

/// The ranking with most hits among the first `hot` nodes; of equal ones the first. Errors: kInternal for none.
const Ranking& best_ranking(std::span<const Ranking> rankings, const Accesses& accesses, std::int64_t hot);

}  // namespace gneiss::tiers
