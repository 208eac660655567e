// What a training says at its end when the model has hardly learnt.
#pragma once

#include <string>

#include "data/dataset.h"
#include "epochs/metrics.h"
#include "epochs/records.h"
#include "settings/config.h"

namespace gneiss::jobs {

/// What guessing gets on the training nodes: the share of their largest class, 0.5 for ROC-AUC; NaN where there is no
/// such number (errors, many labels with F1).
double chance_score(const data::Dataset& dataset, epochs::Metric metric);

/// One sentence with the two settings to try first, if the best epoch's training score is no better than chance or the
/// loss never fell by a fiftieth; "" else, and after fewer than 10 epochs. `large_features`: they are large and not
/// normalised.
std::string advice_on(const epochs::RunRecord& run, double chance, epochs::Metric metric, bool large_features,
                      const settings::Config& config);

}  // namespace gneiss::jobs
