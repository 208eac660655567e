// What things of a plan are called in C++: values by the variables of the model's text, parameters by their keys,
// graphs and sizes by what they are.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/plan.h"
#include "synth/specification.h"

namespace gneiss::synth {

class Names {
 public:
  explicit Names(const Specification& specification);

  /// An identifier, unique among values:
  ///   h              the value that the line `h = ...` makes; h_gemm: one on the way to it
  ///   convs_0_h      that of the layer call `... as "convs.0"`
  ///   d_convs_0_h_gemm  made by backward for that line; d_convs_0_bias: the gradient of a parameter
  ///   eval_convs_0_h    the same value of an evaluation
  const std::string& value(ir::ValueId v) const { return values_[static_cast<std::size_t>(v)]; }
  /// `graph` for the one given, else what was done to it: `self_loops`.
  const std::string& graph(std::int32_t g) const { return graphs_[static_cast<std::size_t>(g)]; }
  /// Constants: kNodes, kSelfLoopsEdges.
  std::string node_count(std::int32_t set) const;
  std::string edge_count(std::int32_t graph) const;
  /// How many rows a value has: such a constant, or a number.
  std::string rows(const ir::Type& type) const;
  /// `gat.gneiss:22  z = x * W;`, what a loss is of, or "" for what stands in no text.
  std::string line(const ir::Op& op) const;

 private:
  std::string_view line_text(const ir::Location& location) const;
  /// The variable that a line assigns to, or "".
  std::string assigned(const ir::Location& location) const;
  std::string stem(const ir::Op& op, bool is_last) const;
  void name_params();
  void name_results();
  std::string unique(const std::string& wanted);

  const Specification& from_;
  const ir::Program& program_;
  std::vector<std::string> values_;
  std::vector<std::string> graphs_;
  std::set<std::string> taken_;
};

/// Comments with the lines of the model's text that ops come from, where another one came before.
class LineComments {
 public:
  explicit LineComments(const Names& names) : names_(names) {}

  /// The comment before the code of an op, a line with `indent`, or "".
  std::string before(const ir::Op& op, std::string_view indent);
  /// The next op has its comment, whatever came before.
  void begin_anew() { last_.clear(); }

 private:
  const Names& names_;
  std::string last_;
};

}  // namespace gneiss::synth
