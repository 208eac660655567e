// The card that cuda_runtime.h describes. Its stream is what the emulation keeps launches in; the first failure stays,
// as on a card.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "cuda_runtime.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/variants.h"

using gneiss::kernels::emulated::Launches;

struct TestStream {
  Launches launches;
};
struct TestGraph {
  Launches launches;
};

namespace {

constexpr std::size_t kTotal = std::size_t{1} << 30;

std::size_t number(const char* name, std::size_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

bool is_no(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr && std::string(text) == "no";
}

/// Memory is a file without a name, which other processes can open.
struct Taken {
  std::size_t bytes = 0;
  int file = -1;
};

struct State {
  std::mutex mutex;  ///< of `left`, `taken` and `opened`
  cudaError_t failed = cudaSuccess;
  std::size_t products = 0;
  std::size_t left = number("TEST_CARD_FREE", kTotal);
  std::map<void*, Taken> taken;
  std::map<void*, std::size_t> opened;  ///< of other processes, with its bytes
};
State& state() {
  static State one;
  return one;
}

}  // namespace

namespace gneiss::kernels {
namespace {

using Gemm = OnDevice<GemmArgs>;

/// Runs behind each product, also in a replay.
__global__ void count_product() {
  if (++state().products == number("TEST_CARD_FAULT", 0)) state().failed = cudaErrorIllegalAddress;
}

void counted_gemm(const DeviceContext& context, const Gemm& args) {
  find_kernel<Gemm>(emulated_kernels()).run(context, args);
  emulated::launch(context, count_product, Launch{1, 1, 0});
}

}  // namespace

const DeviceKernels* cuda_kernels() {
  static const DeviceKernels kernels = [] {
    DeviceKernels made = emulated_kernels();
    std::get<DeviceKernel<Gemm>>(made).run = counted_gemm;
    return made;
  }();
  return &kernels;
}
const DeviceVariants* cuda_variants() { return &emulated_variants(); }

}  // namespace gneiss::kernels

const char* cudaGetErrorString(cudaError_t status) {
  switch (status) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorDevicesUnavailable:
      return "CUDA-capable device(s) is/are busy or unavailable";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorNotSupported:
      return "operation not supported";
    case cudaErrorSystemNotReady:
      return "system not yet initialized";
  }
  return "unrecognized error code";
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return is_no("TEST_CARD_COUNTS") ? cudaErrorSystemNotReady : cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int /*device*/) {
  const char* const asked = std::getenv("TEST_CARD_CAPABILITY");
  const std::string capability = asked == nullptr ? "9.0" : asked;
  *properties = {};
  std::strcpy(properties->name, "test card");
  properties->major = std::atoi(capability.c_str());
  properties->minor = std::atoi(capability.c_str() + capability.find('.') + 1);
  properties->multiProcessorCount = 1;
  properties->totalGlobalMem = kTotal;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int /*device*/) {
  return is_no("TEST_CARD_OPENS") ? cudaErrorDevicesUnavailable : cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  if (state().left == 0) return cudaErrorMemoryAllocation;
  *stream = new TestStream;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t /*stream*/) { return state().failed; }

cudaError_t cudaMemGetInfo(std::size_t* available, std::size_t* total) {
  *available = state().left;
  *total = kTotal;
  return state().failed;
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  State& card = state();
  const std::lock_guard<std::mutex> lock(card.mutex);
  card.left = std::min(card.left, number("TEST_CARD_LEFT", card.left));
  if (bytes > card.left) return cudaErrorMemoryAllocation;
  const int file = memfd_create("test card", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) std::abort();
  *data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (*data == MAP_FAILED) std::abort();
  std::memset(*data, 0xFF, bytes);  // what nobody writes is NaN
  card.left -= bytes;
  card.taken[*data] = {bytes, file};
  return card.failed;
}
cudaError_t cudaFree(void* data) {
  State& card = state();
  const std::lock_guard<std::mutex> lock(card.mutex);
  const auto found = card.taken.find(data);
  card.left += found->second.bytes;
  munmap(data, found->second.bytes);
  close(found->second.file);
  card.taken.erase(found);
  return card.failed;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* data) {
  State& card = state();
  const std::lock_guard<std::mutex> lock(card.mutex);
  const auto found = card.taken.find(data);
  if (found == card.taken.end()) return cudaErrorInvalidValue;
  if (is_no("TEST_CARD_SHARES")) return cudaErrorNotSupported;
  std::snprintf(handle->reserved, sizeof handle->reserved, "/proc/%d/fd/%d", getpid(), found->second.file);
  return card.failed;
}
cudaError_t cudaIpcOpenMemHandle(void** data, cudaIpcMemHandle_t handle, unsigned /*flags*/) {
  State& card = state();
  const std::lock_guard<std::mutex> lock(card.mutex);
  const int file = open(handle.reserved, O_RDONLY | O_CLOEXEC);
  struct stat about {};
  if (file < 0 || fstat(file, &about) != 0) return cudaErrorInvalidValue;
  const auto bytes = static_cast<std::size_t>(about.st_size);
  *data = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  card.opened[*data] = bytes;
  return card.failed;
}
cudaError_t cudaIpcCloseMemHandle(void* data) {
  State& card = state();
  const std::lock_guard<std::mutex> lock(card.mutex);
  const auto found = card.opened.find(data);
  if (found == card.opened.end()) return cudaErrorInvalidValue;
  munmap(data, found->second);
  card.opened.erase(found);
  return card.failed;
}
cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned /*flags*/) {
  *data = std::malloc(bytes);
  return state().failed;
}
cudaError_t cudaFreeHost(void* data) {
  std::free(data);
  return state().failed;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/,
                            cudaStream_t /*stream*/) {
  if (state().failed == cudaSuccess) std::memcpy(to, from, bytes);
  return state().failed;
}
cudaError_t cudaMemsetAsync(void* to, int byte, std::size_t bytes, cudaStream_t /*stream*/) {
  if (state().failed == cudaSuccess) std::memset(to, byte, bytes);
  return state().failed;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode /*mode*/) {
  stream->launches.begin();
  return state().failed;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  stream->launches.end();
  *graph = new TestGraph{stream->launches};
  stream->launches = {};
  return state().failed;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long /*flags*/) {
  *made = new TestGraph(*graph);
  return state().failed;
}
/// Returns before its kernels have run, on a card: their failure shows later.
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t /*stream*/) {
  if (state().failed != cudaSuccess) return state().failed;
  graph->launches.run();
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
