// What options and values of other programs are called here: those of PyTorch Geometric's, DGL's and OGB's scripts.
//
// A word is looked up here before the nearest known name is suggested: `f1` is nearest to nothing, `graphsage` is
// nearest to `sage` by luck, and no spelling leads from `--num-workers` to `--threads`.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gneiss::settings {

/// What an option of other programs ("--num-workers") is here, as a sentence for a hint; "" if it is nobody's habit.
/// `known` are the options at hand, with dashes: no other one is proposed.
std::string option_habit(std::string_view option, std::span<const std::string> known);

/// Likewise for a value of a setting ("train.metric", "f1").
std::string value_habit(std::string_view key, std::string_view value);

}  // namespace gneiss::settings
