// From settings to the structs that the parts take.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cost/rates_file.h"
#include "data/load.h"
#include "exchange/exchange.h"
#include "language/compile.h"
#include "minibatch/sampler.h"
#include "settings/config.h"
#include "train/batches.h"
#include "train/full_graph.h"
#include "train/session.h"

namespace gneiss::jobs {

/// Gives settings to a config as a training script in the model's text states them; files and flags win.
/// Errors: kUsage where the script asks for what there is none of; `where` names the model.
void apply_script(const language::ScriptSettings& script, const std::string& where, settings::Config* config);

/// `run` counts from 0: a split that changes from run to run follows it, around the `num_splits` that the data offer.
data::LoadOptions load_options(const settings::Config& config, std::int64_t run, int num_splits);
/// Threads asked for, or threads_of_process().
int thread_count(const settings::Config& config);
/// Bytes of memory that a command may take: --mem, or what the machine has.
std::int64_t memory_limit(const settings::Config& config);
/// What the system's cache is to keep of features in their file: --page-cache, or FeatureFile::kAnyCache.
std::int64_t page_cache_bytes(const settings::Config& config);
/// True if runs have splits of their own.
bool split_changes(const settings::Config& config);

/// Bytes that a scratch file (base/file.h) may take: a quarter of the room for them.
std::int64_t scratch_file_limit();

/// What the model is compiled and planned with, by the rates measured on this machine if there are any. Errors: kUsage
/// for a loss that does not go with the labels and for class weights of another number than the classes.
train::SessionOptions session_options(const settings::Config& config, const data::Dataset& dataset);
/// The same by these rates.
train::SessionOptions session_options(const settings::Config& config, const data::Dataset& dataset,
                                      const cost::RatesInUse& rates);
/// The driver's options. Errors: kUsage, e.g. for a warm-up longer than the run.
train::FullGraphOptions full_graph_options(const settings::Config& config, const data::Dataset& dataset);

/// On how many ranks a training runs.
int rank_count(const settings::Config& config);
/// On how many virtual devices.
int device_count(const settings::Config& config);
/// Throws kUnsupported, naming the option, if something is asked for that several ranks do not do yet.
void check_ranks(const settings::Config& config, int ranks);
/// Throws kUsage if --exchange, --machine or --ranks-per-node is given where it would change nothing.
void check_exchange(const settings::Config& config, bool plans);
/// How ranks that are sent rows of others take them up: halo, or stream where that is asked for.
exchange::Exchange rank_exchange(const settings::Config& config);

/// Errors: kUsage for --processes without several devices.
void check_processes(const settings::Config& config);
/// Do devices show their rows in NVSHMEM's symmetric heap?
bool takes_nvshmem(const settings::Config& config);
/// Errors: kUsage where they are to and are no processes; kUnsupported where they have no memory of their own.
void check_peer_memory(const settings::Config& config);

/// Does the config ask for mini-batches?
bool trains_batches(const settings::Config& config);
/// How neighbours are drawn; `hops`: how many numbers of the default fanout are wanted, 0 for all of them.
/// Errors: kUsage as minibatch::parse_fanout.
minibatch::SamplerOptions sampler_options(const settings::Config& config, std::int32_t hops);
/// The same and the size of batches, for a model that reaches over `hops` hops.
train::BatchOptions batch_options(const settings::Config& config, std::int32_t hops);

/// Is a machine named that mini-batches are prepared on (sim:, host:), and not one that trains the whole graph?
bool names_batch_device(const settings::Config& config);
/// That machine, and how it is scheduled; none where none is named.
/// Errors: kUsage for an unknown profile or schedule, and for settings of a machine that is not there; kBadData as
/// schedule::parse_profile.
std::optional<train::DeviceOptions> device_options(const settings::Config& config);

/// How many of `nodes` rows of features a device keeps, as --hot says: "10%", "5000", or "auto",
/// train::kAsManyHotRowsAsFit. More than all are all. Errors: kUsage for other texts, and for "auto" where nobody says
/// how much memory the device has.
std::int64_t hot_row_count(const settings::Config& config, std::int64_t nodes);

/// The same of rows of the graph, as --hot-edges says.
std::int64_t hot_edge_count(const settings::Config& config, std::int64_t nodes);

/// Where the data set of a config lies: what `--data` or the command line named, taken as the data set itself or as a
/// folder that holds the run file's data set by name; what a run file names, seen from here or from the run file's
/// folder; a generator's spec as it is.
std::string resolve_data(const settings::Config& config);
/// A file that the config names (a model, features, labels), seen from here or from the run file's folder, as an
/// absolute path; anything else unchanged.
std::string resolve_file(const settings::Config& config, std::string_view key);

/// A built-in model's text or a file's. Errors: kUsage with the nearest built-in; kBadData if the file cannot be read.
language::Source model_source(const std::string& model, const std::string& where = {});

}  // namespace gneiss::jobs
