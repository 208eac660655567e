// Written loops over edges as code of cards, which takes no card: by NVRTC and by nvcc, where they are.
#include "runtime/nvrtc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "support/awkward_graph.h"
#include "support/data_fixtures.h"
#include "train/blueprint.h"
#include "train/loops.h"

namespace gneiss::runtime {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TempFolder;
namespace fs = std::filesystem;

CppText loops_of(const std::string& model) {
  const data::Dataset dataset = testing::awkward_dataset({});
  train::SessionOptions options;
  options.model = std::string(GNEISS_SOURCE_DIR) + "/tests/synth/models/" + model + ".gneiss";
  options.model_args = {{"num_layers", std::int64_t{1}}};
  options.loss.kind = passes::LossSpec::Kind::kCrossEntropy;
  options.passes.target = planner::Target::kDevice;
  options.passes.edge_loops = true;
  const train::Blueprint made = train::make_blueprint(dataset, options);
  EXPECT_FALSE(made.plan.loops.empty());
  return train::device_loops_text(made.plan, made.compiled);
}

class CardCompiler : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      nvrtc_version();
    } catch (const Error& error) {
      GTEST_SKIP() << error.message();
    }
  }

  const TempFolder folder_;
  const HostCompiler cache_{"", folder_.path() / "cache", {}};
};

TEST_F(CardCompiler, MakesCodeOfLoopsAndKeepsIt) {
  const CppText text = loops_of("gated_mean");
  for (const char* architecture : {"sm_80", "sm_90"}) {
    const CardCode code = compile_for_card(text, architecture, cache_);
    EXPECT_FALSE(code.was_cached);
    EXPECT_THAT(code.code, StartsWith("\x7f"
                                      "ELF"))
        << architecture;
    const CardCode again = compile_for_card(text, architecture, cache_);
    EXPECT_TRUE(again.was_cached);
    EXPECT_EQ(again.code, code.code);
  }
}

/// Text for cards to come. Products and sums stay apart in it.
TEST_F(CardCompiler, MakesTextOfLoopsWithSums) {
  const std::string ptx = compile_for_card(loops_of("edge_conv"), "compute_90", cache_).code;
  for (const char* part : {".target sm_90", "segment_reduce_loop", "add_edge_totals"})
    EXPECT_NE(ptx.find(part), std::string::npos) << part;
  EXPECT_EQ(ptx.find("fma.rn.f32"), std::string::npos);
}

TEST_F(CardCompiler, TakesProductsDrawsAndHeads) {
  for (const char* model : {"edge_conv", "own_gatv2", "edge_attention"}) {
    const CardCode code = compile_for_card(loops_of(model), "sm_90", cache_);
    EXPECT_THAT(code.code, StartsWith("\x7f"
                                      "ELF"))
        << model;
  }
}

TEST_F(CardCompiler, NamesTheLineOfTheModelThatIsWrong) {
  CppText text = loops_of("gated_mean");
  const std::size_t at = text.text.find("edge::sigmoid(");
  ASSERT_NE(at, std::string::npos);
  text.text.replace(at, 14, "edge::no_such(");
  const Error error = error_of([&] { compile_for_card(text, "sm_90", cache_); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(error.message(), HasSubstr("no_such"));
  EXPECT_THAT(error.message(), HasSubstr("made from gated_mean.gneiss:"));
  EXPECT_FALSE(fs::exists(folder_.path() / "cache" / "made.cubin"));
}

/// A process of its own, since what was loaded stays.
TEST(CardCompilerDeathTest, SaysWhereThereIsNone) {
  EXPECT_EXIT(
      {
        setenv("GNEISS_NVRTC", "/nowhere/libnvrtc.so", 1);
        try {
          nvrtc_version();
        } catch (const Error& error) {
          const bool clear = error.code() == ErrorCode::kUnsupported &&
                             error.message().find("there is no NVRTC") != std::string::npos && !error.hint().empty();
          std::exit(clear ? 3 : 4);
        }
        std::exit(5);
      },
      ::testing::ExitedWithCode(3), "");
}

/// As a written program has them compiled.
TEST(Nvcc, TakesTheSameText) {
  const std::string beside = "/usr/local/cuda/bin/nvcc";
  const std::string nvcc = fs::exists(beside) ? beside : "nvcc";
  const TempFolder folder;
  if (!run_command({nvcc, "--version"}, folder.path(), std::chrono::seconds(20)).started)
    GTEST_SKIP() << "there is no nvcc";
  for (const char* model : {"gated_mean", "edge_conv"}) {
    const CppText text = loops_of(model);
    write_file(folder.path() / text.name, text.text);
    for (const auto& [name, content] : text.headers) {
      make_folder((folder.path() / name).parent_path());
      write_file(folder.path() / name, content);
    }
    const Finished done = run_command(
        {nvcc, "-std=c++20", "-fmad=false", "--expt-relaxed-constexpr", "-gencode", "arch=compute_80,code=sm_80",
         "-gencode", "arch=compute_90,code=sm_90", "-Werror", "all-warnings", "-I.", "-c", text.name, "-o", "loops.o"},
        folder.path(), std::chrono::seconds(300));
    EXPECT_EQ(done.code, 0) << model << "\n" << done.output;
  }
}

}  // namespace
}  // namespace gneiss::runtime
