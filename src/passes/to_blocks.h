// The program of a full graph as one of sampled blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace gneiss::passes {

/// The most nodes and edges of a batch. Level 0 are the seeds; level h + 1 are the nodes after hop h, the seeds first.
struct BlockCapacity {
  std::vector<std::int64_t> nodes;  ///< by level, one more than there are hops
  std::vector<std::int64_t> edges;  ///< by hop, without self loops that the model adds
};

/// How a graph of a block program is made from a batch.
struct BlockGraph {
  enum class Kind : std::uint8_t {
    kHop,     ///< the sampled edges of one hop, as graph `graph` of the full program has them (self loops added, …)
    kInner,   ///< likewise of the last hop, as edges among all nodes of the batch: those that drew nothing have none
    kPrefix,  ///< an edge from each of the first nodes of level `from` to the node of level `to` that it is
  };
  Kind kind = Kind::kHop;
  std::int32_t hop = 0;       ///< kHop: from level hop + 1 to level hop
  std::int32_t graph = 0;     ///< kHop, kInner: of the full program
  std::int32_t from = 0;      ///< kPrefix
  std::int32_t to = 0;        ///< kPrefix
  bool of_all_nodes = false;  ///< its sources are nodes of the full graph, by their numbers there
};

struct BlockProgram {
  ir::Program program;             ///< node set l are the nodes of level l; all of it changes from step to step
  std::vector<BlockGraph> graphs;  ///< by graph of `program`
  /// What is computed of the full graph alone (degrees, normalisation), once, and gathered like features: its output
  /// "logits" is [nodes, columns]. No ops: there is nothing of the kind. Its graphs are those of the full program.
  ir::Program constants;
  std::int64_t constant_columns = 0;
  /// Values of the full program that the columns of the input "constants" are, in their order: those of `constants`,
  /// and what a part is given.
  std::vector<ir::ValueId> columns;
};

/// Whose in-edges decide what no feature and no parameter does: degrees, and normalisation by them.
enum class DegreesOf : std::uint8_t {
  kFullGraph,  ///< computed once, and gathered
  kBatch,      ///< computed in each step from the sampled edges, those of the last hop
};

/// A part of a model: values of nodes that are computed from others.
struct BlockPart {
  std::vector<ir::ValueId> given;    ///< known of all nodes, and gathered
  std::vector<ir::ValueId> results;  ///< wanted of the seeds
};

/// By value of a model: does the full graph alone decide it, no feature and no parameter?
std::vector<bool> decided_by_graph(const ir::Program& model);

/// Over how many hops the logits of a node reach, or the results of a part. Errors: as to_blocks.
std::int32_t count_hops(const ir::Program& model);
std::int32_t count_hops(const ir::Program& model, const BlockPart& part);

/// Turns a model over node set 0 (as the front end makes it, before other passes) into one over blocks: every sum over
/// in-edges goes from one level to the one before, and what is read on a lower level than it is made on is a prefix of
/// its rows. Parameters keep their order. The only output is "logits", of the seeds.
/// Errors: kUnsupported, naming the line of the model, for sums over out-edges and over all nodes.
BlockProgram to_blocks(const ir::Program& model, const BlockCapacity& capacity,
                       DegreesOf degrees = DegreesOf::kFullGraph);
/// The same of a part: its outputs are "result0", "result1", …
BlockProgram to_blocks(const ir::Program& model, const BlockCapacity& capacity, const BlockPart& part);

}  // namespace gneiss::passes
