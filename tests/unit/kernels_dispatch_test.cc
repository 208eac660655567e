// The choice of variants: by shape alone, by type, and forced from the environment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "base/error.h"
#include "kernels/attention_grad.h"
#include "kernels/gemm.h"
#include "kernels/onednn/onednn.h"
#include "kernels/spmm.h"
#include "kernels/sum_rows.h"

namespace gneiss::kernels {
namespace {

using ::testing::HasSubstr;

// One test: the environment is read once, and only after it could be read without a mistake.
TEST(Dispatch, EnvironmentForcesVariants) {
  ::setenv("GNEISS_KERNEL", "spmm", 1);
  try {
    forced_variant("spmm");
    FAIL() << "a list without ':' was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_EQ(error.where(), "GNEISS_KERNEL");
    EXPECT_EQ(error.message(), "'spmm' is not op:variant");
    EXPECT_THAT(error.hint(), HasSubstr("spmm:reference"));
  }

  ::setenv("GNEISS_KERNEL", "spmm:reference,gemm:magic", 1);
  const std::vector<EdgeId> offsets = {0, 0};
  SpmmArgs<float> args;
  args.pattern = {1, 1, offsets, {}, {}};
  EXPECT_EQ(choose("spmm", spmm_variants<float>(), args).name, "reference");
  EXPECT_EQ(choose("sum_rows", sum_rows_variants<float>(), SumRowsArgs<float>{}).name, "cpu");
  try {
    choose("gemm", gemm_variants<float>(), GemmArgs<float>{});
    FAIL() << "an unknown variant was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_EQ(error.message(), "gemm has no variant 'magic'");
    EXPECT_EQ(error.hint(), "its variants are cpu, onednn, reference");
  }
}

TEST(Dispatch, OneDnnIsLoadedOnlyWhenAskedFor) {
  const auto loaded = [] {
    std::ifstream maps("/proc/self/maps");
    const std::string text{std::istreambuf_iterator<char>(maps), {}};
    return text.find("libdnnl.so") != std::string::npos;
  };
  const auto variants = gemm_variants<float>();
  EXPECT_EQ(variants[0].name, "cpu");
  EXPECT_EQ(variants[0].declines({}), "") << "products take Gneiss's own kernels first";
  EXPECT_FALSE(loaded());
  ASSERT_EQ(variants[1].name, "onednn");
  EXPECT_EQ(variants[1].declines({}), onednn::version().empty() ? "its library is not installed" : "");
  EXPECT_EQ(loaded(), !onednn::version().empty());
}

TEST(Dispatch, FastVariantsDeclineDoubleAndSayWhy) {
  const auto variants = sum_rows_variants<double>();
  ASSERT_EQ(variants.size(), 2U);
  EXPECT_EQ(variants.front().declines({}), "it computes in f32 only");
  EXPECT_EQ(variants.back().name, "reference");
  EXPECT_EQ(variants.back().declines({}), "");
}

TEST(Dispatch, VariantsSayHowTheyPassOverRows) {
  const auto spmm = spmm_variants<float>();
  for (const auto& [name, passes] : {std::pair{"cpu_tiled", Passes::kTiles},
                                     {"cpu_panels", Passes::kPanels},
                                     {"cpu", Passes::kOne},
                                     {"cpu_half", Passes::kOne},
                                     {"reference", Passes::kOne}}) {
    ASSERT_NE(find_variant(spmm, name), nullptr) << name;
    EXPECT_EQ(find_variant(spmm, name)->passes, passes) << name;
  }
  EXPECT_EQ(find_variant(spmm, "magic"), nullptr);
  ASSERT_NE(find_variant(attention_grad_variants<float>(), "cpu_tiled"), nullptr);
  EXPECT_EQ(find_variant(attention_grad_variants<float>(), "cpu_tiled")->passes, Passes::kTiles);
}

TEST(Dispatch, ChoiceReadsNoData) {
  SumRowsArgs<float> args;
  args.x = {nullptr, 1000, 10};
  args.y = {nullptr, 1, 10};
  EXPECT_EQ(choose("sum_rows", sum_rows_variants<float>(), args).name, "cpu");
}

}  // namespace
}  // namespace gneiss::kernels
