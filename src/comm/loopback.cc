// Ranks as threads: each shows the others where its data lie; when all have come to a call, everybody copies what is
// for it; when all have copied, the call is through.
//
// Calls are numbered, and the ranks' calls of one number meet in a slot. There are more slots than calls open at a
// time, so that a rank can start the next one while others are behind. All is counted under one lock; threads that wait
// sleep, because there may be more ranks than processors. Three things end a wait early: a rank that aborts, a rank
// that has returned while others wait, and calls that do not match. A sum is cut into one piece a rank: each adds its
// piece of all ranks in their order and writes it to all of them.
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

constexpr std::size_t kSlots = 64;

/// Where the threads meet.
class Meeting {
 public:
  explicit Meeting(int ranks) : ranks_(ranks), slots_(kSlots), left_(static_cast<std::size_t>(ranks), false) {
    for (std::size_t i = 0; i < kSlots; ++i) {
      slots_[i].number = i;
      slots_[i].calls.resize(static_cast<std::size_t>(ranks));
    }
  }

  /// Before anybody comes: all are expected.
  void open() {
    const std::lock_guard lock(mutex_);
    left_.assign(left_.size(), false);
  }

  /// The call of a rank that all ranks have come to.
  const Call& call(std::uint64_t number, int rank) { return slot(number).calls[static_cast<std::size_t>(rank)]; }

  /// Shows a call, if its slot is free. Errors: kPeerLost
  bool post(std::uint64_t number, int rank, const Call& call) {
    std::unique_lock lock(mutex_);
    if (lost_) throw_lost(&lock);
    Slot& at = slot(number);
    if (at.number != number) return false;
    at.calls[static_cast<std::size_t>(rank)] = call;
    if (++at.posted == ranks_) notify();
    return true;
  }

  /// May a rank copy what is for it? Not when one was lost: what its call names may be gone. Whoever may says `take` or
  /// `give_up` afterwards.
  bool begin_to_take(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    if (lost_ || slot(number).posted != ranks_) return false;
    ++taking_;
    return true;
  }

  /// A rank has copied what is for it.
  void take(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    --taking_;
    if (++slot(number).taken == ranks_ || lost_) notify();
  }

  /// A rank could not copy what is for it.
  void give_up() {
    const std::lock_guard lock(mutex_);
    --taking_;
    notify();
  }

  /// Have all copied? Each rank sees that once; the last one makes the slot free.
  bool all_taken(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    Slot& at = slot(number);
    if (at.taken != ranks_) return false;
    if (++at.seen == ranks_) {
      at.number += kSlots;
      at.posted = at.taken = at.seen = 0;
      for (Call& call : at.calls) call = {};
      notify();
    }
    return true;
  }

  std::uint64_t changes() {
    const std::lock_guard lock(mutex_);
    return changes_;
  }

  /// Sleeps until something has changed since `seen`. Errors: kPeerLost if a rank cannot come to call `number`.
  void wait_for_change(std::uint64_t seen, std::uint64_t number) {
    std::unique_lock lock(mutex_);
    if (changes_ != seen) return;  // the call may be through, whoever was lost since
    if (!lost_) look_for_the_lost(number);
    if (lost_) throw_lost(&lock);
    changed_.wait(lock, [&] { return changes_ != seen; });
  }

  /// A rank has returned: it comes to no more calls.
  void leave(int rank) {
    const std::lock_guard lock(mutex_);
    left_[static_cast<std::size_t>(rank)] = true;
    notify();
  }

  void abort(int rank, const std::string& why) {
    const std::lock_guard lock(mutex_);
    lose(rank, why);
  }

  /// Throws kPeerLost if a rank was lost.
  void check() {
    std::unique_lock lock(mutex_);
    if (lost_) throw_lost(&lock);
  }

 private:
  /// The calls of one number, and how many ranks are how far with them.
  struct Slot {
    std::uint64_t number = 0;
    std::vector<Call> calls;
    int posted = 0;
    int taken = 0;
    int seen = 0;
  };

  Slot& slot(std::uint64_t number) { return slots_[number % kSlots]; }

  void notify() {
    ++changes_;
    changed_.notify_all();
  }

  void look_for_the_lost(std::uint64_t number) {
    const Slot& at = slot(number);
    if (at.number != number) return;
    for (int p = 0; p < ranks_; ++p) {
      const auto rank = static_cast<std::size_t>(p);
      if (!left_[rank] || at.calls[rank].act != Act::kNone) continue;
      return lose(p, "ended while others wait for it");
    }
  }

  void lose(int rank, const std::string& why) {
    if (lost_) return;
    lost_ = rank;
    why_ = why;
    notify();
  }

  /// When nobody copies any more what this rank's calls name, which goes with it.
  [[noreturn]] void throw_lost(std::unique_lock<std::mutex>* lock) {
    changed_.wait(*lock, [&] { return taking_ == 0; });
    throw Error(ErrorCode::kPeerLost, fmt::format("rank {} of {} is lost: {}", *lost_, ranks_, why_));
  }

  const int ranks_;
  std::vector<Slot> slots_;
  std::vector<bool> left_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t changes_ = 0;
  int taking_ = 0;  ///< ranks that copy at the time
  std::optional<int> lost_;
  std::string why_;
};

class Loopback final : public Communicator {
 public:
  Loopback(Meeting* meeting, int rank, int ranks) : meeting_(*meeting), rank_(rank), ranks_(ranks) {
    open_.reserve(kSlots);
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  void abort(const std::string& why) noexcept override { meeting_.abort(rank_, why); }

 private:
  /// A call of this rank that is not waited for yet.
  struct Open {
    std::uint64_t number = 0;
    Call call;
    RowsByRank<std::byte> receive;
    bool taken = false;
    bool through = false;
  };

  Request do_start_exchange(RowsByRank<const std::byte> send, RowsByRank<std::byte> receive,
                            std::int64_t row_bytes) override {
    return start({Act::kExchange, send.bytes.data(), send.at, row_bytes, nullptr, 0}, receive);
  }
  Request do_start_sum(std::span<float> values) override {
    return start({Act::kSumFloats, nullptr, {}, 0, values.data(), values.size()}, {});
  }
  Request do_start_sum(std::span<double> values) override {
    return start({Act::kSumDoubles, nullptr, {}, 0, values.data(), values.size()}, {});
  }

  Request start(const Call& call, RowsByRank<std::byte> receive) {
    GNEISS_ASSERT(open_.size() < kSlots, "{} calls are open", open_.size());
    for (;;) {
      const std::uint64_t seen = meeting_.changes();
      do_progress();
      if (meeting_.post(next_, rank_, call)) break;
      meeting_.wait_for_change(seen, next_ - kSlots);
    }
    open_.push_back({next_, call, receive, false, false});
    return {++next_};
  }

  void do_progress() override {
    for (Open& open : open_) {
      if (!open.taken && meeting_.begin_to_take(open.number)) {
        try {
          take(open);
        } catch (...) {
          meeting_.give_up();
          throw;
        }
        open.taken = true;
        meeting_.take(open.number);
      }
      if (open.taken && !open.through) open.through = meeting_.all_taken(open.number);
    }
  }

  void do_wait(Request request) override {
    const std::uint64_t number = request.number - 1;
    const auto open = std::find_if(open_.begin(), open_.end(), [&](const Open& o) { return o.number == number; });
    GNEISS_ASSERT(open != open_.end(), "rank {} waits for call {}, which is not open", rank_, request.number);
    for (;;) {
      const std::uint64_t seen = meeting_.changes();
      do_progress();
      if (open->through) break;
      meeting_.wait_for_change(seen, number);
    }
    open_.erase(open);
  }

  void take(const Open& open) {
    check_calls(open);
    switch (open.call.act) {
      case Act::kExchange:
        return copy_rows(open);
      case Act::kSumFloats:
        return sum_piece<float>(open);
      case Act::kSumDoubles:
        return sum_piece<double>(open);
      case Act::kNone:
        break;
    }
  }

  /// All ranks see all calls: all find the same fault.
  void check_calls(const Open& open) {
    const Call& first = meeting_.call(open.number, 0);
    for (int p = 0; p < ranks_; ++p) {
      const Call& theirs = meeting_.call(open.number, p);
      GNEISS_ASSERT(theirs.act == first.act && theirs.count == first.count, "rank 0 makes {} of {}, rank {} {} of {}",
                    name_of(first.act), first.count, p, name_of(theirs.act), theirs.count);
    }
  }

  void copy_rows(const Open& open) {
    const RowsByRank<std::byte>& receive = open.receive;
    for (int p = 0; p < ranks_; ++p) {
      const Call& from = meeting_.call(open.number, p);
      const auto me = static_cast<std::size_t>(rank_);
      const auto them = static_cast<std::size_t>(p);
      const std::int64_t rows = from.at[me + 1] - from.at[me];
      const std::int64_t room = receive.at[them + 1] - receive.at[them];
      GNEISS_ASSERT(rows == room && from.row_bytes == open.call.row_bytes,
                    "rank {} sends rank {} {} rows of {} bytes, which expects {} of {}", p, rank_, rows, from.row_bytes,
                    room, open.call.row_bytes);
      if (rows == 0) continue;
      std::memcpy(receive.bytes.data() + receive.at[them] * from.row_bytes, from.send + from.at[me] * from.row_bytes,
                  static_cast<std::size_t>(rows * from.row_bytes));
    }
  }

  template <class T>
  void sum_piece(const Open& open) {
    const std::size_t count = open.call.count;
    const std::size_t begin = count * static_cast<std::size_t>(rank_) / static_cast<std::size_t>(ranks_);
    const std::size_t end = count * (static_cast<std::size_t>(rank_) + 1) / static_cast<std::size_t>(ranks_);
    const auto of = [&](int p) { return static_cast<T*>(meeting_.call(open.number, p).values); };
    for (std::size_t i = begin; i < end; ++i) {
      T total = of(0)[i];
      for (int p = 1; p < ranks_; ++p) total += of(p)[i];
      for (int p = 0; p < ranks_; ++p) of(p)[i] = total;
    }
  }

  Meeting& meeting_;
  int rank_;
  int ranks_;
  std::uint64_t next_ = 0;  ///< number of the next call
  std::vector<Open> open_;
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
