// The same bits for any number of threads: weights after 20 epochs, compared byte by byte.
#include <gtest/gtest.h>

#include "e2e/command.h"

namespace gneiss::testing {
namespace {

class SameBits : public ::testing::TestWithParam<const char*> {};

TEST_P(SameBits, ForOneTwoAndFiveThreads) {
  const Workplace place;
  const std::string model = GetParam();
  std::string first;
  for (const char* threads : {"1", "2", "5"}) {
    const std::string out = std::string("run") + threads;
    const CommandResult result = place.gneiss({"train", "dcsbm:nodes=3000,degree=20,features=300,density=0.05,seed=9",
                                               "--model", model, "--norm", "batch", "--epochs", "20", "--threads",
                                               threads, "--weight-decay", "5e-4", "--clip-norm", "1", "--out", out});
    ASSERT_EQ(result.code, 0) << result.err;
    const std::string weights = place.read(out + "/model.safetensors");
    ASSERT_GT(weights.size(), 1000U);
    if (first.empty()) first = weights;
    EXPECT_TRUE(weights == first) << model << " differs with " << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SameBits, ::testing::Values("gcn", "sage", "gin", "gat", "mlp"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace gneiss::testing
