// Tensor operations of the language on a growing ir::Program: checks domains and shapes, reports in the words of the
// language, and appends the ops. Broadcasting and views are described in docs/language.md, "Shapes".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "language/diagnostics.h"
#include "language/value.h"

namespace gneiss::language {

/// Thrown after a mistake was reported, to leave the statement that holds it.
struct EvaluationAbort {};
/// Thrown when going on makes no sense (too many mistakes, too much work).
struct CompilationAbort {};

class Emitter {
 public:
  Emitter(ir::Program* program, Diagnostics* diagnostics)
      : program_(*program), builder_(program), diagnostics_(*diagnostics) {}

  /// Reports and throws EvaluationAbort. Layer calls in progress are added as notes.
  [[noreturn]] void fail(Code code, const Span& span, std::string message, std::string help = {},
                         std::vector<Note> notes = {});
  /// Where the next ops come from.
  void set_location(const Span& span);
  /// The model's own text, number 0 of the sources that locations name; others follow as they are met.
  void begin_source(const Source* source) { sources_ = {source}; }
  const std::vector<const Source*>& sources() const { return sources_; }
  /// Prefixes of the layer calls that locations name.
  const std::vector<std::string>& call_prefixes() const { return call_prefixes_; }
  /// `prefix`: of the keys of its parameters.
  void enter_call(const Span& span, std::string_view layer, const std::string& prefix);
  void leave_call() { calls_.pop_back(); }
  /// `span`, then the calls that led to it, the innermost first.
  std::vector<Span> trace(const Span& span) const;
  /// Calls that stand in this text are no news to the author of another one.
  void hide_calls_in(const Source* source) { hidden_ = source; }

  // Elementwise.
  Tensor elementwise(ir::OpKind kind, Tensor a, Tensor b, const Span& span);
  Tensor multiply(Tensor a, Tensor b,
                  const Span& span);  ///< matrix product where b is a matrix that fits, else elementwise
  bool is_matrix_product(const Tensor& a, const Tensor& b) const;
  Tensor affine(const Tensor& x, double scale, double shift, const Span& span);
  Tensor reciprocal(double numerator, const Tensor& x, const Span& span);
  Tensor unary(ir::OpKind kind, const Tensor& x, const Span& span, ir::Attrs attrs = {});
  Tensor extreme(bool maximum, Tensor a, Tensor b, const Span& span);
  Tensor extreme(bool maximum, const Tensor& a, double bound, const Span& span);
  Tensor dropout(const Tensor& x, double p, const Span& span);

  // Columns.
  Tensor dot(Tensor a, Tensor b, const Span& span);
  Tensor concat(const std::vector<Tensor>& parts, const Span& span);
  Tensor as_heads(const Tensor& x, std::int64_t heads, const Span& span);
  Tensor sum_heads(const Tensor& x, std::int64_t heads, const Span& span);

  // Normalisation; statistics are separate results.
  Tensor batch_norm(const Tensor& x, const std::vector<Tensor>& params, double eps, double momentum, const Span& span);
  Tensor layer_norm(const Tensor& x, const std::vector<Tensor>& params, const std::string& mode, double eps,
                    const Span& span);

  // Between nodes and edges.
  Tensor gather(const Tensor& x, bool source, std::int32_t graph, const Span& span);
  Tensor reduce(const std::string& fn, const Tensor& e, const std::string& edges, const Span& span);
  Tensor edge_softmax(const Tensor& e, const std::string& edges, const Span& span);
  Tensor edge_weight(std::int32_t graph, const Span& span);
  Tensor degree(std::int32_t graph, bool in_edges, const Span& span);
  std::int32_t derive_graph(std::int32_t base, ir::GraphOrigin origin);

  // Leaves.
  Tensor dense(Tensor x);  ///< what leaves the program is dense
  /// Sparse features go into any op as they are; a pass decides where they stay sparse.
  Tensor features(std::int64_t width, bool sparse);
  /// `shape` holds the factors of each dimension: [F, heads * out] is {{F}, {heads, out}}.
  Tensor param(ir::Param param, const std::vector<std::vector<std::int64_t>>& shape, const Span& declared);

  Tensor require_rows(const Tensor& x, std::string_view what, const Span& span);  ///< a node or edge value
  ir::Program& program() { return program_; }
  Diagnostics& diagnostics() { return diagnostics_; }
  void name_last(const std::string& name) { builder_.name_last(name); }
  void set_param_layer(std::int32_t layer) { param_layer_ = layer; }

 private:
  enum class Form : std::uint8_t { kUndecided, kMatrix, kVector };
  struct ParamForm {
    Form form = Form::kUndecided;
    Span declared;
    std::vector<std::int64_t> columns;  ///< of a matrix: the factors of its second dimension
  };
  struct CallNote {
    Span span;
    std::string layer;
    std::int32_t number = 0;  ///< in call_prefixes()
  };

  ir::Location location_of(const Span& span);
  static std::int64_t inner_size(const Tensor& a);
  ir::ValueId emit(ir::OpKind kind, std::vector<ir::ValueId> inputs, ir::Attrs attrs = {});
  Tensor as_vector(Tensor x, const Span& span);
  Tensor as_matrix(Tensor x, const Span& span);
  Form form_of(const Tensor& x) const;
  [[noreturn]] void fail_form(const Tensor& x, const Span& span);
  void check_domains(const Tensor& a, const Tensor& b, std::string_view op, const Span& span);
  std::vector<std::int64_t> broadcast(const Tensor& a, const Tensor& b, std::string_view op, const Span& span);
  Tensor like(const Tensor& x, ir::ValueId id) const { return {id, x.domain, x.set, x.dims, -1}; }

  ir::Program& program_;
  ir::Builder builder_;
  Diagnostics& diagnostics_;
  std::vector<CallNote> calls_;
  const Source* hidden_ = nullptr;
  Span last_span_;
  std::vector<ParamForm> forms_;                                ///< one for each of program_.params
  std::map<std::pair<int, std::int32_t>, ir::ValueId> leaves_;  ///< edge_weight, degree by graph: made once
  std::map<std::pair<const Source*, std::uint32_t>, ir::Location> locations_;
  std::vector<const Source*> sources_;
  std::vector<std::string> call_prefixes_ = {""};
  std::int64_t streams_ = 0;
  std::int32_t param_layer_ = 0;
};

}  // namespace gneiss::language
