// Written programs against the command: the losses of 20 epochs and the weights behind them, bit for bit.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runs/safetensors.h"
#include "synth/cases.h"

namespace gneiss::testing {
namespace {

constexpr const char* kEpochs = "20";

/// Runs a command of the shell in a workplace; what it says is shown if it fails.
void run(const Workplace& place, const std::string& command) {
  const std::string line = "cd '" + place.path("").string() + "' && XDG_CACHE_HOME=.cache " + command + " >log 2>&1";
  ASSERT_EQ(std::system(line.c_str()), 0) << command << "\n" << place.read("log");
}

/// Configures and builds the program in `program/`; warnings are errors.
void build(const Workplace& place) {
  std::string configure =
      std::string(CMAKE_PROGRAM) + " -S program -B program/build -G '" + BUILD_GENERATOR +
      "' -Dgneiss_DIR=" + GNEISS_PACKAGE + " -DCMAKE_CXX_COMPILER=" + CXX_COMPILER +
      " -DCMAKE_CXX_FLAGS=-Werror -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DCMAKE_CUDA_FLAGS=-Werror=all-warnings";
  if (*CXX_LAUNCHER != '\0') configure += std::string(" -DCMAKE_CXX_COMPILER_LAUNCHER=") + CXX_LAUNCHER;
  run(place, configure);
  if (!::testing::Test::HasFatalFailure()) run(place, std::string(CMAKE_PROGRAM) + " --build program/build");
}

/// The losses of a run folder's metrics.
std::vector<double> losses_of_run(const std::string& metrics) {
  std::vector<double> losses;
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);)
    losses.push_back(nlohmann::json::parse(line)["loss"].get<double>());
  return losses;
}

/// The losses that a program prints: the second column of lines that begin with a number.
std::vector<double> losses_of_program(const std::string& output) {
  std::vector<double> losses;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    int epoch = 0;
    double loss = 0;
    if (words >> epoch >> loss) losses.push_back(loss);
  }
  return losses;
}

class Programs : public ::testing::TestWithParam<SynthCase> {};

TEST_P(Programs, ComputeWhatTheCommandComputes) {
  const SynthCase& item = GetParam();
  const Workplace place;
  write_awkward_files(place);
  const auto with = [&](const char* command, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {command};
    arguments.insert(arguments.end(), item.arguments.begin(), item.arguments.end());
    // One evaluation, after the last epoch: the weights that are kept are the last ones.
    for (const char* word : {"--epochs", kEpochs, "--eval-every", kEpochs}) arguments.emplace_back(word);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  std::vector<std::string> write = target_options(item);
  write.insert(write.end(), {"-o", "program"});
  std::vector<std::string> train = {"--out", "run", "--quiet"};
  if (item.device) train.insert(train.end(), {"--device", "emulated"});
  if (!item.ranks && !item.device) train.emplace_back("--jit");
  const CommandResult written = place.gneiss(with("synth", write));
  ASSERT_EQ(written.code, 0) << written.err;
  const CommandResult trained = place.gneiss(with("train", train));
  ASSERT_EQ(trained.code, 0) << trained.err;
  ASSERT_NO_FATAL_FAILURE(build(place));
  // Two threads against as many as there are: neither may show.
  const std::string device = item.device ? " --device emulated" : "";
  ASSERT_NO_FATAL_FAILURE(run(place, "program/build/train --threads 2 --save weights.safetensors" + device));

  std::vector<double> losses = losses_of_run(place.read("run/metrics.jsonl"));
  std::vector<double> printed = losses_of_program(place.read("log"));
  EXPECT_EQ(losses.size(), 20U);
  // One rank's are f32, printed with as many digits as those take.
  for (double& loss : printed) loss = item.ranks ? loss : static_cast<double>(static_cast<float>(loss));
  EXPECT_EQ(printed, losses);
  const runs::SafeTensors expected = runs::read_safetensors(place.path("run/model.safetensors"));
  const runs::SafeTensors found = runs::read_safetensors(place.path("weights.safetensors"));
  EXPECT_EQ(found.tensors.size(), expected.tensors.size());
  for (const runs::Tensor& tensor : expected.tensors) {
    const runs::Tensor* other = found.find(tensor.name);
    ASSERT_NE(other, nullptr) << tensor.name;
    EXPECT_EQ(other->shape, tensor.shape) << tensor.name;
    EXPECT_TRUE(other->data == tensor.data) << tensor.name << " differs";
  }
  if (!item.device) return;
  // Loops are compiled for cards too where the package has CUDA.
  const bool loops = place.read("program/CMakeLists.txt").find("loops.cu") != std::string::npos;
  EXPECT_EQ(std::filesystem::exists(place.path("program/build/CMakeFiles/train.dir/loops.cu.o")),
            loops && GNEISS_PACKAGE_HAS_CUDA);
  // No machine has as many cards.
  struct Wrong {
    const char* device;
    const char* hint;
  };
  for (const Wrong& wrong : {Wrong{"cuda:999", "--device emulated"}, {"cpu", "hint: one of cuda, cuda:N"}}) {
    const std::string command =
        "cd '" + place.path("").string() + "' && program/build/train --device " + wrong.device + " >log 2>&1";
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
    const std::string log = place.read("log");
    EXPECT_NE(log.find("where: --device"), std::string::npos) << log;
    EXPECT_NE(log.find(wrong.hint), std::string::npos) << log;
    EXPECT_EQ(log.find("--device cpu"), std::string::npos) << log;
  }
}

/// A program for a card looks at the card's room before it takes any of it: here one that was written for far more.
TEST(ProgramOfADevice, IsRefusedWithTheNumbersWhereItDoesNotFit) {
  const Workplace place;
  const CommandResult written = place.gneiss({"synth", "karate", "--model", "gcn", "--defaults", "plain", "--epochs",
                                              "2", "--target", "cuda", "-o", "program"});
  ASSERT_EQ(written.code, 0) << written.err;
  std::string data = place.read("program/data.cc");
  const std::string name = "layout.bytes = ";
  const std::size_t at = data.find(name);
  ASSERT_NE(at, std::string::npos) << data;
  data.insert(at + name.size(), "1000000000000 + ");
  place.write("program/data.cc", data);
  ASSERT_NO_FATAL_FAILURE(build(place));
  const std::string command = "cd '" + place.path("").string() + "' && program/build/train --device emulated >log 2>&1";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 4) << place.read("log");
  EXPECT_NE(place.read("log").find("bytes of emulated device"), std::string::npos) << place.read("log");
  EXPECT_NE(place.read("log").find("the largest: "), std::string::npos) << place.read("log");
  EXPECT_NE(place.read("log").find("hint: write the program anew with --feature-dtype bf16"), std::string::npos)
      << place.read("log");
  EXPECT_EQ(place.read("log").find("--device cpu"), std::string::npos) << place.read("log");
}

/// A program for sizes alone takes any data of these sizes, and says what is wrong with others and with its options.
TEST(ProgramOfAShape, TakesOtherData) {
  const Workplace place;
  const CommandResult written =
      place.gneiss({"synth", "--shape", "34,156,34,2", "--defaults", "plain", "--epochs", "3", "-o", "program"});
  ASSERT_EQ(written.code, 0) << written.err;
  ASSERT_NO_FATAL_FAILURE(build(place));
  ASSERT_NO_FATAL_FAILURE(run(place, "program/build/train karate --epochs 4"));
  const std::vector<double> losses = losses_of_program(place.read("log"));
  ASSERT_EQ(losses.size(), 4U);
  ASSERT_EQ(place.gneiss({"train", "karate", "--defaults", "plain", "--epochs", "4", "--out", "run", "--quiet"}).code,
            0);
  const std::vector<double> expected = losses_of_run(place.read("run/metrics.jsonl"));
  for (std::size_t i = 0; i < losses.size(); ++i)
    EXPECT_NEAR(losses[i], expected[i], 1e-5);  // another plan, the same mathematics
  ASSERT_NO_FATAL_FAILURE(run(place, "program/build/train karate --epochs 4 --seed 1"));
  EXPECT_NE(losses_of_program(place.read("log")), losses);
  // As gneiss train takes them.
  ASSERT_NO_FATAL_FAILURE(run(place, "program/build/train --data=karate --epochs=4 --out made"));
  EXPECT_EQ(losses_of_program(place.read("log")), losses);
  EXPECT_EQ(runs::read_safetensors(place.path("made/model.safetensors")).metadata.at("format"), "pt");
  ASSERT_NO_FATAL_FAILURE(run(place, "program/build/train --help"));
  for (const char* option : {"--data DATA", "--out FOLDER", "--save FILE", "--threads N"})
    EXPECT_NE(place.read("log").find(option), std::string::npos) << option;
  struct Wrong {
    const char* arguments;
    int code;
    const char* text;
  };
  const Wrong list[] = {{"dcsbm:nodes=50", 3, "nodes: this program was written for 34, the data have 50"},
                        {"karate --epochs many", 2, "expected a whole number, got 'many'"},
                        {"karate --lr 1", 2, "unknown option '--lr'"},
                        {"karate --seed", 2, "--seed needs a value"},
                        {"karate --data karate", 2, "two data sets"},
                        {"karate --out program", 2, "already"},
                        {"karate --out /proc/gneiss", 4, "/proc/gneiss"},
                        {"nowhere.txt", 3, "nowhere.txt"},
                        {"karate --save /proc/gneiss/weights", 4, "/proc/gneiss"}};
  for (const Wrong& wrong : list) {
    const std::string command =
        "cd '" + place.path("").string() + "' && program/build/train " + wrong.arguments + " >log 2>&1";
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), wrong.code) << wrong.arguments;
    EXPECT_NE(place.read("log").find(wrong.text), std::string::npos) << place.read("log");
  }
}

/// A program for ranks holds for the parts that it was written for: other data are refused, and so are other ranks.
TEST(ProgramOfRanks, SaysWhatIsWrong) {
  const Workplace place;
  const CommandResult written = place.gneiss({"synth", "karate", "--defaults", "plain", "--epochs", "2", "--target",
                                              "mpi", "--ranks", "2", "--split", "random", "-o", "program"});
  ASSERT_EQ(written.code, 0) << written.err;
  ASSERT_NO_FATAL_FAILURE(build(place));
  struct Wrong {
    const char* environment;
    const char* arguments;
    int code;
    const char* text;
  };
  const Wrong list[] = {{"", "dcsbm:nodes=50", 3, "nodes: this program was written for 34, the data have 50"},
                        {"", "--split ratio:50/20/30", 3, "training nodes"},
                        {"OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=0", "", 2, "mpirun started 3 processes"},
                        {"", "--out program", 2, "already"}};
  for (const Wrong& wrong : list) {
    const std::string command = "cd '" + place.path("").string() + "' && " + wrong.environment +
                                " program/build/train " + wrong.arguments + " >log 2>&1";
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), wrong.code) << wrong.arguments;
    EXPECT_NE(place.read("log").find(wrong.text), std::string::npos) << place.read("log");
  }
}

std::vector<SynthCase> wanted() {
  const char* which = std::getenv("GNEISS_SYNTH_CASES");
  const bool all = which != nullptr && std::string(which) == "all";
  std::vector<SynthCase> cases;
  for (const SynthCase& item : synth_cases()) {
    if (all || item.often) cases.push_back(item);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, Programs, ::testing::ValuesIn(wanted()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gneiss::testing
