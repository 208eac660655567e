// All of the public API: data sets, settings, training, planning, prediction, mini-batches, schedules, synthesis.
//
//   gneiss::RunConfig config;
//   config.set(gneiss::keys::data, "karate");
//   config.set(gneiss::keys::optimizer, gneiss::Optimizer::kAdamw);
//   const gneiss::TrainResult result = gneiss::train_model(config);
//
// A data set may also be made of arrays in memory (gneiss/array.h): train_model(Dataset::from_arrays(arrays), config).
// A loop of one's own steps a Model (gneiss/model.h).
// Failures are gneiss::Error (gneiss/error.h). The library prints nothing.
#pragma once

#include "gneiss/array.h"
#include "gneiss/config.h"
#include "gneiss/dataset.h"
#include "gneiss/error.h"
#include "gneiss/model.h"
#include "gneiss/partition.h"
#include "gneiss/sample.h"
#include "gneiss/schedule.h"
#include "gneiss/score.h"
#include "gneiss/settings.h"
#include "gneiss/synth.h"
#include "gneiss/train.h"
#include "gneiss/two_routes.h"
#include "gneiss/version.h"
