// Many small tables of every kind, in tests/data/kinds.txt: each is read as what it means, or refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "base/file.h"
#include "data/load.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::named_edges;
using ::gneiss::testing::TempFolder;
using ::gneiss::testing::test_data;

struct Kind {
  std::string name;
  std::vector<std::pair<std::string, std::string>> files;
  std::map<std::string, std::string> expected;  ///< "edges", "refused", … and what follows
};

/// A line of a file, with its escapes; without a line feed if it ends in a lone backslash.
std::string unescaped(const std::string& line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      text += line[i];
      continue;
    }
    if (i + 1 == line.size()) return text;
    const char c = line[++i];
    if (c == 'x') {
      text += static_cast<char>(std::stoi(line.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      text += c == 't' ? '\t' : c == 'r' ? '\r' : c;
    }
  }
  return text + '\n';
}

std::vector<Kind> kinds() {
  std::vector<Kind> list;
  std::istringstream stream(read_file(test_data("kinds.txt")));
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("=== ")) {
      list.push_back({line.substr(4), {}, {}});
    } else if (line.starts_with("--- ")) {
      list.back().files.emplace_back(line.substr(4), "");
    } else if (line.starts_with("=> ")) {
      const std::string what = line.substr(3);
      const std::size_t blank = std::min(what.find(' '), what.size());
      list.back().expected[what.substr(0, blank)] = what.substr(std::min(blank + 1, what.size()));
    } else if (line.starts_with("  ")) {
      list.back().files.back().second += unescaped(line.substr(2));
    }
  }
  return list;
}

std::string name_of(const Dataset& d, std::size_t v) {
  if (!d.node_names.empty()) return d.node_names[v];
  return std::to_string(d.orig_id.empty() ? static_cast<std::int64_t>(v) : d.orig_id[v]);
}

std::string joined(std::vector<std::string> items) {
  std::sort(items.begin(), items.end());
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : " | ") + item;
  return text;
}

/// "7=0 | 8=1": what each node has, by its name.
template <class ValueOf>
std::string by_name(const Dataset& d, const ValueOf& value_of) {
  std::vector<std::string> items;
  for (std::size_t v = 0; v < static_cast<std::size_t>(d.num_nodes()); ++v)
    items.push_back(name_of(d, v) + "=" + value_of(v));
  return joined(items);
}

std::string row_text(const float* row, std::int64_t width) {
  std::string text;
  for (std::int64_t c = 0; c < width; ++c) text += fmt::format("{}{:g}", c == 0 ? "" : ",", row[c]);
  return text;
}

/// What was read, in the words of `what`.
std::string found(const Dataset& d, const std::string& what) {
  if (what == "edges") return joined(named_edges(d));
  if (what == "nodes") return std::to_string(d.num_nodes());
  if (what == "features")
    return by_name(d, [&](std::size_t v) {
      return row_text(d.features.dense.data() + static_cast<std::int64_t>(v) * d.features.cols, d.features.cols);
    });
  return by_name(d, [&](std::size_t v) {
    if (d.labels.kind == LabelKind::kSingle) return std::to_string(d.labels.classes[v]);
    return row_text(d.labels.targets.data() + static_cast<std::int64_t>(v) * d.labels.num_classes,
                    d.labels.num_classes);
  });
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Loads the files; the error instead if they are refused.
std::optional<Dataset> read(const Kind& kind, const TempFolder& folder, std::string* error) {
  LoadOptions options;
  std::string data;
  options.split = "none";
  for (const auto& [name, content] : kind.files) {
    const std::string path = folder.write(name, content).string();
    if (data.empty()) data = path;
    if (name.starts_with("x.") || name.starts_with("n.")) options.features_path = path;
    if (name.starts_with("y.") || name.starts_with("n.")) options.labels_path = path;
  }
  try {
    return load(data, options);
  } catch (const Error& refused) {
    EXPECT_TRUE(refused.code() == ErrorCode::kBadData || refused.code() == ErrorCode::kUsage) << refused.what();
    EXPECT_FALSE(refused.where().empty()) << refused.what();
    *error = refused.what();
    return std::nullopt;
  }
}

TEST(KindsTest, AreReadAsWhatTheyMeanOrRefused) {
  const std::vector<Kind> list = kinds();
  EXPECT_GT(list.size(), 200U);
  for (const Kind& kind : list) {
    SCOPED_TRACE(kind.name);
    const TempFolder folder;
    std::string error;
    const std::optional<Dataset> d = read(kind, folder, &error);
    const auto refused = kind.expected.find("refused");
    if (refused != kind.expected.end()) {
      EXPECT_FALSE(d.has_value()) << "was read: " << found(*d, "edges");
      EXPECT_NE(lower(error).find(lower(refused->second)), std::string::npos) << error;
      continue;
    }
    if (!d.has_value()) {
      EXPECT_TRUE(kind.expected.contains("or")) << error;
      continue;
    }
    for (const auto& [what, expected] : kind.expected) {
      if (what == "or") continue;
      if (what == "note") {
        EXPECT_TRUE(std::any_of(d->notes.begin(), d->notes.end(), [&, &wanted = expected](const std::string& note) {
          return note.find(wanted) != std::string::npos;
        })) << expected;
        continue;
      }
      std::vector<std::string> items;
      std::string rest = expected;
      for (std::size_t bar = rest.find(" | "); bar != std::string::npos; bar = rest.find(" | ")) {
        items.push_back(rest.substr(0, bar));
        rest = rest.substr(bar + 3);
      }
      items.push_back(rest);
      EXPECT_EQ(found(*d, what), joined(items));
    }
  }
}

}  // namespace
}  // namespace gneiss::data
