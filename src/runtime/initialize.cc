#include "runtime/initialize.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace gneiss::runtime {
namespace {

/// FNV-1a: a parameter's name as the number of its random stream.
std::uint32_t stream_of(const std::string& name) {
  std::uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

}  // namespace

template <class T>
void initialize(const ir::Param& param, std::uint64_t seed, std::span<T> values) {
  using Kind = ir::Init::Kind;
  const ir::Init& init = param.init;
  RandomStream random(seed, stream_of(param.name));
  const auto uniform = [&](double bound) {
    for (T& v : values) v = static_cast<T>(random.uniform(-bound, bound));
  };
  const auto normal = [&](double deviation) {
    for (T& v : values) v = static_cast<T>(deviation * random.normal());
  };
  switch (init.kind) {
    case Kind::kZeros: std::fill(values.begin(), values.end(), T{0}); break;
    case Kind::kOnes: std::fill(values.begin(), values.end(), T{1}); break;
    case Kind::kConstant: std::fill(values.begin(), values.end(), static_cast<T>(init.value)); break;
    case Kind::kUniform: uniform(init.value); break;
    case Kind::kGlorot: uniform(std::sqrt(6.0 / static_cast<double>(std::max<std::int64_t>(1, init.fan_in + init.fan_out)))); break;
    case Kind::kHe: normal(std::sqrt(2.0 / static_cast<double>(std::max<std::int64_t>(1, init.fan_in)))); break;
    case Kind::kNormal: normal(init.value); break;
  }
}

template void initialize(const ir::Param& param, std::uint64_t seed, std::span<float> values);
template void initialize(const ir::Param& param, std::uint64_t seed, std::span<double> values);

}  // namespace gneiss::runtime
