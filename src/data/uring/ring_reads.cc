// A ring of 256 places. It is kept full: each turn puts in as many reads as there is room for, enters the system once,
// and takes out what is through. What the system's cache holds is through when the first call returns. Containers often
// forbid io_uring (EPERM, ENOSYS), which shows when the ring is made. In a child of fork the ring is its parent's and
// is not used.
//
// Source: [axboe2019uring]; liburing.
#include "data/ring_reads.h"

#include <fmt/format.h>
#include <liburing.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace gneiss::data {
namespace {

constexpr unsigned kPlaces = 256;

class Uring final : public Ring {
 public:
  Uring() : made_(io_uring_queue_init(kPlaces, &ring_, 0)), process_(getpid()) {}
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;
  ~Uring() override {
    if (made_ == 0) io_uring_queue_exit(&ring_);
  }

  /// 0 or what the system answered.
  int error() const { return -made_; }
  bool is_usable() const { return made_ == 0 && process_ == getpid(); }

  void read(int file, std::span<RingRead> reads) noexcept override {
    std::size_t next = 0;
    unsigned under_way = 0;
    while (next < reads.size() || under_way > 0) {
      const RingRead* const first_new = reads.data() + next;
      for (; next < reads.size() && under_way < kPlaces; ++next, ++under_way) put(file, &reads[next]);
      // Without a wait first: what is new and has come then was at hand.
      const bool is_new = reads.data() + next > first_new;
      const int entered = is_new ? io_uring_submit(&ring_) : io_uring_submit_and_wait(&ring_, 1);
      const unsigned taken = take(is_new ? first_new : nullptr);
      under_way -= taken;
      if (entered < 0 && entered != -EINTR && taken == 0) return abandon(under_way);
    }
  }

 private:
  void put(int file, RingRead* read) {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);  // there is room: no more are under way than places
    if (read->parts.size() == 1) {
      io_uring_prep_read(entry, file, read->parts[0].iov_base, static_cast<unsigned>(read->bytes),
                         static_cast<std::uint64_t>(read->at));
    } else {
      io_uring_prep_readv(entry, file, read->parts.data(), static_cast<unsigned>(read->parts.size()),
                          static_cast<std::uint64_t>(read->at));
    }
    io_uring_sqe_set_data(entry, read);
  }

  /// Reads from `first_new` on were put in just now; null: none was.
  unsigned take(const RingRead* first_new) {
    unsigned head = 0;
    unsigned count = 0;
    io_uring_cqe* entry = nullptr;
    io_uring_for_each_cqe(&ring_, head, entry) {
      auto* read = static_cast<RingRead*>(io_uring_cqe_get_data(entry));
      read->whole = entry->res == read->bytes;
      read->at_once = first_new != nullptr && read >= first_new;
      ++count;
    }
    io_uring_cq_advance(&ring_, count);
    return count;
  }

  /// The system takes no more reads. Those that it has still write to memory: they are waited for.
  void abandon(unsigned under_way) {
    under_way -= io_uring_sq_ready(&ring_);
    while (under_way > 0) {
      under_way -= take(nullptr);
      usleep(100);
    }
    io_uring_queue_exit(&ring_);
    made_ = -EIO;
  }

  io_uring ring_ = {};
  int made_;
  pid_t process_;
};

}  // namespace

Ring* ring_of_this_thread() {
  if (!ring_fault().empty()) return nullptr;
  thread_local std::unique_ptr<Uring> ring;
  if (ring == nullptr) ring = std::make_unique<Uring>();
  return ring->is_usable() ? ring.get() : nullptr;
}

const std::string& ring_fault() {
  static const std::string fault = [] {
    const Uring tried;
    return tried.error() == 0 ? std::string()
                              : fmt::format("the system refuses io_uring: {}", std::strerror(tried.error()));
  }();
  return fault;
}

}  // namespace gneiss::data
