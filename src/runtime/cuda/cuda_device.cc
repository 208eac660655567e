// A card by CUDA's runtime: one stream, plain allocations. The runtime is linked into the program; the driver is the
// machine's, and what is wrong with it is said when a card is first asked for.
#include <cuda_runtime.h>

#include <cstring>

#include "base/error.h"
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

/// Of work that has begun.
void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  const std::string what = fmt::format("the device failed while {}: {}", doing, cudaGetErrorString(status));
  if (status == cudaErrorMemoryAllocation) throw Error(ErrorCode::kOutOfMemory, what, "--device", kOthersTookIt);
  throw Error(ErrorCode::kInternal, what);
}

/// Of what comes before any work: a driver that does not work, or a card that takes none.
void check_usable(cudaError_t status, const char* doing, Asker asker) {
  if (status == cudaSuccess || status == cudaErrorMemoryAllocation) return check(status, doing);
  throw_unsupported(fmt::format("no card can be used: {} fails with '{}'", doing, cudaGetErrorString(status)),
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

/// A CUDA graph made of what a stream captured.
class CudaRecording : public Recording {
 public:
  CudaRecording(cudaGraph_t graph, cudaStream_t stream) : graph_(graph), stream_(stream) {
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
    if (status != cudaSuccess) cudaGraphDestroy(graph);  // no destructor runs
    check(status, "making a graph of a step");
  }
  CudaRecording(const CudaRecording&) = delete;
  CudaRecording& operator=(const CudaRecording&) = delete;
  ~CudaRecording() override {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  void replay() override { check(cudaGraphLaunch(executable_, stream_), "running a step"); }

 private:
  cudaGraph_t graph_;
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
  CudaDevice(int number, Asker asker) : number_(number) {
    check_usable(cudaGetDeviceProperties(&properties_, number), "asking for a card's properties", asker);
    if (is_too_old(properties_)) {
      throw_unsupported(fmt::format("card {}, {}, has compute capability {}.{}; {}.0 is needed", number,
                                    properties_.name, properties_.major, properties_.minor, kLeastMajor),
                        fmt::format("use a newer card or {}", in_its_place(asker)));
    }
    check_usable(cudaSetDevice(number), "choosing a card", asker);
    check_usable(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream", asker);
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice() override { cudaStreamDestroy(stream_); }

  std::string name() const override { return fmt::format("{} (cuda:{})", properties_.name, number_); }
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
    check(status, "giving memory");
    return data;
  }
  void release(void* data) noexcept override { cudaFree(data); }
  void* allocate_far(std::int64_t bytes) override {
    choose();
    void* data = nullptr;  // the same address here and there
    const cudaError_t status = cudaHostAlloc(&data, static_cast<std::size_t>(bytes), cudaHostAllocPortable);
    if (status == cudaErrorMemoryAllocation)
      throw Error(ErrorCode::kOutOfMemory, fmt::format("the host cannot pin {} bytes for {}", bytes, name()));
    check(status, "pinning memory");
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
  void close_shared(void* data, std::int64_t /*bytes*/) noexcept override { cudaIpcCloseMemHandle(data); }

  void upload(void* to, const void* from, std::int64_t bytes) override {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, stream_), "copying");
    wait();
  }
  void download(void* to, const void* from, std::int64_t bytes) override {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, stream_), "copying");
    wait();
  }
  void fill(void* to, unsigned char byte, std::int64_t bytes) override {
    check(cudaMemsetAsync(to, byte, static_cast<std::size_t>(bytes), stream_), "filling memory");
  }
  kernels::DeviceContext context() override {
    constexpr std::int64_t kBlocksOfProcessor = 8;  // of 256 threads
    choose();
    kernels::DeviceContext context;
    context.stream = stream_;
    context.most_blocks = properties_.multiProcessorCount * kBlocksOfProcessor;
    return context;
  }
  void wait() override { check(cudaStreamSynchronize(stream_), "running kernels"); }

#if CUDART_VERSION >= 12080
  std::unique_ptr<DeviceModule> compile(const CppText& text, const std::string& /*emulated_options*/) override {
    const std::string architecture = fmt::format("sm_{}{}", properties_.major, properties_.minor);
    return std::make_unique<CudaModule>(compile_for_card(text, architecture).code);
  }
#endif

  void begin_recording() override {
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "recording a step");
  }
  std::unique_ptr<Recording> end_recording() override {
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream_, &graph), "recording a step");
    return std::make_unique<CudaRecording>(graph, stream_);
  }

 protected:
  DeviceRoom whole_room() override {
    choose();
    std::size_t available = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&available, &total), "asking for its memory");
    return {static_cast<std::int64_t>(available), static_cast<std::int64_t>(total)};
  }

 private:
  /// Threads choose a card each for themselves; several devices run on as many.
  void choose() const { check(cudaSetDevice(number_), "choosing a card"); }

  int number_;
  cudaDeviceProp properties_{};
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

std::unique_ptr<Device> open_cuda(int number, Asker asker) {
  const int count = count_cards(asker);
  if (number >= count) {
    throw Error(ErrorCode::kUsage, fmt::format("there is no card cuda:{}: this machine has {}", number, count),
                "--device", fmt::format("use cuda:0 to cuda:{} or {}", count - 1, in_its_place(asker)));
  }
  return std::make_unique<CudaDevice>(number, asker);
}

}  // namespace gneiss::runtime
