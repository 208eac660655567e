// Devices that are processes: each reads what the others share, at addresses of its own, and cannot write there.
//
// A test's body runs in every process. What one finds goes into a sum over all, which rank 0 looks at; then the others
// end without a word.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "comm/processes.h"
#include "runtime/device_exchange.h"

namespace gneiss::runtime {
namespace {

constexpr int kProcesses = 3;
constexpr std::int64_t kBytes = 10000;

/// body(communicator) in each process: the sums of what it counts in the numbers that it is given.
std::array<double, 4> summed(const std::function<void(comm::Communicator&, std::array<double, 4>*)>& body) {
  std::unique_ptr<comm::Ranks> ranks = comm::fork_ranks(kProcesses);
  std::array<double, 4> counts = {};
  try {
    ranks->run([&](comm::Communicator& communicator) {
      body(communicator, &counts);
      communicator.sum(std::span<double>(counts));
    });
  } catch (const Error& error) {
    if (ranks->first() == 0) ADD_FAILURE() << error.message();
  }
  if (ranks->first() > 0) {
    ranks.reset();
    std::_Exit(0);
  }
  return counts;
}

TEST(DeviceProcesses, ReadWhatTheOthersShare) {
  enum { kRight, kElsewhere, kLater };
  const auto counts = summed([](comm::Communicator& communicator, std::array<double, 4>* found) {
    const std::unique_ptr<Device> device = make_emulated_device();
    device->share_memory();
    const DeviceMemory memory(device.get(), kBytes);
    device->fill(memory.data(), static_cast<unsigned char>(1 + communicator.rank()), kBytes);
    const PeerMemory others(device.get(), communicator, {memory.data(), static_cast<std::size_t>(kBytes)});
    // Where each has its own, as its owner would show it.
    std::vector<std::int64_t> one_each = {0, 1, 2, 3};
    const std::byte* const mine = memory.data() + 100;
    const std::vector<const std::byte*> sent(kProcesses, mine);
    std::vector<const std::byte*> shown(kProcesses);
    const auto meet = [&] {
      communicator.exchange({std::as_bytes(std::span(sent)), one_each},
                            {std::as_writable_bytes(std::span(shown)), one_each}, sizeof(mine));
    };
    meet();
    for (int p = 0; p < kProcesses; ++p) {
      const std::byte* const here = others.here(p, shown[static_cast<std::size_t>(p)]);
      const bool right =
          here[0] == static_cast<std::byte>(1 + p) && here[kBytes - 101] == static_cast<std::byte>(1 + p);
      (*found)[kRight] += right ? 1 : 0;
      if (p != communicator.rank()) (*found)[kElsewhere] += here != shown[static_cast<std::size_t>(p)] ? 1 : 0;
    }
    meet();
    device->fill(memory.data(), static_cast<unsigned char>(11 + communicator.rank()), kBytes);
    meet();
    for (int p = 0; p < kProcesses; ++p) {
      const std::byte* const here = others.here(p, shown[static_cast<std::size_t>(p)]);
      (*found)[kLater] += here[0] == static_cast<std::byte>(11 + p) ? 1 : 0;
    }
    meet();
  });
  EXPECT_EQ(counts[kRight], kProcesses * kProcesses);
  EXPECT_EQ(counts[kLater], kProcesses * kProcesses) << "it is the memory itself, no copy";
  EXPECT_GT(counts[kElsewhere], 0) << "addresses are the owner's: a reader that takes them as they are must fail";
}

TEST(DeviceProcesses, ShareAllThatTheyShowAndNothingElse) {
  const auto counts = summed([](comm::Communicator& communicator, std::array<double, 4>* found) {
    const std::unique_ptr<Device> device = make_emulated_device();
    const DeviceMemory alone(device.get(), kBytes);
    device->share_memory();
    const DeviceMemory memory(device.get(), kBytes);
    const PeerMemory others(device.get(), communicator, {memory.data(), static_cast<std::size_t>(kBytes)});
    const auto fails = [&](const std::function<void()>& work) {
      try {
        work();
      } catch (const Error& error) {
        (*found)[0] += error.code() == ErrorCode::kInternal ? 1 : 0;
      }
    };
    const int other = (communicator.rank() + 1) % kProcesses;
    fails([&] { others.here(other, nullptr); });
    fails([&] { device->share(alone.data()); });
    double all[] = {0};
    communicator.sum(all);
  });
  EXPECT_EQ(counts[0], 2 * kProcesses);
}

TEST(DeviceProcesses, SayWhatCannotBeOpened) {
  const std::unique_ptr<Device> device = make_emulated_device();
  MemoryHandle handle;
  const std::string path = "/proc/1/fd/no such file";
  std::copy(path.begin(), path.end(), handle.bytes.begin());
  try {
    device->open_shared(handle, kBytes);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_NE(error.hint().find("devices are threads then"), std::string::npos) << error.hint();
  }
}

}  // namespace
}  // namespace gneiss::runtime
