// One JSON file a machine: processor, vector target, threads and version are its key. A file with another key, or with
// a rate that cannot be, is not used, and the reason is reported.
#include "cost/rates_file.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/version.h"
#include "kernels/kernel.h"

namespace gneiss::cost {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;

constexpr std::pair<const char*, RateGrid Rates::*> kGrids[] = {{"gather_bytes", &Rates::gather},
                                                                {"tile_gather_bytes", &Rates::tile_gather},
                                                                {"gemm_nn_flops", &Rates::gemm_nn},
                                                                {"gemm_nt_flops", &Rates::gemm_nt},
                                                                {"gemm_tn_flops", &Rates::gemm_tn},
                                                                {"spx_forward_flops", &Rates::spx_forward},
                                                                {"spx_gradient_flops", &Rates::spx_gradient},
                                                                {"spx_slots_flops", &Rates::spx_slots},
                                                                {"stream_bytes", &Rates::stream}};
constexpr std::pair<const char*, double Rates::*> kNumbers[] = {{"spx_rows", &Rates::spx_rows},
                                                                {"attention_edges", &Rates::attention},
                                                                {"attention_grad_edges", &Rates::attention_grad},
                                                                {"dropout_values", &Rates::dropout},
                                                                {"exponential_values", &Rates::exponentials},
                                                                {"segment_begins", &Rates::segments},
                                                                {"mapped_bytes", &Rates::map},
                                                                {"call_seconds", &Rates::call_seconds}};

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && colon + 2 <= line.size()) return line.substr(colon + 2);
  }
  return "unknown";
}

Json key_json(const MachineKey& machine) {
  Json json = Json::object({{"processor", machine.processor},
                            {"vectors", machine.vectors},
                            {"threads", machine.threads},
                            {"gneiss", machine.version}});
  if (machine.ranks > 1) json["ranks"] = machine.ranks;
  return json;
}

MachineKey key_from(const Json& json) {
  const Json* const ranks = json.find("ranks");
  return {json.at("processor").text(), json.at("vectors").text(), static_cast<int>(json.at("threads").integer()),
          json.at("gneiss").text(), ranks == nullptr ? 1 : static_cast<int>(ranks->integer())};
}

std::vector<double> reals(const Json& json) {
  std::vector<double> values;
  for (const Json& value : json.elements()) values.push_back(value.real());
  return values;
}

bool has_all_rates(const Json& json) {
  const auto known = [&](const auto& entry) { return json.find(entry.first) != nullptr; };
  return std::all_of(std::begin(kGrids), std::end(kGrids), known) &&
         std::all_of(std::begin(kNumbers), std::end(kNumbers), known);
}

Rates rates_from(const Json& json) {
  Rates rates;
  for (const auto& [name, grid] : kGrids) {
    const Json& from = json.at(name);
    (rates.*grid).columns = reals(from.at("columns"));
    (rates.*grid).sizes = reals(from.at("sizes"));
    (rates.*grid).rates = reals(from.at("rates"));
  }
  for (const auto& [name, number] : kNumbers) rates.*number = json.at(name).real();
  return rates;
}

Json rates_json(const Rates& rates) {
  Json json;
  for (const auto& [name, grid] : kGrids) {
    json[name] = Json::object(
        {{"columns", (rates.*grid).columns}, {"sizes", (rates.*grid).sizes}, {"rates", (rates.*grid).rates}});
  }
  for (const auto& [name, number] : kNumbers) json[name] = rates.*number;
  return json;
}

Json network_json(const Network& network) {
  return Json::object({{"bytes_per_second", network.bytes_per_second},
                       {"latency_seconds", network.latency},
                       {"source", network.source}});
}

Network network_from(const Json& json) {
  return {json.at("bytes_per_second").real(), json.at("latency_seconds").real(), json.at("source").text()};
}

/// The text of rank 0.
std::string shared_text(comm::Communicator& communicator, const std::string& text) {
  double size[] = {static_cast<double>(text.size())};
  comm::share(communicator, size);
  std::vector<double> bytes(static_cast<std::size_t>(size[0]));
  for (std::size_t i = 0; i < std::min(bytes.size(), text.size()); ++i)
    bytes[i] = static_cast<double>(static_cast<unsigned char>(text[i]));
  comm::share(communicator, bytes);
  std::string shared;
  for (const double byte : bytes) shared += static_cast<char>(static_cast<unsigned char>(byte));
  return shared;
}

constexpr const char* kRemedy = "; the default rates are used; gneiss doctor --calibrate writes it anew";

/// Takes the rates of the file, or says why not. Errors: kBadData if the text is not what save_rates writes.
void read_rates(const Json& json, const MachineKey& machine, RatesInUse* use) {
  if (!(key_from(json.at("machine")) == machine)) {
    use->warning = fmt::format("{} holds the rates of another machine{}", use->path.string(), kRemedy);
    return;
  }
  if (!has_all_rates(json.at("rates"))) {
    use->warning = fmt::format("{} lacks rates that this version goes by{}", use->path.string(), kRemedy);
    return;
  }
  Rates rates = rates_from(json.at("rates"));
  const std::string invalid = invalid_rate(rates);
  if (!invalid.empty()) {
    use->warning = fmt::format("{} is damaged ({} is no table of rates){}", use->path.string(), invalid, kRemedy);
    return;
  }
  if (const Json* const network = json.find("network"); network != nullptr) {
    use->network = network_from(*network);
    if (!use->network->is_valid()) {
      use->network.reset();
      use->warning = fmt::format("{} is damaged (its network has no rate){}", use->path.string(), kRemedy);
      return;
    }
  }
  rates.source =
      fmt::format("this machine, measured with {} thread{}", machine.threads, machine.threads == 1 ? "" : "s");
  if (machine.vectors == kOfDevice) rates.source = machine.processor + ", measured";
  if (machine.ranks > 1) rates.source += fmt::format(" on each of {} ranks", machine.ranks);
  use->rates = std::move(rates);
  use->measured = true;
}

/// Of one of `ranks` ranks that share what has these rates. What a call takes stays.
Rates part_of(const Rates& whole, int ranks) {
  Rates part = whole;
  for (const auto& [name, grid] : kGrids) {
    for (double& rate : (part.*grid).rates) rate /= ranks;
  }
  for (double Rates::*const rate : {&Rates::attention, &Rates::attention_grad, &Rates::dropout, &Rates::exponentials,
                                    &Rates::segments, &Rates::map})
    part.*rate /= ranks;
  part.source += fmt::format("; each of {} ranks has its part", ranks);
  return part;
}

}  // namespace

MachineKey this_machine() { return {processor_name(), kernels::vector_target(), available_threads(), version_text()}; }

MachineKey of_device(const std::string& name) { return {name, kOfDevice, 1, version_text()}; }

MachineKey shared(const MachineKey& whole, int ranks) {
  MachineKey key = whole;
  key.threads = std::max(1, whole.threads / ranks);
  key.ranks = ranks;
  return key;
}

fs::path rates_path(const MachineKey& machine) {
  const fs::path folder = cache_folder();
  if (folder.empty()) return folder;
  return folder / fmt::format("rates-{:016x}.json", hash_text(key_json(machine).dump()));
}

RatesInUse load_rates(const MachineKey& machine) {
  RatesInUse use;
  use.path = rates_path(machine);
  std::error_code ignored;
  if (use.path.empty() || !fs::exists(use.path, ignored)) return use;
  std::string text;
  try {
    text = read_file(use.path, kMostBytes);
  } catch (const Error& failure) {
    use.warning = fmt::format("{}{}", failure.what(), kRemedy);
    return use;
  }
  try {
    read_rates(Json::parse(text, use.path.string()), machine, &use);
  } catch (const Error&) {
    use.warning = fmt::format("{} is damaged{}", use.path.string(), kRemedy);
  }
  return use;
}

RatesInUse load_shared_rates(const MachineKey& whole, int ranks) {
  if (ranks == 1) return load_rates(whole);
  RatesInUse use = load_rates(shared(whole, ranks));
  if (use.measured || !use.warning.empty()) return use;
  use = load_rates(whole);
  use.rates = part_of(use.rates, ranks);
  use.network.reset();  // of ranks that have a machine each
  return use;
}

void share_rates(comm::Communicator& communicator, RatesInUse* use) {
  Json mine = Json::object({{"source", use->rates.source}, {"measured", use->measured ? 1 : 0}});
  mine["rates"] = rates_json(use->rates);
  if (use->network) mine["network"] = network_json(*use->network);
  const Json first = Json::parse(shared_text(communicator, mine.dump()), "the rates of rank 0");
  use->rates = rates_from(first.at("rates"));
  use->rates.source = first.at("source").text();
  use->measured = first.at("measured").integer() != 0;
  const Json* const network = first.find("network");
  use->network = network == nullptr ? std::nullopt : std::optional(network_from(*network));
}

fs::path make_rates_folder(const MachineKey& machine) {
  fs::path path = rates_path(machine);
  if (path.empty())
    throw Error(ErrorCode::kDisk, "there is no cache folder for the rates", {}, "set XDG_CACHE_HOME or HOME");
  make_folder(path.parent_path());
  return path;
}

fs::path save_rates(const MachineKey& machine, const Rates& rates, const std::optional<Network>& network) {
  fs::path path = make_rates_folder(machine);
  Json json;
  json["machine"] = key_json(machine);
  json["rates"] = rates_json(rates);
  if (network) json["network"] = network_json(*network);
  write_file(path, json.dump(1) + "\n");
  return path;
}

}  // namespace gneiss::cost
