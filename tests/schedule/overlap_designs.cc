// What two designs hide of the exchanges of two ranks, by a virtual link: interior rows first (--exchange halo) and own
// edges first (--exchange stream), each beside the schedule of the first that waits at once.
//
// usage: overlap_designs [--partition METHOD] [--hidden N] RATE... -- GRAPH...     rates in MB/s
//
// A rank's clock is the processor time of its thread and what it would have waited for the link (support/lazy_link.h),
// so that a busy machine does not show. The link moves one transfer after the other at its rate, whether calls are made
// or not; latency is left out. Hidden: (blocking - pipelined) / min(compute, transfers), medians of the epochs of the
// slower rank (by its blocking epoch).
#include <fmt/core.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "comm/loopback.h"
#include "data/load.h"
#include "support/lazy_link.h"
#include "train/cut_nodes.h"

namespace gneiss {
namespace {

using exchange::Exchange;
using testing::Side;

constexpr int kRanks = 2;
constexpr int kEpochs = 9;

struct Arguments {
  std::string partition = "contiguous";
  std::int64_t hidden = 32;
  std::vector<double> bytes_per_second;
  std::vector<std::string> graphs;
};

Arguments read(int argc, char** argv) {
  Arguments made;
  bool graphs = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--partition" && i + 1 < argc)
      made.partition = argv[++i];
    else if (word == "--hidden" && i + 1 < argc)
      made.hidden = std::atoll(argv[++i]);
    else if (word == "--")
      graphs = true;
    else if (graphs)
      made.graphs.emplace_back(word);
    else
      made.bytes_per_second.push_back(1e6 * std::atof(argv[i]));
  }
  return made;
}

struct Times {
  double compute = 0;
  double transfers = 0;
  double waits = 0;
  double epoch() const { return compute + waits; }
};

void print(const char* name, const Times& blocking, const Times& pipelined) {
  const double least = std::min(blocking.transfers, blocking.compute);
  fmt::print("    {:22} computing {:8.2f} ms, waits {:9.2f} ms, epoch {:9.2f} ms, hidden {:5.2f} of the lesser\n", name,
             1e3 * pipelined.compute, 1e3 * pipelined.waits, 1e3 * pipelined.epoch(),
             (blocking.epoch() - pipelined.epoch()) / least);
}

void measure(const Arguments& arguments, const std::string& graph) {
  data::Dataset dataset = data::load(graph, {});
  train::SessionOptions options;
  options.model = "gcn";
  options.model_args = {{"hidden_channels", arguments.hidden}, {"num_layers", std::int64_t{3}}, {"dropout", 0.0}};
  options.loss.kind = train::default_loss(dataset.labels);
  options.threads = 1;
  const train::NodeCut cut = train::cut_nodes(kRanks, {arguments.partition, {}}, 1, &dataset);
  std::vector<std::vector<Times>> of_ranks(kRanks);  // by rate: blocking, halo, stream
  std::int64_t ghosts[kRanks] = {};
  comm::loopback(kRanks)->run([&](comm::Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    const train::RankData here =
        train::cut_dataset(dataset, cut.starts, communicator, options.loss.kind, options.class_weights);
    ghosts[rank] = here.part.halo.ghosts;
    Side blocking(here, options, false);
    Side halo(here, options, true);
    Side stream(here, options, true, Exchange::kStream);
    Side* const sides[] = {&blocking, &halo, &stream};
    for (const double rate : arguments.bytes_per_second) {
      for (Side* side : sides) {
        side->link().seconds_per_byte = 1 / rate;
        side->link().most_at_a_call = std::numeric_limits<double>::infinity();
        side->epoch();
        side->forget_times();
      }
      for (int e = 0; e < kEpochs; ++e) {
        for (Side* side : sides) side->epoch();
      }
      for (const Side* side : sides) of_ranks[rank].push_back({side->computes(), side->transfers(), side->waits()});
    }
  });
  fmt::print("{}: {} nodes, {} edges, {} and {} copies\n", graph, dataset.num_nodes(), dataset.graph.num_edges(),
             ghosts[0], ghosts[1]);
  for (std::size_t r = 0; r < arguments.bytes_per_second.size(); ++r) {
    const auto time = [&](std::size_t which) -> const Times& {
      const std::size_t slower = of_ranks[0][3 * r].epoch() > of_ranks[1][3 * r].epoch() ? 0 : 1;
      return of_ranks[slower][3 * r + which];
    };
    fmt::print("  {:.1f} MB/s: transfers {:.2f} ms\n", 1e-6 * arguments.bytes_per_second[r], 1e3 * time(0).transfers);
    print("blocking", time(0), time(0));
    print("interior rows first", time(0), time(1));
    print("own edges first", time(0), time(2));
  }
  std::fflush(stdout);
}

}  // namespace
}  // namespace gneiss

int main(int argc, char** argv) {
  const gneiss::Arguments arguments = gneiss::read(argc, argv);
  if (arguments.graphs.empty() || arguments.bytes_per_second.empty()) {
    fmt::print(stderr, "usage: overlap_designs [--partition METHOD] [--hidden N] RATE... -- GRAPH...\n");
    return 2;
  }
  for (const std::string& graph : arguments.graphs) gneiss::measure(arguments, graph);
}
