// A batch in the making: what one and several threads do alike. Internal to this folder.
#pragma once

#include "minibatch/workspace.h"

namespace gneiss::minibatch {

template <class Id>
class BatchInMaking {
 public:
  BatchInMaking(const Sampler<Id>& sampler, const BatchKey& key, Workspace<Id>* workspace, Slab* slab);

  /// Gives the seeds their ids. Errors: as Sampler::sample.
  void add_seeds(std::span<const Id> seeds);
  /// Adds the next hop with `threads` threads.
  void add_hop(int threads);
  /// Puts the rest into the slab.
  void finish();

 private:
  /// The rows of a hop and where their edges go; arrays begin with the row 0 of the block.
  struct HopRows {
    typename Sampler<Id>::Hop hop;
    std::int64_t first = 0;
    std::int64_t last = 0;
    EdgeId* offsets = nullptr;
    EdgeId* edges = nullptr;
    NodeId* sources = nullptr;

    EdgeId begin() const { return offsets[first]; }
    EdgeId end() const { return offsets[last]; }
  };

  /// Has the rows of new destinations looked up: pass A.
  void look_up_rows(std::int64_t first, std::int64_t last);
  void count_picks(const HopRows& rows, int threads);
  /// Passes B to D.
  void fill(const HopRows& rows);
  void fill_together(const HopRows& rows, int threads);
  /// Edges [begin, end) have their entries of the graph; they get neighbours and local ids.
  void number_neighbours(const HopRows& rows, EdgeId begin, EdgeId end);
  /// Entries of the graph's arrays become neighbours; entries become positions in the graph as given.
  void read_neighbours(EdgeId* entries, std::int64_t count, Id* neighbours);
  void check_room(std::int64_t more) const;
  bool whole_subgraph() const { return sampler_.options().semantics == Semantics::kSubgraph; }

  const Sampler<Id>& sampler_;
  Workspace<Id>& work_;
  Slab& slab_;
  BatchKey key_;
  int hops_ = 0;
  std::int64_t num_nodes_ = 0;
  std::int64_t num_rows_ = 0;  ///< destinations whose row is known
};

}  // namespace gneiss::minibatch
