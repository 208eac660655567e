// The parts are those that an executor would take; only sizes are read.
#include "jobs/card_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "cost/device_profile.h"
#include "jobs/card_deal.h"
#include "jobs/device_choice.h"
#include "jobs/options.h"
#include "runtime/cards.h"
#include "train/dataset_inputs.h"

namespace gneiss::jobs {

bool plans_for_card(const settings::Config& config) {
  const std::string& name = config.text("device.name");
  if (name.empty() || name == "cpu" || name == "auto" || names_batch_device(config)) return false;
  runtime::named_cards(name);
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

CardPlan plan_cards(const settings::Config& config, const std::vector<int>& card_of,
                    const std::vector<std::int64_t>& device_bytes) {
  CardPlan planned;
  planned.card = cost::h100_profile().name + " as it is described";
  planned.memory_bytes = described_bytes(config);
  planned.card_of = card_of;
  for (std::size_t device = 0; device < device_bytes.size(); ++device) {
    const int beside = devices_beside(card_of, static_cast<int>(device));
    const std::int64_t share = share_of_card(planned.memory_bytes, beside);
    const runtime::DevicePart part = {fmt::format("device {}", device), device_bytes[device], planned.layout.bytes};
    runtime::check_room({{part}, part.bytes}, fmt::format("the share of device {} in {}", device, planned.card),
                        {share, share});
    planned.layout.parts.push_back(part);
    planned.layout.bytes += part.bytes;
  }
  return planned;
}

std::vector<std::int64_t> bytes_by_card(const CardPlan& plan) {
  const std::vector<int> cards = cards_of(plan.card_of);
  std::vector<std::int64_t> bytes(cards.size());
  for (std::size_t device = 0; device < plan.card_of.size(); ++device) {
    const auto card = std::find(cards.begin(), cards.end(), plan.card_of[device]) - cards.begin();
    bytes[static_cast<std::size_t>(card)] += plan.layout.parts[device].bytes;
  }
  return bytes;
}

std::string describe(const CardPlan& plan) {
  constexpr double kMiB = 1024.0 * 1024.0;
  const auto row = [](const std::string& name, std::int64_t bytes) {
    return fmt::format("  {:38}{:10.2f} MiB\n", name, static_cast<double>(bytes) / kMiB);
  };
  const std::vector<int> cards = cards_of(plan.card_of);
  if (cards.size() > 1) {
    std::string text =
        fmt::format("memory of {} cards, each {}: {}\n", cards.size(), plan.card, describe_deal(plan.card_of));
    for (const runtime::DevicePart& part : plan.layout.parts) text += row(part.what, part.bytes);
    const std::vector<std::int64_t> bytes = bytes_by_card(plan);
    for (std::size_t card = 0; card < cards.size(); ++card)
      text += row(fmt::format("all of cuda:{}", cards[card]), bytes[card]);
    return text + row("that may be taken of each", plan.memory_bytes);
  }
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
