// Two routes to an accelerator that Gneiss does not know: its operators are measured, an epoch is split between CPU and
// device, scheduled, and run.
//
// The operators here sleep, so that this runs anywhere; yours sample, copy and train. Built by itself:
//
//   find_package(gneiss REQUIRED)
//   add_executable(two_routes two_routes.cc)
//   target_link_libraries(two_routes PRIVATE gneiss::gneiss)
#include <gneiss/gneiss.h>

#include <chrono>
#include <cstdio>
#include <thread>

namespace {

/// An operator that takes so long and moves so many bytes.
gneiss::BatchOperator sleeping(double milliseconds, std::int64_t bytes) {
  return [=](std::int64_t, int) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds));
    return bytes;
  };
}

}  // namespace

int main() {
  constexpr std::int64_t kBatches = 60;
  gneiss::BatchOperators operators;
  operators.add(gneiss::BatchPhase::kBatching, "CPU", "sample", sleeping(6, 0));
  operators.add(gneiss::BatchPhase::kTransferring, "PCIe", "copy", sleeping(0.3, 1 << 20));
  operators.add(gneiss::BatchPhase::kBatching, "NPU+PCIe", "sample", sleeping(3, 0));
  operators.add(gneiss::BatchPhase::kTraining, "NPU", "step", sleeping(1, 0));

  // Profiler: how long does each stage take?
  const gneiss::MachineProfile machine =
      gneiss::profile_operators(operators, "NPU", {.batches = kBatches, .workers = 2, .most_rounds = 4});
  std::printf("CPU batch %.2f ms, device batch %.2f ms, copy %.2f ms, step %.2f ms\n", machine.cpu_batch_ms,
              machine.device_batch_ms, machine.dma_ms, machine.train_ms);

  // Partitioner and Scheduler, in turns until they converge.
  gneiss::Partitioner partitioner(machine, kBatches, 6);
  gneiss::Partition partition;
  while (partitioner.next(&partition)) {
    const gneiss::EpochSchedule schedule = gneiss::schedule_partition(machine, partition);
    std::printf("%lld batches of the CPU for %lld of the device: %.3f s an epoch\n",
                static_cast<long long>(partition.cpu_buffer), static_cast<long long>(partition.device_buffer),
                schedule.epoch_seconds);
    partitioner.feedback(schedule);
  }
  const gneiss::EpochSchedule schedule = gneiss::schedule_partition(machine, partitioner.best());
  std::printf("%s", schedule.text.c_str());

  // Executor: epoch by epoch.
  for (int epoch = 1; epoch <= 2; ++epoch) {
    const gneiss::ExecutedEpoch done = gneiss::execute_epoch(operators, "NPU", machine, schedule);
    std::printf("epoch %d: %.3f s, %.3f s predicted\n", epoch, done.seconds, schedule.epoch_seconds);
    if (static_cast<std::int64_t>(done.order.size()) != kBatches) return 1;
  }
  return 0;
}
