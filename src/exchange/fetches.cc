// A halo fetches each ghost's row once, whether they are summed up as they come or not; what `fine` fetches follows
// from its pieces, which are the same for all sums over a graph.
#include "exchange/fetches.h"

#include <algorithm>
#include <map>

#include "exchange/sum_pieces.h"

namespace gneiss::exchange {
namespace {

std::vector<std::int64_t> counts(const std::vector<std::int64_t>& at) {
  std::vector<std::int64_t> counts;
  for (std::size_t p = 0; p + 1 < at.size(); ++p) counts.push_back(at[p + 1] - at[p]);
  return counts;
}

/// [devices] entries whose rows are ghosts of each.
std::vector<std::int64_t> edges_from(const SparsePattern& edges, const comm::HaloPlan& halo) {
  std::vector<std::int64_t> entries(halo.receive_at.size() - 1, 0);
  for (const NodeId column : edges.indices) {
    const std::int64_t ghost = std::int64_t{column} - halo.owned;
    if (ghost < 0) continue;
    const auto next = std::upper_bound(halo.receive_at.begin(), halo.receive_at.end(), ghost);
    ++entries[static_cast<std::size_t>(next - halo.receive_at.begin() - 1)];
  }
  return entries;
}

}  // namespace

std::vector<Fetch> fetches_of(const ir::Program& program, const comm::HaloPlan& halo, const Tuning& tuning,
                              const std::function<SparsePattern(std::int32_t graph)>& in_edges, SumsBy by) {
  const int devices = static_cast<int>(std::ssize(halo.receive_at)) - 1;
  std::map<std::int64_t, std::vector<std::int64_t>> fine;  // by graph
  std::vector<Fetch> fetches;
  for (const ir::Op& op : program.ops) {
    Fetch fetch;
    fetch.phase = op.phase;
    fetch.how = exchange_of(op.attrs.text("exchange", ""));
    switch (op.kind) {
      case ir::OpKind::halo:
      case ir::OpKind::halo_start:
        if (fetch.how == Exchange::kFine) continue;
        fetch.rows_from = counts(halo.receive_at);
        break;
      case ir::OpKind::halo_add:
      case ir::OpKind::halo_add_start:
        fetch.sums = true;
        fetch.rows_from = counts(halo.send_at);
        break;
      case ir::OpKind::spmm: {
        if (fetch.how != Exchange::kFine) continue;
        const std::int64_t graph = op.attrs.integer("graph", 0);
        std::vector<std::int64_t>& rows = fine[graph];
        if (rows.empty()) {
          const SparsePattern edges = in_edges(static_cast<std::int32_t>(graph));
          rows =
              by == SumsBy::kCard ? edges_from(edges, halo) : fine_pieces(edges, halo, tuning, {}).rows_from(devices);
        }
        fetch.rows_from = rows;
        break;
      }
      default:
        continue;
    }
    fetch.columns = program.type(op.inputs[0]).cols;
    fetches.push_back(std::move(fetch));
  }
  return fetches;
}

std::vector<std::int64_t> bytes_from(const std::vector<Fetch>& fetches, ir::Phase phase) {
  std::vector<std::int64_t> bytes(fetches.empty() ? 0 : fetches[0].rows_from.size(), 0);
  for (const Fetch& fetch : fetches) {
    if (fetch.phase != phase) continue;
    for (std::size_t p = 0; p < bytes.size(); ++p)
      bytes[p] += fetch.rows_from[p] * fetch.columns * std::int64_t{sizeof(float)};
  }
  return bytes;
}

}  // namespace gneiss::exchange
