// Rows to send are packed one behind the other, by receiver. What comes in lies packed too: ghosts are in the order of
// their owners, so that rows without gaps between them are received where they belong.
#include "kernels/halo.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"

namespace gneiss::kernels {
namespace {

constexpr std::int64_t kGrain = 1024;

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

/// Where packed rows lie in the workspace: those of own rows that others hold, and those of ghosts.
template <class T>
struct Packed {
  T* own = nullptr;
  T* ghosts = nullptr;
};

template <class T>
Packed<T> packed_rows(const Context& context, const HaloArgs<T>& args) {
  const std::int64_t rows = args.plan->sends() + args.plan->ghosts;
  GNEISS_ASSERT(context.workspace.size() >= halo_workspace_bytes(rows, args.x.cols, sizeof(T)),
                "an exchange of {} rows has {} bytes of scratch", rows, context.workspace.size());
  T* const start = reinterpret_cast<T*>(context.workspace.data());
  return {start, start + args.plan->sends() * args.x.cols};
}

}  // namespace

std::size_t halo_workspace_bytes(std::int64_t packed, std::int64_t cols, std::size_t value_bytes) {
  return static_cast<std::size_t>(packed * cols) * value_bytes;
}

template <class T>
void halo(const Context& context, const HaloArgs<T>& args) {
  const comm::HaloPlan& plan = *args.plan;
  const std::int64_t cols = args.x.cols;
  const Packed<T> packed = packed_rows(context, args);
  copy_rows<T>(
      context.threads, plan.sends(), cols, [&](std::int64_t i) { return packed.own + i * cols; },
      [&](std::int64_t i) { return args.x.row(plan.send_rows[static_cast<std::size_t>(i)]); });
  copy_own(context, args);
  const bool in_place = args.y.contiguous();
  T* const ghosts = in_place ? args.y.row(plan.owned) : packed.ghosts;
  args.communicator->exchange({bytes_of(packed.own, plan.sends(), cols), plan.send_at},
                              {bytes_of(ghosts, plan.ghosts, cols), plan.receive_at},
                              cols * static_cast<std::int64_t>(sizeof(T)));
  if (in_place) return;
  copy_rows<T>(
      context.threads, plan.ghosts, cols, [&](std::int64_t i) { return args.y.row(plan.owned + i); },
      [&](std::int64_t i) { return ghosts + i * cols; });
}

template <class T>
void halo_add(const Context& context, const HaloArgs<T>& args) {
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
  args.communicator->exchange({bytes_of(ghosts, plan.ghosts, cols), plan.receive_at},
                              {bytes_of(packed.own, plan.sends(), cols), plan.send_at},
                              cols * static_cast<std::int64_t>(sizeof(T)));
  copy_own(context, args);
  // One rank holds a row once: the rows of one rank are added side by side, ranks one after the other.
  for (std::size_t p = 0; p + 1 < plan.send_at.size(); ++p) {
    const std::int64_t first = plan.send_at[p];
    parallel_chunks(context.threads, plan.send_at[p + 1] - first, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = first + begin; i < first + end; ++i) {
        T* const to = args.y.row(plan.send_rows[static_cast<std::size_t>(i)]);
        const T* const from = packed.own + i * cols;
        for (std::int64_t c = 0; c < cols; ++c) to[c] += from[c];
      }
    });
  }
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
template void halo_add<float>(const Context&, const HaloArgs<float>&);
template void halo_add<double>(const Context&, const HaloArgs<double>&);
template void rank_sum<float>(const Context&, const HaloArgs<float>&);
template void rank_sum<double>(const Context&, const HaloArgs<double>&);

}  // namespace gneiss::kernels
