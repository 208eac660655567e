// Workers sample; this thread writes, in order. What it has written goes again if a later batch fails.
#include "jobs/sample.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "data/load.h"
#include "data/npz_write.h"
#include "jobs/options.h"
#include "minibatch/capacity.h"

namespace gneiss::jobs {
namespace {

namespace fs = std::filesystem;
using minibatch::MiniBatch;

constexpr std::int64_t kBatchSize = 1024;

/// From the ids of the data's file to nodes.
class GivenIds {
 public:
  explicit GivenIds(const data::Dataset& dataset) : dataset_(dataset) {
    for (std::size_t v = 0; v < dataset.node_names.size(); ++v)
      by_name_[dataset.node_names[v]] = static_cast<NodeId>(v);
    for (std::size_t v = 0; v < dataset.orig_id.size(); ++v) by_id_[dataset.orig_id[v]] = static_cast<NodeId>(v);
  }

  std::optional<NodeId> find(const std::string& text) const {
    if (!by_name_.empty()) {
      const auto found = by_name_.find(text);
      return found == by_name_.end() ? std::nullopt : std::optional(found->second);
    }
    std::int64_t id = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (failure != std::errc() || end != text.data() + text.size()) return {};
    if (dataset_.orig_id.empty())
      return id >= 0 && id < dataset_.num_nodes() ? std::optional(static_cast<NodeId>(id)) : std::nullopt;
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const data::Dataset& dataset_;
  std::unordered_map<std::string, NodeId> by_name_;
  std::unordered_map<std::int64_t, NodeId> by_id_;
};

std::vector<NodeId> read_nodes(const fs::path& path, const data::Dataset& dataset) {
  const GivenIds ids(dataset);
  const std::string text = read_file(path);
  std::vector<NodeId> nodes;
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string item = text.substr(begin, end - begin);
    begin = end + 1;
    ++line;
    item.erase(0, item.find_first_not_of(" \t\r"));
    item.erase(item.find_last_not_of(" \t\r") + 1);
    if (item.empty()) continue;
    const std::optional<NodeId> node = ids.find(item);
    if (!node) {
      throw Error(ErrorCode::kBadData, fmt::format("expected the id of a node of {}, got '{:.40}'", dataset.name, item),
                  fmt::format("{}:{}", path.string(), line), "write one id a line, as the data set's file has them");
    }
    nodes.push_back(*node);
  }
  return nodes;
}

std::vector<NodeId> seed_nodes(const data::Dataset& dataset, const SampleRequest& request) {
  if (!request.nodes_file.empty()) return read_nodes(request.nodes_file, dataset);
  if (dataset.split.train.empty()) {
    throw Error(ErrorCode::kUsage, fmt::format("{} has no training nodes to sample around", dataset.name), "DATA",
                "name nodes with --nodes FILE, or a split with --split");
  }
  return dataset.split.train;
}

bool is_batch_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("batch_") && name.ends_with(".npz");
}

/// The folder of the batches; takes back what it was given unless all of it came.
class BatchFolder {
 public:
  BatchFolder(fs::path path, bool force) : path_(std::move(path)) {
    if (path_.empty()) return;
    if (fs::exists(path_)) {
      check_content(force);
    } else {
      make_folder(path_);
      made_ = true;
    }
  }
  ~BatchFolder() {
    if (complete_) return;
    std::error_code ignored;  // an error is on its way already
    for (const fs::path& file : written_) fs::remove(file, ignored);
    if (made_) fs::remove(path_, ignored);
  }
  BatchFolder(const BatchFolder&) = delete;
  BatchFolder& operator=(const BatchFolder&) = delete;

  void write(const MiniBatch<NodeId>& batch, const data::Dataset& dataset) {
    if (path_.empty()) return;
    const auto given = [&](NodeId v) {
      return dataset.orig_id.empty() ? std::int64_t{v} : dataset.orig_id[static_cast<std::size_t>(v)];
    };
    ids_.resize(batch.nodes().size());
    std::transform(batch.nodes().begin(), batch.nodes().end(), ids_.begin(), given);
    written_.push_back(path_ / fmt::format("batch_{:06}.npz", batch.key().index));
    data::NpzWriter file(written_.back());
    const std::span<const std::int64_t> nodes(ids_);
    file.add("seeds", "<i8", nodes.first(batch.seeds().size()));
    file.add("nodes", "<i8", nodes);
    for (int h = 0; h < batch.hops(); ++h) {
      const minibatch::Block block = batch.hop(h);
      file.add(fmt::format("indptr_{}", h), "<i8", block.offsets);
      file.add(fmt::format("src_{}", h), "<i4", block.sources);
      file.add(fmt::format("edge_{}", h), "<i8", block.edges);
    }
    file.commit();
  }
  void keep() { complete_ = true; }

 private:
  void check_content(bool force) {
    GNEISS_CHECK(fs::is_directory(path_), ErrorCode::kUsage, "--out {} is no folder", path_.string());
    std::vector<fs::path> old;
    for (const auto& entry : fs::directory_iterator(path_)) {
      if (!force || !is_batch_file(entry.path())) {
        throw Error(ErrorCode::kUsage, fmt::format("there is something in the folder: {}", entry.path().string()),
                    "--out",
                    force ? "--force replaces batches alone" : "name another folder, or replace batches with --force");
      }
      old.push_back(entry.path());
    }
    for (const fs::path& file : old) fs::remove(file);
  }

  fs::path path_;
  bool made_ = false;
  bool complete_ = false;
  std::vector<fs::path> written_;
  std::vector<std::int64_t> ids_;
};

/// Mean and spread as the counts come in (Welford).
class Spread {
 public:
  void add(std::int64_t count) {
    ++number_;
    const double x = static_cast<double>(count);
    const double before = x - spread_.mean;
    spread_.mean += before / static_cast<double>(number_);
    squares_ += before * (x - spread_.mean);
    spread_.largest = std::max(spread_.largest, count);
  }
  CountSpread result() const {
    CountSpread spread = spread_;
    if (number_ > 1) spread.deviation = std::sqrt(squares_ / static_cast<double>(number_ - 1));
    return spread;
  }

 private:
  CountSpread spread_;
  double squares_ = 0;
  std::int64_t number_ = 0;
};

std::int64_t edges_of(const MiniBatch<NodeId>& batch, minibatch::Semantics semantics) {
  const auto& edges = batch.shape().edges;
  const auto hops = static_cast<std::size_t>(batch.hops());
  if (semantics == minibatch::Semantics::kSubgraph) return hops == 0 ? 0 : edges[hops - 1];
  std::int64_t sum = 0;
  for (std::size_t h = 0; h < hops; ++h) sum += edges[h];
  return sum;
}

using Sampler = minibatch::Sampler<NodeId>;
using SeedOrder = minibatch::SeedOrder<NodeId>;

void take_batches(const Sampler& sampler, const SeedOrder& seeds, const data::Dataset& dataset,
                  const minibatch::LoaderOptions& options, const SampleRequest& request, SampleReport* report) {
  BatchFolder folder(request.out, request.force);
  const auto began = std::chrono::steady_clock::now();
  Spread nodes;
  Spread edges;
  minibatch::Loader loader(minibatch::sampling(sampler, seeds, options.workers), options);
  for (std::optional<minibatch::Loader::Held> held; (held.reset(), held = loader.next());) {
    const MiniBatch<NodeId> batch(held->slab());
    folder.write(batch, dataset);
    ++report->batches;
    report->seeds += static_cast<std::int64_t>(batch.seeds().size());
    nodes.add(static_cast<std::int64_t>(batch.nodes().size()));
    edges.add(edges_of(batch, sampler.options().semantics));
  }
  report->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  report->nodes = nodes.result();
  report->edges = edges.result();
  report->grown = loader.stats().grown;
  folder.keep();
}

}  // namespace

SampleReport sample(const settings::Config& config, const SampleRequest& request) {
  GNEISS_CHECK(request.epoch >= 1, ErrorCode::kUsage, "--epoch counts from 1, got {}", request.epoch);
  GNEISS_CHECK(request.batches >= -1, ErrorCode::kUsage, "expected a number of batches from 0 on, got --batches {}",
               request.batches);
  if (config.is_set("batch.degrees"))
    throw Error(ErrorCode::kUsage, "--degrees says what a training computes on batches, and none is trained here",
                config.where("batch.degrees"), "leave it out");
  minibatch::SamplerOptions sampling = sampler_options(config, 0);  // a wrong one shows before the data are read
  const data::Dataset dataset = data::load(resolve_data(config), load_options(config, 0, 1));
  const int threads = thread_count(config);
  std::optional<minibatch::OriginalOrder> sorted;
  const minibatch::InEdges<NodeId> graph = minibatch::in_edges(dataset.graph, dataset.orig_id, threads, &sorted);
  const Sampler sampler(graph, std::move(sampling), threads);
  const auto seed = static_cast<std::uint64_t>(config.integer("train.seed"));
  const SeedOrder seeds(seed_nodes(dataset, request), dataset.num_nodes(), dataset.orig_id,
                        {.batch_size = config.has("batch.size") ? config.integer("batch.size") : kBatchSize,
                         .seed = seed,
                         .shuffle = request.nodes_file.empty()});

  SampleReport report;
  report.dataset = dataset.name;
  report.sampling = sampler.describe();
  report.table = minibatch::table_name(sampler.table());
  report.batches_per_epoch = seeds.batches_per_epoch();
  const std::int64_t batches =
      request.batches < 0 ? report.batches_per_epoch : std::min(request.batches, report.batches_per_epoch);
  report.threads = static_cast<int>(std::clamp<std::int64_t>(batches, 1, threads));
  if (batches > 0) report.slab_bytes = minibatch::capacity(sampler, seeds, {seed, request.epoch, 0}, 2).bytes;
  minibatch::LoaderOptions options;
  options.workers = report.threads;
  options.slab_bytes = report.slab_bytes;
  options.seed = seed;
  options.batches_per_epoch = report.batches_per_epoch;
  options.first_epoch = request.epoch;
  options.batches = batches;
  take_batches(sampler, seeds, dataset, options, request, &report);
  return report;
}

std::string describe(const SampleReport& report) {
  const auto spread = [](const CountSpread& s) {
    return fmt::format("{:.1f} ± {:.1f}, at most {}", s.mean, s.deviation, s.largest);
  };
  return fmt::format(
      "{} of {} batches of an epoch on {}: {}\n  seeds {}\n  nodes {} a batch\n  edges {} a batch\n  slab  {:.1f} KiB, "
      "{} grown; {} table; {} thread{}, {:.3f} s\n",
      report.batches, report.batches_per_epoch, report.dataset, report.sampling, report.seeds, spread(report.nodes),
      spread(report.edges), static_cast<double>(report.slab_bytes) / 1024, report.grown, report.table, report.threads,
      report.threads == 1 ? "" : "s", report.seconds);
}

std::string to_json(const SampleReport& report) {
  const auto spread = [](const CountSpread& s) {
    return Json::object({{"mean", s.mean}, {"sd", s.deviation}, {"max", s.largest}});
  };
  Json json;
  json["dataset"] = report.dataset;
  json["sampling"] = report.sampling;
  json["table"] = report.table;
  json["batches_per_epoch"] = report.batches_per_epoch;
  json["batches"] = report.batches;
  json["seeds"] = report.seeds;
  json["nodes"] = spread(report.nodes);
  json["edges"] = spread(report.edges);
  json["slab_bytes"] = report.slab_bytes;
  json["grown"] = report.grown;
  json["threads"] = report.threads;
  json["seconds"] = report.seconds;
  return json.dump(2);
}

}  // namespace gneiss::jobs
