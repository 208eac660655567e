// What a plan takes of a device's memory, part by part, before anything is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/plan.h"
#include "runtime/device.h"
#include "runtime/inputs.h"
#include "runtime/optimizer.h"

namespace gneiss::runtime {

struct DevicePart {
  std::string what;
  std::int64_t bytes = 0;   ///< that are used
  std::int64_t offset = 0;  ///< of its place, at a multiple of 256
};

struct DeviceLayout {
  std::vector<DevicePart> parts;  ///< in the order in which an executor fills them
  std::int64_t bytes = 0;         ///< of all together
  bool trains = true;             ///< false: it computes with a model that is trained already
};

/// The parts of a plan on these inputs, whose sizes alone are read.
DeviceLayout device_layout(const ir::Plan& plan, const Inputs& inputs, const OptimizerConfig& optimizer);

/// The sets of nodes whose ids a device has a copy of: the first of those that have the same ones. Of a rank, its own
/// nodes are a set, and these with the ghosts another.
std::vector<std::size_t> sets_with_ids(const Inputs& inputs);
/// The one of them whose ids are those of `set`.
std::size_t first_with_ids_of(const Inputs& inputs, std::size_t set);

/// The same with what exchanges between devices take besides, which is taken apart from it.
DeviceLayout with_exchanges(DeviceLayout layout, std::int64_t bytes);

/// Throws kOutOfMemory, with the numbers and what can be done, if the layout takes more than is free of `device`, which
/// is a name.
void check_room(const DeviceLayout& layout, const std::string& device, const DeviceRoom& room,
                Asker asker = Asker::kCommand);
/// The same of a device that is there.
void check_room(const DeviceLayout& layout, Device* device);

/// Calls `take`, which takes memory for the layout. Where the device has no more of it, although it had before, another
/// process took it: that is said as check_room says it. Errors: kOutOfMemory; those of `take`
void take_room(const DeviceLayout& layout, Device* device, const std::function<void()>& take);

}  // namespace gneiss::runtime
