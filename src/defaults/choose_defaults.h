// The values that a training takes where nobody gave one: one rule for all data sets.
//
// The rule looks at facts that are known before training: how many labelled nodes there are to train on, how wide the
// features are, whether there is a validation set, and whether neighbours among the training nodes tend to be of one
// class. It knows no data set by name, and it looks at no label beyond the training nodes and at no score. Flags, run
// files and a model's own script overrule it key by key; `--defaults plain` switches it off.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace gneiss::defaults {

/// What the rule looks at.
struct Facts {
  std::int64_t features = 0;                       ///< columns of the features
  std::int64_t train_nodes = 0;                    ///< nodes to train on that have a label
  bool validates = false;                          ///< whether there are validation nodes
  std::optional<double> homophily = std::nullopt;  ///< see adjusted_homophily; where labels are scarce
};

/// How much oftener than by chance an edge between two training nodes joins one class: 1 always, 0 as often as if
/// classes were dealt out to the ends at random, below 0 less often. Empty where fewer than 20 edges tell, or nodes
/// have not one class each. Source [platonov2023characterizing].
std::optional<double> adjusted_homophily(const data::Dataset& dataset);

Facts facts_of(const data::Dataset& dataset);

/// A setting's key and the value it takes.
struct Choice {
  std::string key;
  std::string value;

  bool operator==(const Choice& other) const = default;
};

/// Chooses values for a built-in model, in the order of the settings' table. Empty for a model of the user: its own
/// text says what it starts from.
std::vector<Choice> choose_defaults(const Facts& facts, std::string_view model);

/// One line for people: "3 layers, 64 wide, …" as `hidden_channels 64, dropout 0.5`, with what decided it in front.
std::string describe(const Facts& facts, const std::vector<Choice>& taken);

/// The rule as a page of Markdown, made by calling it: a table of all models in both cases.
std::string defaults_markdown();

}  // namespace gneiss::defaults
