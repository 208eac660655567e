// What a training would take of a card, or of several, on any machine.
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
  std::int64_t memory_bytes = 0;  ///< that may be taken, of each card
  runtime::DeviceLayout layout;
  std::vector<int> card_of;  ///< of several devices, whose parts the layout has: see deal_described_cards; else empty
  std::string edge_values;   ///< see note_on_edge_values
};

/// Does `config` ask for a plan for a card? Errors: kUsage for a device that there is not.
bool plans_for_card(const settings::Config& config);

/// The parts of a plan for devices. Errors: kOutOfMemory, with the numbers, if the card has less memory or --device-mem
/// allows less.
CardPlan plan_card(const settings::Config& config, const data::Dataset& dataset, const ir::Plan& plan,
                   const train::SessionOptions& options);
/// Of several devices, dealt to cards of one kind: a part is what one of them takes. Errors: kOutOfMemory if one takes
/// more than its share of its card
CardPlan plan_cards(const settings::Config& config, const std::vector<int>& card_of,
                    const std::vector<std::int64_t>& device_bytes);
/// [cards of the deal] what the devices on each take together.
std::vector<std::int64_t> bytes_by_card(const CardPlan& plan);
std::string describe(const CardPlan& plan);

}  // namespace gneiss::jobs
