// Where nothing is asked for, ten minutes: the most that a killed training then loses.
#include "jobs/checkpoint_rhythm.h"

#include <fmt/format.h>

#include <string>

#include "base/error.h"

namespace gneiss::jobs {
namespace {

constexpr const char* kKey = "out.checkpoint_every";
constexpr double kUsualSeconds = 600;

double seconds_of(char unit) { return unit == 's' ? 1 : unit == 'm' ? 60 : unit == 'h' ? 3600 : 0; }

}  // namespace

CheckpointRhythm::CheckpointRhythm(const settings::Config& config) {
  const std::string& text = config.text(kKey);
  if (text.empty()) {
    seconds_ = kUsualSeconds;
    return;
  }
  long long steps = 0;
  double amount = 0;
  const double unit = seconds_of(text.back());
  if (settings::parse_integer(text, &steps) && steps >= 0) {
    every_ = steps;
  } else if (unit > 0 && settings::parse_real(text.substr(0, text.size() - 1), &amount) && amount > 0) {
    seconds_ = amount * unit;
  } else {
    throw Error(ErrorCode::kUsage, fmt::format("expected a number of epochs or mini-batches or a time, got '{}'", text),
                config.where(kKey), "write --checkpoint-every 100, 30s, 10m or 1h; 0 keeps one only when stopped");
  }
  if (config.flag("out.save") || (every_ == 0 && seconds_ == 0)) return;
  throw Error(ErrorCode::kUsage, "checkpoints lie in the run folder, and --no-save asks for none", config.where(kKey),
              "leave one of the two out");
}

bool CheckpointRhythm::is_due() {
  ++steps_;
  const bool by_steps = every_ > 0 && steps_ >= every_;
  const Clock::time_point now = Clock::now();
  const bool by_time = seconds_ > 0 && std::chrono::duration<double>(now - last_).count() >= seconds_;
  if (!by_steps && !by_time) return false;
  steps_ = 0;
  last_ = now;
  return true;
}

}  // namespace gneiss::jobs
