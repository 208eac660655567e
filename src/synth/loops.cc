// Writes the walk over rows and edges, then each segment as a loop over columns, sums kept in local arrays. For a
// device a thread does what a task does on the host: nothing is fetched ahead, no sum is taken in another order, and
// what would be a large array of a thread is read where it lies.
#include "synth/loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/error.h"
#include "synth/loop_expressions.h"
#include "synth/loop_segments.h"
#include "synth/text.h"

namespace gneiss::synth {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

constexpr const char* kRow = "    ";     // indent of what is done for a row,
constexpr const char* kEdge = "      ";  // and for an edge

bool is_extreme(const Op& op) {
  const std::string fn = op.attrs.text("fn", "sum");
  return fn == "max" || fn == "min";
}

class LoopWriter {
 public:
  LoopWriter(const ir::Plan& plan, const Names& names, std::size_t index, Space space)
      : plan_(plan),
        program_(plan.program),
        names_(names),
        on_device_(space == Space::kDevice),
        loop_(plan.loops[index]),
        values_(ir::values_of(plan, loop_)),
        lines_(names) {
    name_ = loop_name(plan, names, index);
    for (std::int32_t i = loop_.first_step; i <= loop_.last_step; ++i)
      ops_.push_back(&program_.ops[static_cast<std::size_t>(plan.steps[static_cast<std::size_t>(i)].op)]);
    for (const char* word :
         {"args", "begin", "end", "totals", "v", "u", "k", "j", "h", "c", "slot", "first", "last", "ahead", "edge"})
      taken_.insert(word);
  }

  std::string write() {
    declare_operands();
    const std::vector<LoopSegment> segments = loop_segments(program_, ops_);
    has_row_ = values_between(segments);
    for (const LoopSegment& segment : segments) write_segment(segment);
    return assemble();
  }

  /// What a thread has in arrays, once it is written.
  std::int64_t array_bytes() const { return array_bytes_; }

 private:
  const ir::Type& type(ValueId v) const { return program_.type(v); }
  std::int64_t cols(ValueId v) const { return type(v).cols; }
  bool is_edge(ValueId v) const { return type(v).domain == ir::Domain::kEdge; }
  static bool has(const std::vector<ValueId>& list, ValueId v) {
    return std::find(list.begin(), list.end(), v) != list.end();
  }

  /// A short name for a value of this edge, after the one that it has in the program.
  std::string local(ValueId v) {
    const auto [found, is_new] = locals_.try_emplace(v);
    if (is_new) found->second = unique(names_.value(v));
    return found->second;
  }
  /// The name of a matrix that the loop reads or writes.
  std::string matrix(ValueId v) {
    const auto [found, is_new] = matrices_.try_emplace(v);
    const bool kept_edge = is_edge(v) && has(values_.writes, v);
    if (is_new) found->second = unique(names_.value(v) + (kept_edge ? "_all" : ""));
    return found->second;
  }
  std::string unique(const std::string& wanted) {
    constexpr std::size_t kLongest = 24;
    std::string stem = wanted;
    while (stem.size() > kLongest) {  // whole words at the end
      const std::size_t word = stem.find('_');
      stem = word == std::string::npos ? stem.substr(stem.size() - kLongest) : stem.substr(word + 1);
    }
    const std::size_t letter = stem.find_first_not_of("_0123456789");
    stem = letter == std::string::npos ? "x" : stem.substr(letter);
    std::string name = stem;
    for (int i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
    return name;
  }

  /// The declaration of an array of a thread.
  std::string array(const std::string& name, std::int64_t count, const char* element = "float") {
    constexpr std::int64_t kElementBytes = 4;
    array_bytes_ += count * kElementBytes;
    return fmt::format("{} {}[{}]", element, name, count);
  }

  void line(std::string* text, const std::string& indent, const std::string& code) const {
    if (fits(indent + code)) {
      *text += indent + code + "\n";
      return;
    }
    const std::size_t equals = code.find(" = ");
    *text += indent + code.substr(0, equals + 2) + "\n" + indent + "    " + code.substr(equals + 3) + "\n";
  }

  // Operands: a pointer for each matrix, and for each row that an edge reads.

  void declare_operands() {
    std::int64_t offset = 0;
    for (const ValueId v : values_.totals) {
      declare(v, fmt::format("float* const {} = totals + {};", matrix(v), offset));
      offset += program_.elements(v);
    }
    for (std::size_t i = 0; i < values_.reads.size(); ++i) {
      const bool index = type(values_.reads[i]).scalar == ir::Scalar::kIndex;
      declare(values_.reads[i],
              fmt::format("const {}* const {} = edge::{}(args, {});", index ? "std::int32_t" : "float",
                          matrix(values_.reads[i]), index ? "indices" : "reals", i));
    }
    for (std::size_t i = 0; i < values_.writes.size(); ++i) {
      const bool index = type(values_.writes[i]).scalar == ir::Scalar::kIndex;
      declare(values_.writes[i], fmt::format("{}* const {} = edge::{}(args, {});", index ? "std::int32_t" : "float",
                                             matrix(values_.writes[i]), index ? "written_indices" : "written", i));
    }
    for (const ValueId v : values_.reads) {
      if (is_edge(v)) places_[v] = row_of(&edge_, kEdge, matrix(v) + "_edge", v, slot());
      if (type(v).domain == ir::Domain::kGlobal) places_[v] = matrix(v);
    }
    for (const Op* op : ops_) {
      if (is_place_of_row(op->kind)) place(*op);
    }
  }

  void declare(ValueId v, const std::string& code) {
    declarations_.push_back({code, fmt::format("[{}, {}]", names_.rows(type(v)), cols(v))});
  }

  /// Declares where row `row` of a matrix begins, once, and gives the name of that.
  std::string row_of(std::string* text, const std::string& indent, const std::string& wanted, ValueId v,
                     const std::string& row) {
    const std::string key = fmt::format("{}[{}]", v, row);
    const auto [found, is_new] = rows_.try_emplace(key);
    if (!is_new) return found->second;
    found->second = unique(wanted);
    const bool index = type(v).scalar == ir::Scalar::kIndex;
    if (row == "u" && !on_device_)
      fetch_ += fmt::format("{}edge::fetch<{}>({} + ahead * {});\n", kEdge, cols(v), matrix(v), cols(v));
    line(text, indent,
         fmt::format("const {}* const {} = {} + {} * {};", index ? "std::int32_t" : "float", found->second, matrix(v),
                     row, cols(v)));
    return found->second;
  }

  /// The index of the edge among the in-edges.
  std::string slot() {
    if (!loop_.out_edges) return "k";
    if (!declared_slot_) edge_ += fmt::format("{}const std::int64_t slot = args.slots[k];\n", kEdge);
    declared_slot_ = true;
    return "slot";
  }

  bool walks(bool by_source) const { return by_source == loop_.out_edges; }
  std::string source() { return loop_.out_edges ? "v" : other_end(); }
  std::string destination() { return loop_.out_edges ? other_end() : "v"; }
  std::string other_end() {
    reads_other_end_ = true;
    return "u";
  }

  /// The row of a node value at one end of the edge.
  std::string end_row(ValueId v, bool by_source) {
    const bool of_row = walks(by_source);
    return row_of(of_row ? &row_ : &edge_, of_row ? kRow : kEdge, matrix(v) + (by_source ? "_src" : "_dst"), v,
                  of_row ? "v" : other_end());
  }

  void place(const Op& op) {
    const ValueId result = op.results[0];
    switch (op.kind) {
      case OpKind::gather_src:
      case OpKind::gather_dst:
        places_[result] = end_row(op.inputs[0], op.kind == OpKind::gather_src);
        return;
      case OpKind::constant:
        numbers_[result] = real(static_cast<float>(op.attrs.real("value", 0)));
        return;
      default:
        if (!program_.graphs[static_cast<std::size_t>(type(result).set)].weighted) {
          numbers_[result] = "1.0F";
          return;
        }
        numbers_[result] = unique("weight");
        line(&edge_, kEdge, fmt::format("const float {} = args.weights[{}];", numbers_[result], slot()));
    }
  }

  // Text of operands.

  /// Column `j` of a value, in a loop over the columns of `shape`.
  std::string at(ValueId v, const ColumnShape& shape) {
    const auto number = numbers_.find(v);
    if (number != numbers_.end()) return number->second;
    if (lanes_.count(v) > 0) return local(v);
    const auto place = places_.find(v);
    const std::string base = place != places_.end() ? place->second : local(v);
    if (cols(v) == 1 && place == places_.end()) return base;
    return fmt::format("{}[{}]", base, index(cols(v), shape));
  }

  static std::string index(std::int64_t columns, const ColumnShape& shape) {
    if (columns == 1) return "0";
    if (columns == shape.cols) return "j";
    return columns == shape.groups ? "h" : fmt::format("j / {}", shape.cols / columns);
  }

  /// The row of a value as a pointer or an array.
  std::string row(ValueId v) {
    const auto place = places_.find(v);
    return place != places_.end() ? place->second : local(v);
  }

  // Segments as text.

  void write_segment(const LoopSegment& segment) {
    body_.clear();
    lines_.begin_anew();
    lanes_.clear();
    if (segment.alone) {
      write_alone(*segment.ops[0]);
      return;
    }
    const bool looped = segment.shape.cols > 1;
    const bool grouped = looped && segment.shape.groups > 1;
    sums_.clear();
    const std::string indent = std::string(kEdge) + (looped ? "  " : "") + (grouped ? "  " : "");
    for (const Op* op : segment.ops) {
      declare_row(*op, looped);
      body_ += lines_.before(*op, indent);
      write_columns(*op, segment.shape, indent, looped);
    }
    if (looped) open_columns(segment.shape, grouped);
    edge_ += body_ + (grouped ? std::string(kEdge) + "  }\n" : "");
    for (const ValueId sum : sums_) {
      if (grouped) edge_ += fmt::format("{}  {}[h] = {}_sum;\n", kEdge, local(sum), local(sum));
    }
    if (looped) edge_ += std::string(kEdge) + "}\n";
    for (const Op* op : segment.ops) {
      if (op->kind == OpKind::sum_groups && has(values_.writes, op->results[0])) keep(op->results[0]);
    }
  }

  /// Copies a row of this edge to the matrix of edges that it stays in.
  void keep(ValueId v) {
    fill(0, cols(v), fmt::format("{}[{} * {} + j] = {}", matrix(v), slot(), cols(v), element(v, "j")));
  }

  void open_columns(const ColumnShape& shape, bool grouped) {
    if (grouped) {
      edge_ += fmt::format("{}for (int h = 0; h < {}; ++h) {{\n", kEdge, shape.groups);
      for (const ValueId sum : sums_) edge_ += fmt::format("{}  float {}_sum = 0;\n", kEdge, local(sum));
    }
    std::string clause;
    for (const ValueId sum : sums_)
      clause += fmt::format("{}{}{}", clause.empty() ? " reduction(+ : " : ", ", local(sum), grouped ? "_sum" : "");
    if (!on_device_) edge_ += "#pragma omp simd" + clause + (clause.empty() ? "" : ")") + "\n";
    const std::int64_t width = shape.cols / shape.groups;
    if (grouped) {
      edge_ += fmt::format("{}  for (int c = 0; c < {}; ++c) {{\n{}    const int j = h * {} + c;\n", kEdge, width,
                           kEdge, width);
    } else {
      edge_ += fmt::format("{}for (int j = 0; j < {}; ++j) {{\n", kEdge, shape.cols);
    }
  }

  /// Declares what an op fills column by column and others read as a row; sums over groups of columns.
  void declare_row(const Op& op, bool looped) {
    const ValueId result = op.results[0];
    if (op.kind == OpKind::sum_groups && looped) {
      sums_.push_back(result);
      edge_ += cols(result) == 1 ? fmt::format("{}float {} = 0;\n", kEdge, local(result))
                                 : fmt::format("{}{};\n", kEdge, array(local(result), cols(result)));
    } else if (looped && has_row_.count(result) > 0) {
      edge_ += fmt::format("{}{};\n", kEdge, array(local(result), cols(result)));
    }
    if (op.kind == OpKind::dropout) declare_draw(op);
  }

  void declare_draw(const Op& op) {
    const double p = op.attrs.real("p", 0.5);
    const auto least = static_cast<std::uint32_t>(std::ceil(p * 0x1.0p24));
    const std::string key = fmt::format("{}:{}:{}", op.attrs.integer("stream", 0), p, cols(op.results[0]));
    const auto [found, is_new] = draws_.try_emplace(key);
    if (!is_new) return;
    found->second = unique("keep");
    edge_ += fmt::format("{}{};\n", kEdge, array(found->second, cols(op.results[0])));
    line(&edge_, kEdge,
         fmt::format("edge::draw(args, {}, {}, {}, {}, {}, {});", op.attrs.integer("stream", 0), least,
                     real(static_cast<float>(p < 1 ? 1 / (1 - p) : 0)), destination(), source(), found->second));
  }

  std::string drawn(const Op& op, const ColumnShape& shape) {
    const std::string key =
        fmt::format("{}:{}:{}", op.attrs.integer("stream", 0), op.attrs.real("p", 0.5), cols(op.results[0]));
    return fmt::format("{}[{}]", draws_.at(key), index(cols(op.results[0]), shape));
  }

  /// One op for column j.
  void write_columns(const Op& op, const ColumnShape& shape, const std::string& indent, bool looped) {
    if (op.kind == OpKind::segment_reduce) return write_reduction(op, shape, indent);
    const ValueId result = op.results[0];
    if (op.kind == OpKind::sum_rows) {
      const std::string weight = op.inputs.size() > 1 ? " * " + at(op.inputs[1], shape) : "";
      const std::string sum = accumulator(result, "float", "0");
      line(&body_, indent,
           fmt::format("{}[{}] += {}{};", sum, index(shape.cols, shape), at(op.inputs[0], shape), weight));
      return finish_row(shape.cols, fmt::format("{}[j] += {}[j]", matrix(result), sum));
    }
    if (op.kind == OpKind::sum_groups) {
      const std::string weight = op.inputs.size() > 1 ? " * " + at(op.inputs[1], shape) : "";
      const std::string term = at(op.inputs[0], shape) + weight;
      const bool grouped = shape.groups > 1;
      if (!looped) return line(&body_, indent, fmt::format("const float {} = {};", local(result), term));
      return line(&body_, indent, fmt::format("{}{} += {};", local(result), grouped ? "_sum" : "", term));
    }
    const bool row_stays = looped && has_row_.count(result) > 0;
    const std::string value = expression(op, shape);
    line(&body_, indent,
         row_stays ? fmt::format("{}[j] = {};", local(result), value)
                   : fmt::format("const float {} = {};", local(result), value));
    if (looped && !row_stays) lanes_.insert(result);
    if (!has(values_.writes, result)) return;
    const std::string place =
        fmt::format("{}[{} * {} + {}]", matrix(result), slot(), cols(result), index(shape.cols, shape));
    line(&body_, indent, fmt::format("{} = {};", place, at(result, shape)));
  }

  std::string expression(const Op& op, const ColumnShape& shape) {
    if (op.kind == OpKind::segment_arg_grad) {
      const std::string arg = end_row(op.inputs[0], false);
      const std::string dy = end_row(op.inputs[1], false);
      const std::string j = index(shape.cols, shape);
      return fmt::format("{}[{}] == {} ? {}[{}] : 0.0F", arg, j, position(), dy, j);
    }
    std::vector<std::string> operands;
    for (const ValueId input : op.inputs) operands.push_back(at(input, shape));
    if (op.kind == OpKind::log && on_device_) return fmt::format("edge::log_on_device({})", operands[0]);
    if (op.kind == OpKind::dropout) return fmt::format("{0} == 0 ? 0.0F : {1} * {0}", drawn(op, shape), operands[0]);
    return column_expression(op, operands);
  }

  /// Which in-edge of its destination the edge is, as segment_reduce counts them.
  std::string position() {
    if (position_.empty()) {
      position_ = unique("position");
      const std::string first = fmt::format("args.in_offsets[{}]", destination());
      line(&edge_, kEdge, fmt::format("const auto {} = static_cast<std::int32_t>({} - {});", position_, slot(), first));
    }
    return position_;
  }

  /// Declares an array that lives as long as a row, and what ends it.
  std::string accumulator(ValueId v, const char* element, const std::string& initial) {
    const auto [found, is_new] = accumulators_.try_emplace(v);
    if (!is_new) return found->second;
    found->second = unique(names_.value(v) + "_row");
    row_ += kRow + array(found->second, cols(v), element);
    row_ += initial == "0" ? " = {};\n" : ";\n";
    if (initial != "0")
      line(&row_, kRow, fmt::format("for (int j = 0; j < {}; ++j) {}[j] = {};", cols(v), found->second, initial));
    return found->second;
  }

  void write_reduction(const Op& op, const ColumnShape& shape, const std::string& indent) {
    const ValueId y = op.results[0];
    const std::string best = accumulator(y, "float", "0");
    const std::string j = index(shape.cols, shape);
    const std::string x = at(op.inputs[0], shape);
    const std::string store = fmt::format("{}[v * {} + j] = {}[j]", matrix(y), cols(y), best);
    if (!is_extreme(op)) {
      line(&body_, indent, fmt::format("{}[{}] += {};", best, j, x));
      const bool mean = op.attrs.text("fn", "sum") == "mean";
      if (mean)
        after_ += fmt::format(
            "{0}const float {1}_share = first == last ? 0.0F : 1.0F / static_cast<float>(last - first);\n", kRow, best);
      return finish_row(cols(y), store + (mean ? fmt::format(" * {}_share", best) : ""));
    }
    const bool maximum = op.attrs.text("fn", "max") == "max";
    const ValueId arg = op.results.size() > 1 ? op.results[1] : ir::kNoValue;
    const std::string wins = unique("wins");
    line(&body_, indent,
         fmt::format("const bool {} = k == first || {} {} {}[{}];", wins, x, maximum ? ">" : "<", best, j));
    line(&body_, indent, fmt::format("{0}[{1}] = {2} ? {3} : {0}[{1}];", best, j, wins, x));
    finish_row(cols(y), store);
    if (arg == ir::kNoValue) return;
    const std::string which = accumulator(arg, "std::int32_t", "first == last ? -1 : 0");
    line(&body_, indent,
         fmt::format("{0}[{1}] = {2} ? static_cast<std::int32_t>(k - first) : {0}[{1}];", which, j, wins));
    finish_row(cols(arg), fmt::format("{}[v * {} + j] = {}[j]", matrix(arg), cols(arg), which));
  }

  void finish_row(std::int64_t columns, const std::string& statement) {
    line(&after_, kRow, fmt::format("for (int j = 0; j < {}; ++j) {};", columns, statement));
  }

  // Ops that stand alone.

  std::string element(ValueId v, const std::string& i) {
    const bool is_number = numbers_.count(v) > 0 || (cols(v) == 1 && places_.count(v) == 0);
    if (numbers_.count(v) > 0) return numbers_.at(v);
    return is_number ? local(v) : fmt::format("{}[{}]", row(v), i);
  }

  void fill(std::int64_t begin, std::int64_t count, const std::string& statement) {
    edge_ += fmt::format("{}for (int j = {}; j < {}; ++j) {};\n", kEdge, begin, begin + count, statement);
  }

  void write_alone(const Op& op) {
    edge_ += lines_.before(op, kEdge);
    if (op.kind == OpKind::gemm && op.attrs.integer("ta", 0) != 0) return write_outer_product(op);
    const ValueId y = op.results[0];
    const std::string name = cols(y) == 1 ? unique(names_.value(y)) : local(y);
    edge_ += fmt::format("{}{};\n", kEdge, array(name, cols(y)));
    if (cols(y) == 1) places_[y] = name;
    switch (op.kind) {
      case OpKind::gemm:
        write_product(op, name);
        break;
      case OpKind::sum_heads:
        fill(0, cols(y), name + "[j] = 0");
        for (std::int64_t h = 0; h < cols(op.inputs[0]) / cols(y); ++h)
          fill(0, cols(y), fmt::format("{}[j] += {}", name, element(op.inputs[0], fmt::format("{} + j", h * cols(y)))));
        break;
      case OpKind::tile_heads: {
        const std::int64_t width = cols(op.inputs[0]);
        for (std::int64_t h = 0; h < cols(y) / width; ++h)
          fill(0, width, fmt::format("{}[{} + j] = {}", name, h * width, element(op.inputs[0], "j")));
        break;
      }
      case OpKind::slice:
        fill(0, cols(y),
             fmt::format("{}[j] = {}", name,
                         element(op.inputs[0], fmt::format("{} + j", op.attrs.integer("begin", 0)))));
        break;
      default: {
        std::int64_t begin = 0;
        for (const ValueId part : op.inputs) {
          fill(0, cols(part), fmt::format("{}[{} + j] = {}", name, begin, element(part, "j")));
          begin += cols(part);
        }
      }
    }
    if (has(values_.writes, y)) keep(y);
  }

  void write_product(const Op& op, const std::string& y) {
    const bool transposed = op.attrs.integer("tb", 0) != 0;
    const std::int64_t inner = cols(op.inputs[0]);
    const std::int64_t width = cols(op.results[0]);
    const bool copied = transposed && !on_device_;
    const std::string matrix_name = copied ? transpose(op.inputs[1]) : row(op.inputs[1]);
    const char* const function = transposed && on_device_ ? "multiply_transposed" : "multiply";
    fill(0, width, fmt::format("{}[j] = {}", y, op.inputs.size() == 3 ? element(op.inputs[2], "j") : "0"));
    line(&edge_, kEdge,
         fmt::format("edge::{}<{}, {}>({}, {}, {});", function, inner, width, pointer(op.inputs[0]), matrix_name, y));
  }

  /// The row of a value where one is asked for, be it but a number.
  std::string pointer(ValueId v) {
    const bool is_number = numbers_.count(v) > 0 || (cols(v) == 1 && places_.count(v) == 0);
    if (!is_number) return row(v);
    const std::string name = unique("number");
    edge_ += fmt::format("{}const float {}[] = {{{}}};\n", kEdge, name, element(v, "0"));
    return name;
  }

  /// A copy of a matrix with rows and columns exchanged, made once a task.
  std::string transpose(ValueId v) {
    const auto [found, is_new] = transposes_.try_emplace(v);
    if (!is_new) return found->second;
    found->second = unique(names_.value(v) + "_t");
    const std::int64_t rows = program_.rows(v);
    before_ += fmt::format("  float {}[{}];\n", found->second, rows * cols(v));
    before_ += fmt::format(
        "  for (int i = 0; i < {}; ++i) {{\n    for (int j = 0; j < {}; ++j) {}[i * {} + j] = {}[j * {} + i];\n  }}\n",
        cols(v), rows, found->second, rows, row(v), cols(v));
    return found->second;
  }

  /// The edge's part of a^T b.
  void write_outer_product(const Op& op) {
    if (on_device_) {
      return line(&edge_, kEdge,
                  fmt::format("edge::add_outer_product<{}, {}>({}, {}, {});", cols(op.inputs[0]), cols(op.inputs[1]),
                              matrix(op.results[0]), pointer(op.inputs[0]), pointer(op.inputs[1])));
    }
    const std::string name = unique(names_.value(op.results[0]) + "_products");
    before_ += fmt::format("  edge::OuterProducts<{}, {}> {}({});\n", cols(op.inputs[0]), cols(op.inputs[1]), name,
                           matrix(op.results[0]));
    line(&edge_, kEdge, fmt::format("{}.add({}, {});", name, pointer(op.inputs[0]), pointer(op.inputs[1])));
    end_ += fmt::format("  {}.finish();\n", name);
  }

  // The function.

  std::string assemble() const {
    std::string text =
        comment("", fmt::format("{} {} of {}, edge by edge.",
                                loop_.out_edges ? "Along the out-edges of rows" : "Along the in-edges of rows",
                                "begin .. end", names_.graph(loop_.graph)));
    text +=
        call("", on_device_ ? fmt::format("GNEISS_EDGE_ROWS void {}_rows", name_) : "GNEISS_EDGE_LOOP void " + name_,
             {"const EdgeLoopArgs& args", "std::int64_t begin", "std::int64_t end", "float* totals"});
    text.erase(text.rfind(";\n"));
    text += " {\n" + synth::declarations("  ", declarations_) + before_;
    if (values_.totals.empty()) text += "  static_cast<void>(totals);\n";
    text += "  for (std::int64_t v = begin; v < end; ++v) {\n";
    text += "    const std::int64_t first = args.offsets[v];\n    const std::int64_t last = args.offsets[v + 1];\n";
    text += row_ + "    for (std::int64_t k = first; k < last; ++k) {\n";
    if (reads_other_end_) text += std::string(kEdge) + "const std::int64_t u = args.ends[k];\n";
    if (!fetch_.empty()) text += std::string(kEdge) + "const std::int64_t ahead = edge::end_ahead(args, k);\n" + fetch_;
    text += edge_ + "    }\n" + after_ + "  }\n" + end_ + "}\n";
    if (on_device_)
      text += fmt::format("GNEISS_EDGE_KERNEL({}, {}, {})\n", name_, values_.reads.size(), values_.writes.size());
    return text;
  }

  const ir::Plan& plan_;
  const ir::Program& program_;
  const Names& names_;
  const bool on_device_;
  const ir::EdgeLoop& loop_;
  const ir::LoopValues values_;
  std::string name_;
  std::vector<const Op*> ops_;
  std::set<std::string> taken_;
  std::map<ValueId, std::string> locals_;    ///< rows of this edge
  std::map<ValueId, std::string> matrices_;  ///< what is read and written
  std::map<ValueId, std::string> places_;    ///< pointers to rows
  std::map<ValueId, std::string> numbers_;   ///< values with one column that are a number or a variable
  std::map<ValueId, std::string> accumulators_;
  std::map<ValueId, std::string> transposes_;
  std::map<std::string, std::string> rows_;  ///< pointers declared, by matrix and row
  std::map<std::string, std::string> draws_;
  std::set<ValueId> has_row_;  ///< values of this edge that are an array
  std::set<ValueId> lanes_;    ///< values of the loop over columns being written
  std::vector<ValueId> sums_;  ///< over groups of columns, of that loop
  std::vector<Declaration> declarations_;
  std::string before_;  ///< text: once a task,
  std::string row_;     ///< before the edges of a row,
  std::string fetch_;   ///< for an edge some way ahead,
  std::string edge_;    ///< for an edge,
  std::string after_;   ///< after the edges of a row,
  std::string end_;     ///< and of a task
  std::string body_;    ///< of the loop over columns being written
  LineComments lines_;
  std::string position_;
  std::int64_t array_bytes_ = 0;
  bool declared_slot_ = false;
  bool reads_other_end_ = false;
};

}  // namespace

std::string loop_name(const ir::Plan& plan, const Names& names, std::size_t loop) {
  const ir::LoopValues values = ir::values_of(plan, plan.loops[loop]);
  const ValueId first = values.writes.empty() ? values.totals.at(0) : values.writes[0];
  return names.value(first) + "_loop";
}

std::string loop_functions(const ir::Plan& plan, const Names& names, Space space) {
  std::string text;
  for (std::size_t i = 0; i < plan.loops.size(); ++i)
    text += (i > 0 ? "\n" : "") + LoopWriter(plan, names, i, space).write();
  return text;
}

std::string loops_source(const ir::Plan& plan, const Names& names, Space space) {
  const bool on_device = space == Space::kDevice;
  const std::string header = quote(on_device ? "kernels/cuda/edge_loop.h" : "kernels/edge_math.h");
  const bool sums =
      std::any_of(plan.loops.begin(), plan.loops.end(), [](const ir::EdgeLoop& loop) { return loop.task_bytes > 0; });
  const std::string totals =
      on_device && sums
          ? fmt::format("\n// Adds up what tasks sum over their edges.\nGNEISS_EDGE_TOTALS({})\n", kLoopTotals)
          : "";
  return "// Loops over edges: what is gathered, computed and reduced passes by edge after edge.\n" +
         includes({"<cstdint>", "", header}) + "\nnamespace program {\n\nusing namespace gneiss::kernels;\n\n" +
         loop_functions(plan, names, space) + totals + "\n}  // namespace program\n";
}

std::int64_t loop_array_bytes(const ir::Plan& plan, const Names& names, std::size_t loop) {
  LoopWriter writer(plan, names, loop, Space::kDevice);
  writer.write();
  return writer.array_bytes();
}

}  // namespace gneiss::synth
