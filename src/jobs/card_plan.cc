// The parts are those that an executor would take; only sizes are read.
#include "jobs/card_plan.h"

#include <fmt/format.h>

#include "cost/device_profile.h"
#include "jobs/device_choice.h"
#include "jobs/options.h"
#include "runtime/device.h"
#include "train/dataset_inputs.h"

namespace gneiss::jobs {

bool plans_for_card(const settings::Config& config) {
  const std::string& name = config.text("device.name");
  if (name.empty() || name == "cpu" || name == "auto" || names_batch_device(config)) return false;
  runtime::card_number(name);
  return true;
}

CardPlan plan_card(const settings::Config& config, const data::Dataset& dataset, const ir::Plan& plan,
                   const train::SessionOptions& options) {
  const cost::DeviceProfile& profile = cost::h100_profile();
  const train::DatasetInputs inputs(dataset, plan, options.class_weights);
  CardPlan planned;
  planned.card = profile.name + " as it is described";
  planned.memory_bytes = described_bytes(config);
  planned.layout = runtime::device_layout(plan, inputs.inputs(), options.optimizer);
  runtime::check_room(planned.layout, planned.card, {planned.memory_bytes, planned.memory_bytes});
  planned.edge_values = note_on_edge_values(plan, config.flag("passes.jit"));
  return planned;
}

CardPlan plan_shared_card(const settings::Config& config, const std::vector<std::int64_t>& device_bytes) {
  CardPlan planned;
  planned.card = cost::h100_profile().name + " as it is described";
  planned.memory_bytes = described_bytes(config);
  const std::int64_t share = share_of_card(config, planned.memory_bytes);
  for (std::size_t device = 0; device < device_bytes.size(); ++device) {
    const runtime::DevicePart part = {fmt::format("device {}", device), device_bytes[device], planned.layout.bytes};
    runtime::check_room({{part}, part.bytes}, fmt::format("the share of device {} in {}", device, planned.card),
                        {share, share});
    planned.layout.parts.push_back(part);
    planned.layout.bytes += part.bytes;
  }
  return planned;
}

std::string describe(const CardPlan& plan) {
  constexpr double kMiB = 1024.0 * 1024.0;
  const auto row = [](const std::string& name, std::int64_t bytes) {
    return fmt::format("  {:38}{:10.2f} MiB\n", name, static_cast<double>(bytes) / kMiB);
  };
  std::string text = fmt::format("memory of the card: {}\n", plan.card);
  for (const runtime::DevicePart& part : plan.layout.parts) {
    if (part.bytes > 0) text += row(part.what, part.bytes);
  }
  text += row("all of it, taken at once", plan.layout.bytes);
  text += row("that may be taken", plan.memory_bytes);
  if (!plan.edge_values.empty()) text += fmt::format("  {}\n", plan.edge_values);
  return text;
}

}  // namespace gneiss::jobs
