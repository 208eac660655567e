// Dense products through oneDNN, cut into fixed blocks of rows.
//
// oneDNN's own threading may split sums by the number of threads, so every call is single-threaded and covers one
// block; the loop over blocks is ours. nn and nt cut the rows of c; tn cuts the inner rows into at most 32 chunks,
// keeps one partial c a chunk in the workspace and adds them in order. Block sizes come from the shape alone.
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include "base/error.h"
#include "kernels/chunks.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

namespace gneiss::kernels::cpu {
namespace {

/// Keeps oneDNN to one thread when a block is not inside a parallel loop.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread() { omp_set_num_threads(before_); }

 private:
  int before_;
};

struct Operand {
  char transposed;
  const float* data;
  std::int64_t stride;
};

/// c [m,n] = a * b with inner size k, on one thread. Row-major, as dnnl_sgemm is.
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const Operand& a, const Operand& b, float* c,
              std::int64_t c_stride) {
  const OneThread guard;
  dnnl_sgemm(a.transposed, b.transposed, m, n, k, 1.0F, a.data, a.stride, b.data, b.stride, 0.0F, c, c_stride);
}

/// Rows of c in one call: some 16 Mflop, so that packing b is cheap against the product.
std::int64_t block_rows(std::int64_t n, std::int64_t k) {
  const std::int64_t rows = (std::int64_t{8} << 20) / std::max<std::int64_t>(1, n * k);
  return std::clamp<std::int64_t>(rows / 64 * 64, 256, 4096);
}

void multiply_row_blocks(const Context& context, const GemmArgs<float>& args) {
  const bool b_transposed = args.orientation == Orientation::kNT;
  const std::int64_t n = args.c.cols;
  const std::int64_t k = args.a.cols;
  const Operand b{b_transposed ? 'T' : 'N', args.b.data, args.b.stride};
  parallel_chunks(context.threads, args.c.rows, block_rows(n, k), [&](std::int64_t begin, std::int64_t end) {
    multiply(end - begin, n, k, {'N', args.a.row(begin), args.a.stride}, b, args.c.row(begin), args.c.stride);
  });
}

/// Adds the partial results in the order of their chunks.
void add_partials(int threads, const float* partials, std::int64_t chunks, const MatrixView<float>& c) {
  const std::int64_t size = c.rows * c.cols;
  parallel_rows(threads, c.rows, c.cols * chunks, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      float* row = c.row(r);
      std::copy_n(partials + r * c.cols, c.cols, row);
      for (std::int64_t chunk = 1; chunk < chunks; ++chunk) {
        const float* partial = partials + chunk * size + r * c.cols;
#pragma omp simd
        for (std::int64_t j = 0; j < c.cols; ++j) row[j] += partial[j];
      }
    }
  });
}

void multiply_inner_chunks(const Context& context, const GemmArgs<float>& args) {
  const std::int64_t m = args.c.rows;
  const std::int64_t n = args.c.cols;
  const std::int64_t k = args.a.rows;
  const std::int64_t chunks = gemm_tn_chunks(m, n, k);
  if (chunks == 1) {
    multiply(m, n, k, {'T', args.a.data, args.a.stride}, {'N', args.b.data, args.b.stride}, args.c.data, args.c.stride);
    return;
  }
  auto* partials = reinterpret_cast<float*>(context.workspace.data());
  parallel_chunks(context.threads, chunks, 1, [&](std::int64_t chunk, std::int64_t) {
    const std::int64_t begin = k * chunk / chunks;
    const std::int64_t end = k * (chunk + 1) / chunks;
    multiply(m, n, end - begin, {'T', args.a.row(begin), args.a.stride}, {'N', args.b.row(begin), args.b.stride},
             partials + chunk * m * n, n);
  });
  add_partials(context.threads, partials, chunks, args.c);
}

}  // namespace

void gemm(const Context& context, const GemmArgs<float>& args) {
  if (args.c.empty()) return;
  const bool a_transposed = args.orientation == Orientation::kTN;
  if ((a_transposed ? args.a.rows : args.a.cols) == 0) {
    for (std::int64_t r = 0; r < args.c.rows; ++r) std::fill_n(args.c.row(r), args.c.cols, 0.0F);
  } else if (a_transposed) {
    multiply_inner_chunks(context, args);
  } else {
    multiply_row_blocks(context, args);
  }
}

}  // namespace gneiss::kernels::cpu
