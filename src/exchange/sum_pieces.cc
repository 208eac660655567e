// A row is taken apart into own entries and remote ones, which are put in the order of their owners: for `stream` at
// once, for `fine` in lists, whose runs become pieces. Ghosts of one owner are a run of columns, so that a bisection
// finds the owner.
#include "exchange/sum_pieces.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "exchange/workload.h"

namespace gneiss::exchange {
namespace {

/// Of a ghost.
std::int32_t owner_of(const comm::HaloPlan& halo, NodeId column) {
  const auto after =
      std::upper_bound(halo.receive_at.begin(), halo.receive_at.end(), std::int64_t{column} - halo.owned);
  return static_cast<std::int32_t>(after - halo.receive_at.begin()) - 1;
}

/// Consecutive entries of one row.
struct Run {
  std::int64_t begin = 0;  ///< in the list of entries
  std::int64_t count = 0;
  NodeId row = 0;
};

class Taker {
 public:
  Taker(const SparsePattern& edges, const comm::HaloPlan& halo) : edges_(edges), halo_(halo) {
    for (std::int64_t v = 0; v < edges.rows; ++v) take(v);
  }

  std::int32_t owner(NodeId column) const { return owner_of(halo_, column); }

  const std::vector<EdgeId>& local() const { return local_; }
  const std::vector<EdgeId>& remote() const { return remote_; }
  NodeId column(EdgeId entry) const { return edges_.indices[static_cast<std::size_t>(entry)]; }

  /// Runs of at most `size` entries of one row.
  std::vector<Run> local_runs(std::int64_t size) const { return runs(local_rows_, size); }
  std::vector<Run> remote_runs(std::int64_t size) const { return runs(remote_rows_, size); }

  /// The pieces of these runs, with the columns of `entries` as sources.
  PieceList pieces(const std::vector<EdgeId>& entries, const std::vector<Run>& runs, SumNeeds needs) const {
    PieceList made;
    made.offsets = Buffer<EdgeId>(runs.size() + 1);
    made.rows = Buffer<NodeId>(runs.size());
    made.sources = Buffer<NodeId>(entries.size());
    if (needs.weights) made.slots = Buffer<EdgeId>(entries.size());
    if (needs.extreme) made.positions = Buffer<std::int32_t>(entries.size());
    std::size_t at = 0;
    made.offsets[0] = 0;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      made.rows[r] = runs[r].row;
      for (std::int64_t i = runs[r].begin; i < runs[r].begin + runs[r].count; ++i, ++at) {
        const EdgeId entry = entries[static_cast<std::size_t>(i)];
        made.sources[at] = column(entry);
        if (needs.weights) made.slots[at] = edges_.slot(entry);
        if (needs.extreme) made.positions[at] = static_cast<std::int32_t>(entry - first_of(runs[r].row));
      }
      made.offsets[r + 1] = static_cast<EdgeId>(at);
    }
    return made;
  }

 private:
  EdgeId first_of(NodeId row) const { return edges_.offsets[static_cast<std::size_t>(row)]; }

  void take(std::int64_t v) {
    const auto row = static_cast<std::size_t>(v);
    const std::size_t before = remote_.size();
    for (EdgeId k = edges_.offsets[row]; k < edges_.offsets[row + 1]; ++k)
      (column(k) < halo_.owned ? local_ : remote_).push_back(k);
    const auto by_owner = [&](EdgeId a, EdgeId b) { return owner(column(a)) < owner(column(b)); };
    const auto first = remote_.begin() + static_cast<std::ptrdiff_t>(before);
    if (!std::is_sorted(first, remote_.end(), by_owner)) std::stable_sort(first, remote_.end(), by_owner);
    local_rows_.push_back(std::ssize(local_));
    remote_rows_.push_back(std::ssize(remote_));
  }

  /// `ends`: of each row, the end of its entries.
  std::vector<Run> runs(const std::vector<std::int64_t>& ends, std::int64_t size) const {
    std::vector<Run> made;
    std::int64_t begin = 0;
    for (std::int64_t v = 0; v < edges_.rows; ++v) {
      const std::int64_t row_end = ends[static_cast<std::size_t>(v)];
      for (; begin < row_end; begin = std::min(row_end, begin + size))
        made.push_back({begin, std::min(size, row_end - begin), static_cast<NodeId>(v)});
    }
    return made;
  }

  const SparsePattern& edges_;
  const comm::HaloPlan& halo_;
  std::vector<EdgeId> local_;  ///< entries, row after row
  std::vector<EdgeId> remote_;
  std::vector<std::int64_t> local_rows_;  ///< of each row, the end of its entries
  std::vector<std::int64_t> remote_rows_;
};

/// Entries go straight to their pieces, because a rank makes these beside all that it trains with: lists of entries
/// would come on top of what its plan says.
class StreamMaker {
 public:
  StreamMaker(const SparsePattern& edges, const comm::HaloPlan& halo, SumNeeds needs)
      : edges_(edges), halo_(halo), needs_(needs), ends_(halo.receive_at.size()) {}

  StreamPieces run() {
    // Of each owner, and of own entries as of one owner more, how many pieces and entries there are.
    std::vector<End> sizes(ends_.size());
    for_each_entry([&](std::int64_t v, EdgeId /*entry*/, std::size_t owner) {
      End& size = sizes[owner];
      if (size.row != v) ++size.pieces;
      size.row = v;
      ++size.entries;
    });
    StreamPieces made;
    const std::size_t own = sizes.size() - 1;
    made.local = empty(sizes[own]);
    End all;
    for (std::size_t p = 0; p < own; ++p) {
      made.owner_at.push_back(all.pieces);
      ends_[p] = {all.pieces, all.entries, -1};
      all.pieces += sizes[p].pieces;
      all.entries += sizes[p].entries;
    }
    made.owner_at.push_back(all.pieces);
    made.remote = empty(all);
    for_each_entry([&](std::int64_t v, EdgeId entry, std::size_t owner) {
      append(v, entry, &ends_[owner], owner == own ? &made.local : &made.remote);
    });
    return made;
  }

 private:
  /// How far pieces go.
  struct End {
    std::int64_t pieces = 0;
    std::int64_t entries = 0;
    std::int64_t row = -1;  ///< of the last piece
  };

  template <class Visit>
  void for_each_entry(const Visit& visit) const {
    for (std::int64_t v = 0; v < edges_.rows; ++v) {
      const EdgeId end = edges_.offsets[static_cast<std::size_t>(v) + 1];
      for (EdgeId k = edges_.offsets[static_cast<std::size_t>(v)]; k < end; ++k) {
        const NodeId column = edges_.indices[static_cast<std::size_t>(k)];
        visit(v, k, column < halo_.owned ? ends_.size() - 1 : static_cast<std::size_t>(owner_of(halo_, column)));
      }
    }
  }

  PieceList empty(const End& size) const {
    const auto entries = static_cast<std::size_t>(size.entries);
    PieceList made;
    made.offsets = Buffer<EdgeId>(static_cast<std::size_t>(size.pieces) + 1);
    made.offsets[static_cast<std::size_t>(size.pieces)] = size.entries;
    made.rows = Buffer<NodeId>(static_cast<std::size_t>(size.pieces));
    made.sources = Buffer<NodeId>(entries);
    if (needs_.weights) made.slots = Buffer<EdgeId>(entries);
    if (needs_.extreme) made.positions = Buffer<std::int32_t>(entries);
    return made;
  }

  void append(std::int64_t v, EdgeId entry, End* end, PieceList* list) const {
    if (end->row != v) {
      const auto piece = static_cast<std::size_t>(end->pieces++);
      list->offsets[piece] = end->entries;
      list->rows[piece] = static_cast<NodeId>(v);
      end->row = v;
    }
    const auto at = static_cast<std::size_t>(end->entries++);
    list->sources[at] = edges_.indices[static_cast<std::size_t>(entry)];
    if (needs_.weights) list->slots[at] = edges_.slot(entry);
    if (needs_.extreme)
      list->positions[at] = static_cast<std::int32_t>(entry - edges_.offsets[static_cast<std::size_t>(v)]);
  }

  const SparsePattern& edges_;
  const comm::HaloPlan& halo_;
  SumNeeds needs_;
  std::vector<End> ends_;  ///< by owner, of own entries the last
};

/// A row that a unit wants.
using Wanted = std::tuple<std::int32_t, std::int64_t, NodeId>;  // owner, unit, row there

class FineMaker {
 public:
  FineMaker(const SparsePattern& edges, const comm::HaloPlan& halo, const Tuning& tuning, SumNeeds needs)
      : halo_(halo), devices_(std::ssize(halo.receive_at) - 1), taker_(edges, halo) {
    GNEISS_ASSERT(tuning.piece > 0 && tuning.dist > 0 && tuning.warps > 0 && tuning.stages > 0,
                  "pieces of {} edges, {} a unit, {} units a block, {} blocks under way", tuning.piece, tuning.dist,
                  tuning.warps, tuning.stages);
    made_.tuning = tuning;
    made_.local = taker_.pieces(taker_.local(), taker_.local_runs(tuning.piece), needs);
    made_.remote = taker_.pieces(taker_.remote(), taker_.remote_runs(tuning.piece), needs);
  }

  FinePieces run() {
    const std::int64_t local = made_.local.pieces();
    const std::int64_t remote = made_.remote.pieces();
    const std::int64_t units = num_units(local, remote, made_.tuning.dist);
    made_.wanted_at.push_back(0);
    for (std::int64_t first = 0; first < units; first += made_.tuning.warps) {
      const std::int64_t last = std::min<std::int64_t>(units, first + made_.tuning.warps);
      made_.local_at.push_back(unit_of(local, remote, units, first).local_begin);
      made_.remote_at.push_back(unit_of(local, remote, units, first).remote_begin);
      add_block(local, remote, units, first, last);
    }
    made_.local_at.push_back(local);
    made_.remote_at.push_back(remote);
    made_.wanted = Buffer<NodeId>::copy_of(wanted_);
    return std::move(made_);
  }

 private:
  Wanted wanted_by(std::int64_t unit, EdgeId entry) const {
    const NodeId column = made_.remote.sources[static_cast<std::size_t>(entry)];
    return {taker_.owner(column), unit, halo_.ghost_rows[static_cast<std::size_t>(column - halo_.owned)]};
  }

  void add_block(std::int64_t local, std::int64_t remote, std::int64_t units, std::int64_t first, std::int64_t last) {
    std::vector<Wanted> rows;
    const auto for_each_entry = [&](const auto& visit) {
      for (std::int64_t u = first; u < last; ++u) {
        const Unit unit = unit_of(local, remote, units, u);
        const EdgeId end = made_.remote.offsets[static_cast<std::size_t>(unit.remote_end)];
        for (EdgeId k = made_.remote.offsets[static_cast<std::size_t>(unit.remote_begin)]; k < end; ++k) visit(u, k);
      }
    };
    for_each_entry([&](std::int64_t unit, EdgeId k) { rows.push_back(wanted_by(unit, k)); });
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    for_each_entry([&](std::int64_t unit, EdgeId k) {
      const auto place = std::lower_bound(rows.begin(), rows.end(), wanted_by(unit, k));
      landing_.push_back(static_cast<NodeId>(place - rows.begin()));
    });
    // The columns of this block's entries were needed until here.
    std::copy(landing_.begin(), landing_.end(), made_.remote.sources.begin() + static_cast<std::ptrdiff_t>(landed_));
    landed_ += landing_.size();
    landing_.clear();
    auto at = rows.begin();
    for (std::int32_t p = 0; p < devices_; ++p) {
      for (; at != rows.end() && std::get<0>(*at) == p; ++at) wanted_.push_back(std::get<2>(*at));
      made_.wanted_at.push_back(std::ssize(wanted_));
    }
    made_.most_landing = std::max(made_.most_landing, std::ssize(rows));
  }

  const comm::HaloPlan& halo_;
  std::int64_t devices_;
  Taker taker_;
  FinePieces made_;
  std::vector<NodeId> wanted_;
  std::vector<NodeId> landing_;  ///< of a block's entries
  std::size_t landed_ = 0;       ///< entries of blocks before
};

}  // namespace

std::vector<NodeId> rows_with_ghosts(const SparsePattern& edges, std::int64_t owned) {
  std::vector<NodeId> rows;
  for (std::int64_t v = 0; v < edges.rows; ++v) {
    const auto first = edges.indices.begin() + edges.offsets[static_cast<std::size_t>(v)];
    const auto last = edges.indices.begin() + edges.offsets[static_cast<std::size_t>(v) + 1];
    if (std::any_of(first, last, [&](NodeId column) { return column >= owned; }))
      rows.push_back(static_cast<NodeId>(v));
  }
  return rows;
}

std::int64_t PieceList::bytes() const {
  return static_cast<std::int64_t>(offsets.size() * sizeof(EdgeId) + rows.size() * sizeof(NodeId) +
                                   sources.size() * sizeof(NodeId) + slots.size() * sizeof(EdgeId) +
                                   positions.size() * sizeof(std::int32_t));
}

SparsePattern PieceList::pattern(std::int64_t table_rows) const {
  return {pieces(), table_rows, offsets.span(), sources.span(), slots.span()};
}

StreamPieces stream_pieces(const SparsePattern& edges, const comm::HaloPlan& halo, SumNeeds needs) {
  return StreamMaker(edges, halo, needs).run();
}

FinePieces fine_pieces(const SparsePattern& edges, const comm::HaloPlan& halo, const Tuning& tuning, SumNeeds needs) {
  return FineMaker(edges, halo, tuning, needs).run();
}

std::int64_t FinePieces::bytes() const {
  return local.bytes() + remote.bytes() + static_cast<std::int64_t>(wanted.size_bytes()) +
         static_cast<std::int64_t>(wanted_at.size() * sizeof(std::int64_t));
}

std::vector<std::int64_t> FinePieces::rows_from(int devices) const {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(devices), 0);
  for (std::int64_t b = 0; b < blocks(); ++b) {
    for (int p = 0; p < devices; ++p) {
      const auto at = static_cast<std::size_t>(b * devices + p);
      rows[static_cast<std::size_t>(p)] += wanted_at[at + 1] - wanted_at[at];
    }
  }
  return rows;
}

}  // namespace gneiss::exchange
