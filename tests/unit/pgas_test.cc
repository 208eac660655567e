// One address space over devices that are threads: rows come as they were when it was opened, gets do not block and
// follow one another on the link, and what goes wrong is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/loopback.h"
#include "pgas/space.h"
#include "pgas/symmetric_heap.h"
#include "support/space_contract.h"

namespace gneiss {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kCols = 3;
constexpr std::int64_t kStride = 4;  // floats of a row in an arena, of which one is nobody's

float value(int device, std::int64_t row, std::int64_t col) {
  return static_cast<float>(1000 * device + 10 * row + col);
}

std::vector<float> arena_of(int device, std::int64_t rows) {
  std::vector<float> arena(static_cast<std::size_t>(rows * kStride), -1);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < kCols; ++c) arena[static_cast<std::size_t>(r * kStride + c)] = value(device, r, c);
  return arena;
}

std::vector<std::vector<float>> arenas_of(int devices, std::int64_t rows) {
  std::vector<std::vector<float>> arenas;
  for (int d = 0; d < devices; ++d) arenas.push_back(arena_of(d, rows));
  return arenas;
}

pgas::SharedRows shared(const std::vector<float>& arena) {
  return {reinterpret_cast<const std::byte*>(arena.data()), std::ssize(arena) / kStride, kStride * 4};
}

pgas::LocalRows local(std::vector<float>* rows, std::int64_t cols = kCols) {
  return {reinterpret_cast<std::byte*>(rows->data()), std::ssize(*rows) / cols, cols * 4};
}

/// What a device's body fails with, on device 0.
std::string failure_of(const comm::Ranks::Body& body) {
  try {
    comm::loopback(2)->run(body);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

/// What holds whatever brings the rows, at once and over a link that takes its time.
TEST(Space, KeepsItsContract) {
  for (const int devices : {1, 2, 3, 8}) {
    for (const double seconds : {0.0, 0.0002}) {
      SCOPED_TRACE(::testing::Message() << devices << " devices, " << seconds << " s a get");
      const auto ranks = comm::loopback(devices);
      const testing::SpaceContract contract = {*ranks, {.seconds = seconds}};
      contract.every_device_reads_every_row();
      contract.strides_differ();
      contract.frames_may_be_open_side_by_side();
      contract.many_gets_may_be_under_way();
      contract.rows_keep_their_values_until_close();
      contract.a_device_may_have_no_rows();
      contract.gets_are_noted();
      contract.what_is_asked_for_is_looked_at();
    }
  }
}

TEST(Space, GetsDoNotBlockAndShareTheLink) {
  const auto arenas = arenas_of(2, 2);
  comm::loopback(2)->run([&](comm::Communicator& communicator) {
    const auto space = communicator.make_space({.seconds = 0.1, .bytes_per_second = 120});
    const std::vector<float> arena = arena_of(space->device(), 2);
    std::vector<float> got(kCols, -2);
    std::vector<float> more(kCols, -2);
    const pgas::Frame frame = space->open(shared(arenas[static_cast<std::size_t>(space->device())]));
    const auto start = Clock::now();
    space->get_range(frame, 1 - space->device(), 0, kCols * 4, local(&got));
    const pgas::Token second = space->get_range(frame, 1 - space->device(), 1, kCols * 4, local(&more));
    EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), 0.1);
    space->wait(second);
    // Two gets of 12 bytes: 0.1 s and 0.1 s each, one after the other.
    EXPECT_GE(std::chrono::duration<double>(Clock::now() - start).count(), 0.399);
    EXPECT_GE(space->traffic().waited_seconds, 0.299);
    EXPECT_EQ(more[0], value(1 - space->device(), 1, 0));
    space->close(frame);
  });
}

TEST(Space, NobodyClosesWithAGetUnderWay) {
  const auto arenas = arenas_of(2, 2);
  std::vector<std::vector<float>> room(2, std::vector<float>(kCols));
  EXPECT_THAT(failure_of([&](comm::Communicator& communicator) {
                const auto space = communicator.make_space({.seconds = 0.05});
                std::vector<float>& got = room[static_cast<std::size_t>(space->device())];
                const pgas::Frame frame = space->open(shared(arenas[static_cast<std::size_t>(space->device())]));
                space->get_range(frame, 1 - space->device(), 0, kCols * 4, local(&got));
                space->close(frame);
              }),
              HasSubstr("gets are under way"));
}

TEST(Space, ALostDeviceEndsTheOthers) {
  const auto arenas = arenas_of(2, 2);
  EXPECT_THAT(failure_of([&](comm::Communicator& communicator) {
                const auto space = communicator.make_space({});
                const pgas::Frame frame = space->open(shared(arenas[static_cast<std::size_t>(space->device())]));
                if (space->device() == 1) throw Error(ErrorCode::kOutOfMemory, "no memory");
                space->close(frame);
              }),
              HasSubstr("rank 1 of 2 is lost: no memory"));
}

/// Each device has memory of its own, which begins as zeros also where it was used before.
TEST(SymmetricHeap, GivesDevicesMemoryOfTheirOwn) {
  constexpr std::size_t kEach = std::size_t{1} << 16;
  const auto heap = pgas::SymmetricHeap::make(3, kEach);
  Buffer<std::byte> first = heap->allocate(1, 5000);
  const std::byte* const begin = first.data();
  Buffer<std::byte> second = heap->allocate(1, 4096);
  Buffer<std::byte> other = heap->allocate(2, kEach);
  EXPECT_EQ(second.data(), begin + 8192);
  EXPECT_EQ(other.data(), begin + kEach);
  std::fill(first.begin(), first.end(), std::byte{7});
  first = Buffer<std::byte>();
  first = heap->allocate(1, 8192);
  EXPECT_EQ(first.data(), begin) << "the gap is used again";
  EXPECT_THAT(std::vector<std::byte>(first.begin(), first.end()), Each(std::byte{0}));
  EXPECT_TRUE(heap->allocate(0, 0).empty());
  try {
    heap->allocate(1, kEach);
    FAIL() << "there is no room";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
    EXPECT_THAT(error.message(), HasSubstr("device 1 has no 65536 bytes left of its 65536"));
  }
}

}  // namespace
}  // namespace gneiss
