// The held-out epochs are sampled once; every order is then measured by sums over the counts.
#include "jobs/score.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/file_pages.h"
#include "base/json.h"
#include "base/process.h"
#include "data/load.h"
#include "data/manifest.h"
#include "data/parts.h"
#include "jobs/options.h"
#include "minibatch/capacity.h"
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

/// Hits of the score that is best by share on the batches to choose by, of the scores so far; no order is kept.
class Choice {
 public:
  explicit Choice(const tiers::Accesses& chosen_by) : chosen_by_(chosen_by) { best_.fill(-1); }

  void offer(const tiers::Ranking& ranking, const ScoreRow& measured, std::int64_t nodes, ScoreReport* report) {
    report->chosen_hits.seconds += ranking.seconds;
    for (std::size_t i = 0; i < kHotShares.size(); ++i) {
      const double hits = tiers::hit_rate(chosen_by_, ranking.order, tiers::hot_rows(kHotShares[i], nodes));
      if (hits <= best_[i]) continue;
      best_[i] = hits;
      report->chosen[i] = measured.name;
      report->chosen_hits.hits[i] = measured.hits[i];
    }
  }

 private:
  const tiers::Accesses& chosen_by_;
  std::array<double, kHotShares.size()> best_;
};

/// With --mem, features of a Gneiss folder are not read and edges stay in their file, whatever their size.
data::Dataset load_to_score(const settings::Config& config) {
  const std::string name = resolve_data(config);
  data::LoadOptions options = load_options(config, 0, 1);
  if (!config.has("train.mem") || options.format != "auto" || !data::is_gneiss_folder(name))
    return data::load(name, options);
  options.feature_norm = "none";
  options.feature_form = "auto";
  options.binarize = {};
  const std::filesystem::path path = name;
  options.feature_dtype =
      half_name(data::read_manifest(path.filename() == "manifest.json" ? path.parent_path() : path).feature_dtype);
  options.in_files = true;
  options.max_bytes = std::numeric_limits<std::int64_t>::max();
  data::Dataset dataset = data::load(name, options);
  data::check_all_in_edges(dataset);
  return dataset;
}

/// Batches on their way: slabs, and what each worker has to make one.
std::int64_t bytes_of_batches(const minibatch::Sampler<NodeId>& sampler, std::span<const NodeId> seeds,
                              std::int64_t batch_size, std::int64_t workers) {
  // No batch is larger; where all neighbours are taken, only the graph bounds that, and one is looked at.
  const std::vector<std::int64_t>& fanout = sampler.options().fanout;
  minibatch::BatchShape shape = minibatch::largest_shape(sampler, batch_size);
  if (std::find_if(fanout.begin(), fanout.end(), [](std::int64_t f) { return f < 0; }) != fanout.end()) {
    const minibatch::SeedOrder<NodeId> order(seeds, sampler.graph().num_nodes(), sampler.graph().orig_id,
                                             {batch_size, 0, true});
    shape = minibatch::capacity(sampler, order, {0, 1, 0}, 2);
  }
  const std::int64_t nodes = *std::max_element(shape.nodes.begin(), shape.nodes.end());
  const std::int64_t edges = *std::max_element(shape.edges.begin(), shape.edges.end());
  constexpr std::int64_t kOfNode = 64;  // ids, rows and a table of twice as many slots, with room to grow
  constexpr std::int64_t kOfEdge = 8;
  return (2 * workers + 2) * shape.bytes + workers * (kOfNode * nodes + kOfEdge * edges);
}

/// Is --mem enough for what scores and batches take, with the pages of edges and offsets?
void check_memory(const settings::Config& config, const data::Dataset& dataset,
                  const minibatch::Sampler<NodeId>& sampler, std::int64_t batch_size, int threads) {
  if (!config.has("train.mem")) return;
  constexpr std::int64_t kMiB = 1 << 20;
  constexpr std::int64_t kOfNode = 56;  // two counts; a score in the making, or keys and an order
  const graph::Graph& graph = dataset.graph;
  std::int64_t needed = kOfNode * dataset.num_nodes() + 16 * kMiB + 2 * kMiB * threads;
  const auto pages = [](const auto& values) {
    return pages_are_the_files(values.data(), values.size_bytes()) ? static_cast<std::int64_t>(values.size_bytes()) : 0;
  };
  needed += pages(graph.sources()) + pages(graph.offsets());
  if (!graph.symmetric()) {
    const std::int64_t edges = graph.num_edges();
    needed += 4 * edges + 8 * dataset.num_nodes() + graph::transpose_scratch_bytes(edges, 0);
  }
  needed += bytes_of_batches(sampler, dataset.split.train, batch_size, threads);
  needed += current_rss_bytes();
  const std::int64_t limit = config.integer("train.mem");
  if (needed <= limit) return;
  throw Error(ErrorCode::kOutOfMemory,
              fmt::format("--mem {}: to score {} nodes with {} edges takes {} bytes, features left in their file",
                          limit, dataset.num_nodes(), graph.num_edges(), (needed / kMiB + 2) * kMiB),
              dataset.name, "allow more, or take fewer --threads or a smaller --batch-size or --fanout");
}

}  // namespace

ScoreReport score(const settings::Config& config, const ScoreRequest& request) {
  check(request);
  const std::vector<tiers::Score> asked = tiers::parse_scores(request.scores, "--score");
  minibatch::SamplerOptions sampling = sampler_options(config, 0);
  const data::Dataset dataset = load_to_score(config);
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
  check_memory(config, dataset, sampler, batch_size, threads);
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
  std::optional<Choice> choice;
  if (request.scores == "auto") {
    const tiers::Accesses& chosen_by = scorer.to_choose_by();
    report.is_auto = true;
    report.choice_batches = chosen_by.batches;
    report.chosen_hits = {"auto", {}, chosen_by.seconds};
    choice.emplace(chosen_by);
  }
  for (const tiers::Score name : asked) {
    const tiers::Ranking ranking = scorer.rank(name);
    report.scores.push_back(measured(ranking));
    if (choice) choice->offer(ranking, report.scores.back(), dataset.num_nodes(), &report);
  }
  report.oracle = measured(scorer.replay(held_out));
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
