// Pieces of text of written programs, and the folder that they are written to.
#include <gtest/gtest.h>

#include "synth/target.h"
#include "synth/text.h"

#include "base/error.h"

namespace gneiss::synth {
namespace {

TEST(SynthText, NumbersReadBackToTheSameBits) {
  for (const double value : {0.0, 1.0, -0.2, 1e-8, 0.1, 1.0 / 3, 1e300, 123456789.0})
    EXPECT_EQ(std::stod(real(value)), value) << real(value);
  EXPECT_EQ(real(1.0), "1.0");
  EXPECT_EQ(real(1e-8), "1e-08");
  EXPECT_EQ(real(0.1F), "0.1F");
  EXPECT_EQ(real(2.0F), "2.0F");
}

TEST(SynthText, IdentifiersAreNamesOfCpp) {
  EXPECT_EQ(identifier("convs.0.lin.weight"), "convs_0_lin_weight");
  EXPECT_EQ(identifier("graph+self_loops"), "graph_self_loops");
  EXPECT_EQ(identifier("0"), "v0");
  EXPECT_EQ(identifier("union"), "union_");
  EXPECT_EQ(identifier("+"), "v");
  EXPECT_EQ(camel("loss_rows"), "LossRows");
}

TEST(SynthText, QuotesEscape) {
  EXPECT_EQ(quote("a \"b\" \\c"), "\"a \\\"b\\\" \\\\c\"");
  EXPECT_EQ(quote("a\nb"), "\"a\\012b\"");
}

TEST(SynthText, NothingEscapesFromAComment) {
  EXPECT_EQ(comment_line("", "a\nint b;"), "// a int b;\n");
  EXPECT_EQ(comment_line("", "ends in \\"), "// ends in \\ .\n");
  EXPECT_EQ(comment("", "a\r\\"), "// a \\ .\n");
}

TEST(SynthText, LongLinesAreBroken) {
  const std::string name(60, 'n');
  EXPECT_EQ(call("  ", "f", {"a", "b"}), "  f(a, b);\n");
  EXPECT_EQ(call("  ", "f", {name, name, "c"}), "  f(" + name + ",\n    " + name + ", c);\n");
  EXPECT_EQ(definition("  ", "T", "x", {{"a", "1"}}), "  const T x = {.a = 1};\n");
  EXPECT_EQ(definition("  ", "T", "x", {{"a", name}, {"b", name}}),
            "  const T x = {\n      .a = " + name + ",\n      .b = " + name + ",\n  };\n");
}

TEST(SynthText, CommentsKeepToTheLine) {
  const std::string line = comment_line("  ", std::string(200, 'x'));
  EXPECT_EQ(line.size(), kLineWidth + 1);
  EXPECT_TRUE(line.ends_with(" ...\n")) << line;
  EXPECT_EQ(comment("", "a b"), "// a b\n");
  const std::string word(70, 'w');
  EXPECT_EQ(comment("", word + " " + word), "// " + word + "\n// " + word + "\n");
}

TEST(SynthText, CommentsOfDeclarationsAreAligned) {
  EXPECT_EQ(declarations("", {{"int a;", "one"}, {"long b;", "two"}, {"char c;", ""}, {"int d;", "three"}}),
            "int a;   // one\nlong b;  // two\nchar c;\nint d;  // three\n");
}

TEST(SynthTargets, UnknownOnesAreNamed) {
  EXPECT_EQ(find_target("openmp").name, "openmp");
  try {
    find_target("openacc");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_NE(error.hint().find("openmp"), std::string::npos) << error.hint();
  }
}

}  // namespace
}  // namespace gneiss::synth
