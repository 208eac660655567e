// Sums on several emulated devices by the kernel that fetches remote rows while it adds: within the rounding of f64,
// the same bits whatever the order of threads, the bits of the exchange fine of virtual devices wherever a row is not
// cut between warps; rows fetched and partial sums added on the way back; a layer of GCN both ways. Mutants of the
// tables and of the way rows come must show.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "exchange/resources.h"
#include "exchange/unit_tables.h"
#include "kernels/cuda/emulation.h"
#include "parity/card.h"
#include "runtime/device.h"
#include "runtime/device_exchange.h"
#include "support/sum_cases.h"

namespace gneiss {
namespace {

using namespace gneiss::testing;  // NOLINT(google-build-using-namespace): graphs, sums and errors of sum_cases.h
using exchange::FinePieces;
using exchange::UnitTables;
using runtime::DeviceCopies;
using DeviceMatrix = MatrixView<float, Space::kDevice>;

/// A matrix in a device's memory, rows `stride` apart.
struct OnDeviceMatrix {
  OnDeviceMatrix(runtime::Device* device, std::int64_t rows, std::int64_t cols, std::int64_t stride)
      : memory(device, rows * stride * 4 + 4), view(reinterpret_cast<float*>(memory.data()), rows, cols, stride) {}
  OnDeviceMatrix(runtime::Device* device, std::int64_t rows, std::int64_t cols)
      : OnDeviceMatrix(device, rows, cols, cols) {}

  void set(const float* from) {  // memory of the emulation is the host's
    for (std::int64_t r = 0; r < view.rows; ++r) std::copy_n(from + r * view.cols, view.cols, view.row(r));
  }
  void get(float* to) const {
    for (std::int64_t r = 0; r < view.rows; ++r) std::copy_n(view.row(r), view.cols, to + r * view.cols);
  }
  std::span<float> all() const { return {view.data, static_cast<std::size_t>(view.rows * view.stride)}; }

  runtime::DeviceMemory memory;
  DeviceMatrix view;
};

SparsePatternIn<Space::kDevice> send_pattern(DeviceCopies* copies, const SparsePattern& from) {
  SparsePatternIn<Space::kDevice> to;
  to.rows = from.rows;
  to.cols = from.cols;
  to.offsets = copies->send(from.offsets);
  to.indices = copies->send(from.indices);
  to.slots = copies->send(from.slots);
  return to;
}

std::span<float> result_of(const kernels::OnDevice<kernels::SpmmUnitsArgs>& args) {
  return {args.sum.y.data, static_cast<std::size_t>(args.sum.y.rows * args.sum.y.stride)};
}
std::span<float> result_of(const kernels::OnDevice<kernels::SumPeerRowsArgs>& args) {
  return {args.y.data, static_cast<std::size_t>(args.y.rows * args.y.stride)};
}

/// On the card that the environment asks for, on the same memory, which is this process's.
template <class Args>
void expect_bits_on_card(const Args& args) {
  if constexpr (requires { result_of(args); }) {
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    const std::span<float> result = result_of(args);
    const std::vector<float> want(result.begin(), result.end());
    const auto& kernel = std::get<kernels::DeviceKernel<Args>>(Card::get().kernels());
    Buffer<std::byte> scratch(kernel.workspace_bytes(args));
    if (!scratch.empty()) std::memset(scratch.data(), 0xFF, scratch.size());
    if (!want.empty()) std::memset(result.data(), 0xFF, result.size_bytes());
    kernels::DeviceContext context;
    context.workspace = {scratch.data(), scratch.size()};
    kernel.run(context, args);
    Card::get().finish("sums on one of several devices");
    std::vector<float> got(result.begin(), result.end());
    if (Card::spoils() && !got.empty()) got[0] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(got[0]) ^ 1U);
    EXPECT_TRUE(got.empty() || std::memcmp(got.data(), want.data(), result.size_bytes()) == 0);
  }
}

template <class Args>
void run_kernel(runtime::Device* device, const Args& args) {
  const auto& kernel = std::get<kernels::DeviceKernel<Args>>(device->kernels());
  const runtime::DeviceMemory scratch(device, static_cast<std::int64_t>(kernel.workspace_bytes(args)));
  kernels::DeviceContext context = device->context();
  context.workspace = {scratch.data(), static_cast<std::size_t>(scratch.bytes())};
  kernel.run(context, args);
  if (Card::asked()) expect_bits_on_card(args);
}

bool is_extreme(Reduce reduce) { return reduce == Reduce::kMax || reduce == Reduce::kMin; }

/// What a mutant changes: the kernel's arguments, whose tables lie in memory of the host.
using Change = std::function<void(kernels::OnDevice<kernels::SpmmUnitsArgs>*)>;

struct DeviceWay {
  Tuning tuning = {};
  std::uint64_t order = 1;
  std::int64_t padding = 0;  ///< columns between rows
  bool blocking = false;
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
    const std::unique_ptr<pgas::Space> space = train::space_of(communicator, pgas::Link{});
    const std::unique_ptr<runtime::Device> device = runtime::make_emulated_device();
    kernels::emulated::set_order(way.order);
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
    const runtime::DeviceUnits units(device.get(), pieces, rows, devices);
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
    RandomStream random(seed, 6);
    Case c = cases()[random.below(8)];
    c.seed = seed;
    c.nodes = 1 + static_cast<std::int64_t>(random.below(80));
    const auto devices = 1 + static_cast<int>(random.below(9));
    const auto up_to = [&](std::uint64_t most) { return 1 + static_cast<int>(random.below(most)); };
    const Tuning tuning = {up_to(32), up_to(16), up_to(16), up_to(4)};
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

// Rows that are fetched, partial sums on the way back, and sums over all devices.

/// As PeerSum::run, and on a card where one is asked for.
void run_peer_sum(runtime::Device* device, const runtime::PeerEntries& entries, const DeviceMatrix& x,
                  const DeviceMatrix& y, DeviceSpan<const kernels::PeerRows<float>> peers) {
  const runtime::PeerSum sum(device, entries);
  sum.run(device->context(), x, y, peers);
  if (Card::asked()) expect_bits_on_card(sum.arguments(x, y, peers));
}

/// Runs `work(communicator, halo, local graph, space, device)` on each of several devices.
using OnOne = std::function<void(comm::Communicator&, const comm::HaloPlan&, const partition::LocalGraph&, pgas::Space*,
                                 runtime::Device*)>;
void on_devices(int devices, const graph::Graph& whole, std::span<const std::int64_t> starts, const OnOne& work) {
  comm::loopback(devices)->run([&](comm::Communicator& communicator) {
    const auto self = static_cast<std::size_t>(communicator.rank());
    const partition::LocalGraph local = partition::local_graph(whole, starts[self], starts[self + 1]);
    const comm::HaloPlan halo = comm::make_halo_plan(communicator, starts, local.ghosts);
    const std::unique_ptr<pgas::Space> space = train::space_of(communicator, pgas::Link{});
    const std::unique_ptr<runtime::Device> device = runtime::make_emulated_device();
    work(communicator, halo, local, space.get(), device.get());
  });
}

/// An element of rank r's rows that stands for node `node` there.
float element(int rank, std::int64_t node, std::int64_t j) {
  return static_cast<float>((rank + 1) * 1000 + node) / 7 + static_cast<float>(j) / 3;
}

TEST(PeerSums, AreThoseOfTheCommunicatorToTheBit) {
  const Case c = {.nodes = 70, .cols = 5};
  const graph::Graph whole = random_graph(c);
  for (const int devices : {1, 2, 4, 8}) {
    const std::vector<std::int64_t> starts = random_starts(c.nodes, devices, 9);
    on_devices(devices, whole, starts,
               [&](comm::Communicator& communicator, const comm::HaloPlan& halo, const partition::LocalGraph& local,
                   pgas::Space* space, runtime::Device* device) {
                 const auto self = static_cast<std::size_t>(communicator.rank());
                 const std::int64_t all = halo.owned + halo.ghosts;
                 std::vector<float> rows(static_cast<std::size_t>(all * c.cols));
                 for (std::int64_t v = 0; v < all; ++v) {
                   const std::int64_t node =
                       v < halo.owned ? starts[self] + v : local.ghosts[static_cast<std::size_t>(v - halo.owned)];
                   for (std::int64_t j = 0; j < c.cols; ++j)
                     rows[static_cast<std::size_t>(v * c.cols + j)] = element(communicator.rank(), node, j);
                 }
                 OnDeviceMatrix table(device, all, c.cols, 6);
                 table.set(rows.data());
                 runtime::PeerTable peers(device, space);

                 // halo: ghosts are as their owners have them.
                 OnDeviceMatrix ghosts(device, halo.ghosts, c.cols);
                 run_peer_sum(device, runtime::halo_entries(halo), {}, ghosts.view,
                              peers.open(table.view.band(0, halo.owned)));
                 peers.close();
                 for (std::int64_t i = 0; i < halo.ghosts; ++i) {
                   const NodeId node = local.ghosts[static_cast<std::size_t>(i)];
                   const auto owner =
                       std::upper_bound(starts.begin(), starts.end(), std::int64_t{node}) - starts.begin();
                   EXPECT_EQ(ghosts.view.at(i, 3), element(static_cast<int>(owner) - 1, node, 3));
                 }

                 // halo_add: own rows, then what others have for them, in their order.
                 std::vector<float> want(static_cast<std::size_t>(halo.owned * c.cols));
                 std::vector<std::byte> scratch(
                     kernels::halo_workspace_bytes(halo.sends() + halo.ghosts, c.cols, sizeof(float)));
                 kernels::HaloArgs<float> add{&communicator, &halo, MatrixView<float>(rows.data(), all, c.cols),
                                              MatrixView<float>(want.data(), halo.owned, c.cols)};
                 kernels::halo_add(kernels::Context{1, scratch}, add);
                 OnDeviceMatrix added(device, halo.owned, c.cols);
                 run_peer_sum(device, runtime::halo_add_entries(halo), table.view.band(0, halo.owned), added.view,
                              peers.open(table.view));
                 peers.close();
                 for (std::int64_t i = 0; i < halo.owned * c.cols; ++i)
                   EXPECT_EQ(added.all()[static_cast<std::size_t>(i)], want[static_cast<std::size_t>(i)]);

                 // rank_sum: the same on all devices, in their order.
                 std::vector<float> sums(10);
                 for (std::size_t i = 0; i < 10; ++i) sums[i] = element(communicator.rank(), static_cast<int>(i), 1);
                 OnDeviceMatrix mine(device, 2, 5);
                 mine.set(sums.data());
                 kernels::rank_sum(kernels::Context{1, {}},
                                   kernels::HaloArgs<float>{&communicator, &halo, MatrixView<float>(sums.data(), 2, 5),
                                                            MatrixView<float>(sums.data(), 2, 5)});
                 OnDeviceMatrix summed(device, 2, 5);
                 run_peer_sum(device, runtime::rank_sum_entries(2, devices), {}, summed.view, peers.open(mine.view));
                 peers.close();
                 for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(summed.all()[i], sums[i]);
               });
  }
}

// A layer of GCN, A (X W), both ways.

/// Dense matrices of the whole graph, in f64.
struct Layer {
  std::vector<double> y;
  std::vector<double> dx;
  std::vector<double> dw;
};

constexpr std::int64_t kIn = 6;
constexpr std::int64_t kOut = 8;

double layer_number(std::int64_t i, int of) { return static_cast<double>((i * 37 + of * 11) % 41) / 20 - 1; }

template <class Visit>
void for_each_edge(const graph::Graph& graph, const Visit& visit) {
  for (std::int64_t v = 0; v < graph.num_nodes(); ++v) {
    for (EdgeId k = graph.offsets()[static_cast<std::size_t>(v)]; k < graph.offsets()[static_cast<std::size_t>(v) + 1];
         ++k)
      visit(v, graph.sources()[static_cast<std::size_t>(k)],
            static_cast<double>(graph.weights()[static_cast<std::size_t>(k)]));
  }
}

/// x, w and dy are layer_number of 0, 1 and 2.
Layer layer_in_f64(const graph::Graph& graph) {
  const std::int64_t n = graph.num_nodes();
  const auto at = [](std::int64_t r, std::int64_t cols, std::int64_t c) {
    return static_cast<std::size_t>(r * cols + c);
  };
  std::vector<double> h(static_cast<std::size_t>(n * kOut));
  for (std::int64_t v = 0; v < n; ++v) {
    for (std::int64_t j = 0; j < kOut; ++j) {
      for (std::int64_t i = 0; i < kIn; ++i)
        h[at(v, kOut, j)] += layer_number(v * kIn + i, 0) * layer_number(i * kOut + j, 1);
    }
  }
  Layer layer;
  layer.y.resize(h.size());
  layer.dx.resize(static_cast<std::size_t>(n * kIn));
  layer.dw.resize(static_cast<std::size_t>(kIn * kOut));
  std::vector<double> dh(h.size());
  for_each_edge(graph, [&](std::int64_t v, std::int64_t u, double weight) {
    for (std::int64_t j = 0; j < kOut; ++j) {
      layer.y[at(v, kOut, j)] += weight * h[at(u, kOut, j)];
      dh[at(u, kOut, j)] += weight * layer_number(v * kOut + j, 2);
    }
  });
  for (std::int64_t v = 0; v < n; ++v) {
    for (std::int64_t i = 0; i < kIn; ++i) {
      for (std::int64_t j = 0; j < kOut; ++j) {
        layer.dx[at(v, kIn, i)] += dh[at(v, kOut, j)] * layer_number(i * kOut + j, 1);
        layer.dw[at(i, kOut, j)] += layer_number(v * kIn + i, 0) * dh[at(v, kOut, j)];
      }
    }
  }
  return layer;
}

/// The edges turned round, with their weights.
graph::Graph transpose(const graph::Graph& graph) {
  std::vector<std::vector<std::pair<NodeId, float>>> rows(static_cast<std::size_t>(graph.num_nodes()));
  for_each_edge(graph, [&](std::int64_t v, NodeId u, double weight) {
    rows[static_cast<std::size_t>(u)].emplace_back(static_cast<NodeId>(v), static_cast<float>(weight));
  });
  Buffer<EdgeId> offsets(rows.size() + 1);
  std::vector<NodeId> sources;
  std::vector<float> weights;
  offsets[0] = 0;
  for (std::size_t v = 0; v < rows.size(); ++v) {
    for (const auto& [u, weight] : rows[v]) {
      sources.push_back(u);
      weights.push_back(weight);
    }
    offsets[v + 1] = std::ssize(sources);
  }
  return graph::Graph(graph.num_nodes(), std::move(offsets), Buffer<NodeId>::copy_of(sources),
                      Buffer<float>::copy_of(weights), false);
}

kernels::OnDevice<kernels::SpmmArgs> weighted_sum(DeviceCopies* copies, const partition::LocalGraph& local) {
  kernels::OnDevice<kernels::SpmmArgs> sum;
  sum.pattern = send_pattern(copies, local.graph.in_edges());
  sum.w = copies->send(local.graph.weights());
  return sum;
}

/// y of `rows` rows, by rows that come while others are added.
void fine_sum(runtime::Device* device, runtime::PeerTable* peers, const partition::LocalGraph& local,
              const comm::HaloPlan& halo, int devices, const DeviceMatrix& x, const DeviceMatrix& y) {
  DeviceCopies copies(device);
  kernels::OnDevice<kernels::SpmmArgs> sum = weighted_sum(&copies, local);
  sum.x = x;
  sum.y = y;
  const FinePieces pieces = exchange::fine_pieces(local.graph.in_edges(), halo, {4, 2, 4, 2}, {true, false});
  const runtime::DeviceUnits units(device, pieces, y.rows, devices);
  const auto table = peers->open(x);
  run_kernel(device, units.arguments(sum, table, peers->fours()));
  peers->close();
}

TEST(DeviceExchange, ALayerOfGcnBothWays) {
  const Case c = {.nodes = 60, .seed = 11};
  const graph::Graph whole = random_graph(c);
  const graph::Graph turned = transpose(whole);
  const Layer want = layer_in_f64(whole);
  for (const int devices : {1, 2, 3, 4}) {
    const std::vector<std::int64_t> starts = random_starts(c.nodes, devices, 12);
    on_devices(devices, whole, starts,
               [&](comm::Communicator& communicator, const comm::HaloPlan& halo, const partition::LocalGraph& local,
                   pgas::Space* space, runtime::Device* device) {
                 const auto self = static_cast<std::size_t>(communicator.rank());
                 const std::int64_t first = starts[self];
                 const std::int64_t rows = halo.owned;
                 const auto filled = [&](const OnDeviceMatrix& to, std::int64_t first_row, int of) {
                   for (std::int64_t i = 0; i < to.view.size(); ++i)
                     to.view.data[i] = static_cast<float>(layer_number(first_row * to.view.cols + i, of));
                 };
                 const auto expect_rows = [&](const OnDeviceMatrix& got, const std::vector<double>& all,
                                              std::int64_t first_row) {
                   for (std::int64_t i = 0; i < got.view.size(); ++i)
                     ASSERT_NEAR(got.all()[static_cast<std::size_t>(i)],
                                 all[static_cast<std::size_t>(first_row * got.view.cols + i)], 2e-4);
                 };
                 OnDeviceMatrix x(device, rows, kIn);
                 OnDeviceMatrix w(device, kIn, kOut);
                 OnDeviceMatrix dy(device, rows, kOut);
                 filled(x, first, 0);
                 filled(w, 0, 1);
                 filled(dy, first, 2);
                 OnDeviceMatrix h(device, rows, kOut);
                 OnDeviceMatrix y(device, rows, kOut);
                 using Gemm = kernels::OnDevice<kernels::GemmArgs>;
                 runtime::PeerTable peers(device, space);
                 run_kernel(device, Gemm{x.view, w.view, h.view, kernels::Orientation::kNN});
                 fine_sum(device, &peers, local, halo, devices, h.view, y.view);
                 expect_rows(y, want.y, first);

                 // On the way back by the graph turned round, whose rows come likewise.
                 const partition::LocalGraph local_turned = partition::local_graph(turned, first, starts[self + 1]);
                 const comm::HaloPlan halo_turned = comm::make_halo_plan(communicator, starts, local_turned.ghosts);
                 OnDeviceMatrix dh(device, rows, kOut);
                 fine_sum(device, &peers, local_turned, halo_turned, devices, dy.view, dh.view);

                 // And by partial sums of this device's edges, which their owners fetch.
                 DeviceCopies copies(device);
                 const graph::Graph& in = local.graph;
                 std::vector<EdgeId> offsets(static_cast<std::size_t>(rows + halo.ghosts) + 1);
                 for (const NodeId u : in.sources()) ++offsets[static_cast<std::size_t>(u) + 1];
                 for (std::size_t u = 1; u < offsets.size(); ++u) offsets[u] += offsets[u - 1];
                 std::vector<NodeId> indices(in.sources().size());
                 std::vector<EdgeId> slots(indices.size());
                 std::vector<EdgeId> next = offsets;
                 for (std::int64_t v = 0; v < rows; ++v) {
                   for (EdgeId k = in.offsets()[static_cast<std::size_t>(v)];
                        k < in.offsets()[static_cast<std::size_t>(v) + 1]; ++k) {
                     const auto to = static_cast<std::size_t>(
                         next[static_cast<std::size_t>(in.sources()[static_cast<std::size_t>(k)])]++);
                     indices[to] = static_cast<NodeId>(v);
                     slots[to] = k;
                   }
                 }
                 OnDeviceMatrix partial(device, rows + halo.ghosts, kOut);
                 kernels::OnDevice<kernels::SpmmArgs> push = weighted_sum(&copies, local);
                 push.pattern = send_pattern(&copies, SparsePattern{rows + halo.ghosts, rows, offsets, indices, slots});
                 push.x = dy.view;
                 push.y = partial.view;
                 run_kernel(device, push);
                 OnDeviceMatrix pushed(device, rows, kOut);
                 run_peer_sum(device, runtime::halo_add_entries(halo), partial.view.band(0, rows), pushed.view,
                              peers.open(partial.view));
                 peers.close();

                 for (const OnDeviceMatrix* way : {&dh, &pushed}) {
                   OnDeviceMatrix dx(device, rows, kIn);
                   OnDeviceMatrix part(device, kIn, kOut);
                   OnDeviceMatrix dw(device, kIn, kOut);
                   run_kernel(device, Gemm{way->view, w.view, dx.view, kernels::Orientation::kNT});
                   run_kernel(device, Gemm{x.view, way->view, part.view, kernels::Orientation::kTN});
                   run_peer_sum(device, runtime::rank_sum_entries(kIn, devices), {}, dw.view, peers.open(part.view));
                   peers.close();
                   expect_rows(dx, want.dx, first);
                   expect_rows(dw, want.dw, 0);
                 }
               });
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

TEST(DeviceUnitsMutants, LandingBuffersThatTwoRowsShareShow) {
  expect_caught([](auto* args) { args->shape.warp_bytes = args->shape.landing; });  // the next warp's begin here
}

}  // namespace
}  // namespace gneiss
