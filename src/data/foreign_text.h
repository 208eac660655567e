// Text that is plainly another format than a table of edges. Internal to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gneiss::data {

struct ForeignText {
  std::string format;  ///< "JSON", "an adjacency list", …
  std::string remedy;
};

/// Recognises JSON, Python's tuples and dicts, GraphML and GEXF, GML, DOT, Pajek, GDF, LGL, DIMACS, RDF and arrows from
/// the first lines of a file, comments included.
std::optional<ForeignText> foreign_text(const std::vector<std::string>& lines);

/// What rows of numbers and words of different lengths are: METIS, a mesh, an adjacency list; nothing if none of these.
/// `rows` are fields, the first row first; `all` says that these are all rows of the file.
std::optional<ForeignText> foreign_rows(const std::vector<std::vector<std::string>>& rows, bool all);

/// An adjacency matrix: names of columns that are names of rows or, unless only names are to tell, as many rows as
/// columns.
std::optional<ForeignText> foreign_matrix(const std::vector<std::string>& names,
                                          const std::vector<std::vector<std::string>>& rows, bool all, bool by_names);

/// Binary formats by their first bytes: Parquet, HDF5, Excel, MATLAB, R, PyTorch, tar, pickle.
std::optional<ForeignText> foreign_bytes(std::string_view bytes);

/// Why a word cannot be the id of a node: quotes, brackets, arrows, invisible characters. Empty if it can.
std::string odd_word(std::string_view word);

}  // namespace gneiss::data
