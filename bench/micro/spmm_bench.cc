// spmm: edges and bytes a second, and the share of a uniform gather of equal rows from a table as large as x, fetched
// once (of_gather) and twice (of_best_gather, see limits.h). A share above 1 means that hubs and communities hit the
// caches, or that tiles of sources (`tile_kb` of x, 0 = none) stay there; of_tile_gather compares with a table as
// large as one tile. `panel`: columns that are copied and summed at a time, 0 = whole rows.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "base/parallel.h"
#include "graph/source_tiles.h"
#include "inputs.h"
#include "kernels/spmm.h"
#include "limits.h"
#include "torch_design.h"

namespace gneiss::bench {
namespace {

enum Mode : std::int64_t { kSum, kWeighted, kHeads, kMax };

const graph::SourceTiles& source_tiles(const std::string& name, std::int64_t tile) {
  static std::map<std::tuple<std::string, std::int64_t>, graph::SourceTiles> known;
  const auto [entry, is_new] = known.try_emplace({name, tile});
  if (is_new) entry->second = graph::tile_sources(graph_input(name).pattern(), tile, available_threads());
  return entry->second;
}

void spmm(benchmark::State& state, const char* name) {
  const GraphInput& graph = graph_input(name);
  const std::int64_t d = state.range(0);
  const auto mode = static_cast<Mode>(state.range(1));
  const int threads = static_cast<int>(state.range(2));
  const std::int64_t tile_bytes = state.range(3) * 1024;
  const std::int64_t heads = mode == kHeads ? 8 : 1;
  Buffer<float> x = random_values(graph.nodes * d, 1);
  Buffer<float> w = random_values(mode == kWeighted || mode == kHeads ? graph.edges() * heads : 0, 2);
  Buffer<float> y = Buffer<float>::zeros(static_cast<std::size_t>(graph.nodes * d));
  Buffer<std::int32_t> arg = Buffer<std::int32_t>::zeros(static_cast<std::size_t>(mode == kMax ? graph.nodes * d : 0));
  kernels::SpmmArgs<float> args{graph.pattern(),       {x.data(), graph.nodes, d}, w.span(), heads,
                                kernels::Reduce::kSum, {y.data(), graph.nodes, d}, {}};
  if (tile_bytes > 0) {
    const std::int64_t tile = std::min(graph::kMostTileCols, num_chunks(tile_bytes, d * 4));
    args.tiles = source_tiles(name, tile).view();
    state.counters["edges/segment"] =
        static_cast<double>(graph.edges()) / static_cast<double>(args.tiles.segments.size());
  }
  args.panel = state.range(4);
  if (mode == kMax) {
    args.reduce = kernels::Reduce::kMax;
    args.arg = {arg.data(), graph.nodes, d};
  }
  Buffer<std::byte> workspace(kernels::spmm_workspace_bytes(args));
  for (auto _ : state) kernels::spmm<float>({threads, workspace.span()}, args);
  const double edges = static_cast<double>(graph.edges()) * static_cast<double>(state.iterations());
  const auto share_of = [&](std::int64_t row_bytes, std::int64_t table_bytes, Fetch fetch = Fetch::kOnce) {
    const double limit = gather_bytes_per_second(threads, row_bytes, table_bytes, fetch);
    return benchmark::Counter(edges * static_cast<double>(d) * 4 / limit, benchmark::Counter::kIsRate);
  };
  state.counters["edges/s"] = benchmark::Counter(edges, benchmark::Counter::kIsRate);
  state.counters["GB/s"] = benchmark::Counter(edges * static_cast<double>(d) * 4e-9, benchmark::Counter::kIsRate);
  state.counters["of_gather"] = share_of(d * 4, graph.nodes * d * 4);
  state.counters["of_best_gather"] = share_of(d * 4, graph.nodes * d * 4, Fetch::kTwice);
  if (tile_bytes > 0) state.counters["of_tile_gather"] = share_of(d * 4, tile_bytes);
}

/// The same product by the design of torch's kernel.
void torch_design(benchmark::State& state, const char* name) {
  const GraphInput& graph = graph_input(name);
  const std::int64_t d = state.range(0);
  const auto threads = static_cast<int>(state.range(1));
  const Buffer<float> x = random_values(graph.nodes * d, 1);
  const Buffer<float> w = random_values(graph.edges(), 2);
  Buffer<float> y = Buffer<float>::zeros(static_cast<std::size_t>(graph.nodes * d));
  const std::vector<std::int64_t> offsets(graph.offsets.begin(), graph.offsets.end());
  const std::vector<std::int64_t> columns(graph.indices.begin(), graph.indices.end());
  for (auto _ : state)
    torch_design_spmm(threads, offsets, columns, w, {x.data(), graph.nodes, d}, {y.data(), graph.nodes, d});
  const double edges = static_cast<double>(graph.edges()) * static_cast<double>(state.iterations());
  state.counters["edges/s"] = benchmark::Counter(edges, benchmark::Counter::kIsRate);
}

const std::vector<std::int64_t> kThreads = {1, 2};

const std::vector<std::string> kNames = {"d", "mode", "threads", "tile_kb", "panel"};

BENCHMARK_CAPTURE(spmm, arxiv, "arxiv")
    ->ArgNames(kNames)
    ->ArgsProduct({{16, 32, 64, 128, 256}, {kSum, kWeighted, kHeads, kMax}, kThreads, {0, 8192, 14336, 28672}, {0, 32}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(spmm, reddit_tenth, "reddit-tenth")
    ->ArgNames(kNames)
    ->ArgsProduct({{32, 128}, {kSum, kWeighted}, kThreads, {0, 2048}, {0}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(spmm, products, "products")
    ->ArgNames(kNames)
    ->ArgsProduct({{32, 128}, {kSum, kWeighted}, kThreads, {0}, {0, 32}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(spmm, products_clusters, "products-clusters")
    ->ArgNames(kNames)
    ->ArgsProduct({{32, 128}, {kSum, kWeighted}, kThreads, {0}, {0, 32}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(torch_design, arxiv, "arxiv")
    ->ArgNames({"d", "threads"})
    ->ArgsProduct({{32, 128}, kThreads})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(torch_design, products, "products")
    ->ArgNames({"d", "threads"})
    ->ArgsProduct({{32, 128}, kThreads})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(torch_design, reddit, "reddit")
    ->ArgNames({"d", "threads"})
    ->ArgsProduct({{32, 128}, kThreads})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(spmm, reddit, "reddit")
    ->ArgNames(kNames)
    ->ArgsProduct(
        {{32, 41, 128, 256}, {kSum, kWeighted}, kThreads, {0, 1024, 1536, 2048, 4096, 8192, 16384, 29184}, {0}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gneiss::bench
