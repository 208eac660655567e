// The version, what this machine offers, and measuring it.
#include "gneiss/version.h"

#include <libdeflate.h>
#include <zlib.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/parallel.h"
#include "base/process.h"
#include "base/version.h"
#include "comm/launch.h"
#include "cost/calibrate.h"
#include "cost/network.h"
#include "cost/rates_file.h"
#include "data/ring_reads.h"
#include "jobs/rank_machine.h"
#include "kernels/kernel.h"
#include "kernels/onednn/onednn.h"
#include "runtime/device.h"
#include "runtime/device_program.h"
#include "runtime/device_rates.h"
#include "train/host_work.h"

namespace gneiss {
namespace {

std::string gib(std::int64_t bytes) { return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1 << 30)); }

std::string rates_in_use() {
  const cost::RatesInUse use = cost::load_rates(cost::this_machine());
  if (!use.warning.empty()) return use.warning;
  return "of " + use.rates.source + (use.measured ? ": " + use.path.string() : "");
}

constexpr int kMostRanks = 1024;

std::string heading(const cost::MachineKey& machine) {
  return fmt::format("rates of {}, {}, {} thread{}{}, gneiss {}\n", machine.processor, machine.vectors, machine.threads,
                     machine.threads == 1 ? "" : "s",
                     machine.ranks == 1 ? "" : fmt::format(" on each of {} ranks", machine.ranks), machine.version);
}

/// All ranks measure at the same time: they share a memory, and caches. The first one's rates are kept.
Calibration calibrate_together(comm::Ranks& world) {
  const cost::MachineKey machine = cost::shared(jobs::whole_machine(), jobs::ranks_sharing(world.count()));
  if (world.first() == 0) cost::make_rates_folder(machine);
  Calibration made;
  world.run([&](comm::Communicator& communicator) {
    double begin[] = {0};
    communicator.sum(begin);
    const cost::Rates rates = cost::measure_rates(machine.threads, world.here() == 1);
    const cost::MeasuredNetwork network = cost::measure_network(communicator);
    if (communicator.rank() != 0) return;
    made = {heading(machine) + cost::describe(rates) + cost::describe(network),
            cost::save_rates(machine, rates, network.network).string()};
  });
  return made;
}

}  // namespace

std::string version() { return version_text(); }

std::vector<Fact> machine_facts() {
  const std::string& onednn = kernels::onednn::version();
  const runtime::Cards cards = runtime::find_cards();
  std::vector<Fact> facts = {
      {"gneiss", version()},
      {"threads", fmt::format("{} may be used", available_threads())},
      {"memory", gib(memory_limit_bytes()) + " may be used"},
      {"resident now", gib(current_rss_bytes())},
      {"vectors", fmt::format("{}", fmt::join(kernels::vector_targets(), ", "))},
      {"rates", rates_in_use()},
      {"devices", "sim:NAME and host:FILE, for mini-batches (docs/batches.md)"},
      {"cards", cards.driver},
      {"file reads", data::ring_fault().empty() ? "io_uring" : "one at a time: " + data::ring_fault()},
      {"oneDNN", onednn.empty() ? "not installed" : onednn},
      {"zlib", zlibVersion()},
      {"libdeflate", LIBDEFLATE_VERSION_STRING},
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"compiler", __VERSION__}};
  const auto at = std::find_if(facts.begin(), facts.end(), [](const Fact& fact) { return fact.name == "cards"; });
  std::vector<Fact> lines;
  for (const std::string& card : cards.cards) lines.push_back({"", card});
  facts.insert(at + 1, lines.begin(), lines.end());
  for (const auto& [name, what] : train::stage_operators()) {
    const bool first = facts.back().name == "compiler";
    facts.push_back({first ? "operators" : "", fmt::format("{:28}{}", name, what)});
  }
  return facts;
}

Calibration calibrate(int ranks) {
  GNEISS_CHECK(ranks >= 1 && ranks <= kMostRanks, ErrorCode::kUsage, "--ranks: expected 1 to {}, got {}", kMostRanks,
               ranks);
  const std::unique_ptr<comm::Ranks> world = comm::make_ranks(ranks);
  if (world != nullptr) return calibrate_together(*world);
  const cost::MachineKey machine = cost::this_machine();
  cost::make_rates_folder(machine);
  const cost::Rates rates = cost::measure_rates(machine.threads);
  return {heading(machine) + cost::describe(rates), cost::save_rates(machine, rates).string()};
}

Calibration calibrate_device(const std::string& device) {
  GNEISS_CHECK(runtime::card_number(device, runtime::Asker::kCalibration) >= 0, ErrorCode::kUsage,
               "--device {}: what the emulation takes says nothing of a card; use cuda or cuda:N", device);
  runtime::DeviceProgram program(device, runtime::Asker::kCalibration);
  const cost::MachineKey card = cost::of_device(program.device->name());
  cost::make_rates_folder(card);
  const cost::Rates rates = runtime::measure_device_rates(&program);
  const std::string heading = fmt::format(
      "rates of {}, gneiss {}; of tiles, segments and files, which it does not "
      "have, the described card's\n",
      card.processor, card.version);
  return {heading + cost::describe(rates), cost::save_rates(card, rates).string()};
}

}  // namespace gneiss
