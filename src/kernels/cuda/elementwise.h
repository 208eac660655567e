// Functions of the elements at one place of several matrices, and what follows them, or another kernel, while the
// result is in registers (epilogue.h). A thread takes four neighbouring columns where all matrices allow it, else one.
#pragma once

#include "base/random.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/math.h"
#include "kernels/cuda/row_shares.h"
#include "kernels/dropout_key.h"

namespace gneiss::kernels::GNEISS_DEVICE {

/// A NaN operand gives NaN.
__device__ inline float apply_binary(Binary fn, float a, float b) {
  switch (fn) {
    case Binary::kAdd:
      return a + b;
    case Binary::kSub:
      return a - b;
    case Binary::kMul:
      return a * b;
    case Binary::kDiv:
      return a == 0 && b == 0 ? 0.0F : a / b;
    case Binary::kMaximum:
      return a >= b || a != a ? a : b;
    case Binary::kMinimum:
      return a <= b || a != a ? a : b;
  }
  return a;
}

/// NaN passes through, so that a numeric failure stays visible.
__device__ inline float apply_unary(Unary fn, float alpha, float shift, float x) {
  switch (fn) {
    case Unary::kAffine:
      return alpha * x + shift;
    case Unary::kRelu:
      return x < 0 ? 0.0F : x;
    case Unary::kLeakyRelu:
      return x > 0 ? x : alpha * x;
    case Unary::kElu:
      return x > 0 ? x : alpha * edge::expm1(x);
    case Unary::kSigmoid:
      return edge::sigmoid(x);
    case Unary::kTanh:
      return edge::tanh(x);
    case Unary::kExp:
      return edge::exp(x);
    case Unary::kLog:
      return static_cast<float>(log_of(static_cast<double>(x)));
    case Unary::kSqrt:
      return sqrtf(x);
    case Unary::kRsqrt:
      return x <= 0 ? 0.0F : 1.0F / sqrtf(x);
  }
  return x;
}

/// fn'(x) written in terms of y = fn(x).
__device__ inline float slope_of(Unary fn, float alpha, float y) {
  switch (fn) {
    case Unary::kRelu:
      return y > 0 ? 1.0F : 0.0F;
    case Unary::kLeakyRelu:
      return y > 0 ? 1.0F : alpha;
    case Unary::kElu:
      return y > 0 ? 1.0F : y + alpha;
    case Unary::kSigmoid:
      return y * (1 - y);
    case Unary::kTanh:
      return 1 - y * y;
    case Unary::kExp:
      return y;
    case Unary::kSqrt:
      return y == 0 ? 0.0F : 0.5F / y;
    case Unary::kRsqrt:
      return -0.5F * y * y * y;
    case Unary::kAffine:
    case Unary::kLog:
      break;  // the contract refuses them
  }
  return 0;
}

__device__ inline std::uint64_t id_of_row(const DropoutDraw& draw, std::int64_t r) {
  return static_cast<std::uint64_t>(draw.ids == nullptr ? r : draw.ids[r]);
}

/// The draws of four columns of a row (or edge) that `low` and `high` name.
__device__ inline PhiloxBlock draws_of(const DropoutDraw& draw, const StepNumbers* step, std::uint32_t low,
                                       std::uint32_t high, std::uint32_t group) {
  return philox(step == nullptr ? draw.key : step->dropout_key, {low, high, group, draw.stream});
}

__device__ inline float drop_element(const DropoutDraw& draw, std::uint32_t bits, float x) {
  return static_cast<double>(uniform_float(bits)) >= draw.p ? x * draw.scale : 0.0F;
}

/// The stage's function of one element of each operand.
__device__ inline float apply_stage(const EpilogueStage& stage, const float* at) {
  switch (stage.kind) {
    case StageKind::kBinary:
      return apply_binary(stage.binary, at[0], at[1]);
    case StageKind::kUnary:
      return apply_unary(stage.unary, stage.alpha, stage.shift, at[0]);
    case StageKind::kSlope:
      return at[1] * slope_of(stage.unary, stage.alpha, at[0]);
    case StageKind::kMulAdd: {
      const float product = at[1] * at[2];
      return at[0] + product;
    }
    case StageKind::kDropout:
      break;  // by groups of columns
  }
  return at[0];
}

template <int kVector>
__device__ void load_operand(const PlaceOperand& from, std::int64_t r, std::uint32_t c, float* to) {
  const float* row = from.data + r * from.stride;
  if (from.columns == 1) return load_vector<kVector>(row + c, to);
  const float one = row[c / from.columns];
  for (int q = 0; q < kVector; ++q) to[q] = one;
}

template <int kVector>
__device__ void store_vector(const float* from, float* to) {
  if constexpr (kVector == 4) {
    Four four;
    for (int q = 0; q < 4; ++q) four.of[q] = from[q];
    *reinterpret_cast<Four*>(to) = four;
  } else {
    *to = *from;
  }
}

/// Columns c and on of row r drop out of what is at hand.
template <int kVector>
__device__ void drop_columns(const EpilogueStage& stage, const StepNumbers* step, std::int64_t r, std::uint32_t c,
                             float* at_hand) {
  const std::uint64_t id = id_of_row(stage.draw, stage.draw.first_row + r);
  const PhiloxBlock block =
      draws_of(stage.draw, step, static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32), c / 4);
  if constexpr (kVector == 4) {
    for (std::size_t q = 0; q < 4; ++q) at_hand[q] = drop_element(stage.draw, block[q], at_hand[q]);
  } else {
    const std::uint32_t low_pair = c % 2 == 0 ? block[0] : block[1];
    const std::uint32_t high_pair = c % 2 == 0 ? block[2] : block[3];
    *at_hand = drop_element(stage.draw, c % 4 < 2 ? low_pair : high_pair, *at_hand);
  }
}

template <int kVector>
__device__ void run_stage(const EpilogueStage& stage, const StepNumbers* step, std::int64_t r, std::uint32_t c,
                          float* at_hand) {
  float in[3][kVector] = {};
  for (int o = 0; o < 3; ++o) {
    if (o >= stage.operand_count) continue;
    if ((stage.at_hand >> o & 1) == 0) {
      load_operand<kVector>(stage.operands[o], r, c, in[o]);
    } else {
      for (int q = 0; q < kVector; ++q) in[o][q] = at_hand[q];
    }
  }
  for (int q = 0; q < kVector; ++q) {
    const float at[3] = {in[0][q], in[1][q], in[2][q]};
    at_hand[q] = apply_stage(stage, at);
  }
  if (stage.kind == StageKind::kDropout) drop_columns<kVector>(stage, step, r, c, at_hand);
  if (stage.store != nullptr) store_vector<kVector>(at_hand, stage.store + r * stage.store_stride + c);
}

/// Runs all stages on what is at hand of row r, from column c on.
template <int kVector>
__device__ void run_epilogue(const Epilogue& epilogue, std::int64_t r, std::uint32_t c, float* at_hand) {
  for (int i = 0; i < epilogue.count; ++i) run_stage<kVector>(epilogue.stages[i], epilogue.step, r, c, at_hand);
}

inline bool by_fours(const PlaceOperand& operand) {
  return operand.columns == 1 ? lie_together(operand.data, operand.stride) : operand.columns % 4 == 0;
}
inline bool by_fours(const EpilogueStage& stage) {
  bool all = lie_together(stage.store, stage.store_stride);
  for (int o = 0; o < stage.operand_count; ++o)
    all = all && ((stage.at_hand >> o & 1) != 0 || by_fours(stage.operands[o]));
  return all;
}
inline bool by_fours(const Epilogue& epilogue) {
  bool all = true;
  for (int i = 0; i < epilogue.count; ++i) all = all && by_fours(epilogue.stages[i]);
  return all;
}

/// What follows a kernel that takes an epilogue.
inline Epilogue epilogue_of(const DeviceContext& context) {
  if (context.epilogue == nullptr) return {};
  Epilogue epilogue = *context.epilogue;
  epilogue.step = context.step;
  return epilogue;
}

template <int kVector>
__global__ void run_stages(const __grid_constant__ EpilogueStage first, const __grid_constant__ Epilogue rest,
                           std::int64_t rows, std::int64_t cols) {
  const auto across = static_cast<std::uint32_t>(cols / kVector);
  for (std::int64_t i = first_item(); i < rows * across; i += item_step()) {
    const std::int64_t r = i / across;
    const auto c = static_cast<std::uint32_t>(i - r * across) * kVector;
    float at_hand[kVector] = {};
    run_stage<kVector>(first, rest.step, r, c, at_hand);
    run_epilogue<kVector>(rest, r, c, at_hand);
  }
}

/// An elementwise op over a result of this shape, and what follows it.
inline void launch_stages(const DeviceContext& context, const EpilogueStage& first, std::int64_t rows,
                          std::int64_t cols) {
  Epilogue rest = epilogue_of(context);
  rest.step = context.step;
  const std::int64_t places = rows * cols;
  if (cols % 4 == 0 && by_fours(first) && by_fours(rest)) {
    launch(context, run_stages<4>, launch_over(context, places / 4), first, rest, rows, cols);
  } else {
    launch(context, run_stages<1>, launch_over(context, places), first, rest, rows, cols);
  }
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
