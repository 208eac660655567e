// The intermediate representation: a model as a list of typed operations on matrices.
//
// A Program is plain data in single-assignment form: every value is the result of one op, ops stand in an order in
// which they can run, and a pass takes one Program and returns another. Values are matrices: `rows` follow from the
// domain (one per node of a node set, one per edge of a graph, or a fixed number), `cols` are the product of the
// trailing dimensions, heads first ([heads, channels] -> heads * channels columns).
//
// Room for what comes later: a graph has separate source and destination node sets (blocks of a mini-batch are graphs
// whose sets differ); a program holds any number of graphs; a value carries its space and layout, to which a device can
// be added.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/half.h"
#include "base/matrix_view.h"

namespace gneiss::ir {

using ValueId = std::int32_t;
inline constexpr ValueId kNoValue = -1;
/// A count that is known only when the program is bound to a dataset.
inline constexpr std::int64_t kUnknown = -1;

enum class OpKind : std::uint8_t {
#define GNEISS_OP(name, least, most, results, in_place, rule) name,
#include "ir/ops.def"
#undef GNEISS_OP
};

/// Static facts of an op kind, from ops.def.
struct OpTraits {
  std::string_view name;
  int least_inputs;
  int most_inputs;
  int num_results;
  int in_place;
};
const OpTraits& traits(OpKind kind);
/// All kinds, in the order of ops.def.
const std::vector<OpKind>& all_op_kinds();
/// The kind called `name`; false if there is none.
bool find_op_kind(std::string_view name, OpKind* kind);

enum class Domain : std::uint8_t { kGlobal, kNode, kEdge };
enum class Layout : std::uint8_t { kDense, kSparse };  ///< kSparse: compressed rows, input features only
/// kReal: f32 (f64 on the reference kernels); kIndex: int32 (which edge won a maximum); kBf16, kF16: 16-bit storage of
/// features and of constants made from them, read by few ops (reads_halves) and computed with as kReal.
enum class Scalar : std::uint8_t { kReal, kIndex, kBf16, kF16 };

inline bool is_half(Scalar scalar) { return scalar == Scalar::kBf16 || scalar == Scalar::kF16; }
inline HalfType half_of(Scalar scalar) {
  if (scalar == Scalar::kBf16) return HalfType::kBf16;
  return scalar == Scalar::kF16 ? HalfType::kF16 : HalfType::kNone;
}
inline Scalar scalar_of(HalfType type) {
  if (type == HalfType::kBf16) return Scalar::kBf16;
  return type == HalfType::kF16 ? Scalar::kF16 : Scalar::kReal;
}
/// Bytes of one element where a real takes `real_bytes`.
inline std::int64_t scalar_bytes(Scalar scalar, std::int64_t real_bytes) {
  if (is_half(scalar)) return 2;
  return scalar == Scalar::kIndex ? 4 : real_bytes;
}

struct Type {
  Domain domain = Domain::kGlobal;
  std::int32_t set = 0;   ///< kNode: node set; kEdge: graph; kGlobal: 0
  std::int64_t rows = 1;  ///< kGlobal only; elsewhere 0, the domain decides
  std::int64_t cols = 1;
  Layout layout = Layout::kDense;
  Scalar scalar = Scalar::kReal;

  bool operator==(const Type&) const = default;
};

inline Type global_type(std::int64_t rows, std::int64_t cols) { return {Domain::kGlobal, 0, rows, cols}; }
inline Type node_type(std::int32_t node_set, std::int64_t cols) { return {Domain::kNode, node_set, 0, cols}; }
inline Type edge_type(std::int32_t graph, std::int64_t cols) { return {Domain::kEdge, graph, 0, cols}; }

/// Where in the model's text something comes from; line 0 = nowhere. `source` tells texts apart: 0 is the model's own,
/// others are numbered by the front end (language::CompileResult::sources), and so are layer calls
/// (CompileResult::calls; 0: the model itself).
struct Location {
  std::int32_t line = 0;
  std::int32_t column = 0;
  std::int32_t source = 0;
  std::int32_t call = 0;
  bool operator==(const Location&) const = default;
};

using AttrValue = std::variant<std::int64_t, double, std::string>;
struct Attr {
  std::string name;
  AttrValue value;
  bool operator==(const Attr&) const = default;
};

/// Attributes that ops use:
///   graph       the graph an edge op runs on (gather_*, segment_*, spmm*, sddmm, edge_softmax*, edge_weight, degree)
///   heads       columns are [heads, channels], weights and scores [heads] (spmm, sddmm, attention*, sum/tile_heads)
///   groups      number of column groups (sum_groups, expand_groups; expand_groups also `cols`)
///   fn          sum | mean | max | min (segment_reduce, spmm); a function's name (unary_grad); maximum | minimum, with
///               `side` 0 | 1 (maximum_grad: gradient of the first or second operand)
///   transpose   1: along out-edges, i.e. A^T (spmm, attention_grad); side = dst | src (segment_reduce, degree)
///   scaled      1: the last operand multiplies the rows of the result (spmm: sum, mean)
///   slope       of the leaky ReLU on scores (attention*); alpha: slope or factor (leaky_relu, elu, unary_grad)
///   ta, tb      1: transposed operand (gemm)
///   scale,shift affine: scale * x + shift
///   p, stream   probability and number of the random stream (dropout)
///   eps, momentum, mode = node | graph (batch_norm*, layer_norm*)
///   begin       first column (slice; `cols` how many)
///   value       the number (constant)
///   name        which input or parameter (input, param)
///   label_smoothing (cross_entropy)
///   nodes       val: of the validation nodes, in evaluation, instead of the training nodes (losses)
///   dtype       bf16 | f16: what the result is stored as (to_half; spmm, where the default is a real)
///   loop        number of the loop over edges that the op is a part of (set by fuse_edges; any op)
///   loss        rows | sources: the ends of the edges where the rows of the loss are (set by loss_rows; spmm)
///   loss_edges  how many edges those are (with loss)
///   to          the node set of the result (halo, halo_add and their halves)
///   packed      rows that the rank sends to others and receives from them (halo, halo_add)
///   packed_set  the node set of these rows (halo_start)
///   rows        over how many rows the statistics are; default: those that the rank has (batch_norm_update)
///   by_id       1: winners are named by their ids, and rows list the ends of out-edges (spmm_arg_grad)
///   panel       columns that are copied and summed at a time (set by bind_kernels; spmm)
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<Attr> list);

  bool has(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  void set(std::string_view name, AttrValue value);
  const std::vector<Attr>& list() const { return list_; }  ///< sorted by name
  bool operator==(const Attrs&) const = default;

 private:
  const Attr* find(std::string_view name) const;
  std::vector<Attr> list_;
};

/// When an op runs: once before training (everything it needs is constant), in every training step, or to evaluate.
enum class Phase : std::uint8_t { kSetup, kForward, kBackward, kInference };

/// May result `index` of an op of this kind be kNoValue when nobody uses it?
bool is_optional_result(OpKind kind, std::size_t index);

struct Op {
  OpKind kind = OpKind::input;
  std::vector<ValueId> inputs;
  std::vector<ValueId> results;  ///< an unused optional result is kNoValue (the arg of a sum)
  Attrs attrs;
  Phase phase = Phase::kForward;
  Location location;
};

/// The value whose rows an op works through: what it sums up (sum_rows, a gemm with ta, losses), else its first result.
ValueId row_value(const Op& op);

/// Is it one of the losses, which count the rows of some nodes?
bool is_loss(OpKind kind);
/// Is it the loss that training minimizes, and not that of the validation nodes?
bool is_training_loss(const Op& op);

/// Does the op take part in talk between ranks? Each such op runs on all ranks at once, exactly once where it stands.
bool is_between_ranks(OpKind kind);

/// Does a row of the result need that row of the operands only (and operands without rows), and nothing but the
/// operands?
bool is_row_by_row(const Op& op);

/// Does the op read rows of operand `input` other than the one that it works on?
bool reads_whole(const Op& op, std::size_t input);

/// Does an spmm multiply what it sums up with weights of edges?
bool weighs_edges(const Op& spmm);

struct Program;
/// Does an attention multiply its weights with a gate of edges? Its fourth operand may be the range of scores instead.
bool has_gate(const Program& program, const Op& attention);

struct Value {
  std::string name;  ///< unique, printable
  Type type;
};

/// A set of nodes. A set that changes has other nodes in every step: `size` is then the most there can be.
struct NodeSet {
  std::string name;
  std::int64_t size = kUnknown;
  bool changes = false;
};

/// How a graph of the program is made from the one before it.
/// kIntoLossRows: its edges into the rows that the loss counts, bipartite; kLossRows: an edge from each of these nodes
/// to its row; kReversed, of a rank's part: the whole graph's edges out of its nodes, turned round.
enum class GraphOrigin : std::uint8_t {
  kGiven,
  kAddRemainingSelfLoops,
  kReplaceSelfLoops,
  kIntoLossRows,
  kLossRows,
  kReversed
};

struct GraphDef {
  std::string name;
  GraphOrigin origin = GraphOrigin::kGiven;
  std::int32_t base = -1;  ///< the graph it is derived from
  std::int32_t src_set = 0;
  std::int32_t dst_set = 0;
  std::int64_t num_edges = kUnknown;
  bool weighted = false;      ///< when false every edge weighs 1
  bool symmetric = false;     ///< equal to its transpose, weights included; of a rank's part, the whole graph is
  bool changes = false;       ///< it has other edges in every step: `num_edges` is the most there can be
  PatternSizes part_of = {};  ///< of a rank's part, the in-edges of the whole graph; no rows: it is the whole
};

/// How a parameter gets its first values.
struct Init {
  enum class Kind : std::uint8_t { kZeros, kOnes, kConstant, kUniform, kGlorot, kHe, kNormal };
  Kind kind = Kind::kGlorot;
  double value = 0;          ///< kConstant: the value; kUniform: the bound, U(-value, value); kNormal: the deviation
  std::int64_t fan_in = 0;   ///< kGlorot, kHe
  std::int64_t fan_out = 0;  ///< kGlorot
};

/// A parameter (trained) or a state (running statistics, written by batch_norm_update only).
struct Param {
  std::string name;  ///< unique; the key in model.safetensors (PyG's)
  ValueId value = kNoValue;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<std::int64_t> stored_shape;  ///< shape under which it is saved, e.g. {out, in}
  bool stored_transposed = false;          ///< saved as the transpose of the rows x cols matrix (PyG keeps (out, in))
  bool trainable = true;
  Init init;
  std::int32_t layer = 0;   ///< ordinal of the layer call it belongs to, for per-layer weight decay
  ValueId grad = kNoValue;  ///< set by differentiation
};

struct Output {
  std::string name;  ///< "logits", "embedding", "loss"
  ValueId value = kNoValue;
};

struct Program {
  std::string name;
  std::vector<NodeSet> node_sets;
  std::vector<GraphDef> graphs;
  std::vector<Value> values;
  std::vector<Op> ops;
  std::vector<Param> params;
  std::vector<Output> outputs;

  const Type& type(ValueId v) const { return values[static_cast<std::size_t>(v)].type; }
  const std::string& value_name(ValueId v) const { return values[static_cast<std::size_t>(v)].name; }
  ValueId output(std::string_view output_name) const;  ///< kNoValue if there is none
  /// Rows of a value, from its domain; kUnknown if the size is not bound yet.
  std::int64_t rows(const Type& type) const;
  std::int64_t rows(ValueId v) const { return rows(type(v)); }
  std::int64_t elements(ValueId v) const { return rows(v) * type(v).cols; }
};

/// How many nodes each set and how many edges each graph has in one step; at most what the program says.
struct Sizes {
  std::vector<std::int64_t> nodes;  ///< by node set
  std::vector<std::int64_t> edges;  ///< by graph

  /// Rows of a value of this type.
  std::int64_t rows(const Type& type) const;
};
/// The sizes that a program is planned for.
Sizes capacity(const Program& program);
/// Does the value have other rows in every step: rows of a node set that changes, or of a graph's edges?
bool changes(const Program& program, const Type& type);

/// Index of the op that makes each value; -1 for none.
std::vector<std::int32_t> producers(const Program& program);
/// How many ops and outputs (parameters' gradients included) use each value.
std::vector<std::int32_t> use_counts(const Program& program);

/// Appends ops to a program, inferring result types. Throws kInternal if an op does not fit its operands (the language
/// front end checks before it builds; a failure here is a defect).
class Builder {
 public:
  explicit Builder(Program* program) : program_(program) {}

  /// Appends an op and returns its first result. Optional results are made only if `all_results`.
  ValueId add(OpKind kind, std::vector<ValueId> inputs, Attrs attrs = {}, bool all_results = false);
  /// Appends an op and returns all its results.
  std::vector<ValueId> add_all(OpKind kind, std::vector<ValueId> inputs, Attrs attrs = {});
  /// Appends a leaf with the given type.
  ValueId leaf(OpKind kind, const Type& type, Attrs attrs = {}, std::string name = {});
  /// Appends a parameter leaf and its Param entry (its value is filled in).
  ValueId param(Param param);

  void set_phase(Phase phase) { phase_ = phase; }
  void set_location(Location location) { location_ = location; }
  void name_last(std::string name);  ///< names the first result of the last op (made unique)
  Program& program() { return *program_; }

 private:
  ValueId new_value(const Type& type, std::string_view stem);
  Program* program_;
  Phase phase_ = Phase::kForward;
  Location location_;
};

/// May operand `index` of an op be stored in 16 bits? Of gemm the left one, of a sum or mean by spmm without heads the
/// aggregated one; everything else reads the result of to_float.
bool reads_halves(OpKind kind, const Attrs& attrs, std::size_t index);

/// Result types of an op on operands of the given types (ir/shape_rules.cc). Returns "" or what does not fit, in words
/// of the language ("gemm: left has 16 columns, right has 32 rows").
std::string infer_types(const Program& program, OpKind kind, const std::vector<Type>& inputs, const Attrs& attrs,
                        std::vector<Type>* results);

}  // namespace gneiss::ir
