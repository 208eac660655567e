// Scoring nodes from the command and the public API, over jobs/.
#include "gneiss/score.h"

#include "api/impl.h"
#include "jobs/score.h"

namespace gneiss {

ScoreResult score_nodes(const RunConfig& config, const ScoreRequest& request) {
  const jobs::ScoreReport report = jobs::score(
      config.impl().config,
      {request.scores.text(), request.epochs, request.presample_epochs, request.iterations, request.damping});
  return {jobs::describe(report), jobs::to_json(report)};
}

}  // namespace gneiss
