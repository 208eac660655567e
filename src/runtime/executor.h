// Runs a Plan in process.
//
// All memory is taken at construction: parameters, gradients, states, constants, one arena, whose start is workspace
// too. Every op is bound to its kernel once; a step is a walk over bound calls and allocates nothing. Calls that the
// plan fuses by rows run together: a task is a run of rows, cut by the data alone, and passes through all of them band
// by band.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/swept_rows.h"
#include "data/dataset.h"
#include "ir/plan.h"
#include "kernels/call.h"
#include "kernels/edge_loop.h"
#include "runtime/structures.h"

namespace gneiss::runtime {

template <class T>
class Executor {
 public:
  /// Binds `plan` to `dataset`; both must outlive the executor, as must `class_weights`. The loss counts the dataset's
  /// training nodes. Errors: kOutOfMemory with the plan's size. `loops`: a function for each loop over edges of the
  /// plan, which only f32 has. `file`: plan.file_bytes bytes of a FileMemory that outlives the executor too.
  Executor(const ir::Plan& plan, const data::Dataset& dataset, DerivedGraphs derived,
           std::span<const float> class_weights, int threads, std::span<const kernels::EdgeLoopFunction> loops = {},
           std::span<std::byte> file = {});
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// To be called when the setup phase is through for good: gives back its part of the arena, and pages of files, which
  /// reading brings again.
  void end_setup();
  /// After that, and when what else only the setup read is gone: makes the edges that the steps walk by themselves
  /// (Plan::loss_blocks).
  void make_loss_blocks() { structures_.fill_loss_blocks(plan_, context_.threads); }
  /// Runs the ops of one phase in order, drawing random numbers for (seed, epoch). The setup phase runs once:
  /// structures go when the last of its ops that reads them is through, if no other phase does.
  void run(ir::Phase phase, kernels::StepKey key);

  /// Values of a stored dense result.
  MatrixView<T> view(ir::ValueId value);
  MatrixView<const T> view(ir::ValueId value) const { return const_cast<Executor*>(this)->view(value); }

  /// Elements of a value stored in 16 bits, row-major.
  std::uint16_t* halves(ir::ValueId value);

  std::span<T> parameters() { return parameters_.span(); }
  std::span<T> gradients() { return gradients_.span(); }
  std::span<T> states() { return states_.span(); }
  const kernels::Context& context() const { return context_; }

 private:
  /// One call, or calls that work through the same rows together.
  struct Step {
    ir::Phase phase;
    std::int32_t last_step;  ///< of those of the plan that it is
    std::vector<kernels::BoundCall> calls;
    std::vector<std::span<std::byte>> workspaces;  ///< of each call
    std::vector<std::int64_t> cuts;  ///< rows at which tasks start, and their number; empty: one call by itself
    std::int64_t band_rows = 0;
    std::unique_ptr<SweptRows> swept;  ///< those in files, of a step in bands
  };

  /// What a loop over edges is called with.
  struct Loop {
    kernels::EdgeLoopFunction function = nullptr;
    kernels::EdgeLoopArgs args;
    std::vector<const void*> reads;
    std::vector<void*> writes;
    std::vector<MatrixView<float>> totals;
    std::vector<std::int64_t> cuts;
  };

  kernels::Operands<T> operands(std::span<const float> class_weights);
  void use_loss_rows(kernels::Operands<T>* from);
  void bind_steps(std::span<const float> class_weights, std::span<const kernels::EdgeLoopFunction> loops);
  kernels::BoundCall bind_loop(const ir::EdgeLoop& loop, kernels::EdgeLoopFunction function);
  void* rows_of(ir::ValueId value);
  std::vector<std::int64_t> cut_rows(const ir::RowBand& band) const;
  FileRows feature_rows() const;
  std::vector<FileRows> file_rows(const ir::RowBand& band);
  void run_bands(const Step& step) const;
  MatrixView<T> input_view(const ir::Type& type);
  std::byte* address(ir::ValueId value);

  const ir::Plan& plan_;
  const data::Dataset& dataset_;
  Structures structures_;
  Buffer<T> parameters_;
  Buffer<T> gradients_;
  Buffer<T> states_;
  Buffer<std::byte> constants_;
  std::span<std::byte> file_;
  Buffer<std::byte> arena_;
  Buffer<std::byte> bands_;   ///< plan.band_bytes for each thread
  data::Labels loss_labels_;  ///< of the rows of the loss, where it is taken of them alone,
  Buffer<NodeId> loss_rows_;  ///< and all their indices
  // Copies, only where T is not the dataset's own type.
  Buffer<T> features_;
  Buffer<T> transposed_values_;
  kernels::StepKey key_;
  kernels::Context context_;
  std::vector<Step> steps_;
};

extern template class Executor<float>;
extern template class Executor<double>;

}  // namespace gneiss::runtime
