// A device beside the host: memory of its own and a stream of kernels. All that the rest of Gneiss knows of CUDA.
//
// Behind it stand a card (cuda/cuda_device.cc; in a build without CUDA, cuda/not_built.cc), and the emulation, whose
// memory is the host's and whose kernels run on fibers: for tests, and for looking at what a card would compute.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cuda/device_kernels.h"
#include "runtime/device_loops.h"
#include "runtime/host_compiler.h"

namespace gneiss::runtime {

/// Who asks for a device, by what a hint may propose in the place of a card: the command has kernels for the CPU; a
/// program that was written for a card has no others, but runs them in the emulation; a card is measured, or the CPU.
enum class Asker : std::uint8_t { kCommand, kProgram, kCalibration };
/// What asks for that: "--device cpu".
std::string_view in_its_place(Asker asker);

struct DeviceRoom {
  std::int64_t free_bytes = 0;
  std::int64_t total_bytes = 0;
};

/// Work that was recorded once, to be run again with what its memory then holds.
class Recording {
 public:
  virtual ~Recording() = default;
  /// Enqueues all of it.
  virtual void replay() = 0;
};

/// What another process opens memory of a device by.
struct MemoryHandle {
  std::array<char, 64> bytes{};
};

class Device {
 public:
  virtual ~Device() = default;

  /// For people, e.g. "emulated device".
  virtual std::string name() const = 0;
  /// What drives it, e.g. "driver for CUDA 13.0"; empty for the emulation.
  virtual std::string driver() const { return {}; }
  virtual const kernels::DeviceKernels& kernels() const = 0;
  /// What the card has, or what was allowed of it.
  DeviceRoom room();
  /// Takes no more than `bytes` of its memory.
  void allow(std::int64_t bytes) { allowed_bytes_ = bytes; }
  /// From now on wide products of plans take tensor cores: faster, as accurate, with other bits than without.
  void take_tensor_cores() { tensor_cores_ = true; }
  bool tensor_cores() const { return tensor_cores_; }
  void asked_by(Asker asker) { asker_ = asker; }
  Asker asker() const { return asker_; }

  /// Memory aligned to 256 bytes. Errors: kOutOfMemory.
  virtual void* allocate(std::int64_t bytes) = 0;
  virtual void release(void* data) noexcept = 0;
  /// Memory that kernels read through the link to the host, as slowly as another card's at best: what virtual devices
  /// on one card stand apart by. Errors: kOutOfMemory
  virtual void* allocate_far(std::int64_t bytes) { return allocate(bytes); }
  virtual void release_far(void* data) noexcept { release(data); }

  /// From now on allocate gives memory that other processes of this machine can open.
  virtual void share_memory() {}
  /// What they open it by; `data`: what allocate returned. It must stay until they have closed it.
  /// Errors: kUnsupported if the device cannot share it
  virtual MemoryHandle share(void* data);
  /// Memory of another process, `bytes` of it, at an address of this one: read only. Errors: kUnsupported if it cannot
  /// be opened
  virtual void* open_shared(const MemoryHandle& handle, std::int64_t bytes);
  virtual void close_shared(void* /*data*/, std::int64_t /*bytes*/) noexcept {}

  // Work of one stream, in order. upload and download return when the host's memory is free again, or filled.
  virtual void upload(void* to, const void* from, std::int64_t bytes) = 0;
  virtual void download(void* to, const void* from, std::int64_t bytes) = 0;
  virtual void fill(void* to, unsigned char byte, std::int64_t bytes) = 0;
  /// Where kernels run; they get their workspace from the caller.
  virtual kernels::DeviceContext context() = 0;
  /// Waits for everything. Errors: kInternal if a kernel failed.
  virtual void wait() = 0;

  /// From here to end_recording launches are kept and not run.
  virtual void begin_recording() = 0;
  virtual std::unique_ptr<Recording> end_recording() = 0;
  /// Compiles kernels that were written for a device (synth/loops.h), or takes them from the cache; the options are the
  /// device's. Errors: kUnsupported if nothing compiles them or that fails, as compile_text; kDisk.
  virtual std::unique_ptr<DeviceModule> compile(const CppText& text, const std::string& emulated_options);
  /// Before work that writes all of this memory: the emulation fills it with NaN, so that what was not written shows.
  virtual void poison(void* /*data*/, std::int64_t /*bytes*/) {}

 protected:
  virtual DeviceRoom whole_room() = 0;

 private:
  std::int64_t allowed_bytes_ = 0;  ///< 0: all
  bool tensor_cores_ = false;
  Asker asker_ = Asker::kCommand;
};

/// The device called "cuda", "cuda:N" or "emulated". Errors: kUsage for another name and a number that no card has;
/// kUnsupported, with what is wrong, for a build without CUDA, a machine without a driver or with one that does not
/// work, a card that is too old or that another process has for itself; kOutOfMemory for a card that is full.
std::unique_ptr<Device> open_device(const std::string& name, Asker asker = Asker::kCommand);

/// The number of the card that "cuda" or "cuda:N" names, -1 for "emulated". Errors: kUsage for another name, and for
/// several cards (cards.h).
int card_number(const std::string& name, Asker asker = Asker::kCommand);

/// The cards of this machine, for people.
struct Cards {
  std::string driver;              ///< what drives them, or why none can be used and what to do
  std::vector<std::string> cards;  ///< each with its name, capability and memory, and why it is not used
};
Cards find_cards();

std::unique_ptr<Device> make_emulated_device();
/// The card `number`; see open_device.
std::unique_ptr<Device> open_cuda(int number, Asker asker);

/// Memory of a device, given back with this.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(Device* device, std::int64_t bytes)
      : device_(device),
        data_(bytes == 0 ? nullptr : static_cast<std::byte*>(device->allocate(bytes))),
        bytes_(bytes) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() {
    if (data_ != nullptr) device_->release(data_);
  }

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  Device* device_ = nullptr;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace gneiss::runtime
