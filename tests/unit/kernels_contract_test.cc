// What each contract refuses, word for word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/adam_step.h"
#include "kernels/arg_sources.h"
#include "kernels/batch_norm.h"
#include "kernels/batch_norm_grad.h"
#include "kernels/batch_norm_inference.h"
#include "kernels/batch_norm_update.h"
#include "kernels/bce_with_logits.h"
#include "kernels/binary.h"
#include "kernels/clip_norm.h"
#include "kernels/column_groups.h"
#include "kernels/copy_columns.h"
#include "kernels/cross_entropy.h"
#include "kernels/dropout.h"
#include "kernels/edge_softmax.h"
#include "kernels/edge_softmax_grad.h"
#include "kernels/extreme_grad.h"
#include "kernels/fill.h"
#include "kernels/gather.h"
#include "kernels/gemm.h"
#include "kernels/layer_norm.h"
#include "kernels/layer_norm_grad.h"
#include "kernels/mse.h"
#include "kernels/sddmm.h"
#include "kernels/segment_arg_grad.h"
#include "kernels/segment_reduce.h"
#include "kernels/sgd_step.h"
#include "kernels/spmm.h"
#include "kernels/spmm_arg_grad.h"
#include "kernels/spmm_arg_weight_grad.h"
#include "kernels/spx_gemm.h"
#include "kernels/sum_rows.h"
#include "kernels/to_dense.h"
#include "kernels/to_float.h"
#include "kernels/to_half.h"
#include "kernels/unary.h"
#include "kernels/unary_grad.h"

namespace gneiss::kernels {
namespace {

/// Storage behind every argument, large enough for all of them.
struct Store {
  std::vector<double> numbers = std::vector<double>(64, 1.0);
  std::vector<float> targets = std::vector<float>(64, 1.0F);
  std::vector<std::int32_t> integers = std::vector<std::int32_t>(64, 0);
  // 3 rows, 2 columns, 3 entries: row 0 has columns 0 and 1, row 2 has column 1.
  std::vector<EdgeId> offsets = {0, 2, 2, 3};
  std::vector<NodeId> indices = {0, 1, 1};
  // Its transpose.
  std::vector<EdgeId> t_offsets = {0, 1, 3};
  std::vector<NodeId> t_indices = {0, 0, 2};
  std::vector<EdgeId> t_slots = {0, 1, 2};
  std::vector<std::int64_t> node_ids = {5, 3, 8};
  std::vector<std::byte> scratch = std::vector<std::byte>(1 << 16);

  SparsePattern pattern() const { return {3, 2, offsets, indices, {}}; }
  SparsePattern transposed() const { return {2, 3, t_offsets, t_indices, t_slots}; }
  MatrixView<double> matrix(std::int64_t rows, std::int64_t cols) { return {numbers.data(), rows, cols}; }
  MatrixView<std::int32_t> arg(std::int64_t rows, std::int64_t cols) { return {integers.data(), rows, cols}; }
  ConstMatrixView<float> target(std::int64_t rows, std::int64_t cols) { return {targets.data(), rows, cols}; }
  std::span<const std::int64_t> ids(std::size_t size) const { return std::span(node_ids).first(size); }
  std::span<double> list(std::size_t size) { return {numbers.data(), size}; }
  std::span<const std::int32_t> labels(std::size_t size) const { return {integers.data(), size}; }
  Context context() { return {1, scratch}; }
};

struct Refusal {
  std::string message;
  std::function<void(Store&)> call;
  ErrorCode code = ErrorCode::kShape;
};

void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.message; }

class Contracts : public ::testing::TestWithParam<Refusal> {};

TEST_P(Contracts, Refuse) {
  Store store;
  try {
    GetParam().call(store);
    FAIL() << "taken: " << GetParam().message;
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), GetParam().message);
    EXPECT_EQ(error.code(), GetParam().code);
  }
}

template <class Args>
std::function<void(Store&)> calls(void (*op)(const Context&, const Args&), std::function<Args(Store&)> args) {
  return [op, args](Store& s) { op(s.context(), args(s)); };
}

SpmmArgs<double> good_spmm(Store& s) { return {s.pattern(), s.matrix(2, 4), {}, 1, Reduce::kSum, s.matrix(3, 4), {}}; }

/// A refusal of spmm with one thing changed.
Refusal spmm_refusal(std::string message, std::function<void(Store&, SpmmArgs<double>&)> change) {
  return {std::move(message), [change](Store& s) {
            SpmmArgs<double> args = good_spmm(s);
            change(s, args);
            spmm(s.context(), args);
          }};
}

std::vector<Refusal> graph_refusals() {
  return {
      spmm_refusal("spmm: x has 5 rows, the pattern has 2 columns", [](Store& s, auto& a) { a.x = s.matrix(5, 4); }),
      spmm_refusal("spmm: y has 2 rows, the pattern has 3 rows", [](Store& s, auto& a) { a.y = s.matrix(2, 4); }),
      spmm_refusal("spmm: y has 3 columns, x has 4 columns", [](Store& s, auto& a) { a.y = s.matrix(3, 3); }),
      spmm_refusal("spmm: x has 4 columns, which 3 heads do not divide", [](Store&, auto& a) { a.heads = 3; }),
      spmm_refusal("spmm: x has 4 columns, which 0 heads do not divide", [](Store&, auto& a) { a.heads = 0; }),
      spmm_refusal("spmm: w has 4 values, the pattern has 3 entries x heads",
                   [](Store& s, auto& a) { a.w = s.list(4); }),
      spmm_refusal("spmm: scales is 2x1, expected 3x1", [](Store& s, auto& a) { a.scales = s.matrix(2, 1); }),
      spmm_refusal("spmm: rows of sums and means are scaled, not of extremes",
                   [](Store& s, auto& a) {
                     a.scales = s.matrix(3, 1);
                     a.reduce = Reduce::kMax;
                   }),
      spmm_refusal("spmm: arg is 2x4, expected 3x4", [](Store& s, auto& a) { a.arg = s.arg(2, 4); }),
      spmm_refusal("spmm: the pattern has 2 rows and 4 offsets, expected 3",
                   [](Store&, auto& a) { a.pattern.rows = 2; }),
      spmm_refusal("spmm: the offsets end at 3, there are 2 edges",
                   [](Store&, auto& a) { a.pattern.indices = a.pattern.indices.first(2); }),
      spmm_refusal("spmm: the list of slots has 2 values, the pattern has 3 entries",
                   [](Store& s, auto& a) { a.pattern.slots = std::span(s.t_slots).first(2); }),
      {"spmm_arg_grad: in_offsets has 3 values, the pattern has 4 columns + 1",
       calls<SpmmArgGradArgs<double>>(
           spmm_arg_grad,
           [](Store& s) -> SpmmArgGradArgs<double> {
             return {s.transposed(), std::span(s.offsets).first(3), s.arg(3, 2), s.matrix(3, 2), {}, s.matrix(2, 2)};
           })},
      {"spmm_arg_grad: the list of slots has 0 values, the pattern has 3 entries",
       calls<SpmmArgGradArgs<double>>(spmm_arg_grad,
                                      [](Store& s) -> SpmmArgGradArgs<double> {
                                        SparsePattern pattern = s.transposed();
                                        pattern.slots = {};
                                        return {pattern, s.offsets, s.arg(3, 2), s.matrix(3, 2), {}, s.matrix(2, 2)};
                                      })},
      {"spmm_arg_grad: dx is 3x2, expected 2x2",
       calls<SpmmArgGradArgs<double>>(spmm_arg_grad,
                                      [](Store& s) -> SpmmArgGradArgs<double> {
                                        return {s.transposed(), s.offsets, s.arg(3, 2),
                                                s.matrix(3, 2), {},        s.matrix(3, 2)};
                                      })},
      {"spmm_arg_grad: ids has 3 values, the pattern has 2 rows",
       calls<SpmmArgGradArgs<double>>(spmm_arg_grad,
                                      [](Store& s) -> SpmmArgGradArgs<double> {
                                        return {s.transposed(), {},      s.arg(3, 2), s.matrix(3, 2), {},
                                                s.matrix(2, 2), s.ids(3)};
                                      })},
      {"spmm_arg_grad: w has 3 values, a sum by ids has 0 weights",
       calls<SpmmArgGradArgs<double>>(spmm_arg_grad,
                                      [](Store& s) -> SpmmArgGradArgs<double> {
                                        return {s.transposed(), {},      s.arg(3, 2), s.matrix(3, 2), s.list(3),
                                                s.matrix(2, 2), s.ids(2)};
                                      })},
      {"arg_sources: ids has 3 values, the pattern has 2 columns",
       calls<ArgSourcesArgs<double>>(arg_sources,
                                     [](Store& s) -> ArgSourcesArgs<double> {
                                       return {s.pattern(), s.ids(3), s.arg(3, 2), {}, {}, s.arg(3, 2), {}};
                                     })},
      {"arg_sources: source is 3x1, expected 3x2",
       calls<ArgSourcesArgs<double>>(arg_sources,
                                     [](Store& s) -> ArgSourcesArgs<double> {
                                       return {s.pattern(), s.ids(2), s.arg(3, 2), {}, {}, s.arg(3, 1), {}};
                                     })},
      {"arg_sources: w has 2 values, the pattern has 3 entries",
       calls<ArgSourcesArgs<double>>(arg_sources,
                                     [](Store& s) -> ArgSourcesArgs<double> {
                                       return {s.pattern(), s.ids(2),    s.arg(3, 2),   s.matrix(3, 2),
                                               s.list(2),   s.arg(3, 2), s.matrix(3, 2)};
                                     })},
      {"arg_sources: weighed is 0x0, expected 3x2",
       calls<ArgSourcesArgs<double>>(arg_sources,
                                     [](Store& s) -> ArgSourcesArgs<double> {
                                       return {s.pattern(), s.ids(2),    s.arg(3, 2), s.matrix(3, 2),
                                               s.list(3),   s.arg(3, 2), {}};
                                     })},
      {"spmm_arg_weight_grad: dw has 2 values, the pattern has 3 entries",
       calls<SpmmArgWeightGradArgs<double>>(
           spmm_arg_weight_grad,
           [](Store& s) -> SpmmArgWeightGradArgs<double> {
             return {s.pattern(), s.arg(3, 2), s.matrix(3, 2), s.matrix(2, 2), s.list(2)};
           })},
      {"sddmm: the pattern names slots, expected the in-edges in their own order",
       calls<SddmmArgs<double>>(sddmm,
                                [](Store& s) -> SddmmArgs<double> {
                                  return {s.transposed(), s.matrix(2, 4), s.matrix(3, 4), 2, s.matrix(3, 2)};
                                })},
      {"sddmm: e is 3x1, expected 3x2",
       calls<SddmmArgs<double>>(sddmm,
                                [](Store& s) -> SddmmArgs<double> {
                                  return {s.pattern(), s.matrix(3, 4), s.matrix(2, 4), 2, s.matrix(3, 1)};
                                })},
      {"fill: weights has 2 values, y has 3 rows",
       calls<FillArgs<double>>(fill,
                               [](Store& s) -> FillArgs<double> {
                                 return {Fill::kEdgeWeights, 0, std::span(s.targets).first(2), nullptr, s.matrix(3, 1)};
                               })},
      {"fill: y has 2 rows, the pattern has 3 rows",
       [](Store& s) {
         const SparsePattern pattern = s.pattern();
         fill(s.context(), FillArgs<double>{Fill::kDegrees, 0, {}, &pattern, s.matrix(2, 1)});
       }},
      {"edge_softmax: the offsets end at 3, there are 4 edges",
       calls<EdgeSoftmaxArgs<double>>(edge_softmax,
                                      [](Store& s) -> EdgeSoftmaxArgs<double> {
                                        return {s.offsets, s.matrix(4, 2), s.matrix(4, 2)};
                                      })},
      {"edge_softmax: there are 0 offsets, expected one more than rows",
       calls<EdgeSoftmaxArgs<double>>(edge_softmax,
                                      [](Store& s) -> EdgeSoftmaxArgs<double> {
                                        return {{}, s.matrix(4, 2), s.matrix(4, 2)};
                                      })},
      {"edge_softmax_grad: da is 2x2, expected 3x2",
       calls<EdgeSoftmaxGradArgs<double>>(edge_softmax_grad,
                                          [](Store& s) -> EdgeSoftmaxGradArgs<double> {
                                            return {s.offsets, s.matrix(3, 2), s.matrix(2, 2), s.matrix(3, 2)};
                                          })},
      {"gather: x has 2 rows, the pattern has 3 rows",
       calls<GatherArgs<double>>(gather,
                                 [](Store& s) -> GatherArgs<double> {
                                   return {s.pattern(), false, s.matrix(2, 4), s.matrix(3, 4)};
                                 })},
      {"segment_reduce: e has 2 rows, the pattern has 3 entries",
       calls<SegmentReduceArgs<double>>(segment_reduce,
                                        [](Store& s) -> SegmentReduceArgs<double> {
                                          return {s.pattern(), s.matrix(2, 4), Reduce::kSum, s.matrix(3, 4), {}};
                                        })},
      {"segment_arg_grad: dy has 3 rows + 1, offsets has 4 values",
       calls<SegmentArgGradArgs<double>>(segment_arg_grad,
                                         [](Store& s) -> SegmentArgGradArgs<double> {
                                           return {s.offsets, s.arg(2, 4), s.matrix(2, 4), s.matrix(3, 4)};
                                         })},
      {"spx_gemm: b has 3 rows, the pattern has 2 columns",
       calls<SpxGemmArgs<double>>(spx_gemm,
                                  [](Store& s) -> SpxGemmArgs<double> {
                                    return {s.pattern(), s.list(3), s.matrix(3, 4), s.matrix(3, 4)};
                                  })},
      {"to_dense: values has 2 values, the pattern has 3 entries",
       calls<ToDenseArgs<double>>(to_dense,
                                  [](Store& s) -> ToDenseArgs<double> {
                                    return {s.pattern(), s.list(2), s.matrix(3, 2)};
                                  })},
      {"to_float: x is not in 16 bits", calls<ToFloatArgs<double>>(to_float,
                                                                   [](Store& s) -> ToFloatArgs<double> {
                                                                     return {{}, s.matrix(3, 2)};
                                                                   })},
      {"to_half: y is not in 16 bits", calls<ToHalfArgs<double>>(to_half,
                                                                 [](Store& s) -> ToHalfArgs<double> {
                                                                   return {s.matrix(3, 2), {}};
                                                                 })},
      {"spmm: 16-bit values are summed or averaged over one head",
       calls<SpmmArgs<double>>(spmm,
                               [](Store& s) -> SpmmArgs<double> {
                                 SpmmArgs<double> args{s.pattern(),  s.matrix(2, 4), {}, 2,
                                                       Reduce::kSum, s.matrix(3, 4), {}};
                                 args.x_half = {HalfType::kBf16, nullptr, 4};
                                 return args;
                               })},
      {"spmm: 16-bit results need 16-bit values", calls<SpmmArgs<double>>(spmm,
                                                                          [](Store& s) -> SpmmArgs<double> {
                                                                            SpmmArgs<double> args{
                                                                                s.pattern(),  s.matrix(2, 4), {}, 1,
                                                                                Reduce::kSum, s.matrix(3, 4), {}};
                                                                            args.y_half = {HalfType::kF16, nullptr, 4};
                                                                            return args;
                                                                          })},
  };
}

std::vector<Refusal> dense_refusals() {
  return {
      {"gemm: a has 4 columns, b has 3 rows",
       calls<GemmArgs<double>>(gemm,
                               [](Store& s) -> GemmArgs<double> {
                                 return {s.matrix(2, 4), s.matrix(3, 5), s.matrix(2, 5), Orientation::kNN};
                               })},
      {"gemm: a has 2 rows, b has 3 rows",
       calls<GemmArgs<double>>(gemm,
                               [](Store& s) -> GemmArgs<double> {
                                 return {s.matrix(2, 4), s.matrix(3, 5), s.matrix(4, 5), Orientation::kTN};
                               })},
      {"gemm: a has 4 columns, b has 5 columns",
       calls<GemmArgs<double>>(gemm,
                               [](Store& s) -> GemmArgs<double> {
                                 return {s.matrix(2, 4), s.matrix(3, 5), s.matrix(2, 3), Orientation::kNT};
                               })},
      {"gemm: c is 2x4, expected 2x5",
       calls<GemmArgs<double>>(gemm,
                               [](Store& s) -> GemmArgs<double> {
                                 return {s.matrix(2, 3), s.matrix(3, 5), s.matrix(2, 4), Orientation::kNN};
                               })},
      {"unary: y is 2x2, expected 2x3",
       calls<UnaryArgs<double>>(unary,
                                [](Store& s) -> UnaryArgs<double> {
                                  return {Unary::kRelu, 0, 0, s.matrix(2, 3), s.matrix(2, 2)};
                                })},
      {"unary_grad: dx is 2x2, expected 2x3",
       calls<UnaryGradArgs<double>>(unary_grad,
                                    [](Store& s) -> UnaryGradArgs<double> {
                                      return {Unary::kRelu, 0, s.matrix(2, 3), s.matrix(2, 3), s.matrix(2, 2)};
                                    })},
      {"unary_grad: log has no gradient in terms of its output",
       calls<UnaryGradArgs<double>>(unary_grad,
                                    [](Store& s) -> UnaryGradArgs<double> {
                                      return {Unary::kLog, 0, s.matrix(2, 3), s.matrix(2, 3), s.matrix(2, 3)};
                                    }),
       ErrorCode::kUnsupported},
      {"binary: b is 2x2, which does not broadcast to c, 2x3",
       calls<BinaryArgs<double>>(binary,
                                 [](Store& s) -> BinaryArgs<double> {
                                   return {Binary::kAdd, s.matrix(2, 3), s.matrix(2, 2), s.matrix(2, 3)};
                                 })},
      {"binary: a is 1x3, expected 2x3",
       calls<BinaryArgs<double>>(binary,
                                 [](Store& s) -> BinaryArgs<double> {
                                   return {Binary::kMaximum, s.matrix(1, 3), s.matrix(2, 3), s.matrix(2, 3)};
                                 })},
      {"extreme_grad: dy is 1x3, expected 2x3",
       calls<ExtremeGradArgs<double>>(extreme_grad,
                                      [](Store& s) -> ExtremeGradArgs<double> {
                                        return {true,           true,           s.matrix(2, 3),
                                                s.matrix(2, 3), s.matrix(1, 3), s.matrix(2, 3)};
                                      })},
      {"dropout: p is 1.5, expected 0 <= p <= 1",
       calls<DropoutArgs<double>>(dropout,
                                  [](Store& s) -> DropoutArgs<double> {
                                    return {1.5, 0, 0, 0, {}, nullptr, nullptr, s.matrix(2, 3), s.matrix(2, 3)};
                                  }),
       ErrorCode::kUsage},
      {"dropout: row_ids has 1 values, x has 2 rows with an id",
       calls<DropoutArgs<double>>(dropout,
                                  [](Store& s) -> DropoutArgs<double> {
                                    static const std::int64_t ids[1] = {};
                                    return {0.5, 0, 0, 0, ids, nullptr, nullptr, s.matrix(2, 3), s.matrix(2, 3)};
                                  })},
      {"sum_rows: y is 2x3, expected 1x3", calls<SumRowsArgs<double>>(sum_rows,
                                                                      [](Store& s) -> SumRowsArgs<double> {
                                                                        return {s.matrix(4, 3), s.matrix(2, 3)};
                                                                      })},
      {"column_groups: x has 5 columns, which 2 heads do not divide",
       calls<ColumnGroupsArgs<double>>(column_groups,
                                       [](Store& s) -> ColumnGroupsArgs<double> {
                                         return {ColumnGroups::kSumGroups, 2, s.matrix(2, 5), s.matrix(2, 2)};
                                       })},
      {"column_groups: y has 2 columns, a head of the wide side has 3 columns",
       calls<ColumnGroupsArgs<double>>(column_groups,
                                       [](Store& s) -> ColumnGroupsArgs<double> {
                                         return {ColumnGroups::kSumHeads, 2, s.matrix(2, 6), s.matrix(2, 2)};
                                       })},
      {"copy_columns: columns 2 .. 5 are asked of src, which has 4",
       calls<CopyColumnsArgs<double>>(copy_columns,
                                      [](Store& s) -> CopyColumnsArgs<double> {
                                        return {s.matrix(2, 4), 2, s.matrix(2, 6), 0, 3};
                                      })},
      {"batch_norm: gamma is 1x2, expected 1x3",
       calls<BatchNormArgs<double>>(batch_norm,
                                    [](Store& s) -> BatchNormArgs<double> {
                                      return {s.matrix(4, 3), s.matrix(1, 2), s.matrix(1, 3), 1e-5,
                                              s.matrix(4, 3), s.matrix(1, 3), s.matrix(1, 3)};
                                    })},
      {"batch_norm: the workspace has 0 bytes, expected 128",
       [](Store& s) {
         batch_norm<double>({}, {s.matrix(4, 3), s.matrix(1, 3), s.matrix(1, 3), 1e-5, s.matrix(4, 3), s.matrix(1, 3),
                                 s.matrix(1, 3)});
       },
       ErrorCode::kInternal},
      {"batch_norm_grad: dbeta is 3x1, expected 1x3",
       calls<BatchNormGradArgs<double>>(batch_norm_grad,
                                        [](Store& s) -> BatchNormGradArgs<double> {
                                          return {s.matrix(4, 3), s.matrix(1, 3), s.matrix(1, 3),
                                                  s.matrix(1, 3), s.matrix(4, 3), 1e-5,
                                                  s.matrix(4, 3), s.matrix(1, 3), s.matrix(3, 1)};
                                        })},
      {"batch_norm_inference: var is 1x4, expected 1x3",
       calls<BatchNormInferenceArgs<double>>(batch_norm_inference,
                                             [](Store& s) -> BatchNormInferenceArgs<double> {
                                               return {s.matrix(4, 3), s.matrix(1, 3), s.matrix(1, 3), s.matrix(1, 3),
                                                       s.matrix(1, 4), 1e-5,           s.matrix(4, 3)};
                                             })},
      {"batch_norm_update: n is -1, expected rows >= 0",
       calls<BatchNormUpdateArgs<double>>(
           batch_norm_update,
           [](Store& s) -> BatchNormUpdateArgs<double> {
             return {-1, 0.1, s.matrix(1, 3), s.matrix(1, 3), s.matrix(1, 3), s.matrix(1, 3)};
           })},
      {"layer_norm: mean is 1x1, expected 4x1",
       calls<LayerNormArgs<double>>(layer_norm,
                                    [](Store& s) -> LayerNormArgs<double> {
                                      return {false, s.matrix(4, 3), s.matrix(1, 3), s.matrix(1, 3),
                                              1e-5,  s.matrix(4, 3), s.matrix(1, 1), s.matrix(4, 1)};
                                    })},
      {"layer_norm_grad: var is 4x1, expected 1x1",
       calls<LayerNormGradArgs<double>>(layer_norm_grad,
                                        [](Store& s) -> LayerNormGradArgs<double> {
                                          return {true,           s.matrix(4, 3), s.matrix(1, 3), s.matrix(1, 1),
                                                  s.matrix(4, 1), s.matrix(4, 3), 1e-5,           s.matrix(4, 3),
                                                  s.matrix(1, 3), s.matrix(1, 3)};
                                        })},
  };
}

CrossEntropyArgs<double> good_cross_entropy(Store& s) {
  static const NodeId rows[] = {0, 2};
  return {s.matrix(4, 3), s.labels(4), rows, {}, 0, s.matrix(1, 1), s.matrix(4, 3)};
}

std::vector<Refusal> training_refusals() {
  const auto cross_entropy_refusal = [](std::string message,
                                        std::function<void(Store&, CrossEntropyArgs<double>&)> change,
                                        ErrorCode code = ErrorCode::kShape) -> Refusal {
    return {std::move(message),
            [change](Store& s) {
              CrossEntropyArgs<double> args = good_cross_entropy(s);
              change(s, args);
              cross_entropy(s.context(), args);
            },
            code};
  };
  static const NodeId descending[] = {2, 0};
  static const NodeId outside[] = {0, 4};
  return {
      cross_entropy_refusal("cross_entropy: labels has 3 values, logits has 4 rows",
                            [](Store& s, auto& a) { a.labels = s.labels(3); }),
      cross_entropy_refusal(
          "cross_entropy: row 2 has label 3, expected -1 .. 2", [](Store& s, auto&) { s.integers[2] = 3; },
          ErrorCode::kBadData),
      cross_entropy_refusal("cross_entropy: entry 1 of the row list is 0, expected ascending rows below 4",
                            [](Store&, auto& a) { a.rows = descending; }),
      cross_entropy_refusal("cross_entropy: entry 1 of the row list is 4, expected ascending rows below 4",
                            [](Store&, auto& a) { a.rows = outside; }),
      cross_entropy_refusal("cross_entropy: class_weights has 2 values, logits has 3 columns",
                            [](Store& s, auto& a) { a.class_weights = std::span(s.targets).first(2); }),
      cross_entropy_refusal(
          "cross_entropy: label_smoothing is 2, expected 0 <= label_smoothing <= 1",
          [](Store&, auto& a) { a.label_smoothing = 2; }, ErrorCode::kUsage),
      {"bce_with_logits: targets is 4x2, expected 4x3",
       calls<BceWithLogitsArgs<double>>(bce_with_logits,
                                        [](Store& s) -> BceWithLogitsArgs<double> {
                                          return {s.matrix(4, 3), s.target(4, 2), {}, s.matrix(1, 1), s.matrix(4, 3)};
                                        })},
      {"mse: loss is 2x1, expected 1x1",
       calls<MseArgs<double>>(mse,
                              [](Store& s) -> MseArgs<double> {
                                return {s.matrix(4, 3), s.target(4, 3), {}, s.matrix(2, 1), s.matrix(4, 3)};
                              })},
      {"sgd_step: g has 3 values, w has 4 values",
       calls<SgdStepArgs<double>>(
           sgd_step, [](Store& s) -> SgdStepArgs<double> { return {1, 0.1, 0, 0, false, s.list(4), s.list(3), {}}; })},
      {"sgd_step: velocity has 0 values, w has 4 values",
       calls<SgdStepArgs<double>>(
           sgd_step,
           [](Store& s) -> SgdStepArgs<double> { return {1, 0.1, 0.9, 0, false, s.list(4), s.list(4), {}}; })},
      {"adam_step: v has 3 values, w has 4 values",
       calls<AdamStepArgs<double>>(adam_step,
                                   [](Store& s) -> AdamStepArgs<double> {
                                     return {1,     0.1,       0.9,       0.99,      1e-8,     0,
                                             false, s.list(4), s.list(4), s.list(4), s.list(3)};
                                   })},
      {"clip_norm: there is no place for the norm",
       calls<ClipNormArgs<double>>(clip_norm,
                                   [](Store& s) -> ClipNormArgs<double> {
                                     return {1, s.list(4), nullptr};
                                   }),
       ErrorCode::kInternal},
  };
}

INSTANTIATE_TEST_SUITE_P(Graph, Contracts, ::testing::ValuesIn(graph_refusals()));
INSTANTIATE_TEST_SUITE_P(Dense, Contracts, ::testing::ValuesIn(dense_refusals()));
INSTANTIATE_TEST_SUITE_P(Training, Contracts, ::testing::ValuesIn(training_refusals()));

TEST(ContractHints, SpmmHintsAtReorderedFeatures) {
  Store s;
  SpmmArgs<double> args = good_spmm(s);
  args.x = s.matrix(5, 4);
  try {
    spmm(s.context(), args);
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.hint(), "was the graph reordered without its features?");
  }
}

}  // namespace
}  // namespace gneiss::kernels
