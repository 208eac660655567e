// Predictions and embeddings as files: csv, tsv, npy or JSON lines.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/job.h"

namespace gneiss::jobs {

struct OutputOptions {
  std::string format;          ///< csv, tsv, npy or jsonl; empty = by the file's name, else csv
  bool probabilities = false;  ///< predict: also the probability of every class
};

/// The predictions of all nodes: node id, class (and its name if the data name classes), probabilities if asked for.
/// Many labels per node: the tasks predicted, joined by ';'. A regression: its values. npy: int32 [n] of classes, or
/// f32 [n, classes] of probabilities (values of a regression).
std::string format_predictions(const Restored& restored, const OutputOptions& options);
/// One row per node: id and values. npy: f32 [n, d], rows in the order of the data set.
std::string format_embedding(const Restored& restored, const OutputOptions& options);

/// The format for a file name, or the one asked for. Errors: kUsage for an unknown one, with the nearest.
std::string output_format(const std::string& asked, const std::filesystem::path& path);

/// A row's logits as probabilities: softmax for exclusive classes, logistic for many labels.
std::vector<double> probabilities(const Restored& restored, std::int64_t row);

}  // namespace gneiss::jobs
