// Runs a model at compile time: numbers and texts are computed, loops unroll, layers are called, and every operation on
// tensors appends to the program. What remains is straight-line ir::Program.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "language/ast.h"
#include "language/compile.h"
#include "language/emitter.h"
#include "language/value.h"
#include "language/vertex_loops.h"

namespace gneiss::language {

/// The layers that can be called by name: the built-in ones, shadowed by those of the user's file.
using Layers = std::map<std::string, const Definition*, std::less<>>;

/// One argument of a call, already a value.
struct GivenArgument {
  std::string name;  ///< empty: positional
  Span name_span;
  Value value;
  Span span;
};

/// One running layer, model or script.
struct Frame {
  const Definition* definition = nullptr;
  std::map<std::string, Value, std::less<>> variables;
  std::optional<VertexLoop> loop;                            ///< the loop over vertices that is being compiled
  std::map<std::string, const Stmt*, std::less<>> declared;  ///< properties, by their declarations
  std::string prefix;                                        ///< of parameter keys
  std::map<std::string, int> names;                          ///< how often an instance name was made
  Span call_span;
  Value result;
  bool returned = false;
  bool after_mistake = false;  ///< names may be missing because something before them failed
};

class Evaluator {
 public:
  Evaluator(const Layers& layers, const ProgramInputs& inputs, ir::Program* program, Diagnostics* diagnostics);
  virtual ~Evaluator() = default;

  /// Runs a model with the given arguments; its outputs are "logits" and "embedding".
  void run_model(const Definition& model, std::vector<GivenArgument> arguments);

  /// Defaults of the parameters, later ones seeing earlier ones; Poison where there is none.
  std::vector<Value> evaluate_defaults(const Definition& definition);

  Emitter& emitter() { return emitter_; }
  Frame& frame() { return *frames_.back(); }
  Value evaluate(const Expr& expr);
  Value call_layer(const Definition& layer, std::vector<GivenArgument> arguments, const std::string* key,
                   const Span& span);
  /// A parameter made by a built-in such as linear: `shape` as in Emitter::param.
  Tensor make_param(const std::string& key, const std::vector<std::vector<std::int64_t>>& shape, ir::Init init,
                    bool transposed, bool trainable, const Span& span);
  /// The key of an instance: what the author gave after `as`, or the name, numbered when it repeats.
  std::string instance_prefix(const std::string* key, const std::string& name);
  Tensor features();
  std::int32_t current_graph();
  /// Makes `value` the model's logits.
  void finish(const Value& value, const Span& span);
  const Layers& layers() const { return layers_; }
  const ProgramInputs& inputs() const { return inputs_; }

  // What VertexLoops asks for besides.
  void execute(const std::vector<StmtPtr>& statements);
  Value binary(const std::string& op, const Value& left, const Value& right, const Expr& expr);
  void check_name(const std::string& name, const Span& span);
  void assign_name(const std::string& name, Value value, const Span& span);
  void refuse_foreign_call(const Expr& expr);
  std::string method_help(const Expr& callee);
  std::vector<std::string> names_in_scope();
  /// Counts what is evaluated. Errors: E0501 where it is too much.
  void count_step(const Span& span);

 protected:
  /// Runs the body of a loop while `more`, then `step`.
  virtual void iterate(const Stmt& loop, const std::function<bool()>& more, const std::function<void()>& step);
  /// A call of a method: in layers the graph's, in scripts the network's too.
  virtual Value call_method(const Expr& call);
  void refuse_habit_call(const Expr& expr);
  [[noreturn]] void fail_callee(const Expr& callee);

  void execute(const Stmt& stmt);
  void push_frame(const Definition& definition, std::string prefix, const Span& call_span);
  void pop_frame();
  std::int64_t evaluate_int(const Expr& expr, std::string_view what);
  bool evaluate_bool(const Expr& expr, std::string_view what);
  std::string evaluate_text(const Expr& expr, std::string_view what);
  void bind(const Definition& definition, std::vector<GivenArgument> arguments, const Span& span);

 private:
  class Nesting {
   public:
    Nesting(Evaluator* evaluator, const Span& span);
    ~Nesting() { --evaluator_->nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Evaluator* evaluator_;
  };

  // Statements.
  void execute_inside(const Stmt& stmt);
  void assign(const Stmt& stmt);
  void declare(const Stmt& stmt);
  void declare_param(const Stmt& stmt);
  ir::Init evaluate_init(const ParamDecl& param, const std::vector<std::int64_t>& shape);
  std::vector<std::int64_t> stored_shape(const ParamDecl& param, const std::vector<std::int64_t>& shape);
  void branch(const Stmt& stmt);
  void for_range(const Stmt& stmt);
  void for_c(const Stmt& stmt);
  void return_value(const Stmt& stmt);
  void check_declared(const Stmt& stmt, Value* value);
  void output(const Stmt& stmt);
  void require(const Stmt& stmt);
  void misplaced(const Stmt& stmt, std::string_view what, std::string help);

  // Expressions.
  Value evaluate_inside(const Expr& expr);
  Value evaluate_name(const Expr& expr);
  Value evaluate_string(const Expr& expr);
  Value evaluate_unary(const Expr& expr);
  Value evaluate_binary(const Expr& expr);
  Value evaluate_product(const Expr& expr);
  Value evaluate_at(const Expr& expr);
  Value evaluate_over(const Expr& expr);
  Value evaluate_call(const Expr& expr, const Expr* key);
  Value evaluate_index(const Expr& expr);
  Value integers(const std::string& op, std::int64_t a, std::int64_t b, const Expr& expr);
  Value numbers(const std::string& op, double a, double b, const Expr& expr);
  Value joined(const List& list, const Value& more, const Expr& expr);
  Value tensor_and_number(const std::string& op, const Value& left, const Value& right, const Expr& expr);
  std::vector<GivenArgument> evaluate_arguments(const Expr& call);

  // Calls.
  std::vector<const GivenArgument*> match(const Definition& definition, const std::vector<GivenArgument>& arguments,
                                          const Span& span);
  void bind_parameter(const Parameter& parameter, const Value& value, const Span& span);
  Value convert(const Parameter& parameter, const Value& value, const Span& span);
  void bind_shape(const Parameter& parameter, Tensor* tensor, const Span& span);
  void check_result(const Definition& definition);
  std::vector<std::int64_t> dimension_factors(const Expr& expr);
  bool is_convolution(const Definition& layer);
  const Definition* find_layer(std::string_view name, const Definition& caller) const;
  void collect_factors(const Expr& expr, std::vector<const Expr*>* factors);

  const Layers& layers_;
  const ProgramInputs& inputs_;
  Emitter emitter_;
  VertexLoops loops_{this};
  std::vector<std::unique_ptr<Frame>> frames_;
  std::map<const Definition*, bool> convolutions_;
  std::map<std::string, std::vector<Span>> keys_;  ///< parameter keys in use, and where they were taken: a trace
  Tensor features_;
  Tensor layer_input_;  ///< what entered the last layer that the model called: the default embedding
  std::int64_t steps_ = 0;
  int nesting_ = 0;
  std::int32_t layer_calls_ = 0;
};

}  // namespace gneiss::language
