// A second device for the parity tests, beside the emulation: a card, whose bits have to be the emulation's.
//
// GNEISS_PARITY_CARD asks for it: `cuda` is card 0; `emulated` rehearses without one; `spoiled` is that with one bit of
// an output flipped, so that tests have to fail. A test's arguments point into the heap of this process, which the card
// is made to read and write in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "kernels/cuda/device_kernels.h"

namespace gneiss::testing {

/// A range of addresses.
struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool holds(std::uintptr_t address) const { return begin <= address && address < end; }
};

class Card {
 public:
  static bool asked();
  /// One bit of what the card computes is to be flipped.
  static bool spoils();
  /// Errors: std::runtime_error if there is no such card.
  static Card& get();

  const std::string& name() const { return name_; }
  const kernels::DeviceKernels& kernels() const { return *kernels_; }

  /// Throws std::runtime_error if a pointer among these bytes of arguments lies in memory of this process but outside
  /// the heap, where a card could not read it, and is none of `of_launch`.
  void require_reachable(const std::vector<std::byte>& args, const char* kernel,
                         const std::vector<const void*>& of_launch) const;
  /// Waits for the kernel. Throws std::runtime_error if it failed.
  void finish(const char* kernel);

  ~Card();  // says how much ran
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

 private:
  Card();

  std::string name_;
  const kernels::DeviceKernels* kernels_ = nullptr;
  Range heap_;
  std::int64_t runs_ = 0;
  std::set<std::string> tests_;
  std::set<std::string> kernels_run_;
};

namespace internal {

// Of a build with CUDA; without, they throw.
std::string open_cuda_card(const Range& heap);
void wait_for_cuda_card(const char* kernel);

}  // namespace internal

}  // namespace gneiss::testing
