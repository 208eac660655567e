// Devices by the setting device.name.
#include "jobs/device_choice.h"

#include <algorithm>

#include "base/error.h"
#include "comm/launch.h"
#include "cost/device_profile.h"
#include "cost/rates_file.h"
#include "exchange/workload.h"
#include "jobs/card_deal.h"
#include "jobs/options.h"
#include "runtime/cards.h"

namespace gneiss::jobs {

namespace {

/// As much as `config` allows; 0: all.
std::int64_t allowed(const settings::Config& config) {
  return config.has("device.mem") ? config.integer("device.mem") : 0;
}

/// The device called `name`, with as much of its memory as `config` allows.
std::shared_ptr<runtime::Device> open(const settings::Config& config, const std::string& name) {
  std::shared_ptr<runtime::Device> device = runtime::open_device(name);
  device->allow(allowed(config));
  if (config.flag("device.tensor_cores")) device->take_tensor_cores();
  return device;
}

/// Why --device auto does not look for a card, or null.
const char* why_no_card_by_itself(const settings::Config& config) {
  if (device_count(config) > 1) return "several devices run on cards only where --device cuda asks for it";
  if (rank_count(config) > 1) return "several ranks do not run on cards yet";
  if (trains_batches(config)) return "mini-batches do not run on cards yet";
  return nullptr;
}

}  // namespace

void check_no_card(const settings::Config& config) {
  if (config.flag("device.tensor_cores")) {
    throw Error(ErrorCode::kUsage, "--tensor-cores are those of a card, and none is asked for",
                config.where("device.tensor_cores"), "add --device cuda, or leave it out");
  }
  if (!config.has("device.mem") || trains_batches(config)) return;
  throw Error(ErrorCode::kUsage, "--device-mem limits the memory of a card, and none is asked for",
              config.where("device.mem"), "add --device cuda, or leave it out");
}

void check_card_of_several(const settings::Config& config) {
  if (rank_count(config) > 1 || comm::find_launch().ranks > 1) {
    throw Error(ErrorCode::kUnsupported, "several ranks do not run on cards yet", config.where("device.name"),
                "use --device cpu, or leave out --ranks");
  }
  if (device_count(config) == 1) return;
  if (device_count(config) > exchange::kMostDevices) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("expected at most {} devices on cards, got {}", exchange::kMostDevices, device_count(config)),
        config.where("train.devices"), "use fewer, or --device cpu");
  }
  if (!config.has("device.trace")) return;
  throw Error(ErrorCode::kUnsupported,
              "--trace shows what virtual devices of the CPU do; those of a card note nothing yet",
              config.where("device.trace"), "leave it out, or use --device cpu");
}

std::shared_ptr<runtime::Device> choose_device(const settings::Config& config, std::vector<std::string>* notes,
                                               int device) {
  const std::string& name = config.text("device.name");
  if (name.empty() || name == "cpu" || names_batch_device(config)) {
    check_no_card(config);
    return nullptr;
  }
  if (name == "auto") {
    if (const char* const why = why_no_card_by_itself(config); why != nullptr) {
      notes->push_back(fmt::format("--device auto: the CPU, because {}", why));
      return nullptr;
    }
    try {
      return open(config, "cuda");
    } catch (const Error& error) {
      const bool is_full = error.code() == ErrorCode::kOutOfMemory;
      if (error.code() != ErrorCode::kUnsupported && !is_full) throw;
      notes->push_back(fmt::format("--device auto: the CPU, because {}", error.message()));
      return nullptr;
    }
  }
  if (trains_batches(config) && (name == "emulated" || name.starts_with("cuda"))) {
    throw Error(ErrorCode::kUnsupported, "mini-batches do not run on cards yet", config.where("device.name"),
                "use --device cpu, or leave out --batch-size");
  }
  check_card_of_several(config);
  return open(config, device_on(deal_cards(config)[static_cast<std::size_t>(device)]));
}

DealtDevices open_devices(const settings::Config& config, const std::shared_ptr<runtime::Device>& first, int process) {
  DealtDevices made;
  made.card_of = deal_cards(config);
  made.devices.resize(made.card_of.size());
  first->allow(allowed(config));  // not the share of a training before this one
  if (process >= 0) {
    first->share_memory();
    first->allow(share_of_card(first->room().free_bytes, devices_beside(made.card_of, process)));
    made.devices[static_cast<std::size_t>(process)] = first;
    return made;
  }
  made.devices[0] = first;
  for (std::size_t d = 1; d < made.devices.size(); ++d) made.devices[d] = open(config, device_on(made.card_of[d]));
  const std::vector<int> cards = cards_of(made.card_of);
  for (const int card : cards) {
    for (const int other : cards) {
      if (card != other) runtime::let_card_read(card, other);
    }
  }
  std::vector<std::int64_t> shares;
  for (std::size_t d = 0; d < made.devices.size(); ++d) {
    const int beside = devices_beside(made.card_of, static_cast<int>(d));
    shares.push_back(share_of_card(made.devices[d]->room().free_bytes, beside));
  }
  for (std::size_t d = 0; d < made.devices.size(); ++d) made.devices[d]->allow(shares[d]);
  return made;
}

std::string first_of(const DealtDevices& dealt, const runtime::Device& mine) {
  return dealt.card_of[0] < 0 ? mine.name() : runtime::card_name(dealt.card_of[0]);
}

std::int64_t share_of_card(std::int64_t bytes, int devices) { return std::max<std::int64_t>(1, bytes / devices); }

std::int64_t described_bytes(const settings::Config& config) {
  return config.has("device.mem") ? config.integer("device.mem") : cost::h100_profile().memory_bytes;
}

void plan_for_device(std::int64_t bytes, train::SessionOptions* options, const std::string& card) {
  passes::Options& passes = options->passes;
  passes.target = planner::Target::kDevice;
  passes.rates = cost::h100_profile().rates;
  if (!card.empty()) {
    const cost::RatesInUse measured = cost::load_rates(cost::of_device(card));
    if (measured.measured) passes.rates = measured.rates;
    passes.rates.panels = true;
    if (!measured.warning.empty()) options->warnings.push_back(measured.warning);
  }
  passes.file_room = {};
  passes.excess_bytes = nullptr;  // of the host
  options->device_bytes = bytes;
}

void run_on(std::shared_ptr<runtime::Device> device, train::SessionOptions* options) {
  plan_for_device(device->room().free_bytes, options, device->name());
  options->device = std::move(device);
}

std::string note_on_edge_values(const ir::Plan& plan, bool jit) {
  constexpr double kMiB = 1 << 20;
  struct Rows {
    std::int64_t count = 0;
    std::int64_t largest = 0;
    std::int32_t line = 0;
  };
  Rows kept;
  Rows spared;  // by loops
  for (const ir::Op& op : plan.program.ops) {
    for (const ir::ValueId v : op.results) {
      if (v == ir::kNoValue) continue;
      const ir::Type& type = plan.program.type(v);
      const ir::Storage storage = plan.placements[static_cast<std::size_t>(v)].storage;
      if (type.domain != ir::Domain::kEdge || type.cols == 1) continue;
      const bool in_memory = storage == ir::Storage::kArena || storage == ir::Storage::kConstant;
      if (!in_memory && storage != ir::Storage::kLoop) continue;
      Rows& rows = in_memory ? kept : spared;
      const std::int64_t bytes = plan.program.elements(v) * plan.value_bytes;
      ++rows.count;
      if (bytes <= rows.largest) continue;
      rows.largest = bytes;
      rows.line = op.location.line;
    }
  }
  std::string text;
  if (!plan.loops.empty()) {
    text = fmt::format(
        "{} loops over edges keep no row of {} values of edges, of which the largest would take {:.1f} MiB (line {} of "
        "the model)",
        plan.loops.size(), spared.count, static_cast<double>(spared.largest) / kMiB, spared.line);
    if (kept.count == 0) return text;
    return text +
           fmt::format("; {} matrices have a row for each edge all the same, the largest takes {:.1f} MiB (line {})",
                       kept.count, static_cast<double>(kept.largest) / kMiB, kept.line);
  }
  if (kept.count == 0) return {};
  return fmt::format(
      "ops on edges run one by one on a device{}: {} matrices have a row for each edge, the largest takes {:.1f} MiB "
      "(line {} of the model)",
      jit ? "" : ", --jit makes loops of them", kept.count, static_cast<double>(kept.largest) / kMiB, kept.line);
}

void refuse_device(const settings::Config& config, std::string_view command) {
  const std::string& name = config.text("device.name");
  if (name.empty() || name == "cpu" || name == "auto" || names_batch_device(config)) return;
  throw Error(ErrorCode::kUnsupported, fmt::format("{} does not run on devices yet, train does", command),
              config.where("device.name"), "use --device cpu");
}

}  // namespace gneiss::jobs
