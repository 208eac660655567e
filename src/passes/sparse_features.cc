// Two passes. The first routes every product of sparse features to the sparse product and makes a dense copy for ops
// that cannot read them. The second, when it is known what is constant, compares the modelled times of all products of
// one matrix on stored values and on a dense copy, the making of the copy included.
#include "passes/sparse_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "passes/rewriter.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Phase;
using ir::ValueId;

/// What a dense copy has to save, as a share of the time of the products that could use it.
constexpr double kLeastGain = 0.03;

double dense_bytes(const cost::FeatureShape& features, std::int64_t value_bytes) {
  return features.rows * features.cols * static_cast<double>(value_bytes);
}

/// A sparse product and its modelled times.
struct Product {
  const Op* op;
  bool gradient;
  double columns;
  double sparse_seconds;
  double dense_seconds;

  bool gains() const { return dense_seconds < sparse_seconds; }
};

/// Decides for each sparse value which of its products run on a dense copy.
class PathChooser {
 public:
  PathChooser(const ir::Program& program, const cost::Rates& rates, const SparsePathOptions& options,
              std::vector<std::string>* decisions)
      : from_(program),
        rates_(rates),
        options_(options),
        decisions_(decisions),
        makers_(ir::producers(program)),
        rewriter_(program) {}

  ir::Program run() {
    std::map<ValueId, std::vector<Product>> products;
    for (const Op& op : from_.ops) {
      if (op.kind == OpKind::spx_gemm) products[op.inputs[0]].push_back(product(op));
    }
    for (const auto& [features, list] : products) decide(features, list);
    for (const Op& op : from_.ops) emit(op);
    return rewriter_.finish();
  }

 private:
  cost::FeatureShape shape(ValueId features) const {
    return {static_cast<double>(from_.rows(features)), static_cast<double>(from_.type(features).cols),
            static_cast<double>(options_.nonzeros), !made_once(features)};
  }
  bool made_once(ValueId features) const {
    return from_.ops[static_cast<std::size_t>(makers_[static_cast<std::size_t>(features)])].phase == Phase::kSetup;
  }

  Product product(const Op& op) const {
    const cost::FeatureShape features = shape(op.inputs[0]);
    const bool gradient = op.attrs.integer("ta", 0) != 0;
    const auto columns = static_cast<double>(from_.type(op.inputs[1]).cols);
    return {&op, gradient, columns, cost::spx_gemm_seconds(rates_, features, columns, gradient),
            cost::dense_features_seconds(rates_, features, columns, gradient)};
  }

  /// A copy made in every step exists in its forward and backward alone.
  bool may_be_dense(const Product& p, ValueId features) const {
    return made_once(features) || p.op->phase != Phase::kInference;
  }

  bool wanted(const Product& p, ValueId features) const {
    if (!may_be_dense(p, features) || options_.path == SparsePath::kSparse) return false;
    return options_.path == SparsePath::kDense || p.gains();
  }

  void decide(ValueId features, const std::vector<Product>& products) {
    double total = 0;
    double gain = 0;
    std::set<const Op*> chosen;
    for (const Product& p : products) {
      total += p.sparse_seconds;
      if (!wanted(p, features)) continue;
      gain += p.sparse_seconds - p.dense_seconds;
      chosen.insert(p.op);
    }
    const cost::FeatureShape of = shape(features);
    const double bytes = dense_bytes(of, options_.value_bytes);
    if (!made_once(features)) gain -= cost::stream_seconds(rates_, bytes + of.nonzeros * 8);
    const bool fits = dense_copy_fits(of, options_);
    const bool pays = !chosen.empty() && (options_.path == SparsePath::kDense || (fits && gain > kLeastGain * total));
    std::string why;
    if (options_.path != SparsePath::kAuto) why = ", as asked";
    if (options_.path == SparsePath::kAuto && !chosen.empty() && !fits) why = ", too many";
    if (options_.path == SparsePath::kAuto && !chosen.empty() && fits && !pays) why = ", gains too little";
    decisions_->push_back(fmt::format("%{} {:.0f} x {:.0f}, density {:.3g} %: {:.1f} MiB for a dense copy{}{}",
                                      from_.value_name(features), of.rows, of.cols,
                                      100 * of.nonzeros / std::max(1.0, of.rows * of.cols), bytes / (1 << 20),
                                      made_once(features) ? "" : " in every step", why));
    for (const Product& p : products) say(p, pays && chosen.count(p.op) > 0, of);
    if (pays) dense_ops_.insert(chosen.begin(), chosen.end());
    if (pays) dense_values_.insert(features);
  }

  void say(const Product& p, bool dense, const cost::FeatureShape& of) {
    const char* part = p.op->phase == Phase::kInference ? "evaluation" : p.gradient ? "weight gradient" : "forward";
    decisions_->push_back(
        fmt::format("line {}: {}, {:.0f} columns: {} product (modelled sparse {:.3g} s, dense {:.3g} s; γ {:.2g})",
                    p.op->location.line, part, p.columns, dense ? "dense" : "sparse", p.sparse_seconds, p.dense_seconds,
                    cost::sparse_threshold(rates_, of, p.columns, p.gradient)));
  }

  void emit(const Op& op) {
    if (dense_ops_.count(&op) > 0) {
      ir::Attrs attrs;
      if (op.attrs.integer("ta", 0) != 0) attrs.set("ta", std::int64_t{1});
      const ValueId dense = copies_.at(op.inputs[0]);
      rewriter_.set(op.results[0],
                    rewriter_.builder_at(op).add(OpKind::gemm, {dense, rewriter_.map(op.inputs[1])}, attrs));
      return;
    }
    rewriter_.copy(op);
    for (const ValueId r : op.results) {
      if (r == ir::kNoValue || dense_values_.count(r) == 0) continue;
      copies_[r] = rewriter_.builder_at(op).add(OpKind::to_dense, {rewriter_.map(r)});
    }
  }

  const ir::Program& from_;
  const cost::Rates& rates_;
  const SparsePathOptions& options_;
  std::vector<std::string>* decisions_;
  std::vector<std::int32_t> makers_;
  std::set<const Op*> dense_ops_;
  std::set<ValueId> dense_values_;
  std::map<ValueId, ValueId> copies_;
  Rewriter rewriter_;
};

}  // namespace

bool dense_copy_fits(const cost::FeatureShape& features, const SparsePathOptions& options) {
  return dense_bytes(features, options.value_bytes) <= static_cast<double>(options.most_dense_bytes);
}

double features_product_seconds(const cost::Rates& rates, const cost::FeatureShape& features, double columns,
                                bool gradient, const SparsePathOptions& options) {
  const double sparse = cost::spx_gemm_seconds(rates, features, columns, gradient);
  const double dense = cost::dense_features_seconds(rates, features, columns, gradient);
  if (options.path == SparsePath::kSparse) return sparse;
  if (options.path == SparsePath::kDense) return dense;
  return dense_copy_fits(features, options) ? std::min(sparse, dense) : sparse;
}

ir::Program choose_sparse_path(const ir::Program& program, const cost::Rates& rates, const SparsePathOptions& options,
                               std::vector<std::string>* decisions) {
  return PathChooser(program, rates, options, decisions).run();
}

ir::Program lower_sparse_features(const ir::Program& program, std::vector<std::string>* decisions) {
  Rewriter rewriter(program);
  std::map<ValueId, ValueId> dense;
  for (const Op& op : program.ops) {
    const bool left_sparse = !op.inputs.empty() && program.type(op.inputs[0]).layout == ir::Layout::kSparse;
    const bool product =
        op.kind == OpKind::gemm && left_sparse && op.attrs.integer("ta", 0) == 0 && op.attrs.integer("tb", 0) == 0;
    if (product) {
      const std::vector<ValueId> inputs = {rewriter.map(op.inputs[0]), rewriter.map(op.inputs[1])};
      rewriter.set(op.results[0], rewriter.builder_at(op).add(OpKind::spx_gemm, inputs));
      decisions->push_back(fmt::format("line {}: sparse product", op.location.line));
      continue;
    }
    if (op.kind == OpKind::dropout || op.kind == OpKind::spx_gemm || op.kind == OpKind::to_dense) {
      rewriter.copy(op);
      continue;
    }
    std::vector<std::pair<ValueId, ValueId>> restore;
    for (const ValueId input : op.inputs) {
      if (program.type(input).layout != ir::Layout::kSparse) continue;
      if (dense.count(input) == 0) {
        dense[input] = rewriter.builder_at(op).add(OpKind::to_dense, {rewriter.map(input)});
        decisions->push_back(
            fmt::format("line {}: {} needs dense features", op.location.line, ir::traits(op.kind).name));
      }
      restore.emplace_back(input, rewriter.map(input));
      rewriter.set(input, dense[input]);
    }
    rewriter.copy(op);
    for (const auto& [old, sparse] : restore) rewriter.set(old, sparse);
  }
  return rewriter.finish();
}

}  // namespace gneiss::passes
