// Chunks are runs of node ids. A chunk's block holds its rows' in-edges in the order of the graph, so a sum over them
// has the terms and the order that it has on the full graph. The order of products is that of the model's text,
// whatever the size of chunks: scores of different chunks differ by the rounding of products alone.
#include "train/layerwise.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/file_pages.h"
#include "base/pages.h"
#include "epochs/metrics.h"
#include "kernels/clip_norm.h"
#include "minibatch/workspace.h"
#include "passes/inference.h"
#include "runtime/executor.h"
#include "train/batch_inputs.h"
#include "train/block_plans.h"

namespace gneiss::train {
namespace {

constexpr std::int64_t kLeastChunk = 64;  ///< rows and edges
constexpr double kMiB = 1 << 20;
constexpr std::size_t kManyEdges = std::size_t{4} << 20;  ///< bytes of a file, whose pages are worth giving back
// Chunks of less than this part of the graph gather the same rows again and again: then larger ones that read values
// from files are better.
constexpr std::int64_t kSmallPart = 16;
constexpr std::size_t kRowsAtOnce = std::size_t{1} << 16;  ///< of logits that are read from a file
constexpr std::uint64_t kScratchShare = 4;                 ///< of the free disk, that values may take

passes::Options part_passes(const SessionOptions& options) {
  passes::Options made = block_passes(options);
  made.loss.evaluation_only = true;
  made.loss.validation = false;
  made.disabled.insert({"products_at_nodes", "distribute_products", "choose_order"});
  return made;
}

/// All nodes' logits as an input, and the loss of those that validate.
ir::Plan loss_plan(std::int64_t nodes, std::int64_t columns, const SessionOptions& options) {
  ir::Program program;
  program.name = "validation";
  program.node_sets.push_back({"nodes", nodes, false});
  ir::Builder builder(&program);
  const ir::ValueId logits =
      builder.leaf(ir::OpKind::input, ir::node_type(0, columns), {{"name", std::string("features")}});
  program.outputs.push_back({"logits", logits});
  passes::Options made = part_passes(options);
  made.loss.validation = true;
  return passes::build_plan(program, made);
}

}  // namespace

Layerwise::Layerwise(const ir::Program& model, const data::Dataset& dataset, const SessionOptions& options,
                     runtime::Parameters<float>* parameters)
    : model_(passes::only_inference(model)), dataset_(dataset), options_(options), parameters_(*parameters) {
  for (passes::BlockPart& part : passes::cut_by_layers(model_)) {
    const std::int32_t hops = passes::count_hops(model_, part);
    parts_.push_back({std::move(part), hops, {}, {}});
  }
  compute_graph_constants();
  minibatch::SamplerOptions sampling;
  sampling.fanout = {-1};
  sampling.table = minibatch::TableKind::kHash;
  sampler_ = std::make_unique<minibatch::Sampler<NodeId>>(minibatch::in_edges(dataset_.graph), sampling);
}

Layerwise::~Layerwise() = default;

/// What a part computes, chunk by chunk: in memory, or in files that are written front to back.
class Layerwise::Results {
 public:
  Results(std::int64_t nodes, std::int64_t cols, bool in_file) : nodes_(nodes), cols_(cols) {
    const std::int64_t size = nodes * cols;
    if (in_file) {
      file_.emplace_back(static_cast<std::uint64_t>(size) * sizeof(float));
    } else {
      rows_ = Buffer<float>(static_cast<std::size_t>(size));
    }
  }

  void add(MatrixView<const float> rows) {
    GNEISS_ASSERT(rows.cols == cols_, "rows of {} columns where {} are computed", rows.cols, cols_);
    for (std::int64_t v = 0; v < rows.rows; ++v) {
      if (file_.empty()) {
        std::copy_n(rows.row(v), cols_, rows_.data() + (done_ + v) * cols_);
      } else {
        file_.front().write(rows.row(v), static_cast<std::size_t>(cols_) * sizeof(float));
      }
    }
    done_ += rows.rows;
  }

  /// All rows have come.
  Rows take() {
    Rows made;
    made.values.rows = nodes_;
    made.values.cols = cols_;
    made.values.dense = std::move(rows_);
    if (file_.empty() || nodes_ * cols_ == 0) return made;
    const auto mapped = std::make_shared<const MappedFile>(ScratchFile::map_in_a_row(file_));
    auto* const data = reinterpret_cast<float*>(const_cast<std::byte*>(mapped->bytes().data()));
    const std::shared_ptr<const void> keeper(data,
                                             ScratchPages{mapped, file_.front().open_again(), file_.front().start()});
    made.values.dense = Buffer<float>::within(keeper, data, static_cast<std::size_t>(nodes_ * cols_));
    made.file = data::FeatureFile::of(made.values);
    GNEISS_ASSERT(made.file != nullptr, "a scratch file that was just written cannot be read");
    return made;
  }

 private:
  std::int64_t nodes_;
  std::int64_t cols_;
  std::int64_t done_ = 0;
  Buffer<float> rows_;
  std::deque<ScratchFile> file_;
};

void Layerwise::compute_graph_constants() {
  for (const Part& part : parts_) {
    const auto levels = static_cast<std::size_t>(part.hops) + 1;
    const passes::BlockCapacity one{std::vector<std::int64_t>(levels, 1), std::vector<std::int64_t>(levels - 1, 1)};
    const passes::BlockProgram blocks = passes::to_blocks(model_, one, part.part);
    const std::vector<float> rows = graph_constants(dataset_, blocks.constants, options_);
    if (rows.empty()) continue;
    const std::int64_t nodes = dataset_.num_nodes();
    const std::int64_t width = std::ssize(rows) / nodes;
    std::int64_t column = 0;
    for (const ir::ValueId value : blocks.columns) {
      if (std::ranges::find(part.part.given, value) != part.part.given.end()) continue;
      const std::int64_t cols = model_.type(value).cols;
      std::vector<float>& kept = of_graph_[value];
      kept.clear();
      for (std::int64_t v = 0; v < nodes; ++v) {
        const auto from = rows.begin() + v * width + column;
        kept.insert(kept.end(), from, from + cols);
      }
      column += cols;
    }
  }
}

/// Rows in order; a chunk ends where the next row would be one too many. A row of more edges is a chunk by itself.
Layerwise::Chunks Layerwise::cut(std::int64_t most) const {
  const std::int64_t nodes = dataset_.num_nodes();
  const std::span<const EdgeId> offsets = dataset_.graph.offsets();
  Chunks made;
  for (std::int64_t first = 0; first < nodes;) {
    std::int64_t last = first + 1;
    const auto size = [&] {
      return last - first + offsets[static_cast<std::size_t>(last)] - offsets[static_cast<std::size_t>(first)];
    };
    for (; last < nodes; ++last) {
      const std::int64_t row =
          1 + offsets[static_cast<std::size_t>(last) + 1] - offsets[static_cast<std::size_t>(last)];
      if (size() + row > most) break;
    }
    made.starts.push_back(first);
    made.rows = std::max(made.rows, last - first);
    made.edges = std::max(made.edges, size() - (last - first));
    made.nodes = std::max(made.nodes, std::min(nodes, size()));
    first = last;
  }
  made.starts.push_back(nodes);
  return made;
}

std::int64_t Layerwise::columns_of(const Part& part) const {
  const bool features = std::ranges::any_of(part.blocks.program.ops, [](const ir::Op& op) {
    return op.kind == ir::OpKind::input && op.attrs.text("name", "features") != "constants";
  });
  return (features ? dataset_.features.cols : 0) + part.blocks.constant_columns;
}

/// Of a slab with what BatchInputs adds, and of the table that numbers a chunk's nodes.
std::int64_t Layerwise::chunk_bytes(const Part& part) const {
  constexpr std::int64_t kNodeBytes = 4 * sizeof(std::int64_t) + 4 * sizeof(std::uint64_t);
  constexpr std::int64_t kEdgeBytes = 3 * sizeof(NodeId) + 2 * sizeof(EdgeId) + 2 * sizeof(float);
  const std::int64_t nodes = part.hops == 0 ? chunks_.rows : chunks_.nodes;
  const std::int64_t label_columns = dataset_.labels.targets.empty() ? 1 : dataset_.labels.num_classes;
  return nodes * (columns_of(part) * std::int64_t{sizeof(float)} + kNodeBytes) +
         (part.hops == 0 ? 0 : chunks_.edges * kEdgeBytes) + chunks_.rows * label_columns * std::int64_t{sizeof(float)};
}

std::int64_t Layerwise::value_bytes(ir::ValueId value) const {
  return dataset_.num_nodes() * model_.type(value).cols * std::int64_t{sizeof(float)};
}

/// What reading and writing values in files takes: rows of a chunk on their way to the slab, and of each result a huge
/// page that is written at once.
std::int64_t Layerwise::file_bytes(const Part& part) const {
  std::int64_t columns = 0;
  for (const ir::ValueId value : part.blocks.columns) {
    if (!of_graph_.contains(value)) columns = std::max(columns, model_.type(value).cols);
  }
  return chunks_.nodes * columns * std::int64_t{sizeof(float)} +
         2 * std::ssize(part.part.results) * static_cast<std::int64_t>(kHugePage);
}

/// All values at the same time, which is more than there are.
bool Layerwise::fits_scratch() const {
  std::int64_t bytes = 0;
  for (const Part& part : parts_) {
    for (const ir::ValueId value : part.part.results) bytes += value_bytes(value);
  }
  return static_cast<std::uint64_t>(bytes) <= scratch_room() / kScratchShare;
}

bool Layerwise::needed_after(ir::ValueId value, std::size_t index) const {
  if (value == model_.output("logits") || value == model_.output("embedding")) return true;
  for (std::size_t later = index + 1; later < parts_.size(); ++later) {
    const std::vector<ir::ValueId>& columns = parts_[later].blocks.columns;
    if (std::ranges::find(columns, value) != columns.end()) return true;
  }
  return false;
}

std::int64_t Layerwise::plan(std::int64_t most) {
  chunks_ = cut(most);
  for (Part& part : parts_) {
    passes::BlockCapacity capacity{{chunks_.rows}, {}};
    if (part.hops > 0) capacity = {{chunks_.rows, chunks_.nodes}, {chunks_.edges}};
    part.blocks = passes::to_blocks(model_, capacity, part.part);
    part.plan = passes::build_plan(part.blocks.program, part_passes(options_));
  }
  std::int64_t constants = 0;
  for (const auto& [value, rows] : of_graph_) constants += std::ssize(rows) * std::int64_t{sizeof(float)};
  std::int64_t kept = 0;  // in memory, results of earlier parts
  std::int64_t largest = 0;
  std::map<ir::ValueId, std::int64_t> sizes;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    for (const ir::ValueId value : part.part.results) {
      sizes[value] = in_files_ ? 0 : value_bytes(value);
      kept += sizes[value];
    }
    const std::int64_t arena =
        part.plan.arena_bytes + part.plan.constant_bytes + part.plan.band_bytes * threads_of(options_);
    const std::int64_t rows_to_read = options_.feature_file == nullptr && !in_files_ ? 0 : chunks_.nodes;
    const std::int64_t of_files = in_files_ ? file_bytes(part) : 0;
    largest =
        std::max(largest, kept + arena + chunk_bytes(part) + of_files + data::FeatureFile::scratch_bytes(rows_to_read));
    std::erase_if(sizes, [&](const auto& size) {
      const bool drop = !needed_after(size.first, i);
      if (drop) kept -= size.second;
      return drop;
    });
  }
  // Scores of a part of the nodes read its logits from the file, all at once.
  const data::Split& split = dataset_.split;
  const std::size_t scored = std::max({split.train.size(), split.val.size(), split.test.size()});
  const std::int64_t logits =
      static_cast<std::int64_t>(scored) * model_.type(model_.output("logits")).cols * std::int64_t{sizeof(float)};
  if (in_files_) largest = std::max(largest, logits + data::FeatureFile::scratch_bytes(kRowsAtOnce));
  bytes_ = constants + largest;
  return bytes_;
}

std::int64_t Layerwise::largest_chunks(std::int64_t bytes) {
  std::int64_t most = dataset_.num_nodes() + dataset_.graph.num_edges();
  while (plan(most) > bytes) {
    if (most <= kLeastChunk) return 0;
    most = std::max(kLeastChunk, most / 2);
  }
  return most;
}

void Layerwise::fit(std::int64_t bytes, const std::string& limit_name) {
  const std::int64_t all = dataset_.num_nodes() + dataset_.graph.num_edges();
  in_files_ = false;
  const std::int64_t in_memory = largest_chunks(bytes);
  if (in_memory >= std::max(kLeastChunk, all / kSmallPart)) return;
  const std::int64_t in_memory_bytes = bytes_;
  if (fits_scratch()) {
    in_files_ = true;
    if (largest_chunks(bytes) > in_memory) return;
    in_files_ = false;
  }
  if (in_memory > 0) {
    plan(in_memory);
    return;
  }
  throw Error(ErrorCode::kOutOfMemory,
              fmt::format("evaluation layer by layer takes {:.1f} MiB even in the smallest chunks of rows, and {} "
                          "leaves {:.1f} MiB beside everything else",
                          static_cast<double>(std::min(bytes_, in_memory_bytes)) / kMiB, limit_name,
                          static_cast<double>(std::max<std::int64_t>(bytes, 0)) / kMiB),
              limit_name, "raise it by the difference, or take a narrower model or smaller batches");
}

MatrixView<const float> Layerwise::view(ir::ValueId value) const {
  const auto found = values_.find(value);
  GNEISS_ASSERT(found != values_.end(), "the evaluation keeps no such value");
  return {found->second.values.dense.data(), dataset_.num_nodes(), model_.type(value).cols};
}

Buffer<float> Layerwise::logits_of(std::span<const NodeId> rows) const {
  const Rows& all = values_.at(model_.output("logits"));
  const auto cols = static_cast<std::size_t>(all.values.cols);
  Buffer<float> made(rows.size() * cols);
  if (all.file != nullptr) {
    std::byte* to = std::as_writable_bytes(made.span()).data();
    for (std::size_t begin = 0; begin < rows.size(); begin += kRowsAtOnce) {
      const std::span<const NodeId> some = rows.subspan(begin, std::min(kRowsAtOnce, rows.size() - begin));
      all.file->read(some, to);
      to += some.size() * cols * sizeof(float);
    }
    return made;
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(all.values.dense.data() + static_cast<std::size_t>(rows[i]) * cols, cols, made.data() + i * cols);
  return made;
}

void Layerwise::run(std::uint64_t seed) {
  if (chunks_.starts.empty()) fit(std::numeric_limits<std::int64_t>::max(), "");
  values_.clear();
  workspace_ = sampler_->make_workspace();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    run_part(i, seed);
    std::erase_if(values_, [&](const auto& value) { return !needed_after(value.first, i); });
  }
  workspace_.reset();
}

void Layerwise::sample(const Part& part, std::int64_t first, std::int64_t last, minibatch::Slab* slab) {
  seeds_.resize(static_cast<std::size_t>(last - first));
  std::iota(seeds_.begin(), seeds_.end(), static_cast<NodeId>(first));
  if (part.hops > 0) return sampler_->sample_together({}, seeds_, threads_of(options_), workspace_.get(), slab);
  slab->start({}, sizeof(NodeId));
  const std::int64_t at = slab->place<NodeId>(last - first);
  std::ranges::copy(seeds_, slab->at<NodeId>(at, last - first).begin());
  slab->header().nodes_at = at;
  slab->header().num_nodes = last - first;
}

void Layerwise::run_part(std::size_t index, std::uint64_t seed) {
  Part& part = parts_[index];
  std::vector<ConstMatrixView<float>> columns;
  std::vector<const data::FeatureFile*> files;
  for (const ir::ValueId value : part.blocks.columns) {
    const auto computed = values_.find(value);
    files.push_back(computed == values_.end() ? nullptr : computed->second.file.get());
    const auto decided = of_graph_.find(value);
    columns.push_back(decided == of_graph_.end() ? view(value)
                                                 : ConstMatrixView<float>(decided->second.data(), dataset_.num_nodes(),
                                                                          model_.type(value).cols));
  }
  BatchInputs inputs(dataset_, model_, part.blocks, std::move(columns));
  inputs.set_plan(part.plan);
  inputs.set_file(options_.feature_file.get());
  inputs.set_constant_files(std::move(files));
  runtime::Executor<float> executor(part.plan, parameters_, {threads_of(options_), {}});
  std::deque<Results> results;
  for (const ir::ValueId value : part.part.results)
    results.emplace_back(dataset_.num_nodes(), model_.type(value).cols, in_files_);
  minibatch::Slab slab(chunk_bytes(part));
  runtime::Inputs step;
  // Of a renamed graph batches read another copy: pages of its file are for the chunk at hand alone.
  const std::span<const NodeId> sources = dataset_.graph.sources();
  const bool edges_rest = !dataset_.orig_id.empty() && sources.size_bytes() >= kManyEdges &&
                          pages_are_the_files(sources.data(), sources.size_bytes());
  for (std::size_t chunk = 0; chunk + 1 < chunks_.starts.size(); ++chunk) {
    const std::int64_t first = chunks_.starts[chunk];
    const std::int64_t last = chunks_.starts[chunk + 1];
    sample(part, first, last, &slab);
    inputs.add(&slab);
    inputs.read(slab, &step);
    executor.bind(step);
    if (chunk == 0) executor.run(ir::Phase::kSetup, {seed, 0});
    executor.run(ir::Phase::kInference, {seed, 0});
    for (std::size_t r = 0; r < results.size(); ++r) {
      const MatrixView<const float> rows = executor.read(part.plan.program.output(fmt::format("result{}", r)));
      GNEISS_ASSERT(rows.rows == last - first, "a chunk of {} rows gave {}", last - first, rows.rows);
      results[r].add(rows);
    }
    if (edges_rest) give_back_tail(const_cast<NodeId*>(sources.data()), 0, sources.size_bytes());
  }
  for (std::size_t r = 0; r < results.size(); ++r) values_[part.part.results[r]] = results[r].take();
}

float Layerwise::validation_loss() {
  std::vector<NodeId> rows = epochs::labelled_split(dataset_).val;
  if (rows.empty()) return std::numeric_limits<float>::quiet_NaN();
  if (!in_files_) return loss_of(logits(), dataset_.labels, rows);
  const Buffer<float> read = logits_of(rows);
  const data::Labels labels = data::labels_of(dataset_.labels, rows);
  std::iota(rows.begin(), rows.end(), NodeId{0});
  return loss_of({read.data(), std::ssize(rows), model_.type(model_.output("logits")).cols}, labels, rows);
}

/// The mean over `rows` of what all have.
float Layerwise::loss_of(MatrixView<const float> all, const data::Labels& labels, std::span<const NodeId> rows) const {
  const ir::Plan plan = loss_plan(all.rows, all.cols, options_);
  runtime::Parameters<float> none(plan);
  runtime::Executor<float> executor(plan, none, {threads_of(options_), {}});
  runtime::Inputs inputs;
  inputs.features.rows = all.rows;
  inputs.features.cols = all.cols;
  inputs.features.dense = {all.data, static_cast<std::size_t>(all.size())};
  inputs.validation = {labels.classes.span(), {}, rows};
  if (!labels.targets.empty()) inputs.validation.targets = {labels.targets.data(), all.rows, all.cols};
  inputs.class_weights = options_.class_weights;
  executor.bind(inputs);
  executor.run(ir::Phase::kInference, {});
  return executor.read(plan.program.output("val_loss")).at(0, 0);
}

std::string Layerwise::describe() const {
  return fmt::format("scores: layer by layer, in {} chunks of rows for each of {} parts of the model{}",
                     std::max<std::int64_t>(1, std::ssize(chunks_.starts) - 1), parts_.size(),
                     in_files_ ? ", whose values lie in scratch files" : "");
}

LayerwiseEngine::LayerwiseEngine(const ir::Plan& plan, const ir::Program& model, const data::Dataset& dataset,
                                 const SessionOptions& options, runtime::Parameters<float>* parameters,
                                 std::vector<runtime::ParameterRange> ranges)
    : plan_(plan),
      workspace_(kernels::clip_norm_workspace_bytes(plan.parameter_bytes / static_cast<std::int64_t>(sizeof(float)))),
      context_{threads_of(options), workspace_.span()},
      parameters_(*parameters),
      evaluation_(model, dataset, options, parameters),
      optimizer_(options.optimizer, std::move(ranges),
                 plan.parameter_bytes / static_cast<std::int64_t>(sizeof(float))) {}

void LayerwiseEngine::run(ir::Phase phase, kernels::StepKey key) {
  GNEISS_ASSERT(phase == ir::Phase::kInference, "a session that evaluates layer by layer trains by mini-batches");
  evaluation_.run(key.seed);
  if (plan_.program.output("val_loss") != ir::kNoValue) val_loss_ = evaluation_.validation_loss();
}

MatrixView<const float> LayerwiseEngine::read(ir::ValueId value) {
  const ir::Program& program = plan_.program;
  if (value == program.output("logits")) return evaluation_.logits();
  if (value == program.output("embedding")) return evaluation_.embedding();
  GNEISS_ASSERT(value == program.output("val_loss"), "only outputs of an evaluation are kept");
  return {&val_loss_, 1, 1};
}

std::span<const std::uint16_t> LayerwiseEngine::read_halves(ir::ValueId) {
  GNEISS_ASSERT(false, "an evaluation layer by layer keeps no values in 16 bits");
}

double LayerwiseEngine::step(ir::ValueId, kernels::StepKey, double) {
  GNEISS_ASSERT(false, "an evaluation layer by layer trains nothing by itself");
}

void LayerwiseEngine::update(double lr) {
  optimizer_.step(context_, lr, parameters_.values(), parameters_.gradients());
}

}  // namespace gneiss::train
