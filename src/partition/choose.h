// Cuts by name, and the choice among them by modelled time.
#pragma once

#include <string>
#include <vector>

#include "partition/cuts.h"
#include "partition/report.h"

namespace gneiss::partition {

struct CutMethod {
  std::string name;
  std::string summary;  ///< for people, one line
};

/// What --partition takes, `auto` first.
const std::vector<CutMethod>& cut_methods();

struct Cut {
  std::string method;
  Owners owners;
  CutReport report;
  double seconds = 0;     ///< that finding it took
  std::string objective;  ///< of METIS what it made few, `copies` or `cut edges`; else empty
  std::string remark;     ///< for people: what of the method was done otherwise; else empty
};

/// Of a cut that could not be made: why.
struct Refusal {
  std::string method;
  std::string reason;
};

/// All cuts of the graph that can be made, in the order of cut_methods().
std::vector<Cut> all_cuts(const graph::Graph& graph, const CutOptions& options, const EpochModel& model,
                          std::vector<Refusal>* refused);

/// Of the cuts whose busiest part has at most 1.05 of the mean work, or 1.01 of the least that any of them reaches,
/// the one with the least modelled epoch; of equals the first. `cuts` is not empty.
std::size_t best_cut(const std::vector<Cut>& cuts);

/// By one method; `auto` tries all and takes the one of best_cut.
///   refused   if not null: is given what `auto` could not try
/// Errors: as the method's; kUsage for an unknown one.
Cut cut_graph(const graph::Graph& graph, const std::string& method, const CutOptions& options, const EpochModel& model,
              std::vector<Refusal>* refused = nullptr);

}  // namespace gneiss::partition
