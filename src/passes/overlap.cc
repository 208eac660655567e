// First every exchange becomes its two halves, side by side. Then each phase is laid out anew: starts move up to behind
// the op that makes their rows, waits down to in front of their first reader; last, ops that need no halo_add that is
// under way pass those that do.
//
// A sum that takes rows up as they come stands in front of the wait, which then only closes what is shown to others.
#include "passes/overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Phase;
using ir::ValueId;

using Ops = std::vector<Op>;

bool any_of(const std::vector<ValueId>& values, const std::set<ValueId>& wanted) {
  return std::any_of(values.begin(), values.end(), [&](ValueId v) { return wanted.count(v) > 0; });
}

bool is_start(const Op& op) { return op.kind == OpKind::halo_start || op.kind == OpKind::halo_add_start; }
bool is_wait(const Op& op) { return op.kind == OpKind::halo_wait || op.kind == OpKind::halo_add_wait; }

class Overlapper {
 public:
  Overlapper(const ir::Program& program, std::int64_t packed, exchange::Exchange exchange,
             std::vector<std::string>* decisions)
      : made_(program) {
    made_.node_sets.push_back({"packed", packed});
    if (exchange != exchange::Exchange::kHalo) choose_sums(program, exchange, decisions);
  }

  ir::Program run() {
    const Ops before = std::move(made_.ops);
    made_.ops.clear();
    Ops phase;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const Op& op = before[i];
      if (!phase.empty() && phase.back().phase != op.phase) add_phase(std::exchange(phase, {}));
      split(op, &phase);
      const auto sum = sums_.find(i);
      if (sum == sums_.end()) continue;
      Op& marked = op.kind == OpKind::halo ? *(phase.end() - 2) : phase.back();  // of a halo its start
      marked.attrs.set("exchange", std::string(exchange::name_of(sum->second)));
    }
    add_phase(std::move(phase));
    return std::move(made_);
  }

 private:
  /// Can the op sum up these rows as they come?
  static bool takes_up(const ir::Program& program, const Op& op, ValueId rows) {
    return op.kind == OpKind::spmm && op.attrs.integer("transpose", 0) == 0 && op.inputs[0] == rows &&
           std::count(op.inputs.begin(), op.inputs.end(), rows) == 1 && !op.attrs.has("loss") &&
           program.type(rows).scalar == ir::Scalar::kReal && program.type(op.results[0]).scalar == ir::Scalar::kReal;
  }

  /// Which sums take up which rows, by their places in the program.
  void choose_sums(const ir::Program& program, exchange::Exchange exchange, std::vector<std::string>* decisions) {
    std::vector<std::vector<std::size_t>> readers(program.values.size());
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      for (const ValueId v : program.ops[i].inputs) {
        std::vector<std::size_t>& of = readers[static_cast<std::size_t>(v)];
        if (of.empty() || of.back() != i) of.push_back(i);
      }
    }
    std::map<std::string, int> waiting;  // ops that keep rows from being summed up as they come
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& halo = program.ops[i];
      if (halo.kind != OpKind::halo || halo.phase == Phase::kSetup) continue;
      const std::vector<std::size_t>& of = readers[static_cast<std::size_t>(halo.results[0])];
      const auto waits = std::find_if(of.begin(), of.end(), [&](std::size_t r) {
        return program.ops[r].phase != halo.phase || !takes_up(program, program.ops[r], halo.results[0]);
      });
      const bool streams = exchange == exchange::Exchange::kStream;
      if (of.empty() || (streams ? waits == of.begin() : waits != of.end())) {
        if (!of.empty()) ++waiting[std::string(ir::traits(program.ops[*waits].kind).name)];
        continue;
      }
      sums_[i] = exchange;
      sums_[of[0]] = exchange;
      for (const std::size_t r : of) {
        if (!streams) sums_[r] = exchange;
      }
    }
    if (decisions == nullptr) return;
    for (const auto& [op, count] : waiting)
      decisions->push_back(fmt::format("not by {}: rows that {} reads ({} times) come at once, as by halo",
                                       exchange::name_of(exchange), op, count));
  }

  ValueId packed_rows(ValueId like) {
    ir::Type type = made_.type(like);
    type.set = static_cast<std::int32_t>(made_.node_sets.size()) - 1;
    const auto made = static_cast<ValueId>(made_.values.size());
    made_.values.push_back({fmt::format("packed_{}", made), type});
    return made;
  }

  void split(const Op& op, Ops* phase) {
    const bool out = op.kind == OpKind::halo;
    if (op.phase == Phase::kSetup || (!out && op.kind != OpKind::halo_add)) {
      phase->push_back(op);
      return;
    }
    const ValueId packed = packed_rows(op.inputs[0]);
    const auto set = static_cast<std::int64_t>(made_.node_sets.size()) - 1;
    Op start = op;
    Op wait = op;
    start.attrs = {};
    wait.attrs = {};
    if (out) {
      start.kind = OpKind::halo_start;
      start.results = {op.results[0], packed};
      start.attrs.set("to", op.attrs.integer("to", 0));
      start.attrs.set("packed_set", set);
      wait.kind = OpKind::halo_wait;
      wait.inputs = {op.results[0], packed};
      wait.results = {};
    } else {
      start.kind = OpKind::halo_add_start;
      start.results = {packed};
      start.attrs.set("to", set);
      wait.kind = OpKind::halo_add_wait;
      wait.inputs = {op.inputs[0], packed};
      wait.attrs.set("to", op.attrs.integer("to", 0));
    }
    phase->push_back(std::move(start));
    phase->push_back(std::move(wait));
  }

  void add_phase(Ops ops) {
    Ops laid_out = let_pass(waits_down(starts_up(std::move(ops))));
    std::move(laid_out.begin(), laid_out.end(), std::back_inserter(made_.ops));
  }

  /// Each start behind the op that makes its rows.
  static Ops starts_up(Ops ops) {
    Ops made;
    for (Op& op : ops) {
      auto place = made.end();
      if (is_start(op)) {
        const auto maker = std::find_if(made.rbegin(), made.rend(), [&](const Op& earlier) {
          return std::count(earlier.results.begin(), earlier.results.end(), op.inputs[0]) > 0;
        });
        place = maker.base();
        while (place != made.end() && is_start(*place)) ++place;  // in the order in which they were
      }
      made.insert(place, std::move(op));
    }
    return made;
  }

  /// Moves the waits that bring `value`.
  static void move_waits_for(ValueId value, Ops* waits, Ops* to) {
    for (auto wait = waits->begin(); wait != waits->end();) {
      const ValueId brings = wait->kind == OpKind::halo_wait ? wait->inputs[0] : wait->results[0];
      if (brings != value) {
        ++wait;
        continue;
      }
      to->push_back(std::move(*wait));
      wait = waits->erase(wait);
    }
  }

  /// Each wait in front of the first op that reads what it brings.
  static Ops waits_down(Ops ops) {
    Ops made;
    Ops waits;
    for (Op& op : ops) {
      if (is_wait(op)) {
        waits.push_back(std::move(op));
        continue;
      }
      if (op.attrs.has("exchange") && op.kind == OpKind::spmm) {
        const ValueId rows = op.inputs[0];
        for (std::size_t i = 1; i < op.inputs.size(); ++i) move_waits_for(op.inputs[i], &waits, &made);
        made.push_back(std::move(op));
        const bool again = std::any_of(&op + 1, ops.data() + ops.size(), [&](const Op& later) {
          return later.kind == OpKind::spmm && later.attrs.has("exchange") && later.inputs[0] == rows;
        });
        if (!again) move_waits_for(rows, &waits, &made);
        continue;
      }
      // Attention looks at all scores of sources, its second operand, before it begins; rows it can wait for meanwhile.
      if (op.kind == OpKind::attention) move_waits_for(op.inputs[1], &waits, &made);
      for (const ValueId input : op.inputs) move_waits_for(input, &waits, &made);
      made.push_back(std::move(op));
    }
    std::move(waits.begin(), waits.end(), std::back_inserter(made));  // what only other phases read
    return made;
  }

  /// In front of each wait for a halo_add, ops behind it that do not need it. Ops between ranks keep their order.
  static Ops let_pass(Ops ops) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind != OpKind::halo_add_wait) continue;
      Ops first;
      Ops behind;
      std::set<ValueId> late;
      for (std::size_t k = i; k < ops.size(); ++k) {
        const Op& op = ops[k];
        const bool stays = ir::is_between_ranks(op.kind) || op.results.empty() || any_of(op.inputs, late);
        if (stays) late.insert(op.results.begin(), op.results.end());
        if (op.kind == OpKind::halo_wait) late.insert(op.inputs[0]);
        (stays ? behind : first).push_back(op);
      }
      ops.resize(i);
      i += first.size();
      std::move(first.begin(), first.end(), std::back_inserter(ops));
      std::move(behind.begin(), behind.end(), std::back_inserter(ops));
    }
    return ops;
  }

  ir::Program made_;
  std::map<std::size_t, exchange::Exchange> sums_;  ///< by place in the program given: halos and who takes them up
};

}  // namespace

ir::Program overlap_exchanges(const ir::Program& program, std::int64_t packed, exchange::Exchange exchange,
                              std::vector<std::string>* decisions) {
  return Overlapper(program, packed, exchange, decisions).run();
}

}  // namespace gneiss::passes
