// One check a function; each adds findings with the first place where it is wrong.
#include "data/validate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "data/ranges.h"
#include "graph/symmetry.h"

namespace gneiss::data {
namespace {

class Validator {
 public:
  Validator(const Dataset& dataset, const ValidateOptions& options) : d_(dataset), options_(options) {}

  std::vector<Finding> run() {
    check_graph();
    features();
    labels();
    splits();
    numbers();
    for (const std::string& doubt : d_.doubts) warn("{}", doubt);
    return std::move(findings_);
  }

 private:
  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) {
    findings_.push_back({Severity::kError, fmt::format(format, std::forward<Args>(args)...)});
  }
  template <class... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) {
    findings_.push_back({Severity::kWarning, fmt::format(format, std::forward<Args>(args)...)});
  }

  void check_graph() {
    if (d_.num_nodes() == 0) return error("the graph has no nodes");
    if (d_.graph.num_edges() == 0) return warn("the graph has no edges: every model is an MLP on it");
    std::vector<bool> touched(static_cast<std::size_t>(d_.num_nodes()), false);
    const auto offsets = d_.graph.offsets();
    for (std::size_t v = 0; v + 1 < offsets.size(); ++v) {
      if (offsets[v + 1] > offsets[v]) touched[v] = true;
    }
    for (const NodeId u : d_.graph.sources()) touched[static_cast<std::size_t>(u)] = true;
    if (d_.graph.symmetric() && !graph::is_symmetric(d_.graph.in_edges(), d_.graph.weights(), options_.threads))
      error(
          "the graph is said to be symmetric, but it is not; write its manifest anew, or say \"symmetric\": false "
          "there");
    const auto isolated = std::count(touched.begin(), touched.end(), false);
    if (isolated > 0) warn("{} nodes are isolated", isolated);
  }

  void numbers() {
    const std::string signs = negative_weights(d_);
    if (!signs.empty()) warn("{}", signs);
    for (const std::string& note : large_numbers(d_)) warn("{}", note);
  }

  void features() {
    if (d_.features.empty()) return warn("there are no node features");
    if (d_.features.rows != d_.num_nodes()) error("{} feature rows for {} nodes", d_.features.rows, d_.num_nodes());
    try {
      check_finite(d_, false, options_.threads);
    } catch (const Error& e) {
      findings_.push_back({options_.allow_nan ? Severity::kWarning : Severity::kError, e.message()});
    }
  }

  void labels() {
    const Labels& labels = d_.labels;
    if (labels.kind == LabelKind::kNone) return warn("there are no labels");
    if (labels.kind != LabelKind::kSingle) return;
    if (static_cast<std::int64_t>(labels.classes.size()) != d_.num_nodes())
      error("{} labels for {} nodes", labels.classes.size(), d_.num_nodes());
    for (std::size_t v = 0; v < labels.classes.size(); ++v) {
      if (labels.classes[v] < -1 || labels.classes[v] >= labels.num_classes) {
        error("label of node {} is {}, outside 0..{}", v, labels.classes[v], labels.num_classes - 1);
        break;
      }
    }
    if (labels.num_classes < 2) warn("there is only {} class: nothing to learn", labels.num_classes);
  }

  void splits() {
    if (d_.labels.kind == LabelKind::kNone) return;
    const std::pair<const char*, const std::vector<NodeId>*> parts[] = {
        {"train", &d_.split.train}, {"val", &d_.split.val}, {"test", &d_.split.test}};
    std::vector<const char*> owner(static_cast<std::size_t>(d_.num_nodes()), nullptr);
    for (const auto& [name, ids] : parts) {
      if (ids->empty() && ids == &d_.split.train) error("the split has no training nodes");
      if (ids->empty() && ids != &d_.split.train) warn("the {} split is empty", name);
      std::int64_t overlaps = 0;
      const char* other = nullptr;
      for (const NodeId v : *ids) {
        if (v < 0 || v >= d_.num_nodes()) {
          error("the {} split names node {}, outside 0..{}", name, v, d_.num_nodes() - 1);
          break;
        }
        const char*& holder = owner[static_cast<std::size_t>(v)];
        if (holder != nullptr) {
          ++overlaps;
          other = holder;
        }
        holder = name;
      }
      if (overlaps > 0) warn("{} nodes of the {} split are also in {}", overlaps, name, other);
      unlabelled(name, *ids);
    }
    unseen_classes();
  }

  void unlabelled(const char* name, const std::vector<NodeId>& ids) {
    if (d_.labels.kind != LabelKind::kSingle) return;
    const auto count = std::count_if(ids.begin(), ids.end(), [&](NodeId v) {
      return v >= 0 && static_cast<std::size_t>(v) < d_.labels.classes.size() &&
             d_.labels.classes[static_cast<std::size_t>(v)] < 0;
    });
    if (count > 0) warn("{} nodes of the {} split have no label", count, name);
  }

  void unseen_classes() {
    const Labels& labels = d_.labels;
    if (labels.kind != LabelKind::kSingle || d_.split.train.empty()) return;
    std::vector<bool> seen(static_cast<std::size_t>(std::max<std::int64_t>(labels.num_classes, 0)), false);
    for (const NodeId v : d_.split.train) {
      if (v < 0 || static_cast<std::size_t>(v) >= labels.classes.size()) continue;
      const std::int32_t c = labels.classes[static_cast<std::size_t>(v)];
      if (c >= 0 && c < labels.num_classes) seen[static_cast<std::size_t>(c)] = true;
    }
    const auto missing = std::count(seen.begin(), seen.end(), false);
    if (missing > 0) warn("{} of {} classes have no training node", missing, labels.num_classes);
  }

  const Dataset& d_;
  const ValidateOptions& options_;
  std::vector<Finding> findings_;
};

}  // namespace

namespace {

/// Pages of a file do not stay behind: what is made of the data next may need the memory, and not all of them.
template <class T, class ToFloat>
bool all_finite(const Buffer<T>& values, int threads, const ToFloat& to_float) {
  const bool rests = can_rest(values);
  constexpr std::int64_t kGrain = std::int64_t{1} << 20;
  return all_chunks(
      threads, static_cast<std::int64_t>(values.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
        bool all = true;  // of a chunk, without a branch for each
        for (std::int64_t i = begin; i < end; ++i) all &= std::isfinite(to_float(values[static_cast<std::size_t>(i)]));
        if (rests)
          give_back_tail(const_cast<T*>(values.data()) + begin, 0, static_cast<std::size_t>(end - begin) * sizeof(T));
        return all;
      });
}

}  // namespace

void check_finite(const Dataset& dataset, bool allow_nan, int threads) {
  if (allow_nan) return;
  const Features& f = dataset.features;
  const Buffer<float>& values = f.sparse ? f.values : f.dense;
  std::int64_t count = 0;
  std::size_t first = 0;
  const auto check = [&](std::size_t i, float value) {
    if (!std::isfinite(value) && count++ == 0) first = i;
  };
  const auto widen = [&](std::uint16_t half) { return from_half(f.dtype, half); };
  if (!all_finite(values, threads, [](float value) { return value; })) {
    for (std::size_t i = 0; i < values.size(); ++i) check(i, values[i]);
  }
  if (!all_finite(f.halves, threads, widen)) {
    for (std::size_t i = 0; i < f.halves.size(); ++i) check(i, widen(f.halves[i]));
  }
  if (count > 0) {
    const auto row = f.sparse ? std::upper_bound(f.offsets.begin(), f.offsets.end(), static_cast<EdgeId>(first)) -
                                    f.offsets.begin() - 1
                              : static_cast<std::ptrdiff_t>(first / static_cast<std::size_t>(f.cols));
    throw Error(ErrorCode::kBadData,
                fmt::format("{} feature values are NaN or infinite, the first in row {}", count, row), dataset.name,
                "clean the data, or allow them with --allow-nan");
  }
  const auto weights = dataset.graph.weights();
  const auto bad = std::find_if(weights.begin(), weights.end(), [](float w) { return !std::isfinite(w); });
  if (bad != weights.end()) {
    throw Error(ErrorCode::kBadData, fmt::format("the weight of edge {} is NaN or infinite", bad - weights.begin()),
                dataset.name, "clean the data, or drop the weights with --ignore-weights");
  }
}

std::vector<Finding> validate(const Dataset& dataset, const ValidateOptions& options) {
  return Validator(dataset, options).run();
}

}  // namespace gneiss::data
