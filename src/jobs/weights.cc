// Names, then shapes are compared, so that a message says which layer is another one.
#include "jobs/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/names.h"
#include "runs/parameter_file.h"
#include "runs/run_folder.h"

namespace gneiss::jobs {
namespace {

constexpr std::string_view kCount = "num_batches_tracked";

std::vector<std::int64_t> stored_shape(const ir::Param& param) {
  return param.stored_shape.empty() ? std::vector<std::int64_t>{param.rows, param.cols} : param.stored_shape;
}

WeightsOrigin init_origin(const settings::Config& config) {
  return {init_file(config), "give weights of the same model, or the settings that they were trained with"};
}

}  // namespace

std::vector<runs::Tensor> weight_tensors(const train::Session<float>& session, std::int64_t batches) {
  std::vector<runs::Tensor> tensors;
  for (const ir::Param& param : session.params())
    runs::add_parameter(tensors, param.name, stored_shape(param), session.parameter(param.name), batches);
  return tensors;
}

void load_weights(const runs::SafeTensors& weights, const WeightsOrigin& origin, train::Session<float>* session) {
  for (const ir::Param& param : session->params()) {
    const runs::Tensor* tensor = weights.find(param.name);
    if (tensor == nullptr)
      throw Error(ErrorCode::kBadData, fmt::format("the weights lack '{}'", param.name), origin.where, origin.hint);
    const std::vector<std::int64_t> shape = stored_shape(param);
    if (tensor->shape != shape) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("'{}' has shape [{}], the model needs [{}]", param.name, fmt::join(tensor->shape, ", "),
                              fmt::join(shape, ", ")),
                  origin.where, origin.hint);
    }
    session->set_parameter(param.name, runs::to_f32(*tensor, origin.where));
  }
}

void refuse_unknown(const runs::SafeTensors& weights, const WeightsOrigin& origin,
                    const train::Session<float>& session) {
  std::vector<std::string> names;
  for (const ir::Param& param : session.params()) names.push_back(param.name);
  for (const runs::Tensor& tensor : weights.tensors) {
    if (tensor.name.ends_with(kCount) || std::find(names.begin(), names.end(), tensor.name) != names.end()) continue;
    throw Error(ErrorCode::kBadData, fmt::format("the model has no '{}'", tensor.name), origin.where, origin.hint);
  }
}

std::string init_file(const settings::Config& config) {
  const std::filesystem::path given = config.text("train.init");
  return runs::is_run_folder(given) ? (given / runs::kModelFile).string() : given.string();
}

void load_init(const runs::SafeTensors& weights, const settings::Config& config, train::Session<float>* session) {
  const WeightsOrigin origin = init_origin(config);
  refuse_unknown(weights, origin, *session);
  load_weights(weights, origin, session);
}

}  // namespace gneiss::jobs
