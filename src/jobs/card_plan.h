// What a training would take of a card, on any machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "ir/plan.h"
#include "runtime/device_layout.h"
#include "settings/config.h"
#include "train/session.h"

namespace gneiss::jobs {

struct CardPlan {
  std::string card;               ///< whose memory and rates it goes by
  std::int64_t memory_bytes = 0;  ///< that may be taken
  runtime::DeviceLayout layout;
  std::string edge_values;  ///< see note_on_edge_values
};

/// Does `config` ask for a plan for a card? Errors: kUsage for a device that there is not.
bool plans_for_card(const settings::Config& config);

/// The parts of a plan for devices. Errors: kOutOfMemory, with the numbers, if the card has less memory or --device-mem
/// allows less.
CardPlan plan_card(const settings::Config& config, const data::Dataset& dataset, const ir::Plan& plan,
                   const train::SessionOptions& options);
/// Of devices that share it: a part is what one of them takes. Errors: kOutOfMemory if one takes more than its share
CardPlan plan_shared_card(const settings::Config& config, const std::vector<std::int64_t>& device_bytes);
std::string describe(const CardPlan& plan);

}  // namespace gneiss::jobs
