#include "case_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace gneiss::testing {
namespace {

std::string path_of(const std::string& file) {
  return std::string(GNEISS_SOURCE_DIR) + "/tests/language/cases/" + file;
}

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

language::ArgValue argument(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (text.find_first_not_of("-0123456789") == std::string::npos) return static_cast<std::int64_t>(std::stoll(text));
  if (text.find_first_not_of("-0123456789.e") == std::string::npos) return std::stod(text);
  return text;
}

void set_input(const std::string& key, const std::string& value, language::ProgramInputs* inputs) {
  if (key == "features") inputs->num_features = std::stoll(value);
  if (key == "classes") inputs->num_classes = std::stoll(value);
  if (key == "nodes") inputs->num_nodes = std::stoll(value);
  if (key == "edges") inputs->num_edges = std::stoll(value);
  if (key == "sparse") inputs->sparse_features = true;
  if (key == "weighted") inputs->weighted = true;
  if (key == "symmetric") inputs->symmetric = true;
}

/// Calls use(key, value) for the words after "@ what".
template <typename Use>
void for_words(const LanguageCase& item, const std::string& what, const Use& use) {
  for (const std::string& line : item.directives) {
    std::istringstream words(line);
    std::string at;
    std::string kind;
    words >> at >> kind;
    if (kind != what) continue;
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      use(word.substr(0, equals), equals == std::string::npos ? std::string() : word.substr(equals + 1));
    }
  }
}

}  // namespace

std::vector<LanguageCase> read_cases(const std::string& file) {
  std::ifstream in(path_of(file));
  if (!in) throw std::runtime_error("cannot read " + path_of(file));
  std::vector<LanguageCase> cases;
  bool expected = false;
  for (std::string line; std::getline(in, line);) {
    if (starts_with(line, "=== ")) {
      cases.push_back({line.substr(4), {}, {}, {}});
      expected = false;
    } else if (line == "--- expected") {
      expected = true;
    } else if (cases.empty()) {
      continue;  // a remark above the first case
    } else if (!expected && starts_with(line, "@ ")) {
      cases.back().directives.push_back(line);
    } else {
      (expected ? cases.back().expected : cases.back().program) += line + "\n";
    }
  }
  return cases;
}

void write_cases(const std::string& file, const std::vector<LanguageCase>& cases) {
  std::ofstream out(path_of(file));
  for (const LanguageCase& item : cases) {
    out << "=== " << item.name << "\n";
    for (const std::string& line : item.directives) out << line << "\n";
    out << item.program << "--- expected\n" << item.expected;
  }
}

language::Source source_of(const LanguageCase& item) {
  language::Source source = {"case.gneiss", item.program};
  for_words(item, "model",
            [&](const std::string& name, const std::string&) { source = *language::builtin_model(name); });
  for_words(item, "example", [&](const std::string& name, const std::string&) {
    std::ifstream in(std::string(GNEISS_SOURCE_DIR) + "/examples/" + name + ".gneiss");
    std::ostringstream text;
    text << in.rdbuf();
    source = {name + ".gneiss", text.str()};
  });
  return source;
}

language::CompileOptions options_of(const LanguageCase& item) {
  language::CompileOptions options;
  options.inputs = {100, 500, false, false, 7, false, 3};
  for_words(item, "args",
            [&](const std::string& key, const std::string& value) { options.args.emplace_back(key, argument(value)); });
  for_words(item, "inputs",
            [&](const std::string& key, const std::string& value) { set_input(key, value, &options.inputs); });
  for_words(item, "entry", [&](const std::string& name, const std::string&) { options.entry = name; });
  return options;
}

void check_cases(const std::string& file, const std::function<std::string(const LanguageCase&)>& produce) {
  std::vector<LanguageCase> cases = read_cases(file);
  ASSERT_FALSE(cases.empty()) << file;
  const bool bless = std::getenv("GNEISS_BLESS") != nullptr;
  for (LanguageCase& item : cases) {
    const std::string got = produce(item);
    if (!bless) {
      EXPECT_EQ(got, item.expected) << file << ": " << item.name << "\n(GNEISS_BLESS=1 writes what was got)";
    }
    item.expected = got;
  }
  if (bless) write_cases(file, cases);
}

}  // namespace gneiss::testing
