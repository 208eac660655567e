// The contract of gemm: what its arguments must be, and what runs it.
#include "kernels/gemm.h"

#include "base/error.h"
#include "kernels/chunks.h"
#include "kernels/contract.h"
#include "kernels/onednn/onednn.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "gemm";

std::string_view onednn_declines(const GemmArgs<float>& args) {
  if (args.a_half.used()) return "it reads f32 only";
  return onednn::version().empty() ? "its library is not installed" : std::string_view();
}

template <class T>
void check(const Context& context, const GemmArgs<T>& args) {
  const bool a_transposed = args.orientation == Orientation::kTN;
  const bool b_transposed = args.orientation == Orientation::kNT;
  expect_equal(kOp, a_transposed ? rows_of("a", args.a) : cols_of("a", args.a),
               b_transposed ? cols_of("b", args.b) : rows_of("b", args.b));
  const std::int64_t m = a_transposed ? args.a.cols : args.a.rows;
  const std::int64_t n = b_transposed ? args.b.rows : args.b.cols;
  expect_shape(kOp, "c", args.c, m, n);
  if (args.addend.rows != 0) {
    GNEISS_CHECK(!a_transposed, ErrorCode::kShape, "gemm: tn takes no addend");
    expect_equal(kOp, cols_of("addend", args.addend), cols_of("c", args.c));
    expect_broadcast(kOp, "addend", args.addend, "c", args.c);
  }
  expect_workspace(kOp, context,
                   gemm_workspace_bytes(args.orientation, args.c.rows, args.c.cols,
                                        a_transposed ? args.a.rows : args.a.cols, sizeof(T)));
}

template <class T>
constexpr std::array kVariants = {f32_variant<GemmArgs<T>>("cpu", cpu::gemm, cpu::gemm_bands),
                                  f32_variant<GemmArgs<T>>("onednn", onednn::gemm, nullptr, onednn_declines),
                                  reference_variant<GemmArgs<T>>(reference::gemm<T>)};

}  // namespace

std::size_t gemm_workspace_bytes(Orientation orientation, std::int64_t m, std::int64_t n, std::int64_t k,
                                 std::size_t value_bytes) {
  if (value_bytes != sizeof(float)) return 0;
  if (orientation != Orientation::kTN) return static_cast<std::size_t>(k * num_chunks(n, 16) * 16) * value_bytes;
  const std::int64_t chunks = gemm_tn_chunks(m, n, k);
  return chunks <= 1 ? 0 : static_cast<std::size_t>(chunks * m * n) * value_bytes;
}

GNEISS_CONTRACT(gemm, GemmArgs)

}  // namespace gneiss::kernels
