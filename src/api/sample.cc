// Drawing mini-batches from the command and the public API, over jobs/.
#include "gneiss/sample.h"

#include "api/impl.h"
#include "jobs/sample.h"

namespace gneiss {

SampleResult sample_batches(const RunConfig& config, const SampleRequest& request) {
  const jobs::SampleReport report = jobs::sample(
      config.impl().config, {request.epoch, request.batches, request.nodes_file, request.out, request.force});
  return {jobs::describe(report), jobs::to_json(report), report.batches};
}

}  // namespace gneiss
