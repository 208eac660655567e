// The contract of cross_entropy: what its arguments must be, and what runs it.
#include "kernels/cross_entropy.h"

#include "base/error.h"
#include "kernels/chunks.h"
#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "cross_entropy";

/// Throws kBadData unless the labels of the counted rows are -1 or a class (null data is not read).
void expect_labels(std::span<const std::int32_t> labels, std::span<const NodeId> rows, std::int64_t classes) {
  if (labels.data() == nullptr || rows.data() == nullptr) return;
  for (const NodeId row : rows) {
    const std::int32_t label = labels[static_cast<std::size_t>(row)];
    GNEISS_CHECK(label >= -1 && label < classes, ErrorCode::kBadData,
                 "cross_entropy: row {} has label {}, expected -1 .. {}", row, label, classes - 1);
  }
}

template <class T>
void check(const Context& context, const CrossEntropyArgs<T>& args) {
  const std::int64_t n = args.logits.rows;
  const std::int64_t classes = args.logits.cols;
  if (args.dlogits.rows > 0) expect_shape(kOp, "dlogits", args.dlogits, n, classes);
  expect_shape(kOp, "loss", args.loss, 1, 1);
  expect_equal(kOp, length_of("labels", args.labels), rows_of("logits", args.logits));
  expect_row_list(kOp, args.rows, n);
  expect_labels(args.labels, args.rows, classes);
  if (!args.class_weights.empty())
    expect_equal(kOp, length_of("class_weights", args.class_weights), cols_of("logits", args.logits));
  GNEISS_CHECK(args.label_smoothing >= 0 && args.label_smoothing <= 1, ErrorCode::kUsage,
               "cross_entropy: label_smoothing is {}, expected 0 <= label_smoothing <= 1", args.label_smoothing);
  expect_workspace(kOp, context, loss_workspace_bytes(n));
}

template <class T>
constexpr std::array kVariants = {f32_variant<CrossEntropyArgs<T>>("cpu", cpu::cross_entropy, cpu::cross_entropy_bands),
                                  reference_variant<CrossEntropyArgs<T>>(reference::cross_entropy<T>)};

}  // namespace

std::size_t loss_workspace_bytes(std::int64_t n) {
  return static_cast<std::size_t>(2 * reduction_chunks(n)) * sizeof(double);
}

GNEISS_CONTRACT(cross_entropy, CrossEntropyArgs)

}  // namespace gneiss::kernels
