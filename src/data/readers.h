// The readers behind load(), one a format, and what they share. Internal to this folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/load.h"
#include "data/npy.h"
#include "data/npz.h"

namespace gneiss::data {

/// What PyG does to a format's edges and features when nothing else is asked for.
struct FormatHabits {
  bool to_undirected = false;
  bool remove_self_loops = false;
  bool coalesce = false;
  bool binarize = false;
  std::string split = "ratio:60/20/20";  ///< when the file brings none
};

Dataset read_planetoid(const std::filesystem::path& path, const LoadOptions& options);
Dataset read_gnn_benchmark(const std::filesystem::path& path, const LoadOptions& options);
Dataset read_heterophilous(const std::filesystem::path& path, const LoadOptions& options);
Dataset read_edge_list(const std::filesystem::path& path, const LoadOptions& options);
Dataset read_geom_gcn(const std::filesystem::path& folder, const LoadOptions& options);
Dataset read_matrix_market(const std::filesystem::path& path, const LoadOptions& options);
Dataset read_metis(const std::filesystem::path& path, const LoadOptions& options);
Dataset read_dimacs(const std::filesystem::path& path, const LoadOptions& options);
Dataset read_gneiss_folder(const std::filesystem::path& folder, const LoadOptions& options);

/// True if the text is a METIS graph: a line of sizes, then lines of whole numbers of different lengths, as many as the
/// first number says. Reads a file that begins so to its end.
bool looks_like_metis(const std::filesystem::path& path);
/// True if the first line that is no comment is DIMACS' line p.
bool looks_like_dimacs(std::string_view text);
/// A file's name without its folder, .gz and last extension.
std::string stem_of(std::filesystem::path path);
/// Number of nodes or columns as a size that fits a NodeId. Errors: kBadData naming `what`.
std::int64_t checked_node_count(std::int64_t count, const std::string& what, const std::string& where);

/// Builds the graph with the options' edge rules over the format's habits; notes say what changed. `where` names the
/// file.
graph::Graph make_graph(graph::EdgeList edges, std::int64_t num_nodes, const LoadOptions& options,
                        const FormatHabits& habits, const std::string& where, std::vector<std::string>* notes);

/// Errors: kOutOfMemory if building such a graph needs more than `max_bytes` (0: what the process may use).
void check_graph_memory(std::int64_t num_nodes, std::int64_t num_edges, bool to_undirected, std::int64_t max_bytes,
                        const std::string& where);

/// CSR features from their three arrays, columns sorted within rows, duplicates summed. Errors: kBadData naming the
/// array and index.
Features sparse_features(const NpyArray& offsets, const NpyArray& indices, const NpyArray& values, std::int64_t rows,
                         std::int64_t cols, int threads);
/// Dense [rows, cols] features from a 2-D array.
Features dense_features(const NpyArray& array);
/// Sorts each row by column and adds up duplicate columns.
void sort_rows(Features* features);

/// Edges of a CSR adjacency matrix: entry (i, j) is the edge i -> j. Weights are kept if `values` is given.
graph::EdgeList csr_edges(const NpyArray& offsets, const NpyArray& indices, const NpyArray* values, std::int64_t nodes,
                          int threads);

/// Integer class labels, renumbered to 0..C-1 when some number in between has no node (class_names keep the old ones);
/// -1 and -100 stay unlabelled. Errors: kBadData naming the first other negative label.
Labels class_labels(std::span<const std::int64_t> values, const std::string& where,
                    std::vector<std::string>* class_names, std::vector<std::string>* notes);

/// The ids where a mask is set.
std::vector<NodeId> mask_ids(const std::vector<bool>& mask);
/// The K of a split option that is a number, or -1. Errors: kUsage when it is beyond `available`.
int split_index(const std::string& split, int available, const std::string& where);
/// Split files of Geom-GCN, `geom_gcn_splits/*.npz` with train_mask, val_mask and test_mask, beside a data set.
int count_geom_splits(const std::filesystem::path& folder);
/// The `index`-th of them. Errors: kBadData when a mask has not `nodes` entries of 0 or 1.
Split read_geom_split(const std::filesystem::path& folder, int index, std::int64_t nodes);
/// True for the splits that are drawn and not read: random, shchur, ratio:…, none.
bool is_drawn_split(const std::string& split);

}  // namespace gneiss::data
