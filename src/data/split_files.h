// Splits from files of their own, beside any format. Internal to this folder.
#pragma once

#include "data/dataset.h"
#include "data/load.h"

namespace gneiss::data {

/// Replaces the data set's split by those of options.train_ids, val_ids and test_ids, as far as they are given: text
/// (plain or .gz) or .npy. A file holds ids as the data have them (orig_id, node_names), or a mask: one 0 or 1, true or
/// false, for each node in order. Errors: kBadData naming file and row for what is neither, for ids that are no nodes
/// and ids given twice; kUsage if validation or test nodes are given without training nodes, or --split as well.
void read_split_files(const LoadOptions& options, Dataset* out);

}  // namespace gneiss::data
