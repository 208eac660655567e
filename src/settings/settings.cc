// The table: one row a setting, with key, flag, type, default, range and help. Flags, run files and the page in docs/
// are made of it.
#include "settings/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/names.h"
#include "base/visible.h"
#include "epochs/metrics.h"
#include "settings/habits.h"

namespace gneiss::settings {
namespace {

using enum SettingType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kManyEpochs = 10'000'000;
constexpr double kManySeeds = 9.0e15;

std::vector<Setting> data_settings() {
  const std::string habit = "the format's habit in PyG";
  const std::string by_table = "as the first rows say";
  return {
      {.key = "data.name",
       .flag = "data",
       .help = "generator, preset, file or folder; over a run file: where its data set lies"},
      {.key = "data.format",
       .flag = "format",
       .initial = "auto",
       .help = "format of the data, when it cannot be told from the content"},
      {.key = "data.split",
       .flag = "split",
       .help = "public, 0..9 (K-th of the file), random, shchur, ratio:60/20/20, none; cycle: run r takes split r; "
               "all: one run per split",
       .unset = "the format's own"},
      {.key = "data.split_per_run",
       .flag = "split-per-run",
       .type = kBool,
       .initial = "false",
       .help = "draw a new random split for every run"},
      {.key = "data.seed",
       .flag = "data-seed",
       .type = kInteger,
       .initial = "0",
       .help = "seed of random splits and of generators without one",
       .least = 0,
       .most = kManySeeds},
      {.key = "data.to_undirected",
       .flag = "to-undirected",
       .type = kBool,
       .help = "add every edge's reverse",
       .unset = habit},
      {.key = "data.remove_self_loops",
       .flag = "remove-self-loops",
       .type = kBool,
       .help = "drop edges v -> v",
       .unset = habit},
      {.key = "data.add_self_loops",
       .flag = "add-self-loops",
       .type = kBool,
       .initial = "false",
       .help = "give every node a self loop"},
      {.key = "data.coalesce", .flag = "coalesce", .type = kBool, .initial = "false", .help = "merge parallel edges"},
      {.key = "data.ignore_weights",
       .flag = "ignore-weights",
       .type = kBool,
       .initial = "false",
       .help = "take every edge as weight 1"},
      {.key = "data.largest_component",
       .flag = "largest-component",
       .type = kBool,
       .initial = "false",
       .help = "keep only the largest connected component"},
      {.key = "data.binarize", .flag = "binarize", .type = kBool, .help = "non-zero features become 1", .unset = habit},
      {.key = "data.normalize_features",
       .flag = "normalize-features",
       .type = kChoice,
       .initial = "none",
       .help = "rescale features",
       .choices = {"none", "row", "standard", "train-standard", "binary"}},
      {.key = "data.feature_form",
       .flag = "feature-form",
       .type = kChoice,
       .initial = "auto",
       .help = "how features are kept",
       .choices = {"auto", "dense", "sparse"}},
      {.key = "data.feature_dtype",
       .flag = "feature-dtype",
       .type = kChoice,
       .initial = "f32",
       .help = "how dense features are kept in memory; all arithmetic is f32",
       .choices = {"f32", "bf16", "f16"}},
      {.key = "data.features",
       .flag = "features",
       .help = "file of node features, for edge lists and matrices",
       .unset = "none"},
      {.key = "data.labels",
       .flag = "labels",
       .help = "file of node labels, for edge lists and matrices",
       .unset = "none"},
      {.key = "data.label_kind",
       .flag = "label-kind",
       .type = kChoice,
       .initial = "auto",
       .help = "what the label file holds",
       .choices = {"auto", "class", "multi", "regression"}},
      {.key = "data.train_ids",
       .flag = "train-ids",
       .help =
           "file of the training nodes, ids or a mask, text or .npy; with --val-ids and --test-ids in place of a split",
       .unset = "none"},
      {.key = "data.val_ids", .flag = "val-ids", .help = "file of the validation nodes", .unset = "none"},
      {.key = "data.test_ids", .flag = "test-ids", .help = "file of the test nodes", .unset = "none"},
      {.key = "data.source_column",
       .flag = "source-column",
       .help = "name or number (from 1) of the column of an edge list that edges start from",
       .unset = by_table},
      {.key = "data.target_column",
       .flag = "target-column",
       .help = "likewise the one that they lead to",
       .unset = by_table},
      {.key = "data.weight_column",
       .flag = "weight-column",
       .help = "likewise the one of their weights",
       .unset = by_table},
      {.key = "data.id_column",
       .flag = "id-column",
       .help = "name or number of the column of a feature or label file that names the node",
       .unset = by_table},
      {.key = "data.label_column",
       .flag = "label-column",
       .help = "name or number of the column of a label file that holds the label; left out of a feature file",
       .unset = by_table},
      {.key = "data.header",
       .flag = "header",
       .type = kBool,
       .help = "the first row of an edge list names its columns",
       .unset = by_table},
      {.key = "data.separator",
       .flag = "separator",
       .type = kChoice,
       .help = "what stands between the fields of text tables",
       .choices = {"comma", "tab", "semicolon", "space", "pipe"},
       .unset = by_table},
      {.key = "data.decimal",
       .flag = "decimal",
       .type = kChoice,
       .help = "decimal mark of text tables",
       .choices = {"point", "comma"},
       .unset = by_table},
      {.key = "data.allow_nan",
       .flag = "allow-nan",
       .type = kBool,
       .initial = "false",
       .help = "accept NaN and infinity in features"},
      {.key = "data.max_bytes",
       .flag = "max-data-bytes",
       .type = kBytes,
       .help = "refuse data larger than this (K, M, G allowed)",
       .least = 1,
       .unset = "--mem, or the memory of the machine"},
  };
}

std::vector<Setting> model_settings() {
  const std::string own = "the model's own";
  return {
      {.key = "model.name", .flag = "model", .initial = "gcn", .help = "gcn, sage, gin, gat, mlp, or a .gneiss file"},
      {.key = "model.hidden_channels",
       .flag = "hidden-channels",
       .type = kInteger,
       .help = "width of hidden layers",
       .least = 1,
       .most = 1 << 20,
       .aliases = {"hidden"},
       .unset = own},
      {.key = "model.num_layers",
       .flag = "num-layers",
       .type = kInteger,
       .help = "number of layers",
       .least = 1,
       .most = 1000,
       .unset = own},
      {.key = "model.dropout",
       .flag = "dropout",
       .type = kReal,
       .help = "probability of dropping a hidden value",
       .least = 0,
       .most = 0.999999,
       .unset = own},
      {.key = "model.input_dropout",
       .flag = "input-dropout",
       .type = kReal,
       .help = "probability of dropping an input feature",
       .least = 0,
       .most = 0.999999,
       .unset = own},
      {.key = "model.heads",
       .flag = "heads",
       .type = kInteger,
       .help = "attention heads",
       .least = 1,
       .most = 1024,
       .unset = own},
      {.key = "model.aggr", .flag = "aggr", .help = "mean, max, min or sum over the in-edges", .unset = own},
      {.key = "model.norm", .flag = "norm", .help = "none, batch, layer or layer_graph", .unset = own},
      {.key = "model.act", .flag = "act", .help = "activation: relu, elu, …", .unset = own},
      {.key = "model.jk", .flag = "jk", .help = "jumping knowledge: none, last, cat or max", .unset = own},
      {.key = "model.residual", .flag = "residual", .type = kBool, .help = "residual connections", .unset = own},
  };
}

std::vector<Setting> loss_settings() {
  return {
      {.key = "loss.name",
       .flag = "loss",
       .type = kChoice,
       .initial = "auto",
       .help = "auto: by the labels",
       .choices = {"auto", "cross_entropy", "bce_with_logits", "mse"}},
      {.key = "loss.label_smoothing",
       .flag = "label-smoothing",
       .type = kReal,
       .initial = "0",
       .help = "of the cross entropy",
       .least = 0,
       .most = 1},
      {.key = "loss.class_weights",
       .flag = "class-weights",
       .type = kTextList,
       .help = "balanced, or one weight per class",
       .unset = "all one"},
  };
}

std::vector<Setting> optimizer_settings() {
  return {
      {.key = "optim.name",
       .flag = "optimizer",
       .type = kChoice,
       .initial = "adam",
       .help = "update rule",
       .choices = {"adam", "adamw", "sgd"}},
      {.key = "optim.lr",
       .flag = "lr",
       .type = kReal,
       .initial = "0.01",
       .help = "learning rate",
       .least = 0,
       .aliases = {"learning-rate"}},
      {.key = "optim.weight_decay",
       .flag = "weight-decay",
       .type = kReal,
       .initial = "0",
       .help = "L2 penalty (adamw: decoupled)",
       .least = 0},
      {.key = "optim.weight_decay_on",
       .flag = "weight-decay-on",
       .type = kChoice,
       .initial = "all",
       .help = "which layers decay",
       .choices = {"all", "first"}},
      {.key = "optim.momentum",
       .flag = "momentum",
       .type = kReal,
       .initial = "0",
       .help = "of sgd",
       .least = 0,
       .most = 0.999999},
      {.key = "optim.nesterov",
       .flag = "nesterov",
       .type = kBool,
       .initial = "false",
       .help = "Nesterov's form of momentum"},
      {.key = "optim.betas",
       .flag = "betas",
       .type = kRealList,
       .initial = "0.9,0.999",
       .help = "decay rates of adam's moments",
       .least = 0,
       .most = 0.99999999},
      {.key = "optim.eps",
       .flag = "eps",
       .type = kReal,
       .initial = "1e-08",
       .help = "adam's denominator floor",
       .least = 0,
       .most = 1},
      {.key = "optim.clip_norm",
       .flag = "clip-norm",
       .type = kReal,
       .initial = "0",
       .help = "largest norm of the gradient, 0 = any",
       .least = 0},
  };
}

std::vector<Setting> schedule_settings() {
  return {
      {.key = "schedule.name",
       .flag = "lr-schedule",
       .type = kChoice,
       .initial = "constant",
       .help = "how the learning rate moves",
       .choices = {"constant", "cosine", "plateau"}},
      {.key = "schedule.warmup_epochs",
       .flag = "warmup-epochs",
       .type = kInteger,
       .initial = "0",
       .help = "linear warm-up in front",
       .least = 0,
       .most = kManyEpochs},
      {.key = "schedule.warmup_start",
       .flag = "warmup-start",
       .type = kReal,
       .initial = "0.3333333333333333",
       .help = "first factor of the warm-up",
       .least = 1e-12,
       .most = 1},
      {.key = "schedule.min_lr",
       .flag = "min-lr",
       .type = kReal,
       .initial = "0",
       .help = "floor of cosine and plateau",
       .least = 0},
      {.key = "schedule.factor",
       .flag = "plateau-factor",
       .type = kReal,
       .initial = "0.1",
       .help = "plateau: times this",
       .least = 0,
       .most = 0.999999},
      {.key = "schedule.patience",
       .flag = "plateau-patience",
       .type = kInteger,
       .initial = "10",
       .help = "plateau: evaluations without progress",
       .least = 0,
       .most = kManyEpochs},
      {.key = "schedule.threshold",
       .flag = "plateau-threshold",
       .type = kReal,
       .initial = "0.0001",
       .help = "plateau: relative change that counts as progress",
       .least = 0,
       .most = 1},
  };
}

std::vector<Setting> train_settings() {
  return {
      {.key = "train.epochs",
       .flag = "epochs",
       .type = kInteger,
       .initial = "200",
       .help = "most epochs of a run",
       .least = 1,
       .most = kManyEpochs},
      {.key = "train.patience",
       .flag = "patience",
       .type = kInteger,
       .initial = "0",
       .help = "stop after this many evaluations without progress, 0 = never",
       .least = 0,
       .most = kManyEpochs},
      {.key = "train.monitor",
       .flag = "monitor",
       .type = kChoice,
       .initial = "metric",
       .help = "what progress and the best epoch mean on the validation nodes",
       .choices = {"metric", "loss", "both", "objective"}},
      {.key = "train.eval_every",
       .flag = "eval-every",
       .type = kInteger,
       .initial = "1",
       .help = "epochs between evaluations",
       .least = 1,
       .most = kManyEpochs},
      {.key = "train.metric",
       .flag = "metric",
       .type = kChoice,
       .help = "score",
       .choices = epochs::metric_names(),
       .unset = "the data set's usual one"},
      {.key = "train.defaults",
       .flag = "defaults",
       .type = kChoice,
       .initial = "chosen",
       .help =
           "where nothing is given: chosen, built-in models take values that suit the data (`gneiss help defaults`); "
           "plain, each setting its own default",
       .choices = {"chosen", "plain"}},
      {.key = "train.runs",
       .flag = "runs",
       .type = kInteger,
       .initial = "1",
       .help = "runs with seeds seed, seed + 1, …",
       .least = 1,
       .most = 100000},
      {.key = "train.seed",
       .flag = "seed",
       .type = kInteger,
       .initial = "0",
       .help = "seed of weights and dropout",
       .least = 0,
       .most = kManySeeds},
      {.key = "train.reorder",
       .flag = "reorder",
       .type = kChoice,
       .initial = "auto",
       .help = "order of the nodes in memory, for speed; results stay in the given one",
       .choices = {"none", "degree", "rcm", "clusters", "auto"}},
      {.key = "train.mem",
       .flag = "mem",
       .type = kBytes,
       .help = "most memory that the training may take, all included (K, M, G allowed)",
       .least = 1,
       .unset = "the memory of the machine"},
      {.key = "train.ranks",
       .flag = "ranks",
       .type = kInteger,
       .initial = "1",
       .help = "train on so many ranks, threads of this process, each with a part of the nodes",
       .least = 1,
       .most = 1024},
      {.key = "train.partition",
       .flag = "partition",
       .type = kChoice,
       .initial = "contiguous",
       .help = "how nodes are dealt out to ranks; a data set that was partitioned for as many keeps its parts",
       .choices = {"auto", "contiguous", "clusters", "metis", "components", "stream", "degree"}},
      {.key = "train.network",
       .flag = "network",
       .type = kText,
       .initial = "25GB/s,2us",
       .help = "what a rank receives a second and how long a message takes, for --partition auto and plans"},
      {.key = "train.devices",
       .flag = "devices",
       .type = kInteger,
       .initial = "1",
       .help = "train on so many virtual devices, which read rows of others' nodes where those have them",
       .least = 1,
       .most = 1024},
      {.key = "train.machine",
       .flag = "machine",
       .type = kText,
       .initial = "dgx-a100",
       .help = "for `gneiss plan --devices`: whose links the devices have (dgx-a100, dgx-v100, pcie4)"},
      {.key = "train.threads",
       .flag = "threads",
       .type = kInteger,
       .initial = "0",
       .help = "0 = all processors allowed; never changes a result",
       .least = 0,
       .most = 1024},
  };
}

std::vector<Setting> batch_settings() {
  return {
      {.key = "batch.size",
       .flag = "batch-size",
       .type = kInteger,
       .help = "train on mini-batches of so many seed nodes",
       .least = 1,
       .most = kManyEpochs,
       .unset = "train: the whole graph; sample: 1024"},
      {.key = "batch.fanout",
       .flag = "fanout",
       .help = "in-edges that a node draws, the seeds first, then what they drew; -1: all",
       .unset = "15,10,5, one number for each hop of the model"},
      {.key = "batch.replace",
       .flag = "replace",
       .type = kBool,
       .help = "draw edges with replacement",
       .unset = "false"},
      {.key = "batch.weighted",
       .flag = "weighted",
       .type = kBool,
       .help = "draw edges by their weights",
       .unset = "false"},
      {.key = "batch.labor",
       .flag = "labor",
       .type = kBool,
       .help = "LABOR: nodes of a batch choose alike, so that it has fewer of them",
       .unset = "false"},
      {.key = "batch.layer_dependency",
       .flag = "layer-dependency",
       .type = kBool,
       .help = "LABOR: one random number of a source for all hops",
       .unset = "false"},
      {.key = "batch.dependency",
       .flag = "batch-dependency",
       .type = kInteger,
       .help = "LABOR: batches that a source keeps its random number for",
       .least = 1,
       .most = kManyEpochs,
       .unset = "1"},
      {.key = "batch.semantics",
       .flag = "semantics",
       .type = kChoice,
       .help = "mfg: every node draws anew at each hop; subgraph: once",
       .choices = {"mfg", "subgraph"},
       .unset = "mfg"},
      {.key = "batch.degrees",
       .flag = "degrees",
       .type = kChoice,
       .help = "degrees and normalisation in training: of the full graph, or of a batch's sampled edges",
       .choices = {"full", "batch"},
       .unset = "full"},
  };
}

std::vector<Setting> device_settings() {
  return {
      {.key = "device.name",
       .flag = "device",
       .help = "cuda, cuda:N: a card; auto: a card if one can be used; emulated: a card's kernels on the CPU; with "
               "mini-batches sim:PROFILE, a simulated machine (gneiss help profiles), or host:FILE, threads",
       .unset = "cpu"},
      {.key = "device.schedule",
       .flag = "schedule",
       .help = "who prepares which batch: paper, best, cpu, device or coinflip:R",
       .unset = "best"},
      {.key = "device.batches",
       .flag = "device-batches",
       .type = kInteger,
       .help = "batches that may wait in the device's memory",
       .least = 1,
       .most = 1024,
       .unset = "10"},
      {.key = "device.trace", .flag = "trace", .help = "file for plan and run, as Perfetto reads it", .unset = "none"},
  };
}

std::vector<Setting> output_settings() {
  return {
      {.key = "out.folder", .flag = "out", .help = "run folder", .unset = "runs/DATA_MODEL, numbered if taken"},
      {.key = "out.force",
       .flag = "force",
       .type = kBool,
       .initial = "false",
       .help = "replace a run folder of that name"},
      {.key = "out.checkpoint_every",
       .flag = "checkpoint-every",
       .help = "how often a checkpoint is kept in the run folder, for `gneiss resume`: every so many epochs or "
               "mini-batches (100), or seconds, minutes or hours (30s, 10m, 1h); 0: only when stopped",
       .unset = "10m"},
      {.key = "out.save", .flag = "save", .type = kBool, .initial = "true", .help = "write a run folder"},
      {.key = "passes.off",
       .flag = "passes-off",
       .type = kTextList,
       .help = "passes that are not to run (`gneiss plan` lists them)",
       .unset = "none"},
      {.key = "passes.order",
       .flag = "order",
       .type = kChoice,
       .initial = "auto",
       .help = "transform and aggregate in which order",
       .choices = {"auto", "transform_first", "aggregate_first"}},
      {.key = "passes.source_tiles",
       .flag = "source-tiles",
       .type = kChoice,
       .initial = "auto",
       .help = "aggregate tile by tile of source nodes; auto: on dense graphs, and wide rows panel by panel of columns",
       .choices = {"auto", "on", "off"},
       .aliases = {"source-blocks"},
       .former_key = "passes.source_blocks"},
      {.key = "passes.jit",
       .flag = "jit",
       .type = kBool,
       .initial = "false",
       .help = "compile loops over edges for the model's own layers with the host's C++ compiler"},
      {.key = "passes.epochs",
       .flag = "plan-epochs",
       .type = kInteger,
       .help = "epochs that work done once before them is weighed against",
       .least = 1,
       .most = kManyEpochs,
       .unset = "those of all runs"},
      {.key = "passes.sparse_path",
       .flag = "sparse-path",
       .type = kChoice,
       .initial = "auto",
       .help = "products with sparse features on stored values or on a dense copy; auto: by density and modelled time",
       .choices = {"auto", "sparse", "dense"}},
  };
}

std::vector<Setting> all_settings() {
  std::vector<Setting> all;
  for (auto* part : {data_settings, model_settings, loss_settings, optimizer_settings, schedule_settings,
                     train_settings, batch_settings, device_settings, output_settings}) {
    for (Setting& setting : part()) all.push_back(std::move(setting));
  }
  return all;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// "32G", "32GB" or "32GiB" as bytes, all of them times 2^30; false if it is no size.
bool parse_bytes(std::string_view text, double* value) {
  if (text.ends_with('B')) text.remove_suffix(1);
  const bool binary = text.ends_with('i');
  if (binary) text.remove_suffix(1);
  double unit = 1;
  const std::size_t at = text.empty() ? std::string_view::npos : std::string_view("KMGT").find(text.back() & ~0x20);
  if (at != std::string_view::npos) {
    unit = std::pow(1024.0, static_cast<double>(at + 1));
    text.remove_suffix(1);
  } else if (binary) {
    return false;
  }
  if (!parse_real(text, value)) return false;
  *value = std::floor(*value * unit);
  return *value < 9.0e18;
}

[[noreturn]] void fail(const Setting& setting, std::string_view text, const std::string& where) {
  std::string hint = fmt::format("'{}' means: {}", setting.key, setting.help);
  if (!setting.choices.empty()) {
    const std::string nearest = nearest_name(text, setting.choices);
    if (!nearest.empty()) hint = fmt::format("did you mean '{}'?", nearest);
  }
  if (const std::string habit = value_habit(setting.key, text); !habit.empty()) hint = habit;
  throw Error(ErrorCode::kUsage,
              fmt::format("{}: expected {}, got '{}'", setting.key, expected_value(setting), visible(text)), where,
              hint);
}

bool in_range(const Setting& setting, double value) { return value >= setting.least && value <= setting.most; }

std::string bound(double value) { return fmt::format("{:g}", value); }

}  // namespace

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = all_settings();
  return all;
}

const Setting* find_setting(std::string_view key) {
  const auto& all = settings();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Setting& s) {
    return s.key == key || (!s.former_key.empty() && s.former_key == key);
  });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> setting_keys() {
  std::vector<std::string> keys;
  for (const Setting& setting : settings()) keys.push_back(setting.key);
  return keys;
}

std::string expected_value(const Setting& setting) {
  std::string range;
  if (setting.least != -kInfinity && setting.most != kInfinity) {
    range = fmt::format(" from {} to {}", bound(setting.least), bound(setting.most));
  } else if (setting.least != -kInfinity) {
    range = fmt::format(" of at least {}", bound(setting.least));
  }
  switch (setting.type) {
    case kBool:
      return "true or false";
    case kInteger:
      return "a whole number" + range;
    case kReal:
      return "a number" + range;
    case kBytes:
      return "a number of bytes";
    case kChoice:
      return "one of " + join(setting.choices, ", ");
    case kRealList:
      return "a list of numbers" + range;
    case kTextList:
      return "a list";
    case kText:
      break;
  }
  return "a text";
}

std::string check_value(const Setting& setting, std::string_view raw, const std::string& where) {
  const std::string_view text = trim(raw);
  double real = 0;
  long long integer = 0;
  switch (setting.type) {
    case kBool:
      for (const std::string_view yes : {"true", "yes", "on", "1"}) {
        if (lower(text) == yes) return "true";
      }
      for (const std::string_view no : {"false", "no", "off", "0"}) {
        if (lower(text) == no) return "false";
      }
      fail(setting, text, where);
    case kInteger:
      if (!parse_integer(text, &integer) || !in_range(setting, static_cast<double>(integer)))
        fail(setting, text, where);
      return std::to_string(integer);
    case kReal:
      if (!parse_real(text, &real) || !in_range(setting, real)) fail(setting, text, where);
      return fmt::format("{}", real);
    case kBytes:
      if (!parse_bytes(text, &real) || !in_range(setting, real)) fail(setting, text, where);
      return fmt::format("{:.0f}", real);
    case kChoice:
      if (std::find(setting.choices.begin(), setting.choices.end(), text) == setting.choices.end())
        fail(setting, text, where);
      return std::string(text);
    case kRealList:
      for (const std::string& item : split_list(text)) {
        if (!parse_real(item, &real) || !in_range(setting, real)) fail(setting, text, where);
      }
      return join(split_list(text), ",");
    case kTextList:
      return join(split_list(text), ",");
    case kText:
      if (text.empty()) fail(setting, text, where);
      return std::string(text);
  }
  return std::string(text);
}

std::string settings_markdown() {
  std::string text;
  std::string group;
  for (const Setting& setting : settings()) {
    const std::string this_group = setting.key.substr(0, setting.key.find('.'));
    if (this_group != group) {
      group = this_group;
      text += fmt::format("\n### {}\n\n| flag | in a run file | value | default | meaning |\n|---|---|---|---|---|\n",
                          group);
    }
    std::string flags = fmt::format("`--{}`", setting.flag);
    if (setting.type == kBool) flags += fmt::format(" `--no-{}`", setting.flag);
    for (const std::string& alias : setting.aliases) flags += fmt::format(" `--{}`", alias);
    text += fmt::format("| {} | `{}` | {} | {} | {} |\n", flags, setting.key, expected_value(setting),
                        setting.initial.empty() ? setting.unset : "`" + setting.initial + "`", setting.help);
  }
  return text;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = trim(text.substr(0, comma));
    if (!item.empty()) items.emplace_back(item);
    text.remove_prefix(std::min(text.size(), comma + 1));
  }
  return items;
}

bool parse_real(std::string_view text, double* value) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(*value);
}

bool parse_integer(std::string_view text, long long* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace gneiss::settings
