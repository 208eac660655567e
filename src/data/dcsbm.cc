// Degree-corrected planted partition (Karrer and Newman 2011) with power-law weights.
//
// An edge draws a community by weight, a node in it by weight, then with probability `homophily` the same community and
// otherwise another, and a node there: alias tables make each draw O(1). All draws are functions of (seed, number).
// Features: dense ones are a community mean plus noise of unit variance (sums of uniform numbers, not logarithms and
// cosines: faster, and the same bits on every machine); sparse ones are ones at distinct columns, some from the
// community's own vocabulary. Source: [karrer2011dcsbm].
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/prefetch.h"
#include "base/process.h"
#include "base/random.h"
#include "data/generate.h"
#include "data/sample_graph.h"
#include "data/split.h"

namespace gneiss::data {
namespace {

enum Purpose : std::uint32_t { kOrder, kWeights, kDraws, kPairs, kColumns, kNoise, kMeans, kTasks, kSplit };
constexpr std::int64_t kNodeGrain = 1 << 10;
constexpr std::int64_t kMaxCommunities = 64;
// Length of a community's mean vector at signal 1, in units of the noise's deviation along it.
constexpr double kMeanLength = 3;

void check_range(const char* key, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    throw Error(ErrorCode::kUsage, fmt::format("{} = {} is outside {}..{}", key, value, low, high), key);
  }
}

void check_options(const DcsbmOptions& o, std::int64_t edges) {
  check_range("nodes", static_cast<double>(o.nodes), 1, std::numeric_limits<NodeId>::max());
  check_range("classes", static_cast<double>(o.classes), 1, static_cast<double>(o.nodes));
  check_range("features", static_cast<double>(o.features), 0, std::numeric_limits<NodeId>::max());
  check_range("degree", o.degree, 0, static_cast<double>(o.nodes));
  check_range("homophily", o.homophily, 0, 1);
  check_range("power", o.power, 2.01, 100);
  check_range("top", o.top, 0, 0.9);
  check_range("spread", o.spread, 0, 1);
  check_range("density", o.density, 0, 1);
  check_range("signal", o.signal, 0, 1);
  check_range("train", o.train, 0, 1);
  check_range("val", o.val, 0, 1);
  check_range("test", o.test, 0, 1);
  const double n = static_cast<double>(o.nodes);
  check_range("edges", static_cast<double>(edges), 0, n * (n - 1) / (o.directed ? 2 : 1));
}

/// Bytes of the finished data set; refuses before anything large is allocated.
void check_memory(const DcsbmOptions& o, std::int64_t edges) {
  const double n = static_cast<double>(o.nodes);
  const double width = static_cast<double>(o.features);
  const double features = n * width * (o.density < 1 ? 8 * o.density : 4);
  const double labels = n * (o.multilabel ? 4.0 * static_cast<double>(o.classes) : 4.0);
  const double bytes = 4.4 * static_cast<double>(edges) + 48 * n + features + labels;
  const auto limit = static_cast<double>(o.how.max_bytes > 0 ? o.how.max_bytes : memory_limit_bytes());
  if (bytes > limit) {
    throw Error(ErrorCode::kOutOfMemory,
                fmt::format("{} needs about {:.0f} MB, the limit is {:.0f} MB", o.name, bytes / 1e6, limit / 1e6),
                o.name, "make it smaller, for example with scale=0.1");
  }
}

/// What `max_bytes` leaves for edges where neither these nor features have to be in memory at once.
std::int64_t room_for_edges(const DcsbmOptions& o, std::int64_t edges) {
  const std::int64_t count = o.multilabel ? kMaxCommunities : o.classes;
  const std::int64_t at_once = std::min<std::int64_t>(count, std::max(1, o.how.threads));  // alias tables in the making
  // Weights, tables, communities; then offsets, labels and splits in the making.
  const std::int64_t of_node = 40 + 16 * at_once / count + (o.density < 1 ? 8 : 0) + (o.multilabel ? 4 * o.classes : 4);
  const std::int64_t threads = std::max(1, o.how.threads);
  return streamed_room({.name = o.name,
                        .nodes = o.nodes,
                        .edges = edges,
                        .of_node = of_node,
                        .of_features = o.features * (o.density < 1 ? 8 + 8 * threads : 8 + 4 * count)},
                       o.how.max_bytes, o.how.threads);
}

/// Mean degree, both ends of an edge counted.
double mean_degree(const DcsbmOptions& o, std::int64_t edges) {
  return std::max(1.0, static_cast<double>(edges) * (o.directed ? 2 : 1) / static_cast<double>(o.nodes));
}

/// The largest weight for an exponent: no node is expected to reach more than an eighth of the graph.
double largest_weight(const DcsbmOptions& o, double power, std::int64_t edges) {
  const double mean = (power - 1) / (power - 2);
  return std::max(1.0, mean * static_cast<double>(o.nodes) / (8 * mean_degree(o, edges)));
}

/// The share of all weight that the 1 % of nodes with the largest have: weights are u^(-1/a) for u in (0, 1), cut at
/// the cap.
double top_share(double power, double cap) {
  constexpr double kTop = 0.01;
  const double a = power - 1;
  const double cut = std::pow(cap, -a);
  const auto weight_below = [&](double u) {
    if (u <= cut) return u * cap;
    return cut * cap + (std::pow(u, 1 - 1 / a) - std::pow(cut, 1 - 1 / a)) / (1 - 1 / a);
  };
  return weight_below(kTop) / weight_below(1);
}

/// The exponent that gives the wanted share of edges: larger exponents give less. Ends are drawn apart, so that of
/// edges whose ends lie at the top with chance s, 1 - (1 - s)^2 touch it.
double exponent(const DcsbmOptions& o, std::int64_t edges) {
  if (o.top == 0) return o.power;
  const double of_ends = 1 - std::sqrt(1 - o.top);
  double low = 2.01;
  double high = 100;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (top_share(middle, largest_weight(o, middle, edges)) > of_ends ? low : high) = middle;
  }
  return low;
}

/// Nodes of each community, their weights as alias tables.
class Communities {
 public:
  Communities(const DcsbmOptions& o, std::int64_t count, std::int64_t edges)
      : count_(count),
        weight_(draw_weights(o, edges)),
        slots_(static_cast<std::size_t>(o.nodes)),
        community_(static_cast<std::size_t>(o.nodes)) {
    for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].node = static_cast<NodeId>(i);
    RandomStream random(derive_seed(o.how.seed, kOrder), 0);
    for (std::size_t i = slots_.size(); i > 1; --i) std::swap(slots_[i - 1].node, slots_[random.below(i)].node);
    double total = 0;
    for (std::int64_t c = 0; c < count; ++c) {
      for (std::size_t i = begin(c); i < begin(c + 1); ++i) {
        community_[static_cast<std::size_t>(slots_[i].node)] = static_cast<std::int32_t>(c);
        total += weight_[static_cast<std::size_t>(slots_[i].node)];
      }
      cumulative_.push_back(total);
    }
    parallel_chunks(o.how.threads, count, 1,
                    [&](std::int64_t c, std::int64_t) { build_alias(begin(c), begin(c + 1)); });
    for (std::size_t piece = 0; piece < kPieces; ++piece) {
      const double at = total * static_cast<double>(piece) / kPieces;
      first_[piece] = std::upper_bound(cumulative_.begin(), cumulative_.end(), at) - cumulative_.begin();
    }
  }

  /// Weights and tables are for draws.
  void forget_weights() { weight_ = {}; }
  void forget_tables() { slots_ = {}; }

  /// The chance that one draw gives this pair, either way round.
  double probability(NodePair pair, double homophily) const {
    const double total = cumulative_.back();
    const auto one_way = [&](NodeId u, NodeId v) {
      const std::int64_t c = of(u);
      const double own = cumulative_[static_cast<std::size_t>(c)] - below(c);
      const double target = of(v) == c ? homophily / own : (1 - homophily) / (total - own);
      return weight_[static_cast<std::size_t>(u)] / total * weight_[static_cast<std::size_t>(v)] * target;
    };
    return one_way(pair.u, pair.v) + one_way(pair.v, pair.u);
  }

  std::int32_t of(NodeId v) const { return community_[static_cast<std::size_t>(v)]; }

  /// A community by weight; `skip` (or -1) is left out.
  std::int64_t pick_community(double uniform, std::int64_t skip) const {
    const double gap = skip < 0 ? 0 : cumulative_[static_cast<std::size_t>(skip)] - below(skip);
    double at = uniform * (cumulative_.back() - gap);
    if (skip >= 0 && at >= below(skip)) at += gap;
    const std::int64_t c = std::min<std::int64_t>(first_above(at), count_ - 1);
    if (c != skip) return c;
    return c > 0 ? c - 1 : c + 1;  // rounding at the border of the gap
  }

  /// A node by weight: where the table says which, and what is left of the random word to ask with.
  struct Pick {
    std::size_t slot;
    float uniform;
  };
  /// Of community c. Its place in the table is asked for.
  Pick pick(std::int64_t c, std::uint32_t word) const {
    const std::size_t first = begin(c);
    const std::uint64_t product = std::uint64_t{word} * (begin(c + 1) - first);
    const std::size_t slot = first + static_cast<std::size_t>(product >> 32);
    prefetch(&slots_[slot]);
    return {slot, uniform_float(static_cast<std::uint32_t>(product))};
  }
  NodeId node(Pick pick) const {
    const Slot& slot = slots_[pick.slot];
    return pick.uniform < slot.keep ? slot.node : slot.alias;
  }

 private:
  static constexpr std::size_t kPieces = 4096;

  struct Slot {
    NodeId node;
    NodeId alias;
    float keep;  ///< the chance of `node`; else it is `alias`
  };

  /// The first community whose cumulative weight is above `at`, as upper_bound finds it.
  std::int64_t first_above(double at) const {
    const auto piece = static_cast<std::size_t>(std::max(0.0, at / cumulative_.back()) * kPieces);
    std::int64_t c = first_[std::min(piece, kPieces - 1)];
    while (c > 0 && cumulative_[static_cast<std::size_t>(c - 1)] > at) --c;
    while (c < count_ && cumulative_[static_cast<std::size_t>(c)] <= at) ++c;
    return c;
  }

  std::size_t begin(std::int64_t c) const {
    return static_cast<std::size_t>(static_cast<unsigned __int128>(community_.size()) * static_cast<std::uint64_t>(c) /
                                    static_cast<std::uint64_t>(count_));
  }
  double below(std::int64_t c) const { return c == 0 ? 0.0 : cumulative_[static_cast<std::size_t>(c - 1)]; }

  /// Pareto weights; the largest is capped so that no node is expected to reach more than an eighth of the graph.
  static Buffer<double> draw_weights(const DcsbmOptions& o, std::int64_t edges) {
    const std::uint64_t seed = derive_seed(o.how.seed, kWeights);
    const double power = exponent(o, edges);
    const double cap = largest_weight(o, power, edges);
    Buffer<double> weight(static_cast<std::size_t>(o.nodes));
    parallel_chunks(o.how.threads, o.nodes, kNodeGrain, [&](std::int64_t begin, std::int64_t end) {
      for (auto v = static_cast<std::size_t>(begin); v < static_cast<std::size_t>(end); ++v) {
        const PhiloxBlock block = philox(seed, {static_cast<std::uint32_t>(v), 0, 0, 0});
        const double uniform = (static_cast<double>(block[0]) + 0.5) * 0x1.0p-32;
        weight[v] = std::min(cap, std::pow(uniform, -1 / (power - 1)));
      }
    });
    return weight;
  }

  /// Walker's alias method within [first, last) of slots_.
  void build_alias(std::size_t first, std::size_t last) {
    const auto weight = [&](std::size_t i) { return weight_[static_cast<std::size_t>(slots_[i].node)]; };
    double total = 0;
    for (std::size_t i = first; i < last; ++i) total += weight(i);
    std::vector<double> scaled(last - first);
    std::vector<std::uint32_t> small;  // from `first` on
    std::vector<std::uint32_t> large;
    for (std::size_t i = first; i < last; ++i) {
      scaled[i - first] = weight(i) * static_cast<double>(last - first) / total;
      (scaled[i - first] < 1 ? small : large).push_back(static_cast<std::uint32_t>(i - first));
      slots_[i].keep = 1.0F;
      slots_[i].alias = slots_[i].node;
    }
    while (!small.empty() && !large.empty()) {
      const std::uint32_t low = small.back();
      const std::uint32_t high = large.back();
      small.pop_back();
      slots_[first + low].keep = static_cast<float>(scaled[low]);
      slots_[first + low].alias = slots_[first + high].node;
      scaled[high] -= 1 - scaled[low];
      if (scaled[high] < 1) {
        large.pop_back();
        small.push_back(high);
      }
    }
  }

  std::int64_t count_;
  Buffer<double> weight_;
  Buffer<Slot> slots_;
  Buffer<std::int32_t> community_;
  std::vector<double> cumulative_;
  std::array<std::int64_t, kPieces> first_{};  ///< first_above of each piece of all weight
};

/// The graph; what draws alone need of the communities is forgotten as soon as may be.
graph::Graph draw_graph(const DcsbmOptions& o, std::int64_t count, std::int64_t edges, std::int64_t room,
                        Communities* communities) {
  const std::uint64_t seed = derive_seed(o.how.seed, kDraws);
  const double homophily = count == 1 ? 1.0 : o.homophily;
  const auto fill = [&](std::uint64_t first, std::span<NodePair> pairs) {
    constexpr std::size_t kTogether = 64;  // picks whose cache misses overlap
    std::array<std::pair<Communities::Pick, Communities::Pick>, kTogether> picks;
    for (std::size_t begin = 0; begin < pairs.size(); begin += kTogether) {
      const std::size_t number = std::min(kTogether, pairs.size() - begin);
      for (std::size_t i = 0; i < number; ++i) {
        const std::uint64_t draw = first + begin + i;
        const PhiloxBlock word =
            philox(seed, {static_cast<std::uint32_t>(draw), static_cast<std::uint32_t>(draw >> 32), 0, 0});
        const std::int64_t cu = communities->pick_community(word[0] * 0x1.0p-32, -1);
        const double choice = word[2] * 0x1.0p-32;
        const std::int64_t cv =
            choice < homophily ? cu : communities->pick_community((choice - homophily) / (1 - homophily), cu);
        picks[i] = {communities->pick(cu, word[1]), communities->pick(cv, word[3])};
      }
      for (std::size_t i = 0; i < number; ++i)
        pairs[begin + i] = {communities->node(picks[i].first), communities->node(picks[i].second)};
    }
  };
  const double wanted = static_cast<double>(edges) / (o.directed ? 1 : 2);
  const double draws =
      expected_draws(wanted, fill, [&](NodePair pair) { return communities->probability(pair, homophily); });
  communities->forget_weights();
  graph::Graph graph = sample_graph({.nodes = o.nodes,
                                     .edges = edges,
                                     .directed = o.directed,
                                     .draws = draws,
                                     .room_bytes = room,
                                     .seed = derive_seed(o.how.seed, kPairs),
                                     .threads = o.how.threads},
                                    fill);
  communities->forget_tables();
  return graph;
}

/// Eight 16-bit uniforms of a block as two numbers of mean 0 and variance 1, close to normal.
std::pair<float, float> near_normal(const PhiloxBlock& block) {
  constexpr double kScale = 1.7320508075688772 / 65536.0;  // sqrt(12 / 4) / 2^16
  const auto sum = [](std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int64_t>((a & 0xFFFF) + (a >> 16) + (b & 0xFFFF) + (b >> 16)) - 2 * 65535;
  };
  return {static_cast<float>(static_cast<double>(sum(block[0], block[1])) * kScale),
          static_cast<float>(static_cast<double>(sum(block[2], block[3])) * kScale)};
}

/// How rows of dense features are made.
FillRows dense_noise(const DcsbmOptions& o, std::shared_ptr<const Communities> communities, std::int64_t count) {
  const auto cols = static_cast<std::size_t>(o.features);
  std::vector<float> mean(static_cast<std::size_t>(count) * cols);
  const double length = o.signal * kMeanLength / std::sqrt(static_cast<double>(o.features));
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const PhiloxBlock block = philox(derive_seed(o.how.seed, kMeans),
                                     {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), 0, 0});
    mean[i] = static_cast<float>(length * near_normal(block).first);
  }
  const std::uint64_t seed = derive_seed(o.how.seed, kNoise);
  return [=, mean = std::move(mean)](std::int64_t begin, std::int64_t end, float* row) {
    for (std::int64_t v = begin; v < end; ++v, row += cols) {
      const float* const own = mean.data() + static_cast<std::size_t>(communities->of(static_cast<NodeId>(v))) * cols;
      for (std::size_t f = 0; f < cols; f += 2) {
        const auto [x, y] =
            near_normal(philox(seed, {static_cast<std::uint32_t>(v), static_cast<std::uint32_t>(f), 0, 0}));
        row[f] = own[f] + x;
        if (f + 1 < cols) row[f + 1] = own[f + 1] + y;
      }
    }
  };
}

/// Ones per row: density * width, rounded up for as many rows as makes the mean right.
EdgeId row_ones(const DcsbmOptions& o, std::uint64_t seed, std::int64_t v) {
  const double wanted = o.density * static_cast<double>(o.features);
  const PhiloxBlock block = philox(seed, {static_cast<std::uint32_t>(v), 0, 0, 0xC0});
  return std::min<EdgeId>(o.features, static_cast<EdgeId>(wanted + block[0] * 0x1.0p-32));
}

/// Distinct columns of one row. A community's vocabulary is an eighth of the columns from a place of its own on.
void draw_columns(const DcsbmOptions& o, std::uint64_t seed, std::int64_t v, std::int64_t community,
                  std::span<NodeId> row, std::vector<std::int64_t>* last_row) {
  RandomStream random(seed, static_cast<std::uint32_t>(v));
  const auto width = static_cast<std::uint64_t>(o.features);
  const std::uint64_t topic = std::max<std::uint64_t>(1, width / 8);
  const std::uint64_t place = philox(seed, {static_cast<std::uint32_t>(community), 0, 0, 0xC1})[0] % width;
  std::uint64_t failures = 0;
  std::uint64_t fallback = 0;
  for (std::size_t i = 0; i < row.size();) {
    std::uint64_t column;
    if (failures > 4 * row.size() + 16) {
      column = (place + fallback++) % width;  // rows that are nearly full: take what is left in order
    } else {
      const std::uint32_t choice = random.next();
      const double spread = uniform_float(random.next());
      const bool own = uniform_float(choice) < o.signal;
      column = own ? (place + static_cast<std::uint64_t>(spread * spread * static_cast<double>(topic))) % width
                   : std::min(width - 1, static_cast<std::uint64_t>(spread * static_cast<double>(width)));
    }
    if ((*last_row)[column] == v) {
      ++failures;
      continue;
    }
    (*last_row)[column] = v;
    row[i++] = static_cast<NodeId>(column);
  }
  std::sort(row.begin(), row.end());
}

Buffer<EdgeId> row_offsets(const DcsbmOptions& o) {
  const std::uint64_t seed = derive_seed(o.how.seed, kColumns);
  Buffer<EdgeId> offsets = Buffer<EdgeId>::zeros(static_cast<std::size_t>(o.nodes) + 1);
  for (std::int64_t v = 0; v < o.nodes; ++v)
    offsets[static_cast<std::size_t>(v) + 1] = offsets[static_cast<std::size_t>(v)] + row_ones(o, seed, v);
  return offsets;
}

/// How columns of the ones of sparse features are made.
FillColumns sparse_ones(const DcsbmOptions& o, std::shared_ptr<const Communities> communities) {
  const std::uint64_t seed = derive_seed(o.how.seed, kColumns);
  return [=](std::int64_t begin, std::int64_t end, std::span<const EdgeId> offsets, NodeId* columns) {
    std::vector<std::int64_t> last_row(static_cast<std::size_t>(o.features), -1);
    for (std::int64_t v = begin; v < end; ++v) {
      const auto count =
          static_cast<std::size_t>(offsets[static_cast<std::size_t>(v) + 1] - offsets[static_cast<std::size_t>(v)]);
      draw_columns(o, seed, v, communities->of(static_cast<NodeId>(v)), {columns, count}, &last_row);
      columns += count;
    }
  };
}

Labels make_labels(const DcsbmOptions& o, const Communities& communities) {
  const auto n = static_cast<std::size_t>(o.nodes);
  Labels labels;
  labels.num_classes = o.classes;
  if (!o.multilabel) {
    labels.kind = LabelKind::kSingle;
    labels.classes = Buffer<std::int32_t>(n);
    for (std::size_t v = 0; v < n; ++v) labels.classes[v] = communities.of(static_cast<NodeId>(v));
    return labels;
  }
  labels.kind = LabelKind::kMulti;
  const auto tasks = static_cast<std::size_t>(o.classes);
  labels.targets = Buffer<float>(n * tasks);
  const std::uint64_t seed = derive_seed(o.how.seed, kTasks);
  parallel_chunks(o.how.threads, o.nodes, kNodeGrain, [&](std::int64_t begin, std::int64_t end) {
    for (auto v = static_cast<std::size_t>(begin); v < static_cast<std::size_t>(end); ++v) {
      const auto community = static_cast<std::uint32_t>(communities.of(static_cast<NodeId>(v)));
      for (std::size_t t = 0; t < tasks; ++t) {
        // A quarter of the tasks are common in a community (80 %), the others rare (5 %).
        const bool common = philox(seed, {community, static_cast<std::uint32_t>(t), 1, 0})[0] % 4 == 0;
        const float chance =
            uniform_float(philox(seed, {static_cast<std::uint32_t>(v), static_cast<std::uint32_t>(t), 2, 0})[0]);
        labels.targets[v * tasks + t] = chance < (common ? 0.8F : 0.05F) ? 1.0F : 0.0F;
      }
    }
  });
  return labels;
}

/// Parts of these shares; what is left of shares below 1 is in none.
Split draw_parts(const DcsbmOptions& o, const Labels& labels) {
  const double left = 1 - o.train - o.val - o.test;
  const bool all = left < 1e-9;
  const std::string ratio = fmt::format("ratio:{}/{}/{}", o.train, o.val, all ? o.test : o.test + left);
  Split split = draw_split(labels, o.nodes, ratio, derive_seed(o.how.seed, kSplit));
  if (all) return split;
  RandomStream random(derive_seed(o.how.seed, kSplit), 2);
  const auto kept = static_cast<std::size_t>(std::llround(o.test * static_cast<double>(o.nodes)));
  for (std::size_t i = 0; i < std::min(kept, split.test.size()); ++i)
    std::swap(split.test[i], split.test[i + random.below(split.test.size() - i)]);
  split.test.resize(std::min(kept, split.test.size()));
  std::sort(split.test.begin(), split.test.end());
  return split;
}

/// Training nodes outside of the first communities change places with others inside, by chance.
void gather_training(const DcsbmOptions& o, const Communities& communities, std::int64_t count, Split* split) {
  const std::int64_t first = std::max<std::int64_t>(1, std::llround(o.spread * static_cast<double>(count)));
  enum Part : std::uint8_t { kNone, kTrain, kVal, kTest };
  std::vector<std::uint8_t> part(static_cast<std::size_t>(o.nodes), kNone);
  const auto mark = [&](const std::vector<NodeId>& nodes, Part p) {
    for (const NodeId v : nodes) part[static_cast<std::size_t>(v)] = p;
  };
  mark(split->train, kTrain);
  mark(split->val, kVal);
  mark(split->test, kTest);
  std::vector<NodeId> inside;
  std::vector<NodeId> outside;
  for (NodeId v = 0; v < o.nodes; ++v) {
    const bool trains = part[static_cast<std::size_t>(v)] == kTrain;
    const bool is_inside = communities.of(v) < first;
    if (is_inside && !trains) inside.push_back(v);
    if (!is_inside && trains) outside.push_back(v);
  }
  GNEISS_CHECK(outside.size() <= inside.size(), ErrorCode::kUsage,
               "spread = {}: {} training nodes do not fit into {} of {} communities; raise spread, or lower train",
               o.spread, split->train.size(), first, count);
  RandomStream random(derive_seed(o.how.seed, kSplit), 1);
  for (std::size_t i = 0; i < outside.size(); ++i) {
    std::swap(inside[i], inside[i + random.below(inside.size() - i)]);
    std::swap(part[static_cast<std::size_t>(inside[i])], part[static_cast<std::size_t>(outside[i])]);
  }
  const auto nodes_of = [&](Part p) {
    std::vector<NodeId> nodes;
    for (NodeId v = 0; v < o.nodes; ++v)
      if (part[static_cast<std::size_t>(v)] == p) nodes.push_back(v);
    return nodes;
  };
  *split = {nodes_of(kTrain), nodes_of(kVal), nodes_of(kTest)};
}

}  // namespace

Generated generate_dcsbm(const DcsbmOptions& o) {
  const std::int64_t edges = o.edges > 0 ? o.edges : std::llround(static_cast<double>(o.nodes) * o.degree);
  check_options(o, edges);
  if (!o.how.streamed) check_memory(o, edges);
  const std::int64_t room = o.how.streamed ? room_for_edges(o, edges) : 0;
  const std::int64_t count = o.multilabel ? std::min({o.classes, kMaxCommunities, o.nodes}) : o.classes;
  Generated out;
  Dataset& dataset = out.dataset;
  dataset.name = o.name;
  dataset.format = "generator";
  const auto communities = std::make_shared<Communities>(o, count, edges);
  dataset.graph = draw_graph(o, count, edges, room, communities.get());
  Features& features = dataset.features;
  if (o.features > 0) {
    features.rows = o.nodes;
    features.cols = o.features;
    features.sparse = o.density < 1;
    if (features.sparse) features.offsets = row_offsets(o);
    if (features.sparse) out.fill_columns = sparse_ones(o, communities);
    if (!features.sparse) out.fill_rows = dense_noise(o, communities, count);
  }
  dataset.labels = make_labels(o, *communities);
  dataset.split = draw_parts(o, dataset.labels);
  if (o.spread < 1) gather_training(o, *communities, count, &dataset.split);
  return out;
}

}  // namespace gneiss::data
