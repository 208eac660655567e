// A line chart as SVG: the sweeps of check_morphgl as pictures.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gneiss::schedule {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Series> series;

  /// Adds a point to the series of that name, which is made if there is none.
  void add(const std::string& name, double x, double y);
  /// Both axes are by logarithms.
  std::string svg() const;
};

}  // namespace gneiss::schedule
