// Which device a job runs on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/plan.h"
#include "runtime/device.h"
#include "settings/config.h"
#include "train/session.h"

namespace gneiss::jobs {

/// Opens the device that `config` asks for; null for the host. With `auto` that is a card if one can be used, else the
/// host with a note why. Of several devices that is `device`, on the card that it was dealt. Errors: as
/// runtime::open_device and deal_cards; kUnsupported for mini-batches on a device.
std::shared_ptr<runtime::Device> choose_device(const settings::Config& config, std::vector<std::string>* notes,
                                               int device = 0);

/// Throws where `config` asks for several ranks or devices on a card in a way that there is not: kUnsupported for
/// ranks and traces, kUsage for too many devices.
void check_card_of_several(const settings::Config& config);

struct DealtDevices {
  std::vector<int> card_of;  ///< [devices] see deal_cards
  std::vector<std::shared_ptr<runtime::Device>> devices;
};
/// Of --devices: that device and the others, each on the card that it was dealt, with memory and a stream of its own;
/// cards read each other's memory from then on. Each may take its share of what is free on its card now.
/// Errors: as choose_device
///   process  of devices that are processes, which have opened one each: the number of this one, whose memory the
///            others can open then; the others are null. -1: there is one process
DealtDevices open_devices(const settings::Config& config, const std::shared_ptr<runtime::Device>& first, int process);
/// The name of the card by whose rates all devices plan: the first one's. `mine`: a device of this process.
std::string first_of(const DealtDevices& dealt, const runtime::Device& mine);
/// What each of so many devices on a card may take of `bytes` of it.
std::int64_t share_of_card(std::int64_t bytes, int devices);

/// Makes a session's plan one for a device with `bytes` to take of its memory: by its rates, without what is about the
/// host's caches, files and memory. `card`: the rates that were measured of the one called so; empty, or where none
/// were: those of the described card.
void plan_for_device(std::int64_t bytes, train::SessionOptions* options, const std::string& card = {});
/// Throws kUsage if `config` asks for a card's tensor cores or limits its memory, and asks for no card. Mini-batches
/// know devices of their own, with a memory.
void check_no_card(const settings::Config& config);
/// What may be taken of a card that is described, not there.
std::int64_t described_bytes(const settings::Config& config);
/// The same, for a session that runs on `device`.
void run_on(std::shared_ptr<runtime::Device> device, train::SessionOptions* options);

/// What a plan for a device keeps of edges, in a line: how many matrices have a row of several columns for each edge,
/// and the largest; where it has loops over edges, what these spare and what is kept all the same. Empty where there is
/// neither. `jit`: such loops were asked for.
std::string note_on_edge_values(const ir::Plan& plan, bool jit);

/// Throws kUnsupported if `config` asks for a device and `command` runs on the host alone.
void refuse_device(const settings::Config& config, std::string_view command);

}  // namespace gneiss::jobs
