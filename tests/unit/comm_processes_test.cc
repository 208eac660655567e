// Ranks that are forked processes: what they exchange and sum is what threads would, and a lost one ends the others.
//
// A test's body runs in every process. What a child finds wrong goes into memory that all share, and rank 0 looks at
// it; then children end without a word.
#include "comm/processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "comm/loopback.h"

namespace gneiss::comm {
namespace {

using ::testing::HasSubstr;

/// Numbers that all processes see.
class Board {
 public:
  Board()
      : values_(new (mmap(nullptr, sizeof(Values), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                    Values()) {}
  std::atomic<int>& operator[](int i) { return (*values_)[static_cast<std::size_t>(i)]; }

 private:
  using Values = std::array<std::atomic<int>, 16>;
  Values* values_;
};

/// body(communicator) in `count` processes: what it returns is on the board at the rank, 100 + code where it threw.
void in_processes(int count, Board* board, const std::function<int(Communicator&)>& body) {
  std::unique_ptr<Ranks> ranks = fork_ranks(count);
  int result = 0;
  try {
    ranks->run([&](Communicator& communicator) { result = body(communicator); });
  } catch (const Error& error) {
    result = 100 + static_cast<int>(error.code());
  }
  (*board)[ranks->first()] = result;
  if (ranks->first() > 0) {
    ranks.reset();
    std::_Exit(0);
  }
}

/// Some numbers of each rank, more than a window holds.
std::vector<float> numbers(int rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>((i * 7919 + static_cast<std::size_t>(rank) * 104729) % 1000003) * 1e-3F - 400;
  return values;
}

TEST(Processes, SumsHaveTheBitsOfThreads) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{700001}}) {
    std::vector<float> expected;
    loopback(3)->run([&](Communicator& c) {
      std::vector<float> values = numbers(c.rank(), count);
      c.sum(std::span<float>(values));
      if (c.rank() == 0) expected = values;
    });
    Board board;
    in_processes(3, &board, [&](Communicator& c) {
      for (int again = 0; again < 3; ++again) {
        std::vector<float> values = numbers(c.rank(), count);
        c.sum(std::span<float>(values));
        if (values != expected) return 1;
      }
      return c.traffic().sums == 3 ? 42 : 2;
    });
    for (int p = 0; p < 3; ++p) EXPECT_EQ(board[p], 42) << count;
  }
}

TEST(Processes, EveryRankGetsWhatIsForIt) {
  for (const std::int64_t rows : {3, 200000}) {  // of 8 bytes: the second is more than a window
    Board board;
    in_processes(4, &board, [&](Communicator& c) {
      // Rank r sends rank p r + p times `rows` numbers, all 100 r + p.
      std::vector<std::int64_t> send_at = {0};
      std::vector<std::int64_t> receive_at = {0};
      std::vector<std::int64_t> send;
      std::vector<std::int64_t> expected;
      for (int p = 0; p < 4; ++p) {
        const auto count = static_cast<std::size_t>(rows * (c.rank() + p));
        send.insert(send.end(), count, 100 * c.rank() + p);
        expected.insert(expected.end(), count, 100 * p + c.rank());
        send_at.push_back(std::ssize(send));
        receive_at.push_back(std::ssize(expected));
      }
      std::vector<std::int64_t> got(expected.size());
      const Request request = c.start_exchange({std::as_bytes(std::span(send)), send_at},
                                               {std::as_writable_bytes(std::span(got)), receive_at}, 8);
      double sum[] = {1};
      c.sum(sum);
      c.wait(request);
      return got == expected && sum[0] == 4 ? 42 : 1;
    });
    for (int p = 0; p < 4; ++p) EXPECT_EQ(board[p], 42) << rows;
  }
}

TEST(Processes, OneThatFailsEndsAllAndIsNamed) {
  Board board;
  std::unique_ptr<Ranks> ranks = fork_ranks(3);
  std::string said;
  try {
    ranks->run([&](Communicator& c) {
      double values[] = {1};
      c.sum(values);
      if (c.rank() == 1) throw Error(ErrorCode::kBadData, "row 7 is odd", "some.npy");
      c.sum(values);
    });
  } catch (const Error& error) {
    said = error.message();
    board[ranks->first()] = error.code() == ErrorCode::kPeerLost ? 6 : 3;
  }
  if (ranks->first() > 0) {
    ranks.reset();
    std::_Exit(0);
  }
  ranks.reset();
  EXPECT_EQ(said, "rank 1 of 3 is lost: row 7 is odd (some.npy)");
  EXPECT_EQ(board[0], 6);
  EXPECT_EQ(board[1], 3);
  EXPECT_EQ(board[2], 6);
}

TEST(Processes, AKilledOneEndsTheOthersSoon) {
  for (const int killed : {1, 2}) {
    Board board;
    std::unique_ptr<Ranks> ranks = fork_ranks(3);
    std::string said;
    try {
      ranks->run([&](Communicator& c) {
        double values[] = {1};
        c.sum(values);
        if (c.rank() == killed) raise(SIGKILL);
        for (int i = 0; i < 100; ++i) c.sum(values);
      });
    } catch (const Error& error) {
      said = error.message();
      board[ranks->first()] = error.code() == ErrorCode::kPeerLost ? 6 : 1;
    }
    if (ranks->first() > 0) {
      ranks.reset();
      std::_Exit(0);
    }
    ranks.reset();
    EXPECT_EQ(said, "rank " + std::to_string(killed) + " of 3 is lost: its process ended");
    EXPECT_EQ(board[0], 6);
    EXPECT_EQ(board[killed], 0);
    EXPECT_EQ(board[3 - killed], 6);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
  }
}

TEST(Processes, ComeToTheEndAfterAnErrorToo) {
  for (const bool killed : {false, true}) {
    Board board;
    std::unique_ptr<Ranks> ranks = fork_ranks(3);
    Communicator* mine = nullptr;
    try {
      ranks->run([&](Communicator& c) {
        mine = &c;
        double values[] = {1};
        c.sum(values);
        if (c.rank() == 1) {
          if (killed) raise(SIGKILL);
          throw Error(ErrorCode::kBadData, "row 7 is odd");
        }
        c.sum(values);
      });
    } catch (const Error&) {
    }
    board[ranks->first()] = mine->all_come_at_last() ? 1 : 2;
    if (ranks->first() > 0) {
      ranks.reset();
      std::_Exit(0);
    }
    ranks.reset();
    EXPECT_EQ(board[0], killed ? 2 : 1);
    EXPECT_EQ(board[1], killed ? 0 : 1);
    EXPECT_EQ(board[2], killed ? 2 : 1);
  }
}

/// It would wait for ever: the others meet it no more.
TEST(Processes, OneThatFailedMeetsNobodyAnyMore) {
  Board board;
  std::unique_ptr<Ranks> ranks = fork_ranks(2);
  const auto meet = [&](bool fails) {
    try {
      ranks->run([&](Communicator& c) {
        if (fails && c.rank() == 0) throw Error(ErrorCode::kDisk, "the disk is full");
        double values[] = {1};
        c.sum(values);
      });
    } catch (const Error& error) {
      board[ranks->first()] = static_cast<int>(error.code());
    }
  };
  meet(true);
  if (ranks->first() > 0) {
    ranks.reset();
    std::_Exit(0);
  }
  EXPECT_EQ(board[0], static_cast<int>(ErrorCode::kDisk));
  meet(false);
  EXPECT_EQ(board[0], static_cast<int>(ErrorCode::kPeerLost));
  ranks.reset();
  EXPECT_EQ(board[1], static_cast<int>(ErrorCode::kPeerLost));
}

TEST(Processes, CallsThatDoNotMatchAreFound) {
  Board board;
  in_processes(2, &board, [](Communicator& c) {
    std::vector<double> values(static_cast<std::size_t>(c.rank()) + 1);
    c.sum(std::span<double>(values));
    return 0;
  });
  const int internal = 100 + static_cast<int>(ErrorCode::kInternal);
  EXPECT_EQ(board[0], internal);
  EXPECT_EQ(board[1], internal);
}

TEST(Processes, AProcessOfSeveralThreadsIsNotForked) {
  std::atomic<bool> ends = false;
  std::thread other([&] {
    while (!ends) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  std::string said;
  try {
    fork_ranks(2);
  } catch (const Error& error) {
    said = error.message();
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  }
  ends = true;
  other.join();
  EXPECT_THAT(said, HasSubstr("this process runs 2 threads"));
}

}  // namespace
}  // namespace gneiss::comm
