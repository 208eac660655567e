// Dense products in three orientations by tiles: a block makes a tile of the result from tiles of both operands in
// shared memory. A thread adds a few rows by four columns up in registers, in the order of the inner dimension.
//
// The weight gradient (tn) has a small result and a long inner dimension: that is cut into at most kMostParts parts by
// its length alone, whose partial results a second kernel adds in a fixed order.
#include "kernels/cuda/gemm_tf32.h"
#include "kernels/cuda/gemm_tiles.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/sums.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

constexpr std::int64_t kLeastPart = 512;
constexpr std::int64_t kMostParts = 1024;

/// Blocks that a processor is to hold at once, by the elements that a thread adds up.
constexpr int blocks_of_tiles(int elements) { return elements <= 16 ? 3 : 2; }

/// A thread makes kRows rows by kCols columns, of which four lie together.
template <int kTileM, int kTileN, int kRows, int kCols>
__global__ void __launch_bounds__(kGemmThreads, blocks_of_tiles(kRows* kCols))
    multiply_tiles(Product p, const __grid_constant__ Epilogue epilogue) {
  static_assert(kTileM / kRows * (kTileN / kCols) == kGemmThreads);
  constexpr int kPitchM = kTileM + 4;
  constexpr int kColumnFours = kCols / 4;
  auto* a_tile = shared_memory<float>();          // [kTileInner][kPitchM]
  float* b_tile = a_tile + kTileInner * kPitchM;  // [kTileInner][kTileN]
  const std::int64_t block = blockIdx.x;
  const std::int64_t part = block / (p.tiles_m * p.tiles_n);
  const std::int64_t tile = block - part * p.tiles_m * p.tiles_n;
  const std::int64_t i0 = tile / p.tiles_n * kTileM;
  const std::int64_t j0 = tile % p.tiles_n * kTileN;
  const int row = static_cast<int>(threadIdx.x) / (kTileN / kCols) * kRows;
  const int col = static_cast<int>(threadIdx.x) % (kTileN / kCols) * 4;  // of the first four
  constexpr int kNextFour = kTileN / kColumnFours;
  const std::int64_t begin = part * p.part;
  const std::int64_t end = begin + p.part < p.k ? begin + p.part : p.k;
  float sums[kRows][kCols];
  for (int s = 0; s < kRows; ++s) {
    for (int q = 0; q < kCols; ++q) {
      const std::int64_t i = i0 + row + s;
      const std::int64_t j = j0 + col + q / 4 * kNextFour + q % 4;
      sums[s][q] = p.addend != nullptr && i < p.m && j < p.n ? p.addend[i * p.addend_step + j] : 0.0F;
    }
  }
  for (std::int64_t k0 = begin; k0 < end; k0 += kTileInner) {
    load_tile<kTileM, kPitchM>(a_tile, p.a, false, i0, k0, end);
    load_tile<kTileN, kTileN>(b_tile, p.b, true, j0, k0, end);
    __syncthreads();
    for (int k = 0; k < kTileInner; ++k) {
      float a[kRows];
      float b[kCols];
      for (int q = 0; q < kColumnFours; ++q) load_vector<4>(b_tile + k * kTileN + col + q * kNextFour, b + 4 * q);
      if constexpr (kRows % 4 == 0) {
        for (int s = 0; s < kRows; s += 4) load_vector<4>(a_tile + k * kPitchM + row + s, a + s);
      } else {
        for (int s = 0; s < kRows; ++s) a[s] = a_tile[k * kPitchM + row + s];
      }
      for (int s = 0; s < kRows; ++s) {
        for (int q = 0; q < kCols; ++q) sums[s][q] = fmaf(a[s], b[q], sums[s][q]);
      }
    }
    __syncthreads();
  }
  // Results go out by way of shared memory, whole rows of the tile side by side.
  constexpr int kRoom = kTileInner * (kPitchM + kTileN) / kTileN;
  constexpr int kRowsOut = kRoom >= kTileM ? kTileM : kTileM / 2;
  static_assert(kRowsOut <= kRoom);
  for (int first = 0; first < kTileM; first += kRowsOut) {
    for (int s = 0; row >= first && row < first + kRowsOut && s < kRows; ++s) {
      for (int q = 0; q < kCols; ++q) a_tile[(row - first + s) * kTileN + col + q / 4 * kNextFour + q % 4] = sums[s][q];
    }
    __syncthreads();
    for (int t = static_cast<int>(threadIdx.x); t < kRowsOut * kTileN / 4; t += static_cast<int>(kGemmThreads)) {
      const int r = t / (kTileN / 4);
      const int c = t % (kTileN / 4) * 4;
      store_products(p, epilogue, part, i0 + first + r, j0 + c, a_tile + r * kTileN + c);
    }
    __syncthreads();
  }
}

__global__ void join_parts(const float* partials, std::int64_t parts, MatrixView<float, Space::kDevice> c) {
  const std::int64_t size = c.rows * c.cols;
  const std::int64_t i = joined_column();
  const float total = join_chunks(partials, parts, size, i);
  if (threadIdx.x >= kJoinedCols || i >= size) return;
  const std::int64_t r = i / c.cols;
  c.data[r * c.stride + (i - r * c.cols)] = total;
}

/// Inner length of a part.
std::int64_t part_of(const OnDevice<GemmArgs>& args) {
  if (args.orientation != Orientation::kTN) return std::max<std::int64_t>(1, args.a.cols);
  const std::int64_t even = (args.a.rows + kMostParts - 1) / kMostParts;
  return std::max(kLeastPart, (even + kTileInner - 1) / kTileInner * kTileInner);
}

std::int64_t parts_of(const OnDevice<GemmArgs>& args) {
  if (args.orientation != Orientation::kTN) return 1;
  const std::int64_t part = part_of(args);
  return std::max<std::int64_t>(1, (args.a.rows + part - 1) / part);
}

void launch_on_tensor_cores(const DeviceContext& context, Product p, std::int64_t parts, const Epilogue& epilogue) {
  p.tiles_m = (p.m + kTensorTileM - 1) / kTensorTileM;
  p.tiles_n = (p.n + kTensorTileN - 1) / kTensorTileN;
  const Launch shape{p.tiles_m * p.tiles_n * parts, kGemmThreads, kTensorSharedBytes};
  launch(context, multiply_on_tensor_cores, shape, p, epilogue);
}

template <int kTileM, int kTileN, int kRows, int kCols>
void launch_tiles(const DeviceContext& context, Product p, std::int64_t parts, const Epilogue& epilogue) {
  p.tiles_m = (p.m + kTileM - 1) / kTileM;
  p.tiles_n = (p.n + kTileN - 1) / kTileN;
  const std::size_t shared_bytes = static_cast<std::size_t>(kTileInner * (kTileM + 4 + kTileN)) * sizeof(float);
  const Launch shape{p.tiles_m * p.tiles_n * parts, kGemmThreads, shared_bytes};
  launch(context, multiply_tiles<kTileM, kTileN, kRows, kCols>, shape, p, epilogue);
}

Product product_of(const OnDevice<GemmArgs>& args) {
  const bool a_transposed = args.orientation == Orientation::kTN;
  const bool b_transposed = args.orientation == Orientation::kNT;
  Product p{};
  p.m = args.c.rows;
  p.n = args.c.cols;
  p.k = a_transposed ? args.a.rows : args.a.cols;
  const bool halves = args.a_half.type != HalfType::kNone;
  const std::int64_t a_stride = halves ? args.a_half.stride : args.a.stride;
  const bool a_by_fours = !halves && lie_together(args.a.data, args.a.stride);
  p.a = {args.a.data, args.a_half.data, args.a_half.type, a_transposed ? 1 : a_stride, a_transposed ? a_stride : 1, p.m,
         p.k,         a_by_fours};
  p.b = {args.b.data,
         nullptr,
         HalfType::kNone,
         b_transposed ? 1 : args.b.stride,
         b_transposed ? args.b.stride : 1,
         p.k,
         p.n,
         lie_together(args.b.data, args.b.stride)};
  p.addend = args.addend.rows == 0 ? nullptr : args.addend.data;
  p.addend_step = args.addend.rows == 1 ? 0 : args.addend.stride;
  return p;
}

}  // namespace

std::size_t gemm_workspace(const OnDevice<GemmArgs>& args) {
  const std::int64_t parts = parts_of(args);
  return parts == 1 ? 0 : static_cast<std::size_t>(parts * args.c.rows * args.c.cols) * sizeof(float);
}

void gemm(const DeviceContext& context, const OnDevice<GemmArgs>& args) {
  const std::int64_t parts = parts_of(args);
  Product p = product_of(args);
  p.part = part_of(args);
  p.c = parts == 1 ? args.c.data : reinterpret_cast<float*>(context.workspace.data);
  p.c_step = parts == 1 ? args.c.stride : p.n;
  p.part_step = p.m * p.n;
  const Epilogue epilogue = parts == 1 ? epilogue_of(context) : Epilogue{};
  p.stores_fours = lie_together(p.c, p.c_step) && p.part_step % 4 == 0 && by_fours(epilogue);
  if (context.tensor_cores && suits_tensor_cores(p)) {
    launch_on_tensor_cores(context, p, parts, epilogue);
  } else if (p.m <= 32) {
    launch_tiles<32, 32, 1, 4>(context, p, parts, epilogue);
  } else if (p.n <= 32) {
    launch_tiles<128, 32, 4, 4>(context, p, parts, epilogue);
  } else if (p.n <= 64) {
    launch_tiles<128, 64, 8, 4>(context, p, parts, epilogue);
  } else {
    launch_tiles<128, 128, 8, 8>(context, p, parts, epilogue);
  }
  if (parts == 1) return;
  launch(context, join_parts, launch_joins<float>(p.m * p.n), reinterpret_cast<const float*>(context.workspace.data),
         parts, args.c);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
