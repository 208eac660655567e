// Plans of small built-in models.
#pragma once

#include <algorithm>
#include <string>

#include "passes/pipeline.h"
#include "runtime/structures.h"
#include "support/compile_model.h"

namespace gneiss::testing {

/// Arguments of a small model, completed by what a model needs besides.
inline ModelArgs small(const ModelArgs& more = {}, std::int64_t layers = 2) {
  ModelArgs args = {{"hidden_channels", std::int64_t{4}}, {"num_layers", layers}};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

inline ModelArgs small_for(const std::string& model, ModelArgs more = {}) {
  if (model == "gat") more.emplace_back("heads", std::int64_t{2});
  return small(more);
}

inline ir::Plan plan_of(const std::string& model, const data::Dataset& dataset, const ModelArgs& args,
                        passes::Options options = {}) {
  ir::Program program = compile_builtin(model, dataset, args);
  runtime::derive_graphs(dataset.graph, &program);
  options.feature_nonzeros = dataset.features.sparse ? dataset.features.nonzeros() : 0;
  return passes::build_plan(program, options);
}

inline std::int64_t count(const ir::Plan& plan, ir::OpKind kind) {
  return std::count_if(plan.program.ops.begin(), plan.program.ops.end(),
                       [&](const ir::Op& op) { return op.kind == kind; });
}

}  // namespace gneiss::testing
