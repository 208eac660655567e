// Memory and link are two pipes. What is summed up after its rows have come adds its time; what is summed up meanwhile
// hides behind the longer of the two.
#include "exchange/model.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace gneiss::exchange {
namespace {

double count(std::int64_t n) { return static_cast<double>(n); }

/// Seconds of reading so many rows of a table and adding them up.
double sum_seconds(std::int64_t edges, std::int64_t table_rows, std::int64_t columns, const Gpu& gpu) {
  return count(edges * (read_bytes(columns) + 4)) / read_rate(gpu, table_rows, columns);
}

double store_seconds(std::int64_t rows, std::int64_t columns, const Gpu& gpu) {
  return count(rows * read_bytes(columns)) / gpu.memory_bytes_per_second;
}

std::int64_t total(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

/// When the rows of each owner have come: one after the other, their latencies at once.
std::vector<double> arrivals_of(const std::vector<std::int64_t>& rows, std::int64_t columns, const Machine& machine) {
  std::vector<double> at(rows.size(), 0);
  double now = 0;
  for (std::size_t p = 0; p < rows.size(); ++p) {
    if (rows[p] == 0) continue;
    now += count(rows[p] * read_bytes(columns)) / machine.bytes_per_second;
    at[p] = now + machine.seconds;
  }
  return at;
}

double stream_seconds(const SumSize& size, std::int64_t columns, const Machine& machine) {
  const std::int64_t table = size.rows + total(size.halo_rows);
  const std::vector<double> arrivals = arrivals_of(size.halo_rows, columns, machine);
  if (!machine.hides) {  // own rows and others' apart, and joined
    const double came = arrivals.empty() ? 0 : *std::max_element(arrivals.begin(), arrivals.end());
    return came + sum_seconds(size.local_edges + size.remote_edges, table, columns, machine.gpu) +
           3 * store_seconds(size.rows, columns, machine.gpu);
  }
  double now = sum_seconds(size.local_edges, table, columns, machine.gpu);
  for (std::size_t p = 0; p < arrivals.size(); ++p)
    now = std::max(now, arrivals[p]) + sum_seconds(size.edge_rows[p], table, columns, machine.gpu);
  return now + store_seconds(size.rows, columns, machine.gpu);
}

}  // namespace

SumSize size_of(const partition::PartTraffic& part, std::int64_t largest_part) {
  return {part.nodes, part.local_edges, part.remote_edges, part.halo_rows, part.edge_rows, largest_part};
}

double modelled_seconds(Exchange exchange, const SumSize& size, std::int64_t columns, const Machine& machine) {
  const Gpu& gpu = machine.gpu;
  const std::int64_t ghosts = total(size.halo_rows);
  const double stored = store_seconds(size.rows, columns, gpu);
  const std::int64_t edges = size.local_edges + size.remote_edges;
  switch (exchange) {
    case Exchange::kStream:
      return stream_seconds(size, columns, machine);
    case Exchange::kHalo: {
      const std::vector<double> arrivals = arrivals_of(size.halo_rows, columns, machine);
      const double last = arrivals.empty() ? 0 : *std::max_element(arrivals.begin(), arrivals.end());
      return last + sum_seconds(edges, size.rows + ghosts, columns, gpu) + stored;
    }
    case Exchange::kRing: {
      const auto devices = static_cast<std::int64_t>(size.halo_rows.size());
      const double step = count(size.largest_part * read_bytes(columns)) / machine.bytes_per_second + machine.seconds;
      return count(devices - 1) * step + sum_seconds(edges, size.largest_part * devices, columns, gpu) + stored;
    }
    case Exchange::kFine:
    case Exchange::kDirect: {
      const double local = sum_seconds(size.local_edges, size.rows, columns, gpu) + 2 * stored;
      const double link = count(size.remote_edges * fetched_bytes(columns)) / machine.bytes_per_second;
      const double latency = size.remote_edges > 0 ? machine.seconds : 0;
      const bool hidden = exchange == Exchange::kFine && machine.hides;
      return (hidden ? std::max(local, link) : local + link) + latency;
    }
  }
  return 0;
}

Exchange choose_exchange(std::span<const SumSize> devices, std::int64_t columns, const Machine& machine, bool streams) {
  Exchange best = Exchange::kHalo;
  double least = 0;
  for (const Exchange exchange : {Exchange::kHalo, Exchange::kStream, Exchange::kFine}) {
    if (exchange == Exchange::kStream && !streams) continue;
    double longest = 0;
    for (const SumSize& size : devices) longest = std::max(longest, modelled_seconds(exchange, size, columns, machine));
    if (exchange == Exchange::kHalo || longest < least) {
      best = exchange;
      least = longest;
    }
  }
  return best;
}

Simulated simulate_exchange(Exchange exchange, const graph::Graph& graph, std::span<const std::int64_t> starts,
                            int device, std::int64_t columns, const Tuning& tuning, const Machine& machine,
                            int threads) {
  const bool fetched = exchange == Exchange::kFine || exchange == Exchange::kDirect;
  const Cut cut = {exchange == Exchange::kDirect ? 0 : tuning.piece, !fetched};
  const Workload work = make_workload(graph, starts, device, cut, threads);
  Launch launch{tuning, columns};
  if (exchange == Exchange::kDirect) {
    launch.overlap = false;
    launch.table_rows = work.rows;
    return simulate(work, row_units(work), launch, machine);
  }
  if (exchange == Exchange::kFine) {
    launch.table_rows = work.rows;
    return simulate(work, mixed_units(work, tuning.dist), launch, machine);
  }
  const partition::PartTraffic part =
      partition::part_traffic(graph, partition::owners_of(starts), static_cast<int>(std::ssize(starts)) - 1)
          .at(static_cast<std::size_t>(device));
  std::vector<std::int64_t> sent = part.halo_rows;
  if (exchange == Exchange::kRing) {
    for (std::size_t p = 0; p < sent.size(); ++p)
      sent[p] = p == static_cast<std::size_t>(device) ? 0 : starts[p + 1] - starts[p];
  }
  std::vector<double> arrivals = arrivals_of(sent, columns, machine);
  launch.table_rows = work.rows + total(sent);
  const std::int64_t bytes = total(sent) * read_bytes(columns);
  Simulated made;
  if (exchange == Exchange::kStream) {
    launch.arrivals = arrivals;
    made = simulate(work, separate_units(work, tuning.dist), launch, machine);
  } else {
    launch.arrivals.assign(arrivals.size(), 0);
    made = simulate(work, separate_units(work, tuning.dist), launch, machine);
    const double last = arrivals.empty() ? 0 : *std::max_element(arrivals.begin(), arrivals.end());
    made.memory_busy *= made.seconds / std::max(1e-30, made.seconds + last);
    made.seconds += last;
  }
  made.link_bytes = bytes;
  made.link_busy = made.seconds > 0 ? count(bytes) / machine.bytes_per_second / made.seconds : 0;
  return made;
}

}  // namespace gneiss::exchange
