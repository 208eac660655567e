// The text form of a plan, a line a step, with where its results lie.
#include "ir/plan.h"

#include <algorithm>

#include "base/error.h"
#include "ir/beside_exchange.h"
#include "ir/text.h"

namespace gneiss::ir {
namespace {

constexpr std::string_view kStorageNames[] = {"-",     "input", "param", "grad", "state",
                                              "const", "file",  "arena", "band", "loop"};
constexpr std::string_view kReleasedNames[] = {"given edges", "in-edges",          "out-edges",
                                               "features",    "pages of features", "arena"};
constexpr std::string_view kPhaseNames[] = {"setup", "forward", "backward", "inference"};

std::string place(const Plan& plan, ValueId v) {
  const Placement& p = plan.placements[static_cast<std::size_t>(v)];
  if (p.storage == Storage::kArena || p.storage == Storage::kConstant || p.storage == Storage::kFile ||
      p.storage == Storage::kBand) {
    const std::int64_t stride = plan.stride(v);
    const std::string apart = stride > plan.program.type(v).cols ? fmt::format(" (rows of {})", stride) : "";
    return fmt::format("{}+{}{}", kStorageNames[static_cast<std::size_t>(p.storage)], p.offset_bytes, apart);
  }
  return std::string(kStorageNames[static_cast<std::size_t>(p.storage)]);
}

std::string describe_step(const Plan& plan, const Step& step) {
  const Program& program = plan.program;
  const Op& op = program.ops[static_cast<std::size_t>(step.op)];
  std::string operands;
  for (const ValueId input : op.inputs)
    operands += fmt::format("{}%{}", operands.empty() ? "" : ", ", program.value_name(input));
  std::string results;
  std::int64_t bytes = 0;
  for (const ValueId r : op.results) {
    if (r == kNoValue) continue;
    results += fmt::format("{}%{} {}", results.empty() ? "" : ", ", program.value_name(r), place(plan, r));
    bytes += plan.placements[static_cast<std::size_t>(r)].bytes;
  }
  const std::string band = step.band >= 0   ? fmt::format("{}", step.band)
                           : step.loop >= 0 ? fmt::format("l{}", step.loop)
                                            : "";
  const std::string model_ms = fmt::format("{:.4f}", 1e3 * step.seconds);
  return fmt::format("{:9} {:20} {:10} {:>4} {:>12} {:>10}  {}({}) -> {}\n", phase_name(op.phase), traits(op.kind).name,
                     step.variant, band, bytes, model_ms, traits(op.kind).name, operands, results);
}

}  // namespace

std::string_view released_name(Released what) { return kReleasedNames[static_cast<std::size_t>(what)]; }

bool is_of_data(Released what) {
  return what == Released::kGivenEdges || what == Released::kFeatures || what == Released::kFeaturePages;
}

const Release* Plan::release_of(Released what, std::int32_t graph) const {
  const auto found = std::find_if(releases.begin(), releases.end(),
                                  [&](const Release& r) { return r.what == what && r.graph == graph; });
  return found != releases.end() ? &*found : nullptr;
}

std::int64_t Plan::stride(ValueId v) const {
  const std::int64_t apart = strides.empty() ? 0 : strides[static_cast<std::size_t>(v)];
  return apart > 0 ? apart : program.type(v).cols;
}

std::int64_t band_tasks(std::int64_t rows, std::int64_t band_rows) {
  constexpr std::int64_t kMostTasks = 128;
  return std::clamp<std::int64_t>((rows + band_rows - 1) / band_rows, 1, kMostTasks);
}

std::int64_t band_workspace_bytes(const Step& step, std::int64_t tasks) {
  constexpr std::int64_t kAlignment = 64;
  const std::int64_t bytes = step.shared_bytes + tasks * step.task_bytes;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::optional<EdgeWalk> edge_walk(const Plan& plan, const RowBand& band) {
  std::optional<EdgeWalk> walk;
  for (std::int32_t i = band.first_step; i <= band.last_step; ++i) {
    const Op& op = plan.program.ops[static_cast<std::size_t>(plan.steps[static_cast<std::size_t>(i)].op)];
    if (op.kind != OpKind::spmm && op.kind != OpKind::attention && op.kind != OpKind::attention_grad) continue;
    walk = {static_cast<std::int32_t>(op.attrs.integer("graph", 0)), op.attrs.integer("transpose", 0) != 0};
  }
  return walk;
}

LoopValues values_of(const Plan& plan, const EdgeLoop& loop) {
  const auto op_of = [&](std::int32_t i) -> const Op& {
    return plan.program.ops[static_cast<std::size_t>(plan.steps[static_cast<std::size_t>(i)].op)];
  };
  std::vector<ValueId> made;
  LoopValues values;
  const auto has = [](const std::vector<ValueId>& list, ValueId v) {
    return std::find(list.begin(), list.end(), v) != list.end();
  };
  for (std::int32_t i = loop.first_step; i <= loop.last_step; ++i) {
    for (const ValueId v : op_of(i).inputs) {
      if (!has(made, v) && !has(values.reads, v)) values.reads.push_back(v);
    }
    for (const ValueId r : op_of(i).results) {
      if (r != kNoValue) made.push_back(r);
    }
  }
  std::vector<bool> outside(plan.program.values.size(), false);
  for (const Output& output : plan.program.outputs) outside[static_cast<std::size_t>(output.value)] = true;
  const std::int32_t first = plan.steps[static_cast<std::size_t>(loop.first_step)].op;
  const std::int32_t last = plan.steps[static_cast<std::size_t>(loop.last_step)].op;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(plan.program.ops.size()); ++i) {
    if (i >= first && i <= last) continue;
    for (const ValueId v : plan.program.ops[static_cast<std::size_t>(i)].inputs)
      outside[static_cast<std::size_t>(v)] = true;
  }
  for (const ValueId v : made) {
    const Domain domain = plan.program.type(v).domain;
    if (domain == Domain::kGlobal) {
      values.totals.push_back(v);
    } else {
      (domain == Domain::kNode || outside[static_cast<std::size_t>(v)] ? values.writes : values.inside).push_back(v);
    }
  }
  return values;
}

std::int64_t Plan::total_bytes(int parameter_copies, int threads) const {
  std::int64_t bytes = parameter_bytes * parameter_copies + state_bytes + constant_bytes + arena_bytes +
                       band_bytes * threads + feature_transpose_bytes;
  for (const GraphUse& use : graph_uses) bytes += use.bytes + use.tile_bytes;
  return bytes + loss_tile_bytes();
}

std::int64_t Plan::loss_tile_bytes() const {
  std::int64_t bytes = 0;
  for (const LossTiles& tiles : loss_tiles) bytes += tiles.bytes;
  return bytes;
}

std::int32_t Plan::loss_tiles_of(const Op& op) const {
  const bool out_edges = op.attrs.integer("transpose", 0) != 0;
  const std::string end = op.attrs.text("loss", "");
  if (op.kind != OpKind::spmm || end.empty()) return -1;
  for (std::size_t i = 0; i < loss_tiles.size(); ++i) {
    const LossTiles& tiles = loss_tiles[i];
    if (tiles.graph == op.attrs.integer("graph", 0) && tiles.out_edges == out_edges &&
        tiles.sources == (end == "sources"))
      return static_cast<std::int32_t>(i);
  }
  return -1;
}

namespace {

const Op& op_of_step(const Plan& plan, std::int32_t step) {
  return plan.program.ops[static_cast<std::size_t>(plan.steps[static_cast<std::size_t>(step)].op)];
}

bool contains(const std::vector<ValueId>& values, ValueId v) {
  return std::find(values.begin(), values.end(), v) != values.end();
}

/// Does an op read `ghosts`, own rows and those of ghosts, only at the sources of the in-edges of its rows?
bool reads_at_sources(const Program& program, const Op& op, ValueId ghosts) {
  const Type& rows = program.type(row_value(op));
  const auto graph = static_cast<std::size_t>(op.attrs.integer("graph", 0));
  const GraphDef& walked = program.graphs[graph];
  const auto at = [&](std::initializer_list<std::size_t> sources) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == ghosts && std::find(sources.begin(), sources.end(), i) == sources.end()) return false;
    }
    return true;
  };
  switch (op.kind) {
    case OpKind::spmm:
      return op.attrs.integer("transpose", 0) == 0 && rows.domain == Domain::kNode && rows.set == walked.dst_set &&
             at({0});
    case OpKind::attention:  // it looks at all scores of sources before its first row
      return rows.domain == Domain::kNode && rows.set == walked.dst_set && at({0});
    case OpKind::attention_grad:  // likewise at all that sources have but their gradients
      return op.attrs.integer("transpose", 0) == 0 && rows.domain == Domain::kNode && rows.set == walked.dst_set &&
             at({5});
    case OpKind::gather_src:
      return rows.domain == Domain::kEdge && at({0});
    case OpKind::sddmm:
      return rows.domain == Domain::kEdge && at({1});
    default:
      return false;
  }
}

bool sends_what_it_makes(const Plan& plan, const RowBand& band) {
  if (band.last_step + 1 >= std::ssize(plan.steps)) return false;
  const Op& next = op_of_step(plan, band.last_step + 1);
  if (next.kind != OpKind::halo_add_start || next.phase != op_of_step(plan, band.first_step).phase) return false;
  const Type& sent = plan.program.type(next.inputs[0]);
  const Type& rows = plan.program.type(row_value(op_of_step(plan, band.last_step)));
  if (rows.domain != sent.domain || rows.set != sent.set) return false;
  for (std::int32_t i = band.first_step; i <= band.last_step; ++i) {
    if (contains(op_of_step(plan, i).results, next.inputs[0])) return true;
  }
  return false;
}

}  // namespace

/// The first of the waits directly in front of a band that its rows of interior nodes can do without; the band's own
/// first step if there is none.
static std::int32_t first_wait(const Plan& plan, const RowBand& band) {
  const Phase phase = op_of_step(plan, band.first_step).phase;
  const auto can_be_late = [&](const Op& wait) {
    if (wait.kind != OpKind::halo_wait || wait.phase != phase) return false;
    for (std::int32_t i = band.first_step; i <= band.last_step; ++i) {
      const Op& op = op_of_step(plan, i);
      if (contains(op.inputs, wait.inputs[0]) && !reads_at_sources(plan.program, op, wait.inputs[0])) return false;
    }
    return true;
  };
  std::int32_t first = band.first_step;
  while (first > 0 && can_be_late(op_of_step(plan, first - 1))) --first;
  return first;
}

RowOrder row_order(const Plan& plan, const RowBand& band) {
  if (sends_what_it_makes(plan, band)) return RowOrder::kGhostsFirst;
  return first_wait(plan, band) < band.first_step ? RowOrder::kInteriorFirst : RowOrder::kAny;
}

std::pair<std::int32_t, std::int32_t> steps_with(const Plan& plan, const RowBand& band) {
  switch (row_order(plan, band)) {
    case RowOrder::kInteriorFirst:
      return {first_wait(plan, band), band.last_step};
    case RowOrder::kGhostsFirst:
      return {band.first_step, band.last_step + 1};
    case RowOrder::kAny:
      break;
  }
  return {band.first_step, band.last_step};
}

/// The last of the steps that run together with this one.
static std::int32_t last_together(const Plan& plan, std::int32_t step) {
  const Step& at = plan.steps[static_cast<std::size_t>(step)];
  if (at.band >= 0) return plan.bands[static_cast<std::size_t>(at.band)].last_step;
  if (at.loop >= 0) return plan.loops[static_cast<std::size_t>(at.loop)].last_step;
  return step;
}

std::vector<GradientSum> gradient_sums(const Plan& plan) {
  std::vector<std::pair<std::int32_t, std::size_t>> by_op;
  for (std::size_t p = 0; p < plan.program.params.size(); ++p) {
    const ValueId gradient = plan.program.params[p].grad;
    std::int32_t last = -1;
    for (std::int32_t i = 0; i < std::ssize(plan.steps); ++i) {
      const Op& op = op_of_step(plan, i);
      if (contains(op.results, gradient) || contains(op.inputs, gradient)) last = i;
    }
    if (gradient != kNoValue && last >= 0) by_op.emplace_back(last, p);
  }
  std::sort(by_op.begin(), by_op.end());
  std::vector<GradientSum> sums;
  for (const auto& [last, parameter] : by_op) {
    std::int32_t behind = last + 1;
    for (; behind < std::ssize(plan.steps); ++behind) {
      const Op& op = op_of_step(plan, behind);
      const bool starts = op.kind == OpKind::halo_start || op.kind == OpKind::halo_add_start;
      if (op.phase == Phase::kBackward && starts) break;
    }
    if (behind == std::ssize(plan.steps)) {
      behind = last_together(plan, last);
      const std::int32_t band = plan.steps[static_cast<std::size_t>(last)].band;
      const std::int32_t first = band < 0 ? last : plan.bands[static_cast<std::size_t>(band)].first_step;
      if (op_of_step(plan, first).phase == Phase::kForward) behind = GradientSum::kBeforeBackward;
    }
    sums.push_back({parameter, behind});
  }
  return sums;
}

bool is_made(const Plan& plan, std::size_t graph) {
  if (plan.graph_uses[graph].used) return true;
  const std::vector<GraphDef>& graphs = plan.program.graphs;
  for (std::size_t other = graph + 1; other < graphs.size(); ++other) {
    const bool from_base =
        graphs[other].origin != GraphOrigin::kLossRows && graphs[other].origin != GraphOrigin::kReversed;
    const bool made_from = from_base && graphs[other].base == static_cast<std::int32_t>(graph);
    if (made_from && is_made(plan, other)) return true;
  }
  return false;
}

std::string_view phase_name(Phase phase) { return kPhaseNames[static_cast<std::size_t>(phase)]; }

double Plan::seconds(Phase phase) const {
  double total = 0;
  for (const Step& step : steps) {
    if (program.ops[static_cast<std::size_t>(step.op)].phase == phase) total += step.seconds;
  }
  return total;
}

std::int64_t Plan::bytes_saved_by_halves() const {
  std::int64_t saved = 0;
  for (std::size_t v = 0; v < placements.size(); ++v) {
    const bool kept = placements[v].storage == Storage::kInput || placements[v].storage == Storage::kConstant ||
                      placements[v].storage == Storage::kFile;
    const std::int64_t bytes = placements[v].bytes;
    if (kept && is_half(program.values[v].type.scalar)) saved += bytes / 2 * value_bytes - bytes;
  }
  return saved;
}

std::string describe(const Plan& plan) {
  std::string text = fmt::format("{:9} {:20} {:10} {:>4} {:>12} {:>10}  call -> results and where they lie\n", "phase",
                                 "op", "variant", "band", "bytes", "model ms");
  for (const Step& step : plan.steps) text += describe_step(plan, step);
  return text;
}

}  // namespace gneiss::ir
