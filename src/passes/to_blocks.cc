// From the full graph to blocks, in two sweeps over the program.
//
// Backwards: on which level is each value needed? Logits on level 0; what a sum over in-edges takes, one level further
// out. The nodes of a level are the first nodes of the next one, so a value of nodes is made once, on the outermost
// level where anybody needs it, and read as a prefix elsewhere. A value of edges is made for each hop that needs it.
//
// Forwards: every op is made again on its level or hop. What depends on the full graph alone, on no feature and no
// parameter, would be another number on a sampled block: it becomes a column of an input, computed once.
#include "passes/to_blocks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"

namespace gneiss::passes {
namespace {

using ir::Domain;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

class BlockMaker {
 public:
  explicit BlockMaker(const ir::Program& model) : BlockMaker(model, {{}, {model.output("logits")}}) {
    names_ = {"logits"};
  }

  BlockMaker(const ir::Program& model, BlockPart part)
      : from_(model), part_(std::move(part)), of_graph_(decided_by_graph(model)), builder_(&out_.program) {
    for (std::size_t i = 0; i < part_.results.size(); ++i) names_.push_back(fmt::format("result{}", i));
    find_levels();
  }

  std::int32_t hops() const { return hops_; }

  BlockProgram make(const BlockCapacity& capacity, DegreesOf degrees) {
    capacity_ = &capacity;
    GNEISS_ASSERT(std::ssize(capacity.nodes) == hops_ + 1 && std::ssize(capacity.edges) == hops_,
                  "a capacity for {} hops is wanted, not for {}", hops_, capacity.edges.size());
    ir::Program& program = out_.program;
    program.name = from_.name;
    for (std::int32_t level = 0; level <= hops_; ++level) {
      program.node_sets.push_back(
          {"level" + std::to_string(level), capacity.nodes[static_cast<std::size_t>(level)], true});
    }
    if (degrees == DegreesOf::kFullGraph || hops_ == 0) {
      make_constants();
    } else {
      make_of_batch();
    }
    for (const ir::Param& param : from_.params) {
      ir::Param copy = param;
      copy.value = ir::kNoValue;
      made_[{param.value, kEverywhere}] = builder_.param(copy);
    }
    for (const Op& op : from_.ops) make_again(op);
    for (std::size_t i = 0; i < part_.results.size(); ++i)
      program.outputs.push_back({names_[i], at(part_.results[i], 0)});
    return std::move(out_);
  }

 private:
  static constexpr std::int32_t kEverywhere = -1;  ///< the place of values without rows of nodes or edges

  const ir::Type& type(ValueId v) const { return from_.type(v); }
  bool is_node(ValueId v) const { return type(v).domain == Domain::kNode; }
  bool is_edge(ValueId v) const { return type(v).domain == Domain::kEdge; }

  [[noreturn]] void refuse(const Op& op, std::string_view why) const {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{} cannot be computed on sampled neighbourhoods: {}", ir::traits(op.kind).name, why),
                fmt::format("line {} of the model", op.location.line), "train on the full graph, without --batch-size");
  }

  /// A value of nodes that blocks take from the full graph.
  bool is_constant(ValueId v) const { return is_node(v) && (of_graph_[static_cast<std::size_t>(v)] || is_given(v)); }
  bool is_given(ValueId v) const { return std::find(part_.given.begin(), part_.given.end(), v) != part_.given.end(); }

  bool is_input(ValueId v) const {
    return std::any_of(from_.ops.begin(), from_.ops.end(),
                       [&](const Op& op) { return op.kind == OpKind::input && op.results[0] == v; });
  }

  void need(ValueId v, std::int32_t place) {
    if (is_node(v)) {
      std::int32_t& level = levels_[static_cast<std::size_t>(v)];
      level = std::max(level, place);
      hops_ = std::max(hops_, level);
    } else if (is_edge(v)) {
      edges_[v].insert(place);
    } else {
      levels_[static_cast<std::size_t>(v)] = 0;
    }
  }

  bool needed(ValueId v) const {
    if (v == ir::kNoValue) return false;
    return is_edge(v) ? edges_.count(v) > 0 : levels_[static_cast<std::size_t>(v)] >= 0;
  }

  void find_levels() {
    levels_.assign(from_.values.size(), -1);
    for (const ValueId result : part_.results) need(result, 0);
    for (auto op = from_.ops.rbegin(); op != from_.ops.rend(); ++op) {
      if (std::any_of(op->results.begin(), op->results.end(), [&](ValueId r) { return needed(r); })) need_operands(*op);
    }
    // A batch brings one row for each of its nodes.
    for (std::size_t v = 0; v < levels_.size(); ++v) {
      const bool gathered = is_constant(static_cast<ValueId>(v)) || is_input(static_cast<ValueId>(v));
      if (gathered && levels_[v] >= 0) levels_[v] = hops_;
    }
  }

  /// Which rows of its operands an op needs for those of its results that are needed.
  void need_operands(const Op& op) {
    const ValueId result = op.results[0];
    if (is_constant(result) || op.inputs.empty()) return;
    for (const ValueId input : op.inputs) {
      if (type(input).domain == Domain::kGlobal) {
        need(input, 0);
      } else if (type(result).domain == Domain::kGlobal) {
        refuse(op, "it sums over all nodes or edges");
      } else if (is_edge(result)) {
        for (const std::int32_t hop : edges_.at(result)) {
          if (is_edge(input)) need(input, hop);
          if (is_node(input)) need(input, op.kind == OpKind::gather_src ? hop + 1 : hop);
        }
      } else if (is_edge(input)) {
        if (op.attrs.text("side", "dst") == "src") refuse(op, "it sums over out-edges");
        need(input, levels_[static_cast<std::size_t>(result)]);
      } else {
        need(input, levels_[static_cast<std::size_t>(result)]);
      }
    }
  }

  /// The program of what the full graph alone decides; its values become columns of one input.
  void make_constants() {
    std::vector<ValueId>& columns = out_.columns;
    std::vector<ValueId> computed;
    for (std::size_t i = 0; i < from_.values.size(); ++i) {
      const auto v = static_cast<ValueId>(i);
      if (!is_constant(v) || levels_[i] < 0) continue;
      columns.push_back(v);
      out_.constant_columns += type(v).cols;
      if (!is_given(v)) computed.push_back(v);
    }
    if (columns.empty()) return;
    if (!computed.empty()) {
      out_.constants = from_;
      ir::Builder all(&out_.constants);
      out_.constants.outputs = {{"logits", computed.size() == 1 ? computed[0] : all.add(OpKind::concat, computed)}};
    }
    const ValueId input = builder_.leaf(OpKind::input, ir::node_type(hops_, out_.constant_columns),
                                        {{"name", std::string("constants")}}, "constants");
    std::int64_t begin = 0;
    for (const ValueId value : columns) {
      const std::int64_t cols = type(value).cols;
      const ValueId part =
          columns.size() == 1 ? input : builder_.add(OpKind::slice, {input}, {{"begin", begin}, {"cols", cols}});
      made_[{value, hops_}] = part;
      begin += cols;
    }
  }

  /// What the graph alone decides, of the batch's own edges and on the level of all of its nodes.
  void make_of_batch() {
    std::set<ValueId> wanted;
    for (std::size_t v = 0; v < from_.values.size(); ++v) {
      if (is_constant(static_cast<ValueId>(v)) && levels_[v] >= 0) wanted.insert(static_cast<ValueId>(v));
    }
    for (auto op = from_.ops.rbegin(); op != from_.ops.rend(); ++op) {
      if (std::any_of(op->results.begin(), op->results.end(), [&](ValueId r) { return wanted.count(r) > 0; }))
        wanted.insert(op->inputs.begin(), op->inputs.end());
    }
    for (const Op& op : from_.ops) {
      if (op.results.empty() || wanted.count(op.results[0]) == 0) continue;
      builder_.set_location(op.location);
      ir::Attrs attrs = op.attrs;
      if (attrs.has("graph"))
        attrs.set("graph", std::int64_t{inner_of(static_cast<std::int32_t>(op.attrs.integer("graph", 0)))});
      ir::Type leaf = type(op.results[0]);
      if (leaf.domain == Domain::kNode) leaf.set = hops_;
      if (leaf.domain == Domain::kEdge) leaf.set = inner_of(leaf.set);
      std::vector<ValueId> inputs;
      for (const ValueId input : op.inputs) inputs.push_back(of_batch_.at(input));
      const ValueId made = op.inputs.empty() && op.kind != OpKind::edge_weight ? builder_.leaf(op.kind, leaf, attrs)
                                                                               : builder_.add(op.kind, inputs, attrs);
      of_batch_[op.results[0]] = made;
      if (is_node(op.results[0])) made_[{op.results[0], hops_}] = made;
    }
  }

  void make_again(const Op& op) {
    if (op.kind == OpKind::param || op.results.empty()) return;
    const ValueId result = op.results[0];
    if (is_constant(result)) return;
    builder_.set_location(op.location);
    if (is_edge(result)) {
      const auto found = edges_.find(result);
      if (found == edges_.end()) return;
      for (const std::int32_t hop : found->second) make_at(op, hop);
    } else if (std::any_of(op.results.begin(), op.results.end(), [&](ValueId r) { return needed(r); })) {
      make_at(op, is_node(result) ? std::max(0, levels_[static_cast<std::size_t>(result)]) : kEverywhere);
    }
  }

  void make_at(const Op& op, std::int32_t place) {
    ir::Attrs attrs = op.attrs;
    if (attrs.has("graph")) attrs.set("graph", std::int64_t{graph_at(op, place)});
    std::vector<ValueId> results;
    if (op.inputs.empty() && op.kind != OpKind::edge_weight) {
      ir::Type leaf = type(op.results[0]);
      leaf.layout = ir::Layout::kDense;  // batches gather dense rows
      if (leaf.domain == Domain::kNode) leaf.set = place;
      if (leaf.domain == Domain::kEdge) leaf.set = graph_of(place, leaf.set);
      results = {builder_.leaf(op.kind, leaf, attrs)};
    } else {
      std::vector<ValueId> inputs;
      for (const ValueId input : op.inputs) inputs.push_back(operand(op, input, place));
      const bool first_only =
          std::all_of(op.results.begin() + 1, op.results.end(), [](ValueId r) { return r == ir::kNoValue; });
      results = first_only ? std::vector<ValueId>{builder_.add(op.kind, inputs, attrs)}
                           : builder_.add_all(op.kind, inputs, attrs);
    }
    for (std::size_t i = 0; i < op.results.size(); ++i) {
      if (op.results[i] == ir::kNoValue) continue;
      const bool global = type(op.results[i]).domain == Domain::kGlobal;
      made_[{op.results[i], global ? kEverywhere : place}] = results[i];
    }
  }

  ValueId operand(const Op& op, ValueId input, std::int32_t place) {
    if (type(input).domain == Domain::kGlobal) return made_.at({input, kEverywhere});
    if (is_edge(input)) return made_.at({input, place});
    return at(input, op.kind == OpKind::gather_src ? place + 1 : place);
  }

  /// The rows of a value of nodes on a level.
  ValueId at(ValueId v, std::int32_t level) {
    const auto found = made_.find({v, level});
    if (found != made_.end()) return found->second;
    const std::int32_t outer = levels_[static_cast<std::size_t>(v)];
    const ValueId prefix = builder_.add(OpKind::spmm, {made_.at({v, outer})},
                                        {{"fn", std::string("sum")},
                                         {"graph", std::int64_t{prefix_of(outer, level)}},
                                         {"heads", std::int64_t{1}},
                                         {"transpose", std::int64_t{0}}});
    made_[{v, level}] = prefix;
    return prefix;
  }

  std::int32_t graph_at(const Op& op, std::int32_t place) {
    return graph_of(place, static_cast<std::int32_t>(op.attrs.integer("graph", 0)));
  }

  std::int32_t graph_of(std::int32_t hop, std::int32_t graph) {
    const auto found = hop_graphs_.find({hop, graph});
    if (found != hop_graphs_.end()) return found->second;
    const ir::GraphDef& full = from_.graphs[static_cast<std::size_t>(graph)];
    const auto h = static_cast<std::size_t>(hop);
    const std::int64_t loops = full.origin == ir::GraphOrigin::kGiven ? 0 : capacity_->nodes[h];
    const std::int32_t made = add_graph(fmt::format("hop{}{}", hop, loops > 0 ? "+self_loops" : ""), hop + 1, hop,
                                        capacity_->edges[h] + loops, full.weighted);
    out_.graphs.push_back({BlockGraph::Kind::kHop, hop, graph, 0, 0});
    return hop_graphs_[{hop, graph}] = made;
  }

  std::int32_t inner_of(std::int32_t graph) {
    const auto found = inner_graphs_.find(graph);
    if (found != inner_graphs_.end()) return found->second;
    const ir::GraphDef& full = from_.graphs[static_cast<std::size_t>(graph)];
    const std::int64_t loops =
        full.origin == ir::GraphOrigin::kGiven ? 0 : capacity_->nodes[static_cast<std::size_t>(hops_)];
    const std::int32_t made = add_graph(loops > 0 ? "batch+self_loops" : "batch", hops_, hops_,
                                        capacity_->edges.back() + loops, full.weighted);
    out_.graphs.push_back({BlockGraph::Kind::kInner, hops_ - 1, graph, 0, 0});
    return inner_graphs_[graph] = made;
  }

  std::int32_t prefix_of(std::int32_t from, std::int32_t to) {
    const auto found = prefixes_.find({from, to});
    if (found != prefixes_.end()) return found->second;
    const std::int32_t made = add_graph(fmt::format("level{}_in_level{}", to, from), from, to,
                                        capacity_->nodes[static_cast<std::size_t>(to)], false);
    out_.graphs.push_back({BlockGraph::Kind::kPrefix, 0, 0, from, to});
    return prefixes_[{from, to}] = made;
  }

  std::int32_t add_graph(std::string name, std::int32_t src, std::int32_t dst, std::int64_t edges, bool weighted) {
    ir::GraphDef def;
    def.name = std::move(name);
    def.src_set = src;
    def.dst_set = dst;
    def.num_edges = edges;
    def.weighted = weighted;
    def.changes = true;
    out_.program.graphs.push_back(std::move(def));
    return static_cast<std::int32_t>(out_.program.graphs.size()) - 1;
  }

  const ir::Program& from_;
  BlockPart part_;
  std::vector<std::string> names_;  ///< of the results
  std::vector<bool> of_graph_;      ///< decided_by_graph
  const BlockCapacity* capacity_ = nullptr;
  BlockProgram out_;
  ir::Builder builder_;
  std::vector<std::int32_t> levels_;                 ///< by value of nodes: the outermost level that needs it; or -1
  std::map<ValueId, std::set<std::int32_t>> edges_;  ///< of a value of edges: the hops that need it
  std::int32_t hops_ = 0;
  std::map<std::pair<ValueId, std::int32_t>, ValueId> made_;  ///< (old value, level or hop) -> new value
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> hop_graphs_;  ///< (hop, full graph) -> graph
  std::map<std::int32_t, std::int32_t> inner_graphs_;                         ///< full graph -> graph
  std::map<ValueId, ValueId> of_batch_;                                       ///< made by make_of_batch
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> prefixes_;    ///< (from, to) -> graph
};

}  // namespace

std::vector<bool> decided_by_graph(const ir::Program& model) {
  std::vector<bool> of_graph(model.values.size(), false);
  std::vector<bool> same(model.values.size(), false);  // a number of the model's text decides it
  for (const Op& op : model.ops) {
    const bool leaf = op.inputs.empty();
    const auto all = [&](const std::vector<bool>& a, const std::vector<bool>& b) {
      return std::all_of(op.inputs.begin(), op.inputs.end(),
                         [&](ValueId v) { return a[static_cast<std::size_t>(v)] || b[static_cast<std::size_t>(v)]; });
    };
    const bool is_same = leaf ? op.kind == OpKind::constant : all(same, same) && ir::is_row_by_row(op);
    const bool graph = leaf ? op.kind == OpKind::edge_weight || op.kind == OpKind::degree : all(of_graph, same);
    for (const ValueId r : op.results) {
      if (r == ir::kNoValue) continue;
      same[static_cast<std::size_t>(r)] = is_same;
      of_graph[static_cast<std::size_t>(r)] = graph && !is_same;
    }
  }
  return of_graph;
}

std::int32_t count_hops(const ir::Program& model) { return BlockMaker(model).hops(); }

std::int32_t count_hops(const ir::Program& model, const BlockPart& part) { return BlockMaker(model, part).hops(); }

BlockProgram to_blocks(const ir::Program& model, const BlockCapacity& capacity, DegreesOf degrees) {
  return BlockMaker(model).make(capacity, degrees);
}

BlockProgram to_blocks(const ir::Program& model, const BlockCapacity& capacity, const BlockPart& part) {
  return BlockMaker(model, part).make(capacity, DegreesOf::kFullGraph);
}

}  // namespace gneiss::passes
