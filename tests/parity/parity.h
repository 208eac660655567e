// Runs every variant of an op against its last one, `reference`: under each instruction set of this machine, and asks
// for values within a bound and for the same bits whatever the number of threads: of several numbers under the best
// instruction set, of one under the others, whose work is cut by the same code. The device kernel of the op runs too,
// in the emulation. Where a card is asked for (card.h), device kernels run alone: in the emulation and on the card,
// which has to give the same bits.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/random.h"
#include "kernels/kernel.h"
#include "parity/device_parity.h"
#include "parity/targets.h"

namespace gneiss::testing {

inline constexpr double kEps = std::numeric_limits<float>::epsilon();

/// A matrix whose rows are `pad` elements longer than its columns; padding must survive every kernel.
template <class T>
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0;
  std::vector<T> values;

  Matrix() = default;
  Matrix(std::int64_t rows_in, std::int64_t cols_in, std::int64_t pad = 0, T fill = T(77))
      : rows(rows_in), cols(cols_in), stride(cols_in + pad), values(static_cast<std::size_t>(rows * stride), fill) {}

  MatrixView<T> view() { return {values.data(), rows, cols, stride}; }
  T& at(std::int64_t r, std::int64_t c) { return values[static_cast<std::size_t>(r * stride + c)]; }
};

inline Matrix<float> random_matrix(std::int64_t rows, std::int64_t cols, std::int64_t pad, std::uint64_t seed,
                                   double low = -1, double high = 1) {
  Matrix<float> matrix(rows, cols, pad);
  RandomStream random(seed, 21);
  for (float& x : matrix.values) x = static_cast<float>(random.uniform(low, high));
  return matrix;
}

inline Matrix<float> absolute(Matrix<float> matrix) {
  for (float& x : matrix.values) x = std::abs(x);
  return matrix;
}

/// One output: its storage (whole, padding included) and how far element i may be from the reference's value.
struct Output {
  std::vector<float>* values;
  std::function<double(std::size_t i, double want)> bound;
};

inline auto relative_bound(double units) {
  return [units](std::size_t, double want) { return units * kEps * (1 + std::abs(want)); };
}
/// For a sum of `terms` products: half a unit a term of the sum of absolute values, and some slack for scaling. Below
/// the smallest normal number there are no relative bounds.
inline auto sum_bound(const std::vector<float>& magnitudes, double terms) {
  return [&magnitudes, terms](std::size_t i, double) {
    return kEps * (terms + 4) * magnitudes[i] + static_cast<double>(std::numeric_limits<float>::min());
  };
}

template <class Args>
struct Parity {
  std::string what;
  std::span<const kernels::Variant<Args>> variants;
  Args args;
  std::size_t workspace_bytes = 0;
  std::vector<Output> outputs;
  std::vector<std::vector<std::int32_t>*> exact = {};
  std::int64_t terms = 1;  ///< how many products each element is a sum of
};

/// Does GNEISS_PARITY_KERNELS ask for "devices", whose kernels run alone, in the emulation? That is what a build with
/// sanitizers has to look at for their sake: there the host's kernels take most of the time.
inline bool devices_alone() {
  const char* const asked = std::getenv("GNEISS_PARITY_KERNELS");
  return asked != nullptr && std::string_view(asked) == "devices";
}

namespace internal {

struct State {
  std::vector<std::vector<float>> values;
  std::vector<std::vector<std::int32_t>> exact;

  bool same_bits(const State& other) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].size() != other.values[i].size()) return false;
      if (values[i].empty()) continue;
      if (std::memcmp(values[i].data(), other.values[i].data(), values[i].size() * sizeof(float)) != 0) return false;
    }
    return exact == other.exact;
  }
};

template <class Args>
State snapshot(const Parity<Args>& problem) {
  State state;
  for (const Output& output : problem.outputs) state.values.push_back(*output.values);
  for (const auto* output : problem.exact) state.exact.push_back(*output);
  return state;
}

template <class Args>
void reset(const Parity<Args>& problem, const State& initial) {
  for (std::size_t i = 0; i < problem.outputs.size(); ++i) {
    std::copy(initial.values[i].begin(), initial.values[i].end(), problem.outputs[i].values->begin());
  }
  for (std::size_t i = 0; i < problem.exact.size(); ++i) {
    std::copy(initial.exact[i].begin(), initial.exact[i].end(), problem.exact[i]->begin());
  }
}

template <class Args>
State run(const Parity<Args>& problem, const kernels::Variant<Args>& variant, int threads, const State& initial) {
  reset(problem, initial);
  Buffer<std::byte> workspace(std::max<std::size_t>(1, problem.workspace_bytes));
  std::memset(workspace.data(), 0xFF, workspace.size());  // what a kernel does not write is NaN
  variant.run({threads, workspace.span()}, problem.args);
  return snapshot(problem);
}

template <class Args>
void expect_close(const Parity<Args>& problem, const State& got, const State& want, const std::string& where) {
  EXPECT_EQ(got.exact, want.exact) << where;
  for (std::size_t o = 0; o < want.values.size(); ++o) {
    for (std::size_t i = 0; i < want.values[o].size(); ++i) {
      const double expected = want.values[o][i];
      const double actual = got.values[o][i];
      const double bound = problem.outputs[o].bound(i, expected);
      if (std::abs(actual - expected) <= bound || (std::isnan(expected) && std::isnan(actual)) || actual == expected)
        continue;
      ADD_FAILURE() << where << ": output " << o << "[" << i << "] is " << actual << ", the reference has " << expected
                    << ", bound " << bound;
      return;
    }
  }
}

template <class Args>
std::size_t elements_of(const Parity<Args>& problem) {
  std::size_t elements = 0;
  for (const Output& output : problem.outputs) elements += output.values->size();
  return elements;
}

/// Numbers of threads whose bits are compared with those of one: the instruction sets but the best take one of them,
/// not the same for all problems.
template <class Args>
std::vector<int> numbers_of_threads(const Parity<Args>& problem, bool best_target) {
  if (best_target) return {2, 3, 5};
  constexpr int kOne[] = {2, 3, 5};
  return {kOne[(elements_of(problem) + problem.what.size()) % 3]};
}

inline void flip_a_bit(State& state) {
  for (std::vector<float>& values : state.values) {
    if (values.empty()) continue;
    values.back() = std::bit_cast<float>(std::bit_cast<std::uint32_t>(values.back()) ^ 1U);
    return;
  }
}

/// Orders of threads that a device kernel runs in: three; of large problems one, unless GNEISS_PARITY_ORDERS is "all".
inline std::uint64_t orders_of(std::size_t work) {
  constexpr std::size_t kMuchWork = 20'000;  // in elements: the turns of their fibers
  const char* const asked = std::getenv("GNEISS_PARITY_ORDERS");
  return work <= kMuchWork || (asked != nullptr && std::string_view(asked) == "all") ? kOrders : 1;
}

/// The device kernel of the op: within the same bounds, and the same bits in every order of threads.
template <class Args>
void expect_device_parity(const Parity<Args>& problem, const State& initial, const State& want) {
  constexpr std::int64_t kTermsOfATurn = 50;  // that cost about as much as an element
  const std::size_t work = elements_of(problem) * static_cast<std::size_t>(1 + problem.terms / kTermsOfATurn);
  State one;
  on_emulated_device<Args>(
      problem.args, orders_of(work), [&] { reset(problem, initial); },
      [&](const std::string& device, bool first) {
        const std::string where = problem.what + ", " + device;
        State got = snapshot(problem);
        if (first) {
          one = got;
          expect_close(problem, got, want, where);
        } else {
          if (Card::spoils() && elements_of(problem) > 0) flip_a_bit(got);
          EXPECT_TRUE(got.same_bits(one)) << where;
        }
      });
}

}  // namespace internal

/// Checks all variants of one problem. Returns how many besides the reference took it.
template <class Args>
int expect_parity(const Parity<Args>& problem) {
  using internal::State;
  const State initial = internal::snapshot(problem);
  const State want = internal::run(problem, problem.variants.back(), 1, initial);
  int taken = 0;
  for (const auto& variant : problem.variants.first(problem.variants.size() - 1)) {
    if (!variant.declines(problem.args).empty()) continue;
    ++taken;
    if (Card::asked() || devices_alone()) continue;
    bool best_target = true;  // it comes first
    on_every_target([&](const std::string& target) {
      const std::string where = problem.what + ", " + std::string(variant.name) + ", " + target;
      const State one = internal::run(problem, variant, 1, initial);
      internal::expect_close(problem, one, want, where);
      for (const int threads : internal::numbers_of_threads(problem, std::exchange(best_target, false))) {
        EXPECT_TRUE(internal::run(problem, variant, threads, initial).same_bits(one))
            << where << ", threads " << threads;
      }
    });
  }
  internal::expect_device_parity(problem, initial, want);
  for (std::size_t o = 0; o < problem.outputs.size(); ++o) *problem.outputs[o].values = initial.values[o];
  return taken;
}

}  // namespace gneiss::testing
