// Tables, one for each place where a habit can stand. A row may have several words, separated by blanks. The words are
// those of PyTorch, PyG, DGL, NumPy, TensorFlow and C, and those of the papers.
#include "language/habits.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/names.h"

namespace gneiss::language {
namespace {

struct Habit {
  std::string_view words;
  std::string_view help;
};

constexpr std::string_view kModelForm = "a model is written: model NAME(hidden: int = 16) { h = …; return h; }";
constexpr std::string_view kLayerForm =
    "a layer is written: layer NAME(x: node[F], out: int) -> node[out] { param W: [F, out]; …; return …; }";
constexpr std::string_view kNoStep = "nothing is to be written for it: gradients, loss and updates are made by train";

constexpr Habit kDefinitions[] = {
    {"def fn func fun sub proc lambda", kModelForm},
    {"class struct nn.Module", kLayerForm},
    {"import from include using namespace require package", "remove it: all layers and functions are known without it"},
    {"net network gnn Model Net", kModelForm},
    {"Layer conv", kLayerForm},
    {"param parameter weight", "parameters are declared within the layer that uses them: param W: [F, out];"},
    {"const let var int float", "give it as an argument with a default: model NAME(hidden: int = 16) { … }"},
    {"return for if", "statements stand within a model or layer: model NAME() { …; return …; }"},
    {"void auto public private static", "function is the word for a training script, layer and model for the rest"},
};

constexpr Habit kStatements[] = {
    {"let var const val final", "a name is made by giving it a value: h = relu(x);"},
    {"elif elseif elsif", "write: } else if … { … }"},
    {"pass", "an empty block is written { }"},
    {"def fn func lambda class", "layers and models are not nested: write the layer beside this one, and call it"},
    {"import from", "remove it: all layers and functions are known without it"},
    {"assert", "write: require CONDITION, \"what is wrong\";"},
    {"raise throw", "write: require CONDITION, \"what is wrong\";"},
    {"try with del global nonlocal yield async await",
     "there is nothing like it here; a network is fixed when compiled"},
    {"switch match case", "write: if … { … } else if … { … }"},
    {"foreach", "write: for i in 0..n { … }"},
    {"parameter Parameter weight weights buffer", "parameters are declared: param W: [F, out];"},
};

constexpr Habit kCalls[] = {
    // Activations.
    {"gelu GELU QuickGELU", "it is no function of the language; write x * sigmoid(1.702 * x), or take elu(x)"},
    {"silu SiLU swish Swish", "write x * sigmoid(x)"},
    {"softplus Softplus", "write log(1 + exp(x))"},
    {"ReLU Relu RELU", "write relu(x)"},
    {"relu6 ReLU6", "write min(relu(x), 6)"},
    {"hardtanh Hardtanh clamp clip", "write min(max(x, low), high)"},
    {"prelu PReLU rrelu RReLU", "write leaky_relu(x, 0.25), with a slope that is not trained"},
    {"LeakyReLU Leaky_ReLU leakyrelu leakyReLU lrelu leaky_ReLU", "write leaky_relu(x, 0.2)"},
    {"ELU selu SELU celu CELU", "write elu(x)"},
    {"Sigmoid expit logistic", "write sigmoid(x)"},
    {"logsigmoid LogSigmoid", "write log(sigmoid(x))"},
    {"Tanh", "write tanh(x)"},
    {"Identity", "leave it out: it changes nothing"},
    {"log_softmax LogSoftmax logsoftmax Softmax",
     "return the scores themselves: the loss takes their softmax. Over the edges of a node: softmax(e) over in_edges"},
    // Layers.
    {"Linear linear_layer Dense dense fc Linear_layer MLP FC", "write linear(x, out)"},
    {"GCNConv GraphConv gcn_conv graph_conv graphconv GCN gcnconv GCNLayer", "write gcn(x, out)"},
    {"SAGEConv GraphSAGE graphsage sage_conv SAGE sageconv SageConv", "write sage(x, out)"},
    {"GINConv GIN gin_conv ginconv", "write gin(x, out)"},
    {"GATConv GAT gat_conv gatconv", "write gat(x, out, heads)"},
    {"GATv2Conv GATv2 gatv2_conv gat_v2", "write gatv2(x, out, heads)"},
    {"Dropout dropout1d Dropout1d feature_dropout", "write dropout(x, p)"},
    {"BatchNorm BatchNorm1d batchnorm bn BatchNormalization batch_norm1d", "write batch_norm(x)"},
    {"LayerNorm layernorm LayerNormalization ln", "write layer_norm(x)"},
    {"GraphNorm InstanceNorm PairNorm RMSNorm GroupNorm", "norms are batch_norm(x) and layer_norm(x)"},
    {"Embedding Embed", "features are given with the data: one-hot rows with linear(x, out) are an embedding"},
    {"Sequential ModuleList ModuleDict",
     "layers are called one after the other: h = relu(gcn(x, 16)); in a loop for l in 0..n"},
    {"Parameter parameter zeros ones randn rand empty Tensor tensor full eye", "declare it: param W: [F, out];"},
    {"MultiheadAttention attention", "gat(x, out, heads) attends over neighbours; docs/language.md writes it out"},
    // Products and shapes.
    {"matmul mm bmm einsum addmm spmm sparse_mm multi_dot",
     "the product with a matrix is x * W; sums over neighbours are sum(z@src) over in_edges"},
    {"cat hstack concatenate stack vstack column_stack append", "write concat(a, b)"},
    {"reshape view flatten unsqueeze squeeze permute transpose expand",
     "columns keep their order; heads(x, h) names h heads of them"},
    {"t T", "declare the parameter the other way: param W: [F, out]; 'as \"weight\".T' stores it as PyTorch does"},
    {"size shape dim", "width(x) is the number of columns; num_features and num_classes are names"},
    {"to cuda cpu detach clone contiguous item numpy requires_grad_ half bfloat16",
     "leave it out: where values lie is not the program's matter"},
    {"chunk split slice narrow index_select gather select",
     "columns are not cut apart; write a linear(x, out) for each part"},
    // Neighbours.
    {"scatter scatter_add scatter_mean scatter_sum scatter_max segment_sum segment_mean propagate aggregate message "
     "message_passing update_all apply_edges aggr",
     "write sum(z@src) over in_edges, or mean, max, min"},
    {"copy_u copy_src u_mul_e copy_e",
     "a value of the source node at an edge is z@src; sum(z@src * edge_weight) over in_edges"},
    {"edge_softmax softmax_edges segment_softmax", "write softmax(e) over in_edges"},
    {"add_remaining_self_loops add_loops add_self_loop", "write graph = add_self_loops(graph);"},
    {"degree in_degrees deg", "in_degree and out_degree are names, without brackets"},
    {"out_degrees", "out_degree is a name, without brackets"},
    {"gcn_norm sym_norm normalize_adj",
     "gcn(x, out) has it; by hand: s = rsqrt(in_degree); sum((s * z)@src) over in_edges"},
    {"global_mean_pool global_add_pool global_max_pool readout mean_nodes sum_nodes",
     "values of whole graphs are not made; a model gives one score per class for every node"},
    // Reductions of other axes, arithmetic.
    {"avg average Mean AVG", "write mean(z@src) over in_edges"},
    {"add Sum SUM reduce_sum", "write a + b, or sum(z@src) over in_edges"},
    {"mul multiply mult prod times", "write a * b"},
    {"sub subtract", "write a - b"},
    {"div divide true_divide", "write a / b"},
    {"neg negative", "write -x"},
    {"amax maximum Max MAX argmax", "write max(a, b), or max(z@src) over in_edges"},
    {"amin minimum Min MIN argmin", "write min(a, b), or min(z@src) over in_edges"},
    {"pow power", "write x * x, sqrt(x) or rsqrt(x) (1 / sqrt(x))"},
    {"square", "write x * x"},
    {"abs fabs", "write max(x, -x)"},
    {"exp2 expm1", "write exp(x)"},
    {"ln log1p log2 log10", "write log(x)"},
    {"reciprocal inverse", "write 1 / x"},
    {"norm normalize l2_normalize L2Norm", "write x * rsqrt(dot(x, x)), where dot sums over the columns"},
    {"inner vdot cosine_similarity", "write dot(a, b)"},
    {"where cond select_if", "write relu, max or min, which hold for all nodes alike; if decides when compiling"},
    {"sin cos sign floor ceil round", "it is no function of the language; docs/language.md lists those there are"},
    // Programs.
    {"range arange enumerate zip reversed", "write: for l in 0..n { … }"},
    {"print printf println console.log", "leave it out: `gneiss plan` shows what a model becomes"},
    {"super __init__ forward", "leave it out: a layer is called by its name"},
    {"str format", "texts are filled in: \"convs.{l}\""},
    {"bool", "compare: x > 0"},
    {"backward step zero_grad train eval optimizer", kNoStep},
    {"cross_entropy nll_loss CrossEntropyLoss binary_cross_entropy_with_logits mse_loss BCEWithLogitsLoss MSELoss loss",
     "return the scores: the loss is chosen by the labels, or by --loss"},
    {"Adam SGD AdamW", "the optimizer is a setting: --optimizer adam --lr 0.01"},
};

constexpr Habit kNames[] = {
    {"None null NULL nil nullptr none undefined",
     "there is no empty value; leave the argument out, or write \"none\" where a text is meant"},
    {"self this", "parameters are used by their own names: param W: [F, out]; … x * W"},
    {"torch nn F np numpy tf jnp pyg dgl tg torch_geometric",
     "functions have no module in front: relu(x), linear(x, out)"},
    {"x X feat feats feature inputs input h0 node_features",
     "the input of a model is called features; a layer names its own: layer NAME(x: node[F], …)"},
    {"edge_index adj adj_t adjacency A edges data g G batch edge_attr blocks block",
     "the graph is not an argument: sum(z@src) over in_edges goes along its edges, edge_weight is its weights"},
    {"deg degree degrees in_deg indegree in_degrees", "write in_degree or out_degree"},
    {"out_deg outdegree out_degrees", "write out_degree"},
    {"in_channels in_features in_dim input_dim in_feats num_node_features n_features nfeat in_size input_size",
     "write num_features, or width(x) of any value"},
    {"out_channels out_features out_dim output_dim n_classes nclass num_class out_size n_class", "write num_classes"},
    {"num_nodes n_nodes N", "layers do not ask for it: sums over edges know their graph"},
    {"weights edge_weights ew edge_w", "write edge_weight"},
    {"src dst u v", "the ends of an edge are asked of a value: z@src, z@dst"},
    {"in_edges out_edges", "it follows a reduction: sum(z@src) over in_edges"},
    {"inf infinity Infinity nan NaN pi", "numbers are written out"},
    {"y label labels target", "a model gives scores and sees no labels; the loss compares them"},
    {"training", "dropout and norms know by themselves whether the model trains"},
    {"hidden hidden_channels hidden_dim hidden_size nhid num_layers dropout_p heads",
     "declare it as an argument: model NAME(hidden: int = 16) { … }"},
};

constexpr Habit kMembers[] = {
    {"T mT H", "declare the parameter the other way: param W: [F, out]; 'as \"weight\".T' stores it as PyTorch does"},
    {"shape size ndim dim", "width(x) is the number of columns"},
    {"edge_index adj adj_t edge_attr", "sum(z@src) over in_edges goes along the edges, edge_weight is their weights"},
    {"num_nodes num_edges", "layers do not ask for it: sums over edges know their graph"},
    {"num_features num_node_features in_channels", "write num_features, or width(x) of any value"},
    {"num_classes out_channels", "write num_classes"},
    {"device dtype grad data", "leave it out: where values lie is not the program's matter"},
    {"in_degree in_degrees", "write in_degree"},
    {"out_degree out_degrees", "write out_degree"},
    {"src srcdata", "write z@src"},
    {"dst dstdata", "write z@dst"},
};

constexpr Habit kEnds[] = {
    {"source Source sources from u i_src SRC row", "write @src"},
    {"target Target dest destination to v j_dst DST dst_node col", "write @dst"},
    {"edge e", "write @src or @dst: a node value is taken at one end of each edge"},
};

constexpr Habit kEdges[] = {
    {"in_neighbors in_neighbours in_nbrs neighbors neighbours neighborhood nbrs in edges edge incoming N in_edge "
     "in_neighbor src sources",
     "write over in_edges"},
    {"out_neighbors out_neighbours out_nbrs out outgoing out_edge dst", "write over out_edges"},
    {"nodes node graph all", "values of whole graphs are not made; a reduction runs over the in_edges of each node"},
    {"columns features heads dim", "write dot(a, b) for a sum over columns, sum_heads(x, h) for one over heads"},
};

constexpr Habit kInits[] = {
    {"xavier xavier_uniform xavier_uniform_ glorot_uniform glorot_normal xavier_normal xavier_normal_ Xavier Glorot",
     "write glorot"},
    {"kaiming kaiming_uniform kaiming_normal kaiming_uniform_ kaiming_normal_ he_uniform he_normal He Kaiming",
     "write he, or linear for the first weights of torch.nn.Linear"},
    {"zero zeros_ Zeros", "write zeros"},
    {"one ones_ Ones", "write ones"},
    {"randn gaussian normal_ Normal", "write normal(0.1)"},
    {"rand uniform_ random", "write uniform(0.1)"},
    {"const constant_ full fill", "write constant(0.5)"},
    {"torch nn default", "write linear for the first weights of torch.nn.Linear, glorot for PyG's"},
};

constexpr Habit kTypes[] = {
    {"Tensor tensor torch Matrix matrix ndarray vector array",
     "write node[F] for values of nodes, edge[F] for values of edges"},
    {"nodes vertex vertices Node", "write node[F]"},
    {"edges Edge", "write edge[F]"},
    {"integer Int i32 i64 size_t long int64 int32 unsigned", "write int"},
    {"double real number Float f32 f64 float32 float64", "write float"},
    {"boolean Bool", "write bool"},
    {"str String text char", "write string, or the texts that are allowed: \"relu\" | \"elu\""},
    {"List tuple Tuple", "write list"},
    {"graph Graph", "the graph is not an argument of layers: sums over in_edges know it"},
};

constexpr std::string_view kModules[] = {"torch", "nn",     "F",    "np",         "numpy", "tf",   "jnp",
                                         "pyg",   "dgl",    "tg",   "functional", "self",  "this", "torch_geometric",
                                         "keras", "layers", "init", "math"};

/// Texts that an argument of a model may be given, by the words that others use.
struct Choice {
  std::string_view words;
  std::string_view choice;
};

constexpr Choice kChoices[] = {
    {"add plus sum_pool sum_pooling total", "sum"},
    {"avg average mean_pool", "mean"},
    {"maximum pool max_pool pooling", "max"},
    {"minimum min_pool", "min"},
    {"batch_norm BatchNorm BatchNorm1d batchnorm bn", "batch"},
    {"layer_norm LayerNorm layernorm ln", "layer"},
    {"GraphNorm graph_norm graph", "layer_graph"},
    {"gelu GELU silu SiLU swish selu celu softplus mish", "elu"},
    {"ReLU Relu relu6", "relu"},
    {"ELU", "elu"},
    {"prelu leaky lrelu LeakyReLU leakyrelu", "leaky_relu"},
    {"identity linear no off None null", "none"},
    {"concat concatenate concatenation", "cat"},
    {"lstm LSTM", "max"},
};

struct CharacterHabit {
  std::uint32_t first;
  std::uint32_t last;
  std::string_view help;
};

constexpr CharacterHabit kCharacters[] = {
    {'\'', '\'', "strings are written with double quotes: \"…\""},
    {'`', '`', "strings are written with double quotes: \"…\""},
    {'^', '^', "powers are written x * x, sqrt(x) or rsqrt(x) (1 / sqrt(x))"},
    {'~', '~', "'!' negates a condition, '-' a number"},
    {'\\', '\\', "a statement runs on over lines by itself, up to its ';'"},
    {'$', '$', "names stand without a mark: letters, digits and '_'"},
    {0x00B2, 0x00B3, "powers are written x * x"},
    {0x00B7, 0x00B7, "write '*'"},
    {0x00D7, 0x00D7, "write '*'"},
    {0x00F7, 0x00F7, "write '/'"},
    {0x0391, 0x03C9, "names are written in ASCII letters: alpha, sigma, W"},
    {0x2010, 0x2015, "write '-'"},
    {0x2018, 0x201F, "strings are written with double quotes: \"…\""},
    {0x00AB, 0x00AB, "strings are written with double quotes: \"…\""},
    {0x00BB, 0x00BB, "strings are written with double quotes: \"…\""},
    {0x2022, 0x2022, "write '*'"},
    {0x2026, 0x2026, "write '..' between the bounds of a loop"},
    {0x2190, 0x2190, "write '='"},
    {0x2192, 0x2192, "write '->'"},
    {0x21D2, 0x21D2, "write '->'"},
    {0x2211, 0x2211, "write sum(z@src) over in_edges"},
    {0x2212, 0x2212, "write '-'"},
    {0x2217, 0x2217, "write '*'"},
    {0x221A, 0x221A, "write sqrt(x)"},
    {0x2260, 0x2260, "write '!='"},
    {0x2264, 0x2264, "write '<='"},
    {0x2265, 0x2265, "write '>='"},
    {0x22C5, 0x22C5, "write '*'"},
};

bool is_among(std::string_view words, std::string_view name) {
  while (!words.empty()) {
    const std::size_t blank = std::min(words.find(' '), words.size());
    if (words.substr(0, blank) == name) return true;
    words.remove_prefix(std::min(blank + 1, words.size()));
  }
  return false;
}

const Habit* find(std::span<const Habit> table, std::string_view name) {
  for (const Habit& habit : table) {
    if (is_among(habit.words, name)) return &habit;
  }
  return nullptr;
}

std::string help_of(std::span<const Habit> table, std::string_view name) {
  const Habit* habit = find(table, name);
  return habit == nullptr ? std::string() : std::string(habit->help);
}

}  // namespace

std::string definition_habit(std::string_view word) { return help_of(kDefinitions, word); }
std::string statement_habit(std::string_view word) { return help_of(kStatements, word); }
std::string call_habit(std::string_view name) { return help_of(kCalls, name.substr(name.rfind('.') + 1)); }
std::string name_habit(std::string_view name) { return help_of(kNames, name); }
std::string end_habit(std::string_view end) { return help_of(kEnds, end); }
std::string edges_habit(std::string_view edges) { return help_of(kEdges, edges); }
std::string init_habit(std::string_view name) { return help_of(kInits, name); }
std::string type_habit(std::string_view name) { return help_of(kTypes, name); }

std::string choice_habit(std::string_view text, std::span<const std::string> choices) {
  for (const Choice& row : kChoices) {
    if (is_among(row.words, text) && std::find(choices.begin(), choices.end(), row.choice) != choices.end())
      return fmt::format("did you mean '{}'? known: {}", row.choice, join(choices, ", "));
  }
  return unknown_name_hint(text, choices);
}

std::string member_habit(std::string_view object, std::string_view member) {
  if (object == "self" || object == "this")
    return fmt::format("parameters are used by their own names: param {0}: [F, out]; … x * {0}", member);
  if (member == "x" && (object == "data" || object == "batch")) return "the input of a model is called features";
  return help_of(kMembers, member);
}

std::string character_habit(std::uint32_t code) {
  if (code > 0xFF00 && code < 0xFF5F) return fmt::format("write '{}'", static_cast<char>(code - 0xFEE0));  // full width
  const auto* found = std::find_if(std::begin(kCharacters), std::end(kCharacters), [&](const CharacterHabit& habit) {
    return code >= habit.first && code <= habit.last;
  });
  return found == std::end(kCharacters) ? std::string() : std::string(found->help);
}

bool is_module_habit(std::string_view name) {
  return std::find(std::begin(kModules), std::end(kModules), name) != std::end(kModules);
}

}  // namespace gneiss::language
