// A model's weights under PyG's names: out of a session, and into one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runs/safetensors.h"
#include "settings/config.h"
#include "train/session.h"

namespace gneiss::jobs {

/// Weights of the session in PyG's shapes. A running variance is followed by torch's count of batches.
std::vector<runs::Tensor> weight_tensors(const train::Session<float>& session, std::int64_t batches);

/// What is told of weights that do not fit.
struct WeightsOrigin {
  std::string where;
  std::string hint;
};

/// Puts weights into a session. Errors: kBadData naming the first that is missing or has another shape.
void load_weights(const runs::SafeTensors& weights, const WeightsOrigin& origin, train::Session<float>* session);
/// Throws kBadData if there are weights that the model has not; torch's counts of batches are no weights.
void refuse_unknown(const runs::SafeTensors& weights, const WeightsOrigin& origin,
                    const train::Session<float>& session);

/// Where the weights of --init lie.
std::string init_file(const settings::Config& config);
/// Puts them into a session, before its setup. Errors: as load_weights and refuse_unknown.
void load_init(const runs::SafeTensors& weights, const settings::Config& config, train::Session<float>* session);

}  // namespace gneiss::jobs
