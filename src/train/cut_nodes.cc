// Every rank cuts by itself; a method that is not the same on all machines shows in the hash of the cut.
#include "train/cut_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/hash_bytes.h"
#include "data/preprocess.h"
#include "partition/contiguous.h"

namespace gneiss::train {

NodeCut find_cut(int parts, const Cutting& cutting, int threads, const data::Dataset& dataset) {
  NodeCut made;
  if (std::ssize(dataset.part_starts) == parts + 1) {
    made.starts = dataset.part_starts;
    made.description = "parts of the data set";
    return made;
  }
  partition::Owners owners;
  if (cutting.method == "contiguous") {
    owners = partition::owners_of(partition::contiguous(dataset.graph.offsets(), parts));
    made.method = cutting.method;
    made.description = "parts of consecutive nodes";
  } else {
    const auto start = std::chrono::steady_clock::now();
    partition::Cut cut = partition::cut_graph(dataset.graph, cutting.method, {.parts = parts, .threads = threads},
                                              cutting.model, &made.refused);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    made.method = cut.method;
    made.description =
        fmt::format("parts by {}{}{}{} ({:.2f} s)", cut.method, cutting.method == "auto" ? " (auto)" : "",
                    cut.remark.empty() ? "" : ", ", cut.remark, seconds);
    owners = std::move(cut.owners);
  }
  partition::PartOrder by_part = partition::order_by_part(dataset.graph, owners, parts);
  made.starts = std::move(by_part.starts);
  if (!std::is_sorted(by_part.order.begin(), by_part.order.end())) made.order = std::move(by_part.order);
  return made;
}

NodeCut cut_nodes(int parts, const Cutting& cutting, int threads, data::Dataset* dataset) {
  NodeCut made = find_cut(parts, cutting, threads, *dataset);
  if (!made.order.empty()) data::permute(made.order, threads, dataset);
  return made;
}

std::uint64_t cut_hash(const data::Dataset& dataset, std::span<const std::int64_t> starts) {
  const std::uint64_t hash = hash_bytes(starts.data(), starts.size_bytes());
  return hash_bytes(dataset.orig_id.data(), dataset.orig_id.size() * sizeof(dataset.orig_id[0]), hash);
}

}  // namespace gneiss::train
