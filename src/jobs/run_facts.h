// What a run folder knows of the data that its model was trained on (data.json), so that other data are treated alike:
// names of classes, statistics of the features, form of the graph. Folders of 0.1.0 have no such file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace gneiss::jobs {

struct RunFacts {
  bool known = false;                    ///< false: the folder has no data.json, and nothing below holds
  std::string label_kind;                ///< single, multi or regression
  std::vector<std::string> class_names;  ///< by number; empty: the numbers themselves
  std::string metric;
  std::string features_file;               ///< that the training named; empty: the data set brought them
  std::string labels_file;                 ///< likewise
  std::vector<std::string> feature_names;  ///< by column; empty: they had none
  data::FeatureStatistics statistics;
  bool symmetric = false;   ///< every edge had its reverse
  bool weighted = false;    ///< the edges had weights
  std::string fingerprint;  ///< of the data, see below
};

/// Counts that tell data sets apart, whatever the order of their nodes: nodes, edges, features, nodes of each class.
std::string fingerprint(const data::Dataset& dataset);

std::string to_json(const RunFacts& facts);
/// Back from to_json. Errors: kBadData at `where`.
RunFacts parse_facts(std::string_view text, const std::string& where);
/// Reads RUN/data.json; not known if there is none. Errors: kBadData if it is damaged.
RunFacts read_facts(const std::filesystem::path& run);

/// Names of `count` classes: `names`, or the numbers if there are none.
std::vector<std::string> names_of_classes(const std::vector<std::string>& names, std::int64_t count);

/// Refuses features whose columns have other names than `names`, or the same in another order. Without names on one of
/// both sides nothing is known. Errors: kBadData.
void check_feature_names(const std::vector<std::string>& names, const data::Dataset& dataset);

/// Gives the labels of `dataset` the numbers that a model with classes `names` has for them, by name ("1.0" is "1").
/// Labels that the model does not know: kBadData if `strict`, else their nodes become unlabelled.
void match_classes(const std::vector<std::string>& names, bool strict, data::Dataset* dataset);

/// Likewise for labels of several columns, if both sides have names for them: brings the columns into the model's
/// order; those that the data lack are NaN. Without names nothing is done.
void match_columns(const std::vector<std::string>& names, bool strict, data::Dataset* dataset);

}  // namespace gneiss::jobs
