// Counts the lines that a row touches on average, at the natural stride and at the next that aligns it, and pads the
// rows that are gathered if the saving is worth the memory.
#include "planner/row_padding.h"

#include <bit>
#include <numeric>

#include "base/error.h"

namespace gneiss::planner {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

constexpr std::int64_t kLine = 64;
constexpr double kLeastSaved = 1.0 / 8;
constexpr double kMostAdded = 1.0 / 4;

/// Does an op read whole rows of its input one by one, at the other ends of edges?
bool gathers(const Op& op, std::size_t input) {
  switch (op.kind) {
    case OpKind::spmm:
      return input == 0;
    case OpKind::attention:
      return input == 0;
    case OpKind::attention_grad:
      return input == 5;
    default:
      return false;
  }
}

}  // namespace

double lines_of_row(std::int64_t row_bytes) {
  const std::int64_t step = std::gcd(row_bytes, kLine);
  std::int64_t lines = 0;
  for (std::int64_t start = 0; start < kLine; start += step) lines += (start + row_bytes + kLine - 1) / kLine;
  return static_cast<double>(lines * step) / static_cast<double>(kLine);
}

std::int64_t padded_row_bytes(std::int64_t row_bytes) {
  const auto power = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(row_bytes)));
  const std::int64_t padded = row_bytes < kLine ? power : (row_bytes + kLine - 1) / kLine * kLine;
  const double saved = 1 - lines_of_row(padded) / lines_of_row(row_bytes);
  const double added = static_cast<double>(padded) / static_cast<double>(row_bytes) - 1;
  return saved >= kLeastSaved && added <= kMostAdded ? padded : row_bytes;
}

void pad_rows(ir::Plan* plan, std::vector<std::string>* decisions) {
  const ir::Program& program = plan->program;
  std::vector<bool> gathered(program.values.size(), false);
  std::vector<bool> stays(program.values.size(), false);
  for (const Op& op : program.ops) {
    const bool in_loop = op.attrs.has("loop");
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      const auto v = static_cast<std::size_t>(op.inputs[k]);
      if (gathers(op, k)) gathered[v] = true;
      if (in_loop) stays[v] = true;
    }
    for (const ValueId r : op.results) {
      if (r != ir::kNoValue && (in_loop || op.kind == OpKind::input || op.kind == OpKind::param))
        stays[static_cast<std::size_t>(r)] = true;
    }
  }
  for (const ir::Output& out : program.outputs) stays[static_cast<std::size_t>(out.value)] = true;
  plan->strides.assign(program.values.size(), 0);
  for (std::size_t v = 0; v < program.values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    const ir::Type& type = program.type(id);
    const bool matrix =
        type.domain == ir::Domain::kNode && type.layout == ir::Layout::kDense && type.scalar == ir::Scalar::kReal;
    if (!gathered[v] || stays[v] || !matrix) continue;
    const std::int64_t stride = padded_row_bytes(type.cols * plan->value_bytes) / plan->value_bytes;
    if (stride == type.cols) continue;
    plan->strides[v] = stride;
    decisions->push_back(
        fmt::format("rows of {} columns lie {} apart: %{}", type.cols, stride, program.value_name(id)));
  }
}

}  // namespace gneiss::planner
