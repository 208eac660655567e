// One expression an op, on operands that are names already; backward's use the saved output where the op does.
#include "synth/loop_expressions.h"

#include <fmt/format.h>

#include "base/error.h"
#include "synth/text.h"

namespace gneiss::synth {
namespace {

using ir::Op;
using ir::OpKind;

std::string number(double value) { return real(static_cast<float>(value)); }
std::string alpha_of(const Op& op, bool is_elu) { return number(op.attrs.real("alpha", is_elu ? 1 : 0)); }

std::string affine(const Op& op, const std::string& x) {
  const double shift = op.attrs.real("shift", 0);
  const std::string scaled = fmt::format("{} * {}", number(op.attrs.real("scale", 1)), x);
  return shift == 0 ? scaled : fmt::format("{} + {}", scaled, number(shift));
}

/// The gradient where the operand won, else 0.
std::string maximum_grad(const Op& op, const std::vector<std::string>& in) {
  const char* order = op.attrs.text("fn", "maximum") == "maximum" ? ">=" : "<=";
  const bool second = op.attrs.integer("side", 0) != 0;
  return fmt::format("{} {} {} ? {} : {}", in[0], order, in[1], second ? "0.0F" : in[2], second ? in[2] : "0.0F");
}

std::string unary_grad(const Op& op, const std::vector<std::string>& in) {
  const std::string fn = op.attrs.text("fn", "relu");
  const bool has_alpha = fn == "leaky_relu" || fn == "elu";
  const std::string alpha = has_alpha ? ", " + alpha_of(op, fn == "elu") : "";
  return fmt::format("{} * edge::{}_slope({}{})", in[1], fn, in[0], alpha);
}

}  // namespace

std::string column_expression(const Op& op, const std::vector<std::string>& in) {
  const std::string fn(ir::traits(op.kind).name);
  switch (op.kind) {
    case OpKind::add:
      return in[0] + " + " + in[1];
    case OpKind::sub:
      return in[0] + " - " + in[1];
    case OpKind::mul:
      return in[0] + " * " + in[1];
    case OpKind::div:
      return fmt::format("edge::quotient({}, {})", in[0], in[1]);
    case OpKind::maximum:
    case OpKind::minimum:
      return fmt::format("edge::{}({}, {})", fn, in[0], in[1]);
    case OpKind::maximum_grad:
      return maximum_grad(op, in);
    case OpKind::mul_add:
      return fmt::format("{} + {} * {}", in[0], in[1], in[2]);
    case OpKind::affine:
      return affine(op, in[0]);
    case OpKind::leaky_relu:
    case OpKind::elu:
      return fmt::format("edge::{}({}, {})", fn, in[0], alpha_of(op, op.kind == OpKind::elu));
    case OpKind::relu:
    case OpKind::sigmoid:
    case OpKind::tanh:
    case OpKind::exp:
    case OpKind::log:
    case OpKind::sqrt:
    case OpKind::rsqrt:
      return fmt::format("edge::{}({})", fn, in[0]);
    case OpKind::unary_grad:
      return unary_grad(op, in);
    case OpKind::expand_groups:
      return in[0];
    default:
      GNEISS_ASSERT(false, "'{}' has no form in a loop over edges", fn);
  }
}

}  // namespace gneiss::synth
