// Runs a Plan in process.
//
// A plan is made for capacities: the most nodes and edges that a step may bring. Its memory is taken at construction:
// constants and one arena, whose start is workspace too. `bind` ties every op to its kernel, to the sizes of a step and
// to the views of its inputs; binding again refills the same calls and allocates nothing. A full graph is bound once, a
// mini-batch for every batch. `run` walks over the bound calls of a phase. Calls that the plan fuses by rows run
// together: a task is a run of rows, cut by the data alone, and passes through all of them band by band.
//
// Of a rank of several, exchanges go on behind other ops. A band in front of which one is waited for runs its interior
// rows first and waits then; one behind which rows of ghosts are sent runs those first. A sum that takes up rows as
// they come adds edges from own nodes first and waits then. Gradients are summed over the ranks, each as soon as it is
// made; the backward phase ends when all sums are there. Data move between bands of rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/swept_rows.h"
#include "comm/halo.h"
#include "comm/open_sums.h"
#include "exchange/exchange.h"
#include "ir/plan.h"
#include "kernels/call.h"
#include "kernels/edge_loop.h"
#include "runtime/exchanging_sums.h"
#include "runtime/inputs.h"
#include "runtime/parameters.h"
#include "runtime/releases.h"
#include "runtime/structures.h"

namespace gneiss::runtime {

/// What else a plan may need to run.
struct Resources {
  DerivedGraphs derived;                             ///< graphs made from the given ones
  std::span<const kernels::EdgeLoopFunction> loops;  ///< a function for each loop over edges of the plan (f32 only)
  std::span<std::byte> file;                         ///< plan.file_bytes bytes of a FileMemory that outlives the run
  comm::Communicator* communicator = nullptr;        ///< of a rank of several, whose plan has ops between ranks
  const comm::HaloPlan* halo = nullptr;              ///< likewise; both outlive the executor
  pgas::Space* space = nullptr;                      ///< of a rank that fetches others' rows, which outlives the run
  exchange::Tuning tuning = {};                      ///< of sums that fetch their rows piece by piece
  /// Takes memory that other devices can read; empty: the process's own does.
  std::function<Buffer<std::byte>(std::size_t bytes)> shared_memory = {};
  bool overlap = true;  ///< exchanges and sums of gradients go on behind the ops that do not need them; the bits are
                        ///< the same without
};

template <class T>
class Executor {
 public:
  /// Takes the memory of `plan`; plan and parameters must outlive the executor. `context` says how many threads run it.
  /// Errors: kOutOfMemory with the plan's size.
  Executor(const ir::Plan& plan, Parameters<T>& parameters, kernels::Context context, Resources resources = {});
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Ties the plan to the views and sizes of a step. The first call also makes the structures of graphs that stay;
  /// later calls take only what changes (graphs and node sets marked so, features, row ids, labels and rows of the
  /// loss) and allocate nothing. Errors: kInternal where the step brings more than the plan has room for.
  void bind(const Inputs& inputs);

  /// To be called when the setup phase is through for good: frees what the plan says that it alone needed, and gives
  /// back pages of files, which reading brings again.
  void end_setup();
  /// After that, and when what else only the setup read is gone: makes the edges that the steps walk by themselves
  /// (Plan::loss_tiles).
  void make_loss_tiles();
  /// Runs the ops of one phase in order, drawing random numbers for (seed, epoch). The setup phase runs once: on the
  /// way go the structures that Plan::releases names.
  void run(ir::Phase phase, kernels::StepKey key);

  /// The rows of a stored dense value, until the next call.
  MatrixView<const T> read(ir::ValueId value) const { return const_cast<Executor*>(this)->view(value); }
  /// The elements of a value stored in 16 bits, row-major.
  std::span<const std::uint16_t> read_halves(ir::ValueId value) const;

  const kernels::Context& context() const { return context_; }

  /// Of a device: cuts the edges of sums by the exchange fine anew. Changes no result. Not while a phase runs.
  void retune(const exchange::Tuning& tuning);
  /// What sums that take up others' rows as they come take besides the plan: edges in pieces, and room for rows.
  std::int64_t exchange_bytes() const { return exchanging_.bytes(); }

 private:
  /// What a loop over edges is called with.
  struct Loop {
    kernels::EdgeLoopFunction function = nullptr;
    kernels::EdgeLoopArgs args;
    std::vector<const void*> reads;
    std::vector<void*> writes;
    std::vector<MatrixView<float>> totals;
    std::vector<std::int64_t> cuts;
  };

  /// One call, or calls that work through the same rows together.
  struct Step {
    ir::Phase phase = ir::Phase::kSetup;
    std::vector<std::int32_t> planned;  ///< its steps of the plan, in order
    std::int32_t band = -1;             ///< in Plan::bands, or -1: one call by itself
    std::vector<kernels::BoundCall> calls;
    std::vector<std::span<std::byte>> workspaces;  ///< of each call
    std::vector<std::int64_t> cuts;                ///< of a band: rows at which tasks start, and their number
    std::unique_ptr<SweptRows> swept;              ///< of a band that works on rows in files
    std::unique_ptr<Loop> loop;                    ///< of a loop over edges
    // Of a rank of several:
    ir::RowOrder order = ir::RowOrder::kAny;  ///< of a band
    std::int64_t first_tasks = 0;             ///< tasks of the rows that come first in the order of rows
    bool within_band = false;                 ///< a wait or a start that its neighbour, a band, runs on its way
    std::vector<std::size_t> made_gradients;  ///< parameters whose gradients are summed from it on
  };

  Buffer<std::byte> memory(std::int64_t bytes) const;

  void lay_out_steps();
  void take_sizes();
  void set_nodes(std::int32_t set, std::int64_t count);
  void widen();
  void make_operands();
  void bind_step(Step* step);
  void bind_loop(Step* step);
  void cut_rows(Step* step);
  void* rows_of(ir::ValueId value);
  FileRows feature_rows() const;
  std::vector<FileRows> file_rows(const ir::RowBand& band);
  void find_row_orders();
  void find_gradients();
  bool is_wait(const Step& step) const;
  std::int64_t rows_that_go_first(const Step& step) const;
  void run_call(const Step& step) const;
  pgas::Timeline* timeline() const { return resources_.space == nullptr ? nullptr : resources_.space->timeline(); }
  void run_bands(std::size_t at) const;
  void run_tasks(const Step& step, std::int64_t first, std::int64_t last) const;
  void start_sums(const std::vector<std::size_t>& parameters);
  bool is_rank() const { return resources_.communicator != nullptr; }
  void release(const ir::Release& release);
  MatrixView<T> input_view(ir::ValueId value);
  MatrixView<T> view(ir::ValueId value);
  std::uint16_t* halves(ir::ValueId value);
  std::byte* address(ir::ValueId value);
  const ir::Op& op_of(std::int32_t step) const {
    return plan_.program.ops[static_cast<std::size_t>(plan_.steps[static_cast<std::size_t>(step)].op)];
  }

  const ir::Plan& plan_;
  ir::ValueId constants_input_ = ir::kNoValue;  ///< the input that is Inputs::constants; the other is the features
  Parameters<T>& parameters_;
  Resources resources_;
  kernels::Context context_;
  Buffer<std::byte> constants_;
  Buffer<std::byte> arena_;
  Buffer<std::byte> bands_;  ///< plan.band_bytes for each thread
  ir::Sizes sizes_;          ///< of the step at hand
  Inputs inputs_;            ///< of the step at hand
  std::optional<Structures> structures_;
  // Copies, only where T is not the type of the inputs.
  Buffer<T> features_;
  Buffer<T> node_constants_;
  Buffer<T> transposed_values_;
  kernels::StepKey key_;
  kernels::Operands<T> operands_;
  std::vector<Step> steps_;
  Releases releases_;
  std::vector<kernels::ExchangeUnderWay> exchanges_;  ///< by value: of the packed rows of an exchange
  ExchangingSums<T> exchanging_;
  comm::OpenSums sums_;                       ///< of gradients, under way
  std::vector<std::size_t> early_gradients_;  ///< of parameters: what bands of the forward phase made
};

extern template class Executor<float>;
extern template class Executor<double>;

}  // namespace gneiss::runtime
