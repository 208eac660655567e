// Variants are chosen from sizes alone: patterns with sizes and no data are bound like real ones, so that each variant
// can say whether it would run. Then the steps are searched for what they need besides values: transposes, slots, tiles
// of edges.
#include "planner/bind.h"

#include <algorithm>

#include "kernels/call.h"
#include "planner/edge_loops.h"

namespace gneiss::planner {
namespace {

using ir::Op;
using ir::OpKind;

/// Patterns with sizes and no data, for choosing variants before anything is allocated.
template <Space S>
struct Patterns {
  std::vector<SparsePatternIn<S>> in;
  std::vector<SparsePatternIn<S>> out;
  SparsePatternIn<S> features;
  SparsePatternIn<S> features_transposed;
};

template <Space S>
SparsePatternIn<S> sized(std::int64_t rows, std::int64_t cols, std::int64_t nnz, bool slots) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(nnz, 0));
  SparsePatternIn<S> pattern{rows,
                             cols,
                             {static_cast<const EdgeId*>(nullptr), static_cast<std::size_t>(rows) + 1},
                             {static_cast<const NodeId*>(nullptr), count},
                             {}};
  if (slots) pattern.slots = {static_cast<const EdgeId*>(nullptr), count};
  return pattern;
}

template <Space S>
Patterns<S> patterns_of(const ir::Plan& plan) {
  const ir::Program& program = plan.program;
  Patterns<S> sizes;
  for (const ir::GraphDef& graph : program.graphs) {
    const std::int64_t src = program.node_sets[static_cast<std::size_t>(graph.src_set)].size;
    const std::int64_t dst = program.node_sets[static_cast<std::size_t>(graph.dst_set)].size;
    sizes.in.push_back(sized<S>(dst, src, graph.num_edges, false));
    sizes.out.push_back(sized<S>(src, dst, graph.num_edges, plan.graph_uses[sizes.out.size()].slots));
    sizes.in.back().part_of = graph.part_of;
  }
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::input) continue;
    const std::int64_t rows = program.rows(op.results[0]);
    const std::int64_t cols = program.type(op.results[0]).cols;
    sizes.features = sized<S>(rows, cols, plan.feature_nonzeros, false);
    sizes.features_transposed = sized<S>(cols, rows, plan.feature_nonzeros, plan.feature_slots);
  }
  return sizes;
}

/// A sum that takes up rows of others as they come runs by pieces, alone (exchange/exchanged_sum.h, own_first.h). An
/// extreme whose winners nobody reads has them in scratch.
void by_exchange(const ir::Program& program, const Op& op, ir::Step* step) {
  const std::string fn = op.attrs.text("fn", "sum");
  const bool keeps_winners = op.results.size() > 1 && op.results[1] != ir::kNoValue;
  if ((fn == "max" || fn == "min") && !keeps_winners)
    step->workspace_bytes = program.elements(op.results[0]) * std::int64_t{sizeof(std::int32_t)};
  step->variant = op.attrs.text("exchange", "");
  step->walks_tiles = false;
  step->band_rows = step->shared_bytes = step->task_bytes = 0;
}

template <class T, Space S>
void bind_all(ir::Plan* plan, const kernels::DeviceKernels* device) {
  const Patterns<S> sizes = patterns_of<S>(*plan);
  const ir::Program& program = plan->program;
  const kernels::StepKey key;
  const ir::Sizes most = ir::capacity(program);
  kernels::Operands<T, S> operands;
  operands.program = &program;
  operands.kernels = device;
  operands.sizes = &most;
  operands.key = &key;
  operands.real = [&](ir::ValueId v) {
    const bool sparse = program.type(v).layout == ir::Layout::kSparse;
    return sparse ? MatrixView<T, S>(nullptr, plan->feature_nonzeros, 1)
                  : MatrixView<T, S>(nullptr, program.rows(v), program.type(v).cols);
  };
  operands.halves = [](ir::ValueId) { return static_cast<std::uint16_t*>(nullptr); };
  operands.index = [&](ir::ValueId v) {
    return v == ir::kNoValue ? MatrixView<std::int32_t, S>()
                             : MatrixView<std::int32_t, S>(nullptr, program.rows(v), program.type(v).cols);
  };
  operands.in_edges = [&](std::int32_t g) { return &sizes.in[static_cast<std::size_t>(g)]; };
  operands.out_edges = [&](std::int32_t g) { return &sizes.out[static_cast<std::size_t>(g)]; };
  operands.source_tiles = [&](const Op& op, bool out_edges) {
    const ir::GraphUse& use = plan->graph_uses[static_cast<std::size_t>(op.attrs.integer("graph", 0))];
    return TiledPatternIn<S>{out_edges ? use.out_tile : use.in_tile, {}, {}, {}, {}};
  };
  operands.features = [&](bool transposed) { return transposed ? &sizes.features_transposed : &sizes.features; };
  operands.transposed_values = [] { return SpanIn<const T, S>(); };
  operands.edge_weights = [](std::int32_t) { return SpanIn<const float, S>(); };
  operands.row_ids = [](std::int32_t) { return SpanIn<const std::int64_t, S>(); };
  std::vector<std::int32_t> loop_of(program.ops.size(), -1);  // of each step
  for (std::size_t k = 0; k < plan->loops.size(); ++k) {
    const ir::EdgeLoop& loop = plan->loops[k];
    std::fill(loop_of.begin() + loop.first_step, loop_of.begin() + loop.last_step + 1, static_cast<std::int32_t>(k));
  }
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (program.ops[i].kind == OpKind::input || program.ops[i].kind == OpKind::param) continue;
    kernels::CallIn<S> call;
    kernels::bind_call<T, S>(program.ops[i], operands, &call);
    ir::Step step;
    step.op = static_cast<std::int32_t>(i);
    step.variant = call.variant;
    step.walks_tiles = call.passes == kernels::Passes::kTiles;
    step.flops = call.flops;
    step.bytes = call.bytes;
    if (loop_of[plan->steps.size()] >= 0) {
      step.loop = loop_of[plan->steps.size()];
      step.variant = "loop";
      plan->steps.push_back(std::move(step));
      continue;
    }
    step.workspace_bytes = static_cast<std::int64_t>(call.workspace_bytes);
    if constexpr (S == Space::kHost) {
      step.band_rows = call.band.can_be_cut() ? call.band.rows : 0;
      step.shared_bytes = static_cast<std::int64_t>(call.band.shared_bytes);
      step.task_bytes = static_cast<std::int64_t>(call.band.task_bytes);
      if (program.ops[i].kind == OpKind::spmm && program.ops[i].attrs.has("exchange"))
        by_exchange(program, program.ops[i], &step);
    } else if (call.stage) {
      step.band_rows = program.rows(program.ops[i].results[0]);
    }
    plan->steps.push_back(std::move(step));
  }
}

void find_structures(ir::Plan* plan) {
  const ir::Program& program = plan->program;
  plan->graph_uses.assign(program.graphs.size(), {});
  const std::vector<std::int32_t> producers = ir::producers(program);
  for (const Op& op : program.ops) {
    const std::int64_t graph = op.attrs.integer("graph", -1);
    if (graph >= 0) {
      ir::GraphUse& use = plan->graph_uses[static_cast<std::size_t>(graph)];
      use.used = true;
      if (op.attrs.has("loop")) continue;
      use.transpose = use.transpose || runs_along_out_edges(op);
      use.slots = use.slots || (runs_along_out_edges(op) && !reads_ends_only(op));
    }
    const bool as_is = kernels::forced_variant("spx_gemm") == "morphling";  // which is of devices alone
    if (op.kind == OpKind::spx_gemm && op.attrs.integer("ta", 0) != 0 && !as_is) {
      plan->feature_transpose = true;
      plan->feature_slots =
          plan->feature_slots ||
          program.ops[static_cast<std::size_t>(producers[static_cast<std::size_t>(op.inputs[0])])].kind !=
              OpKind::input;
    }
    // Dropout on edges walks the graph of its values.
    if (op.kind == OpKind::dropout && program.type(op.inputs[0]).domain == ir::Domain::kEdge) {
      plan->graph_uses[static_cast<std::size_t>(program.type(op.inputs[0]).set)].used = true;
    }
  }
  for (const ir::EdgeLoop& loop : plan->loops) {
    ir::GraphUse& use = plan->graph_uses[static_cast<std::size_t>(loop.graph)];
    use.used = true;
    use.transpose = use.transpose || loop.out_edges;
    use.slots = use.slots || loop.slots;
  }
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    const ir::GraphDef& graph = program.graphs[g];
    ir::GraphUse& use = plan->graph_uses[g];
    if (!use.used) continue;
    const std::int64_t rows = program.node_sets[static_cast<std::size_t>(graph.dst_set)].size + 1;
    const std::int64_t back_rows = program.node_sets[static_cast<std::size_t>(graph.src_set)].size + 1;
    constexpr std::int64_t kOffset = sizeof(EdgeId);
    constexpr std::int64_t kId = sizeof(NodeId);
    if (graph.origin != ir::GraphOrigin::kGiven) {
      use.bytes += rows * kOffset + graph.num_edges * (kId + (graph.weighted ? std::int64_t{sizeof(float)} : 0));
    }
    if (use.transpose) use.bytes += back_rows * kOffset + graph.num_edges * (kId + (use.slots ? kOffset : 0));
  }
  if (plan->feature_transpose) {
    std::int64_t cols = 0;
    for (const Op& op : program.ops) {
      if (op.kind == OpKind::input) cols = program.type(op.results[0]).cols;
    }
    plan->feature_transpose_bytes =
        (cols + 1) * std::int64_t{sizeof(EdgeId)} +
        plan->feature_nonzeros *
            static_cast<std::int64_t>(sizeof(NodeId) + (plan->feature_slots ? sizeof(EdgeId) : sizeof(float)));
  }
}

/// Are the features themselves read after the setup phase?
bool keeps_features(const ir::Plan& plan) {
  const ir::Program& program = plan.program;
  std::vector<bool> features(program.values.size(), false);
  for (const Op& op : program.ops) {
    if (op.kind == OpKind::input) features[static_cast<std::size_t>(op.results[0])] = true;
  }
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const ir::Step& step) {
    const Op& op = program.ops[static_cast<std::size_t>(step.op)];
    return op.phase != ir::Phase::kSetup && std::any_of(op.inputs.begin(), op.inputs.end(), [&](ir::ValueId input) {
             return features[static_cast<std::size_t>(input)];
           });
  });
}

}  // namespace

bool runs_along_out_edges(const Op& op) {
  const bool either_way = op.kind == OpKind::spmm || op.kind == OpKind::attention_grad;
  return (either_way && op.attrs.integer("transpose", 0) != 0) ||
         (op.kind == OpKind::spmm_arg_grad && op.attrs.integer("by_id", 0) == 0) ||
         ((op.kind == OpKind::segment_reduce || op.kind == OpKind::degree) && op.attrs.text("side", "dst") == "src");
}

bool reads_ends_only(const Op& op) {
  return (op.kind == OpKind::spmm && !ir::weighs_edges(op)) ||
         (op.kind == OpKind::attention_grad && op.inputs.size() == 6) || op.kind == OpKind::degree;
}

void bind_kernels(ir::Plan* plan, SourceTiling tiling, const cost::Rates& rates, std::vector<std::string>* decisions) {
  find_edge_loops(plan, Space::kHost);
  find_structures(plan);
  choose_source_tiles(plan, tiling, rates, decisions);
  if (plan->value_bytes == sizeof(double)) {
    bind_all<double, Space::kHost>(plan, nullptr);
  } else {
    bind_all<float, Space::kHost>(plan, nullptr);
  }
  plan->features_kept = keeps_features(*plan);
}

void bind_device_kernels(ir::Plan* plan) {
  find_edge_loops(plan, Space::kDevice);
  find_structures(plan);
  bind_all<float, Space::kDevice>(plan, &kernels::emulated_kernels());
  plan->features_kept = keeps_features(*plan);
}

}  // namespace gneiss::planner
