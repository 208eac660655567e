// Dense products through oneDNN, cut into fixed blocks of rows.
//
// oneDNN's own threading may split sums by the number of threads, so every call is single-threaded and covers one
// block; the loop over blocks is ours. Block sizes come from the shape alone. Its generated code keeps values below the
// stack pointer: a signal handler must not run on a thread that computes.
#include "kernels/onednn/onednn.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include "kernels/gemm_parts.h"

namespace gneiss::kernels::onednn {
namespace {

/// What is called of the library; the file stays loaded until the process ends.
struct Library {
  decltype(&dnnl_sgemm) sgemm = nullptr;
  std::string version;
};

Library load() {
  const std::string file = fmt::format("libdnnl.so.{}", DNNL_VERSION_MAJOR);
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return {};
  const auto sgemm = reinterpret_cast<decltype(&dnnl_sgemm)>(dlsym(handle, "dnnl_sgemm"));
  const auto version = reinterpret_cast<decltype(&dnnl_version)>(dlsym(handle, "dnnl_version"));
  if (sgemm == nullptr || version == nullptr) return {};
  return {sgemm, fmt::format("{}.{}.{}", version()->major, version()->minor, version()->patch)};
}

const Library& library() {
  static const Library loaded = load();
  return loaded;
}

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

/// c = a * b + before * c with inner size k, on one thread. Row-major, as dnnl_sgemm is.
void multiply(const MatrixView<float>& c, std::int64_t k, const Operand& a, const Operand& b, float before = 0.0F) {
  const OneThread guard;
  library().sgemm(a.transposed, b.transposed, c.rows, c.cols, k, 1.0F, a.data, a.stride, b.data, b.stride, before,
                  c.data, c.stride);
}

/// Rows of c in one call: some 16 Mflop, so that packing b is cheap against the product.
std::int64_t block_rows(std::int64_t n, std::int64_t k) {
  const std::int64_t rows = (std::int64_t{8} << 20) / std::max<std::int64_t>(1, n * k);
  return std::clamp<std::int64_t>(rows / 64 * 64, 256, 4096);
}

}  // namespace

const std::string& version() { return library().version; }

void gemm(const Context& context, const GemmArgs<float>& args) {
  if (args.c.empty()) return;
  const bool a_transposed = args.orientation == Orientation::kTN;
  const std::int64_t k = a_transposed ? args.a.rows : args.a.cols;
  if (k == 0) {
    start_rows(args, 0, args.c.rows);
  } else if (a_transposed) {
    sum_inner_chunks(context, args, [&](const MatrixView<float>& part, std::int64_t begin, std::int64_t end) {
      multiply(part, end - begin, {'T', args.a.row(begin), args.a.stride}, {'N', args.b.row(begin), args.b.stride});
    });
  } else {
    const Operand b{args.orientation == Orientation::kNT ? 'T' : 'N', args.b.data, args.b.stride};
    const bool adds = args.addend.rows != 0;
    parallel_chunks(context.threads, args.c.rows, block_rows(args.c.cols, k),
                    [&](std::int64_t begin, std::int64_t end) {
                      if (adds) start_rows(args, begin, end);
                      multiply({args.c.row(begin), end - begin, args.c.cols, args.c.stride}, k,
                               {'N', args.a.row(begin), args.a.stride}, b, adds ? 1.0F : 0.0F);
                    });
  }
}

}  // namespace gneiss::kernels::onednn
