// Ranks as threads: each shows the others where its data lie, all meet, everybody copies what is for it, all meet
// again.
//
// A meeting is a counter under a lock; threads that wait sleep, because there may be more ranks than processors. Three
// things end a wait early: a rank that aborts, a rank that has returned while others wait, and calls that do not match.
// A sum is cut into one piece a rank: each adds its piece of all ranks in their order and writes it to all of them.
#include "comm/loopback.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"

namespace gneiss::comm {
namespace {

enum class Act : std::uint8_t { kNone, kExchange, kSumFloats, kSumDoubles };

std::string_view name_of(Act act) {
  switch (act) {
    case Act::kNone:
      return "nothing";
    case Act::kExchange:
      return "an exchange";
    case Act::kSumFloats:
      return "a sum of floats";
    case Act::kSumDoubles:
      return "a sum of doubles";
  }
  return "";
}

/// What a rank is about to do, for the others to see.
struct Call {
  Act act = Act::kNone;
  const std::byte* send = nullptr;
  std::span<const std::int64_t> at;
  std::int64_t row_bytes = 0;
  void* values = nullptr;
  std::size_t count = 0;
};

/// Where the threads meet.
class Meeting {
 public:
  explicit Meeting(int ranks) : ranks_(ranks), calls_(static_cast<std::size_t>(ranks)) {}

  /// Before anybody comes: all are expected.
  void open() {
    const std::lock_guard lock(mutex_);
    left_ = 0;
  }

  Call& call(int rank) { return calls_[static_cast<std::size_t>(rank)]; }

  /// Waits until all ranks are here. Errors: kPeerLost if one cannot come.
  void wait() {
    std::unique_lock lock(mutex_);
    if (lost_) throw_lost();
    if (++waiting_ == ranks_) {
      waiting_ = 0;
      ++number_;
      changed_.notify_all();
      return;
    }
    if (waiting_ + left_ == ranks_) lose(last_left_, "ended while others wait for it");
    const std::uint64_t mine = number_;
    changed_.wait(lock, [&] { return number_ != mine || lost_; });
    if (number_ == mine) throw_lost();
  }

  /// A rank has returned: it comes to no more meetings.
  void leave(int rank) {
    const std::lock_guard lock(mutex_);
    ++left_;
    last_left_ = rank;
    if (waiting_ > 0 && waiting_ + left_ == ranks_) lose(rank, "ended while others wait for it");
  }

  void abort(int rank, const std::string& why) {
    const std::lock_guard lock(mutex_);
    lose(rank, why);
  }

  /// Throws kPeerLost if a rank was lost.
  void check() {
    const std::lock_guard lock(mutex_);
    if (lost_) throw_lost();
  }

 private:
  void lose(int rank, const std::string& why) {
    if (lost_) return;
    lost_ = rank;
    why_ = why;
    changed_.notify_all();
  }

  [[noreturn]] void throw_lost() const {
    throw Error(ErrorCode::kPeerLost, fmt::format("rank {} of {} is lost: {}", *lost_, ranks_, why_));
  }

  const int ranks_;
  std::vector<Call> calls_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  int left_ = 0;
  int last_left_ = 0;
  std::uint64_t number_ = 0;
  std::optional<int> lost_;
  std::string why_;
};

class Loopback final : public Communicator {
 public:
  Loopback(Meeting* meeting, int rank, int ranks) : meeting_(*meeting), rank_(rank), ranks_(ranks) {}

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  void abort(const std::string& why) noexcept override { meeting_.abort(rank_, why); }

 private:
  void do_exchange(RowsByRank<const std::byte> send, RowsByRank<std::byte> receive, std::int64_t row_bytes) override {
    meet({Act::kExchange, send.bytes.data(), send.at, row_bytes, nullptr, 0});
    for (int p = 0; p < ranks_; ++p) {
      const Call& from = meeting_.call(p);
      const auto me = static_cast<std::size_t>(rank_);
      const auto them = static_cast<std::size_t>(p);
      const std::int64_t rows = from.at[me + 1] - from.at[me];
      const std::int64_t room = receive.at[them + 1] - receive.at[them];
      GNEISS_ASSERT(rows == room && from.row_bytes == row_bytes,
                    "rank {} sends rank {} {} rows of {} bytes, which expects {} of {}", p, rank_, rows, from.row_bytes,
                    room, row_bytes);
      if (rows == 0) continue;
      std::memcpy(receive.bytes.data() + receive.at[them] * row_bytes, from.send + from.at[me] * row_bytes,
                  static_cast<std::size_t>(rows * row_bytes));
    }
    meeting_.wait();
  }

  void do_sum(std::span<float> values) override { sum_pieces(Act::kSumFloats, values); }
  void do_sum(std::span<double> values) override { sum_pieces(Act::kSumDoubles, values); }

  template <class T>
  void sum_pieces(Act act, std::span<T> values) {
    meet({act, nullptr, {}, 0, values.data(), values.size()});
    const std::size_t begin = values.size() * static_cast<std::size_t>(rank_) / static_cast<std::size_t>(ranks_);
    const std::size_t end = values.size() * (static_cast<std::size_t>(rank_) + 1) / static_cast<std::size_t>(ranks_);
    for (std::size_t i = begin; i < end; ++i) {
      T total = of<T>(0)[i];
      for (int p = 1; p < ranks_; ++p) total += of<T>(p)[i];
      for (int p = 0; p < ranks_; ++p) of<T>(p)[i] = total;
    }
    meeting_.wait();
  }

  template <class T>
  T* of(int rank) {
    return static_cast<T*>(meeting_.call(rank).values);
  }

  /// Shows the call, waits for everybody's and holds them against each other. All ranks see all calls: all find the
  /// same fault.
  void meet(const Call& call) {
    meeting_.call(rank_) = call;
    meeting_.wait();
    for (int p = 0; p < ranks_; ++p) {
      const Call& theirs = meeting_.call(p);
      const Call& first = meeting_.call(0);
      GNEISS_ASSERT(theirs.act == first.act && theirs.count == first.count, "rank 0 makes {} of {}, rank {} {} of {}",
                    name_of(first.act), first.count, p, name_of(theirs.act), theirs.count);
    }
  }

  Meeting& meeting_;
  int rank_;
  int ranks_;
};

class LoopbackRanks final : public Ranks {
 public:
  explicit LoopbackRanks(int count) : meeting_(std::max(1, count)) {
    for (int rank = 0; rank < std::max(1, count); ++rank)
      members_.push_back(std::make_unique<Loopback>(&meeting_, rank, std::max(1, count)));
  }

  int count() const override { return static_cast<int>(members_.size()); }
  int here() const override { return count(); }
  int first() const override { return 0; }

  void run(const Body& body) override {
    std::exception_ptr first;
    const auto act = [&](int rank) {
      try {
        body(*members_[static_cast<std::size_t>(rank)]);
        meeting_.leave(rank);
        return;
      } catch (const Error& error) {
        if (rank == 0) first = std::current_exception();
        meeting_.abort(rank, error.message() + (error.where().empty() ? "" : " (" + error.where() + ")"));
      } catch (const std::exception& error) {
        if (rank == 0) first = std::current_exception();
        meeting_.abort(rank, error.what());
      }
    };
    meeting_.open();
    std::vector<std::thread> threads;
    for (int rank = 1; rank < count(); ++rank) {
      try {
        threads.emplace_back(act, rank);
      } catch (const std::system_error& error) {
        meeting_.abort(rank, fmt::format("no thread could be started for it: {}", error.what()));
        break;
      }
    }
    act(0);
    for (std::thread& thread : threads) thread.join();
    if (first) std::rethrow_exception(first);
    meeting_.check();
  }

 private:
  Meeting meeting_;
  std::vector<std::unique_ptr<Loopback>> members_;
};

}  // namespace

std::unique_ptr<Ranks> loopback(int count) { return std::make_unique<LoopbackRanks>(count); }

}  // namespace gneiss::comm
