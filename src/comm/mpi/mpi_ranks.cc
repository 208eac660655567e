// A rank as a process. All messages are started at once and then tested until they are through, with a limit of time:
// a rank that never comes is an error with a name, not a wait without end.
//
// A sum is cut into one piece a rank: everybody sends the pieces to whose they are, adds its own of all ranks in their
// order and sends the result round. So it has the bits that ranks in one process get, and no order of MPI's choosing.
// Messages are cut below 2^31 bytes, as MPI counts them.
#include "comm/mpi/mpi_ranks.h"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <vector>

#include "base/error.h"

namespace gneiss::comm {
namespace {

using Clock = std::chrono::steady_clock;

/// MPI still runs: an exit would leave the others waiting.
bool is_open = false;

void check(int status, const char* what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw Error(ErrorCode::kPeerLost,
              fmt::format("{} failed: {}", what, std::string(text, static_cast<std::size_t>(length))));
}

/// At the exit of a process that failed: ends all others with its status.
void end_all(int status, void*) {
  constexpr int kPeerLostStatus = 6;
  if (is_open) MPI_Abort(MPI_COMM_WORLD, status != 0 ? status : kPeerLostStatus);
}

/// How long a rank waits for the others: GNEISS_RANK_SECONDS, or ten minutes.
std::chrono::seconds time_limit() {
  constexpr std::chrono::seconds kUsual{600};
  const char* text = std::getenv("GNEISS_RANK_SECONDS");
  const int asked = text == nullptr ? 0 : std::atoi(text);
  return asked > 0 ? std::chrono::seconds(asked) : kUsual;
}

/// Bytes of one message at most: GNEISS_MPI_MESSAGE_BYTES, or 1 GiB.
std::int64_t message_limit() {
  constexpr std::int64_t kUsual = std::int64_t{1} << 30;
  const char* text = std::getenv("GNEISS_MPI_MESSAGE_BYTES");
  const std::int64_t asked = text == nullptr ? 0 : std::atoll(text);
  return asked > 0 ? std::min(asked, kUsual) : kUsual;
}

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() : limit_(time_limit()), most_bytes_(message_limit()) {
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "joining the ranks");
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "joining the ranks");
    check(MPI_Comm_rank(comm_, &rank_), "joining the ranks");
    check(MPI_Comm_size(comm_, &ranks_), "joining the ranks");
  }
  ~MpiCommunicator() override {
    if (is_open && std::uncaught_exceptions() == 0) MPI_Comm_free(&comm_);
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  void abort(const std::string&) noexcept override {}  // the process ends, and everybody with it

 private:
  void do_exchange(RowsByRank<const std::byte> send, RowsByRank<std::byte> receive, std::int64_t row_bytes) override {
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
      start_receive(p, receive.bytes.data() + receive.at[at] * row_bytes, in);
      start_send(p, send.bytes.data() + send.at[at] * row_bytes, out);
    }
    finish("an exchange");
  }

  void do_sum(std::span<float> values) override { sum_pieces(values); }
  void do_sum(std::span<double> values) override { sum_pieces(values); }

  template <class T>
  void sum_pieces(std::span<T> values) {
    const auto piece = [&](int p) {
      const std::size_t begin = values.size() * static_cast<std::size_t>(p) / static_cast<std::size_t>(ranks_);
      const std::size_t end = values.size() * (static_cast<std::size_t>(p) + 1) / static_cast<std::size_t>(ranks_);
      return values.subspan(begin, end - begin);
    };
    const std::span<T> mine = piece(rank_);
    pieces_.resize(std::max(pieces_.size(), mine.size_bytes() * static_cast<std::size_t>(ranks_)));
    const auto theirs = [&](int p) {
      return reinterpret_cast<T*>(pieces_.data()) + static_cast<std::size_t>(p) * mine.size();
    };
    const auto bytes_of = [](std::span<T> part) { return static_cast<std::int64_t>(part.size_bytes()); };
    for (int p = 0; p < ranks_; ++p) {
      if (p == rank_) continue;
      start_receive(p, reinterpret_cast<std::byte*>(theirs(p)), bytes_of(mine));
      start_send(p, reinterpret_cast<const std::byte*>(piece(p).data()), bytes_of(piece(p)));
    }
    finish("a sum");
    for (std::size_t i = 0; i < mine.size(); ++i) {
      T total = rank_ == 0 ? mine[i] : theirs(0)[i];
      for (int p = 1; p < ranks_; ++p) total += p == rank_ ? mine[i] : theirs(p)[i];
      mine[i] = total;
    }
    for (int p = 0; p < ranks_; ++p) {
      if (p == rank_) continue;
      start_receive(p, reinterpret_cast<std::byte*>(piece(p).data()), bytes_of(piece(p)));
      start_send(p, reinterpret_cast<const std::byte*>(mine.data()), bytes_of(mine));
    }
    finish("a sum");
  }

  void start_receive(int from, std::byte* to, std::int64_t bytes) {
    for (std::int64_t done = 0; done < bytes; done += most_bytes_) {
      const int count = static_cast<int>(std::min(most_bytes_, bytes - done));
      check(MPI_Irecv(to + done, count, MPI_BYTE, from, tag_, comm_, next_request(from)), "a receive");
    }
  }

  void start_send(int to, const std::byte* from, std::int64_t bytes) {
    for (std::int64_t done = 0; done < bytes; done += most_bytes_) {
      const int count = static_cast<int>(std::min(most_bytes_, bytes - done));
      check(MPI_Isend(from + done, count, MPI_BYTE, to, tag_, comm_, next_request(to)), "a send");
    }
  }

  MPI_Request* next_request(int peer) {
    peers_.push_back(peer);
    requests_.push_back(MPI_REQUEST_NULL);
    return &requests_.back();
  }

  /// Until all that was started is through. Calls are numbered by tags, so that calls that do not match never pair.
  void finish(const char* what) {
    const Clock::time_point end = Clock::now() + limit_;
    int done = 0;
    for (int turn = 0;; ++turn) {
      check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE), what);
      if (done != 0) break;
      constexpr int kTurnsBetweenYields = 64;
      if (turn % kTurnsBetweenYields != kTurnsBetweenYields - 1) continue;
      sched_yield();
      if (Clock::now() > end) throw_late(what);
    }
    requests_.clear();
    peers_.clear();
    constexpr int kTags = 32768;  // MPI promises so many
    tag_ = (tag_ + 1) % kTags;
  }

  [[noreturn]] void throw_late(const char* what) const {
    std::string late;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const std::string name = fmt::format("{}{}", late.empty() ? "" : ", ", peers_[i]);
      const bool open = requests_[i] != MPI_REQUEST_NULL;
      const bool named = i > 0 && peers_[i] == peers_[i - 1] && !late.empty();
      if (open && !named) late += name;
    }
    throw Error(ErrorCode::kPeerLost,
                fmt::format("rank {} of {} waited {} s in {} for rank {}", rank_, ranks_, limit_.count(), what, late),
                {}, "look at that rank's messages; GNEISS_RANK_SECONDS sets how long ranks wait for each other");
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::chrono::seconds limit_;
  std::int64_t most_bytes_;
  int rank_ = 0;
  int ranks_ = 1;
  int tag_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<int> peers_;  ///< of each request
  std::vector<std::byte> pieces_;
};

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "starting MPI");
    is_open = true;
    on_exit(end_all, nullptr);
    communicator_ = std::make_unique<MpiCommunicator>();
  }
  ~MpiRanks() override {
    communicator_.reset();
    if (failed_ || std::uncaught_exceptions() > 0) return;
    MPI_Finalize();
    is_open = false;
  }

  int count() const override { return communicator_->ranks(); }
  int here() const override { return 1; }
  int first() const override { return communicator_->rank(); }

  void run(const Body& body) override {
    try {
      body(*communicator_);
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

 private:
  std::unique_ptr<MpiCommunicator> communicator_;
  bool failed_ = false;
};

}  // namespace

bool mpi_is_built() { return true; }

std::unique_ptr<Ranks> mpi_ranks() { return std::make_unique<MpiRanks>(); }

}  // namespace gneiss::comm
