// Every op of the IR that has a gradient, through the whole pipeline, against central differences in f64 on a graph
// that is directed, asymmetric and weighted, with a hub, isolated nodes, self loops and parallel edges.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "support/awkward_graph.h"
#include "support/gradient_check.h"

namespace gneiss {
namespace {

using ir::Attrs;
using ir::Builder;
using ir::OpKind;
using ir::ValueId;

constexpr std::int64_t kNodes = 14;
constexpr std::int64_t kFeatures = 5;
constexpr std::int64_t kOutputs = 3;

/// Builds small models around one op.
class Model {
 public:
  explicit Model(bool sparse) : builder_(&program_) {
    program_.name = "op";
    program_.node_sets.push_back({"nodes", kNodes});
    program_.graphs.push_back({"g", ir::GraphOrigin::kGiven, -1, 0, 0, ir::kUnknown, true, false});
    ir::Type type = ir::node_type(0, kFeatures);
    if (sparse) type.layout = ir::Layout::kSparse;
    x_ = builder_.leaf(OpKind::input, type, {{"name", std::string("features")}});
  }

  Builder& b() { return builder_; }
  ValueId x() const { return x_; }
  ValueId param(std::int64_t rows, std::int64_t cols, double value = 0) {
    ir::Param p;
    p.name = "p" + std::to_string(program_.params.size());
    p.rows = rows;
    p.cols = cols;
    p.stored_shape = {rows, cols};
    p.init = {value != 0 ? ir::Init::Kind::kConstant : ir::Init::Kind::kUniform, value != 0 ? value : 0.8, rows, cols};
    return builder_.param(p);
  }
  /// A trained node value of `cols` columns.
  ValueId node(std::int64_t cols) { return builder_.add(OpKind::gemm, {x_, param(kFeatures, cols)}); }
  /// A trained edge value of `cols` columns.
  ValueId edge(std::int64_t cols) {
    const ValueId from = builder_.add(OpKind::gather_src, {node(cols)}, graph());
    const ValueId to = builder_.add(OpKind::gather_dst, {node(cols)}, graph());
    return builder_.add(OpKind::add, {from, to});
  }
  /// Away from zero, for functions that need it.
  ValueId positive(ValueId v) {
    return builder_.add(OpKind::affine, {builder_.add(OpKind::sigmoid, {v})}, {{"scale", 1.0}, {"shift", 0.5}});
  }
  static Attrs graph() { return {{"graph", std::int64_t{0}}}; }
  static Attrs graph(Attrs more) {
    more.set("graph", std::int64_t{0});
    return more;
  }
  ir::Program finish(ValueId v) {
    if (program_.type(v).domain == ir::Domain::kEdge)
      v = builder_.add(OpKind::segment_reduce, {v}, graph({{"fn", std::string("sum")}}));
    if (program_.type(v).domain == ir::Domain::kGlobal) v = builder_.add(OpKind::mul, {node(program_.type(v).cols), v});
    const ValueId logits = builder_.add(OpKind::gemm, {v, param(program_.type(v).cols, kOutputs)});
    program_.outputs.push_back({"logits", logits});
    program_.outputs.push_back({"embedding", logits});
    return program_;
  }

 private:
  ir::Program program_;
  Builder builder_;
  ValueId x_ = ir::kNoValue;
};

struct Case {
  OpKind op;
  std::string name;
  std::function<ValueId(Model&)> build;
};

Attrs fn(const char* name) { return Model::graph({{"fn", std::string(name)}}); }

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const auto add = [&](OpKind op, std::string name, std::function<ValueId(Model&)> build) {
    cases.push_back({op, std::move(name), std::move(build)});
  };
  add(OpKind::gemm, "nn", [](Model& m) { return m.b().add(OpKind::gemm, {m.node(4), m.param(4, 6)}); });
  add(OpKind::gemm, "nt", [](Model& m) {
    return m.b().add(OpKind::gemm, {m.node(4), m.param(6, 4)}, {{"tb", std::int64_t{1}}});
  });
  for (const auto& [op, name] : {std::pair(OpKind::add, "add"), {OpKind::sub, "sub"}, {OpKind::mul, "mul"}}) {
    add(op, std::string(name) + "_same", [op](Model& m) { return m.b().add(op, {m.node(6), m.node(6)}); });
    add(op, std::string(name) + "_row", [op](Model& m) { return m.b().add(op, {m.node(6), m.param(1, 6)}); });
    add(op, std::string(name) + "_row_first", [op](Model& m) { return m.b().add(op, {m.param(1, 6), m.node(6)}); });
    add(op, std::string(name) + "_scalar", [op](Model& m) { return m.b().add(op, {m.param(1, 1), m.node(6)}); });
    add(op, std::string(name) + "_heads", [op](Model& m) { return m.b().add(op, {m.node(2), m.node(6)}); });
    add(op, std::string(name) + "_head_row", [op](Model& m) { return m.b().add(op, {m.node(6), m.param(1, 2)}); });
    add(op, std::string(name) + "_edge_column", [op](Model& m) { return m.b().add(op, {m.edge(6), m.edge(1)}); });
  }
  add(OpKind::div, "same", [](Model& m) { return m.b().add(OpKind::div, {m.node(6), m.positive(m.node(6))}); });
  add(OpKind::div, "column", [](Model& m) { return m.b().add(OpKind::div, {m.node(6), m.positive(m.node(1))}); });
  add(OpKind::div, "by_row", [](Model& m) { return m.b().add(OpKind::div, {m.node(6), m.param(1, 3, 1.7)}); });
  add(OpKind::maximum, "maximum", [](Model& m) { return m.b().add(OpKind::maximum, {m.node(6), m.node(6)}); });
  add(OpKind::minimum, "minimum", [](Model& m) { return m.b().add(OpKind::minimum, {m.node(6), m.node(6)}); });
  add(OpKind::affine, "affine", [](Model& m) {
    return m.b().add(OpKind::affine, {m.node(6)}, {{"scale", -1.5}, {"shift", 0.25}});
  });
  for (const OpKind op : {OpKind::relu, OpKind::sigmoid, OpKind::tanh, OpKind::exp}) {
    add(op, "unary", [op](Model& m) { return m.b().add(op, {m.node(6)}); });
  }
  add(OpKind::leaky_relu, "slope", [](Model& m) {
    return m.b().add(OpKind::leaky_relu, {m.edge(4)}, {{"alpha", 0.2}});
  });
  add(OpKind::elu, "alpha", [](Model& m) { return m.b().add(OpKind::elu, {m.node(6)}, {{"alpha", 1.3}}); });
  for (const OpKind op : {OpKind::log, OpKind::sqrt, OpKind::rsqrt}) {
    add(op, "positive", [op](Model& m) { return m.b().add(op, {m.positive(m.node(6))}); });
  }
  add(OpKind::dropout, "node", [](Model& m) {
    return m.b().add(OpKind::dropout, {m.node(6)}, {{"p", 0.4}, {"stream", std::int64_t{3}}});
  });
  add(OpKind::dropout, "edge", [](Model& m) {
    return m.b().add(OpKind::dropout, {m.edge(2)}, {{"p", 0.4}, {"stream", std::int64_t{4}}});
  });
  add(OpKind::sum_rows, "node", [](Model& m) { return m.b().add(OpKind::sum_rows, {m.node(6)}); });
  add(OpKind::sum_rows, "edge", [](Model& m) { return m.b().add(OpKind::sum_rows, {m.edge(3)}); });
  add(OpKind::sum_groups, "heads", [](Model& m) {
    return m.b().add(OpKind::sum_groups, {m.node(6)}, {{"groups", std::int64_t{2}}});
  });
  add(OpKind::expand_groups, "heads", [](Model& m) {
    return m.b().add(OpKind::expand_groups, {m.node(2)}, {{"groups", std::int64_t{2}}, {"cols", std::int64_t{6}}});
  });
  add(OpKind::sum_heads, "heads", [](Model& m) {
    return m.b().add(OpKind::sum_heads, {m.node(6)}, {{"heads", std::int64_t{2}}});
  });
  add(OpKind::tile_heads, "heads", [](Model& m) {
    return m.b().add(OpKind::tile_heads, {m.node(3)}, {{"heads", std::int64_t{2}}});
  });
  add(OpKind::concat, "three", [](Model& m) { return m.b().add(OpKind::concat, {m.node(2), m.node(3), m.node(1)}); });
  add(OpKind::slice, "middle", [](Model& m) {
    return m.b().add(OpKind::slice, {m.node(6)}, {{"begin", std::int64_t{2}}, {"cols", std::int64_t{3}}});
  });
  add(OpKind::batch_norm, "node", [](Model& m) {
    return m.b().add_all(OpKind::batch_norm,
                         {m.node(6), m.param(1, 6), m.param(1, 6), m.param(1, 6), m.param(1, 6)})[0];
  });
  for (const char* mode : {"node", "graph"}) {
    add(OpKind::layer_norm, mode, [mode](Model& m) {
      return m.b().add_all(OpKind::layer_norm, {m.node(6), m.param(1, 6), m.param(1, 6)},
                           {{"mode", std::string(mode)}})[0];
    });
  }
  add(OpKind::gather_src, "gather",
      [](Model& m) { return m.b().add(OpKind::gather_src, {m.node(4)}, Model::graph()); });
  add(OpKind::gather_dst, "gather",
      [](Model& m) { return m.b().add(OpKind::gather_dst, {m.node(4)}, Model::graph()); });
  for (const char* name : {"sum", "mean", "max", "min"}) {
    // A nonlinear edge value, so that fusion leaves the reduction alone.
    add(OpKind::segment_reduce, name, [name](Model& m) {
      return m.b().add(OpKind::segment_reduce, {m.b().add(OpKind::tanh, {m.edge(4)})}, fn(name));
    });
    add(OpKind::spmm, std::string(name) + "_plain", [name](Model& m) {
      return m.b().add(OpKind::segment_reduce, {m.b().add(OpKind::gather_src, {m.node(4)}, Model::graph())}, fn(name));
    });
    add(OpKind::spmm, std::string(name) + "_weighted", [name](Model& m) {
      const ValueId message = m.b().add(OpKind::gather_src, {m.node(4)}, Model::graph());
      const ValueId weight = m.b().add(OpKind::edge_weight, {}, Model::graph());
      return m.b().add(OpKind::segment_reduce, {m.b().add(OpKind::mul, {message, weight})}, fn(name));
    });
    add(OpKind::spmm, std::string(name) + "_learned_weight", [name](Model& m) {
      const ValueId message = m.b().add(OpKind::gather_src, {m.node(4)}, Model::graph());
      return m.b().add(OpKind::segment_reduce, {m.b().add(OpKind::mul, {m.edge(1), message})}, fn(name));
    });
  }
  for (const char* name : {"sum", "mean"}) {
    add(OpKind::spmm, std::string(name) + "_heads", [name](Model& m) {
      const ValueId message = m.b().add(OpKind::gather_src, {m.node(6)}, Model::graph());
      return m.b().add(OpKind::segment_reduce, {m.b().add(OpKind::mul, {m.edge(2), message})}, fn(name));
    });
    add(OpKind::spmm, std::string(name) + "_transposed", [name](Model& m) {
      const ValueId message = m.b().add(OpKind::gather_dst, {m.node(6)}, Model::graph());
      Attrs attrs = fn(name);
      attrs.set("side", std::string("src"));
      return m.b().add(OpKind::segment_reduce, {m.b().add(OpKind::mul, {m.edge(2), message})}, attrs);
    });
  }
  add(OpKind::sddmm, "heads", [](Model& m) {
    const ValueId a = m.b().add(OpKind::gather_dst, {m.node(6)}, Model::graph());
    const ValueId b = m.b().add(OpKind::gather_src, {m.node(6)}, Model::graph());
    return m.b().add(OpKind::sum_groups, {m.b().add(OpKind::mul, {a, b})}, {{"groups", std::int64_t{2}}});
  });
  add(OpKind::edge_softmax, "attention", [](Model& m) {
    const ValueId a = m.b().add(OpKind::edge_softmax, {m.edge(2)}, Model::graph());
    const ValueId message = m.b().add(OpKind::gather_src, {m.node(6)}, Model::graph());
    return m.b().add(OpKind::segment_reduce, {m.b().add(OpKind::mul, {a, message})}, fn("sum"));
  });
  // Scores of either sign; fused by the passes, or built fused.
  const auto scores = [](Model& m) {
    const ValueId from = m.b().add(OpKind::gather_src, {m.node(2)}, Model::graph());
    const ValueId to = m.b().add(OpKind::gather_dst, {m.node(2)}, Model::graph());
    return m.b().add(OpKind::leaky_relu, {m.b().add(OpKind::add, {from, to})}, {{"alpha", 0.2}});
  };
  add(OpKind::edge_softmax, "attention_with_dropout", [scores](Model& m) {
    const ValueId a = m.b().add(OpKind::edge_softmax, {scores(m)}, Model::graph());
    const ValueId dropped = m.b().add(OpKind::dropout, {a}, {{"p", 0.4}, {"stream", std::int64_t{3}}});
    const ValueId message = m.b().add(OpKind::gather_src, {m.node(6)}, Model::graph());
    return m.b().add(OpKind::segment_reduce, {m.b().add(OpKind::mul, {dropped, message})}, fn("sum"));
  });
  add(OpKind::edge_softmax, "softmax_used_twice", [scores](Model& m) {
    const ValueId a = m.b().add(OpKind::edge_softmax, {scores(m)}, Model::graph());
    const ValueId message = m.b().add(OpKind::gather_src, {m.node(6)}, Model::graph());
    const ValueId y = m.b().add(OpKind::segment_reduce, {m.b().add(OpKind::mul, {a, message})}, fn("sum"));
    const ValueId sharpness = m.b().add(OpKind::segment_reduce, {m.b().add(OpKind::mul, {a, a})}, fn("sum"));
    return m.b().add(OpKind::concat, {y, sharpness});
  });
  add(OpKind::attention, "heads", [](Model& m) {
    return m.b().add(OpKind::attention, {m.node(6), m.node(2), m.node(2)},
                     Model::graph({{"heads", std::int64_t{2}}, {"slope", 0.3}}));
  });
  add(OpKind::gemm, "added", [](Model& m) {
    return m.b().add(OpKind::add, {m.node(4), m.b().add(OpKind::gemm, {m.node(4), m.param(4, 4)})});
  });
  add(OpKind::gemm, "added_row", [](Model& m) {
    return m.b().add(OpKind::add, {m.b().add(OpKind::gemm, {m.node(4), m.param(4, 4)}), m.param(1, 4)});
  });
  add(OpKind::mul, "added", [](Model& m) {
    return m.b().add(OpKind::add, {m.node(6), m.b().add(OpKind::mul, {m.node(2), m.param(1, 6)})});
  });
  add(OpKind::sum_groups, "inner", [](Model& m) {
    return m.b().add(OpKind::sum_groups, {m.b().add(OpKind::mul, {m.node(6), m.param(1, 6)})},
                     {{"groups", std::int64_t{2}}});
  });
  add(OpKind::spx_gemm, "dropped", [](Model& m) {
    const ValueId x = m.b().add(OpKind::dropout, {m.x()}, {{"p", 0.3}, {"stream", std::int64_t{1}}});
    return m.b().add(OpKind::gemm, {x, m.param(kFeatures, 4)});
  });
  return cases;
}

data::Dataset dataset_for(bool sparse) {
  testing::AwkwardOptions options;
  options.nodes = kNodes;
  options.features = kFeatures;
  options.classes = kOutputs;
  options.sparse_features = sparse;
  options.labels = data::LabelKind::kRegression;
  return testing::awkward_dataset(options);
}

void expect_gradients(const Case& test_case, bool sparse, const passes::Options& options) {
  Model model(sparse);
  const ir::Program program = model.finish(test_case.build(model));
  const data::Dataset dataset = dataset_for(sparse);
  const testing::GradientReport report = testing::check_gradients(program, dataset, options);
  EXPECT_LT(report.relative_error, 1e-6) << ir::traits(test_case.op).name << " " << test_case.name << ": "
                                         << report.worst;
  EXPECT_GT(report.largest_gradient, 1e-3) << ir::traits(test_case.op).name << ": nothing flows back";
}

passes::Options mse() {
  passes::Options options;
  options.loss.kind = passes::LossSpec::Kind::kMse;
  options.sparse_path =
      passes::SparsePath::kSparse;  // so dense are these few features that the sparse product would not run
  return options;
}

TEST(OpsGradient, SparseFeaturesOnADenseCopy) {
  for (const Case& test_case : all_cases()) {
    passes::Options options = mse();
    options.sparse_path = passes::SparsePath::kDense;
    expect_gradients(test_case, true, options);
  }
}

TEST(OpsGradient, EveryOpWithAllPasses) {
  for (const Case& test_case : all_cases()) {
    for (const bool sparse : {false, true}) expect_gradients(test_case, sparse, mse());
  }
}

TEST(OpsGradient, EveryOpWithoutOptionalPasses) {
  passes::Options options = mse();
  for (const passes::PassInfo& pass : passes::list_passes()) {
    if (pass.optional) options.disabled.insert(pass.name);
  }
  for (const Case& test_case : all_cases()) expect_gradients(test_case, false, options);
}

TEST(OpsGradient, EitherOrder) {
  for (const auto order : {passes::OrderChoice::kTransformFirst, passes::OrderChoice::kAggregateFirst}) {
    passes::Options options = mse();
    options.order = order;
    for (const Case& test_case : all_cases()) expect_gradients(test_case, false, options);
  }
}

TEST(OpsGradient, CoversEveryDifferentiableOp) {
  // Ops that never lie between a parameter and the loss: leaves, effects, and the backward ops themselves. Ops between
  // ranks are held against one rank (metamorphic/ranks_test.cc).
  const std::set<std::string> exempt = {"input",
                                        "param",
                                        "constant",
                                        "edge_weight",
                                        "degree",
                                        "to_dense",
                                        "to_float",
                                        "to_half",
                                        "maximum_grad",
                                        "unary_grad",
                                        "batch_norm_inference",
                                        "batch_norm_grad",
                                        "batch_norm_update",
                                        "layer_norm_grad",
                                        "segment_arg_grad",
                                        "arg_sources",
                                        "spmm_arg_grad",
                                        "spmm_arg_weight_grad",
                                        "edge_softmax_grad",
                                        "attention_grad",
                                        "mul_add",
                                        "halo",
                                        "halo_add",
                                        "halo_start",
                                        "halo_wait",
                                        "halo_add_start",
                                        "halo_add_wait",
                                        "rank_sum",
                                        "rank_range",
                                        "cross_entropy",
                                        "bce_with_logits",
                                        "mse"};
  std::set<std::string> covered;
  for (const Case& test_case : all_cases()) covered.insert(std::string(ir::traits(test_case.op).name));
  for (const OpKind kind : ir::all_op_kinds()) {
    const std::string name(ir::traits(kind).name);
    EXPECT_NE(covered.count(name) > 0, exempt.count(name) > 0) << name;
  }
}

}  // namespace
}  // namespace gneiss
