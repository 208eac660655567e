// One JSON file a machine: processor, vector target, threads and version are its key. A file with another key, or with
// a rate that cannot be, is not used, and the reason is reported.
#include "cost/rates_file.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "kernels/kernel.h"

namespace gneiss::cost {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;

constexpr std::pair<const char*, RateGrid Rates::*> kGrids[] = {{"gather_bytes", &Rates::gather},
                                                                {"block_gather_bytes", &Rates::block_gather},
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
  return {{"processor", machine.processor},
          {"vectors", machine.vectors},
          {"threads", machine.threads},
          {"gneiss", machine.version}};
}

MachineKey key_from(const Json& json) {
  return {json.at("processor").get<std::string>(), json.at("vectors").get<std::string>(), json.at("threads").get<int>(),
          json.at("gneiss").get<std::string>()};
}

Rates rates_from(const Json& json) {
  Rates rates;
  for (const auto& [name, grid] : kGrids) {
    const Json& from = json.at(name);
    (rates.*grid).columns = from.at("columns").get<std::vector<double>>();
    (rates.*grid).sizes = from.at("sizes").get<std::vector<double>>();
    (rates.*grid).rates = from.at("rates").get<std::vector<double>>();
  }
  for (const auto& [name, number] : kNumbers) rates.*number = json.at(name).get<double>();
  return rates;
}

constexpr const char* kRemedy = "; the default rates are used; gneiss doctor --calibrate writes it anew";

}  // namespace

MachineKey this_machine() { return {processor_name(), kernels::vector_target(), available_threads(), GNEISS_VERSION}; }

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
  try {
    const Json json = Json::parse(read_file(use.path, kMostBytes));
    if (!(key_from(json.at("machine")) == machine)) {
      use.warning = fmt::format("{} holds the rates of another machine{}", use.path.string(), kRemedy);
      return use;
    }
    Rates rates = rates_from(json.at("rates"));
    const std::string invalid = invalid_rate(rates);
    if (!invalid.empty()) {
      use.warning = fmt::format("{} is damaged ({} is no table of rates){}", use.path.string(), invalid, kRemedy);
      return use;
    }
    rates.source =
        fmt::format("this machine, measured with {} thread{}", machine.threads, machine.threads == 1 ? "" : "s");
    use.rates = std::move(rates);
    use.measured = true;
  } catch (const Json::out_of_range&) {
    use.warning = fmt::format("{} lacks rates that this version goes by{}", use.path.string(), kRemedy);
  } catch (const Json::exception&) {
    use.warning = fmt::format("{} is damaged{}", use.path.string(), kRemedy);
  } catch (const Error& failure) {
    use.warning = fmt::format("{}{}", failure.what(), kRemedy);
  }
  return use;
}

fs::path make_rates_folder(const MachineKey& machine) {
  fs::path path = rates_path(machine);
  if (path.empty())
    throw Error(ErrorCode::kDisk, "there is no cache folder for the rates", {}, "set XDG_CACHE_HOME or HOME");
  make_folder(path.parent_path());
  return path;
}

fs::path save_rates(const MachineKey& machine, const Rates& rates) {
  fs::path path = make_rates_folder(machine);
  Json json;
  json["machine"] = key_json(machine);
  for (const auto& [name, grid] : kGrids) {
    json["rates"][name] = {
        {"columns", (rates.*grid).columns}, {"sizes", (rates.*grid).sizes}, {"rates", (rates.*grid).rates}};
  }
  for (const auto& [name, number] : kNumbers) json["rates"][name] = rates.*number;
  write_file(path, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  return path;
}

}  // namespace gneiss::cost
