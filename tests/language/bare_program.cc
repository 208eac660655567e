#include "bare_program.h"

#include <gtest/gtest.h>

#include <cctype>
#include <sstream>

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
  std::istringstream lines(ir::print(result.program));
  std::string bare;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t place = line.rfind(" !");
    const bool has_place = place != std::string::npos && std::isdigit(static_cast<unsigned char>(line[place + 2])) != 0;
    bare += line.substr(0, has_place ? place : std::string::npos) + "\n";
  }
  return bare;
}

}  // namespace gneiss::testing
