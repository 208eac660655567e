// The rows of the table of settings, by subject. Internal to this folder: others ask settings().
#pragma once

#include <vector>

#include "settings/settings.h"

namespace gneiss::settings {

inline constexpr double kManyEpochs = 10'000'000;
inline constexpr double kManySeeds = 9.0e15;

std::vector<Setting> data_settings();
std::vector<Setting> model_settings();
std::vector<Setting> loss_settings();
std::vector<Setting> optimizer_settings();
std::vector<Setting> schedule_settings();
std::vector<Setting> train_settings();
std::vector<Setting> batch_settings();
std::vector<Setting> device_settings();
/// Groups `out` and `passes`.
std::vector<Setting> output_settings();

}  // namespace gneiss::settings
