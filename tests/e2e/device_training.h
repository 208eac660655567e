// Trainings on an emulated device, held against others.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "e2e/command.h"

namespace gneiss::testing {

/// The epochs of a run folder.
std::vector<nlohmann::json> epochs_of(const Workplace& place, const std::string& run);

/// The same training on the CPU and on the emulated device: epoch by epoch within 1e-5, and the same end. Returns the
/// epochs of the device.
std::vector<nlohmann::json> expect_same_training(const std::vector<std::string>& arguments);

/// Killed and resumed, it ends with the weights of one that was not. `training`: the command, by its run folder.
void expect_to_go_on(const Workplace& place,
                     const std::function<std::vector<std::string>(const std::string& out)>& training);

}  // namespace gneiss::testing
