// The undirected structure is made once for all methods that need it.
#include "partition/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/names.h"

namespace gneiss::partition {
namespace {

constexpr double kEvenLoad = 1.05;
constexpr double kNearLeast = 1.01;

class Cutter {
 public:
  Cutter(const graph::Graph& graph, const CutOptions& options, const EpochModel& model)
      : graph_(graph), options_(options), model_(model) {}

  Cut cut(const std::string& method) {
    const auto start = std::chrono::steady_clock::now();
    Cut made;
    made.method = method;
    find(&made);
    made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    made.report = report_cut(graph_, made.owners, options_.parts, model_);
    return made;
  }

 private:
  void find(Cut* made) {
    if (made->method == "stream") return stream(made);
    if (made->method != "metis") {
      made->owners = owners(made->method);
      return;
    }
    MetisCut by_metis = cut_by_metis(graph_, neighbours(), options_);
    made->owners = std::move(by_metis.owners);
    made->objective = by_metis.few_copies ? "copies" : "cut edges";
    made->remark = std::move(by_metis.remark);
  }
  Owners owners(const std::string& method) {
    if (method == "contiguous") return cut_contiguous(graph_, options_);
    if (method == "degree") return cut_by_degree(graph_, options_);
    if (method == "components") return cut_components(graph_, neighbours(), options_);
    GNEISS_ASSERT(method == "clusters", "no way to cut is called {}", method);
    expect_memory();
    return cut_by_clusters(graph_, options_);
  }
  void stream(Cut* made) {
    if (!options_.in_file) {
      made->owners = cut_by_stream(graph_, rows_of(neighbours()), options_);
      return;
    }
    made->owners = cut_by_stream(graph_, in_neighbours(graph_), options_);
    if (!graph_.symmetric()) made->remark = "in-neighbours alone: out-edges are not at hand";
  }
  void expect_memory() const {
    if (!options_.in_file) return;
    throw Error(ErrorCode::kUnsupported, "it looks at edges here and there, which --mem leaves in their file", "--mem",
                "use contiguous, stream or degree, or leave --mem out");
  }
  const Neighbours& neighbours() {
    expect_memory();
    if (!neighbours_) neighbours_ = neighbours_of(graph_, options_.threads);
    return *neighbours_;
  }

  const graph::Graph& graph_;
  const CutOptions& options_;
  const EpochModel& model_;
  std::optional<Neighbours> neighbours_;
};

}  // namespace

const std::vector<CutMethod>& cut_methods() {
  static const std::vector<CutMethod> methods = {
      {"auto", "of the even ones the one with the least modelled epoch"},
      {"contiguous", "runs of nodes as they are numbered, of about equal work"},
      {"clusters", "the same after nodes were put in clusters"},
      {"metis", "METIS k-way, few copies (few cut edges where that would take long), a node weighs its work"},
      {"components", "whole components, packed"},
      {"stream", "Fennel: one node after the other, to most of its neighbours"},
      {"degree", "nodes by falling degree, each to the part with the least work"}};
  return methods;
}

std::vector<Cut> all_cuts(const graph::Graph& graph, const CutOptions& options, const EpochModel& model,
                          std::vector<Refusal>* refused) {
  Cutter cutter(graph, options, model);
  std::vector<Cut> cuts;
  for (const CutMethod& method : cut_methods()) {
    if (method.name == "auto") continue;
    try {
      cuts.push_back(cutter.cut(method.name));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) throw;
      refused->push_back({method.name, error.message()});
    }
  }
  return cuts;
}

std::size_t best_cut(const std::vector<Cut>& cuts) {
  double least = cuts.front().report.load_ratio;
  for (const Cut& cut : cuts) least = std::min(least, cut.report.load_ratio);
  const double most = std::max(kEvenLoad, kNearLeast * least);
  const auto best = std::min_element(cuts.begin(), cuts.end(), [most](const Cut& a, const Cut& b) {
    const bool a_even = a.report.load_ratio <= most;
    const bool b_even = b.report.load_ratio <= most;
    return a_even != b_even ? a_even : a.report.epoch_seconds < b.report.epoch_seconds;
  });
  return static_cast<std::size_t>(best - cuts.begin());
}

Cut cut_graph(const graph::Graph& graph, const std::string& method, const CutOptions& options, const EpochModel& model,
              std::vector<Refusal>* refused) {
  std::vector<std::string> names;
  for (const CutMethod& known : cut_methods()) names.push_back(known.name);
  if (std::find(names.begin(), names.end(), method) == names.end()) {
    throw Error(ErrorCode::kUsage, fmt::format("unknown way to cut a graph '{}'", method), "--partition",
                unknown_name_hint(method, names));
  }
  if (method != "auto") return Cutter(graph, options, model).cut(method);
  std::vector<Refusal> not_tried;
  std::vector<Cut> cuts = all_cuts(graph, options, model, refused == nullptr ? &not_tried : refused);
  return std::move(cuts[best_cut(cuts)]);
}

}  // namespace gneiss::partition
