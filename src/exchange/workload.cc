// Sources ascend within a row and a device owns a run of nodes, so that a row's local edges are a run of its edges,
// which bisection finds; remote ones are what is left on both sides, owner by owner. Rows are counted, places summed
// up, and filled in by chunks.
#include "exchange/workload.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"

namespace gneiss::exchange {
namespace {

constexpr std::int64_t kGrain = 4096;

/// Turns counts at [i + 1] into places.
template <class Span>
void sum_up(Span counts) {
  for (std::size_t i = 1; i < counts.size(); ++i) counts[i] += counts[i - 1];
}

class Maker {
 public:
  Maker(const graph::Graph& graph, std::span<const std::int64_t> starts, int device, int threads)
      : graph_(graph),
        starts_(starts),
        device_(static_cast<std::size_t>(device)),
        first_(starts[device_]),
        end_(starts[device_ + 1]),
        threads_(threads) {
    made_.rows = end_ - first_;
  }

  Workload run(Cut cut) {
    split();
    made_.local_pieces = pieces(made_.local, cut.size, false);
    made_.remote_pieces = pieces(made_.remote, cut.size, cut.by_owner);
    if (cut.by_owner) {
      std::stable_sort(made_.remote_pieces.begin(), made_.remote_pieces.end(),
                       [&](const Piece& a, const Piece& b) { return owner(a.begin) < owner(b.begin); });
    }
    return std::move(made_);
  }

 private:
  std::uint8_t owner(EdgeId edge) const { return made_.remote.owners[static_cast<std::size_t>(edge)]; }

  /// The sources of a row, and which of them are local.
  struct Row {
    std::span<const NodeId> sources;
    std::size_t local_begin = 0;
    std::size_t local_end = 0;
  };
  Row row(std::int64_t r) const {
    const auto node = static_cast<std::size_t>(first_ + r);
    const auto begin = static_cast<std::size_t>(graph_.offsets()[node]);
    Row found;
    found.sources = graph_.sources().subspan(begin, static_cast<std::size_t>(graph_.offsets()[node + 1]) - begin);
    const auto place = [&](std::int64_t bound) {
      const auto at = std::lower_bound(found.sources.begin(), found.sources.end(), bound);
      return static_cast<std::size_t>(at - found.sources.begin());
    };
    found.local_begin = place(first_);
    found.local_end = place(end_);
    return found;
  }

  void split() {
    const auto rows = static_cast<std::size_t>(made_.rows);
    made_.local.offsets = Buffer<EdgeId>::zeros(rows + 1);
    made_.remote.offsets = Buffer<EdgeId>::zeros(rows + 1);
    parallel_chunks(threads_, made_.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const Row here = row(r);
        const std::size_t local = here.local_end - here.local_begin;
        made_.local.offsets[static_cast<std::size_t>(r) + 1] = static_cast<EdgeId>(local);
        made_.remote.offsets[static_cast<std::size_t>(r) + 1] = static_cast<EdgeId>(here.sources.size() - local);
      }
    });
    sum_up(made_.local.offsets.span());
    sum_up(made_.remote.offsets.span());
    made_.local.source_rows = Buffer<NodeId>(static_cast<std::size_t>(made_.local.offsets[rows]));
    made_.remote.source_rows = Buffer<NodeId>(static_cast<std::size_t>(made_.remote.offsets[rows]));
    made_.remote.owners = Buffer<std::uint8_t>(made_.remote.source_rows.size());
    parallel_chunks(threads_, made_.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) fill(r);
    });
  }

  void fill(std::int64_t r) {
    const Row here = row(r);
    auto at = static_cast<std::size_t>(made_.local.offsets[static_cast<std::size_t>(r)]);
    for (std::size_t i = here.local_begin; i < here.local_end; ++i)
      made_.local.source_rows[at++] = static_cast<NodeId>(here.sources[i] - first_);
    at = static_cast<std::size_t>(made_.remote.offsets[static_cast<std::size_t>(r)]);
    std::size_t owner = 0;
    const auto put = [&](NodeId source) {
      while (starts_[owner + 1] <= source) ++owner;
      made_.remote.source_rows[at] = static_cast<NodeId>(source - starts_[owner]);
      made_.remote.owners[at++] = static_cast<std::uint8_t>(owner);
    };
    for (std::size_t i = 0; i < here.local_begin; ++i) put(here.sources[i]);
    for (std::size_t i = here.local_end; i < here.sources.size(); ++i) put(here.sources[i]);
  }

  /// Calls add(piece) for each piece of a row.
  template <class Add>
  void cut_row(const VirtualGraph& edges, std::int64_t r, std::int32_t size, bool by_owner, const Add& add) const {
    EdgeId begin = edges.offsets[static_cast<std::size_t>(r)];
    const EdgeId row_end = edges.offsets[static_cast<std::size_t>(r) + 1];
    while (begin < row_end) {
      EdgeId end = size == 0 ? row_end : std::min<EdgeId>(row_end, begin + size);
      if (by_owner) {
        const auto same = [&](std::uint8_t value) { return value == edges.owners[static_cast<std::size_t>(begin)]; };
        const std::uint8_t* const from = edges.owners.data() + begin;
        end = begin + (std::find_if_not(from, from + (end - begin), same) - from);
      }
      add(Piece{begin, static_cast<NodeId>(r), static_cast<std::int32_t>(end - begin)});
      begin = end;
    }
  }

  std::vector<Piece> pieces(const VirtualGraph& edges, std::int32_t size, bool by_owner) const {
    std::vector<std::int64_t> at(static_cast<std::size_t>(made_.rows) + 1, 0);
    parallel_chunks(threads_, made_.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r)
        cut_row(edges, r, size, by_owner, [&](const Piece&) { ++at[static_cast<std::size_t>(r) + 1]; });
    });
    sum_up(std::span(at));
    std::vector<Piece> all(static_cast<std::size_t>(at.back()));
    parallel_chunks(threads_, made_.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        auto place = static_cast<std::size_t>(at[static_cast<std::size_t>(r)]);
        cut_row(edges, r, size, by_owner, [&](const Piece& piece) { all[place++] = piece; });
      }
    });
    return all;
  }

  const graph::Graph& graph_;
  std::span<const std::int64_t> starts_;
  std::size_t device_;
  std::int64_t first_;
  std::int64_t end_;
  int threads_;
  Workload made_;
};

}  // namespace

Workload make_workload(const graph::Graph& graph, std::span<const std::int64_t> starts, int device, Cut cut,
                       int threads) {
  GNEISS_ASSERT(std::ssize(starts) >= 2 && std::ssize(starts) - 1 <= kMostDevices && device >= 0 &&
                    device < std::ssize(starts) - 1 && cut.size >= 0,
                "device {} of {} with pieces of {} edges", device, std::ssize(starts) - 1, cut.size);
  return Maker(graph, starts, device, threads).run(cut);
}

std::int64_t num_units(std::int64_t local, std::int64_t remote, int dist) {
  return num_chunks(local + remote, 2 * std::int64_t{dist});
}

Unit unit_of(std::int64_t local, std::int64_t remote, std::int64_t units, std::int64_t w) {
  const auto part = [&](std::int64_t count, std::int64_t at) {  // no overflow: 128 bits hold any product of two of 64
    return static_cast<std::int64_t>(static_cast<__int128>(at) * count / units);
  };
  return {part(local, w), part(local, w + 1), part(remote, w), part(remote, w + 1)};
}

std::vector<Unit> mixed_units(const Workload& work, int dist) {
  const std::int64_t units = num_units(std::ssize(work.local_pieces), std::ssize(work.remote_pieces), dist);
  std::vector<Unit> all;
  for (std::int64_t w = 0; w < units; ++w)
    all.push_back(unit_of(std::ssize(work.local_pieces), std::ssize(work.remote_pieces), units, w));
  return all;
}

std::vector<Unit> separate_units(const Workload& work, int dist) {
  const std::int64_t locals = std::ssize(work.local_pieces);
  const std::int64_t remotes = std::ssize(work.remote_pieces);
  std::vector<Unit> all;
  for (std::int64_t at = 0; at < locals; at += dist) all.push_back({at, std::min(locals, at + dist), 0, 0});
  for (std::int64_t at = 0; at < remotes; at += dist) all.push_back({0, 0, at, std::min(remotes, at + dist)});
  return all;
}

std::vector<Unit> row_units(const Workload& work) {
  std::vector<Unit> all;
  std::size_t local = 0;
  std::size_t remote = 0;
  while (local < work.local_pieces.size() || remote < work.remote_pieces.size()) {
    NodeId row = local < work.local_pieces.size() ? work.local_pieces[local].row : work.remote_pieces[remote].row;
    if (remote < work.remote_pieces.size()) row = std::min(row, work.remote_pieces[remote].row);
    const auto pass = [row](const std::vector<Piece>& pieces, std::size_t* at) {
      while (*at < pieces.size() && pieces[*at].row == row) ++*at;
      return static_cast<std::int64_t>(*at);
    };
    Unit unit{static_cast<std::int64_t>(local), 0, static_cast<std::int64_t>(remote), 0};
    unit.local_end = pass(work.local_pieces, &local);
    unit.remote_end = pass(work.remote_pieces, &remote);
    all.push_back(unit);
  }
  return all;
}

std::int64_t distinct_rows(const Workload& work, std::span<const Unit> units) {
  std::int64_t rows = 0;
  std::vector<std::int64_t> seen;
  for (const Unit& unit : units) {
    seen.clear();
    for (std::int64_t p = unit.remote_begin; p < unit.remote_end; ++p) {
      const Piece& piece = work.remote_pieces[static_cast<std::size_t>(p)];
      for (EdgeId e = piece.begin; e < piece.begin + piece.count; ++e) {
        const auto edge = static_cast<std::size_t>(e);
        seen.push_back(std::int64_t{work.remote.owners[edge]} << 32 | work.remote.source_rows[edge]);
      }
    }
    std::sort(seen.begin(), seen.end());
    rows += std::unique(seen.begin(), seen.end()) - seen.begin();
  }
  return rows;
}

}  // namespace gneiss::exchange
