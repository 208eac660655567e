// Cutting graphs from the command and the public API, over jobs/.
#include "gneiss/partition.h"

#include "api/impl.h"
#include "jobs/partition.h"

namespace gneiss {

PartitionResult partition_dataset(const RunConfig& config, const PartitionRequest& request) {
  const jobs::PartitionReport report = jobs::partition_data(
      config.impl().config, {request.parts, request.method.text(), request.columns, request.out, request.force});
  return {jobs::describe(report), jobs::to_json(report), report.chosen().method};
}

}  // namespace gneiss
