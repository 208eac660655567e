// Looks at names in a folder, and at the first bytes of a file, never at its whole.
#include "data/detect.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "data/foreign_text.h"
#include "data/generate.h"
#include "data/load.h"
#include "data/npz.h"
#include "data/readers.h"
#include "data/text.h"

namespace gneiss::data {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& where, const std::string& message, const std::string& hint = {}) {
  throw Error(ErrorCode::kBadData, message, where, hint);
}

std::string formats_hint() { return "formats: " + join(data_format_names(), ", ") + "; --format names one"; }

Located locate_npz(const fs::path& path) {
  const NpzFile file(path);
  const std::vector<std::string> names = file.names();
  const bool arrays = std::any_of(names.begin(), names.end(), [&](const std::string& name) { return file.has(name); });
  if (!arrays) {
    const bool torch =
        std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.ends_with("data.pkl"); });
    const bool excel =
        std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.starts_with("xl/"); });
    if (torch)
      fail(path.string(), "a PyTorch file is not read",
           "in Python: np.savetxt('edges.csv', data.edge_index.t(), fmt='%d', delimiter=',')");
    if (excel) fail(path.string(), "an Excel file is not read", "save the sheet as CSV");
    fail(path.string(), "a ZIP archive without .npy arrays; it has: " + join(names, ", "), "unpack it first");
  }
  if (file.has("adj_indptr") || file.has("adj_matrix")) return {"gnn-benchmark", path};
  if (file.has("node_features") && file.has("edges")) return {"heterophilous", path};
  fail(path.string(), "an .npz archive of no known layout; it has: " + join(file.names(), ", "),
       "known: gnn-benchmark (adj_indptr, attr_indptr, labels), heterophilous (node_features, node_labels, edges)");
}

Located locate_file(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name.starts_with("ind.")) return {"planetoid", path};
  if (name == "manifest.json") return {"gneiss", path.parent_path()};
  const std::string text = first_bytes(path, 4096);
  std::string_view head = text;
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  if (head.empty()) fail(path.string(), "the file is empty");
  if (head.starts_with("PK")) return locate_npz(path);
  if (head.starts_with("\x93NUMPY"))
    fail(path.string(), "one .npy array is no data set",
         "give its folder, or use it as --features or --labels of an edge list");
  if (head.starts_with("%%MatrixMarket") || name.ends_with(".mtx") || name.ends_with(".mtx.gz"))
    return {"matrix-market", path};
  if (const auto foreign = foreign_bytes(head)) fail(path.string(), foreign->format + " is not read", foreign->remedy);
  const bool marked = head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff");  // UTF-16, refused by its name
  if (!marked && looks_binary(head)) fail(path.string(), "a binary file of no known format", formats_hint());
  if (looks_like_dimacs(head)) return {"dimacs", path};
  const std::string suffix = path.extension() == ".gz" ? path.stem().extension().string() : path.extension().string();
  if (suffix == ".graph" || suffix == ".metis" || looks_like_metis(path)) return {"metis", path};
  return {"edge-list", path};
}

/// The one candidate, or the one named like the folder; more than one is an error.
fs::path choose(const fs::path& folder, std::vector<fs::path> candidates) {
  if (candidates.size() == 1) return candidates[0];
  std::sort(candidates.begin(), candidates.end());
  const std::string wanted = fs::absolute(folder / "x").parent_path().filename().string();
  std::vector<std::string> names;
  for (const fs::path& candidate : candidates) {
    if (candidate.stem() == wanted) return candidate;
    names.push_back(candidate.filename().string());
  }
  fail(folder.string(), fmt::format("the folder holds {} data sets", candidates.size()),
       "name one: " + join(names, ", "));
}

Located locate_folder(const fs::path& folder) {
  if (fs::exists(folder / "manifest.json")) return {"gneiss", folder};
  std::vector<fs::path> archives;
  std::vector<fs::path> matrices;
  std::vector<fs::path> lists;
  std::vector<fs::path> others;
  bool planetoid = false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const std::string extension = entry.path().extension().string();
    planetoid = planetoid || name.starts_with("ind.");
    if (!entry.is_regular_file()) continue;
    if (extension == ".npz") archives.push_back(entry.path());
    if (extension == ".mtx" || name.ends_with(".mtx.gz")) matrices.push_back(entry.path());
    const bool text = extension == ".txt" || extension == ".tsv" || extension == ".csv" || extension == ".gz" ||
                      extension == ".edges" || name.starts_with("out.");
    if (text && !name.starts_with("out1_") && !name.starts_with("README")) lists.push_back(entry.path());
    others.push_back(entry.path());
  }
  if (planetoid) return {"planetoid", folder};
  if (!archives.empty()) return locate_npz(choose(folder, archives));
  if (fs::exists(folder / "out1_graph_edges.txt")) return {"geom-gcn", folder};
  if (!matrices.empty()) return {"matrix-market", choose(folder, matrices)};
  if (!lists.empty()) {
    for (const fs::path& list : lists) {
      const std::string stem = stem_of(list);
      if (stem == "edges" || stem == "edge") return locate_file(list);
    }
    return locate_file(choose(folder, lists));
  }
  if (others.size() == 1) return locate_file(others[0]);
  fail(folder.string(),
       "the folder holds no known data set; looked for manifest.json, ind.*, *.npz, out1_graph_edges.txt, *.mtx, "
       "*.txt, *.tsv, *.csv, *.gz",
       formats_hint());
}

}  // namespace

Located locate(const std::string& what) {
  const fs::path path = what;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return locate_folder(path);
  if (fs::exists(status)) return locate_file(path);
  if (fs::exists(what + ".graph", error) && path.filename().string().starts_with("ind.")) return {"planetoid", path};
  const std::string name = what.substr(0, what.find(':'));
  const bool names_a_path = what.find_first_of("./") != std::string::npos;
  throw Error(names_a_path ? ErrorCode::kBadData : ErrorCode::kUsage,
              fmt::format("'{}' is neither a file or folder nor the name of a generator", what), what,
              unknown_name_hint(name, generator_names()));
}

}  // namespace gneiss::data
