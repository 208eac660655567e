// The memory is mapped before the fork and has no name, so that nothing can be left behind. In it each rank has two
// windows, and there are two for results: what is larger goes through in pieces, by turns through one pair and the
// other. A piece of a sum is written to the rank's window; when all have come, each rank adds its part of all windows
// in the order of the ranks and writes it to the results; when all have come again, everybody copies these. The next
// piece but one may then use the same windows: whoever gets there has met all others at the piece between.
//
// Ranks meet by counters and a futex. Who waits looks twenty times a second whether somebody is lost: each process
// holds one end of a pipe, which the system closes when it ends, however it ends.
#include "comm/processes.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <filesystem>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"

namespace gneiss::comm {
namespace {

constexpr std::size_t kWindowBytes = std::size_t{1} << 20;
constexpr auto kLook = std::chrono::milliseconds(50);
constexpr auto kLastWait = std::chrono::seconds(10);  ///< of rank 0 for others to end by themselves

enum class Act : std::uint8_t { kNone, kExchange, kSumFloats, kSumDoubles };

/// What a rank shows of its call, beside a window.
struct Shown {
  Act act = Act::kNone;
  std::int64_t bytes = 0;  ///< of all pieces
  std::int64_t row_bytes = 0;
  std::array<std::int64_t, kMostProcesses + 1> at{};
};

struct Member {
  std::atomic<std::uint64_t> meetings = 0;  ///< that it has come to
  std::atomic<bool> at_last = false;        ///< it has come to the end
  std::array<Shown, 2> shown;
  std::array<char, 512> why{};  ///< it cannot go on; written before Control::lost
};

/// At the beginning of the shared memory.
struct Control {
  std::atomic<std::uint32_t> bell = 0;  ///< rings when a rank comes to a meeting, or is lost
  std::atomic<std::int32_t> lost = -1;  ///< the first rank that aborted
  std::array<Member, kMostProcesses> members;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

void futex(std::atomic<std::uint32_t>* word, int act, std::uint32_t value, const timespec* limit) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(word), act, value, limit, nullptr, 0);
}

/// Memory that forked processes share.
class SharedMemory {
 public:
  explicit SharedMemory(int ranks)
      : bytes_(control_bytes() + 2 * (static_cast<std::size_t>(ranks) + 1) * kWindowBytes), ranks_(ranks) {
    void* const got = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    GNEISS_CHECK(got != MAP_FAILED, ErrorCode::kOutOfMemory, "{} processes cannot share {} bytes of memory: {}", ranks,
                 bytes_, std::strerror(errno));
    data_ = static_cast<std::byte*>(got);
    control_ = new (data_) Control();
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() { munmap(data_, bytes_); }

  Control& control() { return *control_; }
  std::byte* window(int turn, int rank) {
    const auto number = static_cast<std::size_t>(turn * (ranks_ + 1) + rank);
    return data_ + control_bytes() + number * kWindowBytes;
  }
  std::byte* results(int turn) { return window(turn, ranks_); }

 private:
  static constexpr std::size_t control_bytes() { return (sizeof(Control) + 4095) / 4096 * 4096; }

  std::size_t bytes_;
  int ranks_;
  std::byte* data_ = nullptr;
  Control* control_ = nullptr;
};

class ProcessRank final : public Communicator {
 public:
  /// `lives`: a pipe's end for each rank that hangs up when that process ends; -1: this one.
  ProcessRank(SharedMemory* memory, std::vector<int> lives, int rank, int ranks)
      : memory_(*memory), control_(memory->control()), lives_(std::move(lives)), rank_(rank), ranks_(ranks) {}

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  void abort(const std::string& why) noexcept override { lose(rank_, why.c_str()); }

  bool all_come_at_last() noexcept override {
    control_.members[static_cast<std::size_t>(rank_)].at_last.store(true);
    ring();
    for (;;) {
      const std::uint32_t heard = control_.bell.load();
      bool all = true;
      for (int p = 0; p < ranks_; ++p) {
        const bool ended = has_ended(p);  // looked at first: it may come and end in between
        if (control_.members[static_cast<std::size_t>(p)].at_last.load()) continue;
        if (ended) return false;
        all = false;
      }
      if (all) return true;
      wait_for_bell(heard);
    }
  }

  /// Errors: kPeerLost if a rank has aborted, be it this one: nobody comes to meet it any more.
  void check() const {
    const std::int32_t lost = control_.lost.load();
    if (lost >= 0) throw_lost(lost, control_.members[static_cast<std::size_t>(lost)].why.data());
  }

 private:
  Request do_start_exchange(RowsByRank<const std::byte> send, RowsByRank<std::byte> receive,
                            std::int64_t row_bytes) override {
    exchange_pieces(send, receive, row_bytes);
    return opened();
  }
  Request do_start_sum(std::span<float> values) override {
    sum_pieces(values, Act::kSumFloats);
    return opened();
  }
  Request do_start_sum(std::span<double> values) override {
    sum_pieces(values, Act::kSumDoubles);
    return opened();
  }
  /// A call is through when it was started.
  void do_progress() override {}
  void do_wait(Request request) override {
    const auto found = std::ranges::find(open_, request.number);
    GNEISS_ASSERT(found != open_.end(), "rank {} waits for call {}, which is not open", rank_, request.number);
    open_.erase(found);
  }

  Request opened() {
    open_.push_back(++calls_);
    return {calls_};
  }

  Shown& shown(int rank) {
    return control_.members[static_cast<std::size_t>(rank)].shown[static_cast<std::size_t>(turn_)];
  }

  /// What this rank is about to do, for the others to see at the next meeting.
  void show(Act act, std::int64_t bytes, std::int64_t row_bytes) {
    turn_ = 1 - turn_;
    shown(rank_).act = act;
    shown(rank_).bytes = bytes;
    shown(rank_).row_bytes = row_bytes;
  }

  template <class T>
  void sum_pieces(std::span<T> values, Act act) {
    constexpr std::size_t kPiece = kWindowBytes / sizeof(T);
    std::size_t first = 0;
    do {
      const std::span<T> piece = values.subspan(first, std::min(kPiece, values.size() - first));
      show(act, static_cast<std::int64_t>(values.size_bytes()), 0);
      std::copy(piece.begin(), piece.end(), reinterpret_cast<T*>(memory_.window(turn_, rank_)));
      meet();
      check_calls();
      add_part<T>(piece.size());
      meet();
      const T* const sums = reinterpret_cast<const T*>(memory_.results(turn_));
      std::copy(sums, sums + piece.size(), piece.begin());
      first += piece.size();
    } while (first < values.size());
  }

  template <class T>
  void add_part(std::size_t count) {
    const auto ranks = static_cast<std::size_t>(ranks_);
    const auto rank = static_cast<std::size_t>(rank_);
    T* const sums = reinterpret_cast<T*>(memory_.results(turn_));
    const auto of = [&](int p) { return reinterpret_cast<const T*>(memory_.window(turn_, p)); };
    for (std::size_t i = count * rank / ranks; i < count * (rank + 1) / ranks; ++i) {
      T total = of(0)[i];
      for (int p = 1; p < ranks_; ++p) total += of(p)[i];
      sums[i] = total;
    }
  }

  void exchange_pieces(RowsByRank<const std::byte> send, RowsByRank<std::byte> receive, std::int64_t row_bytes) {
    constexpr auto kPiece = static_cast<std::int64_t>(kWindowBytes);
    const std::int64_t bytes = send.at.back() * row_bytes;
    std::int64_t most = 0;
    std::int64_t first = 0;
    do {
      show(Act::kExchange, bytes, row_bytes);
      std::copy(send.at.begin(), send.at.end(), shown(rank_).at.begin());
      const std::int64_t mine = std::clamp<std::int64_t>(bytes - first, 0, kPiece);
      if (mine > 0)
        std::memcpy(memory_.window(turn_, rank_), send.bytes.data() + first, static_cast<std::size_t>(mine));
      meet();
      check_calls();
      for (int p = 0; p < ranks_; ++p) {
        most = std::max(most, shown(p).bytes);
        take_rows(p, first, receive);
      }
      first += kPiece;
    } while (first < most);
  }

  /// What lies in rank p's window for this rank; the window begins `first` bytes behind that rank's rows.
  void take_rows(int p, std::int64_t first, RowsByRank<std::byte> receive) {
    const Shown& from = shown(p);
    const auto me = static_cast<std::size_t>(rank_);
    const auto them = static_cast<std::size_t>(p);
    const std::int64_t rows = from.at[me + 1] - from.at[me];
    const std::int64_t room = receive.at[them + 1] - receive.at[them];
    GNEISS_ASSERT(rows == room && from.row_bytes == shown(rank_).row_bytes,
                  "rank {} sends rank {} {} rows of {} bytes, which expects {} of {}", p, rank_, rows, from.row_bytes,
                  room, shown(rank_).row_bytes);
    const std::int64_t begin = std::max(first, from.at[me] * from.row_bytes);
    const std::int64_t end =
        std::min(first + static_cast<std::int64_t>(kWindowBytes), from.at[me + 1] * from.row_bytes);
    if (begin >= end) return;
    std::byte* const to =
        receive.bytes.data() + receive.at[them] * from.row_bytes + (begin - from.at[me] * from.row_bytes);
    std::memcpy(to, memory_.window(turn_, p) + (begin - first), static_cast<std::size_t>(end - begin));
  }

  /// All ranks see all calls: all find the same fault.
  void check_calls() {
    const Shown& first = shown(0);
    for (int p = 1; p < ranks_; ++p) {
      const Shown& theirs = shown(p);
      GNEISS_ASSERT(theirs.act == first.act && (first.act == Act::kExchange || theirs.bytes == first.bytes),
                    "ranks 0 and {} make different calls: {} of {} bytes, {} of {}", p, static_cast<int>(first.act),
                    first.bytes, static_cast<int>(theirs.act), theirs.bytes);
    }
  }

  void ring() noexcept {
    control_.bell.fetch_add(1);
    futex(&control_.bell, FUTEX_WAKE, INT32_MAX, nullptr);
  }

  bool has_come(int rank) const {
    return control_.members[static_cast<std::size_t>(rank)].meetings.load() >= meetings_;
  }

  bool all_have_come() const {
    for (int p = 0; p < ranks_; ++p)
      if (!has_come(p)) return false;
    return true;
  }

  /// Until all ranks have come to this meeting. Errors: kPeerLost
  void meet() {
    control_.members[static_cast<std::size_t>(rank_)].meetings.store(++meetings_);
    ring();
    for (;;) {
      const std::uint32_t heard = control_.bell.load();
      if (all_have_come()) return;
      check();
      look_for_the_lost();
      wait_for_bell(heard);
    }
  }

  void wait_for_bell(std::uint32_t heard) noexcept {
    constexpr timespec kLimit = {0, std::chrono::nanoseconds(kLook).count()};
    futex(&control_.bell, FUTEX_WAIT, heard, &kLimit);
  }

  bool has_ended(int rank) const {
    const int end = lives_[static_cast<std::size_t>(rank)];
    if (end < 0) return false;  // this one
    pollfd life{end, 0, 0};
    return poll(&life, 1, 0) == 1 && (life.revents & POLLHUP) != 0;
  }

  /// The first one that is lost counts.
  void lose(int rank, const char* why) noexcept {
    std::array<char, 512>& words = control_.members[static_cast<std::size_t>(rank)].why;
    std::snprintf(words.data(), words.size(), "%s", why);
    std::int32_t none = -1;
    control_.lost.compare_exchange_strong(none, rank);
    ring();
  }

  /// A process that has ended comes to no more meetings.
  void look_for_the_lost() {
    for (int p = 0; p < ranks_; ++p) {
      if (!has_ended(p) || has_come(p)) continue;
      // It may have said why. If not, this is what all say, whichever ends after it.
      if (control_.lost.load() < 0) lose(p, "its process ended");
      check();
    }
  }

  [[noreturn]] void throw_lost(int rank, const char* why) const {
    throw Error(ErrorCode::kPeerLost, fmt::format("rank {} of {} is lost: {}", rank, ranks_, why));
  }

  SharedMemory& memory_;
  Control& control_;
  std::vector<int> lives_;
  int rank_;
  int ranks_;
  int turn_ = 0;
  std::uint64_t meetings_ = 0;
  std::uint64_t calls_ = 0;
  std::vector<std::uint64_t> open_;
};

/// A pipe of which one process keeps the end to write to: others see when that is closed.
class Life {
 public:
  Life() = default;
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;
  ~Life() {
    let_go();
    if (seen_ >= 0) close(seen_);
  }

  bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    seen_ = ends[0];
    held_ = ends[1];
    return true;
  }
  int seen() const { return seen_; }
  /// Of a process that is another: it alone keeps that end.
  void let_go() {
    if (held_ >= 0) close(std::exchange(held_, -1));
  }

 private:
  int seen_ = -1;
  int held_ = -1;
};

class ForkedRanks final : public Ranks {
 public:
  explicit ForkedRanks(int count) : count_(count), memory_(count), lives_(static_cast<std::size_t>(count)) {
    for (Life& life : lives_)
      GNEISS_CHECK(life.open(), ErrorCode::kOutOfMemory, "no pipe for {} processes: {}", count, std::strerror(errno));
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);  // what children write
    GNEISS_CHECK(nowhere >= 0, ErrorCode::kDisk, "/dev/null cannot be opened: {}", std::strerror(errno));
    std::fflush(nullptr);  // or each process writes what is buffered
    for (int rank = 1; rank < count; ++rank) {
      const pid_t child = fork();
      if (child == 0) {
        become(rank, nowhere);
        break;
      }
      if (child < 0) {
        const int fault = errno;
        close(nowhere);
        stop_children(std::chrono::seconds(0));
        throw Error(ErrorCode::kOutOfMemory,
                    fmt::format("process {} of {} cannot be started: {}", rank + 1, count, std::strerror(fault)));
      }
      children_.push_back(child);
    }
    close(nowhere);
    std::vector<int> seen;
    for (int p = 0; p < count; ++p) {
      Life& life = lives_[static_cast<std::size_t>(p)];
      if (p != rank_) life.let_go();
      seen.push_back(p == rank_ ? -1 : life.seen());
    }
    member_ = std::make_unique<ProcessRank>(&memory_, std::move(seen), rank_, count);
  }
  ForkedRanks(const ForkedRanks&) = delete;
  ForkedRanks& operator=(const ForkedRanks&) = delete;

  ~ForkedRanks() override {
    lives_.clear();
    stop_children(kLastWait);
  }

  int count() const override { return count_; }
  int here() const override { return 1; }
  int first() const override { return rank_; }

  void run(const Body& body) override {
    member_->check();
    try {
      body(*member_);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kPeerLost) throw;  // the others know by themselves
      member_->abort(error.message() + (error.where().empty() ? "" : " (" + error.where() + ")"));
      throw;
    } catch (const std::exception& error) {
      member_->abort(error.what());
      throw;
    }
  }

 private:
  /// In a child: it has no children, and nobody listens to what it writes.
  void become(int rank, int nowhere) {
    rank_ = rank;
    children_.clear();
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
  }

  /// Children end when what they wait for does; who has not ended within `limit` is stopped.
  void stop_children(std::chrono::milliseconds limit) noexcept {
    const auto until = std::chrono::steady_clock::now() + limit;
    for (const pid_t child : children_) {
      while (waitpid(child, nullptr, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() >= until) kill(child, SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
    children_.clear();
  }

  int count_;
  int rank_ = 0;
  SharedMemory memory_;
  std::deque<Life> lives_;
  std::vector<pid_t> children_;  ///< of rank 0
  std::unique_ptr<ProcessRank> member_;
};

/// Of this process; 0: not known.
std::int64_t count_threads() {
  std::error_code failed;
  std::int64_t threads = 0;
  for (auto it = std::filesystem::directory_iterator("/proc/self/task", failed);
       !failed && it != std::filesystem::directory_iterator(); it.increment(failed))
    ++threads;
  return threads;
}

}  // namespace

std::unique_ptr<Ranks> fork_ranks(int count) {
  GNEISS_CHECK(count >= 1 && count <= kMostProcesses, ErrorCode::kUsage, "expected 1 to {} processes, got {}",
               kMostProcesses, count);
  const std::int64_t threads = count_threads();
  if (threads != 1) {
    const std::string found =
        threads == 0 ? "/proc/self/task does not say" : fmt::format("this process runs {} threads", threads);
    throw Error(ErrorCode::kUnsupported, found + ", and processes are forked from one of a single thread", {},
                "start the training by the command gneiss train, or take threads: leave --processes out");
  }
  return std::make_unique<ForkedRanks>(count);
}

}  // namespace gneiss::comm
