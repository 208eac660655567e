// Rows are cut among tasks by edges where there are offsets, else evenly.
#include "kernels/bands.h"

namespace gneiss::kernels {

std::vector<std::int64_t> cut_rows(std::span<const EdgeId> offsets, std::int64_t rows, std::int64_t tasks) {
  std::vector<std::int64_t> cuts;
  cut_rows(offsets, rows, tasks, &cuts);
  return cuts;
}

void cut_rows(std::span<const EdgeId> offsets, std::int64_t rows, std::int64_t tasks, std::vector<std::int64_t>* cuts) {
  // What a row costs besides its edges, in edges: the dense work on a row of 32 columns measured against an edge of as
  // many.
  constexpr std::int64_t kRowCost = 4;
  const auto cost = [&](std::int64_t row) {
    return (offsets.empty() ? 0 : offsets[static_cast<std::size_t>(row)]) + kRowCost * row;
  };
  cuts->assign(1, 0);
  for (std::int64_t task = 1; task < tasks; ++task) {
    const std::int64_t wanted = cost(rows) / tasks * task;
    std::int64_t low = cuts->back() + 1;
    std::int64_t high = rows - (tasks - task);
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (cost(middle) < wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    cuts->push_back(low);
  }
  cuts->push_back(rows);
}

std::int64_t cut_rows_at(std::int64_t first, std::span<const EdgeId> offsets, std::int64_t rows, std::int64_t tasks,
                         std::vector<std::int64_t>* cuts) {
  cut_rows(offsets, rows, tasks > 1 ? tasks - 1 : tasks, cuts);
  if (tasks <= 1) return 0;
  const auto place = std::lower_bound(cuts->begin(), cuts->end(), first);
  const std::int64_t before = place - cuts->begin();
  if (place == cuts->end() || *place != first) cuts->insert(place, first);
  return before;
}

}  // namespace gneiss::kernels
