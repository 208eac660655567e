// Which device a job runs on.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device.h"
#include "settings/config.h"

namespace gneiss::jobs {

/// Opens the device that `config` asks for; null for the host. With `auto` that is a card if one can be used, else the
/// host with a note why. Errors: as runtime::open_device; kUnsupported for mini-batches on a device.
std::shared_ptr<runtime::Device> choose_device(const settings::Config& config, std::vector<std::string>* notes);

/// Throws kUnsupported if `config` asks for a device and `command` runs on the host alone.
void refuse_device(const settings::Config& config, std::string_view command);

}  // namespace gneiss::jobs
