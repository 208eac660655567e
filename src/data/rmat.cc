// R-MAT: each bit of an edge's two ends falls into one of four quadrants; ids are then scrambled so that degree says
// nothing about position.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/process.h"
#include "base/random.h"
#include "data/generate.h"
#include "data/sample_graph.h"
#include "data/split.h"

namespace gneiss::data {
namespace {

enum Purpose : std::uint32_t { kDraws = 100, kPairs, kScramble, kValues, kClasses, kSplit };
constexpr std::int64_t kNodeGrain = 1 << 10;

void check(const RmatOptions& o) {
  const auto range = [](const char* key, double value, double low, double high) {
    if (!(value >= low && value <= high))
      throw Error(ErrorCode::kUsage, fmt::format("{} = {} is outside {}..{}", key, value, low, high), key);
  };
  range("scale", static_cast<double>(o.scale), 1, 30);
  range("edge_factor", o.edge_factor, 0, 1e6);
  range("a", o.a, 0, 1);
  range("b", o.b, 0, 1);
  range("c", o.c, 0, 1);
  range("a + b + c", o.a + o.b + o.c, 0, 1);
  range("features", static_cast<double>(o.features), 0, 1 << 24);
  range("classes", static_cast<double>(o.classes), 1, std::ldexp(1, static_cast<int>(o.scale)));
  if (o.how.streamed) return;
  const double n = std::ldexp(1, static_cast<int>(o.scale));
  const double bytes = n * (static_cast<double>(o.features) * 4 + 32) + n * o.edge_factor * (o.directed ? 4 : 8);
  const auto limit = static_cast<double>(o.how.max_bytes > 0 ? o.how.max_bytes : memory_limit_bytes());
  if (bytes > limit)
    throw Error(ErrorCode::kOutOfMemory,
                fmt::format("rmat needs about {:.0f} MB, the limit is {:.0f} MB", bytes / 1e6, limit / 1e6), "scale");
}

/// A bijection of the ids of `bits` bits: odd multiplications and xor-shifts.
NodeId scramble(std::uint64_t id, int bits, const PhiloxBlock& key) {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  for (int round = 0; round < 3; ++round) {
    id = (id * (key[static_cast<std::size_t>(round)] | 1U) + key[3]) & mask;
    id ^= id >> (bits / 2 + 1);
  }
  return static_cast<NodeId>(id);
}

NodePair draw_pair(const RmatOptions& o, std::uint64_t seed, std::uint64_t draw, const PhiloxBlock& key) {
  std::uint64_t u = 0;
  std::uint64_t v = 0;
  PhiloxBlock block{};
  for (std::int64_t bit = 0; bit < o.scale; ++bit) {
    if (bit % 4 == 0)
      block = philox(seed, {static_cast<std::uint32_t>(draw), static_cast<std::uint32_t>(draw >> 32),
                            static_cast<std::uint32_t>(bit), 0});
    const double chance = block[static_cast<std::size_t>(bit % 4)] * 0x1.0p-32;
    const bool right = (chance >= o.a && chance < o.a + o.b) || chance >= o.a + o.b + o.c;
    u = u << 1 | (chance >= o.a + o.b ? 1U : 0U);
    v = v << 1 | (right ? 1U : 0U);
  }
  const int bits = static_cast<int>(o.scale);
  return {scramble(u, bits, key), scramble(v, bits, key)};
}

}  // namespace

Generated generate_rmat(const RmatOptions& o) {
  check(o);
  const std::int64_t n = std::int64_t{1} << o.scale;
  const auto draws = std::llround(static_cast<double>(n) * o.edge_factor) * (o.directed ? 1 : 2);
  std::int64_t room = 0;
  if (o.how.streamed) {
    constexpr std::int64_t kOfNode = 28;  // offsets, labels and splits in the making
    room =
        streamed_room({.name = "rmat", .nodes = n, .edges = draws, .of_node = kOfNode, .of_features = 8 * o.features},
                      o.how.max_bytes, o.how.threads);
  }
  const std::uint64_t seed = derive_seed(o.how.seed, kDraws);
  const PhiloxBlock key = philox(derive_seed(o.how.seed, kScramble), {});
  const auto fill = [&](std::uint64_t first, std::span<NodePair> pairs) {
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = draw_pair(o, seed, first + i, key);
  };
  Generated out;
  Dataset& dataset = out.dataset;
  dataset.name = "rmat";
  dataset.format = "generator";
  dataset.graph = sample_graph({.nodes = n,
                                .edges = draws,
                                .directed = o.directed,
                                .exact = false,
                                .room_bytes = room,
                                .seed = derive_seed(o.how.seed, kPairs),
                                .threads = o.how.threads},
                               fill);
  dataset.features.rows = o.features > 0 ? n : 0;
  dataset.features.cols = o.features;
  const std::uint64_t values = derive_seed(o.how.seed, kValues);
  if (o.features > 0) {
    out.fill_rows = [values, cols = o.features](std::int64_t begin, std::int64_t end, float* row) {
      for (std::int64_t v = begin; v < end; ++v, row += cols) {
        for (std::int64_t f = 0; f < cols; f += 4) {
          const PhiloxBlock block =
              philox(values, {static_cast<std::uint32_t>(v), static_cast<std::uint32_t>(f), 0, 0});
          for (std::int64_t k = f; k < std::min(cols, f + 4); ++k)
            row[k] = 2 * uniform_float(block[static_cast<std::size_t>(k - f)]) - 1;
        }
      }
    };
  }
  dataset.labels.kind = LabelKind::kSingle;
  dataset.labels.num_classes = o.classes;
  dataset.labels.classes = Buffer<std::int32_t>(static_cast<std::size_t>(n));
  const std::uint64_t classes = derive_seed(o.how.seed, kClasses);
  parallel_chunks(o.how.threads, n, kNodeGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      const std::uint64_t word = philox(classes, {static_cast<std::uint32_t>(v), 0, 0, 0})[0];
      dataset.labels.classes[static_cast<std::size_t>(v)] =
          static_cast<std::int32_t>(word * static_cast<std::uint64_t>(o.classes) >> 32);
    }
  });
  dataset.split = draw_split(dataset.labels, n, "ratio:60/20/20", derive_seed(o.how.seed, kSplit));
  return out;
}

}  // namespace gneiss::data
