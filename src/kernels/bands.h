// Calls that work through the same rows together: how rows are cut into tasks and bands, and calls bound to their
// arguments.
//
// The executor and programs that are written out cut and walk rows by the functions of this file, so that their sums,
// which keep a partial result per task, agree bit for bit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/parallel.h"
#include "kernels/band_views.h"
#include "kernels/kernel.h"

namespace gneiss::kernels {

/// Rows at which `tasks` tasks start, and the number of rows behind them: about equal in edges where `offsets` [rows +
/// 1] of a pattern are given, else in rows. A function of the data alone; every task has a row.
std::vector<std::int64_t> cut_rows(std::span<const EdgeId> offsets, std::int64_t rows, std::int64_t tasks);
/// The same into `cuts`, which allocates nothing where it had as many tasks before.
void cut_rows(std::span<const EdgeId> offsets, std::int64_t rows, std::int64_t tasks, std::vector<std::int64_t>* cuts);
/// The same with a cut at row `first` besides, so that rows before it can run by themselves: a task of the `tasks` is
/// kept for it. Returns how many tasks these rows are. One task stays one, which is none of them.
std::int64_t cut_rows_at(std::int64_t first, std::span<const EdgeId> offsets, std::int64_t rows, std::int64_t tasks,
                         std::vector<std::int64_t>* cuts);

/// Calls body(band) for every band of at most `band_rows` rows: tasks side by side, bands of a task one after the
/// other; and after(task) when the rows of a task are through.
template <class Body, class After>
void for_each_band(int threads, std::span<const std::int64_t> cuts, std::int64_t band_rows, const Body& body,
                   const After& after) {
  const auto tasks = static_cast<std::int64_t>(cuts.size()) - 1;
  parallel_tasks(threads, tasks, [&](std::int64_t task, int thread) {
    Band band;
    band.thread = thread;
    band.task = task;
    band.task_begin = cuts[static_cast<std::size_t>(task)];
    band.task_end = cuts[static_cast<std::size_t>(task) + 1];
    for (band.begin = band.task_begin; band.begin < band.task_end; band.begin = band.end) {
      band.end = std::min(band.begin + band_rows, band.task_end);
      body(band);
    }
    after(task);
  });
}

template <class Body>
void for_each_band(int threads, std::span<const std::int64_t> cuts, std::int64_t band_rows, const Body& body) {
  for_each_band(threads, cuts, band_rows, body, [](std::int64_t) {});
}

/// The same for the tasks [first, last) alone, which keep their numbers.
template <class Body, class After>
void for_each_band_of(std::int64_t first, std::int64_t last, int threads, std::span<const std::int64_t> cuts,
                      std::int64_t band_rows, const Body& body, const After& after) {
  const auto renumbered = [&](Band band) {
    band.task += first;
    body(band);
  };
  for_each_band(threads, cuts.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first) + 1),
                band_rows, renumbered, [&](std::int64_t task) { after(task + first); });
}

template <class Body>
void for_each_band_of(std::int64_t first, std::int64_t last, int threads, std::span<const std::int64_t> cuts,
                      std::int64_t band_rows, const Body& body) {
  for_each_band_of(first, last, threads, cuts, band_rows, body, [](std::int64_t) {});
}

/// A call on the rows of a band alone.
template <class Args>
class RowCall {
 public:
  RowCall(void (*kernel)(const Context&, const Args&), const Args& args) : kernel_(kernel), args_(args) {}

  void run(const Band& band) const { kernel_({}, band_of(args_, band)); }

 private:
  void (*kernel_)(const Context&, const Args&);
  Args args_;
};

/// A call with something to prepare, or with a partial result for each task; see BandKernel. `workspace` holds its
/// scratch.
template <class Args>
class BandedCall {
 public:
  BandedCall(BandKernel<Args> (*bands)(const Args&), const Args& args, std::span<std::byte> workspace)
      : kernel_(bands(args)), args_(args), workspace_(workspace) {}

  void prepare(int threads) const {
    if (kernel_.prepare != nullptr) kernel_.prepare({threads, workspace_}, args_);
  }
  void run(const Band& band) const { kernel_.run({1, workspace_}, args_, band); }
  void finish(int threads, std::size_t cuts) const {
    if (kernel_.finish != nullptr) kernel_.finish({threads, workspace_}, args_, static_cast<std::int64_t>(cuts) - 1);
  }

 private:
  BandKernel<Args> kernel_;
  Args args_;
  std::span<std::byte> workspace_;
};

}  // namespace gneiss::kernels
