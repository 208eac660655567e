// NVIDIA's data sheets. A100 (40 GB) has 600 GB/s of NVLink both ways, V100 300; PCIe 4.0 x16 moves 32 GB/s one way, of
// which some 25 are reached. Latencies of links as MGG (OSDI 2023) and Tartan (IISWC 2018) measured them; of memory and
// the rates of the L2 as Jia (2018, 2021) and Luo (2024) did.
#include "exchange/machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/names.h"

namespace gneiss::exchange {
namespace {

constexpr std::int64_t kKilo = 1024;
constexpr std::int64_t kMega = kKilo * kKilo;

const Gpu kV100 = {"V100", 80, 64, 32, 96 * kKilo, 96 * kKilo, 1.38e9, 900e9, 2.2e12, 6 * kMega, 0.31e-6};
const Gpu kA100 = {"A100", 108, 64, 32, 164 * kKilo, 163 * kKilo, 1.41e9, 1555e9, 4.2e12, 40 * kMega, 0.40e-6};
const Gpu kH100 = {"H100", 132, 64, 32, 228 * kKilo, 227 * kKilo, 1.75e9, 3350e9, 5.6e12, 50 * kMega, 0.47e-6};

}  // namespace

const std::vector<Machine>& machines() {
  static const std::vector<Machine> known = {{"dgx-a100", kA100, 300e9, 2e-6},
                                             {"dgx-v100", kV100, 150e9, 3e-6},
                                             {"hgx-h100", kH100, 450e9, 2e-6},
                                             {"pcie4", kA100, 25e9, 5e-6}};
  return known;
}

const Machine& find_machine(const std::string& name) {
  const auto found =
      std::find_if(machines().begin(), machines().end(), [&](const Machine& m) { return m.name == name; });
  if (found != machines().end()) return *found;
  std::vector<std::string> names;
  for (const Machine& known : machines()) names.push_back(known.name);
  throw Error(ErrorCode::kUsage, fmt::format("unknown machine '{}'", name), "--machine",
              unknown_name_hint(name, names));
}

}  // namespace gneiss::exchange
