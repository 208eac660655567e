// The held-out epochs are sampled once; every order is then measured by sums over the counts.
#include "jobs/score.h"

#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "data/load.h"
#include "jobs/options.h"
#include "tiers/scorer.h"

namespace gneiss::jobs {
namespace {

constexpr std::int64_t kBatchSize = 1024;

void check(const ScoreRequest& request) {
  const auto at_least = [](std::int64_t number, std::int64_t least, const char* flag) {
    GNEISS_CHECK(number >= least, ErrorCode::kUsage, "{}: expected a number of at least {}, got {}", flag, least,
                 number);
  };
  at_least(request.epochs, 1, "--epochs");
  at_least(request.presample_epochs, 1, "--presample-epochs");
  at_least(request.iterations, 0, "--iterations");
}

template <class Hits>
std::array<double, kHotShares.size()> by_share(const Hits& hits) {
  std::array<double, kHotShares.size()> made{};
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = hits(kHotShares[i]);
  return made;
}

void choose(std::span<const tiers::Ranking> rankings, tiers::Scorer* scorer, const tiers::Accesses& held_out,
            std::int64_t nodes, ScoreReport* report) {
  const tiers::Accesses& chosen_by = scorer->to_choose_by();
  report->is_auto = true;
  report->choice_batches = chosen_by.batches;
  report->chosen_hits = {"auto", {}, chosen_by.seconds};
  for (const tiers::Ranking& ranking : rankings) report->chosen_hits.seconds += ranking.seconds;
  for (std::size_t i = 0; i < kHotShares.size(); ++i) {
    const std::int64_t hot = tiers::hot_rows(kHotShares[i], nodes);
    const tiers::Ranking& best = tiers::best_ranking(rankings, chosen_by, hot);
    report->chosen[i] = tiers::score_name(best.score);
    report->chosen_hits.hits[i] = tiers::hit_rate(held_out, best.order, hot);
  }
}

}  // namespace

ScoreReport score(const settings::Config& config, const ScoreRequest& request) {
  check(request);
  const std::vector<tiers::Score> asked = tiers::parse_scores(request.scores, "--score");
  minibatch::SamplerOptions sampling = sampler_options(config, 0);
  const data::Dataset dataset = data::load(resolve_data(config), load_options(config, 0, 1));
  if (dataset.split.train.empty()) {
    throw Error(ErrorCode::kUsage, fmt::format("{} has no training nodes to sample around", dataset.name), "DATA",
                "name a split with --split");
  }
  const int threads = thread_count(config);
  std::optional<minibatch::OriginalOrder> sorted;
  const minibatch::InEdges<NodeId> graph =
      minibatch::in_edges(dataset.graph, dataset.orig_id, threads, &sorted, minibatch::EdgeSlots::kOfWeights);
  const minibatch::Sampler<NodeId> sampler(graph, std::move(sampling), threads);
  tiers::ScorerOptions options;
  options.seed = static_cast<std::uint64_t>(config.integer("train.seed"));
  options.pagerank.damping = request.damping;
  options.weighted_iterations = static_cast<int>(request.iterations);
  options.presample_epochs = request.presample_epochs;
  const std::int64_t batch_size = config.has("batch.size") ? config.integer("batch.size") : kBatchSize;
  tiers::Scorer scorer(dataset.graph, {sampler, dataset.split.train, batch_size}, options, threads);

  ScoreReport report;
  report.dataset = dataset.name;
  report.sampling = sampler.describe();
  report.epochs = request.epochs;
  const tiers::Accesses held_out = scorer.held_out(1, request.epochs);
  report.batches = held_out.batches;
  report.rows = held_out.rows;
  const auto measured = [&](const tiers::Ranking& ranking) {
    const auto hits = by_share([&](double share) {
      return tiers::hit_rate(held_out, ranking.order, tiers::hot_rows(share, dataset.num_nodes()));
    });
    return ScoreRow{std::string(tiers::score_name(ranking.score)), hits, ranking.seconds};
  };
  std::vector<tiers::Ranking> rankings;
  for (const tiers::Score name : asked) report.scores.push_back(measured(rankings.emplace_back(scorer.rank(name))));
  report.oracle = measured(scorer.replay(held_out));
  if (request.scores == "auto") choose(rankings, &scorer, held_out, dataset.num_nodes(), &report);
  return report;
}

std::string describe(const ScoreReport& report) {
  const auto line = [](const ScoreRow& row) {
    std::string text = fmt::format("  {:10}", row.name);
    for (const double hits : row.hits) text += fmt::format("{:7.1f}", 100 * hits);
    return text + fmt::format("{:9.3f}\n", row.seconds);
  };
  std::string text =
      fmt::format("% of rows read that hot rows would have served, {}: {} epoch{} of {} batches, {}\n", report.dataset,
                  report.epochs, report.epochs == 1 ? "" : "s", report.batches / report.epochs, report.sampling);
  text += fmt::format("  {:10}", "hot");
  for (const double share : kHotShares) text += fmt::format("{:5.0f} %", 100 * share);
  text += "  seconds\n";
  for (const ScoreRow& row : report.scores) text += line(row);
  if (report.is_auto) text += line(report.chosen_hits);
  text += line(report.oracle);
  if (!report.is_auto) return text;
  text += fmt::format("  auto: best on {} batches apart;", report.choice_batches);
  for (std::size_t i = 0; i < kHotShares.size(); ++i)
    text += fmt::format("{} {:.0f} % {}", i == 0 ? "" : ",", 100 * kHotShares[i], report.chosen[i]);
  return text + "\n";
}

std::string to_json(const ScoreReport& report) {
  const auto row = [](const ScoreRow& scored) {
    Json::List hits;
    for (const double h : scored.hits) hits.emplace_back(h);
    return Json::object({{"score", scored.name}, {"hits", hits}, {"seconds", scored.seconds}});
  };
  Json::List shares;
  for (const double share : kHotShares) shares.emplace_back(share);
  Json json;
  json["dataset"] = report.dataset;
  json["sampling"] = report.sampling;
  json["epochs"] = report.epochs;
  json["batches"] = report.batches;
  json["rows"] = report.rows;
  json["hot"] = shares;
  Json::List scores;
  for (const ScoreRow& scored : report.scores) scores.push_back(row(scored));
  json["scores"] = scores;
  json["oracle"] = row(report.oracle);
  if (!report.is_auto) return json.dump(2);
  json["auto"] = row(report.chosen_hits);
  Json::List chosen;
  for (const std::string& name : report.chosen) chosen.emplace_back(name);
  json["auto"]["chosen"] = chosen;
  json["auto"]["batches"] = report.choice_batches;
  return json.dump(2);
}

}  // namespace gneiss::jobs
