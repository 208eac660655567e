// The end of the model on the rows that the loss counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace gneiss::passes {

/// What all ranks have together: they choose by that, not by their parts.
struct LossRowsOfAll {
  std::int64_t nodes = 0;
  std::int64_t count = 0;            ///< rows that the loss counts
  std::vector<std::int64_t> edges;   ///< edges into them, by graph of the program
  std::vector<std::int64_t> graphs;  ///< all edges of these graphs
};

/// What is known of the rows that the loss counts.
struct LossRows {
  std::int64_t count = -1;          ///< -1: nothing, every row is computed
  std::vector<std::int64_t> edges;  ///< edges into them, by graph of the program
  std::int64_t label_bytes = 4;     ///< of a row: they are copied
  double most_share = 0.1;  ///< graphs and labels of them may take so much of what the graph and the features do,
  std::int64_t free_bytes = 4 << 20;  ///< or so much in any case
  bool marks = false;                 ///< where they would take more, sums along these edges are marked
  std::optional<LossRowsOfAll> of_all = std::nullopt;  ///< of a rank of several
};

/// Training needs logits for the nodes of the loss only. Back from them, ops that work row by row, and aggregations
/// into a row, are done for those rows alone, on a graph of the edges into them, as far as nothing else reads the other
/// rows; what lies before is selected. Evaluation keeps all rows. Bipartite graphs of this kind cost memory: it is done
/// where they are small beside the graph and the features (of `feature_bytes`). Elsewhere sums without weights get the
/// attributes loss = "rows" (no other rows of the result matter) and loss_edges, which their gradients pass on as
/// "sources" (all other rows of x are 0): a kernel that has these edges by themselves need not walk the others.
/// `decisions` says what was done, or why not.
ir::Program restrict_to_loss_rows(const ir::Program& program, const LossRows& rows, std::int64_t feature_bytes,
                                  std::vector<std::string>* decisions);

}  // namespace gneiss::passes
