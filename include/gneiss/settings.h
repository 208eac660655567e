// Every setting of a run by its type: `config.set(keys::optimizer, Optimizer::kAdamw)`.
//
// Written from the table of settings, as api_settings_test holds; GNEISS_WRITE=1 has it write this file
// anew. Keys are called as the flags of the command and the keywords of Python are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gneiss/setting_values.h"

// clang-format off
namespace gneiss {

/// Of keys::format.
enum class DataFormat : std::uint8_t {
  kAuto, kGneiss, kPlanetoid, kGnnBenchmark, kHeterophilous, kGeomGcn, kEdgeList, kMatrixMarket, kMetis, kDimacs
};
template <>
struct Choices<DataFormat> {
  static constexpr std::string_view names[] = {
      "auto", "gneiss", "planetoid", "gnn-benchmark", "heterophilous", "geom-gcn", "edge-list", "matrix-market",
      "metis", "dimacs"
  };
};

/// Of keys::normalize_features.
enum class FeatureNorm : std::uint8_t {
  kNone, kRow, kStandard, kTrainStandard, kBinary
};
template <>
struct Choices<FeatureNorm> {
  static constexpr std::string_view names[] = {
      "none", "row", "standard", "train-standard", "binary"
  };
};

/// Of keys::feature_form.
enum class FeatureForm : std::uint8_t {
  kAuto, kDense, kSparse
};
template <>
struct Choices<FeatureForm> {
  static constexpr std::string_view names[] = {
      "auto", "dense", "sparse"
  };
};

/// Of keys::feature_dtype.
enum class FeatureType : std::uint8_t {
  kF32, kBf16, kF16
};
template <>
struct Choices<FeatureType> {
  static constexpr std::string_view names[] = {
      "f32", "bf16", "f16"
  };
};

/// Of keys::label_kind.
enum class LabelKind : std::uint8_t {
  kAuto, kClass, kMulti, kRegression
};
template <>
struct Choices<LabelKind> {
  static constexpr std::string_view names[] = {
      "auto", "class", "multi", "regression"
  };
};

/// Of keys::separator.
enum class Separator : std::uint8_t {
  kComma, kTab, kSemicolon, kSpace, kPipe
};
template <>
struct Choices<Separator> {
  static constexpr std::string_view names[] = {
      "comma", "tab", "semicolon", "space", "pipe"
  };
};

/// Of keys::decimal.
enum class DecimalMark : std::uint8_t {
  kPoint, kComma
};
template <>
struct Choices<DecimalMark> {
  static constexpr std::string_view names[] = {
      "point", "comma"
  };
};

/// Of keys::aggr.
enum class Aggregation : std::uint8_t {
  kMean, kMax, kSum, kMin
};
template <>
struct Choices<Aggregation> {
  static constexpr std::string_view names[] = {
      "mean", "max", "sum", "min"
  };
};

/// Of keys::norm.
enum class Norm : std::uint8_t {
  kNone, kBatch, kLayer, kLayerGraph
};
template <>
struct Choices<Norm> {
  static constexpr std::string_view names[] = {
      "none", "batch", "layer", "layer_graph"
  };
};

/// Of keys::act.
enum class Activation : std::uint8_t {
  kRelu, kElu, kLeakyRelu, kTanh, kNone
};
template <>
struct Choices<Activation> {
  static constexpr std::string_view names[] = {
      "relu", "elu", "leaky_relu", "tanh", "none"
  };
};

/// Of keys::jk.
enum class JumpingKnowledge : std::uint8_t {
  kNone, kLast, kCat, kMax
};
template <>
struct Choices<JumpingKnowledge> {
  static constexpr std::string_view names[] = {
      "none", "last", "cat", "max"
  };
};

/// Of keys::loss.
enum class Loss : std::uint8_t {
  kAuto, kCrossEntropy, kBceWithLogits, kMse
};
template <>
struct Choices<Loss> {
  static constexpr std::string_view names[] = {
      "auto", "cross_entropy", "bce_with_logits", "mse"
  };
};

/// Of keys::optimizer.
enum class Optimizer : std::uint8_t {
  kAdam, kAdamw, kSgd
};
template <>
struct Choices<Optimizer> {
  static constexpr std::string_view names[] = {
      "adam", "adamw", "sgd"
  };
};

/// Of keys::weight_decay_on.
enum class DecayOn : std::uint8_t {
  kAll, kFirst
};
template <>
struct Choices<DecayOn> {
  static constexpr std::string_view names[] = {
      "all", "first"
  };
};

/// Of keys::lr_schedule.
enum class LearningRateSchedule : std::uint8_t {
  kConstant, kCosine, kPlateau
};
template <>
struct Choices<LearningRateSchedule> {
  static constexpr std::string_view names[] = {
      "constant", "cosine", "plateau"
  };
};

/// Of keys::monitor.
enum class Monitor : std::uint8_t {
  kMetric, kLoss, kBoth, kObjective
};
template <>
struct Choices<Monitor> {
  static constexpr std::string_view names[] = {
      "metric", "loss", "both", "objective"
  };
};

/// Of keys::metric.
enum class Metric : std::uint8_t {
  kAccuracy, kMicroF1, kMacroF1, kRocauc, kMse, kRmse, kMae
};
template <>
struct Choices<Metric> {
  static constexpr std::string_view names[] = {
      "accuracy", "micro_f1", "macro_f1", "rocauc", "mse", "rmse", "mae"
  };
};

/// Of keys::defaults.
enum class DefaultsRule : std::uint8_t {
  kChosen, kPlain
};
template <>
struct Choices<DefaultsRule> {
  static constexpr std::string_view names[] = {
      "chosen", "plain"
  };
};

/// Of keys::reorder.
enum class NodeOrder : std::uint8_t {
  kNone, kDegree, kRcm, kClusters, kAuto
};
template <>
struct Choices<NodeOrder> {
  static constexpr std::string_view names[] = {
      "none", "degree", "rcm", "clusters", "auto"
  };
};

/// Of keys::partition.
enum class PartitionMethod : std::uint8_t {
  kAuto, kContiguous, kClusters, kMetis, kComponents, kStream, kDegree
};
template <>
struct Choices<PartitionMethod> {
  static constexpr std::string_view names[] = {
      "auto", "contiguous", "clusters", "metis", "components", "stream", "degree"
  };
};

/// Of keys::exchange.
enum class RowExchange : std::uint8_t {
  kAuto, kHalo, kStream, kFine
};
template <>
struct Choices<RowExchange> {
  static constexpr std::string_view names[] = {
      "auto", "halo", "stream", "fine"
  };
};

/// Of keys::peer_memory.
enum class PeerMemory : std::uint8_t {
  kIpc, kNvshmem
};
template <>
struct Choices<PeerMemory> {
  static constexpr std::string_view names[] = {
      "ipc", "nvshmem"
  };
};

/// Of keys::machine.
enum class VirtualMachine : std::uint8_t {
  kDgxA100, kDgxV100, kHgxH100, kPcie4
};
template <>
struct Choices<VirtualMachine> {
  static constexpr std::string_view names[] = {
      "dgx-a100", "dgx-v100", "hgx-h100", "pcie4"
  };
};

/// Of keys::semantics.
enum class BatchSemantics : std::uint8_t {
  kMfg, kSubgraph
};
template <>
struct Choices<BatchSemantics> {
  static constexpr std::string_view names[] = {
      "mfg", "subgraph"
  };
};

/// Of keys::degrees.
enum class BatchDegrees : std::uint8_t {
  kFull, kBatch
};
template <>
struct Choices<BatchDegrees> {
  static constexpr std::string_view names[] = {
      "full", "batch"
  };
};

/// Of keys::hot_score.
enum class HotScore : std::uint8_t {
  kAuto, kDegree, kVip, kWrpr, kRpr, kPresample
};
template <>
struct Choices<HotScore> {
  static constexpr std::string_view names[] = {
      "auto", "degree", "vip", "wrpr", "rpr", "presample"
  };
};

/// Of keys::passes_off.
enum class Pass : std::uint8_t {
  kProductsAtNodes, kFuseMessages, kFuseAttention, kDistributeProducts, kChooseOrder, kFactorWeights, kSelfLoops,
  kLossRows, kHoistConstants, kChooseSparsePath, kUseSymmetry, kCse, kDce, kFuseElementwise, kHalfConstants, kGroupRows,
  kOverlap, kRecompute, kFuseEdges, kPadRows, kStreamFeatures, kFuseRows, kSplitBands, kFuseEpilogues
};
template <>
struct Choices<Pass> {
  static constexpr std::string_view names[] = {
      "products_at_nodes", "fuse_messages", "fuse_attention", "distribute_products", "choose_order", "factor_weights",
      "self_loops", "loss_rows", "hoist_constants", "choose_sparse_path", "use_symmetry", "cse", "dce",
      "fuse_elementwise", "half_constants", "group_rows", "overlap", "recompute", "fuse_edges", "pad_rows",
      "stream_features", "fuse_rows", "split_bands", "fuse_epilogues"
  };
};

/// Of keys::order.
enum class ProductOrder : std::uint8_t {
  kAuto, kTransformFirst, kAggregateFirst
};
template <>
struct Choices<ProductOrder> {
  static constexpr std::string_view names[] = {
      "auto", "transform_first", "aggregate_first"
  };
};

/// Of keys::source_tiles.
enum class SourceTiles : std::uint8_t {
  kAuto, kOn, kOff
};
template <>
struct Choices<SourceTiles> {
  static constexpr std::string_view names[] = {
      "auto", "on", "off"
  };
};

/// Of keys::sparse_path.
enum class SparsePath : std::uint8_t {
  kAuto, kSparse, kDense
};
template <>
struct Choices<SparsePath> {
  static constexpr std::string_view names[] = {
      "auto", "sparse", "dense"
  };
};

namespace keys {

/// generator, preset, file or folder; over a run file: where its data set lies
inline constexpr Setting<std::string> data{"data.name"};
/// format of the data, when it cannot be told from the content
inline constexpr Setting<DataFormat> format{"data.format"};
/// public, 0..9 (K-th of the file), random, shchur, ratio:60/20/20, none; cycle: run r takes split r; all: one run per
/// split
inline constexpr Setting<Split> split{"data.split"};
/// draw a new random split for every run
inline constexpr Setting<bool> split_per_run{"data.split_per_run"};
/// seed of random splits and of generators without one
inline constexpr Setting<std::int64_t> data_seed{"data.seed"};
/// add every edge's reverse
inline constexpr Setting<bool> to_undirected{"data.to_undirected"};
/// drop edges v -> v
inline constexpr Setting<bool> remove_self_loops{"data.remove_self_loops"};
/// give every node a self loop
inline constexpr Setting<bool> add_self_loops{"data.add_self_loops"};
/// merge parallel edges
inline constexpr Setting<bool> coalesce{"data.coalesce"};
/// take every edge as weight 1
inline constexpr Setting<bool> ignore_weights{"data.ignore_weights"};
/// keep only the largest connected component
inline constexpr Setting<bool> largest_component{"data.largest_component"};
/// non-zero features become 1
inline constexpr Setting<bool> binarize{"data.binarize"};
/// rescale features
inline constexpr Setting<FeatureNorm> normalize_features{"data.normalize_features"};
/// how features are kept
inline constexpr Setting<FeatureForm> feature_form{"data.feature_form"};
/// how dense features are kept in memory; all arithmetic is f32
inline constexpr Setting<FeatureType> feature_dtype{"data.feature_dtype"};
/// file of node features, for edge lists and matrices
inline constexpr Setting<std::string> features{"data.features"};
/// file of node labels, for edge lists and matrices
inline constexpr Setting<std::string> labels{"data.labels"};
/// what the label file holds
inline constexpr Setting<LabelKind> label_kind{"data.label_kind"};
/// file of the training nodes, ids or a mask, text or .npy; with --val-ids and --test-ids in place of a split
inline constexpr Setting<std::string> train_ids{"data.train_ids"};
/// file of the validation nodes
inline constexpr Setting<std::string> val_ids{"data.val_ids"};
/// file of the test nodes
inline constexpr Setting<std::string> test_ids{"data.test_ids"};
/// name or number (from 1) of the column of an edge list that edges start from
inline constexpr Setting<std::string> source_column{"data.source_column"};
/// likewise the one that they lead to
inline constexpr Setting<std::string> target_column{"data.target_column"};
/// likewise the one of their weights
inline constexpr Setting<std::string> weight_column{"data.weight_column"};
/// name or number of the column of a feature or label file that names the node
inline constexpr Setting<std::string> id_column{"data.id_column"};
/// name or number of the column of a label file that holds the label; left out of a feature file
inline constexpr Setting<std::string> label_column{"data.label_column"};
/// the first row of an edge list names its columns
inline constexpr Setting<bool> header{"data.header"};
/// what stands between the fields of text tables
inline constexpr Setting<Separator> separator{"data.separator"};
/// decimal mark of text tables
inline constexpr Setting<DecimalMark> decimal{"data.decimal"};
/// accept NaN and infinity in features
inline constexpr Setting<bool> allow_nan{"data.allow_nan"};
/// refuse data larger than this (K, M, G allowed)
inline constexpr Setting<std::int64_t> max_data_bytes{"data.max_bytes"};
/// gcn, sage, gin, gat, mlp, or a .gneiss file
inline constexpr Setting<std::string> model{"model.name"};
/// width of hidden layers
inline constexpr Setting<std::int64_t> hidden_channels{"model.hidden_channels"};
/// number of layers
inline constexpr Setting<std::int64_t> num_layers{"model.num_layers"};
/// probability of dropping a hidden value
inline constexpr Setting<double> dropout{"model.dropout"};
/// probability of dropping an input feature
inline constexpr Setting<double> input_dropout{"model.input_dropout"};
/// attention heads
inline constexpr Setting<std::int64_t> heads{"model.heads"};
/// mean, max, min or sum over the in-edges
inline constexpr Setting<Aggregation> aggr{"model.aggr"};
/// none, batch, layer or layer_graph
inline constexpr Setting<Norm> norm{"model.norm"};
/// activation: relu, elu, …
inline constexpr Setting<Activation> act{"model.act"};
/// jumping knowledge: none, last, cat or max
inline constexpr Setting<JumpingKnowledge> jk{"model.jk"};
/// residual connections
inline constexpr Setting<bool> residual{"model.residual"};
/// auto: by the labels
inline constexpr Setting<Loss> loss{"loss.name"};
/// of the cross entropy
inline constexpr Setting<double> label_smoothing{"loss.label_smoothing"};
/// balanced, or one weight per class
inline constexpr Setting<ClassWeights> class_weights{"loss.class_weights"};
/// update rule
inline constexpr Setting<Optimizer> optimizer{"optim.name"};
/// learning rate
inline constexpr Setting<double> lr{"optim.lr"};
/// L2 penalty (adamw: decoupled)
inline constexpr Setting<double> weight_decay{"optim.weight_decay"};
/// which layers decay
inline constexpr Setting<DecayOn> weight_decay_on{"optim.weight_decay_on"};
/// of sgd
inline constexpr Setting<double> momentum{"optim.momentum"};
/// Nesterov's form of momentum
inline constexpr Setting<bool> nesterov{"optim.nesterov"};
/// decay rates of adam's moments
inline constexpr Setting<std::vector<double>> betas{"optim.betas"};
/// adam's denominator floor
inline constexpr Setting<double> eps{"optim.eps"};
/// largest norm of the gradient, 0 = any
inline constexpr Setting<double> clip_norm{"optim.clip_norm"};
/// how the learning rate moves
inline constexpr Setting<LearningRateSchedule> lr_schedule{"schedule.name"};
/// linear warm-up in front
inline constexpr Setting<std::int64_t> warmup_epochs{"schedule.warmup_epochs"};
/// first factor of the warm-up
inline constexpr Setting<double> warmup_start{"schedule.warmup_start"};
/// floor of cosine and plateau
inline constexpr Setting<double> min_lr{"schedule.min_lr"};
/// plateau: times this
inline constexpr Setting<double> plateau_factor{"schedule.factor"};
/// plateau: evaluations without progress
inline constexpr Setting<std::int64_t> plateau_patience{"schedule.patience"};
/// plateau: relative change that counts as progress
inline constexpr Setting<double> plateau_threshold{"schedule.threshold"};
/// most epochs of a run
inline constexpr Setting<std::int64_t> epochs{"train.epochs"};
/// stop after this many evaluations without progress, 0 = never
inline constexpr Setting<std::int64_t> patience{"train.patience"};
/// what progress and the best epoch mean on the validation nodes
inline constexpr Setting<Monitor> monitor{"train.monitor"};
/// epochs between evaluations
inline constexpr Setting<std::int64_t> eval_every{"train.eval_every"};
/// score
inline constexpr Setting<Metric> metric{"train.metric"};
/// where nothing is given: chosen, built-in models take values that suit the data (`gneiss help defaults`); plain, each
/// setting its own default
inline constexpr Setting<DefaultsRule> defaults{"train.defaults"};
/// runs with seeds seed, seed + 1, …
inline constexpr Setting<std::int64_t> runs{"train.runs"};
/// seed of weights and dropout
inline constexpr Setting<std::int64_t> seed{"train.seed"};
/// weights that every run begins with: a run folder, or a .safetensors file under PyG's names
inline constexpr Setting<std::string> init{"train.init"};
/// order of the nodes in memory, for speed; results stay in the given one
inline constexpr Setting<NodeOrder> reorder{"train.reorder"};
/// most memory that may be taken, all included (K, M, G allowed)
inline constexpr Setting<std::int64_t> mem{"train.mem"};
/// most that the system's cache keeps of features that stay in their file (K, M, G allowed); 0: nothing
inline constexpr Setting<std::int64_t> page_cache{"train.page_cache"};
/// train on so many ranks, threads of this process, each with a part of the nodes
inline constexpr Setting<std::int64_t> ranks{"train.ranks"};
/// how nodes are dealt out to ranks; a data set that was partitioned for as many keeps its parts
inline constexpr Setting<PartitionMethod> partition{"train.partition"};
/// what a rank receives a second and how long a message takes, as 25GB/s,2us: for --partition auto and plans
inline constexpr Setting<Network> network{"train.network"};
/// for `gneiss plan --ranks` and `gneiss data partition`: ranks that share a machine like this one
inline constexpr Setting<std::int64_t> ranks_per_node{"train.ranks_per_node"};
/// ranks compute while rows and sums are on their way; the results are the same without
inline constexpr Setting<bool> overlap{"train.overlap"};
/// train on so many devices, virtual ones or with --device cuda cards, which read rows of others' nodes where those
/// have them; with --batch-size they share each batch
inline constexpr Setting<std::int64_t> devices{"train.devices"};
/// how devices or ranks that share the graph take up each other's rows: all before a sum (halo), edges from own nodes
/// first (stream), or for a few edges at a time (fine; ranks read them in each other's memory); auto: the shortest by
/// modelled time, of ranks halo
inline constexpr Setting<RowExchange> exchange{"train.exchange"};
/// with --devices: each device is a process of this machine
inline constexpr Setting<bool> processes{"train.processes"};
/// with --processes on a card: how devices come by each other's memory, by CUDA's own handles (ipc) or in NVSHMEM's
/// symmetric heap (nvshmem), whose library is loaded then
inline constexpr Setting<PeerMemory> peer_memory{"train.peer_memory"};
/// with --devices: whose links plans and --exchange auto go by (dgx-a100, dgx-v100, hgx-h100, pcie4)
inline constexpr Setting<VirtualMachine> machine{"train.machine"};
/// 0 = all processors allowed; never changes a result
inline constexpr Setting<std::int64_t> threads{"train.threads"};
/// train on mini-batches of so many seed nodes
inline constexpr Setting<std::int64_t> batch_size{"batch.size"};
/// in-edges that a node draws, the seeds first, then what they drew; -1: all
inline constexpr Setting<std::vector<std::int64_t>> fanout{"batch.fanout"};
/// draw edges with replacement
inline constexpr Setting<bool> replace{"batch.replace"};
/// draw edges by their weights
inline constexpr Setting<bool> weighted{"batch.weighted"};
/// LABOR: nodes of a batch choose alike, so that it has fewer of them
inline constexpr Setting<bool> labor{"batch.labor"};
/// LABOR: one random number of a source for all hops
inline constexpr Setting<bool> layer_dependency{"batch.layer_dependency"};
/// LABOR: batches that a source keeps its random number for
inline constexpr Setting<std::int64_t> batch_dependency{"batch.dependency"};
/// mfg: every node draws anew at each hop; subgraph: once
inline constexpr Setting<BatchSemantics> semantics{"batch.semantics"};
/// degrees and normalisation in training: of the full graph, or of a batch's sampled edges
inline constexpr Setting<BatchDegrees> degrees{"batch.degrees"};
/// cuda, cuda:N: a card; of several --devices cuda: cards of their own, cuda:N,M: these cards; auto: a card if one can
/// be used; emulated: a card's kernels on the CPU; with mini-batches sim:NAME, a simulated machine (gneiss help
/// profiles), or host:FILE, threads
inline constexpr Setting<DeviceChoice> device{"device.name"};
/// most memory of each card, or of a simulated device, that may be taken (K, M, G allowed)
inline constexpr Setting<std::int64_t> device_mem{"device.mem"};
/// wide products on the card's tensor cores: as accurate, with bits that are not those of other cards
inline constexpr Setting<bool> tensor_cores{"device.tensor_cores"};
/// who prepares which batch: paper, best, cpu, device or coinflip:R
inline constexpr Setting<BatchSchedule> schedule{"device.schedule"};
/// batches that may wait in the device's memory
inline constexpr Setting<std::int64_t> device_batches{"device.batches"};
/// rows of features that the device keeps, e.g. 10%, 5000 or auto, as many as fit; nodes are renamed so that they come
/// first
inline constexpr Setting<HotRows> hot{"device.hot"};
/// what makes a row hot: degree, rpr, wrpr, vip, presample, some of them with commas between, or auto
inline constexpr Setting<std::vector<HotScore>> hot_score{"device.hot_score"};
/// rows of the graph that the device keeps and samples from, those with most reads a byte, e.g. 10%, 5000 or auto, as
/// many as are worth more there than rows of features
inline constexpr Setting<HotRows> hot_edges{"device.hot_edges"};
/// file for Perfetto: plan and run of batches, or what devices that share the graph do
inline constexpr Setting<std::string> trace{"device.trace"};
/// run folder
inline constexpr Setting<std::string> out{"out.folder"};
/// replace a run folder of that name
inline constexpr Setting<bool> force{"out.force"};
/// how often a checkpoint is kept in the run folder, for `gneiss resume`: every so many epochs or mini-batches (100),
/// or seconds, minutes or hours (30s, 10m, 1h); 0: only when stopped
inline constexpr Setting<CheckpointEvery> checkpoint_every{"out.checkpoint_every"};
/// write a run folder
inline constexpr Setting<bool> save{"out.save"};
/// passes that are not to run (`gneiss plan` lists them)
inline constexpr Setting<std::vector<Pass>> passes_off{"passes.off"};
/// transform and aggregate in which order
inline constexpr Setting<ProductOrder> order{"passes.order"};
/// aggregate tile by tile of source nodes; auto: on dense graphs, and wide rows panel by panel of columns
inline constexpr Setting<SourceTiles> source_tiles{"passes.source_tiles"};
/// compile loops over edges for the model's own layers: with the host's C++ compiler, for a card with NVRTC
inline constexpr Setting<bool> jit{"passes.jit"};
/// epochs that work done once before them is weighed against
inline constexpr Setting<std::int64_t> plan_epochs{"passes.epochs"};
/// products with sparse features on stored values or on a dense copy; auto: by density and modelled time
inline constexpr Setting<SparsePath> sparse_path{"passes.sparse_path"};

}  // namespace keys
}  // namespace gneiss
// clang-format on
