// One picture of fixed size: axes by logarithms, with a tick at every x that has a point, a line and a mark
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

/// From values to places, by their logarithms.
struct Scale {
  Scale(double low, double high, double from, double to)
      : first(std::log(low)), range(std::max(1e-9, std::log(high) - first)), begin(from), length(to - from) {}
  double at(double value) const { return begin + (std::log(value) - first) / range * length; }

  double first;
  double range;
  double begin;
  double length;
};

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
  std::set<double> values;
  for (const Series& one : series) {
    for (const auto& [x, y] : one.points) {
      places.insert(x);
      values.insert(y);
    }
  }
  const Scale across(*places.begin(), *places.rbegin(), kLeft, kWidth - kRight);
  const Scale up(*values.begin() / 1.1, *values.rbegin() * 1.1, kHeight - kBottom, kTop);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      kWidth, kHeight);
  out += text(kLeft, 20, "start", title) + text((kLeft + kWidth - kRight) / 2, kHeight - 10, "middle", x_label) +
         text(kLeft - 10, kTop - 8, "middle", y_label);
  for (double power = 1e-3; power < 1e6; power *= 10) {
    for (const double digit : {1, 2, 3, 5, 7}) {
      const double value = digit * power;
      if (value < *values.begin() / 1.1 || value > *values.rbegin() * 1.1) continue;
      out += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#dddddd\"/>\n", kLeft, up.at(value),
                         kWidth - kRight) +
             text(kLeft - 6, up.at(value) + 4, "end", fmt::format("{:g}", value));
    }
  }
  double before = -1e9;
  for (const double x : places) {
    if (across.at(x) - before < 22) continue;  // numbers would overlap
    before = across.at(x);
    out += text(before, kHeight - kBottom + 16, "middle", fmt::format("{:g}", x));
  }
  std::vector<double> named;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const char* colour = kColours[i % std::size(kColours)];
    std::string line;
    std::string marks;
    for (const auto& [x, y] : series[i].points) {
      line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", across.at(x), up.at(y));
      marks +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"/>\n", across.at(x), up.at(y), colour);
    }
    out += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", line, colour) + marks;
    double y = up.at(series[i].points.back().second) + 4;
    while (std::ranges::any_of(named, [y](double other) { return std::abs(other - y) < 13; })) y += 13;
    named.push_back(y);
    out += fmt::format("<g fill=\"{}\">", colour) + text(kWidth - kRight + 8, y, "start", series[i].name) + "</g>\n";
  }
  return out + "</svg>\n";
}

}  // namespace gneiss::schedule
