// Golden cases: tokens, diagnostics, programs, parameter keys.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "case_file.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "language/lexer.h"

namespace gneiss::testing {
namespace {

using language::CompileResult;

const std::vector<std::string> kDiagnosticFiles = {"characters.txt", "syntax.txt",  "names.txt",    "types.txt",
                                                   "staging.txt",    "scripts.txt", "starplat.txt", "habits.txt"};

/// Programs too long to be written down.
language::Source source_for(const LanguageCase& item) {
  language::Source source = source_of(item);
  const auto has = [&](const std::string& line) { return item.directives == std::vector<std::string>{line}; };
  if (has("@ deep"))
    source.text = "model m() { return " + std::string(300, '(') + "features" + std::string(300, ')') + "; }";
  if (has("@ long")) {
    source.text = "model m() { return features";
    for (int i = 0; i < 300; ++i) source.text += " + 1";
    source.text += "; }";
  }
  if (has("@ large")) source.text = std::string(std::size_t{1} << 21, ' ');
  if (has("@ many")) {
    source.text = "model m() {\n";
    for (int i = 0; i < 50; ++i) source.text += "  a = unknown_" + std::to_string(i) + ";\n";
    source.text += "  return linear(features, 3);\n}\n";
  }
  return source;
}

std::string diagnose(const LanguageCase& item) {
  const language::Source source = source_for(item);
  const CompileResult result = language::compile(source, options_of(item));
  if (result.ok()) {
    EXPECT_EQ(ir::find_defects(result.program), std::vector<std::string>()) << item.name;
  }
  return language::render(result.diagnostics);
}

std::string program_text(const LanguageCase& item) {
  const language::Source source = source_of(item);
  const CompileResult result = language::compile(source, options_of(item));
  EXPECT_EQ(ir::find_defects(result.program), std::vector<std::string>()) << item.name;
  return language::render(result.diagnostics) + (result.ok() ? ir::print(result.program) : "");
}

/// `key shape` of every parameter, sorted, as PyG's state_dict lists them.
std::string keys(const LanguageCase& item) {
  const language::Source source = source_of(item);
  const CompileResult result = language::compile(source, options_of(item));
  EXPECT_TRUE(result.ok()) << language::render(result.diagnostics);
  std::set<std::string> lines;
  for (const ir::Param& param : result.program.params) {
    std::string line = param.name;
    for (const std::int64_t size : param.stored_shape) line += " " + std::to_string(size);
    lines.insert(line + "\n");
  }
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

TEST(LanguageCases, Tokens) {
  check_cases("tokens.txt", [](const LanguageCase& item) {
    const language::Source source = source_of(item);
    language::Diagnostics diagnostics;
    return language::print(language::tokenize(source, &diagnostics)) + language::render(diagnostics.list());
  });
}

TEST(LanguageCases, Diagnostics) {
  for (const std::string& file : kDiagnosticFiles) check_cases(file, diagnose);
}

TEST(LanguageCases, Programs) { check_cases("programs.txt", program_text); }

TEST(LanguageCases, ParameterKeysAreThoseOfPyG) { check_cases("pyg_keys.txt", keys); }

TEST(LanguageCases, EveryDiagnosticHasACaseThatExpectsIt) {
  std::string all;
  for (const std::string& file : kDiagnosticFiles) {
    for (const LanguageCase& item : read_cases(file)) all += item.expected;
  }
  for (const language::Code code : language::all_codes()) {
    EXPECT_NE(all.find("[" + std::string(language::code_name(code)) + "]"), std::string::npos)
        << language::code_name(code);
  }
}

TEST(LanguageCases, EveryDiagnosticIsDocumented) {
  std::ifstream in(std::string(GNEISS_SOURCE_DIR) + "/docs/language.md");
  std::ostringstream text;
  text << in.rdbuf();
  for (const language::Code code : language::all_codes()) {
    const std::string entry = std::string(language::code_name(code)) + " | " + std::string(language::code_title(code));
    EXPECT_NE(text.str().find(entry), std::string::npos) << entry;
  }
}

/// The blocks marked ```gneiss are programs, each by itself.
TEST(LanguageDocs, ExamplesCompile) {
  std::ifstream in(std::string(GNEISS_SOURCE_DIR) + "/docs/language.md");
  std::string program;
  bool inside = false;
  int examples = 0;
  for (std::string line; std::getline(in, line);) {
    if (inside && line == "```") {
      const language::Source source = {"docs/language.md", program};
      EXPECT_EQ(language::render(language::compile(source, options_of({})).diagnostics), "");
      inside = false;
      ++examples;
    } else if (inside) {
      program += line + "\n";
    } else if (line == "```gneiss") {
      inside = true;
      program.clear();
    }
  }
  EXPECT_GE(examples, 4);
}

}  // namespace
}  // namespace gneiss::testing
