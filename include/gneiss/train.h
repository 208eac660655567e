// Train a model, plan a training, and use a run folder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gneiss/array.h"
#include "gneiss/config.h"
#include "gneiss/dataset.h"

namespace gneiss {

/// One epoch of a run. Scores and val_loss are NaN in epochs without an evaluation.
struct EpochProgress {
  std::int64_t run = 0;    ///< from 0
  std::int64_t epoch = 0;  ///< from 1
  double loss = 0;
  double val_loss = 0;
  double train = 0;
  double val = 0;
  double test = 0;
  double seconds = 0;  ///< training step and evaluation
  bool evaluated = false;
  bool best = false;  ///< best on the validation nodes so far
};

/// What is known when training begins.
struct TrainingStart {
  std::string model;
  std::string dataset;
  std::string metric;
  std::int64_t nodes = 0;
  std::int64_t edges = 0;
  std::int64_t features = 0;
  std::int64_t classes = 0;
  std::int64_t parameters = 0;
  std::int64_t runs = 0;
  std::int64_t epochs = 0;
  std::int64_t plan_peak_bytes = 0;
  int threads = 0;
  std::string node_order;             ///< how the nodes lie in memory; empty if no other order was looked for
  std::string defaults;               ///< one line about those chosen for the data; empty if there are none
  std::vector<std::string> notes;     ///< what the reader did to the data
  std::vector<std::string> warnings;  ///< what went wrong and does not stop the training, e.g. damaged rates
};

/// How a training is watched. All may be empty; none may throw.
struct Progress {
  /// Nothing was read yet; processes that the training is to have (--processes) are there, each of which is told. From
  /// here on there may be threads. Without this --processes is refused: each process returns from the training, as the
  /// caller must expect.
  std::function<void()> on_begin;
  std::function<void(const TrainingStart&)> on_start;
  std::function<void(const EpochProgress&)> on_epoch;
  /// Asked after every epoch, and every mini-batch: true ends the training there, with everything saved.
  std::function<bool()> should_stop;
  /// Something went wrong that does not stop the training, a checkpoint that could not be written say.
  std::function<void(const std::string& text)> on_warning;
};

/// Scores of one part of the nodes over the runs: mean and sample standard deviation.
struct PartScores {
  double mean = 0;
  double std = 0;
  std::vector<double> runs;
};

struct TrainResult {
  std::string model;
  std::string dataset;
  std::string metric;
  PartScores train;
  PartScores val;
  PartScores test;
  std::vector<std::vector<double>> losses;  ///< per run and epoch
  std::vector<std::int64_t> best_epochs;    ///< per run, from 1
  double epoch_seconds_median = 0;          ///< forward, backward and update
  double epoch_seconds_min = 0;
  double epoch_seconds_max = 0;
  double load_seconds = 0;
  double train_seconds = 0;
  std::int64_t parameters = 0;
  std::int64_t data_bytes = 0;
  std::int64_t plan_peak_bytes = 0;
  std::int64_t peak_rss_bytes = 0;
  std::int64_t saved_run = 0;  ///< whose weights are in the run folder
  bool interrupted = false;
  bool can_go_on = false;     ///< interrupted, and resume_training() goes on with it
  bool was_complete = false;  ///< of resume_training(): there was nothing to go on with
  int rank = 0;               ///< of several processes that a launcher started; only rank 0's results are to be shown
  std::string run_folder;     ///< empty if nothing was written
  std::string advice;         ///< what to try when the model has hardly learnt; empty if it has
  std::string routes;         ///< lines about mini-batches and their devices; empty without batches
  std::string json;           ///< all of it and more as one JSON object
};

/// Trains as the settings say. Errors: kUsage, kBadData, kOutOfMemory, kDisk, kNumeric; nothing is left on disk then
/// but the last checkpoint, if there was one.
TrainResult train_model(const RunConfig& config, const Progress& progress = {});
/// The same on a data set in memory, which stays as it is; the settings do not name one (data.name), and their other
/// `data.` settings (split, normalize_features …) apply to it. A data set that was loaded trains as the settings it was
/// loaded by; those given here replace them.
TrainResult train_model(const Dataset& dataset, const RunConfig& config, const Progress& progress = {});

/// Goes on with a training that was interrupted or killed, from its last checkpoint, and ends with the same bits as
/// without the interruption. `run_folder`: the one that stands or was to stand there, or the .partial- folder that is
/// left of it. `overrides` may set data.name, train.threads, out.checkpoint_every and out.force. Of a complete training
/// `was_complete` is set and `json` is its report. Errors: as train_model; kUsage for other settings, and while the
/// training runs; kBadData without a checkpoint, for one that is damaged, and for other data.
TrainResult resume_training(const std::string& run_folder, const RunConfig& overrides, const Progress& progress = {});
/// The same of a training on a data set of arrays, which is given again. One that was loaded is found by the settings.
TrainResult resume_training(const Dataset& dataset, const std::string& run_folder, const RunConfig& overrides,
                            const Progress& progress = {});

struct PlanResult {
  std::string text;  ///< passes, ops in order with variants, bytes and modelled times, memory
  std::string json;
  std::int64_t peak_bytes = 0;
  std::vector<std::string> warnings;
};
/// Loads the data and plans the training without allocating it. `print_after`: passes whose program is wanted, or
/// "all".
PlanResult plan_training(const RunConfig& config, const std::vector<std::string>& print_after = {});
/// The same on a data set in memory; see train_model.
PlanResult plan_training(const Dataset& dataset, const RunConfig& config,
                         const std::vector<std::string>& print_after = {});

struct PassSummary {
  std::string name;
  bool optional = false;  ///< may stand in passes.off
  std::string purpose;
};
/// The passes in their order.
std::vector<PassSummary> list_passes();

struct ModelArgument {
  std::string name;
  std::string type;
  std::string initial;  ///< default; empty = must be given
  std::string help;
  std::vector<std::string> choices;  ///< of a string: what it may be; empty: anything
};
/// Arguments that a model takes: a built-in's name or the path of a .gneiss file.
std::vector<ModelArgument> model_arguments(const std::string& model);
std::vector<std::string> builtin_models();

/// What a trained model says of every node, in the order of the data set's nodes. Arrays keep their memory.
struct ModelOutputs {
  Array logits;         ///< [nodes, classes], f32
  Array probabilities;  ///< likewise: softmax, or a sigmoid for many labels; of a regression its values
  Array classes;        ///< [nodes], i32: the most probable class; not given if a node has no one class
  Array embedding;      ///< [nodes, width], f32: the values that enter the last layer
  std::vector<std::string> class_names;  ///< may be empty
  std::vector<std::string> warnings;     ///< what cannot be known of an old run folder, and what is unlike the training
};
/// Runs the model of a run folder once, on `dataset`, or on its own data if there is none; see predict().
ModelOutputs model_outputs(const std::string& run_folder, const RunConfig& overrides, const Dataset* dataset = nullptr);

/// A weight or a running statistic.
struct NamedArray {
  std::string name;
  Array values;
};
/// The weights of a run folder's model under PyG's names, shapes and orientation. Errors: kBadData.
std::vector<NamedArray> model_parameters(const std::string& run_folder);

/// Writes weights under such names as a .safetensors file, for the setting train.init. Arrays hold f32, f64 or i64.
/// Errors: kBadData for other types; kDisk.
void save_parameters(const std::vector<NamedArray>& parameters, const std::string& path);

/// Files of predictions and embeddings. kByName: as the file's name says, else csv.
enum class OutputFile : std::uint8_t { kByName, kCsv, kTsv, kNpy, kJsonl };
template <>
struct Choices<OutputFile> {
  static constexpr std::string_view names[] = {"", "csv", "tsv", "npy", "jsonl"};
};

/// How predictions and embeddings are written.
struct OutputFormat {
  Worded<OutputFile> format = OutputFile::kByName;
  bool probabilities = false;  ///< predict only
};
/// Predicts every node with the model of a run folder and writes the file `out`, or returns the text if `out` is empty.
/// `overrides` may name other data (data.name) or data options: classes are matched by name, features are normalised as
/// in training. `warnings` gets what cannot be known of an old run folder and what is unlike the training. Errors:
/// kBadData for a folder that is no run or does not fit the data; kUsage; kDisk.
std::string predict(const std::string& run_folder, const RunConfig& overrides, const OutputFormat& format,
                    const std::string& out, std::vector<std::string>* warnings = nullptr);
/// The same with the values that enter the last layer.
std::string embed(const std::string& run_folder, const RunConfig& overrides, const OutputFormat& format,
                  const std::string& out, std::vector<std::string>* warnings = nullptr);

struct EvalResult {
  std::string metric;
  double train = 0;
  double val = 0;
  double test = 0;
  std::vector<std::string> warnings;
  std::string json;
};
/// Scores of a run folder's model on its own split, or on other data: those of their parts if they bring a split, else
/// all labelled nodes as test. Errors: as predict; kBadData without labels and for classes that the model does not
/// know.
EvalResult evaluate(const std::string& run_folder, const RunConfig& overrides, const Dataset* dataset = nullptr);

}  // namespace gneiss
