// Model as the public header has it, over jobs::Stepper.
#include "gneiss/model.h"

#include "api/impl.h"
#include "jobs/stepper.h"

namespace gneiss {

struct Model::Impl {
  explicit Impl(OnDataset on) : stepper(std::move(on.config), std::move(on.given)) {}

  jobs::Stepper stepper;
};

namespace {

Array rows_of(const jobs::Stepper& stepper, std::vector<float> values) {
  const std::int64_t rows = stepper.session().dataset().num_nodes();
  const auto size = static_cast<std::int64_t>(values.size());
  return array_from(std::move(values), {rows, rows == 0 ? 0 : size / rows});
}

}  // namespace

Model::Model(const Dataset& dataset, const RunConfig& config)
    : impl_(std::make_unique<Impl>(on_dataset(dataset, config.impl().config))) {}
Model::Model(const RunConfig& config) : impl_(std::make_unique<Impl>(OnDataset{config.impl().config, {}})) {}
Model::Model(Model&& other) noexcept = default;
Model& Model::operator=(Model&& other) noexcept = default;
Model::~Model() = default;

double Model::step() { return impl_->stepper.step(); }
double Model::step(double lr) { return impl_->stepper.step(lr); }
std::int64_t Model::steps() const { return impl_->stepper.steps(); }

ModelScores Model::evaluate() {
  const jobs::Stepper::Evaluation evaluation = impl_->stepper.evaluate();
  return {evaluation.scores.train, evaluation.scores.val, evaluation.scores.test, evaluation.val_loss};
}

std::string Model::metric() const { return std::string(epochs::metric_name(impl_->stepper.metric())); }

Array Model::logits() { return rows_of(impl_->stepper, impl_->stepper.logits()); }
Array Model::embedding() { return rows_of(impl_->stepper, impl_->stepper.embedding()); }

std::vector<NamedArray> Model::parameters() const { return named_arrays(impl_->stepper.weights()); }

void Model::load_parameters(const std::vector<NamedArray>& parameters) {
  impl_->stepper.load_weights({tensors_of(parameters), {}});
}

}  // namespace gneiss
