// One picture of fixed size: axes with a tick at every x that has a point and at five values of y, a line and a mark
// for each series, names beside the lines' ends.
#include "schedule/chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace gneiss::schedule {
namespace {

constexpr double kWidth = 640;
constexpr double kHeight = 400;
constexpr double kLeft = 60;
constexpr double kRight = 110;
constexpr double kTop = 40;
constexpr double kBottom = 50;
constexpr const char* kColours[] = {"#1b6ca8", "#d1495b", "#3a8f5c", "#7a5195", "#8c6d31", "#555555"};

/// The least of 1, 2, 5 times a power of ten that is no smaller.
double round_up(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 5.0})
    if (step * power >= value) return step * power;
  return 10 * power;
}

std::string text(double x, double y, const char* anchor, const std::string& words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, words);
}

}  // namespace

void Chart::add(const std::string& name, double x, double y) {
  for (Series& one : series)
    if (one.name == name) return one.points.emplace_back(x, y), void();
  series.push_back({name, {{x, y}}});
}

std::string Chart::svg() const {
  std::set<double> places;
  double highest = 0;
  for (const Series& one : series) {
    for (const auto& [x, y] : one.points) {
      places.insert(x);
      highest = std::max(highest, y);
    }
  }
  const double low = std::log(*places.begin());
  const double range = std::max(1e-9, std::log(*places.rbegin()) - low);
  constexpr int kTicks = 5;
  const double step = round_up(highest / kTicks);
  const auto at_x = [&](double x) { return kLeft + (std::log(x) - low) / range * (kWidth - kLeft - kRight); };
  const auto at_y = [&](double y) { return kHeight - kBottom - y / (step * kTicks) * (kHeight - kTop - kBottom); };
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      kWidth, kHeight);
  out += text(kLeft, 20, "start", title) + text((kLeft + kWidth - kRight) / 2, kHeight - 10, "middle", x_label) +
         text(kLeft - 10, kTop - 8, "middle", y_label);
  for (int tick = 0; tick <= kTicks; ++tick) {
    const double y = at_y(tick * step);
    out += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#dddddd\"/>\n", kLeft, y, kWidth - kRight) +
           text(kLeft - 6, y + 4, "end", fmt::format("{:g}", tick * step));
  }
  double before = -1e9;
  for (const double x : places) {
    if (at_x(x) - before < 22) continue;  // numbers would overlap
    before = at_x(x);
    out += text(before, kHeight - kBottom + 16, "middle", fmt::format("{:g}", x));
  }
  std::vector<double> named;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const char* colour = kColours[i % std::size(kColours)];
    std::string line;
    std::string marks;
    for (const auto& [x, y] : series[i].points) {
      line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", at_x(x), at_y(y));
      marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"/>\n", at_x(x), at_y(y), colour);
    }
    out += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", line, colour) + marks;
    double y = at_y(series[i].points.back().second) + 4;
    while (std::ranges::any_of(named, [y](double other) { return std::abs(other - y) < 13; })) y += 13;
    named.push_back(y);
    out += fmt::format("<g fill=\"{}\">", colour) + text(kWidth - kRight + 8, y, "start", series[i].name) + "</g>\n";
  }
  return out + "</svg>\n";
}

}  // namespace gneiss::schedule
