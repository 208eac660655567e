// Neighbour sampling: from seed nodes to the mini-batch around them.
//
// A sampler is the graph, the options and what follows from both (alias columns); it never changes and any number of
// threads share it. Each thread brings a workspace. The batch is a function of (graph, options, key, seeds): neither
// the number of threads, nor the kind of table, nor the other batches have a say.
//
// Method, per hop, in passes over the destinations so that memory is asked for ahead of its use:
//   A  rows      where each new destination's entries are, and how many picks it has; the block's offsets follow
//   B  picks     entries of a few hundred edges are chosen and their lines of the graph asked for
//   C  sources   their neighbours are read and the lines of the table of ids asked for
//   D  ids       neighbours get local ids in the order of first sight
// Peers look up one edge after the other and wait for each; here dozens of lines are on their way at any time.
//
// Distributions
//   uniform      without replacement min(fanout, degree) distinct edges, every set as likely; with it fanout draws
//   weighted     chances by edge weight, with replacement or among those not yet taken; edges of weight 0 are never
//   drawn LABOR        the edges whose sources have the smallest random numbers, which all destinations share, so that
//   they
//                choose alike and batches have fewer nodes; each edge's chance is that of uniform sampling
//                [balin2023labor], LABOR-0; how we differ: exactly min(fanout, degree) edges, as GraphBolt
// A fanout of -1 takes every edge, whatever the distribution.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "minibatch/batch.h"
#include "minibatch/in_edges.h"
#include "minibatch/local_ids.h"
#include "minibatch/picks.h"

namespace gneiss::minibatch {

struct SamplerOptions {
  std::vector<std::int64_t> fanout = {};  ///< edges a node, by hop from the seeds outwards; -1 = all
  bool replace = false;
  bool weighted = false;
  bool labor = false;
  Semantics semantics = Semantics::kMessageFlow;
  bool layer_dependency = false;      ///< LABOR: a source has one random number for all hops
  std::int64_t batch_dependency = 1;  ///< LABOR: a source keeps its number for so many batches
  TableKind table = TableKind::kAuto;
  std::int64_t table_bytes = std::int64_t{1} << 30;  ///< kAuto: of a direct table at most, or there is a hash
};

/// "15,10,5" as numbers. Errors: kUsage naming `where` for what is no list of -1 or positive numbers, or too long.
std::vector<std::int64_t> parse_fanout(std::string_view text, const std::string& where);

/// Options that contradict each other, or what the graph lacks. Errors: kUsage.
void check_options(const SamplerOptions& options, bool graph_weighted);

/// What a thread needs to sample; its memory grows with the batches and is never given back.
template <class Id = NodeId>
class Workspace;

template <class Id = NodeId>
class Sampler {
 public:
  /// The arrays of `graph` must outlive the sampler. With weights 8 bytes an edge are made.
  /// Errors: kUsage as check_options; kBadData for a weight that is negative or no number, naming the edge.
  Sampler(const InEdges<Id>& graph, SamplerOptions options, int threads = 1);

  const SamplerOptions& options() const { return options_; }
  const InEdges<Id>& graph() const { return graph_; }
  TableKind table() const { return table_; }
  std::unique_ptr<Workspace<Id>> make_workspace() const;

  /// Fills `slab` with the batch around `seeds`, which it grows if it must.
  /// Errors: kBadData for a seed that is no node, or there twice; kUnsupported beyond kMaxBatchNodes.
  void sample(const BatchKey& key, std::span<const Id> seeds, Workspace<Id>* workspace, Slab* slab) const;
  /// The same batch by several threads together: for what must be there soon. Many batches are faster with a thread
  /// each.
  void sample_together(const BatchKey& key, std::span<const Id> seeds, int threads, Workspace<Id>* workspace,
                       Slab* slab) const;

  /// "uniform without replacement, mfg, fanout 15,10,5": for reports.
  std::string describe() const;

  /// What the draws of a hop start from.
  struct Hop {
    std::int64_t fanout = 0;
    std::uint64_t picks = 0;    ///< hop_key
    std::uint64_t sources = 0;  ///< LABOR: of the sources' numbers
    std::int64_t period = 0;    ///< LABOR: for so many renewals of all numbers …
    std::int64_t phase = 0;     ///< … and so many batches of the next
  };
  Hop hop(const BatchKey& key, int number) const;
  /// How many edges a hop takes of a row.
  std::int64_t picks_of(const Hop& hop, Row row, Id node) const;
  /// Chooses them; `count` is picks_of.
  void pick(const Hop& hop, Row row, Id node, std::int64_t count, EdgeId* out, PickScratch* scratch) const;

 private:
  void pick_labor(const Hop& hop, Row row, std::int64_t count, EdgeId* out, PickScratch* scratch) const;
  std::uint64_t source_number(const Hop& hop, Id source, std::uint64_t parallel) const;
  void make_columns(int threads);

  InEdges<Id> graph_;
  SamplerOptions options_;
  TableKind table_;
  Buffer<AliasColumn> columns_;         ///< [m] of weighted draws
  std::vector<std::int64_t> drawable_;  ///< [n] edges of a weight above 0; empty: all
};

}  // namespace gneiss::minibatch
