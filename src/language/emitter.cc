// Elementwise operations, products, leaves and the two forms of a parameter.
//
// A parameter of shape [A, B] is a matrix in `x * W` and a vector of A groups of B in `dot(z, a)` and elementwise
// operations. The IR keeps the two apart (rows x cols), so a parameter takes its form at its first use.
#include "language/emitter.h"

#include <fmt/format.h>

#include <algorithm>

namespace gneiss::language {
namespace {

/// Ops of the largest program that is compiled: far beyond any model, small enough to compile in a moment.
constexpr std::size_t kMaxOps = 50000;

bool leads(std::int64_t width, const std::vector<std::int64_t>& dims) {
  std::int64_t prefix = 1;
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) {
    prefix *= dims[i];
    if (prefix == width) return true;
  }
  return false;
}

std::string_view operator_text(ir::OpKind kind) {
  switch (kind) {
    case ir::OpKind::add:
      return "+";
    case ir::OpKind::sub:
      return "-";
    case ir::OpKind::mul:
      return "*";
    case ir::OpKind::div:
      return "/";
    default:
      return ir::traits(kind).name;
  }
}

}  // namespace

void Emitter::fail(Code code, const Span& span, std::string message, std::string help, std::vector<Note> notes) {
  Diagnostic& made = diagnostics_.error(code, span, std::move(message));
  made.help = std::move(help);
  made.notes = std::move(notes);
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
    if (call->span.source == hidden_ || call->span == span) continue;
    made.notes.push_back({fmt::format("in this call of '{}'", call->layer), locate(call->span)});
    if (made.notes.size() >= 4) break;
  }
  if (diagnostics_.full()) throw CompilationAbort{};
  throw EvaluationAbort{};
}

std::vector<Span> Emitter::trace(const Span& span) const {
  std::vector<Span> spans = {span};
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) spans.push_back(call->span);
  return spans;
}

void Emitter::set_location(const Span& span) {
  last_span_ = span;
  const auto [entry, fresh] = locations_.try_emplace({span.source, span.begin});
  if (fresh) entry->second = location_of(span);
  ir::Location location = entry->second;
  if (!calls_.empty()) location.call = calls_.back().number;
  builder_.set_location(location);
}

void Emitter::enter_call(const Span& span, std::string_view layer, const std::string& prefix) {
  calls_.push_back({span, std::string(layer), static_cast<std::int32_t>(call_prefixes_.size())});
  call_prefixes_.push_back(prefix);
}

ir::Location Emitter::location_of(const Span& span) {
  if (span.source == nullptr) return {};
  auto source = std::find(sources_.begin(), sources_.end(), span.source);
  if (source == sources_.end()) source = sources_.insert(sources_.end(), span.source);
  const LineColumn place = line_column(span);
  return {place.line, place.column, static_cast<std::int32_t>(source - sources_.begin()), 0};
}

ir::ValueId Emitter::emit(ir::OpKind kind, std::vector<ir::ValueId> inputs, ir::Attrs attrs) {
  if (program_.ops.size() >= kMaxOps) {
    diagnostics_.error(Code::E0501, last_span_, fmt::format("the model unrolls to more than {} operations", kMaxOps));
    throw CompilationAbort{};
  }
  const std::string fn = attrs.text("fn", "sum");
  if (kind == ir::OpKind::segment_reduce && (fn == "max" || fn == "min")) {
    return builder_.add(kind, std::move(inputs), std::move(attrs), false);
  }
  return builder_.add_all(kind, std::move(inputs), std::move(attrs))[0];
}

Tensor Emitter::dense(Tensor x) {
  if (program_.type(x.id).layout == ir::Layout::kSparse) x.id = emit(ir::OpKind::to_dense, {x.id});
  return x;
}

Emitter::Form Emitter::form_of(const Tensor& x) const {
  if (x.domain != ir::Domain::kGlobal) return Form::kMatrix;
  if (x.param >= 0) return forms_[static_cast<std::size_t>(x.param)].form;
  return program_.type(x.id).rows > 1 ? Form::kMatrix : Form::kVector;
}

void Emitter::fail_form(const Tensor& x, const Span& span) {
  std::vector<Note> notes;
  if (x.param >= 0) notes.push_back({"declared here", locate(forms_[static_cast<std::size_t>(x.param)].declared)});
  fail(Code::E0421, span,
       fmt::format("{} is a matrix of a product elsewhere and cannot be a vector here, or the reverse", describe(x)),
       "use two parameters, or dot(z, a) in both places", std::move(notes));
}

Tensor Emitter::as_vector(Tensor x, const Span& span) {
  if (x.domain != ir::Domain::kGlobal) return x;
  const Form form = form_of(x);
  if (form == Form::kMatrix) fail_form(x, span);
  if (form == Form::kUndecided) {
    forms_[static_cast<std::size_t>(x.param)].form = Form::kVector;
    ir::Param& param = program_.params[static_cast<std::size_t>(x.param)];
    param.cols = param.rows * param.cols;
    param.rows = 1;
    program_.values[static_cast<std::size_t>(x.id)].type = ir::global_type(1, param.cols);
  }
  return x;
}

Tensor Emitter::as_matrix(Tensor x, const Span& span) {
  if (form_of(x) == Form::kVector) fail_form(x, span);
  if (x.param >= 0) forms_[static_cast<std::size_t>(x.param)].form = Form::kMatrix;
  return x;
}

void Emitter::check_domains(const Tensor& a, const Tensor& b, std::string_view op, const Span& span) {
  if (a.domain == ir::Domain::kGlobal || b.domain == ir::Domain::kGlobal) return;
  if (a.domain != b.domain) {
    fail(Code::E0402, span, fmt::format("'{}' of {} and {}", op, describe(a), describe(b)),
         "bring the node value to the edges with @src or @dst, or the edge value to the nodes with 'sum(…) over "
         "in_edges'");
  }
  if (a.domain == ir::Domain::kEdge && a.set != b.set) {
    fail(Code::E0409, span,
         fmt::format("'{}' of edge values of two graphs ('{}' and '{}')", op,
                     program_.graphs[static_cast<std::size_t>(a.set)].name,
                     program_.graphs[static_cast<std::size_t>(b.set)].name),
         "assign to 'graph' before the first edge value is made");
  }
}

/// Dimensions of the result: equal widths, one column, or one value for each leading group of the wider operand.
std::vector<std::int64_t> Emitter::broadcast(const Tensor& a, const Tensor& b, std::string_view op, const Span& span) {
  const std::int64_t left = a.size();
  const std::int64_t right = b.size();
  if (left == right) {
    const bool fits = a.dims == b.dims || a.dims.size() == 1 || b.dims.size() == 1 || a.domain == ir::Domain::kGlobal ||
                      b.domain == ir::Domain::kGlobal;
    if (fits) {
      if (a.domain == ir::Domain::kGlobal && b.domain != ir::Domain::kGlobal)
        return b.dims.size() > 1 ? b.dims : a.dims;
      return a.dims.size() >= b.dims.size() ? a.dims : b.dims;
    }
  }
  const Tensor& wide = left > right ? a : b;
  const Tensor& narrow = left > right ? b : a;
  if (left != right && (narrow.size() == 1 || leads(narrow.size(), wide.dims))) return wide.dims;
  std::string help = "widths must be equal, or one of them 1, or the first of the dimensions of the other";
  if (left != right && wide.size() % narrow.size() == 0 && wide.dims.size() == 1 &&
      wide.domain != ir::Domain::kGlobal) {
    help = fmt::format("if the wide one has {0} heads of {1}, say so: heads(x, {0})", narrow.size(),
                       wide.size() / narrow.size());
  }
  fail(Code::E0403, span,
       fmt::format("'{}' of {} and {}: {} and {} columns do not fit together", op, describe(a), describe(b), left,
                   right),
       std::move(help));
}

Tensor Emitter::elementwise(ir::OpKind kind, Tensor a, Tensor b, const Span& span) {
  check_domains(a, b, operator_text(kind), span);
  const bool both_global = a.domain == ir::Domain::kGlobal && b.domain == ir::Domain::kGlobal;
  if (both_global && a.dims == b.dims && (form_of(a) == Form::kMatrix || form_of(b) == Form::kMatrix)) {
    a = as_matrix(std::move(a), span);
    b = as_matrix(std::move(b), span);
  } else {
    a = as_vector(std::move(a), span);
    b = as_vector(std::move(b), span);
  }
  Tensor result = a.domain == ir::Domain::kGlobal ? b : a;
  result.dims = broadcast(a, b, operator_text(kind), span);
  result.param = -1;
  set_location(span);
  result.id = emit(kind, {a.id, b.id});
  return result;
}

/// Columns of the left operand of a matrix product.
std::int64_t Emitter::inner_size(const Tensor& a) { return a.domain == ir::Domain::kGlobal ? a.dims.back() : a.size(); }

bool Emitter::is_matrix_product(const Tensor& a, const Tensor& b) const {
  if (b.domain != ir::Domain::kGlobal || b.dims.size() != 2 || form_of(b) == Form::kVector) return false;
  if (form_of(b) == Form::kMatrix || b.dims[0] == inner_size(a)) return true;
  // The sizes do not fit a product; the operands may still fit elementwise, e.g. node[H*D] * param[H, D].
  return b.size() != a.size() && !leads(b.size(), a.dims);
}

Tensor Emitter::multiply(Tensor a, Tensor b, const Span& span) {
  const bool matrix_left = a.domain == ir::Domain::kGlobal && a.dims.size() == 2 && form_of(a) != Form::kVector;
  if (matrix_left && b.domain != ir::Domain::kGlobal && a.size() != b.size()) {
    fail(Code::E0404, span, fmt::format("'*' of {} and {}: the matrix stands on the right", describe(a), describe(b)),
         "write x * W");
  }
  if (!is_matrix_product(a, b)) return elementwise(ir::OpKind::mul, std::move(a), std::move(b), span);
  const std::int64_t inner = inner_size(a);
  if (inner != b.dims[0]) {
    std::vector<Note> notes;
    if (b.param >= 0)
      notes.push_back({"the matrix is declared here", locate(forms_[static_cast<std::size_t>(b.param)].declared)});
    fail(Code::E0404, span,
         fmt::format("matrix product of {} and {}: {} columns on the left, {} rows on the right", describe(a),
                     describe(b), inner, b.dims[0]),
         b.dims[1] == inner
             ? "declare it the other way round, param W: [F, out]; 'as \"weight\".T' stores it as PyTorch does"
             : "",
         std::move(notes));
  }
  b = as_matrix(std::move(b), span);
  if (a.domain == ir::Domain::kGlobal && a.dims.size() == 2) a = as_matrix(std::move(a), span);
  set_location(span);
  Tensor result = like(a, emit(ir::OpKind::gemm, {a.id, b.id}));
  const bool global = a.domain == ir::Domain::kGlobal && a.dims.size() == 2;
  result.dims = b.param < 0 ? std::vector<std::int64_t>{b.dims[1]} : forms_[static_cast<std::size_t>(b.param)].columns;
  if (global) result.dims = {a.dims[0], b.dims[1]};
  return result;
}

Tensor Emitter::affine(const Tensor& x, double scale, double shift, const Span& span) {
  if (scale == 1 && shift == 0) return x;
  return unary(ir::OpKind::affine, x, span, {{"scale", scale}, {"shift", shift}});
}

Tensor Emitter::reciprocal(double numerator, const Tensor& x, const Span& span) {
  set_location(span);
  const ir::ValueId one = builder_.leaf(ir::OpKind::constant, ir::global_type(1, 1), {{"value", numerator}});
  return elementwise(ir::OpKind::div, {one, ir::Domain::kGlobal, 0, {1}, -1}, x, span);
}

Tensor Emitter::unary(ir::OpKind kind, const Tensor& x, const Span& span, ir::Attrs attrs) {
  Tensor input = x;
  if (form_of(input) == Form::kUndecided) input = as_matrix(std::move(input), span);
  set_location(span);
  return like(input, emit(kind, {input.id}, std::move(attrs)));
}

Tensor Emitter::extreme(bool maximum, Tensor a, Tensor b, const Span& span) {
  const ir::OpKind kind = maximum ? ir::OpKind::maximum : ir::OpKind::minimum;
  check_domains(a, b, operator_text(kind), span);
  if (a.domain != b.domain || a.size() != b.size()) {
    fail(Code::E0403, span,
         fmt::format("'{}' of {} and {}: the shapes must be equal", maximum ? "max" : "min", describe(a), describe(b)));
  }
  return elementwise(kind, std::move(a), std::move(b), span);
}

/// max(x, c) = relu(x - c) + c and min(x, c) = c - relu(c - x).
Tensor Emitter::extreme(bool maximum, const Tensor& a, double bound, const Span& span) {
  const double sign = maximum ? 1 : -1;
  const Tensor above = unary(ir::OpKind::relu, affine(a, sign, -sign * bound, span), span);
  return affine(above, sign, bound, span);
}

Tensor Emitter::dropout(const Tensor& x, double p, const Span& span) {
  if (!(p >= 0 && p < 1)) fail(Code::E0413, span, fmt::format("dropout: the probability is {}, not in [0, 1)", p));
  const Tensor input = require_rows(x, "dropout", span);
  if (p == 0) return input;
  set_location(span);
  return like(input, emit(ir::OpKind::dropout, {input.id}, {{"p", p}, {"stream", streams_++}}));
}

Tensor Emitter::require_rows(const Tensor& x, std::string_view what, const Span& span) {
  if (x.domain == ir::Domain::kGlobal) {
    fail(Code::E0401, span, fmt::format("{}: expected a node or edge value, got {}", what, describe(x)));
  }
  Tensor plain = x;
  plain.param = -1;
  return plain;
}

Tensor Emitter::features(std::int64_t width, bool sparse) {
  ir::Type type = ir::node_type(0, width);
  if (sparse) type.layout = ir::Layout::kSparse;
  const ir::ValueId id = builder_.leaf(ir::OpKind::input, type, {{"name", std::string("features")}}, "features");
  return {id, ir::Domain::kNode, 0, {width}, -1};
}

Tensor Emitter::param(ir::Param param, const std::vector<std::vector<std::int64_t>>& shape, const Span& declared) {
  std::vector<std::vector<std::int64_t>> sizes = shape;
  while (sizes.size() > 1 && product(sizes.front()) == 1) sizes.erase(sizes.begin());
  const bool matrix = sizes.size() == 2;
  std::vector<std::int64_t> dims;
  for (const auto& factors : sizes) {
    if (matrix) dims.push_back(product(factors));
    if (!matrix) dims.insert(dims.end(), factors.begin(), factors.end());
  }
  param.rows = matrix ? dims[0] : 1;
  param.cols = matrix ? dims[1] : product(dims);
  param.layer = param_layer_;
  set_location(declared);
  const ir::ValueId id = builder_.param(std::move(param));
  forms_.push_back({matrix ? Form::kUndecided : Form::kVector, declared, sizes.back()});
  return {id, ir::Domain::kGlobal, 0, std::move(dims), static_cast<std::int32_t>(forms_.size()) - 1};
}

}  // namespace gneiss::language
