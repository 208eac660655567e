// The data set of a config, loaded and in the order that training wants, with the options that the session and the
// driver take for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cost/rates_file.h"
#include "data/dataset.h"
#include "data/load.h"
#include "jobs/given_data.h"
#include "language/compile.h"
#include "settings/config.h"
#include "tiers/scorer.h"
#include "train/full_graph.h"
#include "train/reorder.h"
#include "train/session.h"

namespace gneiss::jobs {

/// Where plans are to run. Those for this machine keep within its memory if they can, as with --mem.
enum class PlanFor { kThisMachine, kAnyMachine };

/// Who asks for rows in the order that nodes were given in, needs Workload::order().
enum class KeepOrder { kIfNeeded, kYes };

class Workload {
 public:
  /// Loads the data for the first run and completes `config`: paths become absolute, defaults are chosen for the data,
  /// a training script in the model's text adds its settings, `--split all` its number of runs. `config` must outlive
  /// the workload. `given`, if there is one, stands for the data set that the config names. `parts`: a
  /// folder of so many parts is left for ranks to read (data::LoadOptions::parts). `rates` to choose by; else those of
  /// a training here. Errors: as load and the options.
  Workload(settings::Config* config, PlanFor plan_for, GivenData given = {}, KeepOrder keep = KeepOrder::kIfNeeded,
           int parts = 0, std::optional<cost::RatesInUse> rates = {});

  /// Loads the data with the split of another run, also where they were taken. No session may hold the old ones.
  void reload(std::int64_t run);

  /// Until it is taken.
  const data::Dataset& dataset() const;
  /// Gives the data set away: to a session, which frees what it does not need.
  data::Dataset take_dataset();
  /// Gives back the pages of features that lie in a file, after they were read once.
  void rest_features();
  /// Has mini-batches and evaluations layer by layer read features from their file: sessions made from now on take so
  /// much less memory. False where they lie in none that could be read so.
  bool leave_features_in_file();
  /// The model's text as it was compiled, whatever becomes of its file.
  const language::Source& source() const { return source_; }
  const train::SessionOptions& session() const { return session_; }
  train::SessionOptions& session() { return session_; }
  const train::FullGraphOptions& driver() const { return driver_; }
  std::int64_t runs() const { return runs_; }
  /// The order that the nodes of dataset() were put in.
  const epochs::ReorderReport& reorder() const { return reorder_; }
  /// Of KeepOrder::kYes: which node became node v; empty if each stayed where it was.
  const graph::Order& order() const { return order_; }
  /// Columns of the widest matrix that the model gathers by edges.
  std::int64_t gathered_width() const { return gathered_width_; }
  /// The rows that a device keeps, which are the first of dataset(); none (count 0) where none was asked for.
  const tiers::HotRows& hot_rows() const { return hot_rows_; }
  /// One line about the defaults that were chosen for the data; empty if everything was given or they are plain.
  const std::string& defaults() const { return defaults_; }

  std::int64_t baseline_bytes() const { return baseline_bytes_; }
  /// Peak memory while the data were read, the process before included.
  std::int64_t load_peak_bytes() const { return load_peak_bytes_; }
  /// Peak memory of the training: the larger of what reading the data took, and the process with its data, the plan,
  /// and what the driver keeps.
  std::int64_t peak_bytes(const ir::Plan& plan) const;
  /// The same where the data set stays whole: mini-batches read all of it in every epoch. `beside`: what these take,
  /// once the data are read.
  std::int64_t peak_bytes_of_kept(const ir::Plan& plan, std::int64_t beside = 0) const;
  /// The same of a training that takes so much besides the data set as it was loaded.
  std::int64_t peak_bytes_with(std::int64_t training_bytes, const ir::Plan& plan, std::int64_t beside = 0) const;
  /// --mem, or what the machine has.
  std::int64_t memory_limit() const;

 private:
  /// The data set; `first`: for the first time.
  data::Dataset read(data::LoadOptions options, bool first) const;
  /// All edges and features, where ranks were to read their parts; `why` begins a note.
  void read_all(const std::string& why);
  void choose_defaults();
  void compile_model();
  std::shared_ptr<const language::CompileResult> compiled_by(const settings::Config& config) const;
  void follow_fanout();
  void put_in_order();
  void find_order();
  void choose_hot_rows();
  void rename_nodes();
  void measure_load();
  /// The session's options for the data at hand; they know what the limit of memory leaves.
  void set_session();

  settings::Config* config_;
  PlanFor plan_for_;
  KeepOrder keep_;
  GivenData given_;
  int parts_;
  cost::RatesInUse rates_;
  std::int64_t baseline_bytes_ = 0;
  std::int64_t load_peak_bytes_ = 0;
  std::int64_t loaded_bytes_ = 0;  ///< resident once the data were read
  std::int64_t loaded_besides_features_ = 0;
  std::int64_t label_bytes_ = 0;  ///< of a node
  data::Dataset dataset_;
  bool taken_ = false;       ///< it was given away
  bool edges_rest_ = false;  ///< they lie in a scratch file, of which no page is in memory
  language::Source source_;
  language::ProgramInputs program_inputs_;  ///< what the model was compiled for
  std::shared_ptr<const language::CompileResult> compiled_;
  train::SessionOptions session_;
  train::FullGraphOptions driver_;
  std::int64_t runs_ = 1;
  std::int64_t gathered_width_ = 0;
  std::int32_t hops_ = 0;
  epochs::ReorderReport reorder_;
  tiers::HotRows hot_rows_;  ///< without their order
  std::string defaults_;
  graph::Order order_;  ///< of nodes, when it will be asked for, or the data read again; empty = as given
};

}  // namespace gneiss::jobs
