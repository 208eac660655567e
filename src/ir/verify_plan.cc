// The planner's promises, derived anew: nothing here looks at how the planner came to its choices. A value lives from
// the step that makes it to the last that reads it; steps that run together (a band, a loop over edges) count as one
// moment, because their rows are worked on at the same time. Two values of one storage may then share bytes if they
// live at different times, or if the later one takes over the place of the earlier one row by row.
#include "ir/verify_plan.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "ir/beside_exchange.h"

namespace gneiss::ir {
namespace {

constexpr std::int64_t kAlignment = 64;

/// The moments, by index of ops, at which a value is there.
struct Life {
  std::int32_t made = -1;
  std::int32_t read = -1;   ///< by the last op that does
  std::int32_t begin = -1;  ///< `made` and `read`, with all ops that run together with them
  std::int32_t end = -1;
};

class PlanVerifier {
 public:
  explicit PlanVerifier(const Plan& plan) : plan_(plan), program_(plan.program) {}

  std::vector<std::string> run() {
    if (!check_form()) return std::move(defects_);
    find_lives();
    for (ValueId v = 0; v < static_cast<ValueId>(program_.values.size()); ++v) check_place(v);
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(plan_.steps.size()); ++i) {
      check_reads(i);
      check_ids(i);
    }
    for (const RowBand& band : plan_.bands) check_band(band);
    check_releases();
    check_sharing();
    check_scratch();
    return std::move(defects_);
  }

 private:
  template <class... Args>
  void defect(fmt::format_string<Args...> format, Args&&... args) {
    defects_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  const Op& op(std::int32_t i) const { return program_.ops[static_cast<std::size_t>(i)]; }
  const Step& step(std::int32_t i) const { return plan_.steps[static_cast<std::size_t>(i)]; }
  const Placement& place(ValueId v) const { return plan_.placements[static_cast<std::size_t>(v)]; }
  const Life& life(ValueId v) const { return lives_[static_cast<std::size_t>(v)]; }
  const std::string& name(ValueId v) const { return program_.value_name(v); }
  std::string_view name_of(const Op& o) const { return traits(o.kind).name; }

  /// Are the lists as long as they have to be, and do steps, bands and loops name each other in order?
  bool check_form() {
    if (plan_.placements.size() != program_.values.size())
      defect("{} places for {} values", plan_.placements.size(), program_.values.size());
    if (plan_.graph_uses.size() != program_.graphs.size())
      defect("{} uses of {} graphs", plan_.graph_uses.size(), program_.graphs.size());
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& s = plan_.steps[i];
      const bool ordered = i == 0 || plan_.steps[i - 1].op < s.op;
      if (s.op < 0 || s.op >= static_cast<std::int32_t>(program_.ops.size()) || !ordered)
        defect("step {} is op {}, out of order", i, s.op);
    }
    check_runs("band", plan_.bands, &Step::band);
    check_runs("loop", plan_.loops, &Step::loop);
    return defects_.empty();
  }

  /// Does every band (loop) hold exactly the steps that name it?
  template <class Run>
  void check_runs(const char* what, const std::vector<Run>& runs, std::int32_t Step::*number) {
    std::vector<std::int32_t> expected(plan_.steps.size(), -1);
    for (std::size_t r = 0; r < runs.size(); ++r) {
      const bool in_range = runs[r].first_step >= 0 && runs[r].first_step <= runs[r].last_step &&
                            runs[r].last_step < static_cast<std::int32_t>(plan_.steps.size());
      if (!in_range)
        defect("{} {} has steps {} to {} of {}", what, r, runs[r].first_step, runs[r].last_step, plan_.steps.size());
      for (std::int32_t i = runs[r].first_step; in_range && i <= runs[r].last_step; ++i)
        expected[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(r);
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (plan_.steps[i].*number != expected[i])
        defect("step {} says that it is in {} {}, not {}", i, what, plan_.steps[i].*number, expected[i]);
    }
  }

  void find_lives() {
    const std::size_t count = program_.ops.size();
    starts_.resize(count);
    ends_.resize(count);
    band_of_.assign(count, -1);
    loop_of_.assign(count, -1);
    for (std::size_t i = 0; i < count; ++i) starts_[i] = ends_[i] = static_cast<std::int32_t>(i);
    for (const Step& s : plan_.steps) {
      band_of_[static_cast<std::size_t>(s.op)] = s.band;
      loop_of_[static_cast<std::size_t>(s.op)] = s.loop;
    }
    for (const RowBand& band : plan_.bands) {
      const auto [first, last] = steps_with(plan_, band);
      run_together(first, last);
    }
    for (const EdgeLoop& loop : plan_.loops) run_together(loop.first_step, loop.last_step);
    lives_.assign(program_.values.size(), {});
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(count); ++i) {
      for (const ValueId v : op(i).inputs) lives_[static_cast<std::size_t>(v)].read = i;
      for (const ValueId r : op(i).results) {
        if (r != kNoValue) lives_[static_cast<std::size_t>(r)].made = lives_[static_cast<std::size_t>(r)].read = i;
      }
    }
    keep_outputs();
    for (Life& l : lives_) {
      if (l.made < 0) continue;
      l.begin = starts_[static_cast<std::size_t>(l.made)];
      l.end = ends_[static_cast<std::size_t>(l.read)];
    }
  }

  void run_together(std::int32_t first_step, std::int32_t last_step) {
    for (std::int32_t i = step(first_step).op; i <= step(last_step).op; ++i) {
      starts_[static_cast<std::size_t>(i)] = step(first_step).op;
      ends_[static_cast<std::size_t>(i)] = step(last_step).op;
    }
  }

  /// Outputs are read when a step, or an evaluation, is through.
  void keep_outputs() {
    for (const Output& out : program_.outputs) {
      Life& l = lives_[static_cast<std::size_t>(out.value)];
      const Phase last = op(l.made).phase == Phase::kInference ? Phase::kInference : Phase::kBackward;
      for (std::int32_t i = l.made; i < static_cast<std::int32_t>(program_.ops.size()); ++i) {
        if (op(i).phase <= last) l.read = std::max(l.read, i);
      }
    }
  }

  /// Bytes of a storage that a value may lie in.
  std::int64_t room(ValueId v) const {
    switch (place(v).storage) {
      case Storage::kParameter:
      case Storage::kGradient:
        return plan_.parameter_bytes;
      case Storage::kState:
        return plan_.state_bytes;
      case Storage::kConstant:
        return plan_.constant_bytes;
      case Storage::kFile:
        return plan_.file_bytes;
      case Storage::kArena:
        return op(life(v).made).phase == Phase::kSetup ? plan_.setup_arena_bytes
                                                       : std::min(plan_.arena_bytes, plan_.lasting_arena_bytes);
      case Storage::kBand:
        return plan_.band_bytes;
      default:
        return std::numeric_limits<std::int64_t>::max();
    }
  }

  /// Bytes that a value takes where it lies.
  std::int64_t bytes(ValueId v) const {
    const Type& type = program_.type(v);
    const std::int64_t each = scalar_bytes(type.scalar, plan_.value_bytes);
    if (type.layout == Layout::kSparse) return plan_.feature_nonzeros * each;
    if (place(v).storage != Storage::kBand) return program_.rows(v) * plan_.stride(v) * each;
    const std::int32_t band = band_of_[static_cast<std::size_t>(life(v).made)];
    return band < 0 ? 0 : plan_.bands[static_cast<std::size_t>(band)].band_rows * type.cols * each;
  }

  static bool is_memory(Storage storage) {
    return storage != Storage::kNone && storage != Storage::kInput && storage != Storage::kLoop;
  }

  void check_place(ValueId v) {
    const Placement& p = place(v);
    if (!is_memory(p.storage) || life(v).made < 0) return;
    if (p.offset_bytes < 0 || p.offset_bytes % kAlignment != 0) defect("%{} lies at byte {}", name(v), p.offset_bytes);
    if (p.offset_bytes + bytes(v) > room(v))
      defect("%{} ends at byte {} of {}", name(v), p.offset_bytes + bytes(v), room(v));
  }

  void check_reads(std::int32_t i) {
    const std::int32_t o = step(i).op;
    for (std::size_t k = 0; k < op(o).inputs.size(); ++k) {
      const ValueId v = op(o).inputs[k];
      const std::int32_t made = life(v).made;
      switch (place(v).storage) {
        case Storage::kNone:
          defect("{} reads %{}, which is not stored", name_of(op(o)), name(v));
          break;
        case Storage::kBand:
          if (step(i).band < 0 || step(i).band != band_of_[static_cast<std::size_t>(made)] || reads_whole(op(o), k))
            defect("{} reads %{}, of which only rows of another band exist", name_of(op(o)), name(v));
          break;
        case Storage::kLoop:
          if (step(i).loop < 0 || step(i).loop != loop_of_[static_cast<std::size_t>(made)])
            defect("{} reads %{}, which only a loop has", name_of(op(o)), name(v));
          break;
        case Storage::kArena:
          if (op(made).phase != op(o).phase && !(op(made).phase == Phase::kForward && op(o).phase == Phase::kBackward))
            defect("{} reads %{} of the arena in phase {}, it was made in phase {}", name_of(op(o)), name(v),
                   phase_name(op(o).phase), phase_name(op(made).phase));
          break;
        case Storage::kInput:
          if (is_gone(Released::kFeatures, 0, i))
            defect("{} (step {}) reads %{} when the features are gone", name_of(op(o)), i, name(v));
          break;
        default:
          break;
      }
    }
  }

  /// Does the op walk along out-edges?
  static bool walks_back(const Op& o) {
    switch (o.kind) {
      case OpKind::spmm:
      case OpKind::attention_grad:
        return o.attrs.integer("transpose", 0) != 0;
      case OpKind::spmm_arg_grad:
        return o.attrs.integer("by_id", 0) == 0;
      case OpKind::segment_reduce:
        return o.attrs.text("side", "dst") == "src";
      default:
        return false;
    }
  }

  /// Does it read what edges have besides their ends?
  static bool reads_edges(const Op& o) {
    if (o.kind == OpKind::spmm) return weighs_edges(o);
    return o.kind != OpKind::attention_grad || o.inputs.size() == 7;
  }

  /// Has it been freed when a step runs?
  bool is_gone(Released what, std::int64_t graph, std::int32_t i) const {
    const Release* release = plan_.release_of(what, static_cast<std::int32_t>(graph));
    return release != nullptr && (op(step(i).op).phase != Phase::kSetup || release->after < i);
  }

  bool is_gone_of_edges(std::int64_t graph, bool back, std::int32_t i) const {
    const bool given = program_.graphs[static_cast<std::size_t>(graph)].origin == GraphOrigin::kGiven;
    return is_gone(back ? Released::kOutEdges : given ? Released::kGivenEdges : Released::kInEdges, graph, i);
  }

  /// A run goes along the list once.
  void check_releases() {
    for (std::size_t i = 0; i < plan_.releases.size(); ++i) {
      const Release& release = plan_.releases[i];
      if (i > 0 && plan_.releases[i - 1].after > release.after)
        defect("{} is freed out of order", released_name(release.what));
      if (release.what == Released::kArena && release.after != Release::kAfterSetup)
        defect("a part of the arena is freed after step {} of the setup", release.after);
    }
  }

  /// The ids of edges that a step walks have to be there. Tiles of sources have ids of their own, and degrees are
  /// differences of offsets, which stay.
  void check_ids(std::int32_t i) {
    const Op& o = op(step(i).op);
    const std::int64_t graph = o.attrs.integer("graph", -1);
    if (graph < 0 || o.kind == OpKind::degree) return;
    if (step(i).loop >= 0) return check_ids_of_loop(plan_.loops[static_cast<std::size_t>(step(i).loop)], i);
    const GraphUse& use = plan_.graph_uses[static_cast<std::size_t>(graph)];
    const bool back = walks_back(o);
    const bool tiled = step(i).walks_tiles;
    if (back && !use.transpose) defect("{} walks along out-edges of graph {}, which are not made", name_of(o), graph);
    if (back && reads_edges(o) && !use.slots)
      defect("{} looks edges up by slots of graph {}, which are not made", name_of(o), graph);
    if (tiled && (back ? use.out_tile : use.in_tile) == 0)
      defect("{} walks graph {} in tiles, which are not made", name_of(o), graph);
    if (tiled && !(back && reads_edges(o))) return;
    if (is_gone_of_edges(graph, back, i))
      defect("{} (step {}) walks edges of graph {} whose ids are gone", name_of(o), i, graph);
  }

  /// Weights lie beside the ids of in-edges, so a loop along out-edges that looks them up reads both.
  void check_ids_of_loop(const EdgeLoop& loop, std::int32_t i) {
    const bool gone = (loop.out_edges && is_gone_of_edges(loop.graph, true, i)) ||
                      ((!loop.out_edges || loop.slots) && is_gone_of_edges(loop.graph, false, i));
    if (gone) defect("a loop (step {}) walks edges of graph {} whose ids are gone", i, loop.graph);
  }

  bool is_chain(std::int32_t band) const {
    return band >= 0 && plan_.bands[static_cast<std::size_t>(band)].band_rows == 0;
  }

  /// Each step of a chain reads the first result of the one before, and nothing else that the chain makes.
  void check_chain(const RowBand& band) {
    if (band.rows <= 0 || band.tasks != 1) defect("a chain of {} rows is cut into {} tasks", band.rows, band.tasks);
    for (std::int32_t i = band.first_step + 1; i <= band.last_step; ++i) {
      const Op& o = op(step(i).op);
      const ValueId at_hand = op(step(i - 1).op).results[0];
      if (std::find(o.inputs.begin(), o.inputs.end(), at_hand) == o.inputs.end())
        defect("{} does not read %{} in its chain", name_of(o), name(at_hand));
      for (const ValueId v : o.inputs) {
        // Parameters stand where they are first read, also between ops of a chain; no step makes them.
        const std::int32_t made = life(v).made;
        if (v != at_hand && made >= step(band.first_step).op && band_of_[static_cast<std::size_t>(made)] >= 0)
          defect("{} reads %{} in its chain, which may not be there yet", name_of(o), name(v));
      }
    }
  }

  void check_band(const RowBand& band) {
    if (band.band_rows == 0) return check_chain(band);
    if (band.rows <= 0 || band.band_rows <= 0 || band.tasks <= 0 || band.tasks > band.rows)
      defect("a band of {} rows is cut into {} tasks and {} rows at a time", band.rows, band.tasks, band.band_rows);
    for (std::int32_t i = band.first_step; i <= band.last_step; ++i) {
      const Op& o = op(step(i).op);
      if (step(i).band_rows != band.rows)
        defect("{} has {} rows in a band of {}", name_of(o), step(i).band_rows, band.rows);
      for (std::size_t k = 0; k < o.inputs.size(); ++k) {
        const std::int32_t made = life(o.inputs[k]).made;
        if (made < step(band.first_step).op || made > step(i).op) continue;
        if (reads_whole(o, k)) defect("{} reads all rows of %{}, which its band makes", name_of(o), name(o.inputs[k]));
        if (row_value(op(made)) != op(made).results[0] && o.inputs[k] == op(made).results[0])
          defect("{} reads %{}, a sum over the rows of its band", name_of(o), name(o.inputs[k]));
      }
    }
  }

  bool read_whole_beside(std::int32_t o, ValueId v) const {
    for (std::int32_t i = starts_[static_cast<std::size_t>(o)]; i <= ends_[static_cast<std::size_t>(o)]; ++i) {
      for (std::size_t k = 0; k < op(i).inputs.size(); ++k) {
        if (op(i).inputs[k] == v && reads_whole(op(i), k)) return true;
      }
    }
    return false;
  }

  /// Does another op of op o's chain read v? Other threads' elements of v may still be wanted then.
  bool read_beside_in_chain(std::int32_t o, ValueId v) const {
    for (std::int32_t j = starts_[static_cast<std::size_t>(o)]; j <= ends_[static_cast<std::size_t>(o)]; ++j) {
      if (j != o && std::count(op(j).inputs.begin(), op(j).inputs.end(), v) > 0) return true;
    }
    return false;
  }

  /// May `after` lie exactly where `before` does although they live at the same moment?
  bool takes_over(ValueId before, ValueId after) const {
    const bool alike = place(before).offset_bytes == place(after).offset_bytes &&
                       program_.type(before) == program_.type(after) && plan_.stride(before) == plan_.stride(after);
    const std::int32_t o = life(after).made;
    const std::int32_t band = band_of_[static_cast<std::size_t>(o)];
    const std::int32_t last = life(before).read;
    if (!alike || last > o || loop_of_[static_cast<std::size_t>(o)] >= 0 || read_whole_beside(o, before)) return false;
    if (is_chain(band) && read_beside_in_chain(o, before)) return false;
    if (last < o) return band >= 0 && !is_chain(band) && last >= starts_[static_cast<std::size_t>(o)];
    // An operand that dies here; a product works in place of what it adds only.
    const auto which = static_cast<std::size_t>(traits(op(o).kind).in_place);
    const auto first =
        op(o).inputs.begin() + (op(o).kind == OpKind::gemm ? std::min<std::ptrdiff_t>(2, std::ssize(op(o).inputs)) : 0);
    return which > 0 && which <= op(o).results.size() && op(o).results[which - 1] == after &&
           std::find(first, op(o).inputs.end(), before) != op(o).inputs.end();
  }

  /// The moments at which the place of a value is taken. Constants and what lives longer than a phase stay for good;
  /// rows of a band are worked on one op after the other.
  std::array<std::int32_t, 2> taken(ValueId v) const {
    const Life& l = life(v);
    if (place(v).storage == Storage::kBand) return {l.made, l.read};
    const bool stays = place(v).storage == Storage::kConstant && op(l.read).phase != Phase::kSetup;
    const bool always = place(v).storage != Storage::kConstant && place(v).storage != Storage::kArena;
    return {always ? 0 : l.begin, stays || always ? std::numeric_limits<std::int32_t>::max() : l.end};
  }

  void check_sharing() {
    std::vector<ValueId> stored;
    for (ValueId v = 0; v < static_cast<ValueId>(program_.values.size()); ++v) {
      if (is_memory(place(v).storage) && life(v).made >= 0 && bytes(v) > 0) stored.push_back(v);
    }
    const auto key = [&](ValueId v) { return std::pair(place(v).storage, place(v).offset_bytes); };
    std::stable_sort(stored.begin(), stored.end(), [&](ValueId a, ValueId b) { return key(a) < key(b); });
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const Placement& p = place(stored[i]);
      for (std::size_t j = i + 1; j < stored.size(); ++j) {
        const Placement& q = place(stored[j]);
        if (q.storage != p.storage || q.offset_bytes >= p.offset_bytes + bytes(stored[i])) break;
        check_pair(stored[i], stored[j]);
      }
    }
  }

  void check_pair(ValueId a, ValueId b) {
    const ValueId before = life(a).made <= life(b).made ? a : b;
    const ValueId after = before == a ? b : a;
    const auto [begin, end] = taken(before);
    const auto [later_begin, later_end] = taken(after);
    if (end < later_begin || later_end < begin) return;
    const bool stays = place(before).storage == Storage::kConstant && end == std::numeric_limits<std::int32_t>::max();
    if (stays || !takes_over(before, after)) defect("%{} lies where %{} is still needed", name(after), name(before));
  }

  /// Scratch lies at the start of the arena while a step, or those that it runs together with, is under way.
  void check_scratch() {
    std::vector<std::int64_t> scratch(program_.ops.size(), 0);
    for (const Step& s : plan_.steps) {
      if (s.band < 0 && s.loop < 0) scratch[static_cast<std::size_t>(s.op)] = s.workspace_bytes;
    }
    for (const RowBand& band : plan_.bands) {
      std::int64_t all = 0;
      for (std::int32_t i = band.first_step; i <= band.last_step; ++i) all += band_workspace_bytes(step(i), band.tasks);
      scratch[static_cast<std::size_t>(step(band.first_step).op)] = all;
    }
    for (const EdgeLoop& loop : plan_.loops)
      scratch[static_cast<std::size_t>(step(loop.first_step).op)] = loop.tasks * loop.task_bytes;
    for (std::size_t i = 0; i < scratch.size(); ++i) {
      if (scratch[i] > plan_.workspace_bytes)
        defect("{} needs {} bytes of scratch, there are {}", name_of(program_.ops[i]), scratch[i],
               plan_.workspace_bytes);
      for (ValueId v = 0; v < static_cast<ValueId>(program_.values.size()); ++v) {
        const bool there = place(v).storage == Storage::kArena && bytes(v) > 0 &&
                           life(v).begin <= static_cast<std::int32_t>(i) && static_cast<std::int32_t>(i) <= life(v).end;
        if (there && place(v).offset_bytes < scratch[i])
          defect("%{} lies in the scratch of {}", name(v), name_of(program_.ops[i]));
      }
    }
  }

  const Plan& plan_;
  const Program& program_;
  std::vector<std::int32_t> starts_;  ///< by op: the first and the last op that run together with it
  std::vector<std::int32_t> ends_;
  std::vector<std::int32_t> band_of_;  ///< by op, or -1
  std::vector<std::int32_t> loop_of_;
  std::vector<Life> lives_;
  std::vector<std::string> defects_;
};

}  // namespace

std::vector<std::string> find_defects(const Plan& plan) { return PlanVerifier(plan).run(); }

void verify(const Plan& plan) {
  const std::vector<std::string> defects = find_defects(plan);
  GNEISS_ASSERT(defects.empty(), "the plan of '{}' cannot run: {}", plan.program.name, defects.front());
}

}  // namespace gneiss::ir
