// Two engines: each hands its calls on.
#include "train/engine.h"

#include <cmath>
#include <utility>

#include "base/error.h"

namespace gneiss::train {
namespace {

template <class T>
class HostEngine : public Engine<T> {
 public:
  HostEngine(const ir::Plan& plan, runtime::Parameters<T>* parameters, const runtime::Inputs& inputs,
             kernels::Context context, runtime::Resources resources, const runtime::OptimizerConfig& optimizer,
             std::vector<runtime::ParameterRange> ranges)
      : parameters_(*parameters),
        executor_(plan, *parameters, context, std::move(resources)),
        optimizer_(optimizer, std::move(ranges), plan.parameter_bytes / static_cast<std::int64_t>(sizeof(T))) {
    executor_.bind(inputs);
  }

  void run(ir::Phase phase, kernels::StepKey key) override { executor_.run(phase, key); }
  void end_setup() override { executor_.end_setup(); }
  void make_loss_tiles() override { executor_.make_loss_tiles(); }
  MatrixView<const T> read(ir::ValueId value) override { return executor_.read(value); }
  std::span<const std::uint16_t> read_halves(ir::ValueId value) override { return executor_.read_halves(value); }
  void update(double lr) override {
    optimizer_.step(executor_.context(), lr, parameters_.values(), parameters_.gradients());
  }
  double step(ir::ValueId loss, kernels::StepKey key, double lr) override {
    run(ir::Phase::kForward, key);
    const auto value = static_cast<double>(read(loss).at(0, 0));
    run(ir::Phase::kBackward, key);
    if (std::isfinite(value)) update(lr);
    return value;
  }
  void reset_optimizer() override { optimizer_.reset(); }
  runtime::OptimizerState<T> optimizer_state() override { return optimizer_.state(); }
  void send_optimizer() override {}
  void send() override {}
  void fetch() override {}
  void retune(const exchange::Tuning& tuning) override { executor_.retune(tuning); }
  std::int64_t exchange_bytes() const override { return executor_.exchange_bytes(); }

 private:
  runtime::Parameters<T>& parameters_;
  runtime::Executor<T> executor_;
  runtime::Optimizer<T> optimizer_;
};

class DeviceEngine : public Engine<float> {
 public:
  DeviceEngine(const ir::Plan& plan, runtime::Parameters<float>* parameters, const runtime::Inputs& inputs, int threads,
               runtime::Device* device, runtime::DerivedGraphs derived, const runtime::OptimizerConfig& optimizer,
               std::vector<runtime::ParameterRange> ranges, runtime::DeviceLoops loops, const runtime::DeviceRank& rank)
      : executor_(plan, parameters, device, inputs, std::move(derived), threads, optimizer, std::move(ranges),
                  std::move(loops), rank) {}

  void run(ir::Phase phase, kernels::StepKey key) override { executor_.run(phase, key); }
  void end_setup() override {}
  void make_loss_tiles() override {}
  MatrixView<const float> read(ir::ValueId value) override { return executor_.read(value); }
  std::span<const std::uint16_t> read_halves(ir::ValueId value) override { return executor_.read_halves(value); }
  std::span<const double> count_scores(std::span<const NodeId> rows, bool by_class) override {
    return executor_.count_scores(rows, by_class);
  }
  void update(double lr) override { executor_.update(lr); }
  double step(ir::ValueId loss, kernels::StepKey key, double lr) override {
    executor_.step(key, lr);
    return static_cast<double>(executor_.read(loss).at(0, 0));
  }
  void reset_optimizer() override { executor_.reset_optimizer(); }
  runtime::OptimizerState<float> optimizer_state() override {
    executor_.fetch_optimizer();
    return executor_.optimizer_state();
  }
  void send_optimizer() override { executor_.send_optimizer(); }
  void send() override { executor_.send_parameters(); }
  void fetch() override { executor_.fetch_parameters(); }
  void leave() override { executor_.leave(); }
  void retune(const exchange::Tuning& tuning) override { executor_.retune(tuning); }
  std::int64_t device_bytes() const override { return executor_.layout().bytes + executor_.exchange_bytes(); }
  std::int64_t exchange_bytes() const override { return executor_.exchange_bytes(); }

 private:
  runtime::DeviceExecutor executor_;
};

}  // namespace

template <class T>
std::unique_ptr<Engine<T>> make_host_engine(const ir::Plan& plan, runtime::Parameters<T>* parameters,
                                            const runtime::Inputs& inputs, kernels::Context context,
                                            runtime::Resources resources, const runtime::OptimizerConfig& optimizer,
                                            std::vector<runtime::ParameterRange> ranges) {
  return std::make_unique<HostEngine<T>>(plan, parameters, inputs, context, std::move(resources), optimizer,
                                         std::move(ranges));
}

template std::unique_ptr<Engine<float>> make_host_engine(const ir::Plan&, runtime::Parameters<float>*,
                                                         const runtime::Inputs&, kernels::Context, runtime::Resources,
                                                         const runtime::OptimizerConfig&,
                                                         std::vector<runtime::ParameterRange>);
template std::unique_ptr<Engine<double>> make_host_engine(const ir::Plan&, runtime::Parameters<double>*,
                                                          const runtime::Inputs&, kernels::Context, runtime::Resources,
                                                          const runtime::OptimizerConfig&,
                                                          std::vector<runtime::ParameterRange>);

std::unique_ptr<Engine<float>> make_device_engine(const ir::Plan& plan, runtime::Parameters<float>* parameters,
                                                  const runtime::Inputs& inputs, int threads, runtime::Device* device,
                                                  runtime::DerivedGraphs derived,
                                                  const runtime::OptimizerConfig& optimizer,
                                                  std::vector<runtime::ParameterRange> ranges,
                                                  runtime::DeviceLoops loops, const runtime::DeviceRank& rank) {
  return std::make_unique<DeviceEngine>(plan, parameters, inputs, threads, device, std::move(derived), optimizer,
                                        std::move(ranges), std::move(loops), rank);
}

}  // namespace gneiss::train
