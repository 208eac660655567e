// One training on several ranks: a session for each rank of this process, stepping together.
//
// Every rank runs the driver of full graphs. What they must agree on comes out of collective operations: gradients and
// losses are sums over the ranks, scores and the wish to stop are rank 0's. So all ranks hold the same weights after
// each step, to the bit.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "comm/communicator.h"
#include "data/dataset.h"
#include "runtime/device.h"
#include "train/cut_nodes.h"
#include "train/full_graph.h"
#include "train/rank_data.h"
#include "train/session.h"

namespace gneiss::train {

/// How the rows of others' nodes come.
struct RowExchange {
  bool fetched = false;  ///< read in the others' memory; else sent
  pgas::Link link = {};  ///< how fast they are fetched, where all share that memory
  /// How fetched rows that are summed are taken up: halo, stream or fine.
  exchange::Exchange how = exchange::Exchange::kHalo;
  exchange::Tuning tuning = {};  ///< of fine
  /// Who fetches by halo has the edges into a node in the order of the data set as it came, as one device does:
  /// aggregations over in-edges have its bits.
  bool in_order = true;
  /// Of fine: iterations look for better numbers than `tuning` among these, on which no result depends; none: they
  /// don't.
  exchange::Tuner::Allowed tunes = {};
  bool traced = false;      ///< what devices do and wait for is noted
  bool of_devices = false;  ///< people know the ranks as devices
  /// Kernels run on these, one for each rank, which read each other's memory; none: on the host.
  std::vector<std::shared_ptr<runtime::Device>> devices = {};
  /// Ranks are processes forked from one: memory that they share, made before. Not of ranks that MPI joins.
  std::shared_ptr<pgas::SymmetricHeap> heap = {};
  /// Of devices that are such processes: the rows that they show lie in its blocks; null: in the devices' own memory.
  std::shared_ptr<runtime::Nvshmem> nvshmem = {};
};

class RankTraining {
 public:
  /// Cuts `whole` into a part for each rank, its nodes renamed so that parts are runs of them, and makes a session for
  /// each; its own edges and features go then. Of a data set that is read by parts, each rank reads and checks its own
  /// alone. A data set that was cut into as many parts keeps those. `ranks` must
  /// outlive this. `options.threads` are shared by the ranks of this process. Errors: as Session; kUnsupported where
  /// the model needs the whole graph; kPeerLost.
  RankTraining(comm::Ranks* ranks, data::Dataset&& whole, const SessionOptions& options,
               const RowExchange& exchange = {}, const Cutting& cutting = {});
  ~RankTraining();

  /// What is left of the whole: labels, splits, names and all counts.
  const data::Dataset& dataset() const { return whole_; }
  /// That of the first rank here.
  Session<float>& session() { return *members_[0].session; }

  /// As train_run; only rank 0 is watched and takes scores. A start is that of all ranks.
  epochs::RunRecord run(const data::Split& split, const FullGraphOptions& options, epochs::Evaluator& evaluator,
                        std::uint64_t seed, const Watcher& watcher, std::span<float> best_weights,
                        const Start* start = nullptr);

  /// What the ranks of this process take besides the whole data set: their parts, plans and weights.
  std::int64_t bytes() const;
  /// Of that, what each rank here takes.
  std::vector<std::int64_t> member_bytes() const;
  /// What each device takes of its memory; 0 where it is the host's.
  std::vector<std::int64_t> device_bytes() const;
  /// What devices here take because they take up each other's rows, of the memory that they compute in.
  std::vector<std::int64_t> exchange_bytes() const;
  /// Of the devices here what they did in the last epoch and after it; none where that is not noted.
  std::vector<const pgas::Timeline*> timelines() const;
  /// How the graph was cut, what `auto` could not try, and what the exchange cannot serve.
  std::vector<std::string> notes() const;
  /// Numbers that the tuner has found, once it is through; null where it has not, or did not run.
  const exchange::Tuner* tuner() const { return members_[0].tuner.get(); }
  /// Of devices here: bytes that each has fetched from each other one so far, [device][from].
  std::vector<std::vector<std::int64_t>> fetched_bytes() const;
  /// Of a data set that is read by parts: what data::negative_weights and large_numbers would say of all of it, as far
  /// as a count of parts can say it.
  std::string negative_weights() const;
  std::vector<std::string> large_numbers() const;

 private:
  struct Member {
    RankPart part;
    std::unique_ptr<Session<float>> session;
    Buffer<float> weights;                     ///< best ones of a rank that is not watched
    std::int64_t data_bytes = 0;               ///< of the part's dataset before anything of it was freed
    std::unique_ptr<pgas::Timeline> timeline;  ///< outlives the space
    std::unique_ptr<pgas::Space> space;
    std::unique_ptr<exchange::Tuner> tuner;
  };

  RankData cut_checked(comm::Communicator& communicator, std::span<const std::int64_t> starts);

  Member& member(const comm::Communicator& communicator) {
    return members_[static_cast<std::size_t>(communicator.rank() - ranks_->first())];
  }

  comm::Ranks* ranks_;
  data::Dataset whole_;
  const RowExchange exchange_;
  SessionOptions options_;  ///< with a rank's share of the threads
  std::vector<Member> members_;
  std::int64_t ghosts_ = 0;                  ///< of all ranks
  int negative_parts_ = 0;                   ///< with edges of negative weights; where the data are read by parts
  int large_parts_ = 0;                      ///< with large numbers; likewise
  std::string cut_;                          ///< how nodes were dealt out, for people
  std::vector<partition::Refusal> refused_;  ///< what --partition auto could not try
};

}  // namespace gneiss::train
