// The numbers that the tuner of the exchange fine found, kept in the user's cache folder for the next training of the
// same kind. No result depends on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "exchange/resources.h"
#include "graph/graph.h"
#include "ir/program.h"

namespace gneiss::jobs {

/// What numbers are good for: a graph by the in-degrees of its nodes, columns that are gathered, devices, what the
/// model reduces by ("mean sum"). Files are those of a machine.
std::string tuned_key(const graph::Graph& graph, const ir::Program& model, std::int64_t columns, int devices);

/// Of an earlier training; none where there is none. `*warning`: why a file that is there is not used.
std::optional<exchange::Tuning> load_tuned(const std::string& key, std::string* warning);

/// Keeps them beside those of other keys. "" or, where that fails, why.
std::string save_tuned(const std::string& key, const exchange::Tuning& tuning);

}  // namespace gneiss::jobs
