#include "synth/cases.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace gneiss::testing {
namespace {

constexpr int kNodes = 60;
const std::string kFolder = std::string(GNEISS_SOURCE_DIR) + "/tests/synth/";

/// Short forms that stand for several arguments or for a path.
std::vector<std::string> expand(const std::string& word) {
  if (word == "AWKWARD")
    return {"awkward.txt", "--features", "features.txt", "--labels", "labels.txt", "--split", "ratio:60/20/20"};
  if (word.starts_with("models/")) return {kFolder + word};
  return {word};
}

}  // namespace

std::vector<SynthCase> synth_cases() {
  std::ifstream in(kFolder + "cases.txt");
  if (!in) throw std::runtime_error("cannot read " + kFolder + "cases.txt");
  std::vector<SynthCase> cases;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    SynthCase item;
    std::string where;
    words >> item.name >> where;
    item.often = where.find("check") != std::string::npos;
    item.whole = where.find("whole") != std::string::npos;
    item.device = where.find("cuda") != std::string::npos;
    item.golden = item.whole || where.find("golden") != std::string::npos;
    for (std::string word; words >> word;) {
      for (std::string& argument : expand(word)) item.arguments.push_back(std::move(argument));
    }
    item.ranks = std::find(item.arguments.begin(), item.arguments.end(), "--ranks") != item.arguments.end();
    // The cases name what they are about; all else is each setting's own default, whatever suits the data.
    item.arguments.insert(item.arguments.end(), {"--defaults", "plain"});
    cases.push_back(std::move(item));
  }
  return cases;
}

std::vector<std::string> target_options(const SynthCase& item) {
  if (item.ranks) return {"--target", "mpi"};
  if (item.device) return {"--target", "cuda"};
  return {};
}

void write_awkward_files(const Workplace& place) {
  std::ostringstream edges;
  for (int u = 0; u < kNodes - 3; ++u) {
    for (int j = 0; j <= u % 5; ++j)
      edges << u << ' ' << (u * 7 + j * j * 3 + 1) % (kNodes - 3) << ' ' << 0.25 + (u * 13 + j * 5) % 17 / 8.0 << '\n';
    edges << u << " 0 " << 0.5 + u % 7 / 4.0 << '\n';
  }
  edges << "3 3 0.75\n4 5 1.5\n4 5 2.5\n57 58 1\n59 59 0.5\n";
  std::ostringstream features;
  std::ostringstream labels;
  for (int v = 0; v < kNodes; ++v) {
    for (int k = 0; k < 12; ++k) features << (v * 31 + k * 17) % 101 / 50.0 - 1 << (k == 11 ? '\n' : ' ');
    labels << (v * 5 + v / 7) % 3 << '\n';
  }
  place.write("awkward.txt", edges.str());
  place.write("features.txt", features.str());
  place.write("labels.txt", labels.str());
}

}  // namespace gneiss::testing
