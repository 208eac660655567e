// The cards that cuda_runtime.h describes. A stream is what the emulation keeps launches in; the first failure stays,
// as on a card. Kernels have a pass before them that looks at every word of their arguments: one that lies in memory of
// a card has to lie where the current card may read.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cuda_runtime.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/variants.h"

using gneiss::kernels::emulated::Launches;

struct TestStream {
  Launches launches;  ///< first: what a kernel's context takes for the stream
  int card = 0;
};
struct TestGraph {
  Launches launches;
};

namespace {

constexpr std::size_t kTotal = std::size_t{1} << 30;

std::string text_of(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

/// The text between two commas.
std::string text_for(const char* name, int card) {
  std::string text = text_of(name);
  for (; card > 0 && text.find(',') != std::string::npos; --card) text.erase(0, text.find(',') + 1);
  return text.substr(0, text.find(','));
}

std::size_t number(const char* name, int card, std::size_t otherwise) {
  const std::string text = text_for(name, card);
  return text.empty() ? otherwise : std::strtoull(text.c_str(), nullptr, 10);
}

bool is_no(const char* name) { return text_of(name) == "no"; }

int card_count() { return static_cast<int>(number("TEST_CARD_COUNT", 0, 1)); }

/// Memory is a file without a name, which other processes can open.
struct Taken {
  std::size_t bytes = 0;
  int file = -1;
  int card = 0;
};

/// Memory of another process, for the card that was current when it was opened.
struct Opened {
  std::size_t bytes = 0;
  int card = 0;
};

struct State {
  State() {
    for (int card = 0; card < card_count(); ++card) left.push_back(number("TEST_CARD_FREE", card, kTotal));
    now.resize(left.size());
    most.resize(left.size());
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    const std::string path = text_of("TEST_CARD_TAKEN");
    std::FILE* const file = path.empty() ? nullptr : std::fopen(path.c_str(), "w");
    if (file == nullptr) return;
    for (const std::size_t bytes : most) std::fprintf(file, "%zu\n", bytes);
    std::fclose(file);
  }

  std::mutex mutex;  ///< of all that is no atomic
  std::atomic<cudaError_t> failed = cudaSuccess;
  std::size_t products = 0;
  std::vector<std::size_t> left;  ///< [cards]
  std::vector<std::size_t> now;   ///< [cards] what is taken
  std::vector<std::size_t> most;  ///< [cards] at any time
  std::map<const char*, Taken> taken;
  std::map<const char*, Opened> opened;
  std::set<std::pair<int, int>> reads;  ///< card, another whose memory it was let read
};
State& state() {
  static State one;
  return one;
}

thread_local int current = 0;
thread_local cudaError_t last = cudaSuccess;

cudaError_t refuse(cudaError_t status) { return last = status; }

/// A fault of work, which stays.
void fail(cudaError_t status) {
  cudaError_t none = cudaSuccess;
  state().failed.compare_exchange_strong(none, status);
}

bool are_apart(int card, int other) {
  const std::string pairs = text_of("TEST_CARD_APART");
  if (pairs == "all") return true;
  const std::string pair = std::to_string(std::min(card, other)) + "-" + std::to_string(std::max(card, other));
  return ("," + pairs + ",").find("," + pair + ",") != std::string::npos;
}

/// May work on the current card touch what lies there? Memory of the host may be.
bool may_touch(const void* at) {
  State& cards = state();
  const std::lock_guard<std::mutex> lock(cards.mutex);
  const auto* const byte = static_cast<const char*>(at);
  const auto piece_with = [&](const auto& pieces) {
    auto found = pieces.upper_bound(byte);
    if (found == pieces.begin()) return pieces.end();
    --found;
    return byte < found->first + found->second.bytes ? found : pieces.end();
  };
  if (const auto found = piece_with(cards.taken); found != cards.taken.end())
    return found->second.card == current || cards.reads.count({current, found->second.card}) != 0;
  if (const auto found = piece_with(cards.opened); found != cards.opened.end()) return found->second.card == current;
  return true;
}

/// As may_touch, of every word that is a pointer.
bool may_touch_all(const void* data, std::size_t bytes) {
  for (std::size_t at = 0; at + sizeof(void*) <= bytes; at += sizeof(void*)) {
    const void* word = nullptr;
    std::memcpy(&word, static_cast<const char*>(data) + at, sizeof(word));
    if (word != nullptr && !may_touch(word)) return false;
  }
  return true;
}

/// What a call on a stream gives while another card is current; else what has failed before.
cudaError_t status_on(const TestStream* stream) {
  if (stream->card != current) return refuse(cudaErrorInvalidResourceHandle);
  return state().failed;
}

}  // namespace

namespace gneiss::kernels {
namespace {

using Gemm = OnDevice<GemmArgs>;

/// Runs behind each product, also in a replay.
__global__ void count_product() {
  State& cards = state();
  const std::lock_guard<std::mutex> lock(cards.mutex);
  if (++cards.products == number("TEST_CARD_FAULT", 0, 0)) fail(cudaErrorIllegalAddress);
}

/// Throws what a launch on the wrong card is told at once; notes a fault where its kernel would read beyond its card.
template <class Args>
void look_at(const DeviceContext& context, const Args& args) {
  const auto* const stream = static_cast<const TestStream*>(context.stream);
  if (stream->card != current) throw_not_launched(cudaGetErrorString(cudaErrorInvalidResourceHandle));
  if (const cudaError_t before = cudaGetLastError(); before != cudaSuccess)
    throw_not_launched(cudaGetErrorString(before));
  bool may = may_touch_all(&args, sizeof(args)) && may_touch(context.workspace.data);
  if constexpr (requires { args.peers; })
    may = may && may_touch_all(args.peers.data, args.peers.size * sizeof(*args.peers.data));
  if (!may) fail(cudaErrorIllegalAddress);
}

template <class Args>
void run_on_card(const DeviceContext& context, const Args& args) {
  look_at(context, args);
  if (state().failed != cudaSuccess) return;
  find_kernel<Args>(emulated_kernels()).run(context, args);
  if constexpr (std::is_same_v<Args, Gemm>) emulated::launch(context, count_product, Launch{1, 1, 0});
}

template <class... Args>
DeviceKernels on_cards(std::tuple<DeviceKernel<Args>...> kernels) {
  ((std::get<DeviceKernel<Args>>(kernels).run = run_on_card<Args>), ...);
  return kernels;
}

}  // namespace

const DeviceKernels* cuda_kernels() {
  static const DeviceKernels kernels = on_cards(emulated_kernels());
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
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorPeerAccessUnsupported:
      return "peer access is not supported between these two devices";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorPeerAccessAlreadyEnabled:
      return "peer access is already enabled";
    case cudaErrorNotSupported:
      return "operation not supported";
    case cudaErrorSystemNotReady:
      return "system not yet initialized";
  }
  return "unrecognized error code";
}

cudaError_t cudaGetLastError() { return std::exchange(last, cudaSuccess); }

cudaError_t cudaDriverGetVersion(int* version) {
  *version = static_cast<int>(number("TEST_CARD_DRIVER", 0, CUDART_VERSION));
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = card_count();
  return is_no("TEST_CARD_COUNTS") ? cudaErrorSystemNotReady : cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= card_count()) return refuse(cudaErrorInvalidDevice);
  std::string capability = text_for("TEST_CARD_CAPABILITY", device);
  if (capability.empty()) capability = "9.0";
  *properties = {};
  std::strcpy(properties->name, "test card");
  properties->major = std::atoi(capability.c_str());
  properties->minor = std::atoi(capability.c_str() + capability.find('.') + 1);
  properties->multiProcessorCount = 1;
  properties->totalGlobalMem = kTotal;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= card_count()) return refuse(cudaErrorInvalidDevice);
  if (is_no("TEST_CARD_OPENS")) return cudaErrorDevicesUnavailable;
  thread_local bool has_chosen = false;
  if (!has_chosen || text_of("TEST_CARD_FORGETS") != "choice") current = device;
  has_chosen = true;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (std::max(device, peer) >= card_count()) return refuse(cudaErrorInvalidDevice);
  *can = device != peer && !are_apart(device, peer) ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned /*flags*/) {
  if (peer == current || peer >= card_count()) return refuse(cudaErrorInvalidDevice);
  if (are_apart(current, peer)) return refuse(cudaErrorPeerAccessUnsupported);
  if (text_of("TEST_CARD_FORGETS") == "peers") return cudaSuccess;
  State& cards = state();
  const std::lock_guard<std::mutex> lock(cards.mutex);
  return cards.reads.insert({current, peer}).second ? cudaSuccess : refuse(cudaErrorPeerAccessAlreadyEnabled);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  if (state().left[static_cast<std::size_t>(current)] == 0) return cudaErrorMemoryAllocation;
  *stream = new TestStream{{}, current};
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (stream->card != current) std::abort();  // nobody looks at what a destructor gets
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return status_on(stream); }

cudaError_t cudaMemGetInfo(std::size_t* available, std::size_t* total) {
  State& cards = state();
  const std::lock_guard<std::mutex> lock(cards.mutex);
  *available = cards.left[static_cast<std::size_t>(current)];
  *total = kTotal;
  return cards.failed;
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  State& cards = state();
  const std::lock_guard<std::mutex> lock(cards.mutex);
  std::size_t& left = cards.left[static_cast<std::size_t>(current)];
  left = std::min(left, number("TEST_CARD_LEFT", current, left));
  if (bytes > left) return cudaErrorMemoryAllocation;
  const int file = memfd_create("test card", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) std::abort();
  *data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (*data == MAP_FAILED) std::abort();
  std::memset(*data, 0xFF, bytes);  // what nobody writes is NaN
  left -= bytes;
  std::size_t& now = cards.now[static_cast<std::size_t>(current)];
  now += bytes;
  std::size_t& most = cards.most[static_cast<std::size_t>(current)];
  most = std::max(most, now);
  cards.taken[static_cast<const char*>(*data)] = {bytes, file, current};
  return cards.failed;
}
cudaError_t cudaFree(void* data) {
  State& cards = state();
  const std::lock_guard<std::mutex> lock(cards.mutex);
  const auto found = cards.taken.find(static_cast<const char*>(data));
  if (found == cards.taken.end() || found->second.card != current) std::abort();  // as of streams
  cards.left[static_cast<std::size_t>(current)] += found->second.bytes;
  cards.now[static_cast<std::size_t>(current)] -= found->second.bytes;
  munmap(data, found->second.bytes);
  close(found->second.file);
  cards.taken.erase(found);
  return cards.failed;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* data) {
  State& cards = state();
  const std::lock_guard<std::mutex> lock(cards.mutex);
  const auto found = cards.taken.find(static_cast<const char*>(data));
  if (found == cards.taken.end() || found->second.card != current) return refuse(cudaErrorInvalidValue);
  if (is_no("TEST_CARD_SHARES")) return cudaErrorNotSupported;
  std::snprintf(handle->reserved, sizeof handle->reserved, "%c/proc/%d/fd/%d", static_cast<char>(current), getpid(),
                found->second.file);
  return cards.failed;
}
cudaError_t cudaIpcOpenMemHandle(void** data, cudaIpcMemHandle_t handle, unsigned flags) {
  State& cards = state();
  const std::lock_guard<std::mutex> lock(cards.mutex);
  const int owner = handle.reserved[0];
  const bool can = owner == current || ((flags & cudaIpcMemLazyEnablePeerAccess) != 0 && !are_apart(owner, current));
  if (!can) return refuse(cudaErrorPeerAccessUnsupported);
  const int file = open(handle.reserved + 1, O_RDONLY | O_CLOEXEC);
  struct stat about {};
  if (file < 0 || fstat(file, &about) != 0) return cudaErrorInvalidValue;
  const auto bytes = static_cast<std::size_t>(about.st_size);
  *data = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  cards.opened[static_cast<const char*>(*data)] = {bytes, current};
  return cards.failed;
}
cudaError_t cudaIpcCloseMemHandle(void* data) {
  State& cards = state();
  const std::lock_guard<std::mutex> lock(cards.mutex);
  const auto found = cards.opened.find(static_cast<const char*>(data));
  if (found == cards.opened.end() || found->second.card != current) std::abort();  // as of streams
  munmap(data, found->second.bytes);
  cards.opened.erase(found);
  return cards.failed;
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
                            cudaStream_t stream) {
  if (!may_touch(to) || !may_touch(from)) fail(cudaErrorIllegalAddress);
  const cudaError_t status = status_on(stream);
  if (status == cudaSuccess) std::memcpy(to, from, bytes);
  return status;
}
cudaError_t cudaMemsetAsync(void* to, int byte, std::size_t bytes, cudaStream_t stream) {
  if (!may_touch(to)) fail(cudaErrorIllegalAddress);
  const cudaError_t status = status_on(stream);
  if (status == cudaSuccess) std::memset(to, byte, bytes);
  return status;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode /*mode*/) {
  stream->launches.begin();
  return status_on(stream);
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  stream->launches.end();
  *graph = new TestGraph{stream->launches};
  stream->launches = {};
  return status_on(stream);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long /*flags*/) {
  *made = new TestGraph(*graph);
  return state().failed;
}
/// Returns before its kernels have run, on a card: their failure shows later.
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  if (const cudaError_t status = status_on(stream); status != cudaSuccess) return status;
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
