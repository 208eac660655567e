// Both plans are made as a session would make them. A card's start is assumed: half a second until it takes work, then
// copies at 20 GB/s.
#include "jobs/auto_device.h"

#include <limits>
#include <optional>

#include "base/error.h"
#include "jobs/device_choice.h"
#include "runtime/device_layout.h"
#include "train/dataset_inputs.h"

namespace gneiss::jobs {
namespace {

constexpr double kStartSeconds = 0.5;
constexpr double kCopyBytes = 20e9;  // a second

double run_seconds(const ir::Plan& plan, const RunLength& length) {
  const double step = plan.seconds(ir::Phase::kForward) + plan.seconds(ir::Phase::kBackward);
  return plan.seconds(ir::Phase::kSetup) + static_cast<double>(length.epochs) * step +
         static_cast<double>(length.evaluations) * plan.seconds(ir::Phase::kInference);
}

AutoChoice cpu(const std::string& why) { return {false, "--device auto: the CPU, because " + why}; }

}  // namespace

AutoChoice weigh_device(runtime::Device* device, const data::Dataset& dataset, const train::SessionOptions& host,
                        const RunLength& length) {
  train::SessionOptions there = host;
  const std::int64_t room = device->room().free_bytes;
  plan_for_device(room, &there, device->name());
  std::optional<train::Blueprint> planned;
  try {
    planned = train::make_blueprint(dataset, there);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    return cpu(error.message());
  }
  const train::DatasetInputs inputs(dataset, planned->plan, there.class_weights);
  const std::int64_t bytes = runtime::device_layout(planned->plan, inputs.inputs(), there.optimizer).bytes;
  if (bytes > room)
    return cpu(fmt::format("the plan takes {} bytes of {}, of which {} are free", bytes, device->name(), room));
  const double on_device = kStartSeconds + static_cast<double>(bytes) / kCopyBytes + run_seconds(planned->plan, length);
  planned.reset();
  double on_host = std::numeric_limits<double>::infinity();
  try {
    on_host = run_seconds(train::make_blueprint(dataset, host).plan, length);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfMemory) throw;
  }
  const std::string times =
      fmt::format("{} epochs are modelled to take {:.3g} s there, its start included, and {}", length.epochs, on_device,
                  on_host < std::numeric_limits<double>::infinity() ? fmt::format("{:.3g} s on the CPU", on_host)
                                                                    : std::string("the CPU's memory is too small"));
  if (on_host <= on_device) return cpu(fmt::format("of {} {}", device->name(), times));
  return {true, fmt::format("--device auto: {}, because {}", device->name(), times)};
}

}  // namespace gneiss::jobs
