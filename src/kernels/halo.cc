// Rows to send are packed one behind the other, by receiver. What comes in lies packed too: ghosts are in the order of
// their owners, so that rows without gaps between them are received where they belong. Where devices share an address
// space nothing is packed for others: each fetches what it wants from where it is. What others fetch from must stay
// until the second half: halo shows the own rows of its result, halo_add its operand.
#include "kernels/halo.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/parallel.h"

namespace gneiss::kernels {
namespace {

constexpr std::int64_t kGrain = 1024;
/// Parts of the rows whose ranges are found side by side.
constexpr std::int64_t kRangeParts = 64;

/// Row to(i) = row from(i).
template <class T, class To, class From>
void copy_rows(int threads, std::int64_t count, std::int64_t cols, const To& to, const From& from) {
  parallel_chunks(threads, count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) std::copy_n(from(i), cols, to(i));
  });
}

template <class T>
void copy_own(const Context& context, const HaloArgs<T>& args) {
  copy_rows<T>(
      context.threads, args.plan->owned, args.x.cols, [&](std::int64_t r) { return args.y.row(r); },
      [&](std::int64_t r) { return args.x.row(r); });
}

template <class T>
std::span<std::byte> bytes_of(T* data, std::int64_t rows, std::int64_t cols) {
  return std::as_writable_bytes(std::span<T>(data, static_cast<std::size_t>(rows * cols)));
}

/// Where packed rows lie, in `packed` or else in the workspace: those of own rows that others hold, and those of
/// ghosts.
template <class T>
struct Packed {
  T* own = nullptr;
  T* ghosts = nullptr;
};

template <class T>
Packed<T> packed_rows(const Context& context, const HaloArgs<T>& args) {
  const std::int64_t rows = args.plan->sends() + args.plan->ghosts;
  if (args.packed.data != nullptr) {
    GNEISS_ASSERT(args.packed.contiguous() && args.packed.rows == rows, "{} packed rows of {}", args.packed.rows, rows);
    return {args.packed.data, args.packed.data + args.plan->sends() * args.x.cols};
  }
  GNEISS_ASSERT(context.workspace.size() >= halo_workspace_bytes(rows, args.x.cols, sizeof(T)),
                "an exchange of {} rows has {} bytes of scratch", rows, context.workspace.size());
  T* const start = reinterpret_cast<T*>(context.workspace.data());
  return {start, start + args.plan->sends() * args.x.cols};
}

template <class T>
pgas::LocalRows rows_at(T* first, std::int64_t count, std::int64_t stride) {
  return {reinterpret_cast<std::byte*>(first), count, stride * static_cast<std::int64_t>(sizeof(T))};
}

/// halo_start, by gets.
template <class T>
void fetch_ghosts(const Context& context, const HaloArgs<T>& args) {
  const comm::HaloPlan& plan = *args.plan;
  const std::int64_t row_bytes = args.y.cols * static_cast<std::int64_t>(sizeof(T));
  copy_own(context, args);
  const pgas::SharedRows own = {reinterpret_cast<const std::byte*>(args.y.data), plan.owned,
                                args.y.stride * static_cast<std::int64_t>(sizeof(T))};
  ExchangeUnderWay made;
  made.frame = args.space->open(own);
  for (int p = 0; p < args.space->devices() && !args.only_shown; ++p) {
    const std::int64_t first = plan.receive_at[static_cast<std::size_t>(p)];
    const std::int64_t count = plan.receive_at[static_cast<std::size_t>(p) + 1] - first;
    if (count == 0) continue;
    const auto rows =
        std::span(plan.ghost_rows).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    made.last_get = args.space->get_rows(made.frame, p, rows, row_bytes,
                                         rows_at(args.y.row(plan.owned + first), count, args.y.stride));
  }
  *args.exchange = made;
}

/// Adds `count` packed rows to the own rows that `rows` names.
template <class T>
void add_rows(int threads, const NodeId* rows, const T* packed, std::int64_t count, const MatrixView<T>& y) {
  parallel_chunks(threads, count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      T* const to = y.row(rows[i]);
      const T* const from = packed + i * y.cols;
      for (std::int64_t c = 0; c < y.cols; ++c) to[c] += from[c];
    }
  });
}

/// halo_add_start, by gets.
template <class T>
void fetch_sums(const Context& context, const HaloArgs<T>& args) {
  const comm::HaloPlan& plan = *args.plan;
  const std::int64_t cols = args.x.cols;
  const Packed<T> packed = packed_rows(context, args);
  ExchangeUnderWay made;
  made.frame = args.space->open({reinterpret_cast<const std::byte*>(args.x.data), args.x.rows,
                                 args.x.stride * static_cast<std::int64_t>(sizeof(T))});
  for (int p = 0; p < args.space->devices(); ++p) {  // a get of no rows too: the wait counts them back from the last
    const std::int64_t first = plan.send_at[static_cast<std::size_t>(p)];
    const std::int64_t count = plan.send_at[static_cast<std::size_t>(p) + 1] - first;
    made.last_get = args.space->get_range(made.frame, p, plan.held_at[static_cast<std::size_t>(p)],
                                          cols * static_cast<std::int64_t>(sizeof(T)),
                                          rows_at(packed.own + first * cols, count, cols));
  }
  *args.exchange = made;
}

/// halo_add_wait, by gets: the rows of one device are added while those of the next are on their way.
template <class T>
void add_fetched(const Context& context, const HaloArgs<T>& args) {
  const comm::HaloPlan& plan = *args.plan;
  const Packed<T> packed = packed_rows(context, args);
  const int devices = args.space->devices();
  copy_own(context, args);
  for (int p = 0; p < devices; ++p) {
    args.space->wait(args.exchange->last_get - static_cast<pgas::Token>(devices - 1 - p));
    const std::int64_t first = plan.send_at[static_cast<std::size_t>(p)];
    add_rows(context.threads, plan.send_rows.data() + first, packed.own + first * args.y.cols,
             plan.send_at[static_cast<std::size_t>(p) + 1] - first, args.y);
  }
  args.space->close(args.exchange->frame);
}

/// The range of no numbers: the highest of each column, then the lowest.
template <class T>
void clear_range(T* range, std::int64_t cols) {
  std::fill_n(range, cols, -std::numeric_limits<T>::infinity());
  std::fill_n(range + cols, cols, std::numeric_limits<T>::infinity());
}

/// With values up to `high` and down to `low`; NaNs count nothing.
template <class T>
void widen_range(T* range, const T* high, const T* low, std::int64_t cols) {
  for (std::int64_t j = 0; j < cols; ++j) range[j] = high[j] > range[j] ? high[j] : range[j];
  for (std::int64_t j = 0; j < cols; ++j) range[cols + j] = low[j] < range[cols + j] ? low[j] : range[cols + j];
}

}  // namespace

std::size_t halo_workspace_bytes(std::int64_t packed, std::int64_t cols, std::size_t value_bytes) {
  return static_cast<std::size_t>(packed * cols) * value_bytes;
}

template <class T>
void halo(const Context& context, const HaloArgs<T>& args) {
  ExchangeUnderWay exchange;
  HaloArgs<T> halves = args;
  halves.exchange = &exchange;
  halo_start(context, halves);
  halo_wait(context, halves);
}

template <class T>
void halo_start(const Context& context, const HaloArgs<T>& args) {
  if (args.space != nullptr) return fetch_ghosts(context, args);
  const comm::HaloPlan& plan = *args.plan;
  const std::int64_t cols = args.x.cols;
  const Packed<T> packed = packed_rows(context, args);
  copy_rows<T>(
      context.threads, plan.sends(), cols, [&](std::int64_t i) { return packed.own + i * cols; },
      [&](std::int64_t i) { return args.x.row(plan.send_rows[static_cast<std::size_t>(i)]); });
  T* const ghosts = args.y.contiguous() ? args.y.row(plan.owned) : packed.ghosts;
  args.exchange->waited = false;
  args.exchange->request = args.communicator->start_exchange({bytes_of(packed.own, plan.sends(), cols), plan.send_at},
                                                             {bytes_of(ghosts, plan.ghosts, cols), plan.receive_at},
                                                             cols * static_cast<std::int64_t>(sizeof(T)));
  copy_own(context, args);
}

template <class T>
void halo_wait(const Context& context, const HaloArgs<T>& args) {
  if (args.space != nullptr) {
    args.space->wait(args.exchange->last_get);
    return args.space->close(args.exchange->frame);
  }
  const comm::HaloPlan& plan = *args.plan;
  if (args.exchange->waited) return;
  args.communicator->wait(args.exchange->request);
  if (args.y.contiguous()) return;
  const T* const ghosts = packed_rows(context, args).ghosts;
  copy_rows<T>(
      context.threads, plan.ghosts, args.y.cols, [&](std::int64_t i) { return args.y.row(plan.owned + i); },
      [&](std::int64_t i) { return ghosts + i * args.y.cols; });
}

template <class T>
void halo_add(const Context& context, const HaloArgs<T>& args) {
  ExchangeUnderWay exchange;
  HaloArgs<T> halves = args;
  halves.exchange = &exchange;
  halo_add_start(context, halves);
  halo_add_wait(context, halves);
}

template <class T>
void halo_add_start(const Context& context, const HaloArgs<T>& args) {
  if (args.space != nullptr) return fetch_sums(context, args);
  const comm::HaloPlan& plan = *args.plan;
  const std::int64_t cols = args.x.cols;
  const Packed<T> packed = packed_rows(context, args);
  T* ghosts = args.x.row(plan.owned);
  if (!args.x.contiguous()) {
    ghosts = packed.ghosts;
    copy_rows<T>(
        context.threads, plan.ghosts, cols, [&](std::int64_t i) { return ghosts + i * cols; },
        [&](std::int64_t i) { return args.x.row(plan.owned + i); });
  }
  args.exchange->request = args.communicator->start_exchange({bytes_of(ghosts, plan.ghosts, cols), plan.receive_at},
                                                             {bytes_of(packed.own, plan.sends(), cols), plan.send_at},
                                                             cols * static_cast<std::int64_t>(sizeof(T)));
}

template <class T>
void halo_add_wait(const Context& context, const HaloArgs<T>& args) {
  if (args.space != nullptr) return add_fetched(context, args);
  const comm::HaloPlan& plan = *args.plan;
  const std::int64_t cols = args.x.cols;
  const Packed<T> packed = packed_rows(context, args);
  copy_own(context, args);
  args.communicator->wait(args.exchange->request);
  // One rank holds a row once: the rows of one rank are added side by side, ranks one after the other.
  for (std::size_t p = 0; p + 1 < plan.send_at.size(); ++p) {
    const std::int64_t first = plan.send_at[p];
    add_rows(context.threads, plan.send_rows.data() + first, packed.own + first * cols, plan.send_at[p + 1] - first,
             args.y);
  }
}

std::size_t rank_range_workspace_bytes(std::int64_t ranks, std::int64_t cols, std::size_t value_bytes) {
  return static_cast<std::size_t>((kRangeParts + ranks) * 2 * cols) * value_bytes;
}

template <class T>
void rank_range(const Context& context, const HaloArgs<T>& args) {
  const std::int64_t cols = args.x.cols;
  const auto ranks = static_cast<std::int64_t>(args.communicator->ranks());
  GNEISS_ASSERT(context.workspace.size() >= rank_range_workspace_bytes(ranks, cols, sizeof(T)),
                "a range over {} ranks has {} bytes of scratch", ranks, context.workspace.size());
  T* const parts = reinterpret_cast<T*>(context.workspace.data());
  T* const of_ranks = parts + kRangeParts * 2 * cols;
  const std::int64_t grain = std::max<std::int64_t>(1, num_chunks(args.x.rows, kRangeParts));
  parallel_chunks(context.threads, args.x.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    T* const range = parts + begin / grain * 2 * cols;
    clear_range(range, cols);
    for (std::int64_t r = begin; r < end; ++r) widen_range(range, args.x.row(r), args.x.row(r), cols);
  });
  // Ranks fill in their own part of a sum: zeros change no number.
  std::fill_n(of_ranks, ranks * 2 * cols, T(0));
  T* const own = of_ranks + args.communicator->rank() * 2 * cols;
  clear_range(own, cols);
  for (std::int64_t p = 0; p < num_chunks(args.x.rows, grain); ++p)
    widen_range(own, parts + p * 2 * cols, parts + p * 2 * cols + cols, cols);
  args.communicator->sum(std::span<T>(of_ranks, static_cast<std::size_t>(ranks * 2 * cols)));
  GNEISS_ASSERT(args.y.contiguous(), "a range over ranks has rows that lie apart");
  clear_range(args.y.data, cols);
  for (std::int64_t p = 0; p < ranks; ++p)
    widen_range(args.y.data, of_ranks + p * 2 * cols, of_ranks + p * 2 * cols + cols, cols);
}

template <class T>
void rank_sum(const Context&, const HaloArgs<T>& args) {
  GNEISS_ASSERT(args.y.contiguous(), "a sum over ranks has rows that lie apart");
  for (std::int64_t r = 0; r < args.x.rows && args.x.data != args.y.data; ++r)
    std::copy_n(args.x.row(r), args.x.cols, args.y.row(r));
  args.communicator->sum(std::span<T>(args.y.data, static_cast<std::size_t>(args.y.size())));
}

template void halo<float>(const Context&, const HaloArgs<float>&);
template void halo<double>(const Context&, const HaloArgs<double>&);
template void halo<std::int32_t>(const Context&, const HaloArgs<std::int32_t>&);
template void halo_add<float>(const Context&, const HaloArgs<float>&);
template void halo_add<double>(const Context&, const HaloArgs<double>&);
template void halo_start<float>(const Context&, const HaloArgs<float>&);
template void halo_start<double>(const Context&, const HaloArgs<double>&);
template void halo_start<std::int32_t>(const Context&, const HaloArgs<std::int32_t>&);
template void halo_wait<float>(const Context&, const HaloArgs<float>&);
template void halo_wait<double>(const Context&, const HaloArgs<double>&);
template void halo_wait<std::int32_t>(const Context&, const HaloArgs<std::int32_t>&);
template void halo_add_start<float>(const Context&, const HaloArgs<float>&);
template void halo_add_start<double>(const Context&, const HaloArgs<double>&);
template void halo_add_wait<float>(const Context&, const HaloArgs<float>&);
template void halo_add_wait<double>(const Context&, const HaloArgs<double>&);
template void rank_range<float>(const Context&, const HaloArgs<float>&);
template void rank_range<double>(const Context&, const HaloArgs<double>&);
template void rank_sum<float>(const Context&, const HaloArgs<float>&);
template void rank_sum<double>(const Context&, const HaloArgs<double>&);

}  // namespace gneiss::kernels
