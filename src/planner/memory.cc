// Each value gets a lifetime: the first and the last op that needs it, over whole bands where ops run together. Values
// that may take each other's places are chained into one lifetime. Lifetimes are placed largest first, each at the
// lowest offset where nobody else is alive; ties are tried in several orders and the smallest arena is kept.
// Parameters, gradients, states and constants have regions of their own, band values a region for each thread.
#include "planner/memory.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "base/error.h"
#include "ir/beside_exchange.h"
#include "kernels/clip_norm.h"
#include "planner/band_values.h"
#include "planner/edge_loops.h"

namespace gneiss::planner {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Phase;
using ir::Placement;
using ir::Storage;
using ir::ValueId;

constexpr std::int64_t kAlignment = 64;

std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Time in which a value (or a chain of values in one place) occupies the arena: op indices, both included.
struct Lifetime {
  std::int32_t begin = 0;
  std::int32_t end = 0;
  std::int64_t bytes = 0;
  std::int64_t offset = 0;
  std::int64_t least = 0;  ///< offset: before it lies scratch of kernels that run in this time

  bool overlaps(const Lifetime& other) const { return begin <= other.end && other.begin <= end; }
};

class MemoryPlanner {
 public:
  explicit MemoryPlanner(ir::Plan* plan) : plan_(*plan), program_(plan->program) {}

  void run() {
    plan_.placements.assign(program_.values.size(), {});
    find_bands();
    find_workspaces();
    find_lifetimes();
    lives_in_band_ = values_of_bands(plan_);
    const std::vector<bool> in_loops = values_of_loops(plan_);
    for (std::size_t v = 0; v < in_loops.size(); ++v) {
      if (in_loops[v]) plan_.placements[v].storage = Storage::kLoop;
    }
    place_parameters();
    place_inputs_and_constants();
    leave_bands();
    place_arena_and_bands();
  }

 private:
  Placement& placement(ValueId v) { return plan_.placements[static_cast<std::size_t>(v)]; }
  const Op& op_at(std::int32_t i) const { return program_.ops[static_cast<std::size_t>(i)]; }

  std::int64_t bytes_of(ValueId v) const {
    const ir::Type& type = program_.type(v);
    const std::int64_t each = ir::scalar_bytes(type.scalar, plan_.value_bytes);
    const std::int64_t dense = program_.rows(type) * plan_.stride(v);
    const std::int64_t count = type.layout == ir::Layout::kSparse ? feature_nonzeros() : dense;
    GNEISS_ASSERT(count >= 0, "the size of %{} is not known", program_.value_name(v));
    return count * each;
  }

  std::int64_t feature_nonzeros() const { return plan_.feature_nonzeros; }

  /// Ops that run together, in a band and the halves of exchanges that it runs on its way or in a loop over edges: the
  /// first and the last of them for each op (or itself), and its band.
  void find_bands() {
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(program_.ops.size()); ++i) {
      starts_.push_back(i);
      ends_.push_back(i);
      band_of_.push_back(-1);
    }
    for (std::size_t b = 0; b < plan_.bands.size(); ++b) {
      const ir::RowBand& band = plan_.bands[b];
      const auto [first, last] = ir::steps_with(plan_, band);
      run_together(first, last);
      std::fill(band_of_.begin() + op_of(band.first_step), band_of_.begin() + op_of(band.last_step) + 1,
                static_cast<std::int32_t>(b));
    }
    for (const ir::EdgeLoop& loop : plan_.loops) run_together(loop.first_step, loop.last_step);
  }

  std::int32_t op_of(std::int32_t step) const { return plan_.steps[static_cast<std::size_t>(step)].op; }

  void run_together(std::int32_t first_step, std::int32_t last_step) {
    for (std::int32_t i = op_of(first_step); i <= op_of(last_step); ++i) {
      starts_[static_cast<std::size_t>(i)] = op_of(first_step);
      ends_[static_cast<std::size_t>(i)] = op_of(last_step);
    }
  }

  /// Scratch that an op needs, or those that it runs together with.
  void find_workspaces() {
    workspaces_.assign(program_.ops.size(), 0);
    for (const ir::Step& step : plan_.steps) {
      if (step.band < 0 && step.loop < 0)
        workspaces_[static_cast<std::size_t>(step.op)] = aligned(step.workspace_bytes);
    }
    for (const ir::RowBand& band : plan_.bands) {
      std::int64_t bytes = 0;
      for (std::int32_t i = band.first_step; i <= band.last_step; ++i) {
        bytes += ir::band_workspace_bytes(plan_.steps[static_cast<std::size_t>(i)], band.tasks);
      }
      set_workspace(band.first_step, band.last_step, bytes);
    }
    for (const ir::EdgeLoop& loop : plan_.loops)
      set_workspace(loop.first_step, loop.last_step, aligned(loop.tasks * loop.task_bytes));
  }

  void set_workspace(std::int32_t first_step, std::int32_t last_step, std::int64_t bytes) {
    const std::int32_t first = plan_.steps[static_cast<std::size_t>(first_step)].op;
    const std::int32_t last = plan_.steps[static_cast<std::size_t>(last_step)].op;
    std::fill(workspaces_.begin() + first, workspaces_.begin() + last + 1, bytes);
  }

  bool in_loop(std::int32_t op) const { return op_at(op).attrs.has("loop"); }

  /// Is op i in a chain of a device, whose threads each have an element to do? They do not wait for one another.
  bool in_chain(std::int32_t i) const {
    return in_band(i) && plan_.bands[static_cast<std::size_t>(band_of_[static_cast<std::size_t>(i)])].band_rows == 0;
  }

  /// Does another op of op i's chain read v?
  bool read_in_chain_beside(std::int32_t i, ValueId v) const {
    for (std::int32_t j = start_of(i); j <= end_of(i) && in_chain(i); ++j) {
      if (j != i && std::count(op_at(j).inputs.begin(), op_at(j).inputs.end(), v) > 0) return true;
    }
    return false;
  }

  bool in_band(std::int32_t op) const { return band_of_[static_cast<std::size_t>(op)] >= 0; }

  /// When ops run together, a value is there from the first of them on and needed until the last one is through.
  std::int32_t start_of(std::int32_t op) const { return starts_[static_cast<std::size_t>(op)]; }
  std::int32_t end_of(std::int32_t op) const { return ends_[static_cast<std::size_t>(op)]; }

  /// Does an op that runs together with op i read all rows of v?
  bool read_whole_beside(std::int32_t i, ValueId v) const {
    for (std::int32_t j = start_of(i); j <= end_of(i) && in_band(i); ++j) {
      for (std::size_t k = 0; k < op_at(j).inputs.size(); ++k) {
        if (op_at(j).inputs[k] == v && ir::reads_whole(op_at(j), k)) return true;
      }
    }
    return false;
  }

  /// First and last op of every value; outputs live to the end of their phase's run.
  void find_lifetimes() {
    const auto count = static_cast<std::int32_t>(program_.ops.size());
    made_.assign(program_.values.size(), -1);
    last_.assign(program_.values.size(), -1);
    for (std::int32_t i = 0; i < count; ++i) {
      for (const ValueId r : op_at(i).results) {
        if (r == ir::kNoValue) continue;
        made_[static_cast<std::size_t>(r)] = i;
        last_[static_cast<std::size_t>(r)] = i;
      }
      for (const ValueId v : op_at(i).inputs) last_[static_cast<std::size_t>(v)] = i;
    }
    for (const ir::Output& out : program_.outputs) {
      const auto v = static_cast<std::size_t>(out.value);
      const Phase phase = op_at(made_[v]).phase == Phase::kInference ? Phase::kInference : Phase::kBackward;
      for (std::int32_t i = made_[v]; i < count; ++i) {
        if (op_at(i).phase <= phase) last_[v] = std::max(last_[v], i);
      }
    }
  }

  /// In a band, what a product makes and elementwise ops turn in place into a value that others read later is made
  /// where that one will lie: its lines are waited for while the product computes, not while the last op copies. A
  /// gather has waits enough of its own. Where that one takes over the place of another value, a band's rows are kept
  /// beside it as before.
  void leave_bands() {
    for (auto i = static_cast<std::int32_t>(program_.ops.size()) - 1; i >= 0; --i) {
      const int which = ir::traits(op_at(i).kind).in_place - 1;
      if (which < 0 || !in_band(i) || in_chain(i) || op_at(i).results[static_cast<std::size_t>(which)] == ir::kNoValue)
        continue;
      const ValueId result = op_at(i).results[static_cast<std::size_t>(which)];
      if (lives_in_band_[static_cast<std::size_t>(result)] || program_.type(result).domain == ir::Domain::kGlobal ||
          may_take_over(i, result))
        continue;
      std::vector<ValueId> chain;
      std::int32_t op = i;
      for (ValueId v = operand_in_band(op, result); v != ir::kNoValue; v = operand_in_band(op, result)) {
        chain.push_back(v);
        op = made_[static_cast<std::size_t>(v)];
      }
      if (op_at(op).kind != OpKind::gemm) continue;
      for (const ValueId v : chain) lives_in_band_[static_cast<std::size_t>(v)] = false;
    }
  }

  /// Is there a value of the arena that the ops of the band up to op i were the last to read, and whose rows lie as
  /// those of its result?
  bool may_take_over(std::int32_t i, ValueId result) const {
    for (std::int32_t j = start_of(i); j <= i; ++j) {
      for (const ValueId v : op_at(j).inputs) {
        const bool in_arena = plan_.placements[static_cast<std::size_t>(v)].storage == Storage::kNone &&
                              !lives_in_band_[static_cast<std::size_t>(v)];
        const bool alike = program_.type(v) == program_.type(result) && plan_.stride(v) == plan_.stride(result);
        if (in_arena && alike && last_[static_cast<std::size_t>(v)] == j && !read_whole_beside(i, v)) return true;
      }
    }
    return false;
  }

  /// The operand that lives in op i's band until then and lies as `result` does, of which op i may make its result in
  /// place; or kNoValue.
  ValueId operand_in_band(std::int32_t i, ValueId result) const {
    if (ir::traits(op_at(i).kind).in_place == 0) return ir::kNoValue;
    for (std::size_t k = op_at(i).kind == OpKind::gemm ? 2 : 0; k < op_at(i).inputs.size(); ++k) {
      const ValueId v = op_at(i).inputs[k];
      const bool alike = program_.type(v) == program_.type(result) && plan_.stride(v) == plan_.stride(result);
      if (alike && lives_in_band_[static_cast<std::size_t>(v)] && last_[static_cast<std::size_t>(v)] == i) return v;
    }
    return ir::kNoValue;
  }

  void place_parameters() {
    std::int64_t trained = 0;
    std::int64_t states = 0;
    for (const ir::Param& param : program_.params) {
      const std::int64_t bytes = param.rows * param.cols * plan_.value_bytes;
      std::int64_t& total = param.trainable ? trained : states;
      placement(param.value) = {param.trainable ? Storage::kParameter : Storage::kState, total, bytes};
      if (param.grad != ir::kNoValue) placement(param.grad) = {Storage::kGradient, total, bytes};
      total += aligned(bytes);
    }
    plan_.parameter_bytes = trained;
    plan_.state_bytes = states;
  }

  void place_inputs_and_constants() {
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(program_.ops.size()); ++i) {
      const Op& op = op_at(i);
      for (const ValueId r : op.results) {
        if (r == ir::kNoValue || placement(r).storage != Storage::kNone) continue;
        if (op.kind == OpKind::input) {
          placement(r) = {Storage::kInput, 0, bytes_of(r)};
        } else if (std::count(plan_.file_constants.begin(), plan_.file_constants.end(), r) > 0) {
          placement(r) = {Storage::kFile, plan_.file_bytes, bytes_of(r)};
          plan_.file_bytes += aligned(bytes_of(r));
        } else if (op.phase == Phase::kSetup && read_later(r)) {
          placement(r) = {Storage::kConstant, plan_.constant_bytes, bytes_of(r)};
          plan_.constant_bytes += aligned(bytes_of(r));
          place_ancestors(i, placement(r));
        }
      }
    }
  }

  /// A value of the setup phase that a constant is made of in place may lie where the constant will; so may what that
  /// is made of.
  void place_ancestors(std::int32_t i, const Placement& place) {
    const Op& op = op_at(i);
    if (ir::traits(op.kind).in_place != 1 || in_loop(i)) return;
    for (std::size_t k = op.kind == OpKind::gemm ? 2 : 0; k < op.inputs.size(); ++k) {
      const ValueId v = op.inputs[k];
      const bool dies_here = last_[static_cast<std::size_t>(v)] == i;
      const bool alike =
          program_.type(v) == program_.type(op.results[0]) && plan_.stride(v) == plan_.stride(op.results[0]);
      if (!dies_here || placement(v).storage != Storage::kNone || !alike) continue;
      placement(v) = place;
      return place_ancestors(made_[static_cast<std::size_t>(v)], place);
    }
  }

  bool read_later(ValueId v) const {
    const std::int32_t last = last_[static_cast<std::size_t>(v)];
    return op_at(last).phase != Phase::kSetup;
  }

  /// The operand whose place a result of op i may take, or kNoValue.
  ValueId reusable_operand(std::int32_t i, std::size_t which) const {
    const Op& op = op_at(i);
    if (ir::traits(op.kind).in_place != static_cast<int>(which) + 1 || in_loop(i)) return ir::kNoValue;
    const ir::Type& result = program_.type(op.results[which]);
    for (std::size_t k = op.kind == OpKind::gemm ? 2 : 0; k < op.inputs.size(); ++k) {
      const ValueId v = op.inputs[k];
      const bool dies_here = last_[static_cast<std::size_t>(v)] == i;
      const bool in_arena = group_[static_cast<std::size_t>(v)] >= 0;
      if (dies_here && in_arena && !differ_in_place(v, op.results[which]) && program_.type(v) == result &&
          !read_whole_beside(i, v) && !read_in_chain_beside(i, v))
        return v;
    }
    return ir::kNoValue;
  }

  /// In a band, a value whose rows an earlier op was the last to read: the rows of the `which`-th result of op i may
  /// take their place. kNoValue if there is none.
  ValueId dead_in_band(std::int32_t i, std::size_t which) const {
    const ir::Type& result = program_.type(op_at(i).results[which]);
    if (!in_band(i) || in_chain(i)) return ir::kNoValue;
    for (std::int32_t j = start_of(i); j < i; ++j) {
      for (const ValueId v : op_at(j).inputs) {
        const std::int32_t group = group_[static_cast<std::size_t>(v)];
        const bool dead =
            last_[static_cast<std::size_t>(v)] == j && group >= 0 && holder_[static_cast<std::size_t>(group)] == v;
        if (dead && !differ_in_place(v, op_at(i).results[which]) && program_.type(v) == result &&
            !read_whole_beside(i, v))
          return v;
      }
    }
    return ir::kNoValue;
  }

  /// One of the two lives in a band alone, the other does not, or their rows do not lie alike.
  bool differ_in_place(ValueId a, ValueId b) const {
    return lives_in_band_[static_cast<std::size_t>(a)] != lives_in_band_[static_cast<std::size_t>(b)] ||
           plan_.stride(a) != plan_.stride(b);
  }

  /// Values that may take each other's places, one after the other, share a lifetime. In a band, places are for rows of
  /// the band, and values that live in it alone need theirs from op to op only.
  void collect_groups() {
    group_.assign(program_.values.size(), -1);
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(program_.ops.size()); ++i) {
      const Op& op = op_at(i);
      for (std::size_t k = 0; k < op.results.size(); ++k) {
        const ValueId r = op.results[k];
        if (r == ir::kNoValue || plan_.placements[static_cast<std::size_t>(r)].storage != Storage::kNone) continue;
        const bool band = lives_in_band_[static_cast<std::size_t>(r)];
        const std::int32_t last = last_[static_cast<std::size_t>(r)];
        const std::int32_t end = band ? last : end_of(last);
        ValueId operand = reusable_operand(i, k);
        if (operand == ir::kNoValue && !band) operand = dead_in_band(i, k);
        std::int32_t& group = group_[static_cast<std::size_t>(r)];
        if (operand != ir::kNoValue) {
          group = group_[static_cast<std::size_t>(operand)];
          lifetimes_[static_cast<std::size_t>(group)].end = end;
          holder_[static_cast<std::size_t>(group)] = r;
        } else {
          group = static_cast<std::int32_t>(lifetimes_.size());
          lifetimes_.push_back({band ? i : start_of(i), end, aligned(band ? bytes_in_band(i, r) : bytes_of(r)), 0});
          holder_.push_back(r);
        }
      }
    }
  }

  std::int64_t bytes_in_band(std::int32_t i, ValueId v) const {
    return plan_.bands[static_cast<std::size_t>(band_of_[static_cast<std::size_t>(i)])].band_rows *
           program_.type(v).cols * plan_.value_bytes;
  }

  bool holds_band_rows(std::size_t lifetime) const {
    return lives_in_band_[static_cast<std::size_t>(holder_[lifetime])];
  }

  /// Places lifetimes in the given order, each at the lowest offset where it meets nobody alive at the same time;
  /// returns the bytes that they take.
  std::int64_t place_in_order(const std::vector<std::size_t>& order) {
    std::int64_t bytes = 0;
    std::vector<std::size_t> placed;
    for (const std::size_t i : order) {
      Lifetime& life = lifetimes_[i];
      std::int64_t offset = life.least;
      for (const std::size_t j : placed) {  // ascending offsets
        const Lifetime& other = lifetimes_[j];
        if (!life.overlaps(other)) continue;
        if (offset + life.bytes <= other.offset) break;
        offset = std::max(offset, other.offset + other.bytes);
      }
      life.offset = offset;
      bytes = std::max(bytes, offset + life.bytes);
      placed.insert(
          std::upper_bound(placed.begin(), placed.end(), i,
                           [&](std::size_t a, std::size_t b) { return lifetimes_[a].offset < lifetimes_[b].offset; }),
          i);
    }
    return bytes;
  }

  /// Places lifetimes, the largest first, and returns the bytes that they take. Which comes first of values of one size
  /// decides about gaps that none of them fits into: the first or the last made, the longest-lived or the one that may
  /// lie lowest, whichever needs least.
  std::int64_t place(const std::vector<std::size_t>& members) {
    using Before = bool (*)(const Lifetime&, const Lifetime&);
    constexpr Before kTies[] = {
        [](const Lifetime& a, const Lifetime& b) { return a.begin < b.begin; },
        [](const Lifetime& a, const Lifetime& b) { return a.begin > b.begin; },
        [](const Lifetime& a, const Lifetime& b) { return a.end - a.begin > b.end - b.begin; },
        [](const Lifetime& a, const Lifetime& b) { return a.least < b.least; },
    };
    std::vector<Lifetime> best;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const Before before : kTies) {
      std::vector<std::size_t> order = members;
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const Lifetime& x = lifetimes_[a];
        const Lifetime& y = lifetimes_[b];
        return x.bytes != y.bytes ? x.bytes > y.bytes : before(x, y);
      });
      const std::int64_t bytes = place_in_order(order);
      if (bytes < least) best = lifetimes_;
      least = std::min(least, bytes);
    }
    lifetimes_ = best;
    return least;
  }

  void place_arena_and_bands() {
    collect_groups();
    std::vector<std::size_t> arena;
    std::vector<std::size_t> bands;
    for (std::size_t i = 0; i < lifetimes_.size(); ++i) (holds_band_rows(i) ? bands : arena).push_back(i);
    for (const std::size_t i : arena) {
      Lifetime& life = lifetimes_[i];
      life.least = *std::max_element(workspaces_.begin() + life.begin, workspaces_.begin() + life.end + 1);
    }
    plan_.arena_bytes = place(arena);
    plan_.band_bytes = place(bands);
    // The update, after all ops, may take the norm of all gradients.
    plan_.workspace_bytes = aligned(
        static_cast<std::int64_t>(kernels::clip_norm_workspace_bytes(plan_.parameter_bytes / plan_.value_bytes)));
    plan_.setup_arena_bytes = 0;
    plan_.lasting_arena_bytes = plan_.workspace_bytes;
    const auto use = [&](std::int32_t op, std::int64_t bytes) {
      std::int64_t& used = op_at(op).phase == Phase::kSetup ? plan_.setup_arena_bytes : plan_.lasting_arena_bytes;
      used = std::max(used, bytes);
    };
    for (const std::size_t i : arena) use(lifetimes_[i].begin, lifetimes_[i].offset + lifetimes_[i].bytes);
    for (std::size_t i = 0; i < workspaces_.size(); ++i) {
      use(static_cast<std::int32_t>(i), workspaces_[i]);
      plan_.workspace_bytes = std::max(plan_.workspace_bytes, workspaces_[i]);
    }
    plan_.arena_bytes = std::max({plan_.arena_bytes, plan_.setup_arena_bytes, plan_.lasting_arena_bytes});
    for (std::size_t v = 0; v < group_.size(); ++v) {
      if (group_[v] < 0) continue;
      const Storage storage = lives_in_band_[v] ? Storage::kBand : Storage::kArena;
      plan_.placements[v] = {storage, lifetimes_[static_cast<std::size_t>(group_[v])].offset,
                             bytes_of(static_cast<ValueId>(v))};
    }
  }

  ir::Plan& plan_;
  const ir::Program& program_;
  std::vector<std::int32_t> starts_;
  std::vector<std::int32_t> ends_;
  std::vector<std::int32_t> band_of_;     ///< of each op, or -1
  std::vector<std::int64_t> workspaces_;  ///< bytes, of each op
  std::vector<std::int32_t> made_;
  std::vector<std::int32_t> last_;
  std::vector<bool> lives_in_band_;  ///< values of which only rows of a band exist
  std::vector<std::int32_t> group_;
  std::vector<Lifetime> lifetimes_;
  std::vector<ValueId> holder_;  ///< of each lifetime, the value that has the place last
};

}  // namespace

void plan_memory(ir::Plan* plan) { MemoryPlanner(plan).run(); }

}  // namespace gneiss::planner
