// The line is drawn over the last one, at most ten times a second, and only if standard error is a terminal.
#include "progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace gneiss::app {
namespace {

constexpr std::size_t kWindow = 31;  // epochs that the running median looks at
constexpr int kBarWidth = 24;
constexpr auto kDrawEvery = std::chrono::milliseconds(100);

bool is_error_metric(const std::string& metric) { return metric == "mse" || metric == "rmse" || metric == "mae"; }

std::string format_seconds(double seconds) {
  const auto whole = static_cast<long long>(seconds + 0.5);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

std::string format_score(const std::string& metric, double value) {
  if (std::isnan(value)) return "-";
  return is_error_metric(metric) ? fmt::format("{:.5g}", value) : fmt::format("{:.2f} %", 100 * value);
}

ProgressBar::ProgressBar(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO) != 0) {
  const char* no_colour = std::getenv("NO_COLOR");
  colour_ = shown_ && (no_colour == nullptr || *no_colour == '\0');
}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::start(const TrainingStart& start) {
  start_ = start;
  if (!shown_) return;
  fmt::print(stderr,
             "{} on {}: {} nodes, {} edges, {} features, {} classes; {} parameters, {} threads, {:.1f} MiB planned\n",
             start.model, start.dataset, start.nodes, start.edges, start.features, start.classes, start.parameters,
             start.threads, static_cast<double>(start.plan_peak_bytes) / (1 << 20));
  if (!start.node_order.empty()) fmt::print(stderr, "order of nodes: {}\n", start.node_order);
  for (const std::string& note : start.notes) fmt::print(stderr, "note: {}\n", note);
}

double ProgressBar::seconds_left(const EpochProgress& epoch) {
  recent_.push_back(epoch.seconds);
  if (recent_.size() > kWindow) recent_.pop_front();
  std::vector<double> sorted(recent_.begin(), recent_.end());
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
  const std::int64_t left = (start_.runs - epoch.run) * start_.epochs - epoch.epoch;
  return sorted[sorted.size() / 2] * static_cast<double>(left);
}

void ProgressBar::update(const EpochProgress& epoch) {
  if (!shown_) return;
  const double left = seconds_left(epoch);
  if (epoch.evaluated) {
    last_val_ = epoch.val;
    last_test_ = epoch.test;
    scored_ = true;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - last_draw_ < kDrawEvery && epoch.epoch != start_.epochs) return;
  last_draw_ = now;
  const auto full = static_cast<int>(static_cast<double>(kBarWidth) * static_cast<double>(epoch.epoch) /
                                     static_cast<double>(start_.epochs));
  std::string line = start_.runs > 1 ? fmt::format("run {}/{}  ", epoch.run + 1, start_.runs) : "";
  line += fmt::format("epoch {}/{} ", epoch.epoch, start_.epochs);
  line +=
      fmt::format("{}[{}{}]{} loss {:.4f}", colour_ ? "\x1b[36m" : "", std::string(static_cast<std::size_t>(full), '='),
                  std::string(static_cast<std::size_t>(kBarWidth - full), ' '), colour_ ? "\x1b[0m" : "", epoch.loss);
  if (scored_)
    line += fmt::format("  val {}  test {}", format_score(start_.metric, last_val_),
                        format_score(start_.metric, last_test_));
  fmt::print(stderr, "\r\x1b[K{}  ETA {}", line, format_seconds(left));
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

}  // namespace gneiss::app
