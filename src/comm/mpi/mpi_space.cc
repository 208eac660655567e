// Passive target: one window without memory of its own, to which a frame's rows are attached while it is open, and
// which all have locked for shared reading from first to last. A get is an MPI_Rget of a list of rows or of a run of
// them. Its displacements are in rows, so that the list that the caller holds is MPI's own; bytes land where they are
// wanted and nothing is packed here. Requests stand in the order of their tokens: a wait tests all up to its own.
//
// Rows are attached frame by frame, because memory of a plan is given back when nothing reads it any more, and what is
// attached must be there. Where a get needs the owner's help to move (MPI over sockets, or where one process may not
// read another's memory) the owner gives it in its own gets and waits. Nothing is allocated from the second epoch on
// but by MPI. Source: MPI 3.1, sections 11.2.4, 11.3.5, 11.5.3 and 11.7.
#include "comm/mpi/mpi_space.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "comm/mpi/mpi_calls.h"

namespace gneiss::comm {
namespace {

using Clock = std::chrono::steady_clock;

static_assert(std::is_same_v<NodeId, int>, "lists of rows are given to MPI as they are");

class MpiSpace final : public pgas::MeetingSpace {
 public:
  MpiSpace(int device, int devices, pgas::Meet meeting, MPI_Comm comm)
      : MeetingSpace(device, devices, std::move(meeting)), limit_(time_limit()), most_bytes_(message_limit()) {
    meet();  // within the limit of time, which what follows does not know
    check(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &window_), "opening memory to others");
    check(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "opening memory to others");
    check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "opening memory to others");
  }

  ~MpiSpace() override {
    if (!mpi_life().ends_well()) return;
    MPI_Win_unlock_all(window_);
    for (RowType& type : types_) MPI_Type_free(&type.type);
    MPI_Win_free(&window_);
  }

  bool reads_in_place() const override { return false; }

  pgas::Frame open(pgas::SharedRows rows) override {
    if (rows.count > 0)
      check(MPI_Win_attach(window_, const_cast<std::byte*>(rows.first), rows.count * rows.stride_bytes),
            "showing rows to others");
    check(MPI_Win_sync(window_), "showing rows to others");
    return MeetingSpace::open(rows);
  }

  void close(pgas::Frame frame) override {
    const pgas::SharedRows own = shown(frame, device());
    MeetingSpace::close(frame);
    if (own.count > 0) check(MPI_Win_detach(window_, own.first), "taking rows back");
  }

 private:
  /// Rows of so many bytes, so far apart.
  struct RowType {
    std::int64_t row_bytes = 0;
    std::int64_t stride_bytes = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
  };

  /// A request of a get; each may have several, or none.
  struct UnderWay {
    pgas::Token token = 0;
    int from = 0;
    std::int64_t bytes = 0;
    Clock::time_point begin;
  };

  pgas::Token start(const Get& get) override {
    ++begun_;
    if (get.device == device()) {
      copy(get);
      return begun_;
    }
    if (get.row_bytes == 0) return begun_;
    const std::int64_t rows_each = std::max<std::int64_t>(1, most_bytes_ / get.row_bytes);
    for (std::int64_t done = 0; done < get.to.count; done += rows_each)
      start_rows(get, done, std::min(rows_each, get.to.count - done));
    return begun_;
  }

  /// Rows [begin, begin + count) of a get.
  void start_rows(const Get& get, std::int64_t begin, std::int64_t count) {
    constexpr const char* kWhat = "describing rows";
    const MPI_Datatype theirs = row_type(get.row_bytes, get.from.stride_bytes);
    const MPI_Datatype ours = row_type(get.row_bytes, get.to.stride_bytes);
    MPI_Aint address = 0;
    check(MPI_Get_address(get.from.first, &address), kWhat);
    const int rows = static_cast<int>(count);
    std::byte* const to = get.to.first + begin * get.to.stride_bytes;
    MPI_Request request = MPI_REQUEST_NULL;
    if (get.list.empty()) {
      const MPI_Aint at = MPI_Aint_add(address, (get.first + begin) * get.from.stride_bytes);
      check_get(MPI_Rget(to, rows, ours, get.device, at, rows, theirs, window_, &request), std::to_string(get.device));
    } else {
      MPI_Datatype list = MPI_DATATYPE_NULL;
      check(MPI_Type_create_indexed_block(rows, 1, get.list.data() + begin, theirs, &list), kWhat);
      check(MPI_Type_commit(&list), kWhat);
      check_get(MPI_Rget(to, rows, ours, get.device, address, 1, list, window_, &request), std::to_string(get.device));
      check(MPI_Type_free(&list), kWhat);  // MPI keeps it until the get is through
    }
    requests_.push_back(request);
    under_way_.push_back({begun_, get.device, count * get.row_bytes, Clock::now()});
  }

  /// Where one process reads another's memory by itself, the first get after that one has gone fails.
  void check_get(int status, const std::string& from) const {
    if (status == MPI_SUCCESS) return;
    throw Error(
        ErrorCode::kPeerLost,
        fmt::format("rank {} of {} cannot read rows of rank {}: {}", device(), devices(), from, words_of(status)), {},
        "look at that rank's messages");
  }

  /// Values of a plan have few shapes.
  MPI_Datatype row_type(std::int64_t row_bytes, std::int64_t stride_bytes) {
    for (const RowType& type : types_) {
      if (type.row_bytes == row_bytes && type.stride_bytes == stride_bytes) return type.type;
    }
    GNEISS_ASSERT(row_bytes <= std::numeric_limits<int>::max(), "rows of {} bytes are fetched", row_bytes);
    MPI_Datatype bytes = MPI_DATATYPE_NULL;
    MPI_Datatype row = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(static_cast<int>(row_bytes), MPI_BYTE, &bytes), "describing rows");
    check(MPI_Type_create_resized(bytes, 0, stride_bytes, &row), "describing rows");
    check(MPI_Type_commit(&row), "describing rows");
    check(MPI_Type_free(&bytes), "describing rows");
    types_.push_back({row_bytes, stride_bytes, row});
    return row;
  }

  pgas::Token last_come() const override { return come_; }

  void do_wait(pgas::Token token) override {
    const auto behind = std::find_if(under_way_.begin(), under_way_.end(),
                                     [&](const UnderWay& request) { return request.token > token; });
    const auto count = static_cast<std::size_t>(behind - under_way_.begin());
    wait_for_first(count);
    const Clock::time_point end = Clock::now();
    for (std::size_t i = 0; i < count && timeline() != nullptr; ++i) {
      const UnderWay& get = under_way_[i];
      timeline()->add({pgas::Activity::kGet, get.begin, end, get.from, get.bytes});
    }
    requests_.erase(requests_.begin(), requests_.begin() + static_cast<std::ptrdiff_t>(count));
    under_way_.erase(under_way_.begin(), behind);
    come_ = std::max(come_, std::min(token, begun_));
  }

  void wait_for_first(std::size_t count) {
    const Clock::time_point end = Clock::now() + limit_;
    for (int turn = 1;; ++turn) {
      int done = 0;
      const int status = MPI_Testall(static_cast<int>(count), requests_.data(), &done, MPI_STATUSES_IGNORE);
      if (status != MPI_SUCCESS) check_get(status, owners_of(count, false));
      if (done != 0) return;
      constexpr int kTurnsBetweenYields = 64;
      if (turn % kTurnsBetweenYields != 0) continue;
      sched_yield();
      if (Clock::now() > end) throw_late({device(), devices(), "a get", owners_of(count, true)});
    }
  }

  /// Owners of the first `count` requests, each once: of all, or of those that are not through.
  std::string owners_of(std::size_t count, bool late) {
    std::vector<int> owners;
    for (std::size_t i = 0; i < count; ++i) {
      int done = 0;
      if (late) check_get(MPI_Test(&requests_[i], &done, MPI_STATUS_IGNORE), std::to_string(under_way_[i].from));
      if (done == 0) owners.push_back(under_way_[i].from);
    }
    std::sort(owners.begin(), owners.end());
    owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
    return fmt::format("{}", fmt::join(owners, ", "));
  }

  const std::chrono::seconds limit_;
  const std::int64_t most_bytes_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<RowType> types_;
  pgas::Token begun_ = 0;
  pgas::Token come_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<UnderWay> under_way_;  ///< what each of these is of
};

}  // namespace

std::unique_ptr<pgas::Space> mpi_space(MPI_Comm comm, pgas::Meet meet) {
  int device = 0;
  int devices = 1;
  check(MPI_Comm_rank(comm, &device), "opening memory to others");
  check(MPI_Comm_size(comm, &devices), "opening memory to others");
  return std::make_unique<MpiSpace>(device, devices, std::move(meet), comm);
}

}  // namespace gneiss::comm
