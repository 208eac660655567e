// Which program of parity tests runs which kernels of devices, so that none is left out: a kernel that no program has
// does not compile here, and one that a program has and did not run fails that program.
#pragma once

#include <gtest/gtest.h>

#include <tuple>
#include <type_traits>
#include <typeinfo>

#include "kernels/cuda/device_kernels.h"
#include "parity/device_parity.h"

namespace gneiss::testing {

template <template <class, Space> class... Args>
struct KernelsOfAProgram {};

using KernelsOfDense =
    KernelsOfAProgram<kernels::AdamStepArgs, kernels::BatchNormArgs, kernels::BatchNormGradArgs,
                      kernels::BatchNormInferenceArgs, kernels::BatchNormUpdateArgs, kernels::BceWithLogitsArgs,
                      kernels::BinaryArgs, kernels::ClipNormArgs, kernels::ColumnGroupsArgs, kernels::CopyColumnsArgs,
                      kernels::CrossEntropyArgs, kernels::DropoutArgs, kernels::ExtremeGradArgs, kernels::FillArgs,
                      kernels::GemmArgs, kernels::LayerNormArgs, kernels::LayerNormGradArgs, kernels::MseArgs,
                      kernels::MulAddArgs, kernels::SgdStepArgs, kernels::SumRowsArgs, kernels::UnaryArgs,
                      kernels::UnaryGradArgs>;
using KernelsOfGraphs =
    KernelsOfAProgram<kernels::ArgSourcesArgs, kernels::AttentionArgs, kernels::AttentionGradArgs, kernels::DropoutArgs,
                      kernels::EdgeSoftmaxArgs, kernels::EdgeSoftmaxGradArgs, kernels::GatherArgs, kernels::SddmmArgs,
                      kernels::SegmentArgGradArgs, kernels::SegmentReduceArgs, kernels::SpmmArgGradArgs,
                      kernels::SpmmArgWeightGradArgs, kernels::SpxGemmArgs, kernels::ToDenseArgs>;
using KernelsOfSpmm = KernelsOfAProgram<kernels::SpmmArgs>;
using KernelsOfHalves =
    KernelsOfAProgram<kernels::GemmArgs, kernels::SpmmArgs, kernels::ToFloatArgs, kernels::ToHalfArgs>;
/// Those without a reference among the variants of an op: device_scores_test and device_units_test have them, in
/// several orders of threads too.
using KernelsOfUnitTests =
    KernelsOfAProgram<kernels::CountScoresArgs, kernels::SpmmUnitsArgs, kernels::SumPeerRowsArgs>;

namespace internal {

template <class Kernel, template <class, Space> class... Args>
constexpr bool is_among(KernelsOfAProgram<Args...>) {
  return (std::is_same_v<Kernel, kernels::DeviceKernel<kernels::OnDevice<Args>>> || ...);
}

template <class... Kernel>
constexpr bool all_are_run(const std::tuple<Kernel...>*) {
  return ((is_among<Kernel>(KernelsOfDense{}) || is_among<Kernel>(KernelsOfGraphs{}) ||
           is_among<Kernel>(KernelsOfSpmm{}) || is_among<Kernel>(KernelsOfHalves{}) ||
           is_among<Kernel>(KernelsOfUnitTests{})) &&
          ...);
}
static_assert(all_are_run(static_cast<const kernels::DeviceKernels*>(nullptr)), "a kernel is in no parity program");

/// After all tests of a program, none of which was left out by a filter.
template <template <class, Space> class... Args>
class AllKernelsRan : public ::testing::Environment {
 public:
  void TearDown() override {
    const auto& tests = *::testing::UnitTest::GetInstance();
    if (tests.test_to_run_count() != tests.total_test_count()) return;
    (expect<kernels::OnDevice<Args>>(), ...);
  }

 private:
  template <class OnDevice>
  static void expect() {
    EXPECT_TRUE(kernels_in_all_orders().contains(typeid(OnDevice)))
        << "no test ran the device kernel of " << typeid(OnDevice).name() << " in " << kOrders << " orders of threads";
  }
};

}  // namespace internal

template <template <class, Space> class... Args>
const ::testing::Environment* expect_kernels_to_run(KernelsOfAProgram<Args...>) {
  return ::testing::AddGlobalTestEnvironment(new internal::AllKernelsRan<Args...>);
}

}  // namespace gneiss::testing
