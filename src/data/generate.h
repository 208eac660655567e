// Data sets made by name, deterministic in their seed whatever the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace gneiss::data {

/// Writes rows [begin, end) of dense features one after the other; may be called from many threads.
using FillRows = std::function<void(std::int64_t begin, std::int64_t end, float* rows)>;
/// The same of the columns of sparse features, ascending in each row; `offsets`: of all rows.
using FillColumns =
    std::function<void(std::int64_t begin, std::int64_t end, std::span<const EdgeId> offsets, NodeId* columns)>;

/// A data set without the values of its features, and how these are made.
struct Generated {
  Dataset dataset;           ///< sizes and, of sparse features, offsets are there
  FillRows fill_rows;        ///< of dense features; empty: there are none, or all are there
  FillColumns fill_columns;  ///< of sparse features, whose values are all 1
};
/// The same with all values. The result does not depend on `threads`.
Dataset with_features(Generated made, int threads);

struct GenerateOptions {
  std::uint64_t seed = 0;  ///< of a spec without `seed`
  int threads = 1;
  std::int64_t max_bytes = 0;  ///< refuse to build more than this; 0 = the memory that the process may use
  /// `max_bytes` is to hold what nodes take and a part of the edges alone: others lie in a scratch file, and features
  /// are made while they are written (data/save_generated.h).
  bool streamed = false;
};

/// What a streamed data set takes.
struct StreamedSize {
  std::string name;
  std::int64_t nodes = 0;
  std::int64_t edges = 0;        ///< stored ones
  std::int64_t of_node = 0;      ///< bytes of a node
  std::int64_t of_features = 0;  ///< bytes that making a few rows takes
};
/// What `max_bytes` leaves for edges. Errors: kOutOfMemory with a number that is enough.
std::int64_t streamed_room(const StreamedSize& size, std::int64_t max_bytes, int threads);

/// Zachary's karate club: 34 nodes, 78 undirected edges, the two communities after the split (0 = Mr. Hi, 1 = Officer),
/// identity features. Train: nodes 0, 1 (Mr. Hi) and 32, 33 (Officer), the best-connected of each; the other nodes
/// validate and test by turns. Source: [zachary1977karate], labels as in NetworkX.
Dataset generate_karate();

/// A degree-corrected planted partition: communities with power-law degrees and features that depend on the community.
struct DcsbmOptions {
  std::string name = "dcsbm";
  std::int64_t nodes = 1000;
  std::int64_t edges = 0;      ///< stored edges, exact; 0 = nodes * degree
  double degree = 10;          ///< mean in-degree when `edges` is 0
  std::int64_t classes = 5;    ///< classes, or tasks if multilabel
  bool multilabel = false;     ///< each community has its own label probabilities
  bool directed = false;       ///< keep one direction of each edge
  double homophily = 0.8;      ///< share of edges within a community
  double power = 2.5;          ///< exponent of the degree distribution, > 2
  double top = 0;              ///< share of edges that touch the 1 % of nodes with most, not by `power`; 0: by power
  std::int64_t features = 64;  ///< width; 0 = none
  double density = 1;          ///< below 1: sparse bag-of-words features with this share of ones
  double signal = 0.5;         ///< 0 = features say nothing about the community, 1 = much
  double train = 0.6;
  double val = 0.2;
  double test = 0.2;
  double spread = 1;  ///< training nodes come from this share of the communities, and so from these classes alone
  GenerateOptions how{};
};
Generated generate_dcsbm(const DcsbmOptions& options);

/// A recursive-matrix (R-MAT) graph with random features and labels: for speed, not for accuracy. Self loops and
/// duplicates are removed. Source: [chakrabarti2004rmat]; a, b, c as in Graph 500.
struct RmatOptions {
  std::int64_t scale = 10;  ///< 2^scale nodes
  double edge_factor = 16;  ///< edges drawn per node
  double a = 0.57;
  double b = 0.19;
  double c = 0.19;
  bool directed = false;
  std::int64_t features = 32;
  std::int64_t classes = 8;
  GenerateOptions how{};
};
Generated generate_rmat(const RmatOptions& options);

/// One row of Morphling's or MGG's dataset table as options of the generator.
struct Preset {
  std::string name;
  DcsbmOptions options;
  std::string summary;
};
const std::vector<Preset>& presets();

/// Names that generate() takes: karate, dcsbm, rmat and the presets.
std::vector<std::string> generator_names();
/// True if `what` is the name of a generator, or one with options behind a colon.
bool is_generator(const std::string& what);
/// Makes the data set of a spec: "name" or "name:key=value,key=value".
/// Errors: kUsage for unknown names and keys (with the nearest known one) and for values out of range; kOutOfMemory
/// when the data would be larger than `max_bytes`; kDisk where edges have no room in a scratch file.
Generated generate_without_features(const std::string& spec, const GenerateOptions& options);
/// The same with its features, all in memory.
Dataset generate(const std::string& spec, std::uint64_t seed, int threads, std::int64_t max_bytes = 0);

}  // namespace gneiss::data
