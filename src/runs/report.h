// What a training reports: scores over runs, losses, times and memory; as a struct and as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "epochs/metrics.h"
#include "epochs/records.h"

namespace gneiss::runs {

/// One part's scores over the runs.
struct PartReport {
  epochs::MeanStd mean_std;
  std::vector<double> runs;
};

struct Report {
  std::string version;
  std::string model;
  std::string dataset;
  std::string metric;
  std::vector<epochs::RunRecord> runs;
  std::int64_t planned_runs = 0;
  std::int64_t planned_epochs = 0;  ///< of each run
  std::int64_t saved_run = 0;  ///< whose weights the run folder holds: the best on validation, of equal ones the first
  std::int64_t parameters = 0;
  std::int64_t nodes = 0;
  std::int64_t edges = 0;
  std::int64_t features = 0;
  std::int64_t classes = 0;
  int threads = 0;
  std::int64_t data_bytes = 0;
  std::string feature_dtype;             ///< f32, bf16 or f16: how features are kept
  std::int64_t feature_bytes_saved = 0;  ///< against f32: features and constants made from them
  std::int64_t plan_peak_bytes = 0;
  std::int64_t peak_rss_bytes = 0;
  epochs::ReorderReport reorder;
  double load_seconds = 0;   ///< reading; without reorder.seconds
  double start_seconds = 0;  ///< from the start of all this to the end of the first epoch, without evaluations
  double train_seconds = 0;  ///< all runs, evaluation included
  bool interrupted = false;
  bool can_go_on = false;  ///< it was interrupted, and the run folder has a checkpoint
  int rank = 0;            ///< of several processes, this one's; the first alone shows and writes anything
  std::string run_folder;  ///< empty if nothing was written
  std::map<std::string, std::string> config;
  std::string defaults;     ///< one line about those that were chosen for the data; empty if there are none
  std::string routes_text;  ///< lines about mini-batches: how they are drawn, schedules, devices, features in a file;
                            ///< else empty
  Json routes;              ///< the same for programs
  std::vector<std::string> notes;
  std::vector<std::string> warnings;  ///< what went wrong and did not stop the training
  std::string advice;                 ///< what to try when the model has hardly learnt; empty if it has
};

/// `part`: &Scores::train, &Scores::val or &Scores::test.
PartReport part_report(const Report& report, double epochs::Scores::*part);

/// Least, middle and largest seconds of an epoch's training step over all runs. The first epoch of each run is left out
/// when there are others: it touches memory for the first time.
struct SecondsReport {
  double median = 0;
  double min = 0;
  double max = 0;
};
SecondsReport epoch_seconds(const Report& report);

/// The object "reorder" of a report.
Json json_of(const epochs::ReorderReport& report);
/// One JSON object; numbers that are undefined are null.
std::string to_json(const Report& report, int indent = 2);

}  // namespace gneiss::runs
