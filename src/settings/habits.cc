// Tables of words, compared without case, and with '-' for '_'. A row may have several words, separated by blanks.
#include "settings/habits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "settings/settings.h"

namespace gneiss::settings {
namespace {

struct OptionHabit {
  std::string_view words;
  std::string_view option;    ///< that does the same here; empty: there is none
  std::string_view sentence;  ///< what to know of it, or what there is instead
};

constexpr std::string_view kDataFirst = "the data set stands first: gneiss train DATA --model gcn";
constexpr std::string_view kByData = "leave it out: it follows from the data";
constexpr std::string_view kFromRun =
    "gneiss resume RUN goes on with a training that was stopped; gneiss train RUN/config.yaml repeats one, gneiss "
    "predict, embed and eval use its weights";

constexpr OptionHabit kOptions[] = {
    {"device cuda gpu gpus gpu-id no-cuda cpu use-gpu accelerator backend", "--device",
     "train, plan, predict, embed and eval take it: cuda, auto, emulated; all else runs on the processors"},
    {"num-workers workers n-workers num-threads n-threads nthreads jobs n-jobs num-cpus cpus", "--threads", ""},
    {"resume restart continue checkpoint ckpt load load-model pretrained restore load-checkpoint", "--resume",
     kFromRun},
    {"save-every save-steps save-interval checkpoint-interval checkpoint-freq checkpoint-steps ckpt-every "
     "snapshot-every",
     "--checkpoint-every", ""},
    {"ranks world-size nproc num-gpus nproc-per-node distributed local-rank", "--ranks",
     "a training runs in one process"},
    {"learning-rate lrate init-lr base-lr eta", "--lr", ""},
    {"wd l2 l2-reg l2-weight decay reg l2-regularization", "--weight-decay", ""},
    {"layers n-layers num-layer nlayers depth num-hidden-layers num-convs n-layer", "--num-layers", ""},
    {"hidden-dim hidden-size num-hidden n-hidden nhid hidden-units dim hid hid-dim hidden-channel h-dim width units "
     "emb-dim embedding-dim num-hid",
     "--hidden-channels", ""},
    {"num-epochs n-epochs max-epochs nepochs iterations num-iters steps max-steps", "--epochs", ""},
    {"n-runs num-runs repeat repeats trials num-trials n-trials", "--runs", ""},
    {"random-seed rng-seed manual-seed", "--seed", ""},
    {"drop dropout-rate p-dropout drop-rate feat-drop in-drop", "--dropout", ""},
    {"attn-drop attention-dropout", "", "it is an argument of gat: --model-arg attention_dropout=0.6"},
    {"num-heads n-heads nheads nhead attention-heads", "--heads", ""},
    {"activation act-fn nonlinearity activation-fn", "--act", ""},
    {"aggregator aggregator-type aggregation agg pooling reduce", "--aggr", ""},
    {"normalization norm-type batch-norm batchnorm layer-norm layernorm bn", "--norm", "for example --norm batch"},
    {"skip skip-connection residuals res", "--residual", ""},
    {"jumping-knowledge jump", "--jk", ""},
    {"opt optim optimiser", "--optimizer", ""},
    {"scheduler lr-scheduler sched", "--lr-schedule", ""},
    {"early-stopping early-stop stopping early-stopping-patience early-stopping-rounds es-patience", "--patience", ""},
    {"gradient-clip grad-clip clip max-grad-norm max-norm", "--clip-norm", ""},
    {"criterion objective loss-fn loss-function", "--loss", "it is chosen by the labels where none is given"},
    {"eval-metric score scoring measure metrics", "--metric", ""},
    {"eval-steps eval-interval log-steps log-interval log-every eval-freq", "--eval-every", ""},
    {"dataset dataset-name data-path data-dir data-root root graph graph-file edges edge-list edgelist input "
     "input-file data-file",
     "", kDataFirst},
    {"config conf cfg yaml run-file", "", "a run file stands in the place of the data set: gneiss train run.yaml"},
    {"feats feat x node-features features-file node-feat", "--features", ""},
    {"y label label-file targets node-labels node-label labels-file", "--labels", ""},
    {"train-mask train-idx train-index train-nodes", "--train-ids", ""},
    {"val-mask val-idx valid-ids valid-idx val-nodes valid-mask", "--val-ids", ""},
    {"test-mask test-idx test-index test-nodes", "--test-ids", ""},
    {"train-ratio val-ratio test-ratio split-ratio train-size test-size train-split train-rate train-percent",
     "--split", "for example --split ratio:60/20/20"},
    {"split-type split-name", "--split", ""},
    {"undirected symmetric bidirected to-bidirected make-undirected to-symmetric", "--to-undirected", ""},
    {"directed", "", "edges are read in the direction in which they stand; --to-undirected adds the others"},
    {"self-loop self-loops add-self-loop selfloop", "--add-self-loops", ""},
    {"lcc largest-cc", "--largest-component", ""},
    {"sep delimiter delim", "--separator", ""},
    {"edge-weight edge-weights weights", "--weight-column",
     "a column named weight is taken by itself; --ignore-weights leaves it out"},
    {"normalize feature-norm norm-features standardize normalise row-normalize", "--normalize-features",
     "for example --normalize-features row"},
    {"bs batchsize minibatch mini-batch train-batch-size", "--batch-size", ""},
    {"num-neighbors neighbors fan-out fanouts num-neighbours neighbor-sizes sizes", "--fanout",
     "for example --fanout 15,10,5"},
    {"fp16 half amp mixed-precision bf16 precision dtype", "--feature-dtype",
     "bf16 or f16 keep features in 16 bits; arithmetic is in f32"},
    {"output output-dir out-dir outdir save-dir save-path save-model log-dir logdir model-dir run-dir result-dir",
     "--out", ""},
    {"verbose v debug", "", "GNEISS_VERBOSE=dispatch shows the choice of kernels; gneiss plan shows the whole plan"},
    {"in-channels in-dim in-feats num-features input-dim n-features num-feats", "", kByData},
    {"out-channels out-dim num-classes n-classes output-dim num-class n-class", "", kByData},
    {"task task-type", "--label-kind", "class, multi or regression; it is told from the labels where none is given"},
    {"method arch architecture model-name gnn conv model-type net", "--model", ""},
    {"model-args model-kwargs kwargs", "--model-arg", "name=value, once for each"},
    {"memory max-memory mem-limit memory-limit", "--mem", ""},
    {"silent", "--quiet", ""},
};

struct ValueHabit {
  std::string_view key;
  std::string_view words;
  std::string_view help;
};

constexpr std::string_view kOwnModel =
    "it is not built in; a model of your own is a few lines in a .gneiss file (docs/language.md)";

constexpr ValueHabit kValues[] = {
    {"model.name", "graphsage graph-sage sageconv sage-conv", "did you mean 'sage'?"},
    {"model.name", "gcnconv graphconv graph-conv kipf gcn2 vanilla-gcn", "did you mean 'gcn'?"},
    {"model.name", "gatconv graph-attention attention", "did you mean 'gat'?"},
    {"model.name", "gatv2 gat-v2 gat2 gatv2conv", "it is an argument of gat: --model gat --model-arg v2=true"},
    {"model.name", "ginconv gin0 graph-isomorphism", "did you mean 'gin'?"},
    {"model.name", "nn dnn fc ffn perceptron logistic logreg linear",
     "did you mean 'mlp'? --num-layers 1 makes it linear"},
    {"model.name",
     "appnp sgc sgconv gcnii gcn-ii h2gcn mixhop transformer graph-transformer gps pna gine ginet chebnet cheb tagcn "
     "arma edgeconv rgcn r-gcn hgt han sign saint graphsaint graph-saint clustergcn cluster-gcn jknet dgcnn ggnn "
     "node2vec deepwalk",
     kOwnModel},
    {"train.metric", "f1 f1-score f-score fscore f", "did you mean 'micro_f1' or 'macro_f1'?"},
    {"train.metric", "micro f1-micro microf1", "did you mean 'micro_f1'?"},
    {"train.metric", "macro f1-macro macrof1 weighted-f1 f1-weighted", "did you mean 'macro_f1'?"},
    {"train.metric", "auc roc roc-auc auroc roc-auc-score aucroc", "did you mean 'rocauc'?"},
    {"train.metric", "acc accuracy-score top1 error", "did you mean 'accuracy'?"},
    {"train.metric", "l1 mean-absolute-error", "did you mean 'mae'?"},
    {"train.metric", "l2 mean-squared-error", "did you mean 'mse'?"},
    {"train.metric", "loss val-loss", "--monitor loss picks the epoch of the lowest validation loss"},
    {"train.monitor", "acc accuracy val-acc score val-metric f1 auc", "did you mean 'metric'? --metric says which"},
    {"train.monitor", "val-loss validation-loss", "did you mean 'loss'?"},
    {"loss.name", "ce nll nll-loss crossentropy cross-entropy-loss softmax softmax-cross-entropy categorical",
     "did you mean 'cross_entropy'?"},
    {"loss.name", "bce binary-cross-entropy bce-loss bcewithlogitsloss sigmoid binary",
     "did you mean 'bce_with_logits'?"},
    {"loss.name", "l2 mean-squared-error mseloss regression", "did you mean 'mse'?"},
    {"loss.name", "l1 mae huber smooth-l1 focal hinge", "it is not built in; leave the loss out: the labels choose it"},
    {"optim.name", "rmsprop adagrad adadelta nadam radam adamax lion lbfgs lamb",
     "it is not built in; take adam or adamw"},
    {"schedule.name", "none no off false fixed", "did you mean 'constant'?"},
    {"schedule.name", "cosineannealing cosineannealinglr cosine-annealing", "did you mean 'cosine'?"},
    {"schedule.name", "reducelronplateau reduce-on-plateau", "did you mean 'plateau'?"},
    {"schedule.name", "step steplr multistep multisteplr exponential exponentiallr linear",
     "it is not built in; take cosine or plateau"},
    {"data.normalize_features", "true yes on l1 sum rows row-normalize", "did you mean 'row'?"},
    {"data.normalize_features", "standardize zscore z-score standard-scaler standardscaler std",
     "did you mean 'standard'?"},
    {"data.normalize_features", "false no off", "did you mean 'none'?"},
    {"data.normalize_features", "minmax min-max l2", "it is not built in; take row or standard"},
    {"data.format", "csv tsv txt text edgelist edges snap konect", "did you mean 'edge-list'?"},
    {"data.format", "mtx mm", "did you mean 'matrix-market'?"},
    {"data.format", "npz", "leave it out: gnn-benchmark and heterophilous are told from the content"},
    {"data.format", "gr col", "did you mean 'dimacs'?"},
    {"data.format", "graph chaco", "did you mean 'metis'?"},
    {"data.feature_dtype", "float32 float fp32 single", "did you mean 'f32'?"},
    {"data.feature_dtype", "float16 half fp16", "did you mean 'f16'?"},
    {"data.feature_dtype", "bfloat16", "did you mean 'bf16'?"},
    {"data.label_kind", "classification classes single multiclass multi-class node-classification",
     "did you mean 'class'?"},
    {"data.label_kind", "multilabel multi-label binary", "did you mean 'multi'?"},
    {"data.label_kind", "real numeric float continuous number", "did you mean 'regression'?"},
    {"data.separator", ",", "did you mean 'comma'?"},
    {"data.separator", ";", "did you mean 'semicolon'?"},
    {"data.separator", "| pipes bar", "did you mean 'pipe'?"},
    {"data.separator", "blank blanks whitespace spaces", "did you mean 'space'?"},
    {"data.separator", "\\t tabs tsv tabulator", "did you mean 'tab'?"},
    {"data.decimal", ",", "did you mean 'comma'?"},
    {"data.decimal", ". dot period", "did you mean 'point'?"},
    {"train.reorder", "true auto-reorder cluster metis", "did you mean 'clusters'?"},
    {"train.reorder", "false no off", "did you mean 'none'?"},
    {"optim.weight_decay_on", "first-layer", "did you mean 'first'?"},
};

/// In lower case, '-' for '_', without dashes in front.
std::string plain(std::string_view word) {
  while (word.starts_with('-')) word.remove_prefix(1);
  std::string text(word);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return c == '_' || c == ' ' ? '-' : static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_among(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return !word.empty();
    words.remove_prefix(std::min(words.size(), end + 1));
  }
  return false;
}

/// What no, None and nothing at all mean for any setting.
std::string of_nothing(const Setting& setting, const std::string& word) {
  const bool nothing = is_among("no off false none null nil nan ~", word);
  if (!nothing) return {};
  if (std::find(setting.choices.begin(), setting.choices.end(), "none") != setting.choices.end())
    return "did you mean 'none'?";
  const bool number = setting.type == SettingType::kInteger || setting.type == SettingType::kReal;
  if (number && setting.least == 0) return "write 0, or leave it out for the default";
  return "leave it out for the default";
}

}  // namespace

std::string option_habit(std::string_view option, std::span<const std::string> known) {
  std::string word = plain(option);
  const auto row_of = [&] {
    return std::find_if(std::begin(kOptions), std::end(kOptions),
                        [&](const OptionHabit& habit) { return is_among(habit.words, word); });
  };
  const OptionHabit* row = row_of();
  if (row == std::end(kOptions)) return {};
  if (std::find(known.begin(), known.end(), row->option) == known.end()) return std::string(row->sentence);
  const bool proposal = row->option != "--device" && row->option != "--resume" && row->option != "--ranks";
  if (!proposal || row->sentence.empty()) return fmt::format("did you mean '{}'?", row->option);
  return fmt::format("did you mean '{}'? {}", row->option, row->sentence);
}

std::string value_habit(std::string_view key, std::string_view value) {
  const std::string word = plain(value);
  if (key == "data.separator" && (word.empty() || word == "-")) return "did you mean 'space' or 'tab'?";
  const auto* row = std::find_if(std::begin(kValues), std::end(kValues), [&](const ValueHabit& habit) {
    return habit.key == key && is_among(habit.words, word);
  });
  if (row != std::end(kValues)) return std::string(row->help);
  const Setting* setting = find_setting(key);
  return setting == nullptr ? std::string() : of_nothing(*setting, word);
}

}  // namespace gneiss::settings
