// Gneiss beside PyG: the same weights in, the same logits, gradients and losses out.
//
// Each golden (make_goldens.py, computed in float64) is run twice: in f32 as users train, within the bounds that
// rounding allows, and in f64 on the reference kernels, where agreement must be nearly exact, so that a small mistake
// in the mathematics cannot hide in rounding. Goldens of sparse features run with them kept sparse and made dense.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "golden_files.h"
#include "train/session.h"

namespace gneiss::golden {
namespace {

/// Largest differences that pass, relative to the largest magnitude of what is compared.
struct Bounds {
  double logits;
  double gradients;
  double losses;
  double trained;  ///< after ten steps: running statistics and inference
};

template <class T>
Bounds bounds_of(const ModelGolden& golden) {
  if (sizeof(T) == 4) return {1e-5, 1e-4, 1e-4, 1e-3};
  // Large goldens are stored in f32.
  const double stored = golden.graph == "awkward" ? 1e-10 : 2e-7;
  return {stored, stored, 1e-10, 1e-8};
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double v : values) most = std::max(most, std::fabs(v));
  return most;
}

/// Fails unless `got` is `expected` within `bound`.
template <class T>
void expect_near(std::span<const T> got, const std::vector<double>& expected, double bound, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(got[i]) - expected[i]);
    if (!(difference <= worst)) {
      worst = difference;
      at = i;
    }
    if (std::isnan(difference)) break;
  }
  EXPECT_LE(worst, bound) << what << ": element " << at << " of " << got.size();
}

template <class T>
class Comparison {
 public:
  Comparison(const std::string& name, bool dense)
      : golden_(name),
        dataset_(load_graph(golden_.graph, golden_.weighted, dense)),
        bounds_(bounds_of<T>(golden_)),
        session_(dataset_, options(golden_)) {}

  void check() {
    set_parameters();
    const double first = session_.forward_backward(0);
    check_logits(session_.training_logits(), "logits", bounds_.logits);
    check_gradients();
    check_losses(first);
    check_states();
    check_inference();
  }

 private:
  static train::SessionOptions options(const ModelGolden& golden) {
    train::SessionOptions options;
    options.model = golden.model;
    options.model_args = golden.args;
    options.optimizer.lr = golden.lr;
    options.optimizer.weight_decay = golden.weight_decay;
    options.passes.keep_training_logits = true;
    options.threads = 2;
    return options;
  }

  void set_parameters() {
    std::vector<std::string> ours;
    for (const ir::Param& param : session_.params()) ours.push_back(param.name);
    std::vector<std::string> theirs = golden_.keys("param");
    for (const std::string& key : golden_.keys("state")) theirs.push_back(key);
    ASSERT_THAT(ours, testing::UnorderedElementsAreArray(theirs)) << "PyG's keys";
    for (const char* kind : {"param", "state"}) {
      for (const std::string& key : golden_.keys(kind)) {
        const std::vector<double> values = golden_.values(std::string(kind) + "." + key);
        session_.set_parameter(key, std::vector<T>(values.begin(), values.end()));
      }
    }
  }

  void check_logits(MatrixView<const T> logits, const std::string& member, double bound) {
    std::vector<T> got;
    for (std::int64_t r = 0; r < logits.rows; ++r) {
      for (std::int64_t c = 0; c < logits.cols; ++c) got.push_back(logits.at(r, c));
    }
    const std::vector<double> expected = golden_.values(member);
    expect_near<T>(got, expected, bound * largest(expected), member);
  }

  void check_gradients() {
    double overall = 0;
    for (const std::string& key : golden_.keys("grad"))
      overall = std::max(overall, largest(golden_.values("grad." + key)));
    for (const std::string& key : golden_.keys("grad")) {
      const std::vector<double> expected = golden_.values("grad." + key);
      // A gradient that is zero but for rounding (a bias in front of a batch norm) has no scale of its own.
      const double scale = std::max(largest(expected), 1e-2 * overall);
      expect_near<T>(session_.gradient(key), expected, bounds_.gradients * scale, "gradient of " + key);
    }
  }

  /// Takes the ten steps; `first` is the loss before them.
  void check_losses(double first) {
    std::vector<double> losses = {first};
    for (std::uint64_t step = 1; step <= 10; ++step) {
      session_.update(golden_.lr);
      losses.push_back(session_.forward_backward(step));
    }
    const std::vector<double> expected = golden_.values("losses");
    ASSERT_EQ(losses.size(), expected.size());
    for (std::size_t i = 0; i < losses.size(); ++i) {
      EXPECT_NEAR(losses[i], expected[i], bounds_.losses * expected[i]) << "loss after " << i << " steps";
    }
  }

  void check_states() {
    for (const std::string& key : golden_.keys("state10")) {
      const std::vector<double> expected = golden_.values("state10." + key);
      expect_near<T>(session_.parameter(key), expected, bounds_.trained * largest(expected), "state " + key);
    }
  }

  void check_inference() {
    if (!golden_.file.has("eval_logits")) return;
    session_.evaluate();
    check_logits(session_.logits(), "eval_logits", bounds_.trained);
  }

  ModelGolden golden_;
  data::Dataset dataset_;
  Bounds bounds_;
  train::Session<T> session_;
};

class ModelGoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(ModelGoldenTest, SinglePrecisionWithinRounding) { Comparison<float>(GetParam(), false).check(); }

TEST_P(ModelGoldenTest, DoublePrecisionNearlyExact) { Comparison<double>(GetParam(), false).check(); }

class SparseModelGoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(SparseModelGoldenTest, MadeDenseWithinRounding) { Comparison<float>(GetParam(), true).check(); }

/// Names of the goldens whose features are stored sparse.
std::vector<std::string> sparse_names() {
  std::vector<std::string> names = model_names();
  std::erase_if(names, [](const std::string& name) { return name.find("_cora_sized_") == std::string::npos; });
  return names;
}

INSTANTIATE_TEST_SUITE_P(AllFiles, ModelGoldenTest, testing::ValuesIn(model_names()),
                         [](const auto& golden) { return golden.param; });
INSTANTIATE_TEST_SUITE_P(SparseFiles, SparseModelGoldenTest, testing::ValuesIn(sparse_names()),
                         [](const auto& golden) { return golden.param; });

TEST(ModelGoldenFiles, AreAllThere) {
  const std::vector<std::string> names = model_names();
  EXPECT_GE(names.size(), 47U);
  for (const char* model : {"gcn", "sage", "gin", "gat"}) {
    for (const char* graph : {"_awkward_", "_cora_sized_"}) {
      EXPECT_TRUE(std::any_of(names.begin(), names.end(),
                              [&](const std::string& name) { return name.starts_with(std::string(model) + graph); }))
          << model << graph;
    }
  }
}

}  // namespace
}  // namespace gneiss::golden
