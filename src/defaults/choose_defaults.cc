// Two cases, told apart by one comparison: labelled training nodes against columns of features.
//
// Scarce labels, as in citation graphs with 20 nodes a class: a unit of the first layer alone has more weights than
// there are examples, so nearly any model fits them all, and what counts is to keep it from doing so. Two layers,
// dropout on features and hidden values, weight decay, and validation loss and score both decide which epoch is best.
// Where neighbours are of other classes oftener than by chance (heterophily), the node's own features have to reach the
// classes: residual connections and a readout of all layers, and much decay, since neighbours only add noise. GIN's sum
// weighs the node itself by 1 + eps.
// Enough labels: the features alone say less, so the place in the graph has to say more. Three layers, which need a
// norm and residual connections to train, and a readout of all of them, because the last ones of a network that
// averages no longer know what the node itself was; little dropout, no decay.
//
// Width 64, Adam at 0.01, and GAT's 0.005 with dropout 0.6 are the literature's habits (Kipf and Welling 2017;
// Velickovic et al. 2018; Shchur et al. 2018). The rest was chosen on one half of the published data sets and tried on
// the other; docs/training.md has the table.
#include "defaults/choose_defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "data/parts.h"

namespace gneiss::defaults {
namespace {

constexpr std::array<std::string_view, 5> kModels = {"gcn", "sage", "gin", "gat", "mlp"};

bool scarce_labels(const Facts& facts) { return facts.train_nodes <= facts.features; }

/// Are neighbours of other classes oftener than by chance?
bool heterophilous(const Facts& facts) { return facts.homophily && *facts.homophily < 0; }

/// Model and optimizer where labels are scarce.
void add_for_scarce_labels(std::string_view model, bool own_features, std::vector<Choice>* choices) {
  const auto add = [&](const char* key, const char* value) { choices->push_back({key, value}); };
  // Sums over neighbours grow with the degree: without a norm GIN does not leave chance on graphs with hubs. They fit
  // the training nodes at once, too, so GIN decays more and slower than the others; its readout of both layers spares
  // the classes a second sum over the neighbours.
  const bool gin = model == "gin";
  const bool gat = model == "gat";
  add("model.dropout", gat ? "0.6" : "0.5");
  add("model.input_dropout", gat || gin ? "0.6" : "0.5");
  const bool graph = model != "mlp";
  if (gin) add("model.norm", "layer");
  if (gin || (own_features && graph)) add("model.jk", "cat");
  if (own_features && graph) add("model.residual", "true");
  if (own_features && gin) add("model.args.eps", "30");
  add("optim.lr", gat || gin ? "0.005" : "0.01");
  const char* const decay = gin ? "0.01" : "0.0005";
  add("optim.weight_decay", own_features && graph ? "0.005" : decay);
}

/// Model and optimizer where there are enough labels.
void add_for_enough_labels(std::string_view model, std::vector<Choice>* choices) {
  const auto add = [&](const char* key, const char* value) { choices->push_back({key, value}); };
  add("model.num_layers", "3");
  add("model.dropout", "0.2");
  add("model.input_dropout", "0");
  add("model.norm", "layer");
  if (model != "mlp") {
    add("model.jk", "cat");
    add("model.residual", "true");
  }
  add("optim.lr", model == "gat" ? "0.005" : "0.01");
  add("optim.weight_decay", "0");
}

/// "hidden_channels" of "model.hidden_channels", "eps" of "model.args.eps".
std::string_view short_name(std::string_view key) { return key.substr(key.rfind('.') + 1); }

}  // namespace

Facts facts_of(const data::Dataset& dataset) {
  const data::Labels& labels = dataset.labels;
  const auto has_label = [&](NodeId node) {
    if (labels.kind == data::LabelKind::kNone) return false;
    if (labels.kind == data::LabelKind::kSingle) return labels.classes[static_cast<std::size_t>(node)] >= 0;
    const float* const targets = labels.targets.data() + static_cast<std::int64_t>(node) * labels.num_classes;
    return std::any_of(targets, targets + labels.num_classes, [](float target) { return !std::isnan(target); });
  };
  const auto count = [&](const std::vector<NodeId>& nodes) {
    return std::count_if(nodes.begin(), nodes.end(), has_label);
  };
  Facts facts{dataset.features.cols, count(dataset.split.train), count(dataset.split.val) > 0};
  if (scarce_labels(facts)) facts.homophily = adjusted_homophily(dataset);
  return facts;
}

std::optional<double> adjusted_homophily(const data::Dataset& dataset) {
  constexpr std::int64_t kLeastEdges = 20;
  if (dataset.labels.kind != data::LabelKind::kSingle || dataset.graph.num_edges() == 0) return {};
  std::vector<std::int32_t> known(static_cast<std::size_t>(dataset.num_nodes()), -1);
  for (const NodeId node : dataset.split.train)
    known[static_cast<std::size_t>(node)] = dataset.labels.classes[static_cast<std::size_t>(node)];
  const auto classes = static_cast<std::size_t>(dataset.labels.num_classes);
  std::vector<double> starts(classes);
  std::vector<double> ends(classes);
  std::int64_t edges = 0;
  std::int64_t agreeing = 0;
  const graph::Graph& graph = dataset.graph;
  for (const NodeId node : dataset.split.train) {
    const auto v = static_cast<std::size_t>(node);
    if (known[v] < 0) continue;
    if (dataset.by_parts) data::check_in_edges(dataset, node, node + 1);
    for (EdgeId e = graph.offsets()[v]; e < graph.offsets()[v + 1]; ++e) {
      const auto u = static_cast<std::size_t>(graph.sources()[static_cast<std::size_t>(e)]);
      if (u == v || known[u] < 0) continue;
      ++edges;
      agreeing += known[u] == known[v];
      ++starts[static_cast<std::size_t>(known[u])];
      ++ends[static_cast<std::size_t>(known[v])];
    }
  }
  if (edges < kLeastEdges) return {};
  const auto all = static_cast<double>(edges);
  double by_chance = 0;
  for (std::size_t c = 0; c < classes; ++c) by_chance += starts[c] / all * (ends[c] / all);
  if (by_chance >= 1) return {};
  return (static_cast<double>(agreeing) / all - by_chance) / (1 - by_chance);
}

std::vector<Choice> choose_defaults(const Facts& facts, std::string_view model) {
  std::vector<Choice> choices;
  if (std::find(kModels.begin(), kModels.end(), model) == kModels.end()) return choices;
  const bool scarce = scarce_labels(facts);
  choices.push_back({"model.hidden_channels", "64"});
  if (scarce) {
    add_for_scarce_labels(model, heterophilous(facts), &choices);
  } else {
    add_for_enough_labels(model, &choices);
  }
  choices.push_back({"train.epochs", "300"});
  if (!facts.validates) return choices;
  choices.push_back({"train.patience", "50"});
  // Few validation nodes make a coarse score; with many the score is what is wanted.
  choices.push_back({"train.monitor", scarce ? "both" : "metric"});
  return choices;
}

std::string describe(const Facts& facts, const std::vector<Choice>& taken) {
  const bool own_features = scarce_labels(facts) && heterophilous(facts);
  std::string text =
      fmt::format("{} labels ({} training nodes, {} features){}", scarce_labels(facts) ? "scarce" : "enough",
                  facts.train_nodes, facts.features, own_features ? ", neighbours of other classes" : "");
  for (const Choice& choice : taken)
    text += fmt::format("{} {} {}", &choice == taken.data() ? ":" : ",", short_name(choice.key), choice.value);
  return text;
}

const char* label_case(const Facts& facts) {
  if (!scarce_labels(facts)) return "enough";
  return heterophilous(facts) ? "scarce, neighbours of other classes" : "scarce";
}

std::string defaults_markdown() {
  const Facts scarce{2, 1, true};
  const Facts other_classes{2, 1, true, -1.0};
  const Facts enough{1, 2, true};
  std::string text = "| model | labels | values |\n|---|---|---|\n";
  for (const std::string_view model : kModels) {
    for (const Facts& facts : {scarce, other_classes, enough}) {
      std::string values;
      for (const Choice& choice : choose_defaults(facts, model))
        values += fmt::format("{}`{}: {}`", values.empty() ? "" : ", ", choice.key, choice.value);
      text += fmt::format("| {} | {} | {} |\n", model, label_case(facts), values);
    }
  }
  return text;
}

}  // namespace gneiss::defaults
