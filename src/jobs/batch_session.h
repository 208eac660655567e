// Mini-batches of a workload, and the session that evaluates beside them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "jobs/workload.h"
#include "settings/config.h"
#include "train/batches.h"
#include "train/session.h"

namespace gneiss::jobs {

struct BatchSession {
  std::unique_ptr<train::Session<float>> session;
  std::unique_ptr<train::BatchTraining> batches;  ///< of the session
};

/// The session evaluates the whole graph at once where that fits beside the batches, else layer by layer in what they
/// leave. Where even that does not fit beside the features, and these lie in a file, they stay there and are read as
/// they are needed. `in_place`: as train::BatchOptions. The workload keeps its data set, which batches read in every
/// epoch, and outlives both. `processes`: of `--processes`, or null. Errors: kOutOfMemory, with numbers, where even
/// batches by themselves are too much; as train::Session, train::BatchTraining and batch_options.
BatchSession make_batch_session(const settings::Config& config, Workload* workload, std::optional<bool> in_place = {},
                                comm::Ranks* processes = nullptr);

/// Peak memory of a session that evaluates, with `of_batches` bytes of batches beside it.
std::int64_t evaluating_bytes(const Workload& workload, const train::Session<float>& session, std::int64_t of_batches);

}  // namespace gneiss::jobs
