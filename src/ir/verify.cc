// Walks the ops once: operands are made before they are read, kinds have their operands, types are what the rules say,
// and phases come in order.
#include "ir/verify.h"

#include <set>

#include "base/error.h"

namespace gneiss::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(program), made_(program.values.size(), false) {}

  std::vector<std::string> run() {
    check_spaces();
    for (const Op& op : program_.ops) check_op(op);
    check_names();
    for (const Output& out : program_.outputs) check_bound(out.value, "output " + out.name);
    for (const Param& param : program_.params) {
      check_bound(param.value, "parameter " + param.name);
      if (param.grad != kNoValue) check_bound(param.grad, "gradient of " + param.name);
    }
    return std::move(defects_);
  }

 private:
  template <class... Args>
  void defect(fmt::format_string<Args...> format, Args&&... args) {
    defects_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  bool in_range(ValueId v) const { return v >= 0 && v < static_cast<ValueId>(program_.values.size()); }

  void check_spaces() {
    const auto sets = static_cast<std::int32_t>(program_.node_sets.size());
    for (std::size_t g = 0; g < program_.graphs.size(); ++g) {
      const GraphDef& graph = program_.graphs[g];
      if (graph.src_set < 0 || graph.src_set >= sets || graph.dst_set < 0 || graph.dst_set >= sets) {
        defect("graph {} names a node set that does not exist", g);
      }
      const bool derived = graph.origin != GraphOrigin::kGiven;
      if (derived != (graph.base >= 0) || graph.base >= static_cast<std::int32_t>(g)) {
        defect("graph {} is derived from graph {}", g, graph.base);
      }
    }
    for (const Value& value : program_.values) {
      const auto limit = value.type.domain == Domain::kNode   ? sets
                         : value.type.domain == Domain::kEdge ? static_cast<std::int32_t>(program_.graphs.size())
                                                              : 1;
      if (value.type.set < 0 || value.type.set >= limit) defect("%{} lives on a set that does not exist", value.name);
      if (value.type.cols < 0 || value.type.rows < 0) defect("%{} has a negative size", value.name);
    }
  }

  void check_op(const Op& op) {
    const std::string_view name = traits(op.kind).name;
    std::vector<Type> types;
    for (const ValueId input : op.inputs) {
      if (!in_range(input) || !made_[static_cast<std::size_t>(input)]) {
        defect("{} uses value {} before it is made", name, input);
        return;
      }
      types.push_back(program_.type(input));
    }
    for (const ValueId result : op.results) {
      if (result == kNoValue) continue;
      if (!in_range(result) || made_[static_cast<std::size_t>(result)]) {
        defect("{} makes value {}, which is made already or does not exist", name, result);
        return;
      }
      made_[static_cast<std::size_t>(result)] = true;
    }
    check_results(op, types);
  }

  void check_results(const Op& op, const std::vector<Type>& types) {
    const OpTraits& op_traits = traits(op.kind);
    if (op_traits.most_inputs == 0 && op.kind != OpKind::edge_weight && op.kind != OpKind::degree) {
      if (op.results.size() != 1) defect("{} makes {} values", op_traits.name, op.results.size());
      return;
    }
    std::vector<Type> expected;
    const std::string problem = infer_types(program_, op.kind, types, op.attrs, &expected);
    if (!problem.empty()) {
      defects_.push_back(problem);
      return;
    }
    if (op.results.size() != expected.size()) {
      defect("{} makes {} values, expected {}", op_traits.name, op.results.size(), expected.size());
      return;
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (op.results[i] != kNoValue && program_.type(op.results[i]) != expected[i]) {
        defect("result {} of {} (%{}) has another type than its rule says", i, op_traits.name,
               program_.value_name(op.results[i]));
      }
    }
  }

  void check_names() {
    std::set<std::string> names;
    for (const Value& value : program_.values) {
      if (!names.insert(value.name).second) defect("two values are called %{}", value.name);
    }
    std::set<std::string> keys;
    for (const Param& param : program_.params) {
      if (!keys.insert(param.name).second) defect("two parameters are called '{}'", param.name);
    }
  }

  void check_bound(ValueId value, const std::string& what) {
    if (!in_range(value) || !made_[static_cast<std::size_t>(value)])
      defect("{} is value {}, which no op makes", what, value);
  }

  const Program& program_;
  std::vector<bool> made_;
  std::vector<std::string> defects_;
};

}  // namespace

std::vector<std::string> find_defects(const Program& program) { return Verifier(program).run(); }

void verify(const Program& program, std::string_view after) {
  const std::vector<std::string> defects = find_defects(program);
  GNEISS_ASSERT(defects.empty(), "after {} the program '{}' is not well-formed: {}", after, program.name,
                defects.front());
}

}  // namespace gneiss::ir
