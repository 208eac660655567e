// How the ranks of one training talk: a few collective operations behind one interface, injected where they are needed.
//
// All ranks make the same calls in the same order, whatever they hold, and all take part in every call. A call can be
// started and waited for later; in between data move only while somebody calls `progress`, `wait` or another call here:
// no thread runs behind. A rank that fails says so with `abort`; everybody else's next or current call then ends with
// kPeerLost and names it. What is sent is counted here, for every way of talking alike.
// Source: the split into a pattern and an actor of Tpetra (Distributor) and dolfinx (IndexMap, Scatterer).
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace gneiss::pgas {
class Space;
struct Link;
template <class Byte>
struct Rows;
}  // namespace gneiss::pgas

namespace gneiss::comm {

/// What a rank has sent to others so far, without what it keeps for itself.
struct Traffic {
  std::int64_t exchanges = 0;
  std::int64_t exchanged_bytes = 0;
  std::int64_t sums = 0;
  std::int64_t summed_bytes = 0;  ///< the values of each sum, once
};

/// Rows that lie together for each rank: those of rank p are [at[p], at[p + 1]).
template <class Byte>
struct RowsByRank {
  std::span<Byte> bytes;
  std::span<const std::int64_t> at;  ///< [ranks + 1]
};

/// A call that was started; numbers go up from 1 and are never used again.
struct Request {
  std::uint64_t number = 0;
};

class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  /// Sends every rank its rows of `send` and receives its rows into `receive`; rows have `row_bytes` bytes.
  /// Aliasing  the two lie apart. Allocates nothing after the first call of its kind.
  /// Errors    kInternal if a rank sends another what that does not expect; kPeerLost
  void exchange(RowsByRank<const std::byte> send, RowsByRank<std::byte> receive, std::int64_t row_bytes);

  /// Replaces `values` by their sums over all ranks, added in the order of the ranks: the same bits on every rank and
  /// in every run.
  void sum(std::span<float> values);
  void sum(std::span<double> values);

  /// The same, started: `wait` ends it. Until then nobody writes to what is sent, and nobody reads or writes what is
  /// received or summed, and it outlives a rank that throws: others may use it until they know that the rank is lost.
  /// Calls are started in the same order on all ranks and may be waited for in any. Few are open at
  /// a time (32 are safe).
  Request start_exchange(RowsByRank<const std::byte> send, RowsByRank<std::byte> receive, std::int64_t row_bytes);
  Request start_sum(std::span<float> values);
  Request start_sum(std::span<double> values);
  /// Moves what can be moved of all open calls, and does not wait. May be called where an exception could not be
  /// caught: a fault is thrown by the next wait. Always from the thread that starts and waits.
  void progress() noexcept;
  /// Until the call is through. Each is waited for once. Errors: those of the call.
  void wait(Request request);

  /// Tells the others that this rank cannot go on. What they wait for ends with kPeerLost and these words.
  virtual void abort(const std::string& why) noexcept = 0;
  /// The last call of a rank, also after an error: waits until each other one makes it too or has ended. True if all
  /// have come: then what all must do together at the end can be done. Ranks that cannot tell say false at once.
  virtual bool all_come_at_last() noexcept { return false; }

  const Traffic& traffic() const { return traffic_; }

  /// An address space over all ranks, whose devices they are: each reads rows where another has them. They meet through
  /// this communicator, which must outlive it. All ranks call it, and let it go at the same time.
  ///   link    how fast rows come where ranks are on one machine; otherwise they come as they can
  /// Errors    kPeerLost
  virtual std::unique_ptr<pgas::Space> make_space(const pgas::Link& link);

 protected:
  /// All ranks show rows and see what the others show: pgas::Meet.
  std::function<void(const pgas::Rows<const std::byte>& mine, std::span<pgas::Rows<const std::byte>> all)> meeting();
  virtual Request do_start_exchange(RowsByRank<const std::byte> send, RowsByRank<std::byte> receive,
                                    std::int64_t row_bytes) = 0;
  virtual Request do_start_sum(std::span<float> values) = 0;
  virtual Request do_start_sum(std::span<double> values) = 0;
  virtual void do_progress() = 0;
  virtual void do_wait(Request request) = 0;

 private:
  void opened_sum(std::size_t bytes);

  Traffic traffic_;
  int open_ = 0;               ///< calls that are started and not waited for
  std::exception_ptr failed_;  ///< what progress ran into
};

/// The ranks of one training that live in this process.
class Ranks {
 public:
  using Body = std::function<void(Communicator& communicator)>;

  virtual ~Ranks() = default;
  /// Of the whole training, and of this process, whose ranks follow one another from `first` on.
  virtual int count() const = 0;
  virtual int here() const = 0;
  virtual int first() const = 0;
  /// Calls body(communicator) once for each rank of this process: the first on the calling thread, others on threads of
  /// their own. Returns when all are through.
  /// Errors    the first rank's own; kPeerLost, which names the rank that failed, if that was another
  virtual void run(const Body& body) = 0;
};

/// The numbers of rank 0, on all ranks.
void share(Communicator& communicator, std::span<double> values);

/// Throws kBadData on every rank unless all bring the same value. `what` names it.
void agree(Communicator& communicator, const std::string& what, std::uint64_t value);

}  // namespace gneiss::comm
