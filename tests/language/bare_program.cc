#include "bare_program.h"

#include <gtest/gtest.h>

#include <regex>

#include "ir/text.h"
#include "ir/verify.h"

namespace gneiss::testing {

language::CompileResult compile_on_sample(const std::string& text) {
  language::CompileOptions options;
  options.inputs = {100, 500, true, false, 7, false, 3};
  return language::compile({"case.gneiss", text}, options);
}

std::string bare_program(const std::string& text) {
  const language::CompileResult result = compile_on_sample(text);
  if (!result.diagnostics.empty()) return language::render(result.diagnostics) + text;
  EXPECT_EQ(ir::find_defects(result.program), std::vector<std::string>()) << text;
  static const std::regex place(" ![0-9]+:[0-9]+( in [0-9]+)?");
  return std::regex_replace(ir::print(result.program), place, "");
}

}  // namespace gneiss::testing
