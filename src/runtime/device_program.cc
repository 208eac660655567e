// Recording and replaying, and what a kernel is launched with.
#include "runtime/device_program.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "kernels/dropout_key.h"

namespace gneiss::runtime {

bool waits_for_each_step() {
  static const bool waits = std::getenv("GNEISS_DEVICE_SYNC") != nullptr;
  return waits;
}

kernels::StepNumbers step_numbers(std::uint64_t seed, std::uint64_t epoch, double lr, std::int64_t steps, double beta1,
                                  double beta2) {
  kernels::StepNumbers numbers;
  numbers.dropout_key = kernels::dropout_key(seed, epoch);
  numbers.lr = lr;
  numbers.first = steps == 1;
  const auto count = static_cast<double>(std::max<std::int64_t>(steps, 1));
  numbers.adam_rate = static_cast<float>(lr / (1 - std::pow(beta1, count)));
  numbers.adam_inverse_root = static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, count)));
  return numbers;
}

void RecordedWork::run(Device* device, DeviceSpan<std::byte> written, const std::function<void()>& launch) {
  if (written.size > 0) device->poison(written.data, static_cast<std::int64_t>(written.size));
  if (waits_for_each_step()) return launch();
  if (recording_ == nullptr) {
    device->begin_recording();
    try {
      launch();
    } catch (...) {
      try {
        device->end_recording();
      } catch (const Error&) {  // of a recording that failed: what made it fail is the error to report
      }
      throw;
    }
    recording_ = device->end_recording();
  }
  recording_->replay();
}

DeviceProgram::DeviceProgram(const std::string& device_name, Asker asker)
    : device(open_device(device_name, asker)),
      emulated_(card_number(device_name, asker) < 0),
      numbers_(take<kernels::StepNumbers>(1)) {}

SparsePatternIn<Space::kDevice> DeviceProgram::send(const SparsePattern& from) {
  return {from.rows, from.cols, send(from.offsets), send(from.indices), send(from.slots)};
}

kernels::Epilogue DeviceProgram::epilogue_of(std::initializer_list<kernels::EpilogueStage> stages) {
  kernels::Epilogue epilogue;
  GNEISS_ASSERT(std::ssize(stages) <= kernels::kMostStages, "a kernel is followed by {} ops", stages.size());
  for (const kernels::EpilogueStage& stage : stages) epilogue.stages[epilogue.count++] = stage;
  return epilogue;
}

kernels::DeviceContext DeviceProgram::context(const kernels::Epilogue* epilogue,
                                              DeviceSpan<std::byte> scratch_of_it) const {
  kernels::DeviceContext context = device->context();
  context.workspace = scratch_of_it.size > 0 ? scratch_of_it : scratch;
  context.step = numbers_.data;
  context.epilogue = epilogue;
  context.guard = guard;
  return context;
}

ItemKernel DeviceProgram::kernel_of(const ProgramKernel& kernel) const {
  if (emulated_) return emulated_kernel(kernel.emulated);
  if (kernel.on_card == nullptr) {
    throw Error(ErrorCode::kUnsupported,
                "this program was built without nvcc, which its loops over edges need on a card", "--device",
                fmt::format("build it where nvcc is found, against a Gneiss with CUDA; or use {}",
                            in_its_place(Asker::kProgram)));
  }
  return card_kernel(kernel.on_card);
}

void DeviceProgram::launch(const ProgramLoop& loop) {
  DeviceLoop call;
  call.loop = kernel_of(loop.loop);
  if (!loop.totals.empty()) call.add_totals = kernel_of(loop.add_totals);
  call.launch.args = device_loop_args(loop.edges, loop.in_edges, loop.weights, loop.ids);
  call.launch.rows = loop.rows;
  call.launch.tasks = loop.tasks;
  call.matrices = loop.matrices;
  call.totals = loop.totals;
  launch_loop(context(nullptr, {}), call);
  if (waits_for_each_step()) device->wait();
}

void DeviceProgram::send_numbers(const kernels::StepNumbers& numbers) {
  device->upload(numbers_.data, &numbers, sizeof(numbers));
}

float DeviceProgram::read(const MatrixView<float, Space::kDevice>& number) {
  float value = 0;
  device->download(&value, number.data, sizeof(value));
  return value;
}

}  // namespace gneiss::runtime
