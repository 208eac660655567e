// Typed settings: gneiss/settings.h lists the table of settings by type, what does not fit does not compile, and each
// form of a value is one that its reader takes.
//
// Of a header that is behind the table the first test says so; with GNEISS_WRITE=1 it writes it anew.
#include "gneiss/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "data/split.h"
#include "exchange/machine.h"
#include "gneiss/config.h"
#include "gneiss/dataset.h"
#include "gneiss/partition.h"
#include "gneiss/schedule.h"
#include "gneiss/score.h"
#include "gneiss/synth.h"
#include "gneiss/train.h"
#include "jobs/checkpoint_rhythm.h"
#include "jobs/options.h"
#include "jobs/write_output.h"
#include "minibatch/sampler.h"
#include "schedule/plan.h"
#include "settings/settings.h"
#include "tiers/scorer.h"

namespace gneiss {
namespace {

using ::gneiss::settings::SettingType;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// The header, out of the table.

/// An enum of the header: the words are those of a choice, or are found elsewhere.
struct ChoiceType {
  std::string name;
  std::vector<std::string> words;
};

/// What an argument of the built-in models may be.
std::vector<std::string> words_of_argument(const std::string& name) {
  std::vector<std::string> words;
  for (const std::string& model : builtin_models()) {
    for (const ModelArgument& argument : model_arguments(model)) {
      if (argument.name != name) continue;
      for (const std::string& word : argument.choices) {
        if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
      }
    }
  }
  return words;
}

/// The enum of a setting; no name if its values are no choices.
ChoiceType choice_type(const settings::Setting& setting) {
  static const std::map<std::string, std::string> names = {
      {"data.format", "DataFormat"},
      {"data.normalize_features", "FeatureNorm"},
      {"data.feature_form", "FeatureForm"},
      {"data.feature_dtype", "FeatureType"},
      {"data.label_kind", "LabelKind"},
      {"data.separator", "Separator"},
      {"data.decimal", "DecimalMark"},
      {"model.aggr", "Aggregation"},
      {"model.norm", "Norm"},
      {"model.act", "Activation"},
      {"model.jk", "JumpingKnowledge"},
      {"loss.name", "Loss"},
      {"optim.name", "Optimizer"},
      {"optim.weight_decay_on", "DecayOn"},
      {"schedule.name", "LearningRateSchedule"},
      {"train.monitor", "Monitor"},
      {"train.metric", "Metric"},
      {"train.defaults", "DefaultsRule"},
      {"train.reorder", "NodeOrder"},
      {"train.partition", "PartitionMethod"},
      {"train.exchange", "RowExchange"},
      {"train.peer_memory", "PeerMemory"},
      {"train.machine", "VirtualMachine"},
      {"batch.semantics", "BatchSemantics"},
      {"batch.degrees", "BatchDegrees"},
      {"device.hot_score", "HotScore"},
      {"passes.off", "Pass"},
      {"passes.order", "ProductOrder"},
      {"passes.source_tiles", "SourceTiles"},
      {"passes.sparse_path", "SparsePath"},
  };
  const auto found = names.find(setting.key);
  if (found == names.end()) return {};
  ChoiceType type{found->second, setting.choices};
  if (setting.key.starts_with("model.")) type.words = words_of_argument(setting.key.substr(6));
  if (setting.key == "data.format") {
    type.words = {"auto"};
    for (const NamedSummary& format : dataset_formats()) type.words.push_back(format.name);
  }
  if (setting.key == "train.machine") {
    for (const exchange::Machine& machine : exchange::machines()) type.words.push_back(machine.name);
  }
  if (setting.key == "device.hot_score") {
    type.words = {"auto"};
    for (const tiers::Score score : tiers::parse_scores("auto", "test"))
      type.words.emplace_back(tiers::score_name(score));
  }
  if (setting.key == "passes.off") {
    for (const PassSummary& pass : list_passes()) {
      if (pass.optional) type.words.push_back(pass.name);
    }
  }
  return type;
}

/// The type of a setting's values; empty if none is known of a choice or a list.
std::string value_type(const settings::Setting& setting) {
  static const std::map<std::string, std::string> formed = {{"data.split", "Split"},
                                                            {"loss.class_weights", "ClassWeights"},
                                                            {"train.network", "Network"},
                                                            {"batch.fanout", "std::vector<std::int64_t>"},
                                                            {"device.name", "DeviceChoice"},
                                                            {"device.schedule", "BatchSchedule"},
                                                            {"device.hot", "HotRows"},
                                                            {"device.hot_edges", "HotRows"},
                                                            {"out.checkpoint_every", "CheckpointEvery"}};
  if (const auto found = formed.find(setting.key); found != formed.end()) return found->second;
  if (const std::string name = choice_type(setting).name; !name.empty()) {
    const bool several = setting.type == SettingType::kTextList || setting.key == "device.hot_score";
    return several ? "std::vector<" + name + ">" : name;
  }
  switch (setting.type) {
    case SettingType::kBool:
      return "bool";
    case SettingType::kInteger:
    case SettingType::kBytes:
      return "std::int64_t";
    case SettingType::kReal:
      return "double";
    case SettingType::kRealList:
      return "std::vector<double>";
    case SettingType::kText:
      return "std::string";
    case SettingType::kChoice:
    case SettingType::kTextList:
      break;
  }
  return {};
}

/// "train-standard" -> "kTrainStandard".
std::string enumerator(const std::string& word) {
  std::string name = "k";
  bool upper = true;
  for (const char c : word) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (letter) name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = !letter;
  }
  return name;
}

std::string identifier(std::string flag) {
  std::replace(flag.begin(), flag.end(), '-', '_');
  return flag;
}

/// Words with blanks between, in lines of the tree's width that begin with `start`.
std::string wrapped(const std::string& start, const std::string& text) {
  std::string out;
  std::string line = start;
  std::stringstream words(text);
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > 120) {
      out += line + "\n";
      line = start;
    }
    line += (line == start ? "" : " ") + word;
  }
  return out + line + "\n";
}

std::string enum_text(const ChoiceType& type, const settings::Setting& setting) {
  std::string list;
  std::string names;
  for (const std::string& word : type.words) {
    list += (list.empty() ? "" : ", ") + enumerator(word);
    names += (names.empty() ? "\"" : ", \"") + word + "\"";
  }
  return "/// Of keys::" + identifier(setting.flag) + ".\nenum class " + type.name + " : std::uint8_t {\n" +
         wrapped("  ", list) + "};\ntemplate <>\nstruct Choices<" + type.name +
         "> {\n  static constexpr std::string_view names[] = {\n" + wrapped("      ", names) + "  };\n};\n\n";
}

std::string header() {
  std::string enums;
  std::string keys;
  for (const settings::Setting& setting : settings::settings()) {
    if (const ChoiceType type = choice_type(setting); !type.name.empty()) enums += enum_text(type, setting);
    std::string type = value_type(setting);
    EXPECT_FALSE(type.empty()) << setting.key << ": no type of this choice or list; give it one in this test";
    // A "/" before "/" ends no comment; backslashes would, and there are none.
    keys += wrapped("/// ", setting.help) + "inline constexpr Setting<" + type + "> " + identifier(setting.flag) +
            "{\"" + setting.key + "\"};\n";
  }
  return "// Every setting of a run by its type: `config.set(keys::optimizer, Optimizer::kAdamw)`.\n"
         "//\n"
         "// Written from the table of settings, as api_settings_test holds; GNEISS_WRITE=1 has it write this file\n"
         "// anew. Keys are called as the flags of the command and the keywords of Python are.\n"
         "#pragma once\n\n"
         "#include <cstdint>\n#include <string>\n#include <string_view>\n#include <vector>\n\n"
         "#include \"gneiss/setting_values.h\"\n\n"
         "// clang-format off\n"
         "namespace gneiss {\n\n" +
         enums + "namespace keys {\n\n" + keys + "\n}  // namespace keys\n}  // namespace gneiss\n// clang-format on\n";
}

TEST(TypedSettings, TheHeaderListsTheTable) {
  const char* path = GNEISS_SOURCE_DIR "/include/gneiss/settings.h";
  const std::string expected = header();
  if (std::getenv("GNEISS_WRITE") != nullptr) std::ofstream(path) << expected;
  std::ifstream file(path);
  const std::string found(std::istreambuf_iterator<char>(file), {});
  EXPECT_TRUE(found == expected) << "include/gneiss/settings.h is behind the table of settings; "
                                    "GNEISS_WRITE=1 build/tests/api_settings_test writes it anew";
}

// What compiles.

template <class T, class V>
constexpr bool takes = requires(RunConfig config, Setting<T> setting, V value) {
  config.set(setting, value);
};

static_assert(takes<Optimizer, Optimizer>);
static_assert(!takes<Optimizer, Loss>, "a choice of another setting");
static_assert(!takes<Optimizer, const char*> && !takes<Optimizer, std::string> && !takes<Optimizer, int>);
static_assert(takes<double, double> && takes<double, float> && takes<double, int>);
static_assert(!takes<double, bool> && !takes<double, const char*>);
static_assert(takes<std::int64_t, int> && takes<std::int64_t, std::size_t>);
static_assert(!takes<std::int64_t, double>, "half an epoch");
static_assert(!takes<std::int64_t, bool> && !takes<std::int64_t, char> && !takes<std::int64_t, Optimizer>);
static_assert(takes<bool, bool> && !takes<bool, int> && !takes<bool, const char*>, "\"false\" would be true");
static_assert(takes<std::string, const char*> && takes<std::string, std::string> && !takes<std::string, int>);
static_assert(takes<std::vector<double>, std::vector<double>> && !takes<std::vector<double>, const char*>);
static_assert(!takes<std::vector<double>, double> && !takes<std::vector<double>, std::vector<std::int64_t>>);
static_assert(takes<std::vector<Pass>, std::vector<Pass>> && !takes<std::vector<Pass>, std::vector<std::string>>);
static_assert(takes<Split, Split> && !takes<Split, const char*> && !takes<HotRows, Split> && !takes<HotRows, double>);

static_assert(!std::is_convertible_v<const char*, Worded<PartitionMethod>>);
static_assert(!std::is_convertible_v<std::string, Worded<std::vector<HotScore>>>);
static_assert(!std::is_convertible_v<NodeOrder, Worded<PartitionMethod>>);
static_assert(std::is_convertible_v<PartitionMethod, Worded<PartitionMethod>>);

template <class V>
constexpr bool is_argument = requires(RunConfig config, V value) {
  config.set_argument("name", value);
};
static_assert(is_argument<bool> && is_argument<int> && is_argument<double> && is_argument<const char*>);
static_assert(!is_argument<std::vector<int>> && !is_argument<std::nullptr_t>);

// What is set.

TEST(TypedSettings, ValuesAreThoseOfTheTable) {
  RunConfig config;
  config.set(keys::optimizer, Optimizer::kAdamw);
  config.set(keys::lr, 0.1 + 0.2);
  config.set(keys::weight_decay, 1);
  config.set(keys::epochs, 7);
  config.set(keys::mem, std::int64_t{1} << 40);
  config.set(keys::nesterov, true);
  config.set(keys::model, "sage");
  config.set(keys::betas, {0.8, 0.95});
  config.set(keys::fanout, {15, -1});
  config.set(keys::passes_off, {Pass::kCse, Pass::kDce});
  config.set(keys::hot_score, {HotScore::kDegree, HotScore::kVip});
  config.set(keys::normalize_features, FeatureNorm::kTrainStandard);
  config.set_argument("project", true);
  config.set_argument("slope", 0.25);
  config.set_argument("mode", "max");
  EXPECT_EQ(config.get("optim.name"), "adamw");
  EXPECT_EQ(std::stod(config.get("optim.lr")), 0.1 + 0.2) << "every bit";
  EXPECT_EQ(config.get("train.epochs"), "7");
  EXPECT_EQ(config.get("train.mem"), "1099511627776");
  EXPECT_EQ(config.get("optim.nesterov"), "true");
  EXPECT_EQ(config.get("model.name"), "sage");
  EXPECT_EQ(config.get("optim.betas"), "0.8,0.95");
  EXPECT_EQ(config.get("batch.fanout"), "15,-1");
  EXPECT_EQ(config.get("passes.off"), "cse,dce");
  EXPECT_EQ(config.get("device.hot_score"), "degree,vip");
  EXPECT_EQ(config.get("data.normalize_features"), "train-standard");
  const auto values = config.values();
  EXPECT_EQ(values.at("model.args.project"), "true");
  EXPECT_EQ(values.at("model.args.slope"), "0.25");
  EXPECT_EQ(values.at("model.args.mode"), "max");
}

TEST(TypedSettings, NumbersOutOfRangeAreRefused) {
  RunConfig config;
  const auto refused = [&](auto set) {
    try {
      set();
      return std::string("accepted");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      return error.message();
    }
  };
  EXPECT_THAT(refused([&] { config.set(keys::epochs, 0); }), HasSubstr("train.epochs: expected a whole number"));
  EXPECT_THAT(refused([&] { config.set(keys::lr, -1); }), HasSubstr("optim.lr: expected a number of at least 0"));
  EXPECT_THAT(refused([&] { config.set(keys::lr, std::numeric_limits<double>::quiet_NaN()); }), HasSubstr("got 'nan'"));
  EXPECT_THAT(refused([&] { config.set(keys::epochs, std::numeric_limits<std::uint64_t>::max()); }),
              HasSubstr("got '18446744073709551615'"));
}

TEST(TypedSettings, ChoicesAreFoundByName) {
  EXPECT_EQ(find_choice<Optimizer>("adamw"), Optimizer::kAdamw);
  EXPECT_EQ(find_choice<Optimizer>("adma"), std::nullopt);
  EXPECT_EQ(choice_name(Metric::kMicroF1), "micro_f1");
}

/// The settings that a typed value makes, as jobs read them.
template <class T, class V>
settings::Config config_of(const Setting<T>& setting, const V& value) {
  RunConfig typed;
  typed.set(setting, value);
  settings::Config config;
  config.set(setting.key, typed.get(setting.key), settings::Origin::kFlag, "test");
  return config;
}

TEST(TypedSettings, FormsAreWhatTheirReadersTake) {
  using std::chrono::microseconds;
  EXPECT_EQ(schedule::parse_choice(BatchSchedule::coin_flip(0.3).text(), "test").ratio, 0.3);
  for (const BatchSchedule& one :
       {BatchSchedule::paper(), BatchSchedule::best(), BatchSchedule::cpu(), BatchSchedule::device()})
    EXPECT_EQ(schedule::mode_name(schedule::parse_choice(one.text(), "test").mode), one.text());
  EXPECT_EQ(jobs::hot_row_count(config_of(keys::hot, HotRows::share(0.07)), 1000), 70);
  EXPECT_EQ(jobs::hot_row_count(config_of(keys::hot, HotRows::rows(5)), 1000), 5);
  EXPECT_EQ(jobs::hot_edge_count(config_of(keys::hot_edges, HotRows::share(1)), 1000), 1000);
  EXPECT_TRUE(jobs::CheckpointRhythm(config_of(keys::checkpoint_every, CheckpointEvery::steps(1))).is_due());
  EXPECT_FALSE(jobs::CheckpointRhythm(config_of(keys::checkpoint_every, CheckpointEvery::when_stopped())).is_due());
  EXPECT_FALSE(
      jobs::CheckpointRhythm(config_of(keys::checkpoint_every, CheckpointEvery::time(std::chrono::minutes(10))))
          .is_due());
  EXPECT_THAT(minibatch::parse_fanout(setting_text(std::vector<std::int64_t>{15, -1}), "test"), ElementsAre(15, -1));
  EXPECT_TRUE(jobs::names_batch_device(config_of(keys::device, DeviceChoice::simulated("v100"))));
  EXPECT_TRUE(jobs::names_batch_device(config_of(keys::device, DeviceChoice::host_threads("machine.json"))));
  EXPECT_EQ(DeviceChoice::cuda(1).text(), "cuda:1");
  EXPECT_EQ(DeviceChoice::cuda({0, 2}).text(), "cuda:0,2");
}

TEST(TypedSettings, RequestsTakeChoices) {
  std::vector<std::string> targets;
  for (const SynthTarget& target : synth_targets()) targets.push_back(target.name);
  EXPECT_THAT(targets, ElementsAreArray(Choices<ProgramTarget>::names));
  for (const std::string_view name : Choices<OutputFile>::names)
    EXPECT_NO_THROW(jobs::output_format(std::string(name), "")) << name;
  EXPECT_THROW(jobs::output_format("xls", ""), Error);
  RunConfig karate;
  karate.set(keys::data, "karate");
  karate.set(keys::batch_size, 8);
  karate.set(keys::fanout, {3, 2});
  PartitionRequest cut;
  cut.method = PartitionMethod::kContiguous;
  EXPECT_EQ(partition_dataset(karate, cut).method, "contiguous");
  ScoreRequest score;
  score.scores = std::vector{HotScore::kDegree, HotScore::kVip};
  EXPECT_THAT(score_nodes(karate, score).text, AllOf(HasSubstr("degree"), HasSubstr("vip")));
  ScheduleRequest schedule;
  schedule.profile = machine_profiles()[0].name;
  schedule.schedule = BatchSchedule::coin_flip(0.5);
  EXPECT_GT(simulate_schedule(schedule).epoch_seconds, 0);
}

/// Plans and trainings of karate take each form of what only they read.
TEST(TypedSettings, TrainingsTakeTheirForms) {
  const auto config = [] {
    RunConfig karate;
    karate.set(keys::data, "karate");
    karate.set(keys::epochs, 1);
    karate.set(keys::save, false);
    karate.set(keys::threads, 1);
    return karate;
  };
  for (const Split& split : {Split::random(), Split::shchur(), Split::ratio(60, 20, 20)}) {
    RunConfig typed = config();
    typed.set(keys::split, split);
    EXPECT_EQ(train_model(typed).losses[0].size(), 1U) << split.text();
  }
  for (const ClassWeights& weights : {ClassWeights::balanced(), ClassWeights::given({1, 0.5})}) {
    RunConfig typed = config();
    typed.set(keys::class_weights, weights);
    EXPECT_EQ(train_model(typed).losses[0].size(), 1U) << weights.text();
  }
  for (const DeviceChoice& device : {DeviceChoice::cpu(), DeviceChoice::automatic(), DeviceChoice::emulated()}) {
    RunConfig typed = config();
    typed.set(keys::device, device);
    EXPECT_GT(plan_training(typed).peak_bytes, 0) << device.text();
  }
  RunConfig ranks = config();
  ranks.set(keys::ranks, 2);
  ranks.set(keys::partition, PartitionMethod::kAuto);
  ranks.set(keys::network, Network(25, std::chrono::microseconds(2)));
  EXPECT_EQ(train_model(ranks).losses[0].size(), 1U);
}

}  // namespace
}  // namespace gneiss
