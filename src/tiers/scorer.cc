// One table names the scores; the class keeps what several of them need, the graph's other direction.
#include "tiers/scorer.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/error.h"
#include "base/names.h"
#include "minibatch/draws.h"

namespace gneiss::tiers {
namespace {

struct Named {
  Score score;
  std::string_view name;
};
constexpr std::array<Named, 6> kNames = {{{Score::kDegree, "degree"},
                                          {Score::kReversePageRank, "rpr"},
                                          {Score::kWeightedReversePageRank, "wrpr"},
                                          {Score::kVip, "vip"},
                                          {Score::kPresample, "presample"},
                                          {Score::kOracle, "oracle"}}};
constexpr std::array<Score, 5> kCandidates = {Score::kDegree, Score::kVip, Score::kWeightedReversePageRank,
                                              Score::kReversePageRank, Score::kPresample};

/// What batches are sampled for, besides training.
enum class Use : std::uint64_t { kPresample = 0x7072650000000001U, kChoice = 0x7072650000000002U };

std::uint64_t seed_for(std::uint64_t seed, Use use) {
  return minibatch::sub_key(seed, static_cast<std::uint64_t>(use));
}

std::vector<double> as_scores(const Accesses& accesses) { return {accesses.counts.begin(), accesses.counts.end()}; }

Score parse_score(std::string_view name, const std::string& where) {
  std::vector<std::string> known = {"auto"};
  for (const Named& named : kNames) {
    if (named.name == name && named.score != Score::kOracle) return named.score;
    if (named.score != Score::kOracle) known.emplace_back(named.name);
  }
  if (name == "oracle") {
    throw Error(ErrorCode::kUsage, "the oracle is no score to ask for: it knows the batches that it is measured on",
                where, "leave it out; it stands beside the others");
  }
  throw Error(ErrorCode::kUsage, fmt::format("unknown score '{}'", name), where,
              unknown_name_hint(std::string(name), known));
}

}  // namespace

std::uint64_t choice_seed(std::uint64_t seed) { return seed_for(seed, Use::kChoice); }

std::string_view score_name(Score score) {
  return std::find_if(kNames.begin(), kNames.end(), [&](const Named& named) { return named.score == score; })->name;
}

std::span<const Score> candidate_scores() { return kCandidates; }

std::vector<Score> parse_scores(std::string_view text, const std::string& where) {
  if (text == "auto") return {kCandidates.begin(), kCandidates.end()};
  std::vector<Score> scores;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const Score score = parse_score(text.substr(begin, end - begin), where);
    if (std::find(scores.begin(), scores.end(), score) != scores.end()) {
      throw Error(ErrorCode::kUsage, fmt::format("'{}' stands twice in the list of scores", score_name(score)), where,
                  "name each score once");
    }
    scores.push_back(score);
    begin = end + 1;
  }
  return scores;
}

Scorer::Scorer(const graph::Graph& graph, const Batches& batches, const ScorerOptions& options, int threads)
    : graph_(graph), batches_(batches), options_(options), threads_(threads) {}

const BothEnds& Scorer::both_ends() {
  if (!both_ends_) both_ends_.emplace(graph_, threads_);
  return *both_ends_;
}

std::vector<double> Scorer::scores(Score score) {
  const minibatch::SamplerOptions& sampling = batches_.sampler.options();
  switch (score) {
    case Score::kDegree:
      return degree_score(both_ends());
    case Score::kReversePageRank:
      return reverse_pagerank(both_ends(), {}, options_.pagerank, threads_);
    case Score::kWeightedReversePageRank: {
      PageRankOptions weighted = options_.pagerank;
      weighted.iterations =
          options_.weighted_iterations > 0 ? options_.weighted_iterations : static_cast<int>(sampling.fanout.size());
      return reverse_pagerank(both_ends(), batches_.seeds, weighted, threads_);
    }
    case Score::kVip:
      return inclusion_score(both_ends(), batches_.seeds, batches_.batch_size, sampling, threads_);
    case Score::kPresample:
      return as_scores(
          count_accesses(batches_, seed_for(options_.seed, Use::kPresample), 1, options_.presample_epochs, threads_));
    case Score::kOracle:
      break;
  }
  GNEISS_ASSERT(false, "the oracle ranks a replay");
}

Ranking Scorer::rank(Score score) {
  const auto began = std::chrono::steady_clock::now();
  Ranking ranking{score, hot_order(scores(score), orig_id())};
  ranking.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return ranking;
}

Ranking Scorer::replay(const Accesses& accesses) const {
  return {Score::kOracle, hot_order(as_scores(accesses), orig_id()), accesses.seconds};
}

Accesses Scorer::held_out(std::int64_t first_epoch, std::int64_t epochs) const {
  return count_accesses(batches_, options_.seed, first_epoch, epochs, threads_);
}

const Accesses& Scorer::to_choose_by() {
  if (!to_choose_by_)
    to_choose_by_ = count_accesses(batches_, choice_seed(options_.seed), 1, options_.choice_epochs, threads_);
  return *to_choose_by_;
}

HotRows choose_hot(Scorer* scorer, std::span<const Score> candidates, std::int64_t count) {
  std::vector<Ranking> rankings;
  HotRows hot;
  hot.count = count;
  for (const Score candidate : candidates) {
    rankings.push_back(scorer->rank(candidate));
    hot.seconds += rankings.back().seconds;
  }
  std::size_t best = 0;
  if (rankings.size() > 1) {
    const Accesses& apart = scorer->to_choose_by();
    best = static_cast<std::size_t>(&best_ranking(rankings, apart, count) - rankings.data());
    hot.hits_of = count;
    hot.hits = hit_rate(apart, rankings[best].order, count);
    hot.batches = apart.batches;
    hot.seconds += apart.seconds;
  }
  hot.score = rankings[best].score;
  hot.by_heat = std::move(rankings[best].order);
  return hot;
}

graph::Order tier_order(const HotRows& hot, std::span<const NodeId> inside) {
  if (inside.empty()) return hot.by_heat;
  GNEISS_CHECK(inside.size() == hot.by_heat.size(), ErrorCode::kShape, "an order of {} nodes within tiers of {}",
               inside.size(), hot.by_heat.size());
  std::vector<bool> is_hot(inside.size(), false);
  for (std::int64_t i = 0; i < hot.count; ++i)
    is_hot[static_cast<std::size_t>(hot.by_heat[static_cast<std::size_t>(i)])] = true;
  graph::Order order(inside.begin(), inside.end());
  std::stable_partition(order.begin(), order.end(), [&](NodeId v) { return is_hot[static_cast<std::size_t>(v)]; });
  return order;
}

const Ranking& best_ranking(std::span<const Ranking> rankings, const Accesses& accesses, std::int64_t hot) {
  GNEISS_ASSERT(!rankings.empty(), "there is nothing to choose from");
  std::vector<double> hits;
  for (const Ranking& ranking : rankings) hits.push_back(hit_rate(accesses, ranking.order, hot));
  return rankings[static_cast<std::size_t>(std::max_element(hits.begin(), hits.end()) - hits.begin())];
}

}  // namespace gneiss::tiers
