// Devices that are processes and show their rows in NVSHMEM's heap; and that its stand-in finds out who misuses it.
//
// A test's body runs in every process. What one finds goes into a sum over all, which rank 0 looks at; then the others
// end without a word.
#include "runtime/nvshmem.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "comm/processes.h"
#include "runtime/device_exchange.h"

namespace gneiss::runtime {
namespace {

constexpr int kProcesses = 3;
constexpr std::int64_t kBytes = 10000;

/// body(communicator) in each process, which all come to the end of unless the body ends it.
void in_processes(int count, const std::function<void(comm::Communicator&)>& body) {
  setenv("GNEISS_NVSHMEM", STAND_IN_NVSHMEM, 1);
  std::unique_ptr<comm::Ranks> ranks = comm::fork_ranks(count);
  try {
    ranks->run(body);
  } catch (const Error& error) {
    if (ranks->first() == 0) ADD_FAILURE() << error.message();
  }
  if (ranks->first() > 0) {
    ranks.reset();
    std::_Exit(0);
  }
}

TEST(Nvshmem, BlocksAreReadWhereTheyLie) {
  enum { kRight, kElsewhere, kLater, kAgreed };
  std::array<double, 4> counts{};
  in_processes(kProcesses, [&](comm::Communicator& communicator) {
    std::array<double, 4> found{};
    const std::unique_ptr<Device> device = make_emulated_device();
    Nvshmem nvshmem(&communicator);
    const std::int64_t bytes = nvshmem.bytes_for_all(kBytes - communicator.rank());
    found[kAgreed] += bytes == kBytes ? 1 : 0;
    std::byte* const first = nvshmem.allocate(bytes);
    std::byte* const block = nvshmem.allocate(2 * bytes);  // not at the beginning of the heap
    nvshmem.release(first);
    device->fill(block, static_cast<unsigned char>(1 + communicator.rank()), bytes);
    {
      const PeerMemory others(device.get(), communicator, {block, static_cast<std::size_t>(bytes)}, &nvshmem);
      std::vector<std::int64_t> one_each(kProcesses + 1);
      std::iota(one_each.begin(), one_each.end(), std::int64_t{0});
      const std::byte* const mine = block + 100;
      const std::vector<const std::byte*> sent(kProcesses, mine);
      std::vector<const std::byte*> shown(kProcesses);
      const auto meet = [&] {
        communicator.exchange({std::as_bytes(std::span(sent)), one_each},
                              {std::as_writable_bytes(std::span(shown)), one_each}, sizeof(mine));
      };
      const auto count = [&](int plus) {
        double right = 0;
        for (int p = 0; p < kProcesses; ++p) {
          const std::byte* const here = others.here(p, shown[static_cast<std::size_t>(p)]);
          right += here[0] == static_cast<std::byte>(plus + p) && here[bytes - 101] == here[0] ? 1 : 0;
          if (p != communicator.rank()) found[kElsewhere] += here != shown[static_cast<std::size_t>(p)] ? 1 : 0;
        }
        return right;
      };
      meet();
      found[kRight] = count(1);
      meet();
      device->fill(block, static_cast<unsigned char>(11 + communicator.rank()), bytes);
      meet();
      found[kLater] = count(11);
      meet();
    }
    nvshmem.release(block);
    communicator.sum(std::span<double>(found));
    counts = found;
  });
  EXPECT_EQ(counts[kAgreed], kProcesses) << "all take what one of them needs";
  EXPECT_EQ(counts[kRight], kProcesses * kProcesses);
  EXPECT_EQ(counts[kLater], kProcesses * kProcesses) << "it is the memory itself, no copy";
  EXPECT_EQ(counts[kElsewhere], 2 * kProcesses * (kProcesses - 1)) << "a reader that takes addresses as they are fails";
}

/// A stand-in that lets everything pass would show nothing.
TEST(StandInDeathTest, FindsOutWhoMisusesIt) {
  const auto faulty = [](const std::function<void(comm::Communicator&)>& body) {
    in_processes(2, body);
    std::_Exit(0);
  };
  const auto is_found = ::testing::ExitedWithCode(86);
  EXPECT_EXIT(faulty([](comm::Communicator& c) { Nvshmem(&c).allocate(1000 + c.rank()); }), is_found,
              "nvshmem_malloc of 1000, PE 1 has 1001");
  EXPECT_EXIT(faulty([](comm::Communicator& c) { Nvshmem(&c).allocate(1000); }), is_found, "1 blocks are left");
  EXPECT_EXIT(faulty([](comm::Communicator& c) {
                Nvshmem one(&c);
                one.release(one.allocate(1000) + 8);
              }),
              is_found, "that is no block");
  EXPECT_EXIT(faulty([](comm::Communicator& c) {
                Nvshmem one(&c);
                one.allocate(1000);
                Nvshmem(&c).allocate(1000);
              }),
              is_found, "called twice");
}

}  // namespace
}  // namespace gneiss::runtime
