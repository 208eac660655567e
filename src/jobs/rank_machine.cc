// Launchers bind processes to processors or leave them all to each; either way a machine's are shared by those on it.
#include "jobs/rank_machine.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/parallel.h"
#include "comm/launch.h"

namespace gneiss::jobs {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

/// A number and one of the units, as in 25GB/s. Empty text and other units give -1.
double quantity(std::string_view text, std::initializer_list<Unit> units) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !(value > 0)) return -1;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const Unit& known : units) {
    if (unit == known.name) return value * known.factor;
  }
  return -1;
}

cost::Network network_of(const settings::Config& config) {
  const std::string& text = config.text("train.network");
  const std::size_t comma = text.find(',');
  const std::string_view rate = std::string_view(text).substr(0, comma);
  const std::string_view latency = comma == std::string::npos ? "2us" : std::string_view(text).substr(comma + 1);
  cost::Network network;
  network.bytes_per_second = quantity(rate, {{"GB/s", 1e9}, {"MB/s", 1e6}, {"Gbit/s", 1e9 / 8}, {"Mbit/s", 1e6 / 8}});
  network.latency = quantity(latency, {{"us", 1e-6}, {"ms", 1e-3}, {"ns", 1e-9}, {"s", 1}});
  network.source = "as given";
  if (network.is_valid()) return network;
  throw Error(ErrorCode::kUsage, fmt::format("'{}' is no network", text), config.where("train.network"),
              "give a rate (GB/s, MB/s, Gbit/s, Mbit/s) and the time of a message (s, ms, us, ns): 25GB/s,2us");
}

/// Processors that the processes of a launcher have here together.
int threads_of_machine(const comm::Launch& launch) {
  const int mine = available_threads();
  const auto all = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  return launch.here == 1 ? mine : std::max(mine, std::min(all, mine * launch.here));
}

}  // namespace

int threads_of_process() {
  const comm::Launch launch = comm::find_launch();
  return std::max(1, std::min(available_threads(), threads_of_machine(launch) / launch.here));
}

cost::MachineKey whole_machine() {
  cost::MachineKey machine = cost::this_machine();
  machine.threads = threads_of_machine(comm::find_launch());
  return machine;
}

int ranks_sharing(int ranks) {
  const comm::Launch launch = comm::find_launch();
  return launch.ranks > 1 ? launch.here : ranks;
}

cost::RatesInUse rates_of_training(int ranks) {
  const cost::MachineKey whole = whole_machine();
  const int sharing = ranks_sharing(ranks);
  if (sharing > 1) {
    cost::RatesInUse use = cost::load_rates(cost::shared(whole, sharing));
    if (use.measured || !use.warning.empty()) return use;
  }
  return cost::load_rates(whole);
}

RankMachine rank_machine(const settings::Config& config, int sharing) {
  RankMachine machine{cost::load_shared_rates(whole_machine(), sharing), {}};
  if (config.has("train.network"))
    machine.network = network_of(config);
  else if (machine.use.network)
    machine.network = *machine.use.network;
  return machine;
}

partition::EpochModel epoch_model(const RankMachine& machine, const graph::Graph& graph, std::int64_t columns) {
  partition::EpochModel model;
  model.bytes_per_second = machine.network.bytes_per_second;
  model.latency = machine.network.latency;
  model.columns = static_cast<double>(std::max<std::int64_t>(1, columns));
  const auto edges = static_cast<double>(graph.num_edges());
  const auto nodes = static_cast<double>(graph.num_nodes());
  if (edges == 0) return model;
  model.seconds_per_work =
      cost::gather_seconds(machine.use.rates, edges, nodes, nodes, model.columns) / (edges + model.node_work * nodes);
  return model;
}

}  // namespace gneiss::jobs
