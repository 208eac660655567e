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
constexpr std::uint64_t kScratchShare = 2;                 ///< of the free disk, that values may take

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
    Part& made = parts_.emplace_back();
    made.hops = passes::count_hops(model_, part);
    made.part = std::move(part);
  }
  compute_graph_constants();
  if (options_.scores_only) choose_rows();
  minibatch::SamplerOptions sampling;
  sampling.fanout = {-1};
  sampling.table = minibatch::TableKind::kHash;
  sampler_ = std::make_unique<minibatch::Sampler<NodeId>>(minibatch::in_edges(dataset_.graph), sampling);
}

Layerwise::~Layerwise() = default;

/// What a part computes, chunk by chunk: in memory, or in files that are written front to back. Rows that are not
/// computed are zeros in a file, and nothing in memory.
class Layerwise::Results {
 public:
  Results(std::int64_t rows, std::int64_t cols, bool in_file)
      : count_(rows), cols_(cols), zeros_(static_cast<std::size_t>(cols), 0.0F) {
    const std::int64_t size = rows * cols;
    if (in_file) {
      file_.emplace_back(static_cast<std::uint64_t>(size) * sizeof(float));
    } else {
      rows_ = Buffer<float>(static_cast<std::size_t>(size));
    }
  }

  /// `places`: ascending, behind those that came before; none: the next ones.
  void add(MatrixView<const float> rows, std::span<const NodeId> places) {
    GNEISS_ASSERT(rows.cols == cols_, "rows of {} columns where {} are computed", rows.cols, cols_);
    for (std::int64_t v = 0; v < rows.rows; ++v) {
      const std::int64_t place = places.empty() ? next_ : places[static_cast<std::size_t>(v)];
      if (file_.empty()) {
        std::copy_n(rows.row(v), cols_, rows_.data() + place * cols_);
      } else {
        leave_out(place);
        write(rows.row(v));
      }
      next_ = place + 1;
    }
  }

  /// All rows have come.
  Rows take() {
    Rows made;
    made.values.rows = count_;
    made.values.cols = cols_;
    if (!file_.empty()) leave_out(count_);
    made.values.dense = std::move(rows_);
    if (file_.empty() || count_ * cols_ == 0) return made;
    const auto mapped = std::make_shared<const MappedFile>(ScratchFile::map_in_a_row(file_));
    auto* const data = reinterpret_cast<float*>(const_cast<std::byte*>(mapped->bytes().data()));
    const std::shared_ptr<const void> keeper(data,
                                             ScratchPages{mapped, file_.front().open_again(), file_.front().start()});
    made.values.dense = Buffer<float>::within(keeper, data, static_cast<std::size_t>(count_ * cols_));
    made.file = data::FeatureFile::of(made.values);
    GNEISS_ASSERT(made.file != nullptr, "a scratch file that was just written cannot be read");
    return made;
  }

 private:
  void write(const float* row) { file_.front().write(row, static_cast<std::size_t>(cols_) * sizeof(float)); }
  void leave_out(std::int64_t to) {
    for (; next_ < to; ++next_) write(zeros_.data());
  }

  std::int64_t count_;
  std::int64_t cols_;
  std::vector<float> zeros_;
  std::int64_t next_ = 0;
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

/// Of a renamed graph batches read another copy: pages of its file are for the rows at hand alone.
void Layerwise::rest_edges() const {
  const std::span<const NodeId> sources = dataset_.graph.sources();
  const bool rest = !dataset_.orig_id.empty() && sources.size_bytes() >= kManyEdges &&
                    pages_are_the_files(sources.data(), sources.size_bytes());
  if (rest) give_back_tail(const_cast<NodeId*>(sources.data()), 0, sources.size_bytes());
}

/// The nodes whose values the part reads.
std::vector<bool> Layerwise::reached_by(const Part& part) const {
  constexpr std::int64_t kRowsBetween = 1 << 20;  // at which pages of edges are given back
  std::vector<bool> reached(static_cast<std::size_t>(dataset_.num_nodes()), part.all);
  if (part.all) return reached;
  const std::span<const EdgeId> offsets = dataset_.graph.offsets();
  for (std::int64_t i = 0; i < std::ssize(part.rows); ++i) {
    const auto v = static_cast<std::size_t>(part.rows[static_cast<std::size_t>(i)]);
    reached[v] = true;
    for (EdgeId e = offsets[v]; part.hops > 0 && e < offsets[v + 1]; ++e)
      reached[static_cast<std::size_t>(dataset_.graph.sources()[static_cast<std::size_t>(e)])] = true;
    if ((i + 1) % kRowsBetween == 0) rest_edges();
  }
  rest_edges();
  return reached;
}

/// From the end: the last part is for the scored nodes, an earlier one for what later ones read of it. What nearly all
/// nodes need is computed for all.
void Layerwise::choose_rows() {
  const auto nodes = static_cast<std::size_t>(dataset_.num_nodes());
  std::map<ir::ValueId, std::vector<bool>> wanted;
  const auto want = [&](ir::ValueId value, const std::vector<bool>& rows) {
    std::vector<bool>& all = wanted[value];
    all.resize(nodes, false);
    for (std::size_t v = 0; v < nodes; ++v) all[v] = all[v] || rows[v];
  };
  std::vector<bool> scored(nodes, false);
  for (const std::vector<NodeId>* part : {&dataset_.split.train, &dataset_.split.val, &dataset_.split.test}) {
    for (const NodeId v : *part) scored[static_cast<std::size_t>(v)] = true;
  }
  const ir::ValueId logits = model_.output("logits");
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
    std::vector<bool> rows(nodes, false);
    for (const ir::ValueId value : part->part.results) {
      const auto read = wanted.find(value);
      part->is_last = part->is_last && read == wanted.end();
      if (value == logits) want(value, scored);
      if (!wanted.contains(value)) continue;
      const std::vector<bool>& some = wanted[value];
      for (std::size_t v = 0; v < nodes; ++v) rows[v] = rows[v] || some[v];
    }
    const auto chosen = static_cast<std::size_t>(std::ranges::count(rows, true));
    part->all = chosen > nodes / 4 * 3;
    for (std::size_t v = 0; !part->all && v < nodes; ++v) {
      if (rows[v]) part->rows.push_back(static_cast<NodeId>(v));
    }
    const std::vector<bool> reached = reached_by(*part);
    for (const ir::ValueId value : part->part.given) want(value, reached);
  }
}

/// How many rows a part computes, which the i-th is, and for how many there is a place.
std::int64_t Layerwise::count(const Part& part) const {
  return part.all ? dataset_.num_nodes() : std::ssize(part.rows);
}
NodeId Layerwise::row(const Part& part, std::int64_t i) const {
  return part.all ? static_cast<NodeId>(i) : part.rows[static_cast<std::size_t>(i)];
}
std::int64_t Layerwise::kept_rows(const Part& part) const { return part.is_last ? count(part) : dataset_.num_nodes(); }

/// Rows in order; a chunk ends where the next row would be one too many. A row of more edges is a chunk by itself.
Layerwise::Chunks Layerwise::cut(const Part& part, std::int64_t most) const {
  const std::span<const EdgeId> offsets = dataset_.graph.offsets();
  const std::int64_t rows = count(part);
  const auto edges_of = [&](std::int64_t i) {
    const auto v = static_cast<std::size_t>(row(part, i));
    return offsets[v + 1] - offsets[v];
  };
  Chunks made;
  for (std::int64_t first = 0; first < rows;) {
    std::int64_t last = first + 1;
    std::int64_t edges = edges_of(first);
    for (; last < rows; ++last) {
      const std::int64_t more = edges_of(last);
      if (last - first + edges + 1 + more > most) break;
      edges += more;
    }
    made.starts.push_back(first);
    made.rows = std::max(made.rows, last - first);
    made.edges = std::max(made.edges, edges);
    made.nodes = std::max(made.nodes, std::min(dataset_.num_nodes(), last - first + edges));
    first = last;
  }
  made.starts.push_back(rows);
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
  const Chunks& chunks = part.chunks;
  const std::int64_t nodes = part.hops == 0 ? chunks.rows : chunks.nodes;
  const std::int64_t label_columns = dataset_.labels.targets.empty() ? 1 : dataset_.labels.num_classes;
  return nodes * (columns_of(part) * std::int64_t{sizeof(float)} + kNodeBytes) +
         (part.hops == 0 ? 0 : chunks.edges * kEdgeBytes) + chunks.rows * label_columns * std::int64_t{sizeof(float)};
}

std::int64_t Layerwise::value_bytes(const Part& part, ir::ValueId value) const {
  return kept_rows(part) * model_.type(value).cols * std::int64_t{sizeof(float)};
}

/// What reading and writing values in files takes: rows of a chunk on their way to the slab, and of each result a huge
/// page that is written at once.
std::int64_t Layerwise::file_bytes(const Part& part) const {
  std::int64_t columns = 0;
  for (const ir::ValueId value : part.blocks.columns) {
    if (!of_graph_.contains(value)) columns = std::max(columns, model_.type(value).cols);
  }
  return part.chunks.nodes * columns * std::int64_t{sizeof(float)} +
         2 * std::ssize(part.part.results) * static_cast<std::int64_t>(kHugePage);
}

/// All values at the same time, which is more than there are.
std::int64_t Layerwise::values_in_files() const {
  std::int64_t bytes = 0;
  for (const Part& part : parts_) {
    for (const ir::ValueId value : part.part.results) bytes += value_bytes(part, value);
  }
  return bytes;
}

bool Layerwise::fits_scratch() const {
  return static_cast<std::uint64_t>(values_in_files()) <= scratch_room() / kScratchShare;
}

bool Layerwise::needed_after(ir::ValueId value, std::size_t index) const {
  if (value == model_.output("logits")) return true;
  if (value == model_.output("embedding") && !options_.scores_only) return true;
  for (std::size_t later = index + 1; later < parts_.size(); ++later) {
    const std::vector<ir::ValueId>& columns = parts_[later].blocks.columns;
    if (std::ranges::find(columns, value) != columns.end()) return true;
  }
  return false;
}

std::int64_t Layerwise::plan(std::int64_t most) {
  for (Part& part : parts_) {
    part.chunks = cut(part, most);
    passes::BlockCapacity capacity{{part.chunks.rows}, {}};
    if (part.hops > 0) capacity = {{part.chunks.rows, part.chunks.nodes}, {part.chunks.edges}};
    part.blocks = passes::to_blocks(model_, capacity, part.part);
    part.plan = passes::build_plan(part.blocks.program, part_passes(options_));
  }
  std::int64_t constants = 0;
  for (const auto& [value, rows] : of_graph_) constants += std::ssize(rows) * std::int64_t{sizeof(float)};
  for (const Part& part : parts_) constants += std::ssize(part.rows) * std::int64_t{sizeof(NodeId)};
  std::int64_t kept = 0;  // in memory, results of earlier parts
  std::int64_t largest = 0;
  std::map<ir::ValueId, std::int64_t> sizes;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    for (const ir::ValueId value : part.part.results) {
      sizes[value] = in_files_ ? 0 : value_bytes(part, value);
      kept += sizes[value];
    }
    const std::int64_t arena =
        part.plan.arena_bytes + part.plan.constant_bytes + part.plan.band_bytes * threads_of(options_);
    const std::int64_t rows_to_read = options_.feature_file == nullptr && !in_files_ ? 0 : part.chunks.nodes;
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
  if (by_rows()) {
    const std::int64_t reading = in_files_ ? data::FeatureFile::scratch_bytes(kRowsAtOnce) : 0;
    largest = std::max(largest, kept + logits + reading);
  }
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
              limit_name,
              fits_scratch()
                  ? "raise it by the difference, or take a narrower model or smaller batches"
                  : fmt::format("raise it by the difference, or set TMPDIR to a folder with {:.1f} GB of room: values "
                                "of all nodes may lie in files there",
                                static_cast<double>(kScratchShare) * static_cast<double>(values_in_files()) / 1e9));
}

MatrixView<const float> Layerwise::view(ir::ValueId value) const {
  const auto found = values_.find(value);
  GNEISS_ASSERT(found != values_.end() && found->second.values.rows == dataset_.num_nodes(),
                "the evaluation keeps no such value of all nodes");
  return {found->second.values.dense.data(), dataset_.num_nodes(), model_.type(value).cols};
}

Buffer<float> Layerwise::logits_of(std::span<const NodeId> nodes) const {
  const Rows& all = values_.at(model_.output("logits"));
  const Part& last = parts_.back();
  std::vector<NodeId> places(nodes.begin(), nodes.end());
  for (NodeId& place : places) {
    if (last.all) break;
    const auto found = std::ranges::lower_bound(last.rows, place);
    GNEISS_ASSERT(found != last.rows.end() && *found == place, "node {} was not scored", place);
    place = static_cast<NodeId>(found - last.rows.begin());
  }
  const std::span<const NodeId> rows = places;
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
  if (parts_.front().chunks.starts.empty()) fit(std::numeric_limits<std::int64_t>::max(), "");
  values_.clear();
  workspace_ = sampler_->make_workspace();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    run_part(i, seed);
    std::erase_if(values_, [&](const auto& value) { return !needed_after(value.first, i); });
  }
  workspace_.reset();
}

/// The block of seeds_.
void Layerwise::sample(const Part& part, minibatch::Slab* slab) {
  if (part.hops > 0) return sampler_->sample_together({}, seeds_, threads_of(options_), workspace_.get(), slab);
  const auto rows = std::ssize(seeds_);
  slab->start({}, sizeof(NodeId));
  const std::int64_t at = slab->place<NodeId>(rows);
  std::ranges::copy(seeds_, slab->at<NodeId>(at, rows).begin());
  slab->header().nodes_at = at;
  slab->header().num_nodes = rows;
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
    results.emplace_back(kept_rows(part), model_.type(value).cols, in_files_);
  minibatch::Slab slab(chunk_bytes(part));
  runtime::Inputs step;
  for (std::size_t chunk = 0; chunk + 1 < part.chunks.starts.size(); ++chunk) {
    const std::int64_t first = part.chunks.starts[chunk];
    const std::int64_t last = part.chunks.starts[chunk + 1];
    seeds_.resize(static_cast<std::size_t>(last - first));
    for (std::int64_t i = first; i < last; ++i) seeds_[static_cast<std::size_t>(i - first)] = row(part, i);
    sample(part, &slab);
    inputs.add(&slab);
    inputs.read(slab, &step);
    executor.bind(step);
    if (chunk == 0) executor.run(ir::Phase::kSetup, {seed, 0});
    executor.run(ir::Phase::kInference, {seed, 0});
    for (std::size_t r = 0; r < results.size(); ++r) {
      const MatrixView<const float> rows = executor.read(part.plan.program.output(fmt::format("result{}", r)));
      GNEISS_ASSERT(rows.rows == last - first, "a chunk of {} rows gave {}", last - first, rows.rows);
      results[r].add(rows, part.is_last ? std::span<const NodeId>() : seeds_);
    }
    rest_edges();
  }
  for (std::size_t r = 0; r < results.size(); ++r) values_[part.part.results[r]] = results[r].take();
}

float Layerwise::validation_loss() {
  std::vector<NodeId> rows = epochs::labelled_split(dataset_).val;
  if (rows.empty()) return std::numeric_limits<float>::quiet_NaN();
  if (!by_rows()) return loss_of(logits(), dataset_.labels, rows);
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
  std::int64_t chunks = 1;
  for (const Part& part : parts_) chunks = std::max(chunks, std::ssize(part.chunks.starts) - 1);
  const Part& last = parts_.back();
  return fmt::format("scores: layer by layer, in {} chunks of rows for each of {} parts of the model{}{}", chunks,
                     parts_.size(), in_files_ ? ", whose values lie in scratch files" : "",
                     last.all ? "" : fmt::format(", at the end for {} nodes alone", last.rows.size()));
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
