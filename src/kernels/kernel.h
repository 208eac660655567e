// What all kernels share: the context they run in, and tables of variants.
//
// An op is a contract (x.h), checks and a table of variants (x.cc), and one file per variant (reference/x.cc,
// cpu/x.cc). The table is an explicit list, best first, ending in `reference`; the first variant that does not decline
// runs. GNEISS_KERNEL=spmm:reference,gemm:onednn forces variants; GNEISS_VERBOSE=dispatch says on the log why others
// declined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/matrix_view.h"

namespace gneiss::kernels {

/// Where a kernel runs.
struct Context {
  int threads = 1;
  /// Scratch memory, at least <op>_workspace_bytes(...) bytes, 64-byte aligned. Kernels allocate nothing.
  std::span<std::byte> workspace;
};

/// Consecutive rows of a call, part of a task that one thread works through band by band.
struct Band {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t task = 0;
  std::int64_t task_begin = 0;
  std::int64_t task_end = 0;
  int thread = 0;

  bool first() const { return begin == task_begin; }
};

/// The rows of a band.
template <class T>
MatrixView<T> rows_of(const MatrixView<T>& view, const Band& band) {
  if (view.thread_stride == 0) return view.band(band.begin, band.end);
  return {view.data + band.thread * view.thread_stride, band.end - band.begin, view.cols, view.stride};
}

/// An implementation cut into bands of rows, so that calls that follow one another can share the rows in cache: prepare
/// runs once and may use all threads, run once for each band on one thread, finish once when all bands of all tasks are
/// through. The workspace holds shared_bytes, then task_bytes for each task.
template <class Args>
struct BandKernel {
  void (*prepare)(const Context& context, const Args& args) = nullptr;
  void (*run)(const Context& context, const Args& args, const Band& band) = nullptr;  ///< null: it cannot be cut
  void (*finish)(const Context& context, const Args& args, std::int64_t tasks) = nullptr;
  std::size_t shared_bytes = 0;
  std::size_t task_bytes = 0;
};

/// Where a band kernel keeps the partial result of a task.
template <class T, class Args>
T* task_partial(const Context& context, const BandKernel<Args>& kernel, std::int64_t task) {
  return reinterpret_cast<T*>(context.workspace.data() + kernel.shared_bytes +
                              static_cast<std::size_t>(task) * kernel.task_bytes);
}

/// How an implementation goes through the rows of its result. Only what finishes a row at once runs on a band of rows.
enum class Passes : std::uint8_t {
  kOne,    ///< each row is finished at once
  kTiles,  ///< all rows once for each tile of sources, by the pattern that is cut that way
  kPanels  ///< all rows once for each panel of columns
};

/// One implementation of an op on arguments `Args`.
template <class Args>
struct Variant {
  std::string_view name;
  /// Why it cannot run on these arguments (shapes only: data may be null), or "" if it can.
  std::string_view (*declines)(const Args& args);
  void (*run)(const Context& context, const Args& args);
  /// How it is cut into bands, where that takes more than calling run on views of the rows; or null.
  BandKernel<Args> (*bands)(const Args& args) = nullptr;
  Passes passes = Passes::kOne;
};

/// Names of the vector instructions that this machine has, the best first, e.g. "AVX3", "AVX2", …
std::vector<std::string> vector_targets();
/// The best of them.
std::string vector_target();

/// Name forced for `op` by GNEISS_KERNEL, or "".
std::string_view forced_variant(std::string_view op);
/// Reports a choice when GNEISS_VERBOSE=dispatch is set.
void report_choice(std::string_view op, std::string_view variant, std::string_view reason);

/// Throws kUsage: `forced` names no variant of `op`.
[[noreturn]] void throw_unknown_variant(std::string_view op, std::string_view forced, std::string_view known);

/// The variant called `name`, or null.
template <class Args>
const Variant<Args>* find_variant(std::span<const Variant<Args>> variants, std::string_view name) {
  for (const Variant<Args>& variant : variants) {
    if (variant.name == name) return &variant;
  }
  return nullptr;
}

/// The first variant that takes `args` (or the forced one; where that declines, the last one). `variants` ends in a
/// variant that takes everything. Errors: kUsage if GNEISS_KERNEL forces a variant that the op does not have.
template <class Args>
const Variant<Args>& choose(std::string_view op, std::span<const Variant<Args>> variants, const Args& args) {
  const std::string_view forced = forced_variant(op);
  bool known = forced.empty();
  for (const Variant<Args>& variant : variants) {
    if (!forced.empty() && variant.name != forced) continue;
    known = true;
    const std::string_view reason = variant.declines(args);
    report_choice(op, variant.name, reason);
    if (reason.empty()) return variant;
  }
  if (!known) {
    std::string names;
    for (const Variant<Args>& variant : variants) names.append(names.empty() ? "" : ", ").append(variant.name);
    throw_unknown_variant(op, forced, names);
  }
  return variants.back();
}

}  // namespace gneiss::kernels
