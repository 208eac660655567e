// Cards are tried in their order, and a card is taken if it meets those before it and enough others are left that meet
// all of them: a machine has few.
#include "jobs/card_deal.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "jobs/options.h"
#include "runtime/cards.h"

namespace gneiss::jobs {
namespace {

using Reads = std::function<bool(int card, int other)>;

/// Adds to `taken` what is missing to `count`, of cards[from] and later ones.
bool take_cards(const std::vector<int>& cards, std::size_t from, std::size_t count, const Reads& reads,
                std::vector<int>* taken) {
  if (taken->size() == count) return true;
  for (std::size_t at = from; at < cards.size() && cards.size() - at >= count - taken->size(); ++at) {
    const int card = cards[at];
    const bool meets =
        std::all_of(taken->begin(), taken->end(), [&](int other) { return reads(card, other) && reads(other, card); });
    if (!meets) continue;
    taken->push_back(card);
    if (take_cards(cards, at + 1, count, reads, taken)) return true;
    taken->pop_back();
  }
  return false;
}

/// Those that --device names, no more than there are devices; none for "cuda" and "emulated".
std::vector<int> named(const settings::Config& config, int devices) {
  std::vector<int> cards = runtime::named_cards(config.text("device.name"));
  if (std::ssize(cards) > devices) {
    throw Error(ErrorCode::kUsage, fmt::format("{} cards are named for {} devices", cards.size(), devices),
                config.where("device.name"), fmt::format("add --devices {}, or name fewer", cards.size()));
  }
  return cards;
}

bool is_emulated(const settings::Config& config) { return config.text("device.name") == "emulated"; }

void check_that_they_meet(const std::vector<int>& cards, const settings::Config& config) {
  for (const int card : cards) {
    for (const int other : cards) {
      if (card == other || runtime::card_reads(card, other)) continue;
      throw Error(
          ErrorCode::kUnsupported,
          fmt::format("cuda:{} cannot read the memory of cuda:{}, as devices on several cards do", card, other),
          config.where("device.name"),
          fmt::format("use --device cuda:{}, which puts all devices on one card, fewer --devices, or name cards "
                      "that can (nvidia-smi topo -p2p r)",
                      card));
    }
  }
}

}  // namespace

std::vector<int> deal(int devices, const std::vector<int>& cards) {
  std::vector<int> card_of;
  const auto count = static_cast<std::int64_t>(cards.size());
  for (std::int64_t device = 0; device < devices; ++device)
    card_of.push_back(cards[static_cast<std::size_t>(device * count / devices)]);
  return card_of;
}

std::vector<int> cards_that_meet(const std::vector<int>& cards, int count, const Reads& reads) {
  std::vector<int> taken;
  take_cards(cards, 0, static_cast<std::size_t>(count), reads, &taken);
  return taken;
}

std::vector<int> deal_cards(const settings::Config& config) {
  const int devices = device_count(config);
  if (is_emulated(config)) return deal(devices, {-1});
  if (devices == 1) return {runtime::card_number(config.text("device.name"))};
  std::vector<int> cards = named(config, devices);
  for (const int card : cards) runtime::check_card(card, runtime::Asker::kCommand);
  if (cards.empty()) {
    const std::vector<int> usable = runtime::usable_cards(runtime::Asker::kCommand);
    if (usable.empty()) runtime::check_card(0, runtime::Asker::kCommand);  // says what is wrong
    const int count = std::min(devices, static_cast<int>(usable.size()));
    cards = cards_that_meet(usable, count, runtime::card_reads);
    if (cards.empty()) cards.assign(usable.begin(), usable.begin() + count);
  }
  check_that_they_meet(cards, config);
  return deal(devices, cards);
}

std::vector<int> deal_described_cards(const settings::Config& config) {
  const int devices = device_count(config);
  if (is_emulated(config)) return deal(devices, {-1});
  if (devices == 1) return {runtime::card_number(config.text("device.name"))};
  std::vector<int> cards = named(config, devices);
  if (cards.empty()) {
    cards.resize(static_cast<std::size_t>(devices));
    std::iota(cards.begin(), cards.end(), 0);
  }
  return deal(devices, cards);
}

std::string device_on(int card) { return card < 0 ? "emulated" : fmt::format("cuda:{}", card); }

int devices_beside(const std::vector<int>& card_of, int device) {
  return static_cast<int>(std::count(card_of.begin(), card_of.end(), card_of[static_cast<std::size_t>(device)]));
}

std::vector<int> cards_of(const std::vector<int>& card_of) {
  std::vector<int> cards = card_of;
  cards.erase(std::unique(cards.begin(), cards.end()), cards.end());  // a card has a run of devices
  return cards;
}

std::string describe_deal(const std::vector<int>& card_of) {
  std::string text;
  for (std::size_t first = 0; first < card_of.size();) {
    std::size_t end = first;
    while (end < card_of.size() && card_of[end] == card_of[first]) ++end;
    text += first > 0 ? ", " : card_of.size() == 1 ? "device " : "devices ";
    text += fmt::format("{}", first);
    if (end - first > 1) text += fmt::format(" {} {}", end - first == 2 ? "and" : "to", end - 1);
    text += " on " + device_on(card_of[first]);
    first = end;
  }
  return text;
}

}  // namespace gneiss::jobs
