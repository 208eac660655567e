// Ways to evaluate and to hold features are tried by making them: what batches take is known once they are planned.
#include "jobs/batch_session.h"

#include <fmt/format.h>

#include "base/error.h"
#include "jobs/options.h"
#include "passes/to_blocks.h"

namespace gneiss::jobs {
namespace {

BatchSession make(const settings::Config& config, const Workload& workload, std::optional<bool> in_place,
                  comm::Ranks* processes, bool few_slabs = false) {
  BatchSession made;
  made.session = std::make_unique<train::Session<float>>(workload.dataset(), workload.session());
  const std::int32_t hops = passes::count_hops(made.session->compiled().program);
  train::BatchOptions options = batch_options(config, hops);
  options.in_place = in_place;
  options.processes = processes;
  options.few_slabs = few_slabs;
  options.hot_rows = workload.hot_rows().count;
  options.hot_edges = hot_edge_count(config, workload.dataset().num_nodes());
  options.heat = workload.hot_rows().heat;
  made.batches =
      std::make_unique<train::BatchTraining>(made.session.get(), workload.dataset(), workload.session(), options);
  return made;
}

std::int64_t memory_left(const Workload& workload, const BatchSession& made) {
  return workload.memory_limit() - evaluating_bytes(workload, *made.session, made.batches->bytes());
}

[[noreturn]] void refuse(const Workload& workload, const BatchSession& made) {
  constexpr double kMiB = 1 << 20;
  const std::string& limit = workload.session().passes.limit_name;
  const std::int64_t of_batches = made.batches->bytes();
  throw Error(
      ErrorCode::kOutOfMemory,
      fmt::format("the training takes {:.1f} MiB before any evaluation, {:.1f} MiB of it for the plan and the "
                  "slabs of mini-batches, and {} allows {:.1f} MiB",
                  static_cast<double>(evaluating_bytes(workload, *made.session, of_batches)) / kMiB,
                  static_cast<double>(of_batches) / kMiB, limit, static_cast<double>(workload.memory_limit()) / kMiB),
      limit, "take smaller batches (--batch-size) or fewer neighbours (--fanout), or raise it");
}

BatchSession make_by_layers(const settings::Config& config, const Workload& workload, std::optional<bool> in_place,
                            comm::Ranks* processes, bool few_slabs = false) {
  BatchSession made = make(config, workload, in_place, processes, few_slabs);
  const std::int64_t left = memory_left(workload, made);
  if (left < 0) refuse(workload, made);
  made.session->fit_evaluation(left);
  return made;
}

}  // namespace

std::int64_t evaluating_bytes(const Workload& workload, const train::Session<float>& session, std::int64_t of_batches) {
  const ir::Plan& plan = session.plan();
  return session.evaluates_by_layers() ? workload.peak_bytes_with(session.evaluation_bytes(), plan, of_batches)
                                       : workload.peak_bytes_of_kept(plan, of_batches);
}

BatchSession make_batch_session(const settings::Config& config, Workload* workload, std::optional<bool> in_place,
                                comm::Ranks* processes) {
  train::SessionOptions& options = workload->session();
  options.loss.evaluation_only = true;
  options.by_layers = false;
  try {
    BatchSession at_once = make(config, *workload, in_place, processes);
    if (memory_left(*workload, at_once) >= 0) return at_once;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfMemory) throw;
  }
  options.by_layers = true;
  options.scores_only = true;
  try {
    return make_by_layers(config, *workload, in_place, processes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfMemory) throw;
  }
  if (workload->leave_features_in_file()) {
    try {
      return make_by_layers(config, *workload, in_place, processes);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kOutOfMemory) throw;
    }
  }
  return make_by_layers(config, *workload, in_place, processes, true);
}

}  // namespace gneiss::jobs
