#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "base/error.h"
#include "settings/config.h"
#include "settings/habits.h"

namespace gneiss::settings {
namespace {

void expect_refused(const std::string& yaml, const std::string& where, const std::string& message,
                    const std::string& hint = {}) {
  Config config;
  try {
    config.parse_yaml(yaml, "run.yaml");
    FAIL() << "accepted: " << yaml;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kUsage);
    EXPECT_EQ(e.where(), where) << e.what();
    EXPECT_NE(e.message().find(message), std::string::npos) << e.what();
    EXPECT_NE(e.hint().find(hint), std::string::npos) << e.what();
  }
}

TEST(Settings, EveryDefaultIsValidAndEveryFlagIsItsOwn) {
  std::set<std::string> flags;
  for (const Setting& setting : settings()) {
    if (!setting.initial.empty()) {
      EXPECT_EQ(check_value(setting, setting.initial, "default"), setting.initial) << setting.key;
    } else {
      EXPECT_TRUE(!setting.unset.empty() || setting.key == "data.name") << setting.key;
    }
    EXPECT_TRUE(flags.insert(setting.flag).second) << setting.flag;
    for (const std::string& alias : setting.aliases) EXPECT_TRUE(flags.insert(alias).second) << alias;
  }
}

TEST(Settings, ThePageListsThemAsTheTableDoes) {
  std::ifstream file(GNEISS_SOURCE_DIR "/docs/cli.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(page.find("<!-- settings: begin -->\n" + settings_markdown() + "\n<!-- settings: end -->"),
            std::string::npos)
      << "docs/cli.md: replace the part between the settings marks by the output of `gneiss help settings`";
}

TEST(Settings, TheStubsOfPythonListThem) {
  std::ifstream file(GNEISS_SOURCE_DIR "/bindings/python/gneiss/__init__.pyi");
  std::string line;
  std::set<std::string> listed;
  for (bool in_train = false; std::getline(file, line);) {
    in_train = (in_train && !line.starts_with(")")) || line == "def train(";
    if (in_train && line.find(": ") != std::string::npos) listed.insert(line.substr(4, line.find(": ") - 4));
  }
  // The function's own arguments, some of them in place of settings.
  for (const char* argument : {"data", "model", "init", "out", "callbacks", "progress", "**arguments"})
    EXPECT_EQ(listed.erase(argument), 1u) << argument;
  const std::set<std::string> not_keywords = {"data.name", "out.folder", "out.save", "model.name", "train.init"};
  std::set<std::string> keywords;
  for (const Setting& setting : settings()) {
    if (not_keywords.contains(setting.key)) continue;
    std::string keyword = setting.flag;
    std::replace(keyword.begin(), keyword.end(), '-', '_');
    keywords.insert(keyword);
  }
  EXPECT_EQ(listed, keywords)
      << "bindings/python/gneiss/__init__.pyi: `python -P bindings/python/make_stubs.py FILE` writes it anew, with "
         "the wheel of `make wheel` installed";
}

TEST(Settings, ValuesAreChecked) {
  const auto refused = [](const char* key, const char* value) {
    try {
      check_value(*find_setting(key), value, "--x");
      return false;
    } catch (const Error& e) {
      return e.code() == ErrorCode::kUsage && e.where() == "--x" && e.message().find(key) != std::string::npos;
    }
  };
  for (const char* bad : {"", "abc", "-1", "nan", "inf", "1e400", "0.1x", "--epochs"})
    EXPECT_TRUE(refused("optim.lr", bad)) << bad;
  for (const char* bad : {"0", "-3", "1.5", "1e3", "99999999999999999999"})
    EXPECT_TRUE(refused("train.epochs", bad)) << bad;
  for (const char* bad : {"maybe", "2", "TRUE!"}) EXPECT_TRUE(refused("out.save", bad)) << bad;
  EXPECT_TRUE(refused("optim.betas", "0.9,1"));
  EXPECT_TRUE(refused("data.max_bytes", "32Q"));
  EXPECT_TRUE(refused("data.max_bytes", "32i"));
  EXPECT_TRUE(refused("data.max_bytes", "iB"));
  for (const char* text : {"2K", "2k", "2KB", "2KiB", "2048B", "2048"}) {
    EXPECT_EQ(check_value(*find_setting("data.max_bytes"), text, ""), "2048") << text;
  }
  EXPECT_EQ(check_value(*find_setting("out.save"), "no", ""), "false");
}

TEST(Settings, ChoicesGetTheNearest) {
  try {
    check_value(*find_setting("optim.name"), "adma", "--optimizer");
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.hint(), "did you mean 'adam'?");
  }
}

TEST(Habits, OptionsOfOtherPrograms) {
  const std::vector<std::string> known = {"--threads", "--lr", "--feature-dtype", "--features"};
  EXPECT_EQ(option_habit("--num-workers", known), "did you mean '--threads'?");
  EXPECT_EQ(option_habit("--num_workers", known), "did you mean '--threads'?");
  EXPECT_EQ(option_habit("--fp16", known).rfind("did you mean '--feature-dtype'? bf16", 0), 0U);
  EXPECT_EQ(option_habit("--n-epochs", known), "") << "the command has no --epochs";
  EXPECT_EQ(option_habit("--lrr", known), "") << "that is for the nearest name";
  EXPECT_NE(option_habit("--device", known).find("train, plan, predict, embed and eval take it"), std::string::npos);
  EXPECT_NE(option_habit("--resume", known).find("gneiss resume RUN goes on"), std::string::npos);
  EXPECT_EQ(option_habit("--gpu", std::vector<std::string>{"--device"}), "did you mean '--device'?");
  EXPECT_EQ(option_habit("--ckpt", std::vector<std::string>{"--resume"}), "did you mean '--resume'?");
}

TEST(Habits, ValuesOfOtherPrograms) {
  EXPECT_EQ(value_habit("train.metric", "F1"), "did you mean 'micro_f1' or 'macro_f1'?");
  EXPECT_EQ(value_habit("model.name", "Graph-SAGE"), "did you mean 'sage'?");
  EXPECT_EQ(value_habit("data.separator", ";"), "did you mean 'semicolon'?");
  EXPECT_EQ(value_habit("data.separator", ""), "did you mean 'space' or 'tab'?");
  EXPECT_EQ(value_habit("train.patience", "None"), "write 0, or leave it out for the default");
  EXPECT_EQ(value_habit("train.epochs", "no"), "leave it out for the default");
  EXPECT_EQ(value_habit("data.normalize_features", "off"), "did you mean 'none'?");
  EXPECT_EQ(value_habit("train.metric", "rocaucc"), "");
}

/// Whatever is proposed is there: a choice of the setting, or a flag of the table.
TEST(Habits, ProposeWhatThereIs) {
  std::vector<std::string> flags = {"--model-arg", "--quiet"};
  for (const Setting& setting : settings()) flags.push_back("--" + setting.flag);
  for (const char* option :
       {"--wd",           "--layers",     "--nhid",       "--n-epochs",   "--repeats",   "--drop",
        "--nheads",       "--act-fn",     "--aggregator", "--batchnorm",  "--skip",      "--jump",
        "--opt",          "--scheduler",  "--early-stop", "--grad-clip",  "--criterion", "--eval-metric",
        "--log-every",    "--feat",       "--y",          "--train-mask", "--val-mask",  "--test-mask",
        "--train-ratio",  "--undirected", "--self-loop",  "--lcc",        "--sep",       "--weights",
        "--standardize",  "--bs",         "--neighbors",  "--save-dir",   "--task",      "--arch",
        "--model-kwargs", "--max-memory", "--silent",     "--random-seed"})
    EXPECT_EQ(option_habit(option, flags).rfind("did you mean '--", 0), 0U) << option;
}

TEST(Settings, PythonsWordsForTruth) {
  EXPECT_EQ(check_value(*find_setting("out.save"), "True", ""), "true");
  EXPECT_EQ(check_value(*find_setting("out.save"), "OFF", ""), "false");
  EXPECT_EQ(guess_arg("True"), ModelArg(true));
  EXPECT_EQ(guess_arg("False"), ModelArg(false));
}

TEST(Config, FlagsWinOverTheFileWhateverTheOrder) {
  Config config;
  config.set("optim.lr", "0.5", Origin::kFlag, "--lr");
  config.parse_yaml("optim: {lr: 0.1, weight_decay: 5e-4}\n", "run.yaml");
  config.set("optim.weight_decay", "1", Origin::kScript, "model.gneiss");
  EXPECT_EQ(config.real("optim.lr"), 0.5);
  EXPECT_EQ(config.real("optim.weight_decay"), 5e-4);
  EXPECT_EQ(config.file_text("optim.lr"), "0.1");
  EXPECT_EQ(config.where("optim.weight_decay"), "run.yaml:1:32");
}

TEST(Config, AGroupsNameMayStandForTheGroup) {
  Config config;
  config.parse_yaml(
      "data: karate\nmodel:\n  name: sage\n  hidden_channels: 8\n  args: {project: true, aggr: max}\nschedule: "
      "cosine\n",
      "run.yaml");
  EXPECT_EQ(config.text("data.name"), "karate");
  EXPECT_EQ(config.text("schedule.name"), "cosine");
  const auto args = config.model_args();
  ASSERT_EQ(args.size(), 3U);
  EXPECT_EQ(args[0], (std::pair<std::string, ModelArg>("hidden_channels", std::int64_t{8})));
  EXPECT_EQ(args[1], (std::pair<std::string, ModelArg>("aggr", std::string("max"))));
  EXPECT_EQ(args[2], (std::pair<std::string, ModelArg>("project", true)));
}

TEST(Config, ListsAreListsInYamlAndCommasInFlags) {
  Config config;
  config.parse_yaml("optim: {betas: [0.8, 0.9]}\nloss: {class_weights: balanced}\npasses: {off: [cse, dce]}\n",
                    "run.yaml");
  EXPECT_EQ(config.reals("optim.betas"), (std::vector<double>{0.8, 0.9}));
  EXPECT_EQ(config.list("passes.off"), (std::vector<std::string>{"cse", "dce"}));
  EXPECT_EQ(config.text("loss.class_weights"), "balanced");
}

TEST(Config, ItsOwnYamlReadsBackTheSame) {
  Config config;
  config.parse_yaml(
      "data: \"a: b # \\\"c\\\"\"\nmodel: {name: gat, heads: 4, args: {p: 0.25, s: \"x: y\"}}\noptim: {betas: [0.8, "
      "0.9]}\npasses: {off: [cse]}\n",
      "run.yaml");
  Config again;
  again.parse_yaml(config.to_yaml(), "config.yaml");
  EXPECT_EQ(again.values(), config.values());
  EXPECT_EQ(again.text("data.name"), "a: b # \"c\"");
}

TEST(Config, AnEmptyFileSetsNothing) {
  Config config;
  config.parse_yaml("# nothing\n", "run.yaml");
  config.parse_yaml("optim:\n", "run.yaml");
  EXPECT_FALSE(config.is_set("optim.lr"));
}

TEST(Yaml, UnknownKeysGetTheNearest) {
  expect_refused("optim:\n  lrr: 0.1\n", "run.yaml:2:3", "unknown key 'optim.lrr'", "optim.lr");
  expect_refused("optm: {lr: 1}\n", "run.yaml:1:1", "unknown key 'optm'", "optim");
  expect_refused("lr: 0.1\n", "run.yaml:1:1", "unknown key 'lr'", "optim.lr");
  expect_refused("num_workers: 4\n", "run.yaml:1:1", "unknown key 'num_workers'", "train.threads");
  expect_refused("train: {n_epochs: 4}\n", "run.yaml:1:9", "unknown key", "train.epochs");
  expect_refused("l\xC2\xADr: 0.1\n", "run.yaml:1:1", "unknown key 'l<U+00AD>r'");
  expect_refused("train: {hidden_channels: 3}\n", "run.yaml:1:9", "unknown key 'train.hidden_channels'",
                 "model.hidden_channels");
}

TEST(Yaml, WrongTypesNameThePlace) {
  expect_refused("optim:\n  lr: fast\n", "run.yaml:2:7", "optim.lr: expected a number of at least 0, got 'fast'");
  expect_refused("optim:\n  lr: \"0.1\"\n", "run.yaml:2:7", "got the text", "quotes");
  expect_refused("optim:\n  lr: [0.1]\n", "run.yaml:2:7", "got a list");
  expect_refused("optim:\n  lr: {a: 1}\n", "run.yaml:2:7", "got a mapping");
  expect_refused("optim: 3\n", "run.yaml:1:8", "optim.name: expected one of");
  expect_refused("train: 3\n", "run.yaml:1:8", "'train': expected a mapping");
  expect_refused("optim:\n  lr:\n", "run.yaml:2:3", "has no value");
  expect_refused("- a\n", "run.yaml:1:1", "a list is not expected");
  expect_refused("karate\n", "run.yaml:1:1", "expected a mapping");
  expect_refused("model: {args: 3}\n", "run.yaml:1:15", "model.args: expected a mapping");
  expect_refused("model: {args: {a-b: 3}}\n", "run.yaml:1:21", "no name of a model argument");
}

TEST(Yaml, TricksAreRefused) {
  expect_refused("optim: &a {lr: 1}\n", "run.yaml:1:8", "anchor");
  expect_refused("data: &x karate\nmodel: *x\n", "run.yaml:1:7", "anchor");
  expect_refused("optim: {lr: 1, lr: 2}\n", "run.yaml:1:16", "'lr' is given twice", "keep one");
  expect_refused("train: {epochs: 1}\ntrain: {runs: 1}\n", "run.yaml:2:1", "'train' is given twice");
  expect_refused("data: karate\n---\ndata: karate\n", "run.yaml:2:1", "second document");
  expect_refused(std::string("data: a\0b\n", 10), "run.yaml:1:8", "zero byte");
  expect_refused("# one\n# two\noptim:\n\tlr: 1\n", "run.yaml:4:1", "a tab stands", "blanks");
  std::string deep = "optim: ";
  for (int i = 0; i < 100000; ++i) deep += '[';
  Config config;
  EXPECT_THROW(config.parse_yaml(deep, "run.yaml"), Error);
}

TEST(Yaml, BrokenTextNamesThePlace) {
  Config config;
  config.set("optim.lr", "0.3", Origin::kFlag, "--lr");
  try {
    config.parse_yaml("optim: {lr: 0.1\nx", "run.yaml");
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kUsage);
    EXPECT_EQ(e.where().rfind("run.yaml:", 0), 0U) << e.what();
  }
  EXPECT_EQ(config.real("optim.lr"), 0.3);
}

TEST(Config, UnknownKeysAreRefused) {
  Config config;
  EXPECT_THROW(config.set("optim.lrr", "1", Origin::kFlag, "x"), Error);
  EXPECT_THROW(config.set("model.args.2x", "1", Origin::kFlag, "x"), Error);
  EXPECT_THROW(config.load_yaml("/nowhere/run.yaml"), Error);
}

TEST(SettingsTest, FormerKeysMeanTodaysSettings) {
  Config config;
  config.parse_yaml("passes:\n  source_blocks: on\n", "run.yaml");
  EXPECT_EQ(config.text("passes.source_tiles"), "on");
}

}  // namespace
}  // namespace gneiss::settings
