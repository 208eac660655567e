// What several emulated devices exchange: rows that are fetched, partial sums added on the way back, sums over all
// devices, by the kernel that reads where others have them; and a layer of GCN both ways.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "runtime/device.h"
#include "runtime/device_exchange.h"
#include "support/device_sums.h"
#include "support/sum_cases.h"

namespace gneiss {
namespace {

using namespace gneiss::testing;  // NOLINT(google-build-using-namespace): graphs, sums and errors of sum_cases.h
using exchange::FinePieces;
using runtime::DeviceCopies;

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
    const std::unique_ptr<pgas::Space> space = communicator.make_space(pgas::Link{});
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

}  // namespace
}  // namespace gneiss
