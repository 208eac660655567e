// Devices by name, and the emulation: memory of the host, poisoned when it is taken; kernels run at once. Memory that
// processes share is a file without a name, which others open by the process that has it.
#include "runtime/device.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>

#include "base/buffer.h"
#include "base/error.h"
#include "base/process.h"
#include "kernels/cuda/emulation.h"
#include "runtime/cards.h"

namespace gneiss::runtime {
namespace {

class EmulatedRecording : public Recording {
 public:
  void replay() override { launches.run(); }

  kernels::emulated::Launches launches;
};

class EmulatedModule : public DeviceModule {
 public:
  explicit EmulatedModule(LoadedLibrary library) : library_(std::move(library)) {}
  ItemKernel kernel(const std::string& name) override {
    return emulated_kernel(reinterpret_cast<EmulatedItems>(library_.find(name)));
  }

 private:
  LoadedLibrary library_;
};

[[noreturn]] void throw_not_shared(const char* doing) {
  throw Error(ErrorCode::kUnsupported,
              fmt::format("processes cannot share memory here: {} fails with '{}'", doing, std::strerror(errno)),
              "--processes", "leave it out: devices are threads then, to the same bits");
}

/// Memory of this process that others can open.
class SharedFile {
 public:
  explicit SharedFile(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    file_ = memfd_create("gneiss device", MFD_CLOEXEC);
    if (file_ < 0) throw_not_shared("making it");
    data_ =
        ftruncate(file_, bytes) != 0 ? MAP_FAILED : mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (data_ != MAP_FAILED) return;
    close(file_);
    throw_not_shared("taking it");
  }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  ~SharedFile() {
    munmap(data_, bytes_);
    close(file_);
  }

  void* data() const { return data_; }
  std::string path() const { return fmt::format("/proc/{}/fd/{}", getpid(), file_); }

 private:
  std::size_t bytes_;
  int file_ = -1;
  void* data_ = nullptr;
};

class EmulatedDevice : public Device {
 public:
  std::string name() const override { return "emulated device"; }
  const kernels::DeviceKernels& kernels() const override { return kernels::emulated_kernels(); }
  void* allocate(std::int64_t bytes) override {
    void* data = nullptr;
    if (shares_) {
      auto file = std::make_unique<SharedFile>(bytes);
      data = file->data();
      files_.emplace(data, std::move(file));
    } else {
      Buffer<std::byte> memory(static_cast<std::size_t>(bytes));
      data = memory.data();
      memory_.emplace(data, std::move(memory));
    }
    fill(data, 0xFF, bytes);  // what nobody writes is NaN
    return data;
  }
  void release(void* data) noexcept override {
    memory_.erase(data);
    files_.erase(data);
  }

  void share_memory() override { shares_ = true; }
  MemoryHandle share(void* data) override {
    const auto file = files_.find(data);
    GNEISS_ASSERT(file != files_.end(), "memory is shared that was not taken for it");
    MemoryHandle handle;
    const std::string path = file->second->path();
    GNEISS_ASSERT(path.size() < handle.bytes.size(), "the path {} is too long", path);
    std::copy(path.begin(), path.end(), handle.bytes.begin());
    return handle;
  }
  void* open_shared(const MemoryHandle& handle, std::int64_t bytes) override {
    const int file = open(handle.bytes.data(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw_not_shared("opening another's");
    void* data = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (data == MAP_FAILED) throw_not_shared("opening another's");
    return data;
  }
  void close_shared(void* data, std::int64_t bytes) noexcept override { munmap(data, static_cast<std::size_t>(bytes)); }

  void upload(void* to, const void* from, std::int64_t bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void download(void* to, const void* from, std::int64_t bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void fill(void* to, unsigned char byte, std::int64_t bytes) override {
    std::memset(to, byte, static_cast<std::size_t>(bytes));
  }
  kernels::DeviceContext context() override {
    // A fiber that shares items costs more than the items: few of them, with many items each.
    kernels::DeviceContext context;
    context.most_blocks = 2;
    context.stream = recording_ == nullptr ? nullptr : &recording_->launches;
    return context;
  }
  void wait() override {}

  void begin_recording() override {
    recording_ = std::make_unique<EmulatedRecording>();
    recording_->launches.begin();
  }
  std::unique_ptr<Recording> end_recording() override {
    recording_->launches.end();
    return std::move(recording_);
  }
  std::unique_ptr<DeviceModule> compile(const CppText& text, const std::string& emulated_options) override {
    CppText for_host = text;
    for_host.options = emulated_options;
    return std::make_unique<EmulatedModule>(std::move(compile_text(for_host).library));
  }
  void poison(void* data, std::int64_t bytes) override { fill(data, 0xFF, bytes); }

 protected:
  DeviceRoom whole_room() override {
    const auto bytes = static_cast<std::int64_t>(memory_limit_bytes());
    return {bytes, bytes};
  }

 private:
  std::unique_ptr<EmulatedRecording> recording_;
  std::map<void*, Buffer<std::byte>> memory_;
  bool shares_ = false;
  std::map<void*, std::unique_ptr<SharedFile>> files_;  ///< memory that is shared
};

}  // namespace

DeviceRoom Device::room() {
  DeviceRoom room = whole_room();
  if (allowed_bytes_ == 0) return room;
  return {std::min(room.free_bytes, allowed_bytes_), std::min(room.total_bytes, allowed_bytes_)};
}

MemoryHandle Device::share(void* /*data*/) {
  throw Error(ErrorCode::kUnsupported, fmt::format("{} shares no memory with other processes", name()));
}

void* Device::open_shared(const MemoryHandle& /*handle*/, std::int64_t /*bytes*/) {
  throw Error(ErrorCode::kUnsupported, fmt::format("{} opens no memory of other processes", name()));
}

std::unique_ptr<DeviceModule> Device::compile(const CppText& text, const std::string& /*emulated_options*/) {
  throw Error(ErrorCode::kUnsupported, fmt::format("{} compiles no kernels ({})", name(), text.name));
}

std::unique_ptr<Device> make_emulated_device() { return std::make_unique<EmulatedDevice>(); }

std::string_view in_its_place(Asker asker) {
  switch (asker) {
    case Asker::kCommand:
      break;
    case Asker::kProgram:
      return "--device emulated";
    case Asker::kCalibration:
      return "--calibrate alone, which measures the CPU";
  }
  return "--device cpu";
}

/// The names that `asker` may give.
static const char* device_names(Asker asker) {
  switch (asker) {
    case Asker::kCommand:
      break;
    case Asker::kProgram:
      return "one of cuda, cuda:N with the number of a card, emulated";
    case Asker::kCalibration:
      return "one of cuda, cuda:N with the number of a card";
  }
  return "one of cpu, cuda, cuda:N with the number of a card, of several devices cuda:N,M with those of theirs, auto, "
         "emulated; with mini-batches sim:NAME or host:FILE";
}

std::vector<int> named_cards(const std::string& name, Asker asker) {
  if (name == "emulated" || name == "cuda") return {};
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::kUsage, what, "--device", device_names(asker));
  };
  constexpr std::string_view kNamed = "cuda:";
  if (!name.starts_with(kNamed)) refuse(fmt::format("there is no device '{}'", name));
  std::vector<int> cards;
  const char* at = name.data() + kNamed.size();
  const char* const end = name.data() + name.size();
  while (true) {
    int card = 0;
    const auto [behind, status] = std::from_chars(at, end, card);
    if (status != std::errc() || card < 0) refuse(fmt::format("there is no device '{}'", name));
    if (std::find(cards.begin(), cards.end(), card) != cards.end())
      refuse(fmt::format("'{}' names the card {} twice", name, card));
    cards.push_back(card);
    if (behind == end) return cards;
    if (*behind != ',') refuse(fmt::format("there is no device '{}'", name));
    at = behind + 1;
  }
}

int card_number(const std::string& name, Asker asker) {
  const std::vector<int> cards = named_cards(name, asker);
  if (cards.size() > 1) {
    throw Error(ErrorCode::kUsage, fmt::format("'{}' names {} cards, and one device runs on one", name, cards.size()),
                "--device", "name one card, or train on several devices with --devices");
  }
  if (cards.size() == 1) return cards[0];
  return name == "cuda" ? 0 : -1;
}

std::unique_ptr<Device> open_device(const std::string& name, Asker asker) {
  const int number = card_number(name, asker);
  std::unique_ptr<Device> device = number < 0 ? make_emulated_device() : open_cuda(number, asker);
  device->asked_by(asker);
  return device;
}

}  // namespace gneiss::runtime
