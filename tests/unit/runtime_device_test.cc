// Memory of a device: what a plan takes is known before, and said where it is too much; a host view does not reach a
// device kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <tuple>

#include "base/error.h"
#include "cost/device_profile.h"
#include "data/half_features.h"
#include "data/load.h"
#include "graph/graph.h"
#include "ir/verify_plan.h"
#include "kernels/cuda/device.h"
#include "runtime/device.h"
#include "runtime/device_executor.h"
#include "runtime/device_program.h"
#include "runtime/device_rates.h"
#include "support/allocation_counter.h"
#include "train/dataset_inputs.h"
#include "train/session.h"

namespace {
std::int64_t launches = 0;
}

// In the place of emulated::run_grid.
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
extern "C" {
void __real__ZN6gneiss7kernels8emulated8run_gridEljmRKSt8functionIFvvEE(std::int64_t blocks, unsigned threads,
                                                                        std::size_t shared,
                                                                        const std::function<void()>& body);
void __wrap__ZN6gneiss7kernels8emulated8run_gridEljmRKSt8functionIFvvEE(std::int64_t blocks, unsigned threads,
                                                                        std::size_t shared,
                                                                        const std::function<void()>& body) {
  ++launches;
  __real__ZN6gneiss7kernels8emulated8run_gridEljmRKSt8functionIFvvEE(blocks, threads, shared, body);
}
}
// NOLINTEND(bugprone-reserved-identifier)

namespace gneiss::runtime {
namespace {

using ::testing::HasSubstr;

/// Counts what is taken of the emulated device, and runs kernels that a test may have changed.
class CountingDevice : public Device {
 public:
  std::string name() const override { return inner_->name(); }
  const kernels::DeviceKernels& kernels() const override { return changed_kernels; }
  void* allocate(std::int64_t bytes) override {
    if (bytes > left_bytes) throw Error(ErrorCode::kOutOfMemory, "another process took it", "--device");
    taken += bytes;
    return inner_->allocate(bytes);
  }
  void release(void* data) noexcept override { inner_->release(data); }
  void upload(void* to, const void* from, std::int64_t bytes) override { inner_->upload(to, from, bytes); }
  void download(void* to, const void* from, std::int64_t bytes) override {
    downloaded += bytes;
    inner_->download(to, from, bytes);
  }
  void fill(void* to, unsigned char byte, std::int64_t bytes) override { inner_->fill(to, byte, bytes); }
  kernels::DeviceContext context() override { return inner_->context(); }
  void wait() override { inner_->wait(); }
  void begin_recording() override { inner_->begin_recording(); }
  std::unique_ptr<Recording> end_recording() override {
    ++recordings;
    std::unique_ptr<Recording> recording = inner_->end_recording();
    if (fails_to_record) throw Error(ErrorCode::kInternal, "the device failed while recording a step");
    return recording;
  }
  void poison(void* data, std::int64_t bytes) override { inner_->poison(data, bytes); }

  std::int64_t free_bytes = std::int64_t{1} << 30;
  std::int64_t left_bytes = free_bytes;  ///< when memory is taken
  std::int64_t taken = 0;
  std::int64_t downloaded = 0;
  int recordings = 0;
  bool fails_to_record = false;
  kernels::DeviceKernels changed_kernels = kernels::emulated_kernels();

 protected:
  DeviceRoom whole_room() override { return {free_bytes, free_bytes}; }

 private:
  std::unique_ptr<Device> inner_ = make_emulated_device();
};

template <template <class, Space> class Args>
constexpr bool takes_host_view = requires(kernels::OnDevice<Args> args, MatrixView<float> view) {
  args.y = view;
};
template <template <class, Space> class Args>
constexpr bool takes_device_view = requires(kernels::OnDevice<Args> args, MatrixView<float, Space::kDevice> view) {
  args.y = view;
};

TEST(DeviceMemory, AHostViewDoesNotReachADeviceKernel) {
  EXPECT_TRUE(takes_device_view<kernels::UnaryArgs>);
  EXPECT_FALSE(takes_host_view<kernels::UnaryArgs>);
  EXPECT_TRUE(takes_device_view<kernels::SpmmArgs>);
  EXPECT_FALSE(takes_host_view<kernels::SpmmArgs>);
}

TEST(DeviceMemory, WhatTheEmulationGivesIsNanUntilItIsWritten) {
  const std::unique_ptr<Device> device = make_emulated_device();
  const DeviceMemory memory(device.get(), 64);
  std::uint32_t word = 0;
  std::memcpy(&word, memory.data(), sizeof(word));
  EXPECT_EQ(word, 0xFFFFFFFFU);
}

TEST(DeviceProgram, RunsKernelsAndWhatFollowsThem) {
  DeviceProgram program("emulated");
  const std::vector<float> numbers = {-1, 2, -3, 4};
  const auto matrix = [&](DeviceSpan<float> span) { return MatrixView<float, Space::kDevice>(span.data, 2, 2); };
  const auto x = matrix(program.copy<float>(numbers));
  const auto middle = matrix(program.zeros<float>(4));
  const auto y = matrix(program.take<float>(4));
  const kernels::OnDevice<kernels::UnaryArgs> relu = {.fn = kernels::Unary::kRelu, .x = x, .y = middle};
  const kernels::OnDevice<kernels::BinaryArgs> minus = {.fn = kernels::Binary::kSub, .a = x, .b = middle, .c = y};
  program.launch(relu, {then(minus, kSecond)});
  std::vector<float> found(4);
  program.fetch(std::span<float>(found), DeviceSpan<float>{y.data, 4});
  EXPECT_THAT(found, ::testing::ElementsAre(-1, 0, -3, 0));
  EXPECT_EQ(program.read(x), -1);
}

/// All that a card is measured by, at sizes that the emulation runs in a moment.
TEST(DeviceRates, EveryKernelIsMeasured) {
  DeviceProgram program("emulated");
  const DeviceSizes sizes = {.columns = {1, 8},
                             .tables = {4096, 8192},
                             .streams = {12288, 24576},
                             .inner = {4, 8},
                             .densities = {0.0003},
                             .gathered_bytes = 8192,
                             .product_floats = 512,
                             .rows = 256,
                             .seconds = 1e-6};
  const cost::Rates rates = measure_device_rates(&program, sizes);
  EXPECT_EQ(cost::invalid_rate(rates), "");
  EXPECT_EQ(rates.source, "emulated device, measured");
  EXPECT_EQ(rates.gather.rates.size(), 4);
  EXPECT_EQ(rates.spx_slots.rates.size(), 2);
  const cost::Rates& described = cost::h100_profile().rates;
  EXPECT_EQ(rates.segments, described.segments) << "no kernel of a device begins segments";
  for (double cost::Rates::*const rate : {&cost::Rates::attention, &cost::Rates::attention_grad, &cost::Rates::dropout,
                                          &cost::Rates::exponentials, &cost::Rates::call_seconds})
    EXPECT_NE(rates.*rate, described.*rate);
  for (const cost::RateGrid* grid : {&rates.gather, &rates.gemm_nn, &rates.gemm_nt, &rates.gemm_tn, &rates.spx_forward,
                                     &rates.spx_gradient, &rates.spx_slots, &rates.stream}) {
    for (const double rate : grid->rates) EXPECT_LT(rate, 1e11) << "the emulation is no card";
  }
}

TEST(DeviceProgram, RecordsWorkOnce) {
  DeviceProgram program("emulated");
  const MatrixView<float, Space::kDevice> sum(program.zeros<float>(1).data, 1, 1);
  const MatrixView<float, Space::kDevice> one(program.copy<float>(std::vector<float>{1}).data, 1, 1);
  RecordedWork work;
  int launches = 0;
  for (int i = 0; i < 3; ++i) {
    work.run(program.device.get(), {}, [&] {
      ++launches;
      program.launch<kernels::BinaryArgs>({.fn = kernels::Binary::kAdd, .a = sum, .b = one, .c = sum});
    });
  }
  EXPECT_EQ(launches, 1);
  EXPECT_EQ(program.read(sum), 3);
}

class KaratePlan : public ::testing::Test {
 protected:
  KaratePlan() {
    train::Blueprint blueprint = make_blueprint();
    derived_ = std::move(blueprint.graphs);
    plan_ = std::move(blueprint.plan);
  }

  train::Blueprint make_blueprint() const {
    train::SessionOptions options;
    options.passes.target = planner::Target::kDevice;
    options.loss.kind = passes::LossSpec::Kind::kCrossEntropy;
    return train::make_blueprint(dataset_, options);
  }

  data::Dataset dataset_ = data::load("karate", {});
  DerivedGraphs derived_;
  ir::Plan plan_;
  CountingDevice device_;
};

TEST_F(KaratePlan, TakesWhatTheLayoutSaysToTheByte) {
  const train::DatasetInputs inputs(dataset_, plan_);
  Parameters<float> parameters(plan_);
  const DeviceLayout layout = device_layout(plan_, inputs.inputs(), {});
  const DeviceExecutor executor(plan_, &parameters, &device_, inputs.inputs(), std::move(derived_), 1, {}, {});
  EXPECT_EQ(device_.taken, layout.bytes);
  EXPECT_GE(layout.bytes, 5 * plan_.parameter_bytes + plan_.arena_bytes + plan_.constant_bytes);
}

/// Of other models and data: what their plans say, to the byte.
TEST(DevicePlans, TakeWhatTheySayToTheByte) {
  struct Case {
    std::string data;
    std::string model;
    passes::LossSpec::Kind loss = passes::LossSpec::Kind::kCrossEntropy;
    HalfType features = HalfType::kNone;
    double clip_norm = 0;
  };
  const std::string communities = "dcsbm:nodes=200,degree=6,features=30,density=0.1";
  const std::string gated_mean = std::string(GNEISS_SOURCE_DIR) + "/tests/synth/models/gated_mean.gneiss";
  for (const Case& one :
       {Case{"karate", "sage"}, Case{"karate", "gin"}, Case{"karate", "gat"}, Case{"karate", gated_mean},
        Case{communities, "gcn"}, Case{communities, "mlp"},
        Case{"dcsbm:nodes=60,degree=4,features=8,multilabel=1", "gcn", passes::LossSpec::Kind::kBceWithLogits},
        Case{"karate", "sage", passes::LossSpec::Kind::kCrossEntropy, HalfType::kBf16, 0.5}}) {
    SCOPED_TRACE(one.data + " " + one.model);
    data::Dataset dataset = data::load(one.data, {});
    if (one.features != HalfType::kNone) data::halve_features(one.features, "a test", &dataset.features);
    train::SessionOptions options;
    options.model = one.model;
    options.passes.target = planner::Target::kDevice;
    options.loss.kind = one.loss;
    options.optimizer.clip_norm = one.clip_norm;
    train::Blueprint made = train::make_blueprint(dataset, options);
    const train::DatasetInputs inputs(dataset, made.plan);
    Parameters<float> parameters(made.plan);
    CountingDevice device;
    const DeviceLayout layout = device_layout(made.plan, inputs.inputs(), options.optimizer);
    const DeviceExecutor executor(made.plan, &parameters, &device, inputs.inputs(), std::move(made.graphs), 1,
                                  options.optimizer, {});
    EXPECT_EQ(device.taken, layout.bytes);
  }
}

/// The most launches that one call of the kernel for these arguments took.
template <class Args>
std::int64_t most_launches = 0;

template <class Args>
void counted(const kernels::DeviceContext& context, const Args& args) {
  const std::int64_t before = launches;
  kernels::find_kernel<Args>(kernels::emulated_kernels()).run(context, args);
  most_launches<Args> = std::max(most_launches<Args>, launches - before);
}

template <class... Args>
void count_launches(std::tuple<kernels::DeviceKernel<Args>...>* kernels) {
  ((std::get<kernels::DeviceKernel<Args>>(*kernels).run = counted<Args>), ...);
}

/// What has one result takes one launch or two: a loss with its gradient, clipping, an update, the counts of a score.
TEST(DevicePlans, TakeFewLaunchesForWhatHasOneResult) {
  for (const auto& [data, loss] :
       {std::pair{"karate", passes::LossSpec::Kind::kCrossEntropy},
        {"dcsbm:nodes=300,degree=4,features=8,multilabel=1", passes::LossSpec::Kind::kBceWithLogits}}) {
    const data::Dataset dataset = data::load(data, {});
    train::SessionOptions options;
    options.passes.target = planner::Target::kDevice;
    options.loss.kind = loss;
    options.optimizer.clip_norm = 0.5;
    train::Blueprint made = train::make_blueprint(dataset, options);
    const train::DatasetInputs inputs(dataset, made.plan);
    Parameters<float> parameters(made.plan);
    CountingDevice device;
    count_launches(&device.changed_kernels);
    const std::int64_t values = made.plan.parameter_bytes / std::int64_t{sizeof(float)};
    DeviceExecutor executor(made.plan, &parameters, &device, inputs.inputs(), std::move(made.graphs), 1,
                            options.optimizer, {{0, values, 0}});
    for (const ir::Phase phase : {ir::Phase::kSetup, ir::Phase::kForward, ir::Phase::kBackward, ir::Phase::kInference})
      executor.run(phase, {1, 1});
    executor.update(0.01);
    EXPECT_FALSE(executor.count_scores(inputs.inputs().scored.validation, true).empty());
  }
  EXPECT_EQ(most_launches<kernels::OnDevice<kernels::CrossEntropyArgs>>, 2);
  EXPECT_EQ(most_launches<kernels::OnDevice<kernels::BceWithLogitsArgs>>, 2);
  EXPECT_EQ(most_launches<kernels::OnDevice<kernels::ClipNormArgs>>, 2);
  EXPECT_EQ(most_launches<kernels::OnDevice<kernels::AdamStepArgs>>, 1);
  EXPECT_EQ(most_launches<kernels::OnDevice<kernels::CountScoresArgs>>, 2);
}

TEST_F(KaratePlan, IsRefusedWithTheNumbersBeforeAnythingIsTaken) {
  const train::DatasetInputs inputs(dataset_, plan_);
  Parameters<float> parameters(plan_);
  device_.free_bytes = 1000;
  try {
    const DeviceExecutor executor(plan_, &parameters, &device_, inputs.inputs(), std::move(derived_), 1, {}, {});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
    EXPECT_THAT(error.message(), HasSubstr("bytes of emulated device, 1000 of 1000 bytes are free; the largest: "));
  }
  EXPECT_EQ(device_.taken, 0);
}

TEST_F(KaratePlan, IsRefusedInTheSameWordsWhereTheDeviceHasNoPieceOfThatSize) {
  const train::DatasetInputs inputs(dataset_, plan_);
  Parameters<float> parameters(plan_);
  device_.left_bytes = 1000;
  try {
    const DeviceExecutor executor(plan_, &parameters, &device_, inputs.inputs(), std::move(derived_), 1, {}, {});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
    EXPECT_THAT(error.message(), HasSubstr("of 1073741824 bytes are free, and not in one piece; the largest: "));
    EXPECT_THAT(error.hint(), HasSubstr("end what else runs on the card; or use --feature-dtype bf16"));
  }
}

TEST(DeviceLayout, MemoryThatTheHostLacksIsNotTheDevices) {
  CountingDevice device;
  try {
    take_room({{{"arena", 200, 0}}, 256}, &device, [] { throw Error(ErrorCode::kOutOfMemory, "a transpose"); });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "a transpose");
  }
}

/// What can be done is for who asked: a program that was written for a card has no kernels for the CPU, and no options
/// for its model. A model that was trained has the channels that it has.
TEST(DeviceLayout, RemediesAreThoseOfWhoAsks) {
  DeviceLayout layout = {{{"arena", 200, 0}}, 256};
  const auto hint = [&](const DeviceRoom& room, Asker asker) -> std::string {
    try {
      check_room(layout, "a card", room, asker);
    } catch (const Error& error) {
      return error.hint();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(hint({256, 256}, Asker::kCommand), "nothing was thrown");
  EXPECT_EQ(hint({100, 100}, Asker::kCommand),
            "use --feature-dtype bf16, fewer hidden channels or layers, or --device cpu");
  EXPECT_EQ(hint({100, 256}, Asker::kProgram),
            "end what else runs on the card; or write the program anew with --feature-dtype bf16, fewer hidden "
            "channels or layers");
  EXPECT_THAT(hint({100, 100}, Asker::kProgram), ::testing::Not(HasSubstr("end what else")));

  layout.trains = false;
  EXPECT_EQ(hint({100, 100}, Asker::kCommand), "use --device cpu");
  EXPECT_EQ(hint({100, 256}, Asker::kCommand), "end what else runs on the card; or use --device cpu");
}

TEST_F(KaratePlan, TakesNoMoreThanItMay) {
  const train::DatasetInputs inputs(dataset_, plan_);
  Parameters<float> parameters(plan_);
  device_.allow(2000);
  EXPECT_THROW(DeviceExecutor(plan_, &parameters, &device_, inputs.inputs(), std::move(derived_), 1, {}, {}), Error);
  EXPECT_EQ(device_.taken, 0);
}

/// Steps and evaluations of a training on the device at hand.
class KarateTraining : public KaratePlan {
 protected:
  KarateTraining() : inputs_(dataset_, plan_), parameters_(plan_) {
    for (float& value : parameters_.values()) value = static_cast<float>(++drawn_ % 7) * 0.1F - 0.3F;
    const std::int64_t values = plan_.parameter_bytes / std::int64_t{sizeof(float)};
    executor_ = std::make_unique<DeviceExecutor>(plan_, &parameters_, &device_, inputs_.inputs(), std::move(derived_),
                                                 1, config_, std::vector<ParameterRange>{{0, values, 0}});
    executor_->run(ir::Phase::kSetup, {1, 0});
  }

  double step(std::uint64_t epoch) {
    executor_->step({1, epoch}, 0.01);
    return executor_->read(plan_.program.output("loss")).at(0, 0);
  }
  double eager_step(std::uint64_t epoch) {
    executor_->run(ir::Phase::kForward, {1, epoch});
    const double loss = executor_->read(plan_.program.output("loss")).at(0, 0);
    executor_->run(ir::Phase::kBackward, {1, epoch});
    executor_->update(0.01);
    return loss;
  }
  double evaluate() {
    executor_->run(ir::Phase::kInference, {1, 0});
    return executor_->read(plan_.program.output("logits")).at(3, 0);
  }
  std::vector<float> values() {
    executor_->fetch_parameters();
    return {parameters_.values().begin(), parameters_.values().end()};
  }

  int drawn_ = 0;
  OptimizerConfig config_;
  train::DatasetInputs inputs_;
  Parameters<float> parameters_;
  std::unique_ptr<DeviceExecutor> executor_;
};

TEST_F(KarateTraining, IsRecordedOnceAndReplayed) {
  const double first = step(1);
  for (std::uint64_t epoch = 2; epoch <= 5; ++epoch) {
    EXPECT_LT(step(epoch), first);
    evaluate();
  }
  EXPECT_EQ(device_.recordings, 2) << "a step and an evaluation";
}

TEST_F(KarateTraining, BringsNumbersBackAlone) {
  device_.downloaded = 0;
  step(1);
  executor_->run(ir::Phase::kInference, {1, 0});
  for (const std::span<const NodeId> part :
       {inputs_.inputs().scored.training, inputs_.inputs().scored.validation, inputs_.inputs().scored.test}) {
    EXPECT_EQ(executor_->count_scores(part, false).size(), 4U);
  }
  EXPECT_EQ(device_.downloaded, std::int64_t{sizeof(float)} + 3 * 4 * std::int64_t{sizeof(double)});
}

TEST_F(KarateTraining, HasTheSameBitsRecordedAndNot) {
  std::vector<double> recorded;
  for (std::uint64_t epoch = 1; epoch <= 4; ++epoch) recorded.push_back(step(epoch));
  const std::vector<float> want = values();
  for (float& value : parameters_.values())
    value = static_cast<float>((&value - parameters_.values().data() + 1) % 7) * 0.1F - 0.3F;
  executor_->send_parameters();
  executor_->reset_optimizer();
  for (std::uint64_t epoch = 1; epoch <= 4; ++epoch) EXPECT_EQ(eager_step(epoch), recorded[epoch - 1]);
  EXPECT_EQ(values(), want);
}

TEST_F(KarateTraining, AllocatesNothingAfterTheFirstEpoch) {
  if (!testing::kAllocationsAreCounted) GTEST_SKIP() << "a sanitizer has its own allocator";
  step(1);
  evaluate();
  const std::int64_t taken = device_.taken;
  testing::start_counting_allocations();
  for (std::uint64_t epoch = 2; epoch <= 4; ++epoch) {
    step(epoch);
    evaluate();
  }
  EXPECT_EQ(testing::stop_counting_allocations(), 0);
  EXPECT_EQ(device_.taken, taken);
}

TEST_F(KarateTraining, LeavesTheWeightsWhereTheLossIsNotFinite) {
  step(1);
  executor_->fetch_parameters();
  parameters_.values()[0] = std::nanf("");
  executor_->send_parameters();
  const std::vector<float> before = values();
  EXPECT_TRUE(std::isnan(step(2)));
  const std::vector<float> after = values();
  for (std::size_t i = 1; i < after.size(); ++i) EXPECT_EQ(after[i], before[i]) << i;
}

using GemmOnDevice = kernels::OnDevice<kernels::GemmArgs>;

/// Reaches the kernel without the stream that is recorded.
void launch_elsewhere(const kernels::DeviceContext& context, const GemmOnDevice& args) {
  kernels::DeviceContext other = context;
  other.stream = nullptr;
  kernels::find_kernel<GemmOnDevice>(kernels::emulated_kernels()).run(other, args);
}

TEST_F(KarateTraining, ALaunchOutsideTheRecordedStreamIsCaught) {
  CountingDevice device;
  std::get<kernels::DeviceKernel<GemmOnDevice>>(device.changed_kernels).run = launch_elsewhere;
  Parameters<float> parameters(plan_);
  DeviceExecutor executor(plan_, &parameters, &device, inputs_.inputs(), make_blueprint().graphs, 1, {}, {});
  try {
    executor.step({1, 1}, 0.01);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
    EXPECT_THAT(error.message(), HasSubstr("of the model): a kernel was launched outside the stream that is recorded"));
  }
}

bool launches_gemm = true;

void launch_or_not(const kernels::DeviceContext& context, const GemmOnDevice& args) {
  if (launches_gemm) kernels::find_kernel<GemmOnDevice>(kernels::emulated_kernels()).run(context, args);
}

TEST_F(KarateTraining, WhatNoKernelWritesIsNanInAReplay) {
  CountingDevice device;
  std::get<kernels::DeviceKernel<GemmOnDevice>>(device.changed_kernels).run = launch_or_not;
  Parameters<float> parameters(plan_);
  DeviceExecutor executor(plan_, &parameters, &device, inputs_.inputs(), make_blueprint().graphs, 1, {}, {});
  const auto loss = [&] { return executor.read(plan_.program.output("loss")).at(0, 0); };
  executor.run(ir::Phase::kSetup, {1, 0});
  executor.run(ir::Phase::kForward, {1, 1});
  EXPECT_FALSE(std::isnan(loss()));
  launches_gemm = false;  // what it wrote before is still there
  executor.run(ir::Phase::kForward, {1, 1});
  EXPECT_FALSE(std::isnan(loss()));
  executor.step({1, 1}, 0.01);
  launches_gemm = true;
  EXPECT_TRUE(std::isnan(loss()));
}

TEST_F(KarateTraining, AFailingKernelIsNamedWithItsLine) {
  CountingDevice device;
  std::get<kernels::DeviceKernel<GemmOnDevice>>(device.changed_kernels).run =
      [](const kernels::DeviceContext&, const GemmOnDevice&) { throw Error(ErrorCode::kInternal, "planted"); };
  Parameters<float> parameters(plan_);
  DeviceExecutor executor(plan_, &parameters, &device, inputs_.inputs(), make_blueprint().graphs, 1, {}, {});
  executor.run(ir::Phase::kSetup, {1, 0});
  for (const bool also_recording : {false, true}) {  // as on a card, where a failed launch spoils the recording
    device.fails_to_record = also_recording;
    try {
      executor.run(ir::Phase::kForward, {1, 1});
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInternal);
      EXPECT_THAT(error.message(),
                  ::testing::MatchesRegex("epoch 1, forward: gemm \\(line [0-9]+ of the model\\): planted"));
      EXPECT_EQ(error.hint(), "");
    }
  }
}

TEST(LoopsOfADevice, AFailingOneIsNamedWithItsLine) {
  const data::Dataset dataset = data::load("karate", {});
  train::SessionOptions options;
  options.model = std::string(GNEISS_SOURCE_DIR) + "/tests/synth/models/gated_mean.gneiss";
  options.passes.target = planner::Target::kDevice;
  options.passes.edge_loops = true;
  options.loss.kind = passes::LossSpec::Kind::kCrossEntropy;
  train::Blueprint made = train::make_blueprint(dataset, options);
  ASSERT_FALSE(made.plan.loops.empty());
  CountingDevice device;
  Parameters<float> parameters(made.plan);
  const train::DatasetInputs inputs(dataset, made.plan);
  DeviceLoops loops;
  loops.totals = [](const kernels::DeviceContext&, std::int64_t, std::span<const std::byte>) {};
  loops.loops.assign(made.plan.loops.size(),
                     [](const kernels::DeviceContext&, std::int64_t, std::span<const std::byte>) {
                       throw Error(ErrorCode::kInternal, "planted");
                     });
  DeviceExecutor executor(made.plan, &parameters, &device, inputs.inputs(), std::move(made.graphs), 1, {}, {}, loops);
  executor.run(ir::Phase::kSetup, {1, 0});
  try {
    executor.run(ir::Phase::kForward, {1, 1});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
    EXPECT_THAT(error.message(),
                ::testing::MatchesRegex("epoch 1, forward: a loop over edges \\(line [0-9]+ of the model\\): planted"));
  }
}

/// Few items are spread over blocks of a warp, many share blocks of several; none is beyond what the device holds.
TEST(LoopsOfADevice, AreSpreadOverBlocks) {
  kernels::DeviceContext context;
  context.most_blocks = 100;
  EXPECT_EQ(grid_for(context, 1).blocks, 1U);
  EXPECT_EQ(grid_for(context, 40).blocks, 2U);
  EXPECT_EQ(grid_for(context, 40).threads, 32U);
  EXPECT_EQ(grid_for(context, 6400).blocks, 50U);
  EXPECT_EQ(grid_for(context, 1 << 30).blocks, 100U);
  EXPECT_EQ(grid_for(context, 1 << 30).threads, 128U);
}

TEST_F(KaratePlan, ChainsKeepInRegistersWhatNothingElseReads) {
  ASSERT_FALSE(plan_.bands.empty());
  int kept = 0;
  for (const ir::RowBand& chain : plan_.bands) {
    EXPECT_EQ(chain.band_rows, 0);
    const ir::Op& first =
        plan_.program.ops[static_cast<std::size_t>(plan_.steps[static_cast<std::size_t>(chain.first_step)].op)];
    kept += plan_.placements[static_cast<std::size_t>(first.results[0])].storage == ir::Storage::kBand ? 1 : 0;
  }
  EXPECT_GT(kept, 0);
  EXPECT_EQ(plan_.band_bytes, 0);
}

/// Threads of a product's tiles read rows that others' results would have overwritten.
TEST_F(KaratePlan, AChainMayNotLieWhereItsProductReads) {
  train::SessionOptions options;
  options.passes.target = planner::Target::kDevice;
  options.loss.kind = passes::LossSpec::Kind::kCrossEntropy;
  options.model = "mlp";
  options.model_args = {{"num_layers", std::int64_t{3}}};
  plan_ = train::make_blueprint(dataset_, options).plan;
  int tried = 0;
  for (const ir::RowBand& chain : plan_.bands) {
    const auto op_of = [&](std::int32_t step) -> const ir::Op& {
      return plan_.program.ops[static_cast<std::size_t>(plan_.steps[static_cast<std::size_t>(step)].op)];
    };
    const ir::Op& product = op_of(chain.first_step);
    const ir::ValueId result = op_of(chain.last_step).results[0];
    const ir::ValueId read = product.inputs[0];
    const auto place = [&](ir::ValueId v) -> ir::Placement& { return plan_.placements[static_cast<std::size_t>(v)]; };
    if (product.kind != ir::OpKind::gemm || place(read).storage != ir::Storage::kArena ||
        plan_.program.type(read) != plan_.program.type(result) || place(result).storage != ir::Storage::kArena)
      continue;
    ++tried;
    ir::Plan wrong = plan_;
    wrong.placements[static_cast<std::size_t>(result)] = place(read);
    EXPECT_FALSE(ir::find_defects(wrong).empty());
  }
  EXPECT_GT(tried, 0);
}

TEST_F(KaratePlan, HasNothingThatIsAboutCaches) {
  for (const ir::GraphUse& use : plan_.graph_uses) EXPECT_EQ(use.in_tile + use.out_tile, 0);
  for (const ir::Step& step : plan_.steps) EXPECT_EQ(step.variant, "cuda");
  for (const ir::PassReport& pass : plan_.passes) {
    EXPECT_THAT(pass.name, ::testing::Not(::testing::AnyOf("fuse_rows", "split_bands", "pad_rows", "stream_features")));
  }
}

}  // namespace
}  // namespace gneiss::runtime
