// What a device kernel does with its result while that is in registers: elementwise ops that follow it, one stage each.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "base/matrix_view.h"
#include "kernels/binary.h"
#include "kernels/dropout.h"
#include "kernels/dropout_key.h"
#include "kernels/mul_add.h"
#include "kernels/unary.h"
#include "kernels/unary_grad.h"

namespace gneiss::kernels {

struct StepNumbers;

/// A matrix that is read where an element of a result `width` columns wide is made: a row serves for every row, a
/// column of a narrower matrix for as many neighbouring columns of the result.
struct PlaceOperand {
  const float* data = nullptr;
  std::int64_t stride = 0;    ///< 0: one row for all
  std::uint32_t columns = 1;  ///< of the result for each of its own

  PlaceOperand() = default;
  PlaceOperand(const ConstMatrixView<float, Space::kDevice>& from, std::int64_t width)
      : data(from.data),
        stride(from.rows == 1 ? 0 : from.stride),
        columns(from.cols == 0 ? 1 : static_cast<std::uint32_t>(width / from.cols)) {}
};

/// Which draws dropout takes.
struct DropoutDraw {
  std::uint64_t key = 0;
  double p = 0;
  float scale = 1;
  std::uint32_t stream = 0;
  const std::int64_t* ids = nullptr;  ///< or null: a row's number is its id
  std::int64_t first_row = 0;
};

enum class StageKind : std::uint8_t { kBinary, kUnary, kSlope, kMulAdd, kDropout };

struct EpilogueStage {
  StageKind kind = StageKind::kUnary;
  Binary binary = Binary::kAdd;
  Unary unary = Unary::kRelu;
  std::uint8_t operand_count = 0;
  std::uint8_t at_hand = 0;  ///< bit i: operand i is the value at hand
  float alpha = 0;
  float shift = 0;
  DropoutDraw draw;
  PlaceOperand operands[3];
  float* store = nullptr;  ///< null: nothing else reads the result
  std::int64_t store_stride = 0;
};

/// Stages in order.
inline constexpr int kMostStages = 6;
struct Epilogue {
  int count = 0;
  const StepNumbers* step = nullptr;
  EpilogueStage stages[kMostStages];
};

/// A stage that reads all of its operands from memory.
inline EpilogueStage make_stage(StageKind kind, const MatrixView<float, Space::kDevice>& result,
                                std::initializer_list<ConstMatrixView<float, Space::kDevice>> operands) {
  EpilogueStage stage;
  stage.kind = kind;
  for (const auto& operand : operands) stage.operands[stage.operand_count++] = {operand, result.cols};
  stage.store = result.data;
  stage.store_stride = result.stride;
  return stage;
}

// Ops as stages.
inline EpilogueStage stage_of(const BinaryArgs<float, Space::kDevice>& args) {
  EpilogueStage stage = make_stage(StageKind::kBinary, args.c, {args.a, args.b});
  stage.binary = args.fn;
  return stage;
}
inline EpilogueStage stage_of(const MulAddArgs<float, Space::kDevice>& args) {
  return make_stage(StageKind::kMulAdd, args.y, {args.x, args.a, args.b});
}
inline EpilogueStage stage_of(const UnaryArgs<float, Space::kDevice>& args) {
  EpilogueStage stage = make_stage(StageKind::kUnary, args.y, {args.x});
  stage.unary = args.fn;
  stage.alpha = static_cast<float>(args.alpha);
  stage.shift = static_cast<float>(args.shift);
  return stage;
}
inline EpilogueStage stage_of(const UnaryGradArgs<float, Space::kDevice>& args) {
  EpilogueStage stage = make_stage(StageKind::kSlope, args.dx, {args.y, args.dy});
  stage.unary = args.fn;
  stage.alpha = static_cast<float>(args.alpha);
  return stage;
}
inline DropoutDraw draw_of(const DropoutArgs<float, Space::kDevice>& args) {
  DropoutDraw draw;
  draw.key = dropout_key(args.seed, args.epoch);
  draw.p = args.p;
  draw.scale = static_cast<float>(args.p < 1 ? 1 / (1 - args.p) : 0);
  draw.stream = args.stream;
  draw.ids = args.row_ids.size == 0 ? nullptr : args.row_ids.data;
  draw.first_row = args.first_row;
  return draw;
}
/// Of dense rows of nodes; not of edges or sparse entries.
inline EpilogueStage stage_of_rows(const DropoutArgs<float, Space::kDevice>& args) {
  EpilogueStage stage = make_stage(StageKind::kDropout, args.y, {args.x});
  stage.draw = draw_of(args);
  return stage;
}

}  // namespace gneiss::kernels
