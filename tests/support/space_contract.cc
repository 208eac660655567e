// Ranks may be processes, where nobody sees what another expects: a rank fails for itself, and what is refused is
// caught where it is asked for, so that all go on together.
#include "support/space_contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "pgas/timeline.h"

namespace gneiss::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

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

/// Of all devices: memory that a device shows must outlive the spaces of the others.
std::vector<std::vector<float>> arenas_of(int devices, const std::function<std::int64_t(int device)>& rows) {
  std::vector<std::vector<float>> arenas;
  for (int d = 0; d < devices; ++d) arenas.push_back(arena_of(d, rows(d)));
  return arenas;
}
std::vector<std::vector<float>> arenas_of(int devices, std::int64_t rows) {
  return arenas_of(devices, [rows](int) { return rows; });
}

pgas::SharedRows shared(const std::vector<float>& arena) {
  return {reinterpret_cast<const std::byte*>(arena.data()), std::ssize(arena) / kStride, kStride * 4};
}

pgas::LocalRows local(std::vector<float>* rows, std::int64_t stride = kCols) {
  return {reinterpret_cast<std::byte*>(rows->data()), std::ssize(*rows) / stride, stride * 4};
}

std::vector<NodeId> random_rows(std::int64_t rows, std::uint64_t seed) {
  RandomStream random(seed, 1);
  std::vector<NodeId> list(static_cast<std::size_t>(random.below(20)));
  for (NodeId& row : list) row = static_cast<NodeId>(random.below(static_cast<std::uint64_t>(rows)));
  return list;
}

/// The next device, round.
int next_of(const pgas::Space& space) { return (space.device() + 1) % space.devices(); }

std::size_t self_of(const pgas::Space& space) { return static_cast<std::size_t>(space.device()); }

std::string refusal_of(const std::function<void()>& ask) {
  try {
    ask();
  } catch (const Error& error) {
    return error.message();
  }
  return "nothing";
}

}  // namespace

void SpaceContract::every_device_reads_every_row() const {
  const int devices = ranks.count();
  const auto arenas = arenas_of(devices, [](int device) { return 5 + device; });
  ranks.run([&](comm::Communicator& communicator) {
    const auto space = communicator.make_space(link);
    const int self = space->device();
    ASSERT_EQ(space->devices(), devices);
    std::int64_t bytes = 0;
    for (std::uint64_t round = 0; round < 20; ++round) {
      const pgas::Frame frame = space->open(shared(arenas[self_of(*space)]));
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
        if (d == self || space->reads_in_place()) {
          EXPECT_EQ(*reinterpret_cast<const float*>(space->row_address(frame, d, 4) + 4), value(d, 4, 1));
        } else {
          EXPECT_THAT(refusal_of([&] { space->row_address(frame, d, 4); }), HasSubstr("memory of another process"));
        }
        if (d != self) bytes += (std::ssize(rows) + 2) * kCols * 4;
      }
      space->close(frame);
    }
    EXPECT_EQ(space->traffic().bytes, bytes);
    EXPECT_EQ(space->traffic().gets, 20 * 2 * (devices - 1));
  });
}

void SpaceContract::strides_differ() const {
  constexpr std::int64_t kApart = 7;
  const auto arenas = arenas_of(ranks.count(), 60);
  ranks.run([&](comm::Communicator& communicator) {
    const auto space = communicator.make_space(link);
    const int from = next_of(*space);
    const pgas::Frame frame = space->open(shared(arenas[self_of(*space)]));
    std::vector<NodeId> rows(50);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<NodeId>(59 - i);
    std::vector<float> listed(rows.size() * kApart, -2);
    std::vector<float> ranged(40 * kApart, -2);
    space->get_rows(frame, from, rows, kCols * 4, local(&listed, kApart));
    space->wait(space->get_range(frame, from, 11, kCols * 4, local(&ranged, kApart)));
    const auto expect_rows = [&](const std::vector<float>& got, const std::function<std::int64_t(std::int64_t)>& row) {
      for (std::int64_t i = 0; i < std::ssize(got); ++i) {
        const std::int64_t col = i % kApart;
        EXPECT_EQ(got[static_cast<std::size_t>(i)], col < kCols ? value(from, row(i / kApart), col) : -2) << i;
      }
    };
    expect_rows(listed, [](std::int64_t i) { return 59 - i; });
    expect_rows(ranged, [](std::int64_t i) { return 11 + i; });
    space->close(frame);
  });
}

void SpaceContract::frames_may_be_open_side_by_side() const {
  const int devices = ranks.count();
  const auto first = arenas_of(devices, 3);
  const auto arenas = arenas_of(2 * devices, 3);  // the second frame shows the later half of these
  ranks.run([&](comm::Communicator& communicator) {
    const auto space = communicator.make_space(link);
    const int from = next_of(*space);
    std::vector<float> got_a(kCols, -2);
    std::vector<float> got_b(kCols, -2);
    std::vector<float> got_c(kCols, -2);
    const pgas::Frame a = space->open(shared(first[self_of(*space)]));
    const pgas::Token from_a = space->get_range(a, from, 0, kCols * 4, local(&got_a));
    const pgas::Frame b = space->open(shared(arenas[self_of(*space) + static_cast<std::size_t>(devices)]));
    const pgas::Token from_b = space->get_range(b, from, 1, kCols * 4, local(&got_b));
    space->wait(from_a);
    space->close(a);
    space->wait(from_b);
    const pgas::Frame c = space->open(shared(first[self_of(*space)]));  // the place of a is free again
    EXPECT_EQ(c, a);
    space->wait(space->get_range(c, from, 2, kCols * 4, local(&got_c)));
    space->close(b);
    space->close(c);
    EXPECT_EQ(got_a[0], value(from, 0, 0));
    EXPECT_EQ(got_b[0], value(from + devices, 1, 0));
    EXPECT_EQ(got_c[0], value(from, 2, 0));
  });
}

void SpaceContract::many_gets_may_be_under_way() const {
  const auto arenas = arenas_of(ranks.count(), 100);
  ranks.run([&](comm::Communicator& communicator) {
    const auto space = communicator.make_space(link);
    const int from = next_of(*space);
    const pgas::Frame frame = space->open(shared(arenas[self_of(*space)]));
    for (int round = 0; round < 3; ++round) {
      std::vector<std::vector<float>> got(100, std::vector<float>(kCols, -2));
      std::vector<pgas::Token> tokens;
      for (std::int64_t r = 0; r < 100; ++r)
        tokens.push_back(space->get_range(frame, from, r, kCols * 4, local(&got[static_cast<std::size_t>(r)])));
      const auto expect_before = [&](std::int64_t end) {
        for (std::int64_t r = 0; r < end; ++r) EXPECT_EQ(got[static_cast<std::size_t>(r)][1], value(from, r, 1));
      };
      space->wait(tokens[30]);
      expect_before(31);
      space->wait(tokens[10]);  // long come
      space->wait(tokens[99]);
      expect_before(100);
    }
    space->close(frame);
  });
}

void SpaceContract::rows_keep_their_values_until_close() const {
  const auto count = static_cast<std::size_t>(ranks.count());
  std::vector<std::vector<float>> arenas(count, std::vector<float>(kStride));
  ranks.run([&](comm::Communicator& communicator) {
    const auto space = communicator.make_space(link);
    std::vector<float>& own = arenas[self_of(*space)];
    for (int round = 0; round < 20; ++round) {
      own.assign(kStride, static_cast<float>(round));
      const pgas::Frame frame = space->open(shared(own));
      if (round % space->devices() == space->device()) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      for (int d = 0; d < space->devices(); ++d) {
        std::vector<float> got(kCols, -2);
        space->wait(space->get_range(frame, d, 0, kCols * 4, local(&got)));
        EXPECT_THAT(got, Each(static_cast<float>(round))) << "of device " << d;
      }
      space->close(frame);
    }
  });
}

void SpaceContract::a_device_may_have_no_rows() const {
  const auto arenas = arenas_of(ranks.count(), [](int device) { return device == 0 ? 4 : 0; });
  ranks.run([&](comm::Communicator& communicator) {
    const auto space = communicator.make_space(link);
    const pgas::Frame frame = space->open(shared(arenas[self_of(*space)]));
    std::vector<float> got(4 * kCols, -2);
    std::vector<float> none;
    for (int d = 1; d < space->devices(); ++d) space->get_rows(frame, d, {}, kCols * 4, local(&none));
    space->wait(space->get_range(frame, 0, 0, kCols * 4, local(&got)));
    EXPECT_EQ(got[3 * kCols], value(0, 3, 0));
    space->close(frame);
  });
}

void SpaceContract::what_is_asked_for_is_looked_at() const {
  const auto arenas = arenas_of(ranks.count(), 2);
  ranks.run([&](comm::Communicator& communicator) {
    const auto space = communicator.make_space(link);
    const int from = next_of(*space);
    std::vector<float> got(kCols);
    const pgas::Frame frame = space->open(shared(arenas[self_of(*space)]));
    const auto asks = [&](int device, NodeId row) {
      const std::vector<NodeId> rows = {row};
      return refusal_of([&] { space->wait(space->get_rows(frame, device, rows, kCols * 4, local(&got))); });
    };
    EXPECT_EQ(asks(from, 1), "nothing");
    EXPECT_THAT(asks(from, 2), HasSubstr("has no row 2 of 2"));
    EXPECT_THAT(asks(space->devices(), 0), HasSubstr("there is no device"));
    const pgas::Token last = space->get_range(frame, from, 0, kCols * 4, local(&got));
    if (!space->reads_in_place()) {  // where rows come by themselves they may be there by now
      EXPECT_THAT(refusal_of([&] { space->close(frame); }), HasSubstr("gets are under way"));
    }
    space->wait(last);
    space->close(frame);
    EXPECT_THAT(refusal_of([&] { space->get_range(frame, from, 0, kCols * 4, local(&got)); }),
                HasSubstr("between open and close"));
  });
}

void SpaceContract::gets_are_noted() const {
  const auto arenas = arenas_of(ranks.count(), 9);
  std::vector<pgas::Timeline> timelines(static_cast<std::size_t>(ranks.count()));
  ranks.run([&](comm::Communicator& communicator) {
    const auto space = communicator.make_space(link);
    pgas::Timeline& timeline = timelines[self_of(*space)];
    space->note_in(&timeline);
    const pgas::Frame frame = space->open(shared(arenas[self_of(*space)]));
    std::vector<float> got(9 * kCols);
    for (int d = 0; d < space->devices(); ++d) space->wait(space->get_range(frame, d, 0, kCols * 4, local(&got)));
    space->close(frame);
    std::vector<std::int64_t> bytes(static_cast<std::size_t>(space->devices()));
    std::int64_t waits = 0;
    for (const pgas::Timeline::Span& span : timeline.spans()) {
      EXPECT_LE(span.begin, span.end);
      if (span.what == pgas::Activity::kGet) bytes[static_cast<std::size_t>(span.from)] += span.bytes;
      waits += span.what == pgas::Activity::kWait ? 1 : 0;
    }
    for (int d = 0; d < space->devices(); ++d)
      EXPECT_EQ(bytes[static_cast<std::size_t>(d)], d == space->device() ? 0 : 9 * kCols * 4);
    EXPECT_EQ(waits, space->devices());
    space->note_in(nullptr);
  });
}

}  // namespace gneiss::testing
