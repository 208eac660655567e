// What runs the plan of a session: the host's executor and optimizer, or those of a device.
//
// Parameters have one home on the host, runtime::Parameters. Where a device trains, that is a copy: send() after it was
// written, fetch() before it is read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ir/plan.h"
#include "kernels/call.h"
#include "runtime/device.h"
#include "runtime/device_executor.h"
#include "runtime/executor.h"
#include "runtime/inputs.h"
#include "runtime/optimizer.h"
#include "runtime/parameters.h"

namespace gneiss::train {

template <class T>
class Engine {
 public:
  virtual ~Engine() = default;

  virtual void run(ir::Phase phase, kernels::StepKey key) = 0;
  /// What the setup phase alone needed may go; see runtime::Executor.
  virtual void end_setup() = 0;
  virtual void make_loss_tiles() = 0;
  /// The rows of a dense value, until the next phase runs.
  virtual MatrixView<const T> read(ir::ValueId value) = 0;
  virtual std::span<const std::uint16_t> read_halves(ir::ValueId value) = 0;

  /// Of a device, as runtime::DeviceExecutor::count_scores; else empty.
  virtual std::span<const double> count_scores(std::span<const NodeId> /*rows*/, bool /*by_class*/) { return {}; }

  virtual void update(double lr) = 0;
  /// Forward, backward, and an update unless the loss, which is value `loss`, is not finite. Returns that loss.
  virtual double step(ir::ValueId loss, kernels::StepKey key, double lr) = 0;
  virtual void reset_optimizer() = 0;
  /// What the optimizer remembers; of a device a copy, which send_optimizer brings back there.
  virtual runtime::OptimizerState<T> optimizer_state() = 0;
  virtual void send_optimizer() = 0;
  virtual void send() = 0;
  virtual void fetch() = 0;
  /// Of a device that is one of several processes: closes the others' memory. Nothing runs then.
  virtual void leave() {}
  /// Of a device of several: other numbers for sums by the exchange fine; see the executors.
  virtual void retune(const exchange::Tuning& /*tuning*/) {}
  /// Likewise: what it takes besides the plan, of a device's memory where that trains.
  virtual std::int64_t exchange_bytes() const { return 0; }
  /// What it takes of a device's memory.
  virtual std::int64_t device_bytes() const { return 0; }
};

/// On the host.
template <class T>
std::unique_ptr<Engine<T>> make_host_engine(const ir::Plan& plan, runtime::Parameters<T>* parameters,
                                            const runtime::Inputs& inputs, kernels::Context context,
                                            runtime::Resources resources, const runtime::OptimizerConfig& optimizer,
                                            std::vector<runtime::ParameterRange> ranges);

/// On a device, with a `rank` one of several. Errors: as runtime::DeviceExecutor.
std::unique_ptr<Engine<float>> make_device_engine(const ir::Plan& plan, runtime::Parameters<float>* parameters,
                                                  const runtime::Inputs& inputs, int threads, runtime::Device* device,
                                                  runtime::DerivedGraphs derived,
                                                  const runtime::OptimizerConfig& optimizer,
                                                  std::vector<runtime::ParameterRange> ranges,
                                                  runtime::DeviceLoops loops, const runtime::DeviceRank& rank = {});

}  // namespace gneiss::train
