// A line an op. The parser reads what the printer writes and nothing more; errors name the line.
#include "ir/text.h"

#include <array>
#include <cctype>
#include <charconv>
#include <map>

#include "base/error.h"

namespace gneiss::ir {
namespace {

constexpr std::array<std::string_view, 4> kPhases = {"setup", "forward", "backward", "inference"};
constexpr std::array<std::string_view, 6> kOrigins = {
    "given", "add_remaining_self_loops", "replace_self_loops", "into_loss_rows", "loss_rows", "reversed"};
constexpr std::array<std::string_view, 7> kInits = {"zeros", "ones", "constant", "uniform", "glorot", "he", "normal"};

std::string print_attr(const AttrValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  // A real always shows a point or an exponent, so that it is read back as a real.
  if (const auto* real = std::get_if<double>(&value)) {
    std::string text = fmt::format("{}", *real);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  return fmt::format("\"{}\"", std::get<std::string>(value));
}

std::string print_op(const Program& program, const Op& op) {
  std::string line;
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    if (i > 0) line += ", ";
    const ValueId r = op.results[i];
    line += r == kNoValue ? "_" : fmt::format("%{}: {}", program.value_name(r), print(program.type(r)));
  }
  if (!op.results.empty()) line += " = ";
  line += fmt::format("{}(", traits(op.kind).name);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    line += fmt::format("{}%{}", i > 0 ? ", " : "", program.value_name(op.inputs[i]));
  }
  line += ")";
  if (!op.attrs.list().empty()) {
    line += " {";
    for (const Attr& attr : op.attrs.list()) {
      if (line.back() != '{') line += ", ";
      line += fmt::format("{}={}", attr.name, print_attr(attr.value));
    }
    line += "}";
  }
  line += fmt::format(" @{}", kPhases[static_cast<std::size_t>(op.phase)]);
  if (op.location.line > 0) line += fmt::format(" !{}:{}", op.location.line, op.location.column);
  if (op.location.source > 0) line += fmt::format(" in {}", op.location.source);
  return line;
}

std::string print_param(const Program& program, const Param& param) {
  std::string shape;
  for (const std::int64_t d : param.stored_shape) shape += fmt::format("{}{}", shape.empty() ? "" : ",", d);
  std::string line = fmt::format("param \"{}\" %{} {} {} stored [{}]", param.name, program.value_name(param.value),
                                 param.rows, param.cols, shape);
  line += param.stored_transposed ? " transposed" : " plain";
  line += param.trainable ? " trained" : " state";
  line += fmt::format(" init {} {} {} {} layer {}", kInits[static_cast<std::size_t>(param.init.kind)],
                      print_attr(param.init.value), param.init.fan_in, param.init.fan_out, param.layer);
  if (param.grad != kNoValue) line += fmt::format(" grad %{}", program.value_name(param.grad));
  return line;
}

/// Reads one line, token by token.
class LineReader {
 public:
  LineReader(std::string_view line, int number) : rest_(line), number_(number) { skip_space(); }

  [[noreturn]] void fail(const std::string& expected) const {
    throw Error(ErrorCode::kBadData,
                fmt::format("program text: expected {} before '{}'", expected, rest_.substr(0, 24)),
                fmt::format("line {}", number_), "the text form is what `gneiss plan --print-after` prints");
  }
  bool done() const { return rest_.empty(); }
  bool accept(std::string_view token) {
    if (rest_.substr(0, token.size()) != token) return false;
    rest_.remove_prefix(token.size());
    skip_space();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("'{}'", token));
  }
  std::string word() {
    std::size_t n = 0;
    while (n < rest_.size() &&
           (std::isalnum(static_cast<unsigned char>(rest_[n])) != 0 || rest_[n] == '_' || rest_[n] == '.'))
      ++n;
    if (n == 0) fail("a name");
    return take(n);
  }
  std::string quoted() {
    if (rest_.empty() || rest_[0] != '"') fail("a quoted text");
    const std::size_t end = rest_.find('"', 1);
    if (end == std::string_view::npos) fail("a closing quote");
    std::string text(rest_.substr(1, end - 1));
    take(end + 1);
    return text;
  }
  std::string number_text() {
    std::size_t n = 0;
    while (n < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[n])) != 0 || rest_[n] == '+' ||
                                rest_[n] == '-' || rest_[n] == '.'))
      ++n;
    if (n == 0) fail("a number");
    return take(n);
  }
  std::int64_t integer() {
    const std::string text = number_text();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) fail("an integer");
    return value;
  }
  AttrValue attr_value() {
    if (!rest_.empty() && rest_[0] == '"') return quoted();
    const std::string text = number_text();
    std::int64_t whole = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (error == std::errc() && end == text.data() + text.size()) return whole;
    double real = 0;
    const auto [real_end, real_error] = std::from_chars(text.data(), text.data() + text.size(), real);
    if (real_error != std::errc() || real_end != text.data() + text.size()) fail("a number");
    return real;
  }
  template <std::size_t N>
  std::size_t one_of(const std::array<std::string_view, N>& names, const char* what) {
    const std::string name = word();
    for (std::size_t i = 0; i < N; ++i) {
      if (names[i] == name) return i;
    }
    fail(what);
  }

 private:
  std::string take(std::size_t n) {
    std::string text(rest_.substr(0, n));
    rest_.remove_prefix(n);
    skip_space();
    return text;
  }
  void skip_space() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }

  std::string_view rest_;
  int number_;
};

class Parser {
 public:
  Program run(std::string_view text) {
    int number = 0;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
      ++number;
      if (!line.empty()) parse_line(LineReader(line, number));
    }
    return std::move(program_);
  }

 private:
  void parse_line(LineReader in) {
    if (in.accept("program ")) {
      program_.name = in.quoted();
    } else if (in.accept("node_set ")) {
      const std::string name = in.quoted();
      const std::int64_t size = in.integer();
      program_.node_sets.push_back({name, size, in.accept("changes")});
    } else if (in.accept("graph ")) {
      parse_graph(in);
    } else if (in.accept("param ")) {
      parse_param(in);
    } else if (in.accept("output ")) {
      const std::string name = in.quoted();
      program_.outputs.push_back({name, value(in)});
    } else {
      parse_op(in);
    }
    if (!in.done()) in.fail("the end of the line");
  }

  void parse_graph(LineReader& in) {
    GraphDef graph;
    graph.name = in.quoted();
    graph.origin = static_cast<GraphOrigin>(in.one_of(kOrigins, "an origin"));
    graph.base = static_cast<std::int32_t>(in.integer());
    graph.src_set = static_cast<std::int32_t>(in.integer());
    graph.dst_set = static_cast<std::int32_t>(in.integer());
    graph.num_edges = in.integer();
    graph.weighted = in.accept("weighted");
    graph.symmetric = in.accept("symmetric");
    graph.changes = in.accept("changes");
    program_.graphs.push_back(std::move(graph));
  }

  void parse_param(LineReader& in) {
    Param param;
    param.name = in.quoted();
    param.value = value(in);
    param.rows = in.integer();
    param.cols = in.integer();
    in.expect("stored [");
    while (!in.accept("]")) {
      param.stored_shape.push_back(in.integer());
      in.accept(",");
    }
    param.stored_transposed = in.accept("transposed");
    if (!param.stored_transposed) in.expect("plain");
    param.trainable = in.accept("trained");
    if (!param.trainable) in.expect("state");
    in.expect("init ");
    param.init.kind = static_cast<Init::Kind>(in.one_of(kInits, "an initialisation"));
    const AttrValue number = in.attr_value();
    param.init.value = std::holds_alternative<double>(number) ? std::get<double>(number) : 0;
    param.init.fan_in = in.integer();
    param.init.fan_out = in.integer();
    in.expect("layer ");
    param.layer = static_cast<std::int32_t>(in.integer());
    if (in.accept("grad ")) param.grad = value(in);
    program_.params.push_back(std::move(param));
  }

  Type parse_type(LineReader& in) {
    Type type;
    const bool node = in.accept("node<");
    if (node || in.accept("edge<")) {
      type.domain = node ? Domain::kNode : Domain::kEdge;
      type.set = static_cast<std::int32_t>(in.integer());
      type.rows = 0;
      in.expect(">");
      in.expect("[");
      type.cols = in.integer();
    } else {
      in.expect("[");
      type.rows = in.integer();
      in.expect(",");
      type.cols = in.integer();
    }
    in.expect("]");
    if (in.accept("sparse")) type.layout = Layout::kSparse;
    if (in.accept("index")) type.scalar = Scalar::kIndex;
    if (in.accept("bf16")) type.scalar = Scalar::kBf16;
    if (in.accept("f16")) type.scalar = Scalar::kF16;
    return type;
  }

  void parse_op(LineReader& in) {
    Op op;
    for (;;) {
      if (in.accept("%")) {
        op.results.push_back(parse_result(in));
      } else if (in.accept("_")) {
        op.results.push_back(kNoValue);
      } else {
        break;
      }
      in.accept(",");
    }
    if (!op.results.empty()) in.expect("=");
    const std::string name = in.word();
    if (!find_op_kind(name, &op.kind)) in.fail("an op; '" + name + "' is none");
    in.expect("(");
    while (!in.accept(")")) {
      op.inputs.push_back(value(in));
      in.accept(",");
    }
    if (in.accept("{")) {
      while (!in.accept("}")) {
        const std::string attr = in.word();
        in.expect("=");
        op.attrs.set(attr, in.attr_value());
        in.accept(",");
      }
    }
    in.expect("@");
    op.phase = static_cast<Phase>(in.one_of(kPhases, "a phase"));
    if (in.accept("!")) {
      op.location.line = static_cast<std::int32_t>(in.integer());
      in.expect(":");
      op.location.column = static_cast<std::int32_t>(in.integer());
      if (in.accept("in ")) op.location.source = static_cast<std::int32_t>(in.integer());
    }
    program_.ops.push_back(std::move(op));
  }

  ValueId parse_result(LineReader& in) {
    const std::string name = in.word();
    in.expect(":");
    const auto id = static_cast<ValueId>(program_.values.size());
    if (!ids_.emplace(name, id).second) in.fail("a new name; '%" + name + "' is made above");
    program_.values.push_back({name, parse_type(in)});
    return id;
  }

  ValueId value(LineReader& in) {
    in.expect("%");
    const std::string name = in.word();
    const auto found = ids_.find(name);
    if (found == ids_.end()) in.fail("a value made above; '%" + name + "' is not");
    return found->second;
  }

  Program program_;
  std::map<std::string, ValueId> ids_;
};

}  // namespace

std::string print(const Type& type) {
  std::string text;
  switch (type.domain) {
    case Domain::kGlobal:
      text = fmt::format("[{}, {}]", type.rows, type.cols);
      break;
    case Domain::kNode:
      text = fmt::format("node<{}>[{}]", type.set, type.cols);
      break;
    case Domain::kEdge:
      text = fmt::format("edge<{}>[{}]", type.set, type.cols);
      break;
  }
  if (type.layout == Layout::kSparse) text += " sparse";
  if (type.scalar == Scalar::kIndex) text += " index";
  if (is_half(type.scalar)) text += fmt::format(" {}", half_name(half_of(type.scalar)));
  return text;
}

std::string print(const Program& program) {
  std::string text = fmt::format("program \"{}\"\n", program.name);
  for (const NodeSet& set : program.node_sets)
    text += fmt::format("node_set \"{}\" {}{}\n", set.name, set.size, set.changes ? " changes" : "");
  for (const GraphDef& graph : program.graphs) {
    text +=
        fmt::format("graph \"{}\" {} {} {} {} {}{}{}{}\n", graph.name, kOrigins[static_cast<std::size_t>(graph.origin)],
                    graph.base, graph.src_set, graph.dst_set, graph.num_edges, graph.weighted ? " weighted" : "",
                    graph.symmetric ? " symmetric" : "", graph.changes ? " changes" : "");
  }
  for (const Op& op : program.ops) text += print_op(program, op) + "\n";
  for (const Param& param : program.params) text += print_param(program, param) + "\n";
  for (const Output& out : program.outputs)
    text += fmt::format("output \"{}\" %{}\n", out.name, program.value_name(out.value));
  return text;
}

Program parse(std::string_view text) { return Parser().run(text); }

}  // namespace gneiss::ir
