// Works phase by phase. Ops on global values are moved to the start of their phase, or to its end if they wait for
// rows. Each other op is put behind the last earlier op on the same rows that it can reach without passing one it
// depends on.
#include "passes/group_rows.h"

#include <algorithm>
#include <vector>

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Phase;
using ir::ValueId;

class RowGrouper {
 public:
  explicit RowGrouper(const ir::Program& program) : program_(program) {}

  ir::Program run() {
    ir::Program out = program_;
    out.ops.clear();
    auto begin = program_.ops.begin();
    while (begin != program_.ops.end()) {
      const auto end = std::find_if(begin, program_.ops.end(), [&](const Op& op) { return op.phase != begin->phase; });
      add_phase(begin, end, &out.ops);
      begin = end;
    }
    return out;
  }

 private:
  using At = std::vector<Op>::const_iterator;
  using Marks = std::vector<bool>;

  bool is_global(ValueId value) const {
    return value == ir::kNoValue || program_.type(value).domain == ir::Domain::kGlobal;
  }

  bool on_globals(const Op& op) const {
    const auto global = [&](ValueId value) { return is_global(value); };
    return op.kind != OpKind::batch_norm_update && std::all_of(op.inputs.begin(), op.inputs.end(), global) &&
           std::all_of(op.results.begin(), op.results.end(), global);
  }

  static bool any(const std::vector<ValueId>& values, const Marks& marks) {
    return std::any_of(values.begin(), values.end(),
                       [&](ValueId v) { return v != ir::kNoValue && marks[static_cast<std::size_t>(v)]; });
  }

  static void mark(const std::vector<ValueId>& values, Marks* marks) {
    for (const ValueId v : values) {
      if (v != ir::kNoValue) (*marks)[static_cast<std::size_t>(v)] = true;
    }
  }

  void add_phase(At begin, At end, std::vector<Op>* out) const {
    // Values that come of the rows of the phase, and values that rows of it come of.
    Marks after_rows(program_.values.size(), false);
    Marks before_rows(program_.values.size(), false);
    for (At op = begin; op != end; ++op) {
      if (!on_globals(*op) || any(op->inputs, after_rows)) mark(op->results, &after_rows);
    }
    for (At op = end; op != begin;) {
      --op;
      if (!on_globals(*op) || any(op->results, before_rows)) mark(op->inputs, &before_rows);
    }
    const auto early = [&](const Op& op) { return on_globals(op) && !any(op.inputs, after_rows); };
    const auto late = [&](const Op& op) { return on_globals(op) && !early(op) && !any(op.results, before_rows); };
    std::copy_if(begin, end, std::back_inserter(*out), early);
    for (At op = begin; op != end; ++op) {
      if (!early(*op) && !late(*op)) out->insert(place_for(*op, *out), *op);
    }
    std::copy_if(begin, end, std::back_inserter(*out), late);
  }

  /// Do two ops of a phase work through rows of the same kind? An op that only changes states has none.
  bool same_rows(const Op& a, const Op& b) const {
    if (a.results.empty() || b.results.empty()) return false;
    const ir::Type& x = program_.type(ir::row_value(a));
    const ir::Type& y = program_.type(ir::row_value(b));
    return a.phase == b.phase && x.domain == y.domain && x.set == y.set;
  }

  /// Where the next op goes: to the end, or before the last run of ops on other rows.
  std::vector<Op>::iterator place_for(const Op& op, std::vector<Op>& before) const {
    const auto other_rows = [&](const Op& made) { return !same_rows(made, op); };
    const auto its_like = std::find_if_not(before.rbegin(), before.rend(), other_rows);
    if (its_like == before.rend()) return before.end();
    const auto waits_for = [&](const Op& made) {
      return std::any_of(op.inputs.begin(), op.inputs.end(),
                         [&](ValueId v) { return std::count(made.results.begin(), made.results.end(), v) > 0; });
    };
    const auto run = its_like.base();
    const bool one_run = std::all_of(run, before.end(), [&](const Op& made) { return same_rows(made, before.back()); });
    return one_run && std::none_of(run, before.end(), waits_for) ? run : before.end();
  }

  const ir::Program& program_;
};

}  // namespace

ir::Program group_rows(const ir::Program& program) { return RowGrouper(program).run(); }

}  // namespace gneiss::passes
