// Walks the steps in order. A step joins if it reads what is at hand element by element, and nothing else that the
// chain makes: a kernel keeps one value of an element, and other threads' elements may not be there yet.
#include "planner/fuse_epilogues.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "kernels/cuda/epilogue.h"

namespace gneiss::planner {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

class Chainer {
 public:
  Chainer(ir::Plan* plan, std::vector<std::string>* decisions)
      : plan_(*plan), program_(plan->program), decisions_(decisions) {}

  void run() {
    const auto count = static_cast<std::int32_t>(plan_.steps.size());
    for (std::int32_t first = 0; first < count; ++first) {
      if (!begins(first)) continue;
      made_.clear();
      add(first);
      std::int32_t last = first;
      while (last + 1 < count && last - first < kernels::kMostStages && joins(first, last + 1)) add(++last);
      if (last == first) continue;
      close(first, last);
      first = last;
    }
  }

 private:
  ir::Step& step(std::int32_t i) { return plan_.steps[static_cast<std::size_t>(i)]; }
  const Op& op(std::int32_t i) const {
    return program_.ops[static_cast<std::size_t>(plan_.steps[static_cast<std::size_t>(i)].op)];
  }

  void add(std::int32_t i) { made_.insert(op(i).results.begin(), op(i).results.end()); }

  bool is_matrix(ValueId v) const {
    const ir::Type& type = program_.type(v);
    return type.scalar == ir::Scalar::kReal && type.layout != ir::Layout::kSparse && type.domain != ir::Domain::kGlobal;
  }

  /// Can the kernel before it do its elements?
  bool can_follow(std::int32_t i) { return step(i).band_rows > 0 && is_matrix(op(i).results[0]); }

  bool begins(std::int32_t i) {
    const Op& o = op(i);
    if (step(i).loop >= 0 || o.phase == ir::Phase::kSetup || o.results.empty() || o.results[0] == ir::kNoValue)
      return false;
    if (!is_matrix(o.results[0])) return false;
    switch (o.kind) {
      case OpKind::gemm:
        return o.attrs.integer("ta", 0) == 0;
      case OpKind::spmm:
        return o.attrs.text("fn", "sum") == "sum" || o.attrs.text("fn", "sum") == "mean";
      case OpKind::attention:
        return true;
      default:
        return can_follow(i);
    }
  }

  bool joins(std::int32_t first, std::int32_t i) {
    const Op& o = op(i);
    if (step(i).loop >= 0 || o.phase != op(first).phase || !can_follow(i)) return false;
    const ValueId at_hand = op(i - 1).results[0];
    if (program_.type(o.results[0]) != program_.type(at_hand)) return false;
    bool reads = false;
    for (const ValueId v : o.inputs) {
      if (v != at_hand && made_.count(v) > 0) return false;
      reads = reads || v == at_hand;
    }
    return reads;
  }

  void close(std::int32_t first, std::int32_t last) {
    ir::RowBand band;
    band.first_step = first;
    band.last_step = last;
    band.rows = program_.rows(op(first).results[0]);
    band.tasks = 1;
    std::string names;
    for (std::int32_t i = first; i <= last; ++i) {
      step(i).band = static_cast<std::int32_t>(plan_.bands.size());
      step(i).shared_bytes = step(i).workspace_bytes;
      names += fmt::format("{}{}", names.empty() ? "" : ", ", ir::traits(op(i).kind).name);
    }
    plan_.bands.push_back(band);
    if (decisions_ != nullptr)
      decisions_->push_back(fmt::format("line {}: {} in one kernel", op(first).location.line, names));
  }

  ir::Plan& plan_;
  const ir::Program& program_;
  std::vector<std::string>* decisions_;
  std::set<ValueId> made_;  ///< by the chain at hand
};

}  // namespace

void fuse_epilogues(ir::Plan* plan, std::vector<std::string>* decisions) { Chainer(plan, decisions).run(); }

}  // namespace gneiss::planner
