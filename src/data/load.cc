// Finds out what a name or path is, reads it, and applies what every format shares: component, features, split.
#include "data/load.h"

#include <algorithm>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/process.h"
#include "data/detect.h"
#include "data/generate.h"
#include "data/given.h"
#include "data/half_features.h"
#include "data/manifest.h"
#include "data/parts.h"
#include "data/preprocess.h"
#include "data/readers.h"
#include "data/save_generated.h"
#include "data/split.h"
#include "data/split_files.h"
#include "data/validate.h"

namespace gneiss::data {
namespace {

struct Format {
  FormatInfo info;
  Dataset (*read)(const std::filesystem::path&, const LoadOptions&);
  bool binarize;      ///< what PyG does by default
  const char* split;  ///< drawn when the data bring no split
};

const std::vector<Format>& formats() {
  static const std::vector<Format> all = {
      {{"gneiss", "our own folder: manifest.json and mappable .npy arrays"},
       read_gneiss_folder,
       false,
       "ratio:60/20/20"},
      {{"planetoid", "ind.<name>.{x,tx,allx,y,ty,ally,graph,test.index}: a folder, a prefix or one of the files"},
       read_planetoid,
       false,
       "public"},
      {{"gnn-benchmark", ".npz with flat CSR members adj_*, attr_* and labels (Amazon, Coauthor, CoraFull)"},
       read_gnn_benchmark,
       true,
       "shchur"},
      {{"heterophilous", ".npz with node_features, node_labels, edges and ten masks (roman-empire, minesweeper, …)"},
       read_heterophilous,
       false,
       "ratio:60/20/20"},
      {{"geom-gcn", "folder with out1_graph_edges.txt and out1_node_feature_label.txt"},
       read_geom_gcn,
       false,
       "ratio:60/20/20"},
      {{"edge-list", "text, plain or .gz: `u v [weight]` a line, blank, tab or comma between (SNAP, KONECT, CSV)"},
       read_edge_list,
       false,
       "ratio:60/20/20"},
      {{"matrix-market", ".mtx: coordinate real, integer or pattern; general, symmetric or skew-symmetric"},
       read_matrix_market,
       false,
       "ratio:60/20/20"},
      {{"metis", ".graph: a line `nodes edges [format]`, then the neighbours of each node (METIS, Chaco, DIMACS 10)"},
       read_metis,
       false,
       "ratio:60/20/20"},
      {{"dimacs", ".gr, .col: `p sp nodes arcs` and `a from to weight`, or `p edge nodes edges` and `e u v`"},
       read_dimacs,
       false,
       "ratio:60/20/20"},
  };
  return all;
}

const Format& find_format(const std::string& name) {
  for (const Format& format : formats()) {
    if (format.info.name == name) return format;
  }
  throw Error(ErrorCode::kUsage, fmt::format("unknown data format '{}'", name), "--format",
              unknown_name_hint(name, data_format_names()));
}

void check_options(const LoadOptions& options) {
  const std::vector<std::string> forms = {"auto", "dense", "sparse"};
  if (std::find(forms.begin(), forms.end(), options.feature_form) == forms.end()) {
    throw Error(ErrorCode::kUsage, fmt::format("unknown feature form '{}'", options.feature_form), {},
                unknown_name_hint(options.feature_form, forms));
  }
  const std::vector<std::string> dtypes = {"f32", "bf16", "f16"};
  if (std::find(dtypes.begin(), dtypes.end(), options.feature_dtype) == dtypes.end()) {
    throw Error(ErrorCode::kUsage, fmt::format("unknown feature dtype '{}'", options.feature_dtype), {},
                unknown_name_hint(options.feature_dtype, dtypes));
  }
  const std::vector<std::string> norms = feature_norms();
  if (std::find(norms.begin(), norms.end(), options.feature_norm) == norms.end()) {
    throw Error(ErrorCode::kUsage, fmt::format("unknown feature normalisation '{}'", options.feature_norm), {},
                unknown_name_hint(options.feature_norm, norms));
  }
}

/// The split that the options ask for, once the data are final.
void apply_split(const LoadOptions& options, const char* habit, Dataset* dataset) {
  const bool has_own = !dataset->split.train.empty() || !dataset->split.val.empty() || !dataset->split.test.empty();
  const bool labelled = dataset->labels.kind != LabelKind::kNone;
  if (options.own_split_only) return;
  std::string spec = options.split;
  if (spec.empty()) {
    if (has_own || !labelled || !options.train_ids.empty()) return;
    spec = habit;
    if (spec == std::string_view("shchur") && dataset->labels.kind != LabelKind::kSingle) spec = "ratio:60/20/20";
    dataset->notes.push_back(
        fmt::format("the data bring no split; drew '{}' with seed {}", spec, options.seed + options.split_draw));
  }
  if (spec == "public" || split_index(spec, std::max(1, dataset->num_splits), dataset->name) >= 0) {
    if (has_own) return;
    throw Error(ErrorCode::kUsage, fmt::format("--split {}: the data bring no split", spec), dataset->name,
                "use --split random, shchur or ratio:60/20/20");
  }
  dataset->split = draw_split(dataset->labels, dataset->num_nodes(), spec, options.seed + options.split_draw);
}

/// Edge options for what was not read from edges in a file (generators, our own folder, arrays).
void apply_edge_options(const LoadOptions& options, Dataset* dataset) {
  if (options.remove_self_loops.value_or(false)) dataset->graph = remove_self_loops(dataset->graph, options.threads);
  if (options.to_undirected.value_or(false) && !dataset->graph.symmetric())
    dataset->graph = to_undirected(dataset->graph, options.threads);
  if (options.add_self_loops) dataset->graph = graph::add_remaining_self_loops(dataset->graph, options.threads);
}

Dataset finish(Dataset dataset, const LoadOptions& options, bool binarize_habit, const char* split_habit) {
  const std::int64_t max_bytes = options.max_bytes > 0 ? options.max_bytes : memory_limit_bytes();
  if (options.largest_component && dataset.num_nodes() > 0) {
    const std::vector<NodeId> nodes = largest_component(dataset.graph);
    if (static_cast<std::int64_t>(nodes.size()) != dataset.num_nodes()) {
      dataset.notes.push_back(
          fmt::format("kept the largest component: {} of {} nodes", nodes.size(), dataset.num_nodes()));
    }
    dataset = induced(std::move(dataset), nodes, options.threads);
  }
  if (!dataset.by_parts) check_finite(dataset, options.allow_nan, options.threads);
  apply_split(options, split_habit, &dataset);
  dataset.feature_statistics = options.feature_statistics;
  dataset.feature_statistics.binary_first = options.binarize.value_or(binarize_habit);
  if (dataset.feature_statistics.binary_first) normalize_features("binary", {}, max_bytes, &dataset.features);
  normalize_features(options.feature_norm, dataset.split.train, max_bytes, &dataset.features,
                     &dataset.feature_statistics);
  if (options.feature_form == "dense") densify(max_bytes, &dataset.features);
  if (options.feature_form == "sparse") sparsify(&dataset.features);
  halve_features(half_type(options.feature_dtype), dataset.name, &dataset.features);
  return dataset;
}

/// Options that say how a file is read mean nothing for what is in memory.
void check_for_given(const std::string& name, const LoadOptions& options) {
  const auto refuse = [&](const char* option, const char* instead) {
    throw Error(ErrorCode::kUsage, fmt::format("{} is for files, and '{}' is in memory", option, name), name, instead);
  };
  if (options.format != "auto") refuse("a data format", "leave it out");
  if (!options.features_path.empty()) refuse("a file of features", "give the features with the data set");
  if (!options.labels_path.empty()) refuse("a file of labels", "give the labels with the data set");
}

Dataset load_given_checked(const std::shared_ptr<const Dataset>& given, const LoadOptions& options) {
  check_options(options);
  check_for_given(given->name, options);
  Dataset dataset = share(given);
  if (options.ignore_weights && dataset.graph.weighted())
    dataset.graph = without_weights(dataset.graph, options.threads);
  if (options.coalesce) dataset.graph = coalesce(dataset.graph, options.threads);
  apply_edge_options(options, &dataset);
  read_split_files(options, &dataset);
  return finish(std::move(dataset), options, false, "ratio:60/20/20");
}

Dataset load_checked(const std::string& what, const LoadOptions& options) {
  check_options(options);
  if (what.starts_with(kGivenPrefix)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("'{}' was made of arrays in memory, which no file holds", what.substr(kGivenPrefix.size())),
                what, "hand the data set in again from the program that made it, or name other data");
  }
  const bool any = options.format == "auto";
  if (any && is_generator(what)) {
    Dataset dataset = generate(what, options.seed, options.threads, options.max_bytes);
    apply_edge_options(options, &dataset);
    read_split_files(options, &dataset);
    return finish(std::move(dataset), options, false, "ratio:60/20/20");
  }
  const Located found = any ? locate(what) : Located{options.format, what};
  const Format& format = find_format(found.format);
  Dataset dataset = format.read(found.path, options);
  dataset.notes.insert(dataset.notes.end(), dataset.doubts.begin(), dataset.doubts.end());
  if (format.info.name == "gneiss") apply_edge_options(options, &dataset);
  read_split_files(options, &dataset);
  return finish(std::move(dataset), options, format.binarize, format.split);
}

/// Calls load(); what the standard library throws becomes an error of ours.
template <class Load>
Dataset with_errors_of(const std::string& what, const Load& load) {
  try {
    return load();
  } catch (const std::filesystem::filesystem_error& error) {
    throw Error(ErrorCode::kBadData, fmt::format("cannot read '{}': {}", what, error.code().message()), what,
                "check the path and its permissions");
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kOutOfMemory, fmt::format("not enough memory to load '{}'", what), what);
  }
}

}  // namespace

const std::vector<FormatInfo>& data_formats() {
  static const std::vector<FormatInfo> all = [] {
    std::vector<FormatInfo> list;
    for (const Format& format : formats()) list.push_back(format.info);
    return list;
  }();
  return all;
}

std::vector<std::string> data_format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.push_back(format.info.name);
  return names;
}

bool is_gneiss_folder(const std::filesystem::path& what) {
  std::error_code ignored;
  return what.filename() == "manifest.json" || std::filesystem::exists(what / "manifest.json", ignored);
}

Dataset load(const std::string& what, const LoadOptions& options) {
  return with_errors_of(what, [&] { return load_checked(what, options); });
}

Dataset generate_folder(const std::string& spec, const LoadOptions& options, const std::filesystem::path& path,
                        bool force) {
  check_options(options);
  if (options.format != "auto" || !is_generator(spec)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("within --mem data sets are made by name, and '{}' is no generator", spec), "--mem",
                unknown_name_hint(spec, generator_names()) + "; or leave --mem out");
  }
  const HalfType type = half_type(options.feature_dtype);
  Manifest manifest;  // what asks_for_all looks at
  manifest.feature_dtype = type;
  if (const std::string option = asks_for_all(options, manifest); !option.empty()) {
    throw Error(ErrorCode::kUsage, fmt::format("{} looks at all edges or features, which --mem keeps in files", option),
                option, "leave --mem out, or apply it later with gneiss data convert");
  }
  return with_errors_of(spec, [&] {
    Generated made = generate_without_features(
        spec, {.seed = options.seed, .threads = options.threads, .max_bytes = options.max_bytes, .streamed = true});
    Dataset& dataset = made.dataset;
    if (dataset.features.sparse || !made.fill_rows) halve_features(type, dataset.name, &dataset.features);
    if (!dataset.features.empty()) dataset.features.dtype = type;
    read_split_files(options, &dataset);
    apply_split(options, "ratio:60/20/20", &dataset);
    save_generated(made, type, path, force, options.threads);
    return std::move(made.dataset);
  });
}

Dataset load_given(const std::shared_ptr<const Dataset>& given, const LoadOptions& options) {
  return with_errors_of(given->name, [&] { return load_given_checked(given, options); });
}

}  // namespace gneiss::data
