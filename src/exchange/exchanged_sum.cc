// `stream`: rows of all owners are under way when the sum begins. Own entries are added, then those of each owner when
// its rows are there. `fine`: rows of the first blocks are asked for; of each block own pieces are added, its rows
// waited for, its remote pieces added, and the rows of a later block asked for in their place.
#include "exchange/exchanged_sum.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "exchange/add_pieces.h"

namespace gneiss::exchange {
namespace {

template <class U>
void grow(Buffer<U>* buffer, std::int64_t size) {
  if (buffer->size() < static_cast<std::size_t>(size)) *buffer = Buffer<U>(static_cast<std::size_t>(size));
}

}  // namespace

void SumRoomSize::take(std::int64_t rows, std::int64_t cols, std::int64_t landing_rows, bool extreme,
                       std::int64_t value_bytes) {
  others = std::max(others, rows * cols);
  landing = std::max(landing, landing_rows * landing_stride(cols, value_bytes));
  if (extreme) args = std::max(args, rows * cols);
}

template <class T>
void SumRoom<T>::reserve(std::int64_t rows, std::int64_t cols, std::int64_t landing, bool extreme) {
  size_.take(rows, cols, landing, extreme, sizeof(T));
  grow(&others_, size_.others);
  grow(&landing_, size_.landing);
  grow(&others_arg_, size_.args);
  grow(&own_arg_, size_.args);
}

std::int64_t SumPieces::bytes() const {
  return std::visit([](const auto& pieces) { return pieces.bytes(); }, cut) +
         static_cast<std::int64_t>(shared_rows.size() * sizeof(NodeId));
}

SumPieces sum_pieces(Exchange exchange, const Tuning& tuning, const SparsePattern& edges, const comm::HaloPlan& halo,
                     SumNeeds needs) {
  GNEISS_ASSERT(edges.cols == halo.owned + halo.ghosts, "a sum reads {} rows of {} own ones and {} ghosts", edges.cols,
                halo.owned, halo.ghosts);
  SumPieces made{needs, rows_with_ghosts(edges, halo.owned), {}};
  if (exchange == Exchange::kStream) {
    made.cut = stream_pieces(edges, halo, needs);
  } else {
    GNEISS_ASSERT(exchange == Exchange::kFine, "{} is no exchange of this sum", name_of(exchange));
    made.cut = fine_pieces(edges, halo, tuning, needs);
  }
  return made;
}

template <class T>
ExchangedSum<T>::ExchangedSum(const SumPieces* pieces, const kernels::SpmmArgs<T>& args, const comm::HaloPlan& halo,
                              SumRoom<T>* room)
    : pieces_(pieces), halo_(&halo), room_(room) {
  GNEISS_ASSERT(!args.x_half.used() && !args.y_half.used(), "16-bit rows are not summed as they come");
  reserve(args);
}

template <class T>
void ExchangedSum<T>::reserve(const kernels::SpmmArgs<T>& args) {
  std::int64_t landing = 0;
  if (const auto* fine = std::get_if<FinePieces>(&pieces_->cut)) {
    landing = fine->landing_rows();
    tokens_.resize(static_cast<std::size_t>(fine->tuning.stages));
  }
  room_->reserve(args.y.rows, args.y.cols, landing, pieces_->needs.extreme);
}

template <class T>
std::vector<std::int64_t> ExchangedSum<T>::rows_from() const {
  const auto devices = static_cast<std::size_t>(std::ssize(halo_->receive_at) - 1);
  if (const auto* fine = std::get_if<FinePieces>(&pieces_->cut)) return fine->rows_from(static_cast<int>(devices));
  std::vector<std::int64_t> rows(devices);
  for (std::size_t p = 0; p < devices; ++p) rows[p] = halo_->receive_at[p + 1] - halo_->receive_at[p];
  return rows;
}

template <class T>
void ExchangedSum<T>::run(const kernels::Context& context, const kernels::SpmmArgs<T>& args, pgas::Space& space,
                          const kernels::ExchangeUnderWay& shown, bool overlap) {
  kernels::SpmmArgs<T> own = args;
  if (pieces_->needs.extreme && own.arg.data == nullptr) own.arg = room_->own_arg(args.y.rows, args.y.cols);
  kernels::SpmmArgs<T> others = own;
  others.y = room_->others(args.y.rows, args.y.cols);
  if (pieces_->needs.extreme) others.arg = room_->others_arg(args.y.rows, args.y.cols);
  if (std::holds_alternative<StreamPieces>(pieces_->cut)) {
    run_stream(context, own, others, space, shown, overlap);
  } else {
    run_fine(context, own, others, space, shown);
  }
  kernels::join_halves(context, own, ConstMatrixView<T>(others.y), others.arg, pieces_->shared_rows);
}

template <class T>
void ExchangedSum<T>::clear(const kernels::Context& context, const kernels::SpmmArgs<T>& own,
                            const kernels::SpmmArgs<T>& others) const {
  fill_rows(context, own.y, T{0});
  fill_rows(context, others.y, pieces_->shared_rows, T{0});
  if (!pieces_->needs.extreme) return;
  fill_rows(context, own.arg, -1);
  fill_rows(context, others.arg, pieces_->shared_rows, -1);
}

template <class T>
void ExchangedSum<T>::run_stream(const kernels::Context& context, const kernels::SpmmArgs<T>& own,
                                 const kernels::SpmmArgs<T>& others, pgas::Space& space,
                                 const kernels::ExchangeUnderWay& shown, bool overlap) {
  const StreamPieces& pieces = std::get<StreamPieces>(pieces_->cut);
  clear(context, own, others);
  const std::vector<std::int64_t>& at = halo_->receive_at;
  // halo_start asks owners in order, and those alone that have ghosts.
  pgas::Token behind = 0;
  for (std::size_t p = 0; p + 1 < at.size(); ++p) behind += at[p + 1] > at[p] ? 1 : 0;
  if (!overlap && behind > 0) space.wait(shown.last_get);
  pgas::noted(space.timeline(), pgas::Activity::kLocalSum,
              [&] { add_pieces(context, pieces.local, own, 0, pieces.local.pieces()); });
  for (std::size_t p = 0; p + 1 < at.size(); ++p) {
    if (at[p + 1] == at[p]) continue;
    --behind;
    space.wait(shown.last_get - behind);
    pgas::noted(space.timeline(), pgas::Activity::kRemoteSum,
                [&] { add_pieces(context, pieces.remote, others, pieces.owner_at[p], pieces.owner_at[p + 1]); });
  }
}

template <class T>
void ExchangedSum<T>::run_fine(const kernels::Context& context, const kernels::SpmmArgs<T>& own,
                               const kernels::SpmmArgs<T>& others, pgas::Space& space,
                               const kernels::ExchangeUnderWay& shown) {
  const FinePieces& pieces = std::get<FinePieces>(pieces_->cut);
  const std::int64_t stages = pieces.tuning.stages;
  const int devices = space.devices();
  const std::int64_t cols = own.x.cols;
  const auto landing = [&](std::int64_t block) {
    return room_->landing(block % stages * pieces.most_landing, pieces.most_landing, cols);
  };
  const auto ask = [&](std::int64_t block) {
    const std::size_t first = static_cast<std::size_t>(block * devices);
    for (int p = 0; p < devices; ++p) {
      const auto at = first + static_cast<std::size_t>(p);
      const std::int64_t begin = pieces.wanted_at[at];
      const std::int64_t count = pieces.wanted_at[at + 1] - begin;
      if (count == 0) continue;
      const MatrixView<T> to = landing(block);
      tokens_[static_cast<std::size_t>(block % stages)] =
          space.get_rows(shown.frame, p,
                         pieces.wanted.span().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count)),
                         cols * static_cast<std::int64_t>(sizeof(T)),
                         {reinterpret_cast<std::byte*>(to.row(begin - pieces.wanted_at[first])), count,
                          to.stride * static_cast<std::int64_t>(sizeof(T))});
    }
  };
  std::fill(tokens_.begin(), tokens_.end(), pgas::Token{0});
  for (std::int64_t b = 0; b < std::min(stages, pieces.blocks()); ++b) ask(b);
  clear(context, own, others);  // while these are on their way
  for (std::int64_t b = 0; b < pieces.blocks(); ++b) {
    const auto at = static_cast<std::size_t>(b);
    pgas::noted(space.timeline(), pgas::Activity::kLocalSum,
                [&] { add_pieces(context, pieces.local, own, pieces.local_at[at], pieces.local_at[at + 1]); });
    space.wait(tokens_[static_cast<std::size_t>(b % stages)]);
    kernels::SpmmArgs<T> landed = others;
    landed.x = ConstMatrixView<T>(landing(b));
    pgas::noted(space.timeline(), pgas::Activity::kRemoteSum,
                [&] { add_pieces(context, pieces.remote, landed, pieces.remote_at[at], pieces.remote_at[at + 1]); });
    if (b + stages < pieces.blocks()) ask(b + stages);
  }
}

template class SumRoom<float>;
template class SumRoom<double>;
template class ExchangedSum<float>;
template class ExchangedSum<double>;

}  // namespace gneiss::exchange
