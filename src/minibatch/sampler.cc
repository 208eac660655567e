// Options, and which edges a node takes. How a batch is put together from them: make_batch.cc, on one thread, and
// make_batch_together.cc, on several.
//
// LABOR with batch dependency: a source's number is renewed every `batch_dependency` batches, each source at a time of
// its own, so that every batch is an ordinary LABOR sample and neighbouring ones share most numbers. Peers blend two
// numbers by angles; this needs integers alone. Parallel edges have numbers of their own, or they would be taken
// together.
#include "minibatch/sampler.h"

#include <atomic>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/parallel.h"
#include "minibatch/draws.h"
#include "minibatch/workspace.h"

namespace gneiss::minibatch {
namespace {

constexpr std::int64_t kRowsPerTask = 4096;
constexpr std::uint64_t kParallelEdge = 0xD1B54A32D192ED03U;  ///< an odd number that is not kGoldenRatio
constexpr std::int64_t kLargestFanout = std::numeric_limits<std::int32_t>::max();

std::string fanout_text(const std::vector<std::int64_t>& fanout) {
  std::string text;
  for (const std::int64_t f : fanout) text += fmt::format("{}{}", text.empty() ? "" : ",", f);
  return text;
}

}  // namespace

std::vector<std::int64_t> parse_fanout(std::string_view text, const std::string& where) {
  std::vector<std::int64_t> fanout;
  const std::string all(text);
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::kUsage,
                fmt::format("expected a list of whole numbers from 1 on, or -1 for all neighbours, got {}", what),
                where, "write one number for each layer of the model, the seeds' own neighbours first: 15,10,5");
  };
  for (;;) {
    const std::size_t comma = text.find(',');
    std::string_view item = text.substr(0, comma);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(item.data(), item.data() + item.size(), value);
    if (failure != std::errc() || end != item.data() + item.size() || value == 0 || value < -1 ||
        value > kLargestFanout)
      refuse(fmt::format("'{}' in '{}'", item, all));
    fanout.push_back(value);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  if (fanout.size() > kMaxHops) refuse(fmt::format("{} numbers where {} are the most", fanout.size(), kMaxHops));
  return fanout;
}

void check_options(const SamplerOptions& options, bool graph_weighted) {
  GNEISS_CHECK(!options.fanout.empty() && options.fanout.size() <= kMaxHops, ErrorCode::kUsage,
               "expected a fanout for 1 to {} hops, got {}", kMaxHops, options.fanout.size());
  for (const std::int64_t f : options.fanout) {
    GNEISS_CHECK(f == -1 || (f > 0 && f <= kLargestFanout), ErrorCode::kUsage,
                 "expected a fanout of at least 1, or -1 for all neighbours, got {}", f);
  }
  GNEISS_CHECK(!options.labor || (!options.replace && !options.weighted), ErrorCode::kUsage,
               "labor sampling takes distinct edges of equal chances; it goes with neither replace nor weighted");
  GNEISS_CHECK(options.labor || (!options.layer_dependency && options.batch_dependency == 1), ErrorCode::kUsage,
               "layer and batch dependency are properties of labor sampling; choose labor too");
  GNEISS_CHECK(options.batch_dependency >= 1, ErrorCode::kUsage, "expected a batch dependency of at least 1, got {}",
               options.batch_dependency);
  GNEISS_CHECK(!options.weighted || graph_weighted, ErrorCode::kUsage,
               "weighted sampling asks for edge weights, and this graph has none; sample without weighted");
}

template <class Id>
Sampler<Id>::Sampler(const InEdges<Id>& graph, SamplerOptions options, int threads)
    : graph_(graph), options_(std::move(options)), table_(options_.table) {
  check_options(options_, !graph.weights.empty());
  if (table_ == TableKind::kAuto) {
    const auto slot = static_cast<std::int64_t>(sizeof(std::uint64_t));
    table_ = graph.num_nodes() <= options_.table_bytes / slot ? TableKind::kDirect : TableKind::kHash;
  }
  if (options_.weighted) make_columns(threads);
}

template <class Id>
void Sampler<Id>::make_columns(int threads) {
  const std::span<const float> weights = graph_.weights;
  for (std::size_t e = 0; e < weights.size(); ++e) {
    GNEISS_CHECK(std::isfinite(weights[e]) && weights[e] >= 0, ErrorCode::kBadData,
                 "weighted sampling asks for weights from 0 on; edge {} of the graph weighs {}", e, weights[e]);
  }
  std::atomic<bool> zeros = false;
  std::vector<std::int64_t> drawable(static_cast<std::size_t>(graph_.num_nodes()));
  columns_ = Buffer<AliasColumn>(weights.size());
  parallel_chunks(threads, graph_.num_nodes(), kRowsPerTask, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t v = first; v < last; ++v) {
      const auto begin = static_cast<std::size_t>(graph_.begin(static_cast<Id>(v)));
      const auto size = static_cast<std::size_t>(graph_.offsets[static_cast<std::size_t>(v) + 1] -
                                                 graph_.offsets[static_cast<std::size_t>(v)]);
      if (size == 0) continue;
      const std::span<const float> row = weights.subspan(begin, size);
      fill_alias_columns(row, columns_.span().subspan(begin, size));
      const std::int64_t none = std::count(row.begin(), row.end(), 0.0F);
      drawable[static_cast<std::size_t>(v)] = static_cast<std::int64_t>(size) - none;
      if (none > 0) zeros.store(true, std::memory_order_relaxed);
    }
  });
  if (zeros) drawable_ = std::move(drawable);
}

template <class Id>
std::unique_ptr<Workspace<Id>> Sampler<Id>::make_workspace() const {
  return std::make_unique<Workspace<Id>>(LocalIds<Id>(table_, graph_.num_nodes()));
}

template <class Id>
std::string Sampler<Id>::describe() const {
  std::string text = options_.weighted ? "weighted" : options_.labor ? "labor" : "uniform";
  text += options_.replace ? " with replacement" : " without replacement";
  if (options_.layer_dependency) text += ", one number a source for all hops";
  if (options_.batch_dependency > 1) text += fmt::format(", numbers kept for {} batches", options_.batch_dependency);
  return text + fmt::format(", {}, fanout {}", semantics_name(options_.semantics), fanout_text(options_.fanout));
}

template <class Id>
typename Sampler<Id>::Hop Sampler<Id>::hop(const BatchKey& key, int number) const {
  Hop hop;
  hop.fanout = options_.fanout[static_cast<std::size_t>(number)];
  hop.picks = hop_key(key, number);
  hop.sources = epoch_key(key.seed, key.epoch, Purpose::kSourceNumbers);
  if (!options_.layer_dependency) hop.sources = sub_key(hop.sources, static_cast<std::uint64_t>(number));
  hop.period = key.index / options_.batch_dependency;
  hop.phase = key.index % options_.batch_dependency;
  return hop;
}

template <class Id>
std::int64_t Sampler<Id>::picks_of(const Hop& hop, Row row, Id node) const {
  if (hop.fanout < 0) return row.degree;
  const std::int64_t drawable = drawable_.empty() ? row.degree : drawable_[static_cast<std::size_t>(node)];
  if (options_.replace) return drawable > 0 ? hop.fanout : 0;
  return std::min(hop.fanout, drawable);
}

template <class Id>
void Sampler<Id>::pick(const Hop& hop, Row row, Id node, std::int64_t count, EdgeId* out, PickScratch* scratch) const {
  if (count == 0) return;
  if (hop.fanout < 0 || (!options_.replace && count == row.degree)) return pick_all(row, out);
  if (options_.labor) return pick_labor(hop, row, count, out, scratch);
  const std::uint64_t key = node_key(hop.picks, graph_.original(node));
  const auto begin = static_cast<std::size_t>(row.begin);
  const auto degree = static_cast<std::size_t>(row.degree);
  if (options_.weighted) {
    const std::span<const AliasColumn> columns = columns_.span().subspan(begin, degree);
    if (options_.replace) return pick_weighted_repeated(key, row, columns, count, out);
    return pick_weighted_distinct(key, row, graph_.weights.subspan(begin, degree), columns, count, out, scratch);
  }
  if (options_.replace) return pick_repeated(key, row, count, out);
  pick_distinct(key, row, count, out, scratch);
}

template <class Id>
std::uint64_t Sampler<Id>::source_number(const Hop& hop, Id source, std::uint64_t parallel) const {
  const std::uint64_t own = sub_key(hop.sources, static_cast<std::uint64_t>(graph_.original(source)));
  std::int64_t period = hop.period;
  if (options_.batch_dependency > 1) {
    const auto kept_for = static_cast<std::uint64_t>(options_.batch_dependency);
    if (static_cast<std::uint64_t>(hop.phase) + below(own, kept_for) >= kept_for) ++period;
  }
  return mix64(own + (static_cast<std::uint64_t>(period) + 1) * kGoldenRatio + parallel * kParallelEdge);
}

template <class Id>
void Sampler<Id>::pick_labor(const Hop& hop, Row row, std::int64_t count, EdgeId* out, PickScratch* scratch) const {
  Smallest& smallest = scratch->smallest;
  smallest.start(count);
  std::uint64_t parallel = 0;
  for (EdgeId e = row.begin; e < row.begin + row.degree; ++e) {
    const Id source = graph_.sources[static_cast<std::size_t>(e)];
    parallel = e > row.begin && graph_.sources[static_cast<std::size_t>(e) - 1] == source ? parallel + 1 : 0;
    smallest.offer(source_number(hop, source, parallel), e);
  }
  smallest.write(out);
}

template class Sampler<std::int32_t>;
template class Sampler<std::int64_t>;

}  // namespace gneiss::minibatch
