// Forced variants and the report of choices, both from the environment, read once.
#include "kernels/kernel.h"

#include <hwy/targets.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "base/error.h"

namespace gneiss::kernels {
namespace {

/// GNEISS_KERNEL as op → variant. Errors: kUsage for an entry that is not op:variant.
std::map<std::string, std::string, std::less<>> parse_forced(const char* text) {
  std::map<std::string, std::string, std::less<>> forced;
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view entry = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
    const std::size_t colon = entry.find(':');
    if (colon == 0 || colon == std::string_view::npos || colon + 1 == entry.size()) {
      throw Error(ErrorCode::kUsage, fmt::format("'{}' is not op:variant", entry), "GNEISS_KERNEL",
                  "write for example GNEISS_KERNEL=spmm:reference,gemm:onednn");
    }
    forced.insert_or_assign(std::string(entry.substr(0, colon)), std::string(entry.substr(colon + 1)));
  }
  return forced;
}

bool verbose_dispatch() {
  const char* text = std::getenv("GNEISS_VERBOSE");
  return text != nullptr && std::string_view(text).find("dispatch") != std::string_view::npos;
}

}  // namespace

std::vector<std::string> vector_targets() {
  std::vector<std::string> names;
  // A set of bits, the best target the lowest.
  for (auto targets = static_cast<std::uint64_t>(hwy::SupportedTargets()); targets != 0; targets &= targets - 1) {
    names.emplace_back(hwy::TargetName(static_cast<std::int64_t>(targets & (~targets + 1))));
  }
  return names;
}

std::string vector_target() { return vector_targets().front(); }

std::string_view forced_variant(std::string_view op) {
  static const auto forced = parse_forced(std::getenv("GNEISS_KERNEL"));
  const auto found = forced.find(op);
  return found == forced.end() ? std::string_view() : std::string_view(found->second);
}

void report_choice(std::string_view op, std::string_view variant, std::string_view reason) {
  static const bool verbose = verbose_dispatch();
  if (!verbose) return;
  const std::string line = reason.empty() ? fmt::format("dispatch: {} runs {}\n", op, variant)
                                          : fmt::format("dispatch: {} passes over {}: {}\n", op, variant, reason);
  // Only on request through the environment; stdout stays free for results.
  std::fputs(line.c_str(), stderr);
}

void throw_unknown_variant(std::string_view op, std::string_view forced, std::string_view known) {
  throw Error(ErrorCode::kUsage, fmt::format("{} has no variant '{}'", op, forced), "GNEISS_KERNEL",
              fmt::format("its variants are {}", known));
}

}  // namespace gneiss::kernels
