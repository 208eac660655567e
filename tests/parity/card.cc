#include "parity/card.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace gneiss::testing {
namespace {

constexpr int kHeapBytes = 512 << 20;

std::string_view wish() {
  const char* text = std::getenv("GNEISS_PARITY_CARD");
  return text == nullptr ? "" : text;
}

/// Before any test allocates: all memory comes from one heap, which is at its full size from the start.
__attribute__((constructor)) void grow_heap() {
  if (wish().empty()) return;
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TRIM_THRESHOLD, 2 * kHeapBytes - 1);
  mallopt(M_TOP_PAD, kHeapBytes);
  void* volatile grown = std::malloc(1 << 20);
  std::free(grown);
}

struct Mapping {
  Range range;
  std::string name;
};

std::vector<Mapping> mappings() {
  std::vector<Mapping> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    int name = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %*s %*s %*s %n", &begin, &end, &name) < 2) continue;
    found.push_back({{begin, end}, name > 0 ? line.substr(static_cast<std::size_t>(name)) : ""});
  }
  return found;
}

}  // namespace

bool Card::asked() { return !wish().empty(); }
bool Card::spoils() { return wish() == "spoiled"; }

Card& Card::get() {
  static Card card;
  return card;
}

Card::Card() {
  for (const Mapping& mapping : mappings()) {
    if (mapping.name != "[heap]") continue;  // of which there may be parts
    heap_ = {heap_.begin == 0 ? mapping.range.begin : heap_.begin, mapping.range.end};
  }
  if (heap_.end - heap_.begin < kHeapBytes) throw std::runtime_error("the heap was not grown before the tests");
  if (wish() == "cuda") {
    name_ = internal::open_cuda_card(heap_);
    kernels_ = kernels::cuda_kernels();
  } else if (wish() == "emulated" || wish() == "spoiled") {
    name_ = "rehearsal of a card";
    kernels_ = &kernels::emulated_kernels();
  } else {
    throw std::runtime_error("GNEISS_PARITY_CARD is '" + std::string(wish()) + "', not cuda, emulated or spoiled");
  }
}

Card::~Card() {
  std::printf("parity on %s: %lld runs of %zu kernels in %zu tests\n", name_.c_str(), static_cast<long long>(runs_),
              kernels_run_.size(), tests_.size());
}

void Card::require_reachable(const std::vector<std::byte>& args, const char* kernel,
                             const std::vector<const void*>& of_launch) const {
  static const std::vector<Mapping> all = mappings();
  for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= args.size(); at += sizeof(std::uintptr_t)) {
    std::uintptr_t word = 0;
    std::memcpy(&word, args.data() + at, sizeof(word));
    const bool read_here = std::ranges::any_of(
        of_launch, [&](const void* part) { return word == reinterpret_cast<std::uintptr_t>(part); });
    if (heap_.holds(word) || read_here) continue;
    for (const Mapping& mapping : all) {
      if (!mapping.range.holds(word)) continue;
      throw std::runtime_error("an argument of " + std::string(kernel) + ", at byte " + std::to_string(at) +
                               ", points to " + mapping.name + " instead of the heap, where a card can read");
    }
  }
}

void Card::finish(const char* kernel) {
  if (wish() == "cuda") internal::wait_for_cuda_card(kernel);
  ++runs_;
  kernels_run_.emplace(kernel);
  const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
  if (test != nullptr) tests_.insert(std::string(test->test_suite_name()) + "." + test->name());
}

}  // namespace gneiss::testing
