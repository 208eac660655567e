// Sums over in-edges on several devices, for tests: graphs with a hub and empty rows, splits that leave devices without
// nodes, the sum by the exchanges of virtual devices, and its error against f64.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "base/random.h"
#include "comm/loopback.h"
#include "exchange/exchanged_sum.h"
#include "graph/graph.h"
#include "kernels/halo.h"
#include "partition/local_graph.h"
#include "pgas/space.h"

namespace gneiss::testing {

using exchange::Exchange;
using exchange::Tuning;
using kernels::Reduce;

struct Case {
  std::int64_t nodes = 60;
  std::int64_t cols = 7;
  std::int64_t heads = 1;
  bool weighted = true;
  bool scaled = false;
  Reduce reduce = Reduce::kSum;
  std::uint64_t seed = 1;
};

/// A hub, empty rows, parallel edges; few rows have only own or only others' entries.
inline graph::Graph random_graph(const Case& c) {
  RandomStream random(c.seed, 3);
  const auto n = static_cast<std::uint64_t>(c.nodes);
  Buffer<EdgeId> offsets(static_cast<std::size_t>(c.nodes) + 1);
  std::vector<NodeId> sources;
  offsets[0] = 0;
  for (std::int64_t v = 0; v < c.nodes; ++v) {
    const auto degree = static_cast<std::int64_t>(v == 0 ? 3 * n : random.below(8) == 0 ? 0 : random.below(12));
    const std::size_t first = sources.size();
    for (std::int64_t k = 0; k < degree; ++k) sources.push_back(static_cast<NodeId>(random.below(n)));
    std::sort(sources.begin() + static_cast<std::ptrdiff_t>(first), sources.end());
    offsets[static_cast<std::size_t>(v) + 1] = std::ssize(sources);
  }
  Buffer<float> weights(c.weighted ? sources.size() : 0);
  for (float& w : weights) w = static_cast<float>(random.below(2000)) / 1000 - 1;
  return graph::Graph(c.nodes, std::move(offsets), Buffer<NodeId>::copy_of(sources), std::move(weights), false);
}

/// Splits at random nodes; some devices have none.
inline std::vector<std::int64_t> random_starts(std::int64_t nodes, int devices, std::uint64_t seed) {
  RandomStream random(seed, 4);
  std::vector<std::int64_t> starts = {0, nodes};
  while (std::ssize(starts) <= devices)
    starts.push_back(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(nodes) + 1)));
  std::sort(starts.begin(), starts.end());
  return starts;
}

template <class T>
struct Made {
  std::vector<T> y;  ///< all rows, in the order of the nodes
  std::vector<std::int32_t> arg;
  std::vector<std::vector<std::int64_t>> bytes;    ///< by device, from device
  std::vector<std::vector<std::int64_t>> planned;  ///< likewise, by the tables
};

inline std::vector<float> random_rows(const Case& c) {
  RandomStream random(c.seed, 5);
  std::vector<float> x(static_cast<std::size_t>(c.nodes * c.cols));
  for (float& value : x) value = static_cast<float>(random.below(20001)) / 10000 - 1;
  return x;
}

/// What a head multiplies the weights of edges with.
inline float head_factor(std::int64_t head) { return static_cast<float>(head * 3 % 11) / 4 - 1; }
inline float scale_of(std::int64_t node) { return 0.5F + static_cast<float>(node % 5); }

using Damage = std::function<void(exchange::SumPieces*)>;
using Wrap = std::function<std::unique_ptr<pgas::Space>(comm::Communicator&)>;

struct Way {
  Exchange exchange = Exchange::kFine;
  Tuning tuning = {};
  int threads = 1;
};

template <class T>
Made<T> sum_on(int devices, const Case& c, const Way& run, const Damage& damage = {}, const Wrap& wrap = {}) {
  const graph::Graph whole = random_graph(c);
  const std::vector<std::int64_t> starts = random_starts(c.nodes, devices, c.seed);
  const std::vector<float> x = random_rows(c);
  const bool extreme = c.reduce == Reduce::kMax || c.reduce == Reduce::kMin;
  Made<T> made;
  made.y.assign(static_cast<std::size_t>(c.nodes * c.cols), T{NAN});
  made.arg.assign(made.y.size(), -7);
  made.bytes.resize(static_cast<std::size_t>(devices));
  made.planned.resize(made.bytes.size());
  std::vector<std::vector<T>> owned(made.bytes.size());  // where a device fails, others may still be reading its rows
  comm::loopback(devices)->run([&](comm::Communicator& communicator) {
    const auto self = static_cast<std::size_t>(communicator.rank());
    const partition::LocalGraph local = partition::local_graph(whole, starts[self], starts[self + 1]);
    const comm::HaloPlan halo = comm::make_halo_plan(communicator, starts, local.ghosts);
    const std::int64_t rows = starts[self + 1] - starts[self];
    std::vector<T>& own = owned[self];
    own.assign(x.begin() + starts[self] * c.cols, x.begin() + starts[self + 1] * c.cols);
    std::vector<T> table(static_cast<std::size_t>((halo.owned + halo.ghosts) * c.cols), T{NAN});
    std::vector<T> weights;
    for (EdgeId e = 0; c.weighted && e < local.graph.num_edges(); ++e) {
      const float given = local.graph.weights()[static_cast<std::size_t>(e)];
      for (std::int64_t h = 0; h < c.heads; ++h) weights.push_back(given * head_factor(h));
    }
    std::vector<T> scales;
    for (std::int64_t v = starts[self]; v < starts[self + 1]; ++v) scales.push_back(scale_of(v));
    kernels::SpmmArgs<T> args;
    args.pattern = local.graph.in_edges();
    args.x = ConstMatrixView<T>(MatrixView<T>(table.data(), halo.owned + halo.ghosts, c.cols));
    args.w = {weights.data(), weights.size()};
    args.heads = c.heads;
    args.reduce = c.reduce;
    args.y = {made.y.data() + starts[self] * c.cols, rows, c.cols};
    if (extreme) args.arg = {made.arg.data() + starts[self] * c.cols, rows, c.cols};
    if (c.scaled) args.scales = ConstMatrixView<T>(MatrixView<T>(scales.data(), rows, 1));
    exchange::SumRoom<T> room;
    exchange::SumPieces pieces =
        exchange::sum_pieces(run.exchange, run.tuning, args.pattern, halo, exchange::needs_of(args));
    exchange::ExchangedSum<T> sum(&pieces, args, halo, &room);
    made.planned[self] = sum.rows_from();
    for (std::int64_t& count : made.planned[self]) count *= c.cols * std::int64_t{sizeof(T)};
    if (damage) damage(&pieces);
    kernels::ExchangeUnderWay shown;
    // Last, so that nothing that it writes to or reads from is gone before it is.
    const std::unique_ptr<pgas::Space> space = wrap ? wrap(communicator) : communicator.make_space(pgas::Link{});
    kernels::HaloArgs<T> between{&communicator,
                                 &halo,
                                 MatrixView<T>(own.data(), rows, c.cols),
                                 MatrixView<T>(table.data(), halo.owned + halo.ghosts, c.cols),
                                 space.get(),
                                 {},
                                 &shown,
                                 run.exchange == Exchange::kFine};
    const kernels::Context context{run.threads, {}};
    for (int again = 0; again < 2; ++again) {
      kernels::halo_start(context, between);
      sum.run(context, args, *space, shown, true);
      kernels::halo_wait(context, between);
    }
    made.bytes[self] = space->traffic().bytes_from;
    made.bytes[self].resize(static_cast<std::size_t>(devices));
    for (std::int64_t& count : made.bytes[self]) count /= 2;  // of two sums
  });
  return made;
}

/// The largest error of a sum in units of 4 deg 2^-24 (|A| |X|), in f64 2^-53; of extremes any difference is infinite.
template <class T>
double error_of(const Case& c, const Made<T>& made) {
  const graph::Graph whole = random_graph(c);
  const std::vector<float> x = random_rows(c);
  constexpr double kRounding = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
  double worst = 0;
  for (std::int64_t v = 0; v < c.nodes; ++v) {
    const EdgeId begin = whole.offsets()[static_cast<std::size_t>(v)];
    const EdgeId end = whole.offsets()[static_cast<std::size_t>(v) + 1];
    const auto degree = static_cast<double>(end - begin);
    for (std::int64_t j = 0; j < c.cols; ++j) {
      double sum = 0;
      double magnitude = 0;
      double best = 0;
      bool any = false;
      for (EdgeId k = begin; k < end; ++k) {
        const auto e = static_cast<std::size_t>(k);
        const T weight = c.weighted ? static_cast<T>(whole.weights()[e] * head_factor(j / (c.cols / c.heads))) : T{1};
        const T term = weight * static_cast<T>(x[static_cast<std::size_t>(whole.sources()[e] * c.cols + j)]);
        sum += static_cast<double>(term);
        magnitude += std::abs(static_cast<double>(term));
        const double value = static_cast<double>(term);
        if (!any || (c.reduce == Reduce::kMax ? value > best : value < best)) best = value;
        any = true;
      }
      double factor = c.reduce == Reduce::kMean && degree > 0 ? 1 / degree : 1;
      if (c.scaled) factor *= static_cast<double>(scale_of(v));
      const auto got = static_cast<double>(made.y[static_cast<std::size_t>(v * c.cols + j)]);
      if (!std::isfinite(got)) return HUGE_VAL;
      if (c.reduce == Reduce::kMax || c.reduce == Reduce::kMin) {
        const std::int32_t arg = made.arg[static_cast<std::size_t>(v * c.cols + j)];
        if (got != best || (arg < 0) != !any || arg >= end - begin) return HUGE_VAL;
        continue;
      }
      const double unit = 4 * std::max(1.0, degree) * kRounding * magnitude * factor + 1e-30;
      worst = std::max(worst, std::abs(got - sum * factor) / unit);
    }
  }
  return worst;
}

inline std::vector<Case> cases() {
  return {{},
          {.cols = 16, .weighted = false},
          {.cols = 33, .weighted = false, .reduce = Reduce::kMean, .seed = 2},
          {.cols = 12, .heads = 3, .scaled = true, .seed = 3},
          {.cols = 5, .scaled = true, .reduce = Reduce::kMean, .seed = 4},
          {.cols = 19, .reduce = Reduce::kMax, .seed = 5},
          {.cols = 8, .weighted = false, .reduce = Reduce::kMin, .seed = 6},
          {.nodes = 3, .cols = 70, .seed = 7}};
}

/// One of cases() with another seed and up to 80 nodes, on up to 9 devices, and numbers of the tuner.
struct RandomCase {
  Case c;
  int devices;
  Tuning tuning;
};
inline RandomCase random_case(std::uint64_t seed) {
  RandomStream random(seed, 6);
  Case c = cases()[random.below(8)];
  c.seed = seed;
  c.nodes = 1 + static_cast<std::int64_t>(random.below(80));
  const auto up_to = [&](std::uint64_t most) { return 1 + static_cast<int>(random.below(most)); };
  const int devices = up_to(9);
  return {c, devices, {up_to(32), up_to(16), up_to(16), up_to(4)}};
}

}  // namespace gneiss::testing
