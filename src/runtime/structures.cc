#include "runtime/structures.h"

#include <utility>

#include "base/error.h"

namespace gneiss::runtime {

std::vector<std::optional<graph::Graph>> derive_graphs(const graph::Graph& given, ir::Program* program) {
  std::vector<std::optional<graph::Graph>> derived(program->graphs.size());
  for (std::size_t g = 0; g < program->graphs.size(); ++g) {
    ir::GraphDef& def = program->graphs[g];
    GNEISS_CHECK(g == 0 || def.origin != ir::GraphOrigin::kGiven, ErrorCode::kUnsupported,
                 "program '{}' needs {} given graphs; full-graph training has one", program->name, g + 1);
    if (g > 0) {
      const auto base = static_cast<std::size_t>(def.base);
      const graph::Graph& from = base == 0 ? given : *derived[base];
      derived[g] = def.origin == ir::GraphOrigin::kAddRemainingSelfLoops ? graph::add_remaining_self_loops(from)
                                                                         : graph::replace_self_loops(from);
    }
    const graph::Graph& graph = g == 0 ? given : *derived[g];
    def.num_edges = graph.num_edges();
    def.weighted = graph.weighted();
    def.symmetric = graph.symmetric();
    program->node_sets[static_cast<std::size_t>(def.src_set)].size = graph.num_src();
    program->node_sets[static_cast<std::size_t>(def.dst_set)].size = graph.num_dst();
  }
  return derived;
}

void derive_loss_rows(const graph::Graph& given, std::span<const NodeId> rows, const ir::Program& program,
                      std::vector<std::optional<graph::Graph>>* derived) {
  for (std::size_t g = derived->size(); g < program.graphs.size(); ++g) {
    const ir::GraphDef& def = program.graphs[g];
    const auto base = static_cast<std::size_t>(def.base);
    const graph::Graph& from = base == 0 ? given : *(*derived)[base];
    if (def.origin == ir::GraphOrigin::kLossRows) {
      derived->push_back(graph::selection(from.num_src(), rows));
    } else {
      GNEISS_ASSERT(def.origin == ir::GraphOrigin::kIntoLossRows, "graph {} is not one of the rows of the loss", def.name);
      derived->push_back(graph::edges_into(from, rows));
    }
  }
}

Structures::Structures(const data::Dataset& dataset, const ir::Plan& plan, std::vector<std::optional<graph::Graph>> derived,
                       int threads)
    : dataset_(dataset), derived_(std::move(derived)), transposes_(plan.graph_uses.size()) {
  for (std::size_t g = 0; g < plan.graph_uses.size(); ++g) {
    const graph::Graph& graph = graph_at(static_cast<std::int32_t>(g));
    in_.push_back(graph.in_edges());
    if (plan.graph_uses[g].transpose) transposes_[g] = graph::transpose(graph.in_edges(), plan.graph_uses[g].slots, threads);
    out_.push_back(plan.graph_uses[g].transpose ? transposes_[g].pattern() : SparsePattern());
    const ir::GraphUse& use = plan.graph_uses[g];
    in_blocks_.push_back(use.in_block > 0 ? graph::block_sources(in_[g], use.in_block, threads) : graph::SourceBlocks());
    out_blocks_.push_back(use.out_block > 0 ? graph::block_sources(out_[g], use.out_block, threads) : graph::SourceBlocks());
  }
  for (const ir::LossBlocks& part : plan.loss_blocks) {
    loss_blocks_.push_back(graph::room_for_part((part.out_edges ? out_blocks_ : in_blocks_)[static_cast<std::size_t>(part.graph)]));
  }
  if (!dataset.features.sparse) return;
  features_in_ = dataset.features.pattern();
  if (plan.feature_transpose) {
    feature_transpose_ = plan.feature_slots ? graph::transpose(features_in_, true, threads)
                                            : graph::transpose(features_in_, dataset.features.values, threads);
    features_out_ = feature_transpose_.pattern();
  }
}

void Structures::fill_loss_blocks(const ir::Plan& plan, int threads) {
  if (plan.loss_blocks.empty()) return;
  const std::vector<std::uint8_t> marked = graph::marks(dataset_.num_nodes(), dataset_.split.train);
  for (std::size_t i = 0; i < plan.loss_blocks.size(); ++i) {
    const ir::LossBlocks& part = plan.loss_blocks[i];
    const graph::SourceBlocks& whole = (part.out_edges ? out_blocks_ : in_blocks_)[static_cast<std::size_t>(part.graph)];
    graph::fill_part(whole, part.sources ? graph::EntryEnd::kColumn : graph::EntryEnd::kRow, marked, threads, &loss_blocks_[i]);
  }
}

void Structures::drop_unread(const ir::Plan& plan, std::int32_t last) {
  for (std::size_t g = 0; g < plan.graph_uses.size(); ++g) {
    const ir::GraphUse& use = plan.graph_uses[g];
    if (!use.in_kept && use.in_setup <= last && derived_[g]) {
      derived_[g]->drop_edges();
      in_[g].indices = {};
    }
    if (!use.out_kept && use.out_setup <= last) {
      transposes_[g].indices = {};
      transposes_[g].slots = {};
      out_[g].indices = {};
      out_[g].slots = {};
    }
  }
}

const graph::Graph& Structures::graph_at(std::int32_t graph) const {
  return graph == 0 ? dataset_.graph : *derived_[static_cast<std::size_t>(graph)];
}

}  // namespace gneiss::runtime
