// No text may crash the compiler, make it hang or throw: built-in models, examples and golden cases, cut, spliced and
// sprinkled with noise, and plain random bytes. Seeded, so that a failure is replayed by its number.
#include <gtest/gtest.h>

#include <cstdlib>

#include "case_file.h"
#include "ir/verify.h"
#include "language/compile.h"

namespace gneiss::testing {
namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(next() % n); }

 private:
  std::uint64_t state_;
};

std::vector<std::string> corpus() {
  std::vector<std::string> texts;
  for (const std::string& name : language::builtin_model_names()) texts.push_back(language::builtin_model(name)->text);
  for (const char* file :
       {"syntax.txt", "names.txt", "types.txt", "staging.txt", "scripts.txt", "starplat.txt", "programs.txt"}) {
    for (const LanguageCase& item : read_cases(file)) texts.push_back(source_of(item).text);
  }
  return texts;
}

const std::vector<std::string> kPieces = {"(",
                                          ")",
                                          "{",
                                          "}",
                                          "[",
                                          "]",
                                          ";",
                                          "@src",
                                          " over in_edges",
                                          "for l in 0..9 {",
                                          "as \"k\"",
                                          "\"{",
                                          "..",
                                          "-",
                                          "* W",
                                          "param W: [F, out];",
                                          "graph = ",
                                          "return ",
                                          "999999999999",
                                          "0",
                                          "1e300",
                                          "features",
                                          "h = h * h;",
                                          "forall (v in g.nodes()) {",
                                          "forall (u in g.neighbors(v)) {",
                                          "v.y += u.x;",
                                          "v.y Max= u.x * e.weight;",
                                          "<v.y> = <Min(v.y, u.x)>;",
                                          "<v.y, u.y> = <",
                                          "v.y = v.y - u.x;",
                                          "e.a = ",
                                          "edge e = g.get_edge(u, v);",
                                          "float m = u.x;",
                                          "propNode<float> y;",
                                          "propNode<",
                                          "g.attachNodeProperty(y = -INF, z = 0);",
                                          "INF",
                                          "g.count_outNbrs(u)",
                                          ".filter(u < v)",
                                          "fixedPoint until (",
                                          "iterateInBFS (",
                                          "do {",
                                          "SetN<g> s;",
                                          "OnAdd (u in b.currentBatch()) : {",
                                          "gnn.optimizer();",
                                          "gnn.optimizer(\"adam\");",
                                          "\xff\xfe",
                                          "\t",
                                          "\\",
                                          "/*",
                                          "if ",
                                          "else ",
                                          "heads(x, 2)"};

std::string mutate(std::string text, const std::vector<std::string>& texts, Dice* dice) {
  const std::size_t edits = 1 + dice->below(6);
  for (std::size_t i = 0; i < edits; ++i) {
    const std::size_t at = dice->below(text.size() + 1);
    switch (dice->below(6)) {
      case 0:
        text.erase(at, dice->below(20));
        break;
      case 1:
        text.insert(at, kPieces[dice->below(kPieces.size())]);
        break;
      case 2:
        text.insert(at, 1, static_cast<char>(dice->below(256)));
        break;
      case 3: {
        const std::string& other = texts[dice->below(texts.size())];
        const std::size_t from = dice->below(other.size() + 1);
        text.insert(at, other.substr(from, dice->below(80)));
        break;
      }
      case 4:
        text.insert(at, text.substr(dice->below(text.size() + 1), dice->below(60)));
        break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(dice->below(128));
    }
  }
  return text;
}

void compile_anything(const std::string& text, std::uint64_t seed) {
  const language::Source source = {"noise.gneiss", text};
  language::CompileOptions options;
  options.inputs = {50, 200, seed % 2 == 0, seed % 3 == 0, 6, seed % 5 == 0, 3};
  if (seed % 7 == 0) options.args = {{"num_layers", std::int64_t{3}}};
  ASSERT_NO_THROW({
    const language::CompileResult result = language::compile(source, options);
    if (result.ok()) {
      EXPECT_EQ(ir::find_defects(result.program), std::vector<std::string>()) << seed << "\n" << text;
    } else {
      EXPECT_FALSE(language::render(result.diagnostics).empty());
      EXPECT_FALSE(language::to_json(result.diagnostics).empty());
    }
    language::model_parameters(source);
  }) << "seed "
     << seed << "\n"
     << text;
}

TEST(LanguageRobustness, MutatedPrograms) {
  const std::vector<std::string> texts = corpus();
  const char* more = std::getenv("GNEISS_FUZZ_ROUNDS");
  const std::uint64_t rounds = more == nullptr ? 3000 : std::strtoull(more, nullptr, 10);
  for (std::uint64_t seed = 1; seed <= rounds; ++seed) {
    Dice dice(seed);
    compile_anything(mutate(texts[dice.below(texts.size())], texts, &dice), seed);
  }
}

TEST(LanguageRobustness, RandomBytes) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Dice dice(seed);
    std::string text(dice.below(2000), ' ');
    for (char& c : text) c = static_cast<char>(dice.below(256));
    compile_anything(text, seed);
  }
}

TEST(LanguageRobustness, PunctuationSoup) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Dice dice(seed);
    std::string text = "layer my(x: node[F], out: int) {";
    for (std::size_t i = 0; i < 60; ++i) text += kPieces[dice.below(kPieces.size())] + " ";
    compile_anything(text, seed);
  }
}

TEST(LanguageRobustness, LargeTexts) {
  const auto repeat = [](const std::string& piece, std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += piece;
    return text;
  };
  const std::size_t bytes = 500000;
  for (const char* piece :
       {"(", "[", "{", "-", "a ", "layer a(", "layer a(x: node[F], out: int) { return x; }\n", "$ ", "// c\n", "\"",
        "1.", "if a { ", "else if ", "a = ", "a.b", "f(", "model m() { a = b; }\n", "for a in "}) {
    compile_anything(repeat(piece, bytes), 1);
  }
  compile_anything("model m() { h = features" + repeat(" + 1", bytes / 4) + "; return h; }", 1);
  compile_anything("model m() { " + repeat("a = 1; ", bytes) + " return linear(features, 3); }", 1);
  compile_anything("model m() { s = \"" + repeat("{1}", bytes / 8) + "\"; return linear(features, 3); }", 1);
}

}  // namespace
}  // namespace gneiss::testing
