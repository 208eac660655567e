// Compiles StarPlat's loops over vertices, which stand in layers: what the names inside of them mean, what is read
// there and what is written.
//
// The evaluator runs a layer's statements one after the other. Loops, properties and the graph's methods it gives to
// VertexLoops, which asks it for what any layer has: frames, expressions, operations on values. The state of a loop
// that is being compiled lies in the layer's frame.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "language/source.h"
#include "language/value.h"

namespace gneiss::language {

class Emitter;
class Evaluator;
struct Expr;
struct Frame;
struct Stmt;

/// Whose value `name.property` is: a vertex outside of the loop over neighbours; there the neighbour, the vertex that
/// it is a neighbour of, or the edge between them.
enum class Role : std::uint8_t { kVertex, kSource, kTarget, kEdge };

/// What a statement in a loop writes.
struct LoopTarget {
  std::string name;
  bool local = false;    ///< a name of the loop, not a property
  bool of_edge = false;  ///< one value for each edge, not for each vertex
  auto operator<=>(const LoopTarget&) const = default;
};

/// A name that is made inside of a loop and gone at its end: `float m = u.x * e.weight;`
struct LoopLocal {
  Value value;
  bool set = false;      ///< false: declared, and nothing written yet
  bool of_edge = false;  ///< made in the loop over neighbours
  const Stmt* declared = nullptr;
};

/// What one statement of a loop over neighbours does with each of them.
struct Update {
  std::string fn;  ///< sum, max, min
  bool negative = false;
  Span span;
};

/// What a loop over neighbours has brought together for one place; visible when the loop is over.
struct Reduction {
  std::string fn;
  Value value;
  bool starts = true;  ///< nothing but neighbours is in it
};

/// A loop over vertices, and the loop over neighbours inside of it.
struct VertexLoop {
  std::int32_t graph = 0;
  std::string vertex;
  std::string neighbour;  ///< empty outside of the loop over neighbours
  std::string along;      ///< what named the neighbours: neighbors, in_neighbors, nodes_to
  std::set<std::string> edges;
  std::map<std::string, LoopLocal> locals;
  std::set<LoopTarget> reduced;  ///< what the loop over neighbours writes for its vertex
  std::map<LoopTarget, Reduction> reductions;

  bool inner() const { return !neighbour.empty(); }
};

class VertexLoops {
 public:
  explicit VertexLoops(Evaluator* evaluator) : evaluator_(*evaluator) {}

  /// Is a loop over vertices being compiled in this frame?
  bool inside();
  /// Compiles forall (v in g.nodes()) { … }, or in one forall (u in g.neighbors(v)) { … }.
  void run(const Stmt& stmt);
  /// Declarations in a loop, and of properties anywhere in a layer. False for those of compile time.
  bool declare(const Stmt& stmt);
  /// v.y = …, v.y += …, m = … in a loop.
  void assign(const Stmt& stmt);
  /// u.x, v.x, e.weight.
  Value property(const Expr& expr);
  /// A bare name in a loop: one of the loop's own, or a mistake; nothing for the names of the layer.
  std::optional<Value> read(const Expr& expr);
  /// Methods of the graph; a layer has no network.
  Value call_graph_method(const Expr& call);
  /// `if` and `while` decide once, when the layer is compiled: not for single vertices.
  void refuse_condition(const Expr& condition, std::string_view what);
  /// INF is where a reduction starts; nothing is computed with it.
  void check_started(const Value& value, const Expr& expr);

 private:
  Frame& frame();
  Emitter& emitter();

  // What loops run over, and what is read in them (vertex_loops.cc).
  void for_vertices(const Stmt& stmt, std::int32_t graph);
  void for_neighbours(const Stmt& stmt, std::int32_t graph);
  void collect_reduced(const Stmt& stmt);
  std::optional<std::int32_t> graph_named(const Expr& expr);
  std::optional<Role> role_of(const Expr& expr);
  bool joins_loop_variables(const Expr& call);
  Value property_of_all(const Expr& expr);
  Value edge_property(const Expr& expr);
  Value degree_of(const Expr& call, bool in_edges);
  [[noreturn]] void fail_order(const Span& span, const std::string& shown);

  // What is written in them (vertex_writes.cc).
  void declare_property(const Stmt& stmt);
  void attach_properties(const Expr& call);
  std::optional<double> infinity(const Expr& expr);
  LoopTarget target_of(const Stmt& stmt);
  [[noreturn]] void fail_push(const Stmt& stmt);
  std::optional<Value> value_at(const LoopTarget& place);
  void write(const LoopTarget& place, Value value);
  const Expr* operand_of_nothing(const Stmt& stmt, const LoopTarget& place);
  void check_fits(const Value& value, bool of_edge, const Span& span);
  void write_plainly(const Stmt& stmt, const LoopTarget& place);
  void reduce_into(const Stmt& stmt, const LoopTarget& place);
  void reduce_assigned(const Stmt& stmt, const LoopTarget& place);
  std::optional<Value> rest_of_sum(const Expr& expr, const Expr& target);
  void accumulate(const LoopTarget& place, const Update& update, const Value& message, const Expr& expr);
  Value reduce_message(const Update& update, const Value& message, const Expr& expr);
  Value combine(const Update& update, const Value& start, const Tensor& reduced, const Expr& expr);
  Value extreme(bool maximum, const Value& left, const Value& right, const Expr& expr);

  Evaluator& evaluator_;
};

}  // namespace gneiss::language
