// Runs a Plan on a device.
//
// Everything that a step touches lies there, in one allocation whose size is known before (device_layout.h):
// parameters, gradients, optimizer state, constants, arena, graphs and their transposes, features, labels. Structures
// are made on the host and copied once. From then on a step (forward, backward, update) and an evaluation are each
// recorded when they first run, and replayed: what changes from one to the next lies in one block of device memory.
// Values come back when they are read. Parameters have a copy on the host, which is brought up to date when it is asked
// for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/plan.h"
#include "kernels/call.h"
#include "runtime/device.h"
#include "runtime/device_layout.h"
#include "runtime/device_loops.h"
#include "runtime/device_program.h"
#include "runtime/exchanging_steps.h"
#include "runtime/inputs.h"
#include "runtime/optimizer.h"
#include "runtime/parameters.h"
#include "runtime/structures.h"

namespace gneiss::runtime {

class DeviceExecutor {
 public:
  /// Takes the memory and copies what the plan runs on. `loops`: the kernels of the plan's loops over edges. Plan,
  /// parameters and device must outlive the executor; the plan is one for devices. With a `rank` it is that of one of
  /// several, which call everything together; nothing is recorded then, since the devices meet in the middle of a step.
  /// Errors: kOutOfMemory with the numbers; kUnsupported for what devices do not do yet.
  DeviceExecutor(const ir::Plan& plan, Parameters<float>* parameters, Device* device, const Inputs& inputs,
                 DerivedGraphs derived, int threads, const OptimizerConfig& optimizer,
                 std::vector<ParameterRange> ranges, DeviceLoops loops = {}, const DeviceRank& rank = {});
  DeviceExecutor(const DeviceExecutor&) = delete;
  DeviceExecutor& operator=(const DeviceExecutor&) = delete;

  // Errors of all that follow: kInternal with the epoch, or the phase, in which the device failed; with the op and its
  // line of the model if that is in a launch, with GNEISS_DEVICE_SYNC=1 also if it is in a kernel that runs.

  /// Runs the ops of one phase in order.
  void run(ir::Phase phase, kernels::StepKey key);
  /// One optimizer step on the gradients at hand.
  void update(double lr);
  /// Forward, backward and update as one recorded step. The update does nothing where the loss is not finite.
  void step(kernels::StepKey key, double lr);
  void reset_optimizer();

  /// A copy of a dense value, until the next phase runs.
  MatrixView<const float> read(ir::ValueId value);
  std::span<const std::uint16_t> read_halves(ir::ValueId value);

  /// Of the last inference, how the predictions for `rows` meet the labels: for each class or task, or one for all
  /// classes, how often it was predicted and true, predicted, true, and labelled, behind each other
  /// (kernels/cuda/count_scores.h); valid until the next call. Empty if `rows` are none of Inputs::scored.
  std::span<const double> count_scores(std::span<const NodeId> rows, bool by_class);

  /// Copies of what the optimizer remembers, of the last fetch_optimizer; send_optimizer brings changes there.
  OptimizerState<float> optimizer_state() { return {host_first_, host_second_, &optimizer_steps_}; }
  void fetch_optimizer();
  void send_optimizer();

  /// Copies parameters and states from the host.
  void send_parameters();
  /// Brings parameters, gradients and states of the host up to date.
  void fetch_parameters();

  const DeviceLayout& layout() const { return layout_; }
  /// Of one of several that are processes: closes the others' memory, and gives back the block that they may read, if
  /// that is not the device's own. All have come here; nothing runs then.
  void leave();
  /// Of one of several, other numbers for sums by the exchange fine; as DeviceUnits::retune. Not while a phase runs.
  void retune(const exchange::Tuning& tuning) { exchanging_.retune(tuning); }
  /// What exchanges between devices take besides the layout.
  std::int64_t exchange_bytes() const;

 private:
  struct Step {
    const ir::Op* op = nullptr;
    kernels::DeviceCall call;
    std::int32_t epilogue = -1;      ///< of epilogues_: what its kernel does besides
    bool in_epilogue = false;        ///< of a step before: nothing is launched
    ExchangingSteps::Work together;  ///< in the place of the call: what several devices do
  };
  /// Edges and weights of a graph.
  struct Graph {
    SparsePatternIn<Space::kDevice> in;
    SparsePatternIn<Space::kDevice> out;
    DeviceSpan<const float> weights;
  };
  /// The copy of a value that was read.
  struct Copy {
    ir::ValueId value = ir::kNoValue;
    std::vector<std::byte> elements;
    bool fresh = false;
  };

  void take_memory(Device* device, comm::Communicator* devices);
  template <class T>
  DeviceSpan<T> take(std::int64_t count);
  template <class T>
  DeviceSpan<const T> send(std::span<const T> from);
  SparsePatternIn<Space::kDevice> send_pattern(const SparsePattern& from);
  void send_graphs(const Structures& structures);
  void send_features(const Inputs& inputs, const Structures& structures);
  kernels::LossOperandsIn<Space::kDevice> send_rows(const LabelledRows& from);
  void send_scored(const Inputs& inputs);
  void send_labels(const Inputs& inputs);
  void make_operands();
  void bind_steps();
  void bind_epilogues();
  void bind_loop(Step* step, const ir::EdgeLoop& planned, std::size_t number);
  void launch_phase(ir::Phase phase);
  void launch_update();
  void launch_clipping(const kernels::DeviceContext& context);
  kernels::DeviceContext context() const;
  /// Launches, and waits with GNEISS_DEVICE_SYNC=1; a fault is told with the name of the work.
  template <class Launch, class Name>
  void launch(const Launch& launch, const Name& name);
  /// Does what may wait for the device; a fault is told with what was under way.
  template <class Work>
  void told(const Work& work) const;
  std::string what_is_under_way() const;
  /// Brings the block of numbers of a step to the device.
  void send_numbers(kernels::StepKey key, double lr);
  const std::byte* fetch(ir::ValueId value, std::int64_t bytes);
  DeviceSpan<const std::int64_t> ids_of(std::size_t set) const {
    return set < row_ids_.size() ? row_ids_[set] : DeviceSpan<const std::int64_t>();
  }
  MatrixView<float, Space::kDevice> view(ir::ValueId value);
  std::byte* address(ir::ValueId value);

  const ir::Plan& plan_;
  Parameters<float>& parameters_;
  Device& device_;
  OptimizerConfig optimizer_;
  DeviceLoops loops_;
  std::vector<ParameterRange> ranges_;
  DeviceLayout layout_;
  ExchangingSteps exchanging_;
  Nvshmem* nvshmem_;                    ///< whose block holds it all; else null
  std::optional<DeviceMemory> memory_;  ///< else this does
  DeviceSpan<std::byte> all_;
  std::size_t next_part_ = 0;
  DeviceSpan<float> values_;
  DeviceSpan<float> gradients_;
  DeviceSpan<float> states_;
  DeviceSpan<float> first_;
  DeviceSpan<float> second_;
  DeviceSpan<std::byte> squares_;  ///< workspace of clipping
  DeviceSpan<kernels::StepNumbers> numbers_;
  DeviceSpan<std::byte> constants_;
  DeviceSpan<std::byte> arena_;
  std::vector<Graph> graphs_;
  SparsePatternIn<Space::kDevice> features_;
  SparsePatternIn<Space::kDevice> transposed_features_;
  DeviceSpan<const float> feature_values_;
  DeviceSpan<const std::uint16_t> feature_halves_;
  DeviceSpan<const float> transposed_values_;
  std::vector<DeviceSpan<const std::int64_t>> row_ids_;  ///< by set of nodes; sets of the same nodes share a copy
  /// Rows that are scored, on the host and here.
  struct Scored {
    std::vector<NodeId> rows;
    DeviceSpan<const NodeId> here;
  };
  std::vector<Scored> scored_;
  DeviceSpan<double> counts_;
  DeviceSpan<std::byte> counting_;  ///< workspace of that
  std::vector<double> host_counts_;
  ir::Sizes sizes_;
  std::int64_t optimizer_steps_ = 0;
  std::vector<float> host_first_;
  std::vector<float> host_second_;
  kernels::Operands<float, Space::kDevice> operands_;
  std::deque<DeviceLoop> bound_loops_;  ///< that steps run
  std::vector<Step> steps_;
  std::vector<kernels::Epilogue> epilogues_;  ///< one a chain of the plan
  std::vector<Copy> copies_;
  /// What was enqueued last. Kernels are not waited for: a fault of one shows later, at a copy.
  struct UnderWay {
    ir::Phase phase = ir::Phase::kSetup;
    bool whole_step = false;
    std::uint64_t epoch = 0;
  };
  UnderWay under_way_;
  bool failed_in_launch_ = false;        ///< its name was told
  ExchangingSteps::Work sum_gradients_;  ///< of all devices, after backward
  // All that they read of the arena is written in them.
  RecordedWork recorded_step_;
  RecordedWork recorded_inference_;
};

}  // namespace gneiss::runtime
