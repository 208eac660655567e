// A queue holds the next moment of each resident warp. A server keeps when it is free next: a request that comes at t
// begins at max(t, free). Requests are made in the order of time, so that nobody is served before who came earlier.
#include "exchange/simulate.h"

#include <algorithm>
#include <array>
#include <queue>

#include "base/error.h"

namespace gneiss::exchange {
namespace {

/// Loads of rows that a warp has under way at once.
constexpr std::int64_t kLoads = 4;
/// Instructions for a row of 32 columns: load, convert the address, add.
constexpr double kInstructions = 4;
/// That an SM issues in a cycle.
constexpr double kIssued = 4;
/// That a warp takes to begin a get.
constexpr double kGetInstructions = 60;

struct Server {
  double free = 0;
  double busy = 0;
  /// When a request of `seconds` that comes at `now` is through.
  double serve(double now, double seconds) {
    free = std::max(now, free) + seconds;
    busy += seconds;
    return free;
  }
};

/// Where a warp is in its unit.
struct Warp {
  Unit unit;
  std::int64_t block = 0;
  int sm = 0;
  std::int64_t local = 0;       ///< next piece
  std::int64_t piece = 0;       ///< next remote piece to fetch of
  std::int32_t row = 0;         ///< rows of it that are asked for
  std::array<double, 4> due{};  ///< when the rows under way arrive, a ring
  int first = 0;
  int under_way = 0;
};

struct Moment {
  double time = 0;
  std::int64_t order = 0;  ///< of equal times, who asked first
  std::size_t warp = 0;
  bool operator>(const Moment& other) const { return time != other.time ? time > other.time : order > other.order; }
};

class Simulation {
 public:
  Simulation(const Workload& work, std::span<const Unit> units, const Launch& launch, const Machine& machine)
      : work_(work),
        units_(units),
        launch_(launch),
        machine_(machine),
        resources_(resources_of(launch.tuning, launch.columns, std::ssize(units), machine.gpu)),
        issue_(static_cast<std::size_t>(machine.gpu.sms)),
        rate_(read_rate(machine.gpu, launch.table_rows, launch.columns)) {
    GNEISS_ASSERT(resources_.refused.empty(), "{}", resources_.refused);
    const std::int64_t lanes = (launch.columns + 31) / 32;
    row_seconds_ = static_cast<double>(lanes) * kInstructions / (kIssued * machine.gpu.clock);
    get_seconds_ = kGetInstructions / machine.gpu.clock;
  }

  Simulated run() {
    left_.resize(static_cast<std::size_t>(resources_.blocks));
    for (int turn = 0; turn < resources_.blocks_per_sm; ++turn) {
      for (int sm = 0; sm < machine_.gpu.sms; ++sm) start_block(sm, 0);
    }
    double end = 0;
    while (!queue_.empty()) {
      const Moment now = queue_.top();
      queue_.pop();
      end = std::max(end, now.time);
      go_on(now);
    }
    end = std::max(end, join_rows(end));
    Simulated made{end, 0, 0, link_bytes_};
    if (end > 0) {
      made.link_busy = link_.busy / end;
      made.memory_busy = memory_.busy / end;
    }
    return made;
  }

 private:
  void start_block(int sm, double now) {
    if (next_block_ == resources_.blocks) return;
    const std::int64_t block = next_block_++;
    const std::int64_t begin = block * launch_.tuning.warps;
    const std::int64_t end = std::min<std::int64_t>(std::ssize(units_), begin + launch_.tuning.warps);
    left_[static_cast<std::size_t>(block)] = static_cast<int>(end - begin);
    for (std::int64_t u = begin; u < end; ++u) {
      const Unit& unit = units_[static_cast<std::size_t>(u)];
      Warp warp{unit, block, sm, unit.local_begin, unit.remote_begin};
      std::size_t place = warps_.size();
      if (idle_.empty()) {
        warps_.push_back(warp);
      } else {
        place = idle_.back();
        idle_.pop_back();
        warps_[place] = warp;
      }
      wake(place, now);
    }
  }

  void wake(std::size_t warp, double time) { queue_.push({time, asked_++, warp}); }

  /// The warp does its next thing and says when it can do another.
  void go_on(const Moment& now) {
    Warp& warp = warps_[now.warp];
    double time = now.time;
    take_arrived(&warp, time);
    if (launch_.overlap || warp.local == warp.unit.local_end) time = begin_gets(&warp, time);
    if (warp.local < warp.unit.local_end) {
      return wake(now.warp, sum_local(&warp, time));
    }
    if (warp.under_way > 0) return wake(now.warp, std::max(time, warp.due[static_cast<std::size_t>(warp.first)]));
    if (warp.piece < warp.unit.remote_end) {
      const double arrival = arrival_of(warp);
      return wake(now.warp, arrival > time ? arrival : sum_arrived(&warp, time));
    }
    idle_.push_back(now.warp);
    const int sm = warp.sm;
    if (--left_[static_cast<std::size_t>(warp.block)] == 0) start_block(sm, time);
  }

  /// A local piece: its rows from memory, so many at once, added up; the sum goes back.
  double sum_local(Warp* warp, double now) {
    return read_piece(*warp, work_.local_pieces[static_cast<std::size_t>(warp->local++)], now);
  }

  /// When the rows of the next remote piece are there.
  double arrival_of(const Warp& warp) const {
    const Piece& piece = work_.remote_pieces[static_cast<std::size_t>(warp.piece)];
    return launch_.arrivals[work_.remote.owners[static_cast<std::size_t>(piece.begin)]];
  }

  /// A remote piece whose rows are there.
  double sum_arrived(Warp* warp, double now) {
    return read_piece(*warp, work_.remote_pieces[static_cast<std::size_t>(warp->piece++)], now);
  }

  double read_piece(const Warp& warp, const Piece& piece, double now) {
    const std::int64_t reads = piece.count * (read_bytes(launch_.columns) + 4) + 16;
    const double served = memory_.serve(now, static_cast<double>(reads) / rate_ + stored());
    const double rounds = static_cast<double>((piece.count + kLoads - 1) / kLoads);
    const double came = std::max(served, now + (rounds + 1) * machine_.gpu.memory_seconds);
    return std::max(came, issue_[static_cast<std::size_t>(warp.sm)].serve(now, row_seconds_ * piece.count));
  }

  double stored() const {
    return static_cast<double>(read_bytes(launch_.columns)) / machine_.gpu.memory_bytes_per_second;
  }

  void take_arrived(Warp* warp, double now) {
    const int ring = static_cast<int>(warp->due.size());
    while (warp->under_way > 0 && warp->due[static_cast<std::size_t>(warp->first)] <= now) {
      warp->first = (warp->first + 1) % ring;
      --warp->under_way;
    }
  }

  /// Asks for rows while there is a buffer. Returns when the warp has asked.
  double begin_gets(Warp* warp, double now) {
    if (!launch_.arrivals.empty()) return now;
    const int ring = static_cast<int>(warp->due.size());
    const int most = launch_.overlap ? launch_.tuning.stages : 1;
    while (warp->under_way < most && warp->piece < warp->unit.remote_end) {
      const Piece& piece = work_.remote_pieces[static_cast<std::size_t>(warp->piece)];
      now = issue_[static_cast<std::size_t>(warp->sm)].serve(now, get_seconds_ / kIssued + row_seconds_);
      const std::int64_t bytes = fetched_bytes(launch_.columns);
      link_bytes_ += bytes;
      const double served = link_.serve(now, static_cast<double>(bytes) / machine_.bytes_per_second);
      warp->due[static_cast<std::size_t>((warp->first + warp->under_way) % ring)] = served + machine_.seconds;
      ++warp->under_way;
      if (++warp->row == piece.count) {
        memory_.serve(now, stored());
        warp->row = 0;
        ++warp->piece;
      }
    }
    return now;
  }

  /// Sums of rows that several pieces make are read back and added, in the order of the pieces.
  double join_rows(double now) {
    std::int64_t partial = 0;
    for (const auto* pieces : {&work_.local_pieces, &work_.remote_pieces}) partial += std::ssize(*pieces);
    partial -= work_.rows;
    if (partial <= 0) return now;
    const double seconds =
        static_cast<double>(partial * read_bytes(launch_.columns)) / machine_.gpu.memory_bytes_per_second;
    return memory_.serve(now, seconds);
  }

  const Workload& work_;
  std::span<const Unit> units_;
  const Launch& launch_;
  const Machine& machine_;
  Resources resources_;
  Server link_;
  Server memory_;
  std::vector<Server> issue_;
  double rate_;
  double row_seconds_ = 0;
  double get_seconds_ = 0;
  std::int64_t link_bytes_ = 0;
  std::vector<int> left_;  ///< warps of each block that are not through
  std::int64_t next_block_ = 0;
  std::vector<Warp> warps_;
  std::vector<std::size_t> idle_;  ///< places in warps_
  std::priority_queue<Moment, std::vector<Moment>, std::greater<>> queue_;
  std::int64_t asked_ = 0;
};

}  // namespace

double read_rate(const Gpu& gpu, std::int64_t table_rows, std::int64_t columns) {
  const double bytes = static_cast<double>(std::max<std::int64_t>(1, table_rows * read_bytes(columns)));
  const double held = std::min(1.0, static_cast<double>(gpu.cache_bytes) / bytes);
  return 1 / (held / gpu.cache_bytes_per_second + (1 - held) / gpu.memory_bytes_per_second);
}

Simulated simulate(const Workload& work, std::span<const Unit> units, const Launch& launch, const Machine& machine) {
  return Simulation(work, units, launch, machine).run();
}

}  // namespace gneiss::exchange
