// Operations between nodes and edges, on columns, and normalisation.
#include <fmt/format.h>

#include <vector>

#include "base/names.h"
#include "language/emitter.h"

namespace gneiss::language {
namespace {

/// concat takes at most this many operands in the IR.
constexpr std::size_t kConcatFan = 64;

}  // namespace

Tensor Emitter::gather(const Tensor& x, bool source, std::int32_t graph, const Span& span) {
  if (x.domain != ir::Domain::kNode) {
    std::string help;
    if (x.domain == ir::Domain::kEdge) help = "it lies on the edges already";
    if (x.domain == ir::Domain::kGlobal) help = "a parameter is the same everywhere and needs no '@'";
    fail(Code::E0408, span, fmt::format("'@{}' of {}: only a node value has ends", source ? "src" : "dst", describe(x)),
         std::move(help));
  }
  set_location(span);
  const ir::ValueId id =
      emit(source ? ir::OpKind::gather_src : ir::OpKind::gather_dst, {x.id}, {{"graph", std::int64_t{graph}}});
  return {id, ir::Domain::kEdge, graph, x.dims, -1};
}

Tensor Emitter::reduce(const std::string& fn, const Tensor& e, const std::string& edges, const Span& span) {
  if (e.domain != ir::Domain::kEdge) {
    fail(Code::E0405, span, fmt::format("'{}(…) over {}' reduces edge values, got {}", fn, edges, describe(e)),
         e.domain == ir::Domain::kNode ? "bring it to the edges first: x@src" : "in_degree counts the edges of a node");
  }
  const bool out = edges == "out_edges";
  if (out && fn != "sum") {
    fail(Code::E0419, span, fmt::format("'{}' over out_edges is not available", fn),
         "only 'sum' is; the others reduce over in_edges");
  }
  ir::Attrs attrs = {{"fn", fn}, {"graph", std::int64_t{e.set}}};
  attrs.set("side", std::string(out ? "src" : "dst"));
  set_location(span);
  const ir::GraphDef& graph = program_.graphs[static_cast<std::size_t>(e.set)];
  const std::int32_t set = out ? graph.src_set : graph.dst_set;
  return {emit(ir::OpKind::segment_reduce, {e.id}, std::move(attrs)), ir::Domain::kNode, set, e.dims, -1};
}

Tensor Emitter::edge_softmax(const Tensor& e, const std::string& edges, const Span& span) {
  if (e.domain != ir::Domain::kEdge) {
    fail(Code::E0405, span, fmt::format("'softmax(…) over {}' takes edge values, got {}", edges, describe(e)));
  }
  if (edges != "in_edges")
    fail(Code::E0419, span, "'softmax' over out_edges is not available", "it runs over in_edges");
  set_location(span);
  return like(e, emit(ir::OpKind::edge_softmax, {e.id}, {{"graph", std::int64_t{e.set}}}));
}

Tensor Emitter::edge_weight(std::int32_t graph, const Span& span) {
  const auto [entry, fresh] = leaves_.try_emplace({0, graph}, ir::kNoValue);
  if (fresh) {
    set_location(span);
    entry->second = builder_.leaf(ir::OpKind::edge_weight, ir::edge_type(graph, 1), {{"graph", std::int64_t{graph}}});
  }
  return {entry->second, ir::Domain::kEdge, graph, {1}, -1};
}

Tensor Emitter::degree(std::int32_t graph, bool in_edges, const Span& span) {
  const auto [entry, fresh] = leaves_.try_emplace({in_edges ? 1 : 2, graph}, ir::kNoValue);
  if (fresh) {
    set_location(span);
    entry->second =
        emit(ir::OpKind::degree, {}, {{"graph", std::int64_t{graph}}, {"side", std::string(in_edges ? "dst" : "src")}});
  }
  return {entry->second, ir::Domain::kNode, 0, {1}, -1};
}

/// The same derivation of the same graph is one graph, whichever layers ask for it.
std::int32_t Emitter::derive_graph(std::int32_t base, ir::GraphOrigin origin) {
  for (std::size_t i = 0; i < program_.graphs.size(); ++i) {
    const ir::GraphDef& known = program_.graphs[i];
    if (known.base == base && known.origin == origin) return static_cast<std::int32_t>(i);
    if (static_cast<std::int32_t>(i) == base && known.origin == origin) return base;  // a second time changes nothing
  }
  ir::GraphDef made = program_.graphs[static_cast<std::size_t>(base)];
  made.name += origin == ir::GraphOrigin::kAddRemainingSelfLoops ? "+self_loops" : "+new_self_loops";
  made.origin = origin;
  made.base = base;
  made.num_edges = ir::kUnknown;
  program_.graphs.push_back(std::move(made));
  return static_cast<std::int32_t>(program_.graphs.size()) - 1;
}

/// dot(z, a)[.., h] = sum over d of z[.., h, d] * a[h, d].
Tensor Emitter::dot(Tensor a, Tensor b, const Span& span) {
  check_domains(a, b, "dot", span);
  if (a.domain == ir::Domain::kGlobal) std::swap(a, b);
  require_rows(a, "dot", span);
  if (a.size() != b.size()) {
    fail(Code::E0403, span,
         fmt::format("dot of {} and {}: {} and {} columns", describe(a), describe(b), a.size(), b.size()));
  }
  const std::vector<std::int64_t>& grouped = b.dims.size() > 1 ? b.dims : a.dims;
  const std::int64_t heads = grouped.size() > 1 ? grouped.front() : 1;
  const Tensor both = elementwise(ir::OpKind::mul, std::move(a), std::move(b), span);
  Tensor result = like(both, emit(ir::OpKind::sum_groups, {both.id}, {{"groups", heads}}));
  result.dims = {heads};
  return result;
}

Tensor Emitter::concat(const std::vector<Tensor>& parts, const Span& span) {
  std::vector<ir::ValueId> inputs;
  std::int64_t width = 0;
  for (const Tensor& part : parts) {
    check_domains(parts.front(), part, "concat", span);
    inputs.push_back(require_rows(part, "concat", span).id);
    width += part.size();
  }
  if (inputs.empty()) fail(Code::E0401, span, "concat of nothing");
  if (width > kMaxSize) fail(Code::E0410, span, fmt::format("concat: {} columns are more than {}", width, kMaxSize));
  set_location(span);
  while (inputs.size() > 1) {
    std::vector<ir::ValueId> joined;
    for (std::size_t at = 0; at < inputs.size(); at += kConcatFan) {
      const auto from = inputs.begin() + static_cast<std::ptrdiff_t>(at);
      const auto to = inputs.begin() + static_cast<std::ptrdiff_t>(std::min(at + kConcatFan, inputs.size()));
      joined.push_back(to - from == 1 ? *from : emit(ir::OpKind::concat, {from, to}));
    }
    inputs = std::move(joined);
  }
  Tensor result = like(parts.front(), inputs.front());
  result.dims = {width};
  return result;
}

Tensor Emitter::as_heads(const Tensor& x, std::int64_t heads, const Span& span) {
  Tensor view = require_rows(x, "heads", span);
  if (heads <= 0 || x.size() % heads != 0) {
    fail(Code::E0403, span, fmt::format("{} columns cannot be seen as {} heads", x.size(), heads));
  }
  view.dims = {heads, x.size() / heads};
  return view;
}

Tensor Emitter::sum_heads(const Tensor& x, std::int64_t heads, const Span& span) {
  Tensor view = as_heads(x, heads, span);
  const std::int64_t channels = view.dims[1];
  if (heads != 1) {
    set_location(span);
    view.id = emit(ir::OpKind::sum_heads, {view.id}, {{"heads", heads}});
  }
  view.dims = {channels};
  return view;
}

Tensor Emitter::batch_norm(const Tensor& x, const std::vector<Tensor>& params, double eps, double momentum,
                           const Span& span) {
  const Tensor input = require_rows(x, "batch_norm", span);
  std::vector<ir::ValueId> inputs = {input.id};
  for (const Tensor& param : params) inputs.push_back(param.id);
  set_location(span);
  return like(input, emit(ir::OpKind::batch_norm, std::move(inputs), {{"eps", eps}, {"momentum", momentum}}));
}

Tensor Emitter::layer_norm(const Tensor& x, const std::vector<Tensor>& params, const std::string& mode, double eps,
                           const Span& span) {
  const Tensor input = require_rows(x, "layer_norm", span);
  std::vector<ir::ValueId> inputs = {input.id};
  for (const Tensor& param : params) inputs.push_back(param.id);
  set_location(span);
  return like(input, emit(ir::OpKind::layer_norm, std::move(inputs), {{"eps", eps}, {"mode", mode}}));
}

}  // namespace gneiss::language
