// One address space over devices that are threads: rows come as they were when it was opened, gets do not block and
// follow one another on the link, and what goes wrong is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "comm/loopback.h"
#include "pgas/symmetric_heap.h"
#include "pgas/thread_space.h"

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

/// The space of a rank, whose devices meet through the communicator.
std::unique_ptr<pgas::Space> space_of(comm::Communicator& communicator, const pgas::Link& link = {}) {
  return pgas::thread_space(
      communicator.rank(), communicator.ranks(),
      [&](const pgas::SharedRows& mine, std::span<pgas::SharedRows> all) {
        const std::vector<pgas::SharedRows> copies(all.size(), mine);
        std::vector<std::int64_t> at(all.size() + 1);
        std::iota(at.begin(), at.end(), std::int64_t{0});
        communicator.exchange({std::as_bytes(std::span(copies)), at}, {std::as_writable_bytes(all), at},
                              sizeof(pgas::SharedRows));
      },
      link);
}

std::vector<NodeId> random_rows(std::int64_t rows, std::uint64_t seed) {
  RandomStream random(seed, 1);
  std::vector<NodeId> list(static_cast<std::size_t>(random.below(20)));
  for (NodeId& row : list) row = static_cast<NodeId>(random.below(static_cast<std::uint64_t>(rows)));
  return list;
}

TEST(Space, EveryDeviceReadsEveryRow) {
  for (const int devices : {1, 2, 3, 8}) {
    std::vector<std::vector<float>> arenas;
    for (int d = 0; d < devices; ++d) arenas.push_back(arena_of(d, 5 + d));
    comm::loopback(devices)->run([&](comm::Communicator& communicator) {
      const auto space = space_of(communicator);
      const int self = space->device();
      std::int64_t bytes = 0;
      for (std::uint64_t round = 0; round < 20; ++round) {
        const pgas::Frame frame = space->open(shared(arenas[static_cast<std::size_t>(space->device())]));
        for (int d = 0; d < devices; ++d) {
          const std::vector<NodeId> rows = random_rows(5 + d, 100 * round + static_cast<std::uint64_t>(10 * self + d));
          std::vector<float> got(rows.size() * kCols, -2);
          std::vector<float> range(2 * kCols, -2);
          space->get_rows(frame, d, rows, kCols * 4, local(&got));
          space->wait(space->get_range(frame, d, 3, kCols * 4, local(&range)));
          for (std::size_t i = 0; i < rows.size(); ++i)
            for (std::int64_t c = 0; c < kCols; ++c)
              EXPECT_EQ(got[i * kCols + static_cast<std::size_t>(c)], value(d, rows[i], c));
          EXPECT_EQ(range[0], value(d, 3, 0));
          EXPECT_EQ(range[kCols + 2], value(d, 4, 2));
          EXPECT_EQ(*reinterpret_cast<const float*>(space->row_address(frame, d, 4) + 4), value(d, 4, 1));
          if (d != self) bytes += (std::ssize(rows) + 2) * kCols * 4;
        }
        space->close(frame);
      }
      EXPECT_EQ(space->traffic().bytes, bytes);
      EXPECT_EQ(space->traffic().gets, 20 * 2 * (devices - 1));
    });
  }
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

TEST(Space, FramesMayBeOpenSideBySide) {
  const auto first = arenas_of(2, 3);
  const auto arenas = arenas_of(4, 3);  // the second frame shows devices 2 and 3 of these
  comm::loopback(2)->run([&](comm::Communicator& communicator) {
    const auto space = space_of(communicator, {.seconds = 0.001});
    const int other = 1 - space->device();
    const auto self = static_cast<std::size_t>(space->device());
    std::vector<float> got_a(kCols, -2);
    std::vector<float> got_b(kCols, -2);
    std::vector<float> got_c(kCols, -2);
    const pgas::Frame a = space->open(shared(first[self]));
    const pgas::Token from_a = space->get_range(a, other, 0, kCols * 4, local(&got_a));
    const pgas::Frame b = space->open(shared(arenas[self + 2]));
    const pgas::Token from_b = space->get_range(b, other, 1, kCols * 4, local(&got_b));
    space->wait(from_a);
    space->close(a);
    space->wait(from_b);
    const pgas::Frame c = space->open(shared(first[self]));  // the place of a is free again
    EXPECT_EQ(c, a);
    space->wait(space->get_range(c, other, 2, kCols * 4, local(&got_c)));
    space->close(b);
    space->close(c);
    EXPECT_EQ(got_a[0], value(other, 0, 0));
    EXPECT_EQ(got_b[0], value(other + 2, 1, 0));
    EXPECT_EQ(got_c[0], value(other, 2, 0));
    EXPECT_GT(space->traffic().waited_seconds, 0.0005);
  });
}

TEST(Space, NobodyReadsInAClosedFrame) {
  const auto arenas = arenas_of(2, 2);
  std::vector<std::vector<float>> room(2, std::vector<float>(kCols));
  EXPECT_THAT(failure_of([&](comm::Communicator& communicator) {
                const auto space = space_of(communicator);
                const auto self = static_cast<std::size_t>(space->device());
                const pgas::Frame frame = space->open(shared(arenas[self]));
                space->close(frame);
                space->get_range(frame, 1 - space->device(), 0, kCols * 4, local(&room[self]));
              }),
              HasSubstr("between open and close"));
}

TEST(Space, ManyGetsMayBeUnderWay) {
  const auto arenas = arenas_of(2, 100);
  comm::loopback(2)->run([&](comm::Communicator& communicator) {
    const auto space = space_of(communicator, {.seconds = 0.0002});
    const std::vector<float> arena = arena_of(space->device(), 100);
    std::vector<std::vector<float>> got(100, std::vector<float>(kCols, -2));
    const pgas::Frame frame = space->open(shared(arenas[static_cast<std::size_t>(space->device())]));
    pgas::Token last = 0;
    for (std::int64_t r = 0; r < 100; ++r)
      last = space->get_range(frame, 1 - space->device(), r, kCols * 4, local(&got[static_cast<std::size_t>(r)]));
    space->wait(last);
    for (std::int64_t r = 0; r < 100; ++r)
      EXPECT_EQ(got[static_cast<std::size_t>(r)][1], value(1 - space->device(), r, 1));
    space->close(frame);
  });
}

TEST(Space, GetsDoNotBlockAndShareTheLink) {
  const auto arenas = arenas_of(2, 2);
  comm::loopback(2)->run([&](comm::Communicator& communicator) {
    const auto space = space_of(communicator, {.seconds = 0.1, .bytes_per_second = 120});
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
    EXPECT_EQ(more[0], value(1 - space->device(), 1, 0));
    space->close(frame);
  });
}

TEST(Space, WhatIsAskedForIsLookedAt) {
  const auto arenas = arenas_of(2, 2);
  const auto asks = [&](int device, NodeId row) {
    return failure_of([&](comm::Communicator& communicator) {
      const auto space = space_of(communicator);
      std::vector<float> got(kCols);
      const pgas::Frame frame = space->open(shared(arenas[static_cast<std::size_t>(space->device())]));
      const std::vector<NodeId> rows = {row};
      if (space->device() == 0) space->wait(space->get_rows(frame, device, rows, kCols * 4, local(&got)));
      space->close(frame);
    });
  };
  EXPECT_EQ(asks(1, 1), "nothing");
  EXPECT_THAT(asks(1, 2), HasSubstr("device 1 has no row 2 of 2"));
  EXPECT_THAT(asks(2, 0), HasSubstr("there is no device 2 of 2"));
}

TEST(Space, NobodyClosesWithAGetUnderWay) {
  const auto arenas = arenas_of(2, 2);
  std::vector<std::vector<float>> room(2, std::vector<float>(kCols));
  EXPECT_THAT(failure_of([&](comm::Communicator& communicator) {
                const auto space = space_of(communicator, {.seconds = 0.05});
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
                const auto space = space_of(communicator);
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
