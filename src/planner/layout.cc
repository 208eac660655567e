// The lists of passes on plans, one for each target, and why they run in this order.
#include "planner/layout.h"

#include "planner/band_values.h"
#include "planner/bind.h"
#include "planner/fuse_epilogues.h"
#include "planner/fuse_rows.h"
#include "planner/memory.h"
#include "planner/releases.h"
#include "planner/row_padding.h"

namespace gneiss::planner {
namespace {

using Decisions = std::vector<std::string>;

/// Kernels are bound before fuse_rows, which has to know what they can do. Rows are padded before it too: a stride does
/// not depend on bands. stream_features comes between them, because features stay in their file only where bands are
/// made. Times are modelled when it is known what a band keeps in the caches; split_bands needs them. Places in memory
/// are given last: values of ops that run together live together, which is why split_bands tries places before it cuts.
constexpr PlanPass kCpu[] = {
    {"bind_kernels", false, "a kernel for every op",
     [](ir::Plan* plan, const LayoutOptions& o, Decisions* d) { bind_kernels(plan, o.source_tiles, o.rates, d); }},
    {"pad_rows", true, "rows that are read at random start where a cache line does, where that saves lines",
     [](ir::Plan* plan, const LayoutOptions&, Decisions* d) { pad_rows(plan, d); }},
    {"stream_features", true, "features, and what is made of them once, in a file, read anew in every sweep",
     [](ir::Plan* plan, const LayoutOptions& o, Decisions* d) {
       if (o.disabled.count(kFuseRows) == 0) stream_features(plan, o.rates, o.file_room, o.stream_limits, d);
     }},
    {kFuseRows, true, "ops that follow each other on the same rows, a band of rows at a time",
     [](ir::Plan* plan, const LayoutOptions&, Decisions* d) { fuse_rows(plan, d); }},
    {nullptr, false, "modelled times",
     [](ir::Plan* plan, const LayoutOptions& o, Decisions*) {
       count_reuse(plan);
       for (ir::Step& step : plan->steps) step.seconds = cost::step_seconds(o.rates, *plan, step);
     }},
    {kSplitBands, true, "bands cut where that saves memory and costs little",
     [](ir::Plan* plan, const LayoutOptions& o, Decisions* d) { split_bands(plan, o.rates, o.split_limits, d); }},
    {"plan_memory", false, "a place for every value",
     [](ir::Plan* plan, const LayoutOptions&, Decisions*) { plan_memory(plan); }},
    {nullptr, false, "what is freed when",
     [](ir::Plan* plan, const LayoutOptions& o, Decisions*) { find_releases(plan, o.feature_bytes); }},
};

/// On a device nothing is about the caches of cores: no tiles or padding, and no files. What follows a gather element
/// by element is done in registers there, by a pass that stands where fuse_rows stands.
constexpr PlanPass kDevice[] = {
    {"bind_kernels", false, "a kernel for every op",
     [](ir::Plan* plan, const LayoutOptions&, Decisions*) { bind_device_kernels(plan); }},
    {kFuseEpilogues, true, "elementwise ops on a kernel's result while it is in registers",
     [](ir::Plan* plan, const LayoutOptions&, Decisions* d) { fuse_epilogues(plan, d); }},
    {nullptr, false, "modelled times",
     [](ir::Plan* plan, const LayoutOptions& o, Decisions*) {
       count_reuse(plan);
       for (ir::Step& step : plan->steps) step.seconds = cost::step_seconds(o.rates, *plan, step);
     }},
    {"plan_memory", false, "a place for every value",
     [](ir::Plan* plan, const LayoutOptions&, Decisions*) { plan_memory(plan); }},
    {nullptr, false, "what is freed when",
     [](ir::Plan* plan, const LayoutOptions& o, Decisions*) { find_releases(plan, o.feature_bytes); }},
};

}  // namespace

std::span<const PlanPass> layout_for(Target target) {
  switch (target) {
    case Target::kCpu:
      return kCpu;
    case Target::kDevice:
      return kDevice;
  }
  return {};
}

}  // namespace gneiss::planner
