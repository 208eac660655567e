// Golden cases of the language: files of sections, each a program and what the compiler is to say about it.
//
//   === name of the case
//   @ args num_layers=3 act=elu        arguments of the model
//   @ inputs classes=2 sparse          features, classes, nodes, edges, sparse, weighted, symmetric
//   @ entry name | @ model gcn         the entry, or a built-in model in place of the program
//   program
//   --- expected
//   text
//
// With GNEISS_BLESS=1 in the environment a test writes what it got into the file instead of comparing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "language/compile.h"

namespace gneiss::testing {

struct LanguageCase {
  std::string name;
  std::vector<std::string> directives;  ///< lines that begin with '@', as written
  std::string program;
  std::string expected;
};

/// The cases of tests/language/cases/FILE.
std::vector<LanguageCase> read_cases(const std::string& file);
void write_cases(const std::string& file, const std::vector<LanguageCase>& cases);

/// What the directives of a case ask for. The source is named after the case file's use, `case.gneiss`.
language::Source source_of(const LanguageCase& item);
language::CompileOptions options_of(const LanguageCase& item);

/// Runs `produce` on each case of a file and compares with what is expected, or writes it when blessing.
void check_cases(const std::string& file, const std::function<std::string(const LanguageCase&)>& produce);

}  // namespace gneiss::testing
