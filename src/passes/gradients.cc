// The vector-Jacobian products. dy is the gradient of the op's first result, y the result itself.
#include "passes/gradients.h"

#include "base/error.h"

namespace gneiss::passes {

using ir::Attrs;
using ir::OpKind;
using ir::ValueId;

void GradientContext::accumulate(std::size_t i, ValueId gradient) {
  ValueId& total = (*gradients_)[static_cast<std::size_t>(op_.inputs[i])];
  total = total == ir::kNoValue ? gradient : builder_->add(OpKind::add, {total, gradient});
}

void GradientContext::accumulate_broadcast(std::size_t i, ValueId gradient) {
  const ir::Type to = type(input(i));
  if (to.domain == ir::Domain::kGlobal && type(gradient).domain != ir::Domain::kGlobal) {
    gradient = builder_->add(OpKind::sum_rows, {gradient});
  } else if (to.domain == ir::Domain::kGlobal && to.rows == 1 && type(gradient).rows != 1) {
    gradient = builder_->add(OpKind::sum_rows, {gradient});
  }
  if (type(gradient).cols != to.cols) gradient = builder_->add(OpKind::sum_groups, {gradient}, {{"groups", to.cols}});
  accumulate(i, gradient);
}

namespace {

using Context = GradientContext;

Attrs graph_attr(const Context& c) { return {{"graph", c.op().attrs.integer("graph", 0)}}; }

Attrs with(Attrs attrs, std::string_view name, ir::AttrValue value) {
  attrs.set(name, std::move(value));
  return attrs;
}

/// In-degree (or out-degree) of the receiving side, at least 1, so that an empty mean has gradient 0 and not NaN.
ValueId mean_divisor(Context& c, std::string_view side) {
  ir::Builder& b = c.builder();
  const ir::GraphDef graph = b.program().graphs[static_cast<std::size_t>(c.op().attrs.integer("graph", 0))];
  const ValueId degree = b.add(OpKind::degree, {}, with(graph_attr(c), "side", std::string(side)));
  const ir::Type type = b.program().type(degree);
  const ValueId one = b.leaf(OpKind::constant, type, {{"value", 1.0}});
  return b.add(OpKind::maximum, {degree, one});
}

/// Later passes give ops further operands that these rules would overlook.
void expect_unfused(const Context& c, std::size_t inputs) {
  GNEISS_ASSERT(c.op().inputs.size() == inputs, "'{}' was fused before it was differentiated",
                ir::traits(c.op().kind).name);
}

void gemm(Context& c) {
  expect_unfused(c, 2);
  const bool tb = c.op().attrs.integer("tb", 0) != 0;
  const ValueId dy = c.grad();
  // The weight's first: then the gradient of the left operand may take that operand's place.
  if (c.wants(1)) {
    const ValueId left = tb ? dy : c.input(0);
    const ValueId right = tb ? c.input(0) : dy;
    c.accumulate(1, c.builder().add(OpKind::gemm, {left, right}, {{"ta", std::int64_t{1}}}));
  }
  if (c.wants(0)) c.accumulate(0, c.builder().add(OpKind::gemm, {dy, c.input(1)}, {{"tb", std::int64_t{!tb}}}));
}

void spx_gemm(Context& c) {
  if (c.wants(1)) c.accumulate(1, c.builder().add(OpKind::spx_gemm, {c.input(0), c.grad()}, {{"ta", std::int64_t{1}}}));
}

void add(Context& c) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (c.wants(i)) c.accumulate_broadcast(i, c.grad());
  }
}

void sub(Context& c) {
  if (c.wants(0)) c.accumulate_broadcast(0, c.grad());
  if (c.wants(1))
    c.accumulate_broadcast(1, c.builder().add(OpKind::affine, {c.grad()}, {{"scale", -1.0}, {"shift", 0.0}}));
}

void mul(Context& c) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (c.wants(i)) c.accumulate_broadcast(i, c.builder().add(OpKind::mul, {c.grad(), c.input(1 - i)}));
  }
}

void div(Context& c) {
  if (c.wants(0)) c.accumulate_broadcast(0, c.builder().add(OpKind::div, {c.grad(), c.input(1)}));
  if (!c.wants(1)) return;
  const ValueId ratio = c.builder().add(OpKind::div, {c.result(0), c.input(1)});
  const ValueId product = c.builder().add(OpKind::mul, {c.grad(), ratio});
  c.accumulate_broadcast(1, c.builder().add(OpKind::affine, {product}, {{"scale", -1.0}, {"shift", 0.0}}));
}

void extreme(Context& c) {
  const std::string fn(ir::traits(c.op().kind).name);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (!c.wants(i)) continue;
    c.accumulate(i, c.builder().add(OpKind::maximum_grad, {c.input(0), c.input(1), c.grad()},
                                    {{"fn", fn}, {"side", static_cast<std::int64_t>(i)}}));
  }
}

void affine(Context& c) {
  c.accumulate(0,
               c.builder().add(OpKind::affine, {c.grad()}, {{"scale", c.op().attrs.real("scale", 1)}, {"shift", 0.0}}));
}

void unary(Context& c) {
  const std::string fn(ir::traits(c.op().kind).name);
  c.accumulate(0, c.builder().add(OpKind::unary_grad, {c.result(0), c.grad()},
                                  {{"fn", fn}, {"alpha", c.op().attrs.real("alpha", 0)}}));
}

void log(Context& c) { c.accumulate(0, c.builder().add(OpKind::div, {c.grad(), c.input(0)})); }

/// The same draws on the gradient: the mask is a function of the stream.
void dropout(Context& c) { c.accumulate(0, c.builder().add(OpKind::dropout, {c.grad()}, c.op().attrs)); }

void sum_rows(Context& c) {
  expect_unfused(c, 1);
  ir::Type column = c.type(c.input(0));
  column.cols = 1;
  const ValueId ones = c.builder().leaf(OpKind::constant, column, {{"value", 1.0}});
  c.accumulate(0, c.builder().add(OpKind::mul, {ones, c.grad()}));
}

void sum_groups(Context& c) {
  expect_unfused(c, 1);
  c.accumulate(0,
               c.builder().add(OpKind::expand_groups, {c.grad()}, with(c.op().attrs, "cols", c.type(c.input(0)).cols)));
}

void expand_groups(Context& c) {
  c.accumulate(0, c.builder().add(OpKind::sum_groups, {c.grad()}, {{"groups", c.op().attrs.integer("groups", 1)}}));
}

void sum_heads(Context& c) { c.accumulate(0, c.builder().add(OpKind::tile_heads, {c.grad()}, c.op().attrs)); }
void tile_heads(Context& c) { c.accumulate(0, c.builder().add(OpKind::sum_heads, {c.grad()}, c.op().attrs)); }

void concat(Context& c) {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < c.op().inputs.size(); ++i) {
    const std::int64_t cols = c.type(c.input(i)).cols;
    if (c.wants(i)) c.accumulate(i, c.builder().add(OpKind::slice, {c.grad()}, {{"begin", begin}, {"cols", cols}}));
    begin += cols;
  }
}

void slice(Context& c) {
  const ir::Type whole = c.type(c.input(0));
  const std::int64_t begin = c.op().attrs.integer("begin", 0);
  const std::int64_t end = begin + c.op().attrs.integer("cols", 0);
  std::vector<ValueId> parts;
  const auto pad = [&](std::int64_t cols) {
    ir::Type type = whole;
    type.cols = cols;
    if (cols > 0) parts.push_back(c.builder().leaf(OpKind::constant, type, {{"value", 0.0}}));
  };
  pad(begin);
  parts.push_back(c.grad());
  pad(whole.cols - end);
  c.accumulate(0, c.builder().add(OpKind::concat, parts));
}

void batch_norm(Context& c) {
  const auto grads =
      c.builder().add_all(OpKind::batch_norm_grad, {c.input(0), c.input(1), c.result(1), c.result(2), c.grad()},
                          {{"eps", c.op().attrs.real("eps", 1e-5)}});
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    if (c.wants(i)) c.accumulate(i, grads[i]);
  }
}

void layer_norm(Context& c) {
  const auto grads = c.builder().add_all(OpKind::layer_norm_grad,
                                         {c.input(0), c.input(1), c.result(1), c.result(2), c.grad()}, c.op().attrs);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    if (c.wants(i)) c.accumulate(i, grads[i]);
  }
}

void gather(Context& c, std::string_view side) {
  const Attrs attrs = with(with(graph_attr(c), "fn", std::string("sum")), "side", std::string(side));
  c.accumulate(0, c.builder().add(OpKind::segment_reduce, {c.grad()}, attrs));
}

void segment_reduce(Context& c) {
  const std::string fn = c.op().attrs.text("fn", "sum");
  const std::string side = c.op().attrs.text("side", "dst");
  ValueId dy = c.grad();
  if (fn == "max" || fn == "min") {
    c.accumulate(0, c.builder().add(OpKind::segment_arg_grad, {c.result(1), dy}, graph_attr(c)));
    return;
  }
  if (fn == "mean") dy = c.builder().add(OpKind::div, {dy, mean_divisor(c, side)});
  c.accumulate(0, c.builder().add(side == "dst" ? OpKind::gather_dst : OpKind::gather_src, {dy}, graph_attr(c)));
}

void spmm_extreme(Context& c) {
  const bool weighted = c.op().inputs.size() == 2;
  if (c.wants(0)) {
    std::vector<ValueId> inputs = {c.result(1), c.grad()};
    if (weighted) inputs.push_back(c.input(1));
    c.accumulate(0, c.builder().add(OpKind::spmm_arg_grad, inputs, graph_attr(c)));
  }
  if (weighted && c.wants(1)) {
    c.accumulate(1, c.builder().add(OpKind::spmm_arg_weight_grad, {c.result(1), c.grad(), c.input(0)}, graph_attr(c)));
  }
}

void spmm(Context& c) {
  const std::string fn = c.op().attrs.text("fn", "sum");
  if (fn == "max" || fn == "min") return spmm_extreme(c);
  const bool transpose = c.op().attrs.integer("transpose", 0) != 0;
  const std::int64_t heads = c.op().attrs.integer("heads", 1);
  ValueId dy = c.grad();
  // The mean divides by the receiver's degree, before the gradient is sent back along the edges.
  if (fn == "mean") dy = c.builder().add(OpKind::div, {dy, mean_divisor(c, transpose ? "src" : "dst")});
  if (c.wants(0)) {
    std::vector<ValueId> inputs = {dy};
    if (c.op().inputs.size() == 2) inputs.push_back(c.input(1));
    Attrs attrs = with(graph_attr(c), "fn", std::string("sum"));
    attrs.set("transpose", std::int64_t{!transpose});
    attrs.set("heads", heads);
    if (c.op().attrs.text("loss", "") == "rows") {  // the others have no gradient
      attrs.set("loss", std::string("sources"));
      attrs.set("loss_edges", c.op().attrs.integer("loss_edges", 0));
    }
    c.accumulate(0, c.builder().add(OpKind::spmm, inputs, attrs));
  }
  if (c.op().inputs.size() == 2 && c.wants(1)) {
    const ValueId at_dst = transpose ? c.input(0) : dy;
    const ValueId at_src = transpose ? dy : c.input(0);
    c.accumulate(1, c.builder().add(OpKind::sddmm, {at_dst, at_src}, with(graph_attr(c), "heads", heads)));
  }
}

void sddmm(Context& c) {
  const std::int64_t heads = c.op().attrs.integer("heads", 1);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (!c.wants(i)) continue;
    Attrs attrs = with(graph_attr(c), "fn", std::string("sum"));
    attrs.set("transpose", static_cast<std::int64_t>(i));
    attrs.set("heads", heads);
    c.accumulate(i, c.builder().add(OpKind::spmm, {c.input(1 - i), c.grad()}, attrs));
  }
}

void attention(Context& c) {
  const Attrs by_heads = {{"groups", c.op().attrs.integer("heads", 1)}};
  // Both sums over columns come first: backward proper then reads neither result of forward.
  const ValueId dots = c.builder().add(OpKind::sum_groups, {c.grad(), c.result(0)}, by_heads);
  if (c.wants(2)) c.accumulate(2, c.builder().add(OpKind::sum_groups, {c.grad(), c.result(1)}, by_heads));
  std::vector<ValueId> inputs = {c.input(0), c.input(1), c.input(2), c.result(2), dots, c.grad()};
  if (ir::has_gate(c.builder().program(), c.op())) inputs.push_back(c.input(3));
  const auto grads =
      c.builder().add_all(OpKind::attention_grad, inputs, with(c.op().attrs, "transpose", std::int64_t{1}));
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (c.wants(i)) c.accumulate(i, grads[i]);
  }
}

void edge_softmax(Context& c) {
  c.accumulate(0, c.builder().add(OpKind::edge_softmax_grad, {c.result(0), c.grad()}, graph_attr(c)));
}

/// What goes out to the copies of a row comes back from them, and the other way round.
void halo(Context& c) {
  const OpKind back = c.op().kind == OpKind::halo ? OpKind::halo_add : OpKind::halo;
  c.accumulate(0, c.builder().add(
                      back, {c.grad()},
                      {{"to", std::int64_t{c.type(c.input(0)).set}}, {"packed", c.op().attrs.integer("packed", 0)}}));
}

/// Every rank's operand has a part in the result of all: its gradient is the sum of theirs.
void rank_sum(Context& c) { c.accumulate(0, c.builder().add(OpKind::rank_sum, {c.grad()})); }

}  // namespace

bool apply_gradient_rule(GradientContext& c) {
  switch (c.op().kind) {
    case OpKind::gemm:
      gemm(c);
      return true;
    case OpKind::spx_gemm:
      spx_gemm(c);
      return true;
    case OpKind::add:
      add(c);
      return true;
    case OpKind::sub:
      sub(c);
      return true;
    case OpKind::mul:
      mul(c);
      return true;
    case OpKind::div:
      div(c);
      return true;
    case OpKind::maximum:
    case OpKind::minimum:
      extreme(c);
      return true;
    case OpKind::affine:
      affine(c);
      return true;
    case OpKind::relu:
    case OpKind::leaky_relu:
    case OpKind::elu:
    case OpKind::sigmoid:
    case OpKind::tanh:
    case OpKind::exp:
    case OpKind::sqrt:
    case OpKind::rsqrt:
      unary(c);
      return true;
    case OpKind::log:
      log(c);
      return true;
    case OpKind::dropout:
      dropout(c);
      return true;
    case OpKind::sum_rows:
      sum_rows(c);
      return true;
    case OpKind::sum_groups:
      sum_groups(c);
      return true;
    case OpKind::expand_groups:
      expand_groups(c);
      return true;
    case OpKind::sum_heads:
      sum_heads(c);
      return true;
    case OpKind::tile_heads:
      tile_heads(c);
      return true;
    case OpKind::concat:
      concat(c);
      return true;
    case OpKind::slice:
      slice(c);
      return true;
    case OpKind::batch_norm:
      batch_norm(c);
      return true;
    case OpKind::layer_norm:
      layer_norm(c);
      return true;
    case OpKind::gather_src:
      gather(c, "src");
      return true;
    case OpKind::gather_dst:
      gather(c, "dst");
      return true;
    case OpKind::segment_reduce:
      segment_reduce(c);
      return true;
    case OpKind::spmm:
      spmm(c);
      return true;
    case OpKind::sddmm:
      sddmm(c);
      return true;
    case OpKind::edge_softmax:
      edge_softmax(c);
      return true;
    case OpKind::attention:
      attention(c);
      return true;
    case OpKind::halo:
    case OpKind::halo_add:
      halo(c);
      return true;
    case OpKind::rank_sum:
      rank_sum(c);
      return true;
    default:
      return false;
  }
}

}  // namespace gneiss::passes
