// fuse_edges gave the ops of a loop one number and put them behind one another; here each run of one number becomes an
// entry of plan.loops, with its graph, its direction and what it reads by slot.
#include "planner/edge_loops.h"

#include <algorithm>

#include "base/parallel.h"

namespace gneiss::planner {
namespace {

using ir::Op;
using ir::OpKind;

/// As many as a group of rows has at most, and for the same reasons; of rows enough to be worth a task.
constexpr std::int64_t kMostTasks = 128;
constexpr std::int64_t kTaskRows = 64;
/// On a device each is one thread's: enough for a card, of rows enough to be worth a part of the sums of its own, and
/// no more than these parts may take.
constexpr std::int64_t kMostDeviceTasks = 4096;
constexpr std::int64_t kDeviceTaskRows = 16;
constexpr std::int64_t kMostPartBytes = std::int64_t{16} << 20;

std::int32_t graph_of(const ir::Program& program, const Op& op) {
  for (const ir::ValueId v : op.inputs) {
    if (program.type(v).domain == ir::Domain::kEdge) return program.type(v).set;
  }
  return static_cast<std::int32_t>(op.attrs.integer("graph", -1));
}

bool reduces_to_sources(const Op& op) {
  return op.kind == OpKind::segment_reduce && op.attrs.text("side", "dst") == "src";
}

/// Reads something in the order of the in-edges: a matrix of edges, weights of edges, or which edge won.
bool reads_by_slot(const ir::Program& program, const Op& op, const std::vector<bool>& made) {
  if (op.kind == OpKind::segment_arg_grad || op.kind == OpKind::edge_weight) return true;
  return std::any_of(op.inputs.begin(), op.inputs.end(), [&](ir::ValueId v) {
    return program.type(v).domain == ir::Domain::kEdge && !made[static_cast<std::size_t>(v)];
  });
}

void add_op(const ir::Program& program, const Op& op, const std::vector<bool>& made, ir::EdgeLoop* loop) {
  loop->graph = std::max(loop->graph, graph_of(program, op));
  loop->out_edges = loop->out_edges || reduces_to_sources(op);
  loop->slots = loop->slots || reads_by_slot(program, op, made);
  for (const ir::ValueId r : op.results) {
    if (r != ir::kNoValue && program.type(r).domain == ir::Domain::kGlobal)
      loop->task_bytes += program.elements(r) * std::int64_t{sizeof(float)};
  }
}

/// On a device, rows are tasks where nothing is summed over all edges.
std::int64_t tasks_of(const ir::EdgeLoop& loop, Space space) {
  if (space == Space::kHost) return std::clamp<std::int64_t>(num_chunks(loop.rows, kTaskRows), 1, kMostTasks);
  if (loop.task_bytes == 0) return loop.rows;
  const std::int64_t most = std::clamp<std::int64_t>(kMostPartBytes / loop.task_bytes, 1, kMostDeviceTasks);
  return std::clamp<std::int64_t>(num_chunks(loop.rows, kDeviceTaskRows), 1, most);
}

}  // namespace

void find_edge_loops(ir::Plan* plan, Space space) {
  const ir::Program& program = plan->program;
  std::vector<bool> made(program.values.size(), false);
  std::int64_t open = -1;
  std::int32_t step = 0;
  for (const Op& op : program.ops) {
    if (op.kind == OpKind::input || op.kind == OpKind::param) continue;
    const std::int64_t number = op.attrs.integer("loop", -1);
    if (number >= 0 && number != open) plan->loops.push_back({step, step, -1, false, false, 0, 0, 0});
    open = number;
    if (number >= 0) {
      plan->loops.back().last_step = step;
      add_op(program, op, made, &plan->loops.back());
      for (const ir::ValueId r : op.results) {
        if (r != ir::kNoValue) made[static_cast<std::size_t>(r)] = true;
      }
    }
    ++step;
  }
  for (ir::EdgeLoop& loop : plan->loops) {
    const ir::GraphDef& graph = program.graphs[static_cast<std::size_t>(loop.graph)];
    loop.rows = program.node_sets[static_cast<std::size_t>(loop.out_edges ? graph.src_set : graph.dst_set)].size;
    loop.tasks = tasks_of(loop, space);
    loop.slots = loop.slots && loop.out_edges;
  }
}

std::vector<bool> values_of_loops(const ir::Plan& plan) {
  std::vector<bool> inside(plan.program.values.size(), false);
  for (const ir::EdgeLoop& loop : plan.loops) {
    for (const ir::ValueId v : ir::values_of(plan, loop).inside) inside[static_cast<std::size_t>(v)] = true;
  }
  return inside;
}

}  // namespace gneiss::planner
