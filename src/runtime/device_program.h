// What runs a training on a device beside its kernels: pieces of memory, the numbers of a step, and work that is
// recorded when it first runs. Programs that `gneiss synth --target cuda` writes are built on DeviceProgram;
// DeviceExecutor, which runs plans, shares the numbers and the recording with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/matrix_view.h"
#include "kernels/cuda/device_kernels.h"
#include "kernels/cuda/epilogue.h"
#include "runtime/device.h"
#include "runtime/device_loops.h"

namespace gneiss::runtime {

/// Is GNEISS_DEVICE_SYNC set? Nothing is recorded then, and every launch is waited for.
bool waits_for_each_step();

/// What changes from step to step, as kernels read it. `steps`: of the optimizer, with the one at hand; the betas are
/// Adam's, and say nothing for others.
kernels::StepNumbers step_numbers(std::uint64_t seed, std::uint64_t epoch, double lr, std::int64_t steps, double beta1,
                                  double beta2);

/// Work that is recorded when it first runs, and replayed from then on.
class RecordedWork {
 public:
  /// Runs what `launch` enqueues. `written`: memory of which the work reads nothing that it did not write itself; the
  /// emulation makes it NaN before. Errors: those of `launch` and of the device.
  void run(Device* device, DeviceSpan<std::byte> written, const std::function<void()>& launch);

 private:
  std::unique_ptr<Recording> recording_;
};

/// Operands of an op behind a kernel that are the value at hand.
inline constexpr std::uint8_t kFirst = 1;
inline constexpr std::uint8_t kSecond = 2;
inline constexpr std::uint8_t kThird = 4;

/// An op that follows a kernel on the value that its threads have at hand: the operands `at_hand` are that value.
template <class Args>
kernels::EpilogueStage then(const Args& args, unsigned at_hand) {
  kernels::EpilogueStage stage;
  if constexpr (std::is_same_v<Args, kernels::OnDevice<kernels::DropoutArgs>>) {
    stage = kernels::stage_of_rows(args);
  } else {
    stage = kernels::stage_of(args);
  }
  stage.at_hand = static_cast<std::uint8_t>(at_hand);
  return stage;
}

/// A column or a buffer on a device, to read or to write.
struct DeviceElements {
  float* data = nullptr;
  std::size_t size = 0;

  operator DeviceSpan<float>() const { return {data, size}; }        // NOLINT(google-explicit-constructor)
  operator DeviceSpan<const float>() const { return {data, size}; }  // NOLINT(google-explicit-constructor)
};
inline DeviceElements elements(const MatrixView<float, Space::kDevice>& m) {
  return {m.data, static_cast<std::size_t>(m.size())};
}

/// A kernel of a program's own, for the emulation and for cards; null where no nvcc compiled it.
struct ProgramKernel {
  EmulatedItems emulated = nullptr;
  CardItems on_card = nullptr;
};

/// Where matrices begin.
struct Places {
  template <class... Views>
  explicit Places(const Views&... views) : list{views.data...} {}
  std::vector<void*> list;
};
struct Matrices {
  template <class... Views>
  explicit Matrices(const Views&... views) : list{views...} {}
  std::vector<MatrixView<float, Space::kDevice>> list;
};

/// A loop over edges and what it runs on.
struct ProgramLoop {
  ProgramKernel loop;
  ProgramKernel add_totals = {};  ///< where there are totals
  const SparsePatternIn<Space::kDevice>& edges;
  const SparsePatternIn<Space::kDevice>& in_edges;
  DeviceSpan<const float> weights;
  DeviceSpan<const std::int64_t> ids;
  std::int64_t rows = 0;
  std::int64_t tasks = 0;
  std::vector<void*> matrices = {};  ///< those that it reads, then those that it writes
  std::vector<MatrixView<float, Space::kDevice>> totals = {};
};

/// A device, pieces of its memory, and kernels on them. Pieces are given back with this.
class DeviceProgram {
 public:
  /// Opens the device called "cuda", "cuda:N" or "emulated". Errors: as open_device.
  explicit DeviceProgram(const std::string& device_name, Asker asker = Asker::kProgram);

  /// `count` elements. Errors: kOutOfMemory.
  template <class T>
  DeviceSpan<T> take(std::int64_t count) {
    const DeviceMemory& piece = pieces_.emplace_back(device.get(), count * static_cast<std::int64_t>(sizeof(T)));
    return {reinterpret_cast<T*>(piece.data()), static_cast<std::size_t>(count)};
  }
  /// The same, filled with zeros.
  template <class T>
  DeviceSpan<T> zeros(std::int64_t count) {
    const DeviceSpan<T> made = take<T>(count);
    if (count > 0) device->fill(made.data, 0, count * static_cast<std::int64_t>(sizeof(T)));
    return made;
  }
  /// A copy of the host's elements.
  template <class T>
  DeviceSpan<T> copy(std::span<const T> from) {
    const DeviceSpan<T> made = take<T>(std::ssize(from));
    if (!from.empty()) device->upload(made.data, from.data(), static_cast<std::int64_t>(from.size_bytes()));
    return made;
  }
  /// The same, to be read alone.
  template <class T>
  DeviceSpan<const T> send(std::span<const T> from) {
    const DeviceSpan<T> made = copy(from);
    return {made.data, made.size};
  }
  SparsePatternIn<Space::kDevice> send(const SparsePattern& from);
  /// Copies as many elements as there are to the host, and from there.
  template <class T>
  void fetch(std::span<T> to, DeviceSpan<T> from) const {
    if (!to.empty()) device->download(to.data(), from.data, static_cast<std::int64_t>(to.size_bytes()));
  }
  template <class T>
  void store(DeviceSpan<T> to, std::span<const T> from) const {
    if (!from.empty()) device->upload(to.data, from.data(), static_cast<std::int64_t>(from.size_bytes()));
  }

  /// What a kernel needs as workspace for arguments of these shapes.
  template <template <class, Space> class Args>
  std::int64_t scratch_bytes(const kernels::OnDevice<Args>& args) const {
    const auto& kernel = std::get<kernels::DeviceKernel<kernels::OnDevice<Args>>>(device->kernels());
    return static_cast<std::int64_t>(kernel.workspace_bytes(args));
  }
  /// Enqueues the kernel that takes these arguments; what is in `after` follows it on its result. `scratch_of_it`: its
  /// workspace, where that is not `scratch`.
  template <template <class, Space> class Args>
  void launch(const kernels::OnDevice<Args>& args, std::initializer_list<kernels::EpilogueStage> after = {},
              DeviceSpan<std::byte> scratch_of_it = {}) {
    const kernels::Epilogue epilogue = epilogue_of(after);
    std::get<kernels::DeviceKernel<kernels::OnDevice<Args>>>(device->kernels())
        .run(context(after.size() == 0 ? nullptr : &epilogue, scratch_of_it), args);
    if (waits_for_each_step()) device->wait();
  }

  /// Enqueues a loop over edges. Errors: kUnsupported if it has no kernel for this device.
  void launch(const ProgramLoop& loop);

  /// Brings the numbers of a step to the device; see step_numbers.
  void send_numbers(const kernels::StepNumbers& numbers);
  /// A number of the device.
  float read(const MatrixView<float, Space::kDevice>& number);

  std::unique_ptr<Device> device;
  DeviceSpan<std::byte> scratch;  ///< workspace of kernels
  const float* guard = nullptr;   ///< updates do nothing where this number of the device is not finite; null: they do

 private:
  static kernels::Epilogue epilogue_of(std::initializer_list<kernels::EpilogueStage> stages);
  ItemKernel kernel_of(const ProgramKernel& kernel) const;
  kernels::DeviceContext context(const kernels::Epilogue* epilogue, DeviceSpan<std::byte> scratch_of_it) const;

  bool emulated_;
  std::deque<DeviceMemory> pieces_;
  DeviceSpan<kernels::StepNumbers> numbers_;
};

}  // namespace gneiss::runtime
