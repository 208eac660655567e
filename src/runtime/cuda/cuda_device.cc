// A card by CUDA's runtime: one stream, plain allocations. The runtime is linked into the program; the driver is the
// machine's, and what is wrong with it is said when a card is first asked for.
//
// CUDA's runtime has a current card for each thread, and several devices may be on several cards: whatever a device
// does chooses its card first, whichever thread asks, memory that is given back too.
#include <cuda_runtime.h>

#include <cstring>

#include "base/error.h"
#include "runtime/cards.h"
#include "runtime/device.h"
#include "runtime/nvrtc.h"

namespace gneiss::runtime {
namespace {

constexpr int kLeastMajor = 8;  // of compute capability

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

[[noreturn]] void throw_unsupported(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kUnsupported, what, "--device", hint);
}

constexpr const char* kOthersTookIt = "end what else runs on the card";

/// Of work that has begun. `card`: whose; -1 of none.
void check(cudaError_t status, const char* doing, int card = -1) {
  if (status == cudaSuccess) return;
  const std::string what = fmt::format("{} failed while {}: {}", card < 0 ? "CUDA" : fmt::format("cuda:{}", card),
                                       doing, cudaGetErrorString(status));
  if (status == cudaErrorMemoryAllocation) throw Error(ErrorCode::kOutOfMemory, what, "--device", kOthersTookIt);
  throw Error(ErrorCode::kInternal, what);
}

/// Of what comes before any work: a driver that does not work, or a card that takes none.
void check_usable(cudaError_t status, const char* doing, Asker asker) {
  if (status == cudaSuccess || status == cudaErrorMemoryAllocation) return check(status, doing);
  throw_unsupported(fmt::format("no card can be used: {} fails with '{}'", doing, cudaGetErrorString(status)),
                    fmt::format("see what nvidia-smi says, or use {}", in_its_place(asker)));
}

/// The same of one card.
void check_usable(cudaError_t status, const char* doing, Asker asker, int card) {
  if (status == cudaSuccess || status == cudaErrorMemoryAllocation) return check(status, doing, card);
  throw_unsupported(fmt::format("cuda:{} cannot be used: {} fails with '{}'", card, doing, cudaGetErrorString(status)),
                    fmt::format("see what nvidia-smi says, or use {}", in_its_place(asker)));
}

/// Of memory between processes, which containers and some systems do not allow.
void check_shared(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  throw_unsupported(
      fmt::format("processes cannot share a card's memory: {} fails with '{}'", doing, cudaGetErrorString(status)),
      "leave --processes out: devices are threads then, to the same bits");
}

/// How many cards there are. Errors: kUnsupported for a machine without driver or with one that is too old or does not
/// work.
int count_cards(Asker asker) {
  int found = 0;
  int needed = 0;
  check_usable(cudaDriverGetVersion(&found), "asking for the driver's version", asker);
  check_usable(cudaRuntimeGetVersion(&needed), "asking for the runtime's version", asker);
  if (found == 0) {
    throw_unsupported(
        "there is no CUDA driver on this machine",
        fmt::format("install NVIDIA's driver for CUDA {} or use {}", version_text(needed), in_its_place(asker)));
  }
  if (found / 1000 < needed / 1000) {
    throw_unsupported(
        fmt::format("the driver is for CUDA {}, CUDA {} is needed", version_text(found), version_text(needed)),
        fmt::format("update the driver or use {}", in_its_place(asker)));
  }
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0))
    throw_unsupported("this machine has no CUDA card", fmt::format("use {}", in_its_place(asker)));
  check_usable(status, "counting cards", asker);
  return count;
}

bool is_too_old(const cudaDeviceProp& properties) { return properties.major < kLeastMajor; }

/// The card of a machine that has `count`.
void check_there(int card, int count, Asker asker) {
  if (card < count) return;
  throw Error(ErrorCode::kUsage, fmt::format("there is no card cuda:{}: this machine has {}", card, count), "--device",
              fmt::format("use cuda:0 to cuda:{} or {}", count - 1, in_its_place(asker)));
}

cudaDeviceProp properties_of(int card, Asker asker) {
  cudaDeviceProp properties{};
  check_usable(cudaGetDeviceProperties(&properties, card), "asking for its properties", asker, card);
  return properties;
}

void check_new_enough(int card, const cudaDeviceProp& properties, Asker asker) {
  if (!is_too_old(properties)) return;
  throw_unsupported(fmt::format("card {}, {}, has compute capability {}.{}; {}.0 is needed", card, properties.name,
                                properties.major, properties.minor, kLeastMajor),
                    fmt::format("use a newer card or {}", in_its_place(asker)));
}

std::string name_of(int card, const cudaDeviceProp& properties) {
  return fmt::format("{} (cuda:{})", properties.name, card);
}

void choose_card(int card) { check(cudaSetDevice(card), "being chosen", card); }

/// A CUDA graph made of what a stream captured.
class CudaRecording : public Recording {
 public:
  CudaRecording(cudaGraph_t graph, int card, cudaStream_t stream) : graph_(graph), card_(card), stream_(stream) {
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
    if (status != cudaSuccess) cudaGraphDestroy(graph);  // no destructor runs
    check(status, "making a graph of a step", card_);
  }
  CudaRecording(const CudaRecording&) = delete;
  CudaRecording& operator=(const CudaRecording&) = delete;
  ~CudaRecording() override {
    cudaSetDevice(card_);
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  void replay() override {
    choose_card(card_);
    check(cudaGraphLaunch(executable_, stream_), "running a step", card_);
  }

 private:
  cudaGraph_t graph_;
  int card_;
  cudaStream_t stream_;
  cudaGraphExec_t executable_ = nullptr;
};

#if CUDART_VERSION >= 12080
/// Kernels that NVRTC made for a card.
class CudaModule : public DeviceModule {
 public:
  explicit CudaModule(const std::string& code) {
    check(cudaLibraryLoadData(&library_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          "loading compiled loops");
  }
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;
  ~CudaModule() override { cudaLibraryUnload(library_); }

  ItemKernel kernel(const std::string& name) override {
    cudaKernel_t found = nullptr;
    check(cudaLibraryGetKernel(&found, library_, name.c_str()), "looking for a compiled loop");
    return [found](const kernels::DeviceContext& context, std::int64_t items, std::span<const std::byte> arguments) {
      const ItemGrid grid = grid_for(context, items);
      void* list[] = {const_cast<std::byte*>(arguments.data())};
      const cudaError_t status =
          cudaLaunchKernel(reinterpret_cast<const void*>(found), dim3(grid.blocks), dim3(grid.threads), list, 0,
                           static_cast<cudaStream_t>(context.stream));
      if (status != cudaSuccess) kernels::throw_not_launched(cudaGetErrorString(status));
    };
  }

 private:
  cudaLibrary_t library_ = nullptr;
};
#endif

class CudaDevice : public Device {
 public:
  CudaDevice(int number, Asker asker) : number_(number), properties_(properties_of(number, asker)) {
    check_new_enough(number, properties_, asker);
    check_usable(cudaSetDevice(number), "choosing it", asker, number);
    check_usable(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream", asker, number);
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice() override {
    cudaSetDevice(number_);
    cudaStreamDestroy(stream_);
  }

  std::string name() const override { return name_of(number_, properties_); }
  std::string driver() const override {
    int version = 0;
    check(cudaDriverGetVersion(&version), "asking for the driver's version");
    return "driver for CUDA " + version_text(version);
  }
  const kernels::DeviceKernels& kernels() const override { return *kernels::cuda_kernels(); }

  void* allocate(std::int64_t bytes) override {
    choose();
    void* data = nullptr;
    const cudaError_t status = cudaMalloc(&data, static_cast<std::size_t>(bytes));
    if (status == cudaErrorMemoryAllocation) {
      const DeviceRoom now = whole_room();
      throw Error(ErrorCode::kOutOfMemory,
                  fmt::format("{} has no {} bytes left: {} of {} bytes are free", name(), bytes, now.free_bytes,
                              now.total_bytes),
                  "--device", fmt::format("{}, or use {}", kOthersTookIt, in_its_place(asker())));
    }
    check(status, "giving memory", number_);
    return data;
  }
  void release(void* data) noexcept override {
    cudaSetDevice(number_);
    cudaFree(data);
  }
  void* allocate_far(std::int64_t bytes) override {
    choose();
    void* data = nullptr;  // the same address here and there
    const cudaError_t status = cudaHostAlloc(&data, static_cast<std::size_t>(bytes), cudaHostAllocPortable);
    if (status == cudaErrorMemoryAllocation)
      throw Error(ErrorCode::kOutOfMemory, fmt::format("the host cannot pin {} bytes for {}", bytes, name()));
    check(status, "pinning memory", number_);
    return data;
  }
  void release_far(void* data) noexcept override { cudaFreeHost(data); }

  MemoryHandle share(void* data) override {
    static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(MemoryHandle::bytes));
    choose();
    cudaIpcMemHandle_t handle{};
    check_shared(cudaIpcGetMemHandle(&handle, data), "sharing memory");
    MemoryHandle made;
    std::memcpy(made.bytes.data(), &handle, made.bytes.size());
    return made;
  }
  void* open_shared(const MemoryHandle& given, std::int64_t /*bytes*/) override {
    choose();
    cudaIpcMemHandle_t handle{};
    std::memcpy(&handle, given.bytes.data(), given.bytes.size());
    void* data = nullptr;
    check_shared(cudaIpcOpenMemHandle(&data, handle, cudaIpcMemLazyEnablePeerAccess), "opening another's memory");
    return data;
  }
  void close_shared(void* data, std::int64_t /*bytes*/) noexcept override {
    cudaSetDevice(number_);
    cudaIpcCloseMemHandle(data);
  }

  void upload(void* to, const void* from, std::int64_t bytes) override {
    choose();
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, stream_), "copying",
          number_);
    wait();
  }
  void download(void* to, const void* from, std::int64_t bytes) override {
    choose();
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, stream_), "copying",
          number_);
    wait();
  }
  void fill(void* to, unsigned char byte, std::int64_t bytes) override {
    choose();
    check(cudaMemsetAsync(to, byte, static_cast<std::size_t>(bytes), stream_), "filling memory", number_);
  }
  kernels::DeviceContext context() override {
    constexpr std::int64_t kBlocksOfProcessor = 8;  // of 256 threads
    choose();
    kernels::DeviceContext context;
    context.stream = stream_;
    context.most_blocks = properties_.multiProcessorCount * kBlocksOfProcessor;
    return context;
  }
  void wait() override {
    choose();
    check(cudaStreamSynchronize(stream_), "running kernels", number_);
  }

#if CUDART_VERSION >= 12080
  std::unique_ptr<DeviceModule> compile(const CppText& text, const std::string& /*emulated_options*/) override {
    const std::string architecture = fmt::format("sm_{}{}", properties_.major, properties_.minor);
    return std::make_unique<CudaModule>(compile_for_card(text, architecture).code);
  }
#endif

  void begin_recording() override {
    choose();
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "recording a step", number_);
  }
  std::unique_ptr<Recording> end_recording() override {
    choose();
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream_, &graph), "recording a step", number_);
    return std::make_unique<CudaRecording>(graph, number_, stream_);
  }

 protected:
  DeviceRoom whole_room() override {
    choose();
    std::size_t available = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&available, &total), "asking for its memory", number_);
    return {static_cast<std::int64_t>(available), static_cast<std::int64_t>(total)};
  }

 private:
  void choose() const { choose_card(number_); }

  int number_;
  cudaDeviceProp properties_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace

Cards find_cards() {
  Cards found;
  int count = 0;
  int driver = 0;
  try {
    count = count_cards(Asker::kCommand);
    check(cudaDriverGetVersion(&driver), "asking for the driver's version");
  } catch (const Error& error) {
    found.driver = fmt::format("none: {}{}{}", error.message(), error.hint().empty() ? "" : "; ", error.hint());
    return found;
  }
  found.driver = "driver for CUDA " + version_text(driver);
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, i), "asking for a card's properties");
    constexpr double kGiB = 1 << 30;
    std::string line =
        fmt::format("cuda:{}, {}, compute capability {}.{}, {:.1f} GiB", i, properties.name, properties.major,
                    properties.minor, static_cast<double>(properties.totalGlobalMem) / kGiB);
    if (is_too_old(properties)) line += fmt::format("; not used: {}.0 is needed", kLeastMajor);
    found.cards.push_back(std::move(line));
  }
  return found;
}

std::vector<int> usable_cards(Asker asker) {
  const int count = count_cards(asker);
  std::vector<int> usable;
  for (int card = 0; card < count; ++card) {
    if (!is_too_old(properties_of(card, asker))) usable.push_back(card);
  }
  return usable;
}

void check_card(int card, Asker asker) {
  check_there(card, count_cards(asker), asker);
  check_new_enough(card, properties_of(card, asker), asker);
}

std::string card_name(int card) { return name_of(card, properties_of(card, Asker::kCommand)); }

bool card_reads(int card, int other) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, card, other), "asking which cards read each other's memory");
  return can != 0;
}

void let_card_read(int card, int other) {
  choose_card(card);
  const cudaError_t status = cudaDeviceEnablePeerAccess(other, 0);
  if (status == cudaSuccess) return;
  cudaGetLastError();  // forgets it: who asks next would take it for its own
  if (status == cudaErrorPeerAccessAlreadyEnabled) return;
  throw_unsupported(
      fmt::format("cuda:{} cannot read the memory of cuda:{}: {}", card, other, cudaGetErrorString(status)),
      "use --device cuda:0, which puts all devices on one card, or fewer --devices");
}

std::unique_ptr<Device> open_cuda(int number, Asker asker) {
  check_there(number, count_cards(asker), asker);
  return std::make_unique<CudaDevice>(number, asker);
}

}  // namespace gneiss::runtime
