// Dense products in three orientations by tiles: a block makes 32 x 32 elements of the result, from tiles of both
// operands in shared memory. A thread adds four elements up in registers, in the order of the inner dimension.
//
// The weight gradient (tn) has a small result and a long inner dimension: that is cut into chunks of fixed length,
// whose partial results a second kernel adds in order.
#include "kernels/cuda/half.h"
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

constexpr std::int64_t kTile = 32;
constexpr unsigned kGemmThreads = 256;
constexpr std::int64_t kRowsOfThread = kTile * kTile / kGemmThreads;
constexpr std::int64_t kPadded = kTile + 1;  // a column of a tile lies in 32 banks
constexpr std::int64_t kInnerChunk = 2048;   // of the inner dimension of tn

/// Element (r, c) of an operand of c = a * b lies at data[r * row_step + c * col_step], or in 16 bits at halves[…].
struct Operand {
  const float* data;
  const std::uint16_t* halves;
  HalfType type;
  std::int64_t row_step;
  std::int64_t col_step;

  __device__ float at(std::int64_t r, std::int64_t c) const {
    const std::int64_t place = r * row_step + c * col_step;
    return type == HalfType::kNone ? data[place] : widen(type, halves[place]);
  }
};

struct Product {
  Operand a;
  Operand b;
  const float* addend;  ///< or null
  std::int64_t addend_step;
  float* c;
  std::int64_t c_step;
  std::int64_t chunk_step;  ///< from the result of one chunk to that of the next
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t chunk;
  std::int64_t tiles_m;
  std::int64_t tiles_n;
};

/// A tile of an operand that starts at (r0, c0), zeros beyond (rows, cols). Neighbouring threads read neighbours.
__device__ void load_tile(float* tile, const Operand& from, std::int64_t r0, std::int64_t c0, std::int64_t rows,
                          std::int64_t cols) {
  const bool along_rows = from.col_step == 1;
  for (std::int64_t t = threadIdx.x; t < kTile * kTile; t += kGemmThreads) {
    const std::int64_t r = along_rows ? t / kTile : t % kTile;
    const std::int64_t c = along_rows ? t % kTile : t / kTile;
    const bool inside = r0 + r < rows && c0 + c < cols;
    tile[r * kPadded + c] = inside ? from.at(r0 + r, c0 + c) : 0.0F;
  }
}

__global__ void multiply_tiles(Product p) {
  auto* a_tile = shared_memory<float>();
  float* b_tile = a_tile + kTile * kPadded;
  const std::int64_t block = blockIdx.x;
  const std::int64_t part = block / (p.tiles_m * p.tiles_n);
  const std::int64_t tile = block - part * p.tiles_m * p.tiles_n;
  const std::int64_t i0 = tile / p.tiles_n * kTile;
  const std::int64_t j0 = tile % p.tiles_n * kTile;
  const std::int64_t row =
      threadIdx.x / kTile;  // of the thread's first element; the others lie kGemmThreads / kTile below
  const std::int64_t col = threadIdx.x % kTile;
  const std::int64_t end = (part + 1) * p.chunk < p.k ? (part + 1) * p.chunk : p.k;
  float sums[kRowsOfThread];
  for (std::int64_t s = 0; s < kRowsOfThread; ++s) {
    const std::int64_t i = i0 + row + s * (kGemmThreads / kTile);
    const bool inside = p.addend != nullptr && i < p.m && j0 + col < p.n;
    sums[s] = inside ? p.addend[i * p.addend_step + j0 + col] : 0.0F;
  }
  for (std::int64_t k0 = part * p.chunk; k0 < end; k0 += kTile) {
    load_tile(a_tile, p.a, i0, k0, p.m, end);
    load_tile(b_tile, p.b, k0, j0, end, p.n);
    __syncthreads();
    for (std::int64_t k = 0; k < kTile; ++k) {
      const float b = b_tile[k * kPadded + col];
      for (std::int64_t s = 0; s < kRowsOfThread; ++s) {
        sums[s] = fmaf(a_tile[(row + s * (kGemmThreads / kTile)) * kPadded + k], b, sums[s]);
      }
    }
    __syncthreads();
  }
  for (std::int64_t s = 0; s < kRowsOfThread; ++s) {
    const std::int64_t i = i0 + row + s * (kGemmThreads / kTile);
    if (i < p.m && j0 + col < p.n) p.c[part * p.chunk_step + i * p.c_step + j0 + col] = sums[s];
  }
}

__global__ void join_parts(const float* partials, std::int64_t parts, MatrixView<float, Space::kDevice> c) {
  const std::int64_t size = c.rows * c.cols;
  for (std::int64_t i = first_item(); i < size; i += item_step()) {
    float sum = 0;
    for (std::int64_t part = 0; part < parts; ++part) sum += partials[part * size + i];
    const std::int64_t r = i / c.cols;
    c.data[r * c.stride + (i - r * c.cols)] = sum;
  }
}

std::int64_t parts_of(const OnDevice<GemmArgs>& args) {
  if (args.orientation != Orientation::kTN) return 1;
  return std::max<std::int64_t>(1, (args.a.rows + kInnerChunk - 1) / kInnerChunk);
}

}  // namespace

std::size_t gemm_workspace(const OnDevice<GemmArgs>& args) {
  const std::int64_t parts = parts_of(args);
  return parts == 1 ? 0 : static_cast<std::size_t>(parts * args.c.rows * args.c.cols) * sizeof(float);
}

void gemm(const DeviceContext& context, const OnDevice<GemmArgs>& args) {
  const bool a_transposed = args.orientation == Orientation::kTN;
  const bool b_transposed = args.orientation == Orientation::kNT;
  const std::int64_t parts = parts_of(args);
  Product p{};
  const std::int64_t a_stride = args.a_half.type == HalfType::kNone ? args.a.stride : args.a_half.stride;
  p.a = {args.a.data, args.a_half.data, args.a_half.type, a_transposed ? 1 : a_stride, a_transposed ? a_stride : 1};
  p.b = {args.b.data, nullptr, HalfType::kNone, b_transposed ? 1 : args.b.stride, b_transposed ? args.b.stride : 1};
  p.addend = args.addend.rows == 0 ? nullptr : args.addend.data;
  p.addend_step = args.addend.rows == 1 ? 0 : args.addend.stride;
  p.m = args.c.rows;
  p.n = args.c.cols;
  p.k = a_transposed ? args.a.rows : args.a.cols;
  p.chunk = parts == 1 ? p.k : kInnerChunk;
  p.c = parts == 1 ? args.c.data : reinterpret_cast<float*>(context.workspace.data);
  p.c_step = parts == 1 ? args.c.stride : p.n;
  p.chunk_step = p.m * p.n;
  p.tiles_m = (p.m + kTile - 1) / kTile;
  p.tiles_n = (p.n + kTile - 1) / kTile;
  const std::size_t shared_bytes = 2 * static_cast<std::size_t>(kTile * kPadded) * sizeof(float);
  launch(context, multiply_tiles, Launch{p.tiles_m * p.tiles_n * parts, kGemmThreads, shared_bytes}, p);
  if (parts == 1) return;
  launch(context, join_parts, launch_over(context, p.m * p.n), reinterpret_cast<const float*>(context.workspace.data),
         parts, args.c);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
