// Values of settings as run files and commands have them.
#include "gneiss/setting_values.h"

#include <fmt/format.h>

namespace gneiss {

std::string number_text(double value) { return fmt::format("{}", value); }

Split Split::published() { return Split("public"); }
Split Split::number(int split) { return Split(fmt::format("{}", split)); }
Split Split::random() { return Split("random"); }
Split Split::shchur() { return Split("shchur"); }
Split Split::ratio(double train, double val, double test) {
  return Split(fmt::format("ratio:{}/{}/{}", train, val, test));
}
Split Split::none() { return Split("none"); }
Split Split::cycle() { return Split("cycle"); }
Split Split::all() { return Split("all"); }

ClassWeights ClassWeights::balanced() { return ClassWeights("balanced"); }
ClassWeights ClassWeights::given(const std::vector<double>& each) { return ClassWeights(setting_text(each)); }

Network::Network(double gigabytes_per_second, std::chrono::nanoseconds message)
    : FormedValue(fmt::format("{}GB/s,{}ns", gigabytes_per_second, message.count())) {}

DeviceChoice DeviceChoice::cpu() { return DeviceChoice("cpu"); }
DeviceChoice DeviceChoice::cuda() { return DeviceChoice("cuda"); }
DeviceChoice DeviceChoice::cuda(int number) { return DeviceChoice(fmt::format("cuda:{}", number)); }
DeviceChoice DeviceChoice::cuda(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return DeviceChoice("cuda:" + text);
}
DeviceChoice DeviceChoice::automatic() { return DeviceChoice("auto"); }
DeviceChoice DeviceChoice::emulated() { return DeviceChoice("emulated"); }
DeviceChoice DeviceChoice::simulated(const std::string& machine) { return DeviceChoice("sim:" + machine); }
DeviceChoice DeviceChoice::host_threads(const std::string& profile) { return DeviceChoice("host:" + profile); }

BatchSchedule BatchSchedule::paper() { return BatchSchedule("paper"); }
BatchSchedule BatchSchedule::best() { return BatchSchedule("best"); }
BatchSchedule BatchSchedule::cpu() { return BatchSchedule("cpu"); }
BatchSchedule BatchSchedule::device() { return BatchSchedule("device"); }
BatchSchedule BatchSchedule::coin_flip(double cpu_share) {
  return BatchSchedule(fmt::format("coinflip:{}", cpu_share));
}

HotRows HotRows::share(double of_all) { return HotRows(fmt::format("{:.10g}%", 100 * of_all)); }
HotRows HotRows::rows(std::int64_t count) { return HotRows(fmt::format("{}", count)); }
HotRows HotRows::automatic() { return HotRows("auto"); }

CheckpointEvery CheckpointEvery::steps(std::int64_t count) { return CheckpointEvery(fmt::format("{}", count)); }
CheckpointEvery CheckpointEvery::time(std::chrono::duration<double> between) {
  return CheckpointEvery(fmt::format("{}s", between.count()));
}
CheckpointEvery CheckpointEvery::when_stopped() { return CheckpointEvery("0"); }

}  // namespace gneiss
