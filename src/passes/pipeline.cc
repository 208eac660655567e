// The list of passes, the reasons for its order, and the loop that runs, times and verifies them. A plan that has to
// keep within a limit of memory is made several ways, and the fastest one that fits is taken.
#include "passes/pipeline.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "ir/verify_plan.h"
#include "passes/common_subexpressions.h"
#include "passes/dead_code.h"
#include "passes/differentiate.h"
#include "passes/distribute.h"
#include "passes/distribute_products.h"
#include "passes/factor_weights.h"
#include "passes/fuse_attention.h"
#include "passes/fuse_edges.h"
#include "passes/fuse_elementwise.h"
#include "passes/fuse_messages.h"
#include "passes/group_rows.h"
#include "passes/half_constants.h"
#include "passes/half_features.h"
#include "passes/hoist_constants.h"
#include "passes/hoist_leaves.h"
#include "passes/inference.h"
#include "passes/loss.h"
#include "passes/order.h"
#include "passes/overlap.h"
#include "passes/products_at_nodes.h"
#include "passes/recompute.h"
#include "passes/self_loops.h"
#include "passes/sparse_features.h"
#include "passes/use_symmetry.h"

namespace gneiss::passes {
namespace {

using Decisions = std::vector<std::string>;

constexpr const char* kRecompute = "recompute";
constexpr const char* kFuseEdges = "fuse_edges";

struct Pass {
  const char* name;
  bool optional;
  const char* purpose;
  ir::Program (*run)(const ir::Program& program, const Options& options, Decisions* decisions);
};

/// Is there a loss to go down?
bool trains(const Options& options) {
  return options.loss.kind != LossSpec::Kind::kNone && !options.loss.evaluation_only;
}

bool wants_edge_loops(const Options& options) { return options.edge_loops && options.disabled.count(kFuseEdges) == 0; }

/// All ranks choose by what the features of all nodes hold.
SparsePathOptions sparse_options_of_all(const Options& options) {
  const bool part = options.distribution.ranks > 1;
  return {options.sparse_path, part ? options.distribution.feature_nonzeros : options.feature_nonzeros,
          options.value_bytes, options.most_dense_bytes};
}

SparsePathOptions sparse_options(const Options& options) {
  return {options.sparse_path, options.feature_nonzeros, options.value_bytes, options.most_dense_bytes};
}

ir::Program run_order(const ir::Program& program, const Options& options, Decisions* decisions) {
  const SparsePathOptions sparse = sparse_options_of_all(options);
  return eliminate_dead_code(
      choose_order(program, options.order, options.layer_orders, options.rates, options.repeats, sparse, decisions));
}

ir::Program run_loss_rows(const ir::Program& program, const Options& options, Decisions* decisions) {
  if (options.keep_training_logits || !trains(options)) return program;
  const std::optional<LossRowsOfAll>& of_all = options.loss_rows.of_all;  // ranks choose alike
  const std::int64_t nonzeros = of_all ? options.distribution.feature_nonzeros : options.feature_nonzeros;
  std::int64_t bytes = nonzeros * std::int64_t{sizeof(float) + sizeof(NodeId)};
  for (const ir::Op& op : program.ops) {
    if (op.kind != ir::OpKind::input || program.type(op.results[0]).layout == ir::Layout::kSparse) continue;
    const std::int64_t rows = of_all ? of_all->nodes : program.rows(op.results[0]);
    bytes += rows * program.type(op.results[0]).cols * std::int64_t{sizeof(float)};
  }
  // Making these edges takes as long as some steps of what it saves.
  constexpr double kStepsForTiles = 20;
  LossRows rows = options.loss_rows;
  rows.marks = options.repeats.steps >= kStepsForTiles && !of_all;
  return eliminate_dead_code(restrict_to_loss_rows(program, rows, bytes, decisions));
}

/// The order of the passes and why:
///   products_at_nodes first: what it takes off the edges, fuse_messages can join;
///   fuse_messages next, because everything after it reasons about sparse products, not about gathers;
///   fuse_attention right after it: it knows attention by the sparse product at its end;
///   distribute_products next: what it takes apart, choose_order can turn round;
///   choose_order before differentiation, so that one decision serves forward and backward;
///   factor_weights after them, because the scalings would stand between a product and an aggregation, and before
///   differentiation, which then needs no rule of its own for them;
///   all of them sweep up after themselves: a half that stays behind would count as a use and be differentiated;
///   self_loops when it is known which sums have weights, and before loss_rows, which takes edges of the graph that is
///   walked; sparse_features when the order is known: which products meet the raw features depends on it; add_inference
///   before the loss: it copies the model and nothing else; distribute next, when it is decided what runs in which
///   order, and before differentiation, which then makes what is sent on the way back; loss_rows before the loss:
///   evaluation keeps all rows, and backward follows what forward became; half_features after differentiation, which so
///   knows reals only, and before hoisting, which moves what it inserts; hoist after differentiation, because backward
///   ops (the divisor of a mean) can be constant too; choose_sparse_path when it shows which products with features
///   there are and whether the features are constant; cse when everything is there, then dce to sweep up, then
///   fuse_elementwise: what it joins, nothing has to see through; half_constants when it is known which ops read a
///   constant; use_symmetry before memory decides about transposes; group_rows when no pass adds an op any more, for
///   fuse_rows; overlap last, which must see where ops have come to stand. Passes on plans follow (planner/layout.cc).
constexpr Pass kPasses[] = {
    {"products_at_nodes", true, "(a x@src + b x@dst) W -> a (x W)@src + b (x W)@dst",
     [](const ir::Program& p, const Options&, Decisions* d) { return eliminate_dead_code(products_at_nodes(p, d)); }},
    {"fuse_messages", true, "gather, weight, reduce -> sparse product",
     [](const ir::Program& p, const Options& o, Decisions*) {
       return eliminate_dead_code(fuse_messages(p, !wants_edge_loops(o)));
     }},
    {"fuse_attention", true, "scores, softmax, sparse product -> attention",
     [](const ir::Program& p, const Options&, Decisions*) { return eliminate_dead_code(fuse_attention(p)); }},
    {"distribute_products", true, "(s x + A x) W -> s (x W) + A (x W) where cheaper",
     [](const ir::Program& p, const Options& o, Decisions* d) {
       return eliminate_dead_code(distribute_products(p, o.order, o.repeats, d));
     }},
    {"choose_order", true, "A(XW) or (AX)W by modelled time", run_order},
    {"factor_weights", true, "weights a[src] b[dst] -> scalings of rows on dense graphs",
     [](const ir::Program& p, const Options& o, Decisions* d) {
       return eliminate_dead_code(factor_weights(p, o.factor_degree, d));
     }},
    {"self_loops", true, "sums over a graph and a loop at each node -> x + sums over the graph, for few epochs",
     [](const ir::Program& p, const Options& o, Decisions* d) {
       return leave_out_self_loops(p, o.rates, o.repeats, d);
     }},
    {"sparse_features", false, "sparse input features through the sparse product",
     [](const ir::Program& p, const Options&, Decisions* d) { return lower_sparse_features(p, d); }},
    {"add_inference", false, "a copy of the model for evaluation",
     [](const ir::Program& p, const Options& o, Decisions*) {
       return o.loss.evaluation_only ? only_inference(p) : add_inference(p);
     }},
    {"distribute", false, "one rank's part: rows of others' nodes where edges come from, sums over ranks",
     [](const ir::Program& p, const Options& o, Decisions*) { return distribute(p, o.distribution); }},
    {"loss_rows", true, "the end of the model on the rows of the loss only", run_loss_rows},
    {"add_loss", false, "the loss and its gradient",
     [](const ir::Program& p, const Options& o, Decisions*) {
       return trains(o) ? share_loss(add_loss(p, o.loss), o.distribution) : add_loss(p, o.loss);
     }},
    {"differentiate", false, "backward ops, one rule per op",
     [](const ir::Program& p, const Options& o, Decisions*) {
       return trains(o) ? drop_scaffolding(differentiate(p), o.keep_training_logits) : p;
     }},
    {"half_features", false, "features in 16 bits, where they are held so",
     [](const ir::Program& p, const Options& o, Decisions* d) { return store_features(p, o.feature_dtype, d); }},
    {"hoist_constants", true, "what needs only graph and features runs once",
     [](const ir::Program& p, const Options&, Decisions*) { return hoist_constants(p); }},
    {"choose_sparse_path", true, "stored values or a dense copy for products with sparse features",
     [](const ir::Program& p, const Options& o, Decisions* d) {
       return choose_sparse_path(p, o.rates, sparse_options(o), d);
     }},
    {"use_symmetry", true, "A^T = A where it is",
     [](const ir::Program& p, const Options& o, Decisions*) { return use_symmetry(p, o.distribution.ids_fit); }},
    {"cse", true, "one op for one computation",
     [](const ir::Program& p, const Options&, Decisions*) { return eliminate_common_subexpressions(p); }},
    {"dce", true, "no op without a use",
     [](const ir::Program& p, const Options&, Decisions*) { return eliminate_dead_code(p); }},
    {"fuse_elementwise", true, "sums and products into the ops beside them",
     [](const ir::Program& p, const Options&, Decisions*) { return eliminate_dead_code(fuse_elementwise(p)); }},
    {"half_constants", true, "what is made from 16-bit features once is kept in 16 bits",
     [](const ir::Program& p, const Options& o, Decisions* d) { return store_constants(p, o.feature_dtype, d); }},
    {"separate_gradients", false, "a place of its own for every gradient",
     [](const ir::Program& p, const Options&, Decisions*) { return separate_gradients(p); }},
    {"group_rows", true, "ops on the same rows after one another",
     [](const ir::Program& p, const Options&, Decisions*) { return group_rows(p); }},
    {"overlap", true, "exchanges between ranks start early and are waited for late",
     [](const ir::Program& p, const Options& o, Decisions* d) {
       const Distribution& part = o.distribution;
       return part.ranks == 1 ? p : overlap_exchanges(p, part.sends + part.ghosts, part.exchange, d);
     }},
};

void check_options(const Options& options) {
  std::vector<std::string> names;
  for (const PassInfo& pass : list_passes()) names.push_back(pass.name);
  for (const std::string& name : options.disabled) {
    const auto pass = std::find_if(list_passes().begin(), list_passes().end(),
                                   [&](const PassInfo& info) { return info.name == name; });
    const bool known = pass != list_passes().end();
    if (known && pass->optional) continue;
    throw Error(
        ErrorCode::kUsage,
        known ? fmt::format("pass '{}' cannot be switched off", name) : fmt::format("there is no pass '{}'", name),
        "--passes-off", known ? "the program would not run without it" : unknown_name_hint(name, names));
  }
  names.emplace_back("all");
  names.emplace_back("input");
  for (const std::string& name : options.print_after) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    throw Error(ErrorCode::kUsage, fmt::format("there is no pass '{}'", name), "--print-after",
                unknown_name_hint(name, names));
  }
}

/// Times one step of the pipeline and reports it.
class Recorder {
 public:
  Recorder(const Options& options, std::vector<ir::PassReport>* reports) : options_(options), reports_(reports) {}

  template <class Body>
  void run(const char* name, const ir::Program& program, const Body& body) const {
    ir::PassReport report;
    report.name = name;
    report.ops_before = static_cast<std::int64_t>(program.ops.size());
    const auto start = std::chrono::steady_clock::now();
    body(&report.decisions);
    report.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    report.ops_after = static_cast<std::int64_t>(program.ops.size());
    reports_->push_back(std::move(report));
    print(name, program);
  }

  void print(const std::string& name, const ir::Program& program) const {
    const bool wanted = options_.print_after.count(name) > 0 || options_.print_after.count("all") > 0;
    if (wanted && options_.print) options_.print(name, ir::print(program));
  }

 private:
  const Options& options_;
  std::vector<ir::PassReport>* reports_;
};

}  // namespace

const std::vector<PassInfo>& list_passes() {
  static const std::vector<PassInfo> list = [] {
    std::vector<PassInfo> infos;
    for (const Pass& pass : kPasses) infos.push_back({pass.name, pass.optional, pass.purpose});
    infos.push_back({kRecompute, true,
                     "values made again in backward instead of kept, where that costs little or memory has a limit"});
    infos.push_back(
        {kFuseEdges, true, "ops on edges as loops that keep no edge, where they can be compiled (--jit, synth)"});
    for (const planner::PlanPass& pass : planner::layout_for(planner::Target::kCpu)) {
      if (pass.name != nullptr) infos.push_back({pass.name, pass.optional, pass.purpose});
    }
    for (const planner::PlanPass& pass : planner::layout_for(planner::Target::kDevice)) {
      const auto named = [&](const PassInfo& info) { return pass.name != nullptr && info.name == pass.name; };
      const bool known = std::any_of(infos.begin(), infos.end(), named);
      if (pass.name != nullptr && !known)
        infos.push_back({pass.name, pass.optional, std::string("on devices: ") + pass.purpose});
    }
    return infos;
  }();
  return list;
}

namespace {

/// Kernels, bands and places for a program that the passes are through with.
void lay_out(const Options& options, const Recorder& recorder, ir::Plan* plan) {
  for (const planner::PlanPass& pass : planner::layout_for(options.target)) {
    Decisions unread;
    if (pass.name == nullptr) {
      pass.run(plan, options, &unread);
    } else if (options.disabled.count(pass.name) == 0) {
      recorder.run(pass.name, plan->program, [&](Decisions* decisions) { pass.run(plan, options, decisions); });
    }
  }
}

double step_seconds_of(const ir::Plan& plan) {
  return plan.seconds(ir::Phase::kForward) + plan.seconds(ir::Phase::kBackward);
}

ir::Program with_edge_loops(const ir::Program& program, const Options& options, Decisions* decisions) {
  Decisions unread;
  return wants_edge_loops(options) ? fuse_edges(program, decisions != nullptr ? decisions : &unread) : program;
}

/// A plan of nothing yet but the program, and what is known of its data.
ir::Plan plan_for(ir::Program program, const Options& options) {
  ir::Plan plan;
  plan.value_bytes = options.value_bytes;
  plan.near = options.near;
  plan.feature_nonzeros = options.feature_nonzeros;
  plan.program = std::move(program);
  return plan;
}

/// What a program would take. Bands are not cut here: that only ever saves.
Footprint footprint(const ir::Program& program, const Options& options) {
  Options quiet = options;
  quiet.print_after.clear();
  quiet.disabled.insert(planner::kSplitBands);
  ir::Plan plan = plan_for(with_edge_loops(eliminate_dead_code(program), options, nullptr), options);
  lay_out(quiet, Recorder(quiet, &plan.passes), &plan);
  return {options.excess_bytes ? options.excess_bytes(plan) : plan.lasting_arena_bytes, step_seconds_of(plan)};
}

/// A plan by exactly these options; `remake`: with values made again in backward until it fits, else those that cost
/// next to nothing, of which a device's limit needs none.
ir::Plan plan_by(const ir::Program& model, const Options& options, bool remake) {
  ir::Plan plan = plan_for(model, options);
  ir::verify(plan.program, "the front end");
  const Recorder recorder(options, &plan.passes);
  recorder.print("input", plan.program);
  for (const Pass& pass : kPasses) {
    if (options.disabled.count(pass.name) > 0) {
      if (pass.name == std::string_view("hoist_constants")) plan.program = hoist_leaves(plan.program);
      continue;
    }
    recorder.run(pass.name, plan.program,
                 [&](Decisions* decisions) { plan.program = pass.run(plan.program, options, decisions); });
    ir::verify(plan.program, pass.name);
  }
  if (options.disabled.count(kRecompute) == 0 && (remake || !options.limit_is_of_device)) {
    recorder.run(kRecompute, plan.program, [&](Decisions* decisions) {
      Options free = options;  // of a limit
      if (!remake) free.excess_bytes = nullptr;
      const auto measure = [&](const ir::Program& program) { return footprint(program, free); };
      plan.program = remake ? recompute_to_fit(plan.program, measure, decisions)
                            : recompute_cheap(plan.program, measure, options.recompute_limits, decisions);
    });
    ir::verify(plan.program, kRecompute);
  }
  if (options.disabled.count(kFuseEdges) == 0) {
    recorder.run(kFuseEdges, plan.program,
                 [&](Decisions* decisions) { plan.program = with_edge_loops(plan.program, options, decisions); });
    ir::verify(plan.program, kFuseEdges);
  }
  lay_out(options, recorder, &plan);
  ir::verify(plan);
  return plan;
}

/// One way to make a plan fit, besides making values again.
struct Way {
  Options options;
  std::string what;
};

std::string how_it_fits(const ir::Plan& plan, const Way& way) {
  const bool remade = std::any_of(plan.passes.begin(), plan.passes.end(), [](const ir::PassReport& pass) {
    return pass.name == kRecompute && !pass.decisions.empty();
  });
  return (remade ? "values are made again in backward" : "") + std::string(remade && !way.what.empty() ? ", " : "") +
         way.what;
}

/// The plan as asked if it fits, else that of least modelled time which does: with values made again, without tiles of
/// sources (copies of the edges), without what is aggregated from the features once, without both.
ir::Plan plan_to_fit(const ir::Program& model, const Options& options) {
  ir::Plan as_asked = plan_by(model, options, false);
  if (options.excess_bytes(as_asked) <= 0) return as_asked;
  std::vector<Way> ways = {{options, ""}};
  if (options.source_tiles == planner::SourceTiling::kAuto) {
    ways.push_back(ways[0]);
    ways.back().options.source_tiles = planner::SourceTiling::kOff;
    ways.back().what = "edges are not cut by sources";
  }
  if (options.order == OrderChoice::kAuto) {
    const std::size_t count = ways.size();
    for (std::size_t i = 0; i < count; ++i) {
      ways.push_back(ways[i]);
      ways.back().options.order = OrderChoice::kTransformFirst;
      ways.back().what +=
          std::string(ways[i].what.empty() ? "" : ", ") + "features are multiplied before they are aggregated";
    }
  }
  std::optional<ir::Plan> best;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Way& way : ways) {
    ir::Plan plan = plan_by(model, way.options, true);
    plan.fit = how_it_fits(plan, way);
    const std::int64_t excess = options.excess_bytes(plan);
    const bool fits = excess <= 0;
    if (!best || (fits != (least <= 0) ? fits
                  : fits               ? step_seconds_of(plan) < step_seconds_of(*best)
                                       : excess < least)) {
      best = std::move(plan);
      least = excess;
    }
  }
  if (least <= 0) {
    const double before = step_seconds_of(as_asked);
    const double longer = before > 0 ? step_seconds_of(*best) / before - 1 : 0;
    best->fit = fmt::format("the training would take {:.1f} MiB more than {}: {}, for {:.0f} % of a modelled step",
                            static_cast<double>(options.excess_bytes(as_asked)) / (1 << 20), options.limit_name,
                            best->fit, 100 * longer);
    return *std::move(best);
  }
  if (options.limit_is_of_device) return *std::move(best);
  throw Error(ErrorCode::kOutOfMemory,
              fmt::format("the training takes {:.1f} MiB more than it may, whatever is made again instead of kept",
                          static_cast<double>(least) / (1 << 20)),
              options.limit_name,
              options.limit_remedy + ", or train a smaller model; --feature-dtype bf16 halves dense features");
}

}  // namespace

ir::Plan build_plan(const ir::Program& model, const Options& options) {
  check_options(options);
  return options.excess_bytes ? plan_to_fit(model, options) : plan_by(model, options, false);
}

}  // namespace gneiss::passes
