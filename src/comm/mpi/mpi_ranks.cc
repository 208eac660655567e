// A rank as a process. The messages of a call are started at once and then tested until they are through, with a limit
// of time: a rank that never comes is an error with a name, not a wait without end. A test of any call tests all that
// are open, because MPI moves data only inside calls.
//
// A sum is cut into one piece a rank: everybody sends the pieces to whose they are, adds its own of all ranks in their
// order and sends the result round. So it has the bits that ranks in one process get, and no order of MPI's choosing.
// Messages are cut below 2^31 bytes, as MPI counts them.
#include "comm/mpi/mpi_ranks.h"

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "comm/launch.h"
#include "comm/mpi/mpi_calls.h"
#include "comm/mpi/mpi_space.h"

namespace gneiss::comm {
namespace {

using Clock = std::chrono::steady_clock;

/// At the exit of a process that failed: ends all others with its status.
void end_all(int status, void*) {
  constexpr int kPeerLostStatus = 6;
  if (mpi_life().open) MPI_Abort(MPI_COMM_WORLD, status != 0 ? status : kPeerLostStatus);
}

/// Ends the process if it is not gone in time: MPI cannot be asked who is missing while it starts.
class StartLimit {
 public:
  StartLimit(int rank, int ranks, std::chrono::seconds limit)
      : thread_([this, rank, ranks, limit] {
          std::unique_lock lock(mutex_);
          if (done_.wait_for(lock, limit, [this] { return through_; })) return;
          const std::string who = ranks == 2 ? fmt::format("rank {}", 1 - rank) : "another rank";
          fmt::print(stderr, "gneiss: rank {} of {} waited {} s for {} to start\n", rank, ranks, limit.count(), who);
          fmt::print(stderr,
                     "  hint: each process that says this is there; look at the others, and start all with the "
                     "same gneiss\n");
          _exit(exit_code(ErrorCode::kPeerLost));
        }) {}
  ~StartLimit() {
    {
      const std::lock_guard lock(mutex_);
      through_ = true;
    }
    done_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool through_ = false;
  std::thread thread_;
};

enum class Act : std::uint8_t { kExchange, kSumFloats, kSumDoubles };

const char* name_of(Act act) { return act == Act::kExchange ? "an exchange" : "a sum"; }

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() : limit_(time_limit()), most_bytes_(message_limit()) {
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "joining the ranks");
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "joining the ranks");
    check(MPI_Comm_rank(comm_, &rank_), "joining the ranks");
    check(MPI_Comm_size(comm_, &ranks_), "joining the ranks");
  }
  ~MpiCommunicator() override {
    if (mpi_life().ends_well()) MPI_Comm_free(&comm_);
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  void abort(const std::string&) noexcept override {}  // the process ends, and everybody with it
  /// Open MPI opens no window over one process.
  std::unique_ptr<pgas::Space> make_space(const pgas::Link& link) override {
    return ranks_ == 1 ? Communicator::make_space(link) : mpi_space(comm_, meeting());
  }

 private:
  /// A call that is not waited for yet, or room for one.
  struct Open {
    std::uint64_t number = 0;  ///< 0: room
    Act act = Act::kExchange;
    bool rounds_off = false;  ///< of a sum: results are on their way
    bool through = false;
    void* values = nullptr;
    std::size_t count = 0;
    std::vector<MPI_Request> requests;
    std::vector<int> peers;  ///< of each request
    std::vector<std::byte> pieces;
    int tag = 0;
  };

  Request do_start_exchange(RowsByRank<const std::byte> send, RowsByRank<std::byte> receive,
                            std::int64_t row_bytes) override {
    Open& open = open_one(Act::kExchange);
    for (int p = 0; p < ranks_; ++p) {
      const auto at = static_cast<std::size_t>(p);
      const std::int64_t out = (send.at[at + 1] - send.at[at]) * row_bytes;
      const std::int64_t in = (receive.at[at + 1] - receive.at[at]) * row_bytes;
      if (p == rank_) {
        GNEISS_ASSERT(in == out, "a rank sends itself {} bytes and expects {}", out, in);
        if (in > 0)
          std::memcpy(receive.bytes.data() + receive.at[at] * row_bytes, send.bytes.data() + send.at[at] * row_bytes,
                      static_cast<std::size_t>(in));
        continue;
      }
      start_receive(&open, p, receive.bytes.data() + receive.at[at] * row_bytes, in);
      start_send(&open, p, send.bytes.data() + send.at[at] * row_bytes, out);
    }
    return {open.number};
  }

  Request do_start_sum(std::span<float> values) override { return start_pieces(Act::kSumFloats, values); }
  Request do_start_sum(std::span<double> values) override { return start_pieces(Act::kSumDoubles, values); }

  template <class T>
  std::span<T> piece(const Open& open, int p) const {
    const std::size_t begin = open.count * static_cast<std::size_t>(p) / static_cast<std::size_t>(ranks_);
    const std::size_t end = open.count * (static_cast<std::size_t>(p) + 1) / static_cast<std::size_t>(ranks_);
    return {static_cast<T*>(open.values) + begin, end - begin};
  }

  /// Where another rank's numbers for this rank's piece come in.
  template <class T>
  std::span<T> theirs(Open* open, int p) const {
    const std::size_t size = piece<T>(*open, rank_).size();
    return {reinterpret_cast<T*>(open->pieces.data()) + static_cast<std::size_t>(p) * size, size};
  }

  /// Every rank's numbers go to whose pieces they are.
  template <class T>
  Request start_pieces(Act act, std::span<T> values) {
    Open& open = open_one(act);
    open.values = values.data();
    open.count = values.size();
    const std::size_t room = piece<T>(open, rank_).size_bytes() * static_cast<std::size_t>(ranks_);
    open.pieces.resize(std::max(open.pieces.size(), room));
    for (int p = 0; p < ranks_; ++p) {
      if (p != rank_) start_both(&open, p, theirs<T>(&open, p), piece<T>(open, p));
    }
    return {open.number};
  }

  /// Adds this rank's piece and sends it round.
  template <class T>
  void round_off(Open* open) {
    const std::span<T> mine = piece<T>(*open, rank_);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      T total = rank_ == 0 ? mine[i] : theirs<T>(open, 0)[i];
      for (int p = 1; p < ranks_; ++p) total += p == rank_ ? mine[i] : theirs<T>(open, p)[i];
      mine[i] = total;
    }
    open->rounds_off = true;
    ++open->tag;
    for (int p = 0; p < ranks_; ++p) {
      if (p != rank_) start_both(open, p, piece<T>(*open, p), mine);
    }
  }

  template <class T>
  void start_both(Open* open, int peer, std::span<T> to, std::span<T> from) {
    start_receive(open, peer, reinterpret_cast<std::byte*>(to.data()), static_cast<std::int64_t>(to.size_bytes()));
    start_send(open, peer, reinterpret_cast<const std::byte*>(from.data()),
               static_cast<std::int64_t>(from.size_bytes()));
  }

  void start_receive(Open* open, int from, std::byte* to, std::int64_t bytes) {
    for (std::int64_t done = 0; done < bytes; done += most_bytes_) {
      const int count = static_cast<int>(std::min(most_bytes_, bytes - done));
      check(MPI_Irecv(to + done, count, MPI_BYTE, from, open->tag, comm_, next_request(open, from)), "a receive");
    }
  }

  void start_send(Open* open, int to, const std::byte* from, std::int64_t bytes) {
    for (std::int64_t done = 0; done < bytes; done += most_bytes_) {
      const int count = static_cast<int>(std::min(most_bytes_, bytes - done));
      check(MPI_Isend(from + done, count, MPI_BYTE, to, open->tag, comm_, next_request(open, to)), "a send");
    }
  }

  static MPI_Request* next_request(Open* open, int peer) {
    open->peers.push_back(peer);
    open->requests.push_back(MPI_REQUEST_NULL);
    return &open->requests.back();
  }

  /// Calls are numbered by tags, two each, so that calls that do not match never pair.
  Open& open_one(Act act) {
    constexpr std::uint64_t kTags = 32766;  // MPI promises so many
    auto room = std::find_if(open_.begin(), open_.end(), [](const auto& o) { return o->number == 0; });
    if (room == open_.end()) room = open_.insert(room, std::make_unique<Open>());
    Open& open = **room;
    open.number = ++last_;
    open.act = act;
    open.rounds_off = open.through = false;
    open.tag = static_cast<int>(2 * last_ % kTags);
    return open;
  }

  void do_progress() override {
    for (const std::unique_ptr<Open>& open : open_) {
      if (open->number != 0 && !open->through) advance(open.get());
    }
  }

  void advance(Open* open) {
    int done = 0;
    check(MPI_Testall(static_cast<int>(open->requests.size()), open->requests.data(), &done, MPI_STATUSES_IGNORE),
          name_of(open->act));
    if (done == 0) return;
    open->requests.clear();
    open->peers.clear();
    open->through = open->act == Act::kExchange || open->rounds_off;
    if (open->through) return;
    open->act == Act::kSumFloats ? round_off<float>(open) : round_off<double>(open);
  }

  void do_wait(Request request) override {
    const auto found = std::find_if(open_.begin(), open_.end(),
                                    [&](const auto& o) { return o->number == request.number && o->number != 0; });
    GNEISS_ASSERT(found != open_.end(), "rank {} waits for call {}, which is not open", rank_, request.number);
    Open& open = **found;
    const Clock::time_point end = Clock::now() + limit_;
    for (int turn = 0; !open.through; ++turn) {
      do_progress();
      constexpr int kTurnsBetweenYields = 64;
      if (turn % kTurnsBetweenYields != kTurnsBetweenYields - 1) continue;
      sched_yield();
      if (Clock::now() > end) throw_late(open);
    }
    open.number = 0;
  }

  [[noreturn]] void throw_late(const Open& open) const {
    std::string late;
    for (std::size_t i = 0; i < open.requests.size(); ++i) {
      const std::string name = fmt::format("{}{}", late.empty() ? "" : ", ", open.peers[i]);
      const bool waits = open.requests[i] != MPI_REQUEST_NULL;
      const bool named = i > 0 && open.peers[i] == open.peers[i - 1] && !late.empty();
      if (waits && !named) late += name;
    }
    comm::throw_late({rank_, ranks_, name_of(open.act), late});
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::chrono::seconds limit_;
  std::int64_t most_bytes_;
  int rank_ = 0;
  int ranks_ = 1;
  std::uint64_t last_ = 0;  ///< number of the call that was started last
  std::vector<std::unique_ptr<Open>> open_;
};

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    int provided = 0;
    const Launch launch = find_launch();
    const StartLimit limit(launch.rank, launch.ranks, time_limit());
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "starting MPI");
    mpi_life().open = true;
    on_exit(end_all, nullptr);
    communicator_ = std::make_unique<MpiCommunicator>();
  }
  ~MpiRanks() override {
    communicator_.reset();
    if (!mpi_life().ends_well()) return;
    MPI_Finalize();
    mpi_life().open = false;
  }

  int count() const override { return communicator_->ranks(); }
  int here() const override { return 1; }
  int first() const override { return communicator_->rank(); }

  void run(const Body& body) override {
    try {
      body(*communicator_);
    } catch (...) {
      mpi_life().failed = true;
      throw;
    }
  }

 private:
  std::unique_ptr<MpiCommunicator> communicator_;
};

}  // namespace

bool mpi_is_built() { return true; }

std::unique_ptr<Ranks> mpi_ranks() { return std::make_unique<MpiRanks>(); }

}  // namespace gneiss::comm
