// Each parameter draws from a stream of its own, numbered by a hash of its name, so that adding one changes no other.
#include "runtime/initialize.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace gneiss::runtime {
namespace {

/// FNV-1a: a parameter's name as the number of its random stream.
std::uint32_t stream_of(std::string_view name) {
  std::uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

}  // namespace

template <class T>
void initialize(std::string_view name, const ir::Init& init, std::uint64_t seed, std::span<T> values) {
  using Kind = ir::Init::Kind;
  RandomStream random(seed, stream_of(name));
  const auto uniform = [&](double bound) {
    for (T& v : values) v = static_cast<T>(random.uniform(-bound, bound));
  };
  const auto normal = [&](double deviation) {
    for (T& v : values) v = static_cast<T>(deviation * random.normal());
  };
  switch (init.kind) {
    case Kind::kZeros:
      std::fill(values.begin(), values.end(), T{0});
      break;
    case Kind::kOnes:
      std::fill(values.begin(), values.end(), T{1});
      break;
    case Kind::kConstant:
      std::fill(values.begin(), values.end(), static_cast<T>(init.value));
      break;
    case Kind::kUniform:
      uniform(init.value);
      break;
    case Kind::kGlorot:
      uniform(std::sqrt(6.0 / static_cast<double>(std::max<std::int64_t>(1, init.fan_in + init.fan_out))));
      break;
    case Kind::kHe:
      normal(std::sqrt(2.0 / static_cast<double>(std::max<std::int64_t>(1, init.fan_in))));
      break;
    case Kind::kNormal:
      normal(init.value);
      break;
  }
}

template <class T>
std::vector<T> stored_values(MatrixView<const T> values, bool transposed) {
  std::vector<T> out(static_cast<std::size_t>(values.size()));
  for (std::int64_t r = 0; r < values.rows; ++r) {
    for (std::int64_t c = 0; c < values.cols; ++c) {
      const std::int64_t at = transposed ? c * values.rows + r : r * values.cols + c;
      out[static_cast<std::size_t>(at)] = values.at(r, c);
    }
  }
  return out;
}

template void initialize(std::string_view name, const ir::Init& init, std::uint64_t seed, std::span<float> values);
template void initialize(std::string_view name, const ir::Init& init, std::uint64_t seed, std::span<double> values);
template std::vector<float> stored_values(MatrixView<const float> values, bool transposed);
template std::vector<double> stored_values(MatrixView<const double> values, bool transposed);

}  // namespace gneiss::runtime
