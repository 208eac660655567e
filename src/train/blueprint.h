// What a session is built from: a model compiled and planned for a data set, or for a rank's part of one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "data/feature_file.h"
#include "ir/plan.h"
#include "language/compile.h"
#include "passes/pipeline.h"
#include "runtime/device.h"
#include "runtime/optimizer.h"
#include "runtime/structures.h"
#include "train/rank_data.h"

namespace gneiss::train {

struct SessionOptions {
  std::string model = "gcn";  ///< a built-in model's name or the path of a .gneiss file
  std::vector<std::pair<std::string, language::ArgValue>> model_args;
  /// That model, compiled with those arguments for the data at hand; a session throws its mistakes. Null: the session
  /// compiles it, once.
  std::shared_ptr<const language::CompileResult> compiled;
  passes::LossSpec loss;             ///< which loss; chosen from the labels by default_loss
  std::vector<float> class_weights;  ///< cross-entropy only; empty = all one
  passes::Options passes;
  runtime::OptimizerConfig optimizer;
  /// Evaluate layer by layer, a chunk of rows at a time (train/layerwise.h): for what trains by mini-batches or not at
  /// all, where whole neighbourhoods do not fit in memory at once. In f32 on the host.
  bool by_layers = false;
  /// Of an evaluation layer by layer nobody reads more than the scores: logits are those of the splits' nodes alone.
  bool scores_only = false;
  /// Where mini-batches and chunks of rows read features, whose pages nobody touches then; null: in the data set.
  std::shared_ptr<const data::FeatureFile> feature_file;
  /// On ranks, exchanges and sums go on behind what does not need them; the bits are the same without.
  bool overlap = true;
  std::uint64_t seed = 0;
  int threads = 0;                          ///< 0: all that the process may use
  std::shared_ptr<runtime::Device> device;  ///< null: the host; options are copied, the session keeps it
  std::int64_t device_bytes = 0;            ///< of a device's memory, which a plan for it keeps within; 0: no limit
  std::vector<std::string> warnings;        ///< what went wrong on the way to these options and did not stop them
};

/// What a program is told of the data set that it will run on.
language::ProgramInputs program_inputs(const data::Dataset& dataset);

/// The model for the data set, of which a rank's part is the whole one's size; mistakes of the text are in the result.
std::shared_ptr<const language::CompileResult> compile_for(const data::Dataset& dataset, const SessionOptions& options,
                                                           const RankPart* part);

/// Throws kBadData if there are no features, labels or training nodes.
void check_dataset(const data::Dataset& dataset);

/// On how many threads a session runs.
int threads_of(const SessionOptions& options);

/// cross_entropy for one label per node, bce_with_logits for many, mse for regression.
passes::LossSpec::Kind default_loss(const data::Labels& labels);

/// What a session is built from: the compiled model, the graphs derived for it, the plan.
struct Blueprint {
  language::CompileResult compiled;
  runtime::DerivedGraphs graphs;  ///< by graph of the program; the dataset's own is absent
  ir::Plan plan;
};

/// Compiles and plans without allocating what the plan asks for (`value_bytes` 4 for f32, 8 for f64). `part`: of a rank
/// of several, whose data set is a part; all ranks call it then. Errors as Session.
Blueprint make_blueprint(const data::Dataset& dataset, const SessionOptions& options, std::int64_t value_bytes = 4,
                         const RankPart* part = nullptr);

/// The training rows of a data set and the edges into them, by graph of the program: those that were derived, or the
/// data set's own.
passes::LossRows loss_rows_of(const data::Dataset& dataset, const runtime::DerivedGraphs& graphs);
/// What ranks add up of their parts before they choose: these rows, the edges of each graph, and those into the rows.
std::vector<double> numbers_to_choose_by(const ir::Program& program, const passes::LossRows& rows);

}  // namespace gneiss::train
