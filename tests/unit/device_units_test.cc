// Sums on several emulated devices by the kernel that fetches remote rows while it adds: within the rounding of f64,
// the same bits whatever the order of threads, the bits of the exchange fine of virtual devices wherever a row is not
// cut between warps. Mutants of the tables and of the way rows come must show.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "exchange/resources.h"
#include "exchange/unit_tables.h"
#include "kernels/cuda/emulation.h"
#include "runtime/device.h"
#include "runtime/device_exchange.h"
#include "support/device_sums.h"
#include "support/sum_cases.h"

namespace gneiss {
namespace {

using namespace gneiss::testing;  // NOLINT(google-build-using-namespace): graphs, sums and errors of sum_cases.h
using exchange::FinePieces;
using exchange::UnitTables;
using runtime::DeviceCopies;

bool is_extreme(Reduce reduce) { return reduce == Reduce::kMax || reduce == Reduce::kMin; }

/// What a mutant changes: the kernel's arguments, whose tables lie in memory of the host.
using Change = std::function<void(kernels::OnDevice<kernels::SpmmUnitsArgs>*)>;

struct DeviceWay {
  Tuning tuning = {};
  std::uint64_t order = 1;
  std::int64_t padding = 0;  ///< columns between rows
  bool blocking = false;
  std::optional<Tuning> retuned = {};  ///< after the tables were sent
  std::size_t waits_short = 0;         ///< groups of copies that are not waited for
  Change change = {};
};

struct DeviceSums {
  std::vector<float> y;
  std::vector<std::int32_t> arg;
  std::vector<float> by_runs;      ///< what the order of additions says, by plain loops
  std::vector<char> uncut;         ///< [nodes] rows with at most one run of each kind
  std::vector<std::size_t> fours;  ///< devices that took columns by fours
};

float weight_at(std::span<const float> weights, EdgeId slot, const Case& c, std::int64_t j) {
  const std::int64_t head = j / (c.cols / c.heads);
  return weights.empty() ? 1.0F : weights[static_cast<std::size_t>(slot * c.heads + head)];
}

/// A sum of runs in the kernel's order.
struct ByRuns {
  const Case& c;
  std::span<const float> weights;
  std::function<const float*(EdgeId entry, bool own)> row;

  float run(const exchange::PieceList& list, EdgeId first, EdgeId last, bool own, std::int64_t j) const {
    float sum = 0;
    for (EdgeId k = list.offsets[static_cast<std::size_t>(first)]; k < list.offsets[static_cast<std::size_t>(last)];
         ++k) {
      const float x = row(k, own)[j];
      if (!c.weighted) {
        sum += x;
      } else {
        sum = std::fma(weight_at(weights, list.slots[static_cast<std::size_t>(k)], c, j), x, sum);
      }
    }
    return sum;
  }

  float all(const exchange::PieceList& list, const exchange::UnitTable& table, std::int64_t v, bool own,
            std::int64_t j) const {
    float sum = 0;
    bool any = false;
    for (std::size_t w = 0; w + 1 < table.unit_at.size(); ++w) {
      EdgeId begin = table.unit_at[w];
      const EdgeId unit_end = table.unit_at[w + 1];
      while (begin < unit_end && list.rows[static_cast<std::size_t>(begin)] != v) ++begin;
      EdgeId end = begin;
      while (end < unit_end && list.rows[static_cast<std::size_t>(end)] == v) ++end;
      if (begin == end) continue;
      const float part = run(list, begin, end, own, j);
      sum = any ? sum + part : part;
      any = true;
    }
    return sum;
  }
};

DeviceSums sum_on_devices(int devices, const Case& c, const DeviceWay& way) {
  const graph::Graph whole = random_graph(c);
  const std::vector<std::int64_t> starts = random_starts(c.nodes, devices, c.seed);
  const std::vector<float> x = random_rows(c);
  DeviceSums made;
  made.y.assign(static_cast<std::size_t>(c.nodes * c.cols), NAN);
  made.arg.assign(made.y.size(), -7);
  made.by_runs.assign(made.y.size(), NAN);
  made.uncut.assign(static_cast<std::size_t>(c.nodes), 0);
  std::mutex mutex;
  comm::loopback(devices)->run([&](comm::Communicator& communicator) {
    const auto self = static_cast<std::size_t>(communicator.rank());
    const std::int64_t first = starts[self];
    const std::int64_t rows = starts[self + 1] - first;
    const partition::LocalGraph local = partition::local_graph(whole, first, starts[self + 1]);
    const comm::HaloPlan halo = comm::make_halo_plan(communicator, starts, local.ghosts);
    const std::unique_ptr<pgas::Space> space = communicator.make_space(pgas::Link{});
    const std::unique_ptr<runtime::Device> device = runtime::make_emulated_device();
    kernels::emulated::set_order(way.order);
    kernels::emulated::wait_short_by(way.waits_short);
    std::vector<float> weights;
    for (EdgeId e = 0; c.weighted && e < local.graph.num_edges(); ++e) {
      for (std::int64_t h = 0; h < c.heads; ++h)
        weights.push_back(local.graph.weights()[static_cast<std::size_t>(e)] * head_factor(h));
    }
    std::vector<float> scales;
    for (std::int64_t v = first; v < first + rows; ++v) scales.push_back(scale_of(v));
    const FinePieces pieces =
        exchange::fine_pieces(local.graph.in_edges(), halo, way.tuning, {c.weighted, is_extreme(c.reduce)});
    const UnitTables tables = exchange::unit_tables(pieces, rows, devices);

    DeviceCopies copies(device.get());
    OnDeviceMatrix own(device.get(), rows, c.cols, c.cols + way.padding);
    OnDeviceMatrix y(device.get(), rows, c.cols, c.cols + way.padding);
    OnDeviceMatrix arg(device.get(), rows, c.cols);
    own.set(x.data() + first * c.cols);
    kernels::OnDevice<kernels::SpmmArgs> sum;
    sum.pattern = send_pattern(&copies, local.graph.in_edges());
    sum.x = own.view;
    sum.w = copies.send(std::span<const float>(weights));
    sum.heads = c.heads;
    sum.reduce = c.reduce;
    sum.y = y.view;
    if (is_extreme(c.reduce)) sum.arg = {reinterpret_cast<std::int32_t*>(arg.view.data), rows, c.cols};
    if (c.scaled)
      sum.scales = DeviceMatrix(const_cast<float*>(copies.send(std::span<const float>(scales)).data), rows, 1);
    runtime::DeviceUnits units(device.get(), pieces, rows, devices);
    if (way.retuned) units.retune(*way.retuned);
    runtime::PeerTable peers(device.get(), space.get());
    for (int again = 0; again < 2; ++again) {
      const auto table = peers.open(own.view);
      auto args = units.arguments(sum, table, peers.fours());
      args.shape.blocking = way.blocking;
      if (way.change) way.change(&args);
      device->poison(y.view.data, y.memory.bytes() - 4);
      run_kernel(device.get(), args);
      peers.close();
      const std::lock_guard lock(mutex);
      if (again == 0 && args.shape.fours) made.fours.push_back(self);
    }
    y.get(made.y.data() + first * c.cols);
    if (is_extreme(c.reduce))
      std::copy_n(reinterpret_cast<const std::int32_t*>(arg.view.data), rows * c.cols,
                  made.arg.data() + first * c.cols);

    const ByRuns by_runs{c, weights, [&](EdgeId entry, bool is_own) {
                           const auto k = static_cast<std::size_t>(entry);
                           const std::int64_t node = is_own
                                                         ? first + pieces.local.sources[k]
                                                         : starts[tables.owners[k]] + std::int64_t{tables.sources[k]};
                           return x.data() + node * c.cols;
                         }};
    for (std::int64_t v = 0; v < rows; ++v) {
      const auto row = static_cast<std::size_t>(v);
      made.uncut[static_cast<std::size_t>(first) + row] =
          tables.own.runs[row].runs <= 1 && tables.others.runs[row].runs <= 1 ? 1 : 0;
      const EdgeId degree = local.graph.in_edges().offsets[row + 1] - local.graph.in_edges().offsets[row];
      float factor = c.reduce == Reduce::kMean && degree > 0 ? 1 / static_cast<float>(degree) : 1.0F;
      if (c.scaled) factor *= scales[row];
      for (std::int64_t j = 0; j < c.cols && !is_extreme(c.reduce); ++j) {
        const float from_own = by_runs.all(pieces.local, tables.own, v, true, j);
        const float from_others = by_runs.all(pieces.remote, tables.others, v, false, j);
        made.by_runs[static_cast<std::size_t>((first + v) * c.cols + j)] = (from_own + from_others) * factor;
      }
    }
  });
  return made;
}

double error_of(const Case& c, const DeviceSums& made) { return error_of(c, Made<float>{made.y, made.arg, {}, {}}); }

std::vector<Tuning> tunings() { return {{1, 1, 1, 1}, {3, 2, 1, 3}, {16, 1, 8, 2}, {32, 4, 2, 4}}; }

std::string name(const Case& c, int devices, const Tuning& t) {
  return fmt::format("seed {} on {} devices, pieces of {}, dist {}, {} warps, {} stages", c.seed, devices, t.piece,
                     t.dist, t.warps, t.stages);
}

TEST(DeviceUnits, AreTheSumInF64InAnyOrderOfThreads) {
  for (const Case& c : cases()) {
    for (const int devices : {1, 2, 3, 4, 8}) {
      for (const Tuning& tuning : tunings()) {
        SCOPED_TRACE(name(c, devices, tuning));
        const DeviceSums made = sum_on_devices(devices, c, {.tuning = tuning});
        ASSERT_LE(error_of(c, made), 1);
        if (!is_extreme(c.reduce)) {
          ASSERT_EQ(made.y, made.by_runs);
        }
        for (const std::uint64_t order : {2, 3}) {
          const DeviceSums again = sum_on_devices(devices, c, {.tuning = tuning, .order = order});
          ASSERT_EQ(again.y, made.y);
          ASSERT_EQ(again.arg, made.arg);
        }
      }
    }
  }
}

/// Fine of virtual devices adds a row entry by entry wherever it is cut; a card would have one warp walk a hub's row
/// alone. Where a row is not cut between units, and for extremes everywhere, the bits are the same.
TEST(DeviceUnits, HaveTheBitsOfVirtualDevicesWhereARowIsNotCut) {
  for (Case c : cases()) {
    c.weighted = false;  // whether the CPU's product and sum are one operation is up to its instruction set
    for (const int devices : {2, 3, 8}) {
      for (const Tuning& tuning : {Tuning{16, 8, 4, 2}, Tuning{32, 16, 2, 4}}) {
        SCOPED_TRACE(name(c, devices, tuning));
        const DeviceSums made = sum_on_devices(devices, c, {.tuning = tuning});
        const Made<float> fine = sum_on<float>(devices, c, {.tuning = tuning});
        std::int64_t uncut = 0;
        for (std::size_t i = 0; i < made.y.size(); ++i) {
          if (made.uncut[i / static_cast<std::size_t>(c.cols)] == 0 && !is_extreme(c.reduce)) continue;
          ++uncut;
          ASSERT_EQ(made.y[i], fine.y[i]) << "row " << i / static_cast<std::size_t>(c.cols);
          ASSERT_EQ(made.arg[i], fine.arg[i]);
        }
        EXPECT_GT(2 * uncut, static_cast<std::int64_t>(made.y.size()));
      }
    }
  }
}

TEST(DeviceUnits, AreTheSumInF64OnRandomGraphs) {
  for (std::uint64_t seed = 200; seed < 260; ++seed) {
    const auto [c, devices, tuning] = random_case(seed);
    SCOPED_TRACE(name(c, devices, tuning));
    const DeviceSums made = sum_on_devices(devices, c, {.tuning = tuning, .order = seed});
    ASSERT_LE(error_of(c, made), 1);
    if (!is_extreme(c.reduce)) {
      ASSERT_EQ(made.y, made.by_runs);
    }
  }
}

/// Neither how columns are read nor when rows come changes a bit; a place that is not a multiple of four is no matter.
TEST(DeviceUnits, HaveTheSameBitsByOneColumnAndWithoutAPipeline) {
  for (const Case& c : {Case{.cols = 16}, Case{.cols = 132, .weighted = false}, Case{.cols = 12, .heads = 3}}) {
    const Tuning tuning = {4, 2, 3, 3};
    const DeviceSums fours = sum_on_devices(3, c, {.tuning = tuning});
    const DeviceSums ones = sum_on_devices(3, c, {.tuning = tuning, .padding = 1});
    EXPECT_EQ(fours.fours.size(), 3);
    EXPECT_TRUE(ones.fours.empty());
    EXPECT_EQ(fours.y, ones.y);
    EXPECT_EQ(fours.y, sum_on_devices(3, c, {.tuning = tuning, .blocking = true}).y);
  }
}

/// What a tuner may move on a card, while pieces and dist stay.
TEST(DeviceUnits, HaveTheSameBitsForAnyWarpsOfABlockAndRowsUnderWay) {
  for (const Case& c : {Case{.nodes = 80, .cols = 16}, Case{.cols = 12, .heads = 3, .reduce = Reduce::kMax}}) {
    const Tuning tuning = {4, 2, 1, 1};
    const DeviceSums want = sum_on_devices(3, c, {.tuning = tuning});
    for (const auto& [warps, stages] : {std::pair(2, 4), std::pair(16, 3), std::pair(64, 2)}) {
      const DeviceSums made = sum_on_devices(3, c, {.tuning = tuning, .retuned = Tuning{4, 2, warps, stages}});
      EXPECT_EQ(made.y, want.y) << warps << " warps, " << stages << " stages";
      EXPECT_EQ(made.arg, want.arg);
    }
  }
  for (const Tuning& other : {Tuning{8, 2, 1, 1}, Tuning{4, 1, 1, 1}}) {
    try {
      sum_on_devices(2, {}, {.tuning = {4, 2, 1, 1}, .retuned = other});
      FAIL() << "other sums";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("another sum would come of"));
    }
  }
}

TEST(DeviceUnits, TakeTheSharedMemoryOfTheResourceModel) {
  for (const Tuning& tuning : tunings()) {
    for (const std::int64_t cols : {1, 16, 602}) {
      const kernels::UnitShape shape = exchange::unit_shape(tuning, cols, true);
      EXPECT_EQ(shape.warps * shape.warp_bytes, exchange::shared_bytes(tuning, cols));
    }
  }
}

TEST(DeviceUnits, HaveEveryPieceInOneUnitAndEveryRunInOnePlace) {
  for (const Case& c : cases()) {
    const graph::Graph whole = random_graph(c);
    for (const Tuning& tuning : tunings()) {
      comm::loopback(3)->run([&](comm::Communicator& communicator) {
        const std::vector<std::int64_t> starts = random_starts(c.nodes, 3, c.seed);
        const auto self = static_cast<std::size_t>(communicator.rank());
        const partition::LocalGraph local = partition::local_graph(whole, starts[self], starts[self + 1]);
        const comm::HaloPlan halo = comm::make_halo_plan(communicator, starts, local.ghosts);
        const std::int64_t rows = starts[self + 1] - starts[self];
        const FinePieces pieces = exchange::fine_pieces(local.graph.in_edges(), halo, tuning, {});
        const UnitTables tables = exchange::unit_tables(pieces, rows, 3);
        for (const auto* kind : {&tables.own, &tables.others}) {
          const exchange::PieceList& list = kind == &tables.own ? pieces.local : pieces.remote;
          EXPECT_EQ(kind->unit_at[0], 0);
          EXPECT_EQ(kind->unit_at[kind->unit_at.size() - 1], list.pieces());
          std::int64_t runs = 0;
          std::int64_t with_entries = 0;
          for (const kernels::RowRuns& row : kind->runs) {
            runs += row.runs;
            with_entries += row.runs > 0 ? 1 : 0;
          }
          EXPECT_EQ(runs - with_entries, kind->carried_sums);
          std::int32_t next = 0;
          for (const std::int32_t place : kind->carried) {
            if (place < 0) continue;
            EXPECT_EQ(place, next++);
          }
          EXPECT_EQ(next, kind->carried_sums);
        }
      });
    }
  }
}

// Mutants.

const Case kMutated = {.nodes = 80, .cols = 8};
const Tuning kMutatedTuning = {4, 1, 2, 3};

template <class T>
T* writable(DeviceSpan<const T> span) {
  return const_cast<T*>(span.data);
}

void expect_caught(const Change& change) {
  try {
    EXPECT_GT(error_of(kMutated, sum_on_devices(3, kMutated, {.tuning = kMutatedTuning, .change = change})), 1);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
  }
}

TEST(DeviceUnitsMutants, NoneIsTheRightSum) {
  EXPECT_LE(error_of(kMutated, sum_on_devices(3, kMutated, {.tuning = kMutatedTuning})), 1);
}

TEST(DeviceUnitsMutants, AnotherOwnerShows) {
  expect_caught([](auto* args) {
    for (std::size_t k = 0; k < args->others.owners.size; ++k) {
      // Of all devices' rows there are at least as many as of the smallest: row 0.
      writable(args->others.owners)[k] = static_cast<std::uint8_t>((args->others.owners.data[k] + 1) % 3);
      writable(args->others.sources)[k] = 0;
    }
  });
}

TEST(DeviceUnitsMutants, AnotherRowOfAnOwnerShows) {
  expect_caught([](auto* args) {
    for (std::size_t k = 0; k < args->others.sources.size; ++k) writable(args->others.sources)[k] = 0;
  });
}

TEST(DeviceUnitsMutants, ALastPieceThatStaysOpenShows) {
  expect_caught([](auto* args) { --writable(args->others.unit_at)[args->others.unit_at.size - 1]; });
  expect_caught([](auto* args) { --writable(args->own.unit_at)[args->own.unit_at.size - 1]; });
}

TEST(DeviceUnitsMutants, ARunThatIsNotCarriedShows) {
  expect_caught([](auto* args) {
    for (std::size_t w = 0; w < args->own.carried.size; ++w) writable(args->own.carried)[w] = -1;
  });
}

TEST(DeviceUnitsMutants, RowsThatAreNotWaitedForShow) {
  for (const std::size_t groups : {1, 100}) {
    const DeviceWay way = {.tuning = kMutatedTuning, .waits_short = groups};
    try {
      const DeviceSums made = sum_on_devices(3, kMutated, way);
      EXPECT_GT(error_of(kMutated, made), 1);
      EXPECT_NE(made.y, sum_on_devices(3, kMutated, {.tuning = kMutatedTuning}).y);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("under way"));
    }
  }
}

TEST(DeviceUnitsMutants, LandingBuffersThatTwoRowsShareShow) {
  expect_caught([](auto* args) { args->shape.warp_bytes = args->shape.landing; });  // the next warp's begin here
}

}  // namespace
}  // namespace gneiss
