// One batch on several threads: the same ids as one thread gives.
//
// Threads take fixed pieces of the hop, cut by the data alone. Where two of them see a new node, the table keeps the
// claim of the place that comes first in the hop's list; a claim that holds when all are in is a node's first sight,
// and counting those in order gives the ids. Source: the idea is GraphBolt's concurrent table (atomic minimum of first
// positions); how we differ: a claim needs no key beside it, and the table need not be cleared.
#include "base/parallel.h"
#include "minibatch/draws.h"
#include "minibatch/make_batch.h"

namespace gneiss::minibatch {
namespace {

constexpr std::int64_t kRowsPerTask = 256;
constexpr std::int64_t kEdgesPerTask = 8192;

}  // namespace

template <class Id>
void BatchInMaking<Id>::fill_together(const HopRows& rows, int threads) {
  const EdgeId begin = rows.begin();
  const std::int64_t count = rows.end() - begin;
  const std::int64_t tasks = num_chunks(count, kEdgesPerTask);
  check_room(0);
  Id* neighbours = work_.neighbours.reserve(count, 0);
  work_.ids.reserve(std::min(num_nodes_ + count, sampler_.graph().num_nodes()), work_.nodes.data(), num_nodes_);
  work_.picks_of_threads.resize(static_cast<std::size_t>(threads));
  work_.first_new.assign(static_cast<std::size_t>(tasks) + 1, 0);
  typename LocalIds<Id>::Seen seen{work_.nodes.data(), neighbours};

  parallel_tasks(threads, num_chunks(rows.last - rows.first, kRowsPerTask), [&](std::int64_t task, int thread) {
    const std::int64_t first = rows.first + task * kRowsPerTask;
    const std::int64_t last = std::min(rows.last, first + kRowsPerTask);
    PickScratch* scratch = &work_.picks_of_threads[static_cast<std::size_t>(thread)];
    for (std::int64_t i = first; i < last; ++i) {
      sampler_.pick(rows.hop, work_.rows.data()[i], work_.nodes.data()[i], rows.offsets[i + 1] - rows.offsets[i],
                    rows.edges + rows.offsets[i], scratch);
    }
    const EdgeId from = rows.offsets[first];
    const EdgeId to = rows.offsets[last];
    read_neighbours(rows.edges + from, to - from, neighbours + (from - begin));
    for (EdgeId e = from; e < to; ++e)
      work_.ids.claim(neighbours[e - begin], static_cast<std::uint32_t>(e - begin), seen);
  });

  const auto each_first_sight = [&](std::int64_t task, const auto& use) {
    const std::int64_t end = std::min(count, (task + 1) * kEdgesPerTask);
    for (std::int64_t p = task * kEdgesPerTask; p < end; ++p)
      if (work_.ids.claim_holds(neighbours[p], static_cast<std::uint32_t>(p), seen)) use(neighbours[p]);
  };
  parallel_tasks(threads, tasks, [&](std::int64_t task, int) {
    std::int64_t found = 0;
    each_first_sight(task, [&](Id) { ++found; });
    work_.first_new[static_cast<std::size_t>(task) + 1] = found;
  });
  work_.first_new[0] = num_nodes_;
  for (std::size_t t = 0; t < static_cast<std::size_t>(tasks); ++t) work_.first_new[t + 1] += work_.first_new[t];
  const std::int64_t num_nodes = work_.first_new[static_cast<std::size_t>(tasks)];
  check_room(num_nodes - num_nodes_);

  Id* nodes = work_.nodes.reserve(num_nodes, num_nodes_);
  seen.nodes = nodes;
  parallel_tasks(threads, tasks, [&](std::int64_t task, int) {
    std::int64_t local = work_.first_new[static_cast<std::size_t>(task)];
    each_first_sight(task, [&](Id node) {
      nodes[local] = node;
      work_.ids.settle(node, static_cast<std::int32_t>(local), seen);
      ++local;
    });
  });
  parallel_chunks(threads, count, kEdgesPerTask, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t p = from; p < to; ++p) rows.sources[begin + p] = work_.ids.local_of(neighbours[p], seen);
  });
  num_nodes_ = num_nodes;
}

template void BatchInMaking<std::int32_t>::fill_together(const HopRows&, int);
template void BatchInMaking<std::int64_t>::fill_together(const HopRows&, int);

}  // namespace gneiss::minibatch
