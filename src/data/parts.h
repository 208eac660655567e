// A Gneiss folder of which each rank reads its own part: what keeps edges and features unread in their files, and the
// checks that a part then owes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "data/dataset.h"
#include "data/load.h"

namespace gneiss::data {

struct Manifest;

/// Was the folder cut into so many parts, by a writer that looked at its edges?
bool is_cut_into(int parts, const std::filesystem::path& folder, const Manifest& manifest);

/// The option that has to see all edges or all features, as it is called on the command line; "" if there is none.
std::string asks_for_all(const LoadOptions& options, const Manifest& manifest);

/// Of the files' sizes and checksums, as the manifest has them.
std::uint64_t files_hash(const Manifest& manifest);

/// The graph of a folder in its files. Only the ends of the offsets are looked at. Errors: kBadData.
graph::Graph graph_in_files(const std::filesystem::path& folder, const Manifest& manifest);
/// Sparse features likewise.
Features sparse_features_in_files(const std::filesystem::path& folder, const Manifest& manifest);

/// Looks at the in-edges of the nodes [begin, end) of a graph that nobody has looked at. Errors: kBadData.
void check_in_edges(const Dataset& dataset, std::int64_t begin, std::int64_t end);
/// The same of all nodes, front to back; pages of a file that were read are given back.
void check_all_in_edges(const Dataset& dataset);
/// The same for rows of sparse features; of dense ones there is nothing that could be wrong but their values.
void check_feature_rows(const Dataset& dataset, std::int64_t begin, std::int64_t end);

}  // namespace gneiss::data
