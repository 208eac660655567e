// One plan made for a capacity, bound to many bipartite graphs under it: each step equals that of a plan made for
// exactly its graph, and binding allocates nothing.
#include "runtime/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "passes/pipeline.h"
#include "runtime/initialize.h"
#include "support/allocation_counter.h"

namespace gneiss::runtime {
namespace {

constexpr std::int64_t kWidth = 6;
constexpr std::int64_t kHidden = 16;
constexpr std::int64_t kClasses = 3;

/// Sizes of one step.
struct BlockSizes {
  std::int64_t src;
  std::int64_t dst;
  std::int64_t edges;
};

/// A bipartite graph whose destinations are the first of its sources, with features, labels and the edges both ways.
struct Step {
  Buffer<EdgeId> offsets;
  Buffer<NodeId> sources;
  Buffer<float> weights;
  graph::Transpose transpose;
  std::vector<float> features;
  std::vector<std::int64_t> ids;
  std::vector<std::int32_t> classes;
  std::vector<NodeId> rows;
  BlockSizes sizes{};

  Inputs inputs() const {
    Inputs in;
    const SparsePattern pattern{sizes.dst, sizes.src, offsets, sources, {}};
    in.graphs.push_back({pattern, transpose.pattern(), weights});
    in.features.rows = sizes.src;
    in.features.cols = kWidth;
    in.features.dense = features;
    in.row_ids = {ids, std::span<const std::int64_t>(ids).first(static_cast<std::size_t>(sizes.dst))};
    in.training.classes = classes;
    in.training.rows = rows;
    return in;
  }
};

std::uint64_t draw(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t x = a * 0x9E3779B97F4A7C15ULL ^ b * 0xC2B2AE3D27D4EB4FULL ^ c * 0x165667B19E3779F9ULL;
  x ^= x >> 31;
  x *= 0xBF58476D1CE4E5B9ULL;
  return x ^ (x >> 29);
}

Step make_step(std::uint64_t seed, BlockSizes sizes) {
  Step step;
  step.sizes = sizes;
  std::vector<std::vector<NodeId>> rows(static_cast<std::size_t>(sizes.dst));
  for (std::int64_t e = 0; e < sizes.edges; ++e) {
    // Some destinations have no edge, the first has many.
    const std::uint64_t v = draw(seed, 1, static_cast<std::uint64_t>(e)) % static_cast<std::uint64_t>(sizes.dst);
    const auto row = static_cast<std::size_t>(e % 4 == 0 ? 0 : v);
    rows[row].push_back(
        static_cast<NodeId>(draw(seed, 2, static_cast<std::uint64_t>(e)) % static_cast<std::uint64_t>(sizes.src)));
  }
  step.offsets = Buffer<EdgeId>::zeros(static_cast<std::size_t>(sizes.dst) + 1);
  step.sources = Buffer<NodeId>(static_cast<std::size_t>(sizes.edges));
  step.weights = Buffer<float>(static_cast<std::size_t>(sizes.edges));
  std::size_t at = 0;
  for (std::size_t v = 0; v < rows.size(); ++v) {
    std::sort(rows[v].begin(), rows[v].end());
    for (const NodeId u : rows[v]) {
      step.weights[at] = 0.5F + static_cast<float>(draw(seed, 3, at) % 1000) / 1000.0F;
      step.sources[at++] = u;
    }
    step.offsets[v + 1] = static_cast<EdgeId>(at);
  }
  step.transpose = graph::transpose({sizes.dst, sizes.src, step.offsets, step.sources, {}}, true, 1);
  for (std::int64_t i = 0; i < sizes.src * kWidth; ++i)
    step.features.push_back(static_cast<float>(draw(seed, 4, static_cast<std::uint64_t>(i)) % 2001) / 1000.0F - 1.0F);
  for (std::int64_t u = 0; u < sizes.src; ++u) step.ids.push_back(1000 + u * 7);
  for (std::int64_t v = 0; v < sizes.dst; ++v) {
    step.classes.push_back(static_cast<std::int32_t>(draw(seed, 5, static_cast<std::uint64_t>(v)) % kClasses));
    step.rows.push_back(static_cast<NodeId>(v));
  }
  return step;
}

/// dropout(relu(x W1 + b1)), weighted sums along the block, and W2: a layer before and a layer after the block.
ir::Program program_for(BlockSizes sizes) {
  ir::Program program;
  program.name = "block";
  program.node_sets = {{"sources", sizes.src, true}, {"destinations", sizes.dst, true}};
  ir::GraphDef block;
  block.name = "block";
  block.src_set = 0;
  block.dst_set = 1;
  block.num_edges = sizes.edges;
  block.weighted = true;
  block.changes = true;
  program.graphs = {block};
  ir::Builder builder(&program);
  const auto param = [&](const char* name, std::int64_t rows, std::int64_t cols) {
    ir::Param made;
    made.name = name;
    made.rows = rows;
    made.cols = cols;
    made.stored_shape = {rows, cols};
    made.init = {ir::Init::Kind::kUniform, 0.5, 0, 0};
    return builder.param(made);
  };
  const ir::ValueId x =
      builder.leaf(ir::OpKind::input, ir::node_type(0, kWidth), {{"name", std::string("features")}}, "features");
  const ir::ValueId w1 = param("w1", kWidth, kHidden);
  const ir::ValueId b1 = param("b1", 1, kHidden);
  const ir::ValueId w2 = param("w2", kHidden, kClasses);
  ir::ValueId h = builder.add(ir::OpKind::gemm, {x, w1}, {{"ta", std::int64_t{0}}, {"tb", std::int64_t{0}}});
  h = builder.add(ir::OpKind::relu, {builder.add(ir::OpKind::add, {h, b1})});
  h = builder.add(ir::OpKind::dropout, {h}, {{"p", 0.4}, {"stream", std::int64_t{1}}});
  const ir::ValueId weights = builder.leaf(ir::OpKind::edge_weight, ir::edge_type(0, 1), {{"graph", std::int64_t{0}}});
  h = builder.add(ir::OpKind::spmm, {h, weights},
                  {{"fn", std::string("sum")},
                   {"graph", std::int64_t{0}},
                   {"heads", std::int64_t{1}},
                   {"transpose", std::int64_t{0}}});
  h = builder.add(ir::OpKind::gemm, {h, w2}, {{"ta", std::int64_t{0}}, {"tb", std::int64_t{0}}});
  program.outputs = {{"logits", h}, {"embedding", h}};
  return program;
}

template <class T>
struct Runner {
  ir::Plan plan;
  Parameters<T> parameters;
  Executor<T> executor;

  explicit Runner(BlockSizes sizes, int threads = 1)
      : plan(passes::build_plan(program_for(sizes), options())),
        parameters(plan),
        executor(plan, parameters, {threads, {}}) {
    for (std::size_t i = 0; i < plan.program.params.size(); ++i) {
      const MatrixView<T> values = parameters.value(i);
      runtime::initialize<T>(plan.program.params[i].name, plan.program.params[i].init, 5,
                             {values.data, static_cast<std::size_t>(values.size())});
    }
  }
  static passes::Options options() {
    passes::Options made;
    made.value_bytes = sizeof(T);
    return made;
  }
  /// Loss and gradients of a step.
  std::vector<T> run(const Inputs& inputs) {
    step(inputs);
    std::vector<T> result = {executor.read(plan.program.output("loss")).at(0, 0)};
    const std::span<const T> gradients = parameters.gradients();
    result.insert(result.end(), gradients.begin(), gradients.end());
    return result;
  }
  void step(const Inputs& inputs) {
    executor.bind(inputs);
    executor.run(ir::Phase::kForward, {3, 1});
    executor.run(ir::Phase::kBackward, {3, 1});
  }
};

BlockSizes sizes_of(std::uint64_t i, BlockSizes most) {
  if (i == 0) return most;
  if (i == 1) return {1, 1, 0};
  const auto within = [&](std::uint64_t what, std::int64_t least, std::int64_t top) {
    return least + static_cast<std::int64_t>(draw(i, what, 0) % static_cast<std::uint64_t>(top - least + 1));
  };
  const std::int64_t dst = within(1, 1, most.dst);
  return {within(2, dst, most.src), dst, within(3, 0, most.edges)};
}

template <class T>
void expect_steps_equal_those_of_their_own_plans(double tolerance) {
  const BlockSizes most{2000, 700, 9000};
  Runner<T> shared(most);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Step step = make_step(i, sizes_of(i, most));
    const std::vector<T> got = shared.run(step.inputs());
    const std::vector<T> expected = Runner<T>(step.sizes).run(step.inputs());
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      ASSERT_NEAR(got[k], expected[k], tolerance * std::max<T>(1, std::abs(expected[k])))
          << "step " << i << ", value " << k << " of " << step.sizes.src << " x " << step.sizes.dst << ", "
          << step.sizes.edges << " edges";
    }
  }
}

TEST(Executor, APlanForACapacityRunsAnyStepUnderItAsAPlanOfItsOwn) {
  // The two plans may cut rows into other bands, so that sums over rows round differently.
  expect_steps_equal_those_of_their_own_plans<float>(2e-5);
}

TEST(Executor, InDoubleToo) { expect_steps_equal_those_of_their_own_plans<double>(1e-13); }

TEST(Executor, AStepHasTheSameBitsForAnyNumberOfThreadsAndAfterAnyOtherStep) {
  const BlockSizes most{2000, 700, 9000};
  const Step small = make_step(7, {60, 20, 90});
  const Step large = make_step(8, most);
  Runner<float> fresh(most);
  const std::vector<float> expected = fresh.run(small.inputs());
  for (const int threads : {1, 2, 3}) {
    Runner<float> used(most, threads);
    used.run(large.inputs());
    EXPECT_EQ(used.run(small.inputs()), expected) << threads << " threads";
  }
}

TEST(Executor, BindingAgainAllocatesNothing) {
  const BlockSizes most{2000, 700, 9000};
  Runner<float> shared(most);
  std::vector<Step> steps;
  std::vector<Inputs> inputs;
  for (std::uint64_t i = 0; i < 100; ++i) steps.push_back(make_step(i, sizes_of(i, most)));
  for (const Step& step : steps) inputs.push_back(step.inputs());
  for (std::size_t i = 0; i < 2; ++i) shared.step(inputs[i]);
  testing::start_counting_allocations();
  for (const Inputs& step : inputs) shared.step(step);
  EXPECT_EQ(testing::stop_counting_allocations(), 0);
}

TEST(Executor, TheCountSeesWhatABufferTakes) {
  if (!testing::kAllocationsAreCounted) GTEST_SKIP() << "a sanitizer has its own allocator";
  testing::start_counting_allocations();
  const Buffer<float> taken(1000);
  EXPECT_GT(testing::stop_counting_allocations(), 0);
}

TEST(Executor, AStepBeyondTheCapacityIsRefused) {
  Runner<float> shared({100, 40, 300});
  EXPECT_THROW(shared.step(make_step(1, {101, 40, 300}).inputs()), Error);
  EXPECT_THROW(shared.step(make_step(1, {100, 41, 300}).inputs()), Error);
  EXPECT_THROW(shared.step(make_step(1, {100, 40, 301}).inputs()), Error);
  shared.step(make_step(1, {100, 40, 300}).inputs());
}

TEST(Executor, PlansOfOtherSizesShareOneSetOfParameters) {
  Runner<float> training({2000, 700, 9000});
  passes::Options options = Runner<float>::options();
  options.loss.kind = passes::LossSpec::Kind::kNone;
  const ir::Plan plan = passes::build_plan(program_for({5000, 5000, 20000}), options);
  Executor<float> evaluation(plan, training.parameters, {1, {}});
  const Step all = make_step(2, {5000, 5000, 20000});
  evaluation.bind(all.inputs());
  const auto logits = [&] {
    evaluation.run(ir::Phase::kInference, {});
    const MatrixView<const float> z = evaluation.read(plan.program.output("logits"));
    return std::vector<float>(z.data, z.data + z.rows * z.stride);
  };
  const std::vector<float> before = logits();
  training.step(make_step(3, {1500, 600, 7000}).inputs());
  for (std::size_t i = 0; i < training.parameters.values().size(); ++i)
    training.parameters.values()[i] -= 0.5F * training.parameters.gradients()[i];
  const std::vector<float> after = logits();
  EXPECT_NE(before, after) << "the evaluation sees the step";
  Runner<float> alone({5000, 5000, 20000});
  std::copy(training.parameters.values().begin(), training.parameters.values().end(),
            alone.parameters.values().begin());
  alone.executor.bind(all.inputs());
  alone.executor.run(ir::Phase::kInference, {});
  const MatrixView<const float> z = alone.executor.read(alone.plan.program.output("logits"));
  ASSERT_EQ(z.size(), static_cast<std::int64_t>(z.rows * kClasses));
  for (std::int64_t r = 0; r < z.rows; ++r) {
    for (std::int64_t c = 0; c < z.cols; ++c)
      ASSERT_EQ(z.at(r, c), evaluation.read(plan.program.output("logits")).at(r, c)) << r;
  }
}

TEST(Executor, ParametersOfAnotherModelAreRefused) {
  const ir::Plan plan = passes::build_plan(program_for({100, 40, 300}), Runner<float>::options());
  ir::Program other = program_for({100, 40, 300});
  other.params[0].name = "v1";
  const ir::Plan others = passes::build_plan(other, Runner<float>::options());
  Parameters<float> parameters(others);
  EXPECT_THROW(Executor<float>(plan, parameters, {1, {}}), Error);
}

}  // namespace
}  // namespace gneiss::runtime
