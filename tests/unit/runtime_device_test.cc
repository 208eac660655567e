// Memory of a device: what a plan takes is known before, and said where it is too much; a host view does not reach a
// device kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "data/load.h"
#include "graph/graph.h"
#include "runtime/device.h"
#include "runtime/device_executor.h"
#include "train/dataset_inputs.h"
#include "train/session.h"

namespace gneiss::runtime {
namespace {

using ::testing::HasSubstr;

/// Counts what is taken of the emulated device.
class CountingDevice : public Device {
 public:
  std::string name() const override { return inner_->name(); }
  const kernels::DeviceKernels& kernels() const override { return inner_->kernels(); }
  DeviceRoom room() override { return {free_bytes, free_bytes}; }
  void* allocate(std::int64_t bytes) override {
    taken += bytes;
    return inner_->allocate(bytes);
  }
  void release(void* data) noexcept override { inner_->release(data); }
  void upload(void* to, const void* from, std::int64_t bytes) override { inner_->upload(to, from, bytes); }
  void download(void* to, const void* from, std::int64_t bytes) override { inner_->download(to, from, bytes); }
  void fill(void* to, unsigned char byte, std::int64_t bytes) override { inner_->fill(to, byte, bytes); }
  kernels::DeviceContext context() override { return inner_->context(); }
  void wait() override { inner_->wait(); }

  std::int64_t free_bytes = std::int64_t{1} << 30;
  std::int64_t taken = 0;

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

class KaratePlan : public ::testing::Test {
 protected:
  KaratePlan() {
    train::SessionOptions options;
    options.passes.target = planner::Target::kDevice;
    options.loss.kind = passes::LossSpec::Kind::kCrossEntropy;
    train::Blueprint blueprint = train::make_blueprint(dataset_, options);
    derived_ = std::move(blueprint.graphs);
    plan_ = std::move(blueprint.plan);
  }

  data::Dataset dataset_ = data::load("karate", {});
  DerivedGraphs derived_;
  ir::Plan plan_;
  CountingDevice device_;
};

TEST_F(KaratePlan, TakesWhatTheLayoutSaysToTheByte) {
  const train::DatasetInputs inputs(dataset_, plan_);
  Parameters<float> parameters(plan_);
  const DeviceLayout layout = device_layout(plan_, inputs.inputs(), 2);
  const DeviceExecutor executor(plan_, &parameters, &device_, inputs.inputs(), std::move(derived_), 1, {}, {});
  EXPECT_EQ(device_.taken, layout.bytes);
  EXPECT_GE(layout.bytes, 5 * plan_.parameter_bytes + plan_.arena_bytes + plan_.constant_bytes);
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

TEST_F(KaratePlan, HasNothingThatIsAboutCaches) {
  EXPECT_TRUE(plan_.bands.empty());
  for (const ir::GraphUse& use : plan_.graph_uses) EXPECT_EQ(use.in_tile + use.out_tile, 0);
  for (const ir::Step& step : plan_.steps) EXPECT_EQ(step.variant, "cuda");
  for (const ir::PassReport& pass : plan_.passes) {
    EXPECT_THAT(pass.name, ::testing::Not(::testing::AnyOf("fuse_rows", "split_bands", "pad_rows", "stream_features")));
  }
}

}  // namespace
}  // namespace gneiss::runtime
