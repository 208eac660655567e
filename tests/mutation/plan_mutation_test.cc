// Plans with one thing changed at random: a place in memory, the steps or rows of a band, scratch, the moment when ids
// of edges go. The verifier has to refuse whatever would do harm: a plan that it lets through gives the results of the
// plan as it was, in an arena that is filled with NaN before every phase. That the harm is real shows where a refused
// plan can be run all the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "ir/verify_plan.h"
#include "support/awkward_graph.h"
#include "support/plan_model.h"
#include "support/run_plan.h"

namespace gneiss {
namespace {

using ir::Plan;
using ir::Storage;
using testing::plan_of;

/// A plan and the data that it is for.
struct Model {
  std::string name;
  data::Dataset dataset;
  Plan plan;
};

std::vector<Model> models() {
  std::vector<Model> all;
  testing::AwkwardOptions graph;
  graph.nodes = 400;
  for (const char* name : {"gcn", "sage", "gin", "gat"}) {
    testing::ModelArgs args = {{"norm", std::string("batch")}, {"dropout", 0.3}, {"num_layers", std::int64_t{3}}};
    args.emplace_back("hidden_channels", std::int64_t{8});
    if (std::string(name) == "gat") args.emplace_back("heads", std::int64_t{2});
    data::Dataset dataset = testing::awkward_dataset(graph);
    passes::Options options;
    options.split_limits = {0, 0, 1e9};
    options.recompute_limits = {0, 0.01, 0.2, 0.2, 1e-3};
    Plan plan = plan_of(name, dataset, args, options);
    all.push_back({name, std::move(dataset), std::move(plan)});
  }
  return all;
}

template <class T>
T& one_of(std::vector<T>* list, RandomStream* random) {
  return (*list)[random->below(list->size())];
}

std::vector<std::size_t> stored_in(const Plan& plan, Storage storage) {
  std::vector<std::size_t> values;
  for (std::size_t v = 0; v < plan.placements.size(); ++v) {
    if (plan.placements[v].storage == storage && plan.program.elements(static_cast<ir::ValueId>(v)) > 0)
      values.push_back(v);
  }
  return values;
}

/// Moves a value of the storage to where another one begins, or to some other place within the storage.
bool move_place(Plan* plan, Storage storage, std::int64_t room, RandomStream* random) {
  std::vector<std::size_t> values = stored_in(*plan, storage);
  if (values.empty()) return false;
  ir::Placement& moved = plan->placements[one_of(&values, random)];
  const std::int64_t before = moved.offset_bytes;
  const std::int64_t most = (room - moved.bytes) / 64;
  if (random->below(2) == 0) {
    moved.offset_bytes = plan->placements[one_of(&values, random)].offset_bytes;
  } else if (most > 0) {
    moved.offset_bytes = 64 * static_cast<std::int64_t>(random->below(static_cast<std::uint64_t>(most)));
  }
  return moved.offset_bytes != before && moved.offset_bytes + moved.bytes <= room;
}

bool move_in_arena(Plan* plan, RandomStream* random) {
  return move_place(plan, Storage::kArena, plan->lasting_arena_bytes, random);
}

bool move_constant(Plan* plan, RandomStream* random) {
  return move_place(plan, Storage::kConstant, plan->constant_bytes, random);
}

bool move_in_band(Plan* plan, RandomStream* random) {
  std::vector<std::size_t> values = stored_in(*plan, Storage::kBand);
  if (values.size() < 2) return false;
  ir::Placement& moved = plan->placements[one_of(&values, random)];
  const std::int64_t before = moved.offset_bytes;
  moved.offset_bytes = plan->placements[one_of(&values, random)].offset_bytes;
  return moved.offset_bytes != before;
}

/// A band ends one step later, which joins it.
bool prolong_band(Plan* plan, RandomStream* random) {
  if (plan->bands.empty()) return false;
  const auto number = static_cast<std::int32_t>(random->below(plan->bands.size()));
  ir::RowBand& band = plan->bands[static_cast<std::size_t>(number)];
  const auto next = static_cast<std::size_t>(band.last_step) + 1;
  if (next >= plan->steps.size() || plan->steps[next].band >= 0) return false;
  plan->steps[next].band = number;
  ++band.last_step;
  return true;
}

/// A band ends, or begins, a step early; the step runs by itself, maybe with values of which only rows exist.
bool shorten_band(Plan* plan, RandomStream* random) {
  if (plan->bands.empty()) return false;
  ir::RowBand& band = one_of(&plan->bands, random);
  if (band.first_step == band.last_step) return false;
  const std::int32_t freed = random->below(2) == 0 ? band.last_step-- : band.first_step++;
  plan->steps[static_cast<std::size_t>(freed)].band = -1;
  return true;
}

/// Only one side says so.
bool forget_step_of_band(Plan* plan, RandomStream* random) {
  if (plan->bands.empty()) return false;
  const ir::RowBand& band = one_of(&plan->bands, random);
  plan->steps[static_cast<std::size_t>(band.last_step)].band = -1;
  return true;
}

bool cut_other_rows(Plan* plan, RandomStream* random) {
  if (plan->bands.empty()) return false;
  ir::RowBand& band = one_of(&plan->bands, random);
  if (random->below(2) == 0) {
    band.rows += random->below(2) == 0 ? 1 : -1;
  } else {
    band.band_rows += 48;  // values of which only rows of a band exist have no room for it
  }
  return true;
}

bool shrink_scratch(Plan* plan, RandomStream* random) {
  std::int64_t* const sizes[] = {&plan->workspace_bytes, &plan->lasting_arena_bytes, &plan->constant_bytes,
                                 &plan->band_bytes};
  std::int64_t& size = *sizes[random->below(4)];
  if (size < 64) return false;
  size -= 64;
  return true;
}

/// Something that later phases read goes after the setup.
bool release_what_stays(Plan* plan, ir::Released what, std::int32_t graph) {
  if (plan->release_of(what, graph) != nullptr) return false;
  plan->releases.push_back({what, graph, 0, ir::Release::kAfterSetup});
  return true;
}

/// Edges go one step before the last that reads them, a data set's before all.
bool release_before_the_last_read(Plan* plan, RandomStream* random) {
  if (plan->releases.empty()) return false;
  ir::Release moved = one_of(&plan->releases, random);
  if (moved.after < 0) return false;
  moved.after = moved.after == ir::Release::kAfterSetup ? ir::Release::kBeforeSetup : moved.after - 1;
  std::erase_if(plan->releases, [&](const ir::Release& r) { return r.what == moved.what && r.graph == moved.graph; });
  const auto at = std::upper_bound(plan->releases.begin(), plan->releases.end(), moved,
                                   [](const ir::Release& a, const ir::Release& b) { return a.after < b.after; });
  plan->releases.insert(at, moved);
  return true;
}

bool release_too_early(Plan* plan, RandomStream* random) {
  const auto g = static_cast<std::int32_t>(random->below(plan->graph_uses.size()));
  ir::GraphUse& use = plan->graph_uses[static_cast<std::size_t>(g)];
  switch (random->below(5)) {
    case 0:
      return use.used && release_what_stays(plan, g == 0 ? ir::Released::kGivenEdges : ir::Released::kInEdges, g);
    case 1:
      return use.transpose && release_what_stays(plan, ir::Released::kOutEdges, g);
    case 2:
      return release_before_the_last_read(plan, random);
    case 3:
      return std::exchange(use.transpose, false);
    default:
      return release_what_stays(plan, ir::Released::kFeatures, 0);
  }
}

/// A run goes along the list once: what stands too far behind goes too late, or never.
bool release_out_of_order(Plan* plan, RandomStream* random) {
  // Of the pairs that come at different times.
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < plan->releases.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (plan->releases[k].after != plan->releases[i].after) pairs.emplace_back(k, i);
    }
  }
  if (pairs.empty()) return false;
  const auto [first, second] = one_of(&pairs, random);
  std::swap(plan->releases[first], plan->releases[second]);
  return true;
}

/// What may be changed in a plan.
struct Mutation {
  const char* name;
  bool (*change)(Plan*, RandomStream*);  ///< false: there was nothing to change
  bool always_harmful;                   ///< the verifier has to refuse every one
  bool runs_all_the_same;                ///< a refused one touches no memory but its own
};

constexpr Mutation kMutations[] = {
    {"a place in the arena", move_in_arena, false, true},
    {"a place among the constants", move_constant, false, true},
    {"a place in a band", move_in_band, false, false},
    {"a longer band", prolong_band, false, false},
    {"a shorter band", shorten_band, false, false},
    {"a step that has left its band", forget_step_of_band, true, false},
    {"other rows in a band", cut_other_rows, false, false},
    {"less memory", shrink_scratch, false, false},
    {"a release too early", release_too_early, true, false},
    {"releases in another order", release_out_of_order, true, false},
};

/// Bands of other sizes add up in other parts.
bool same_results(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= 1e-4F * (1 + std::abs(b[i])))) return false;  // NaN differs
  }
  return true;
}

/// How many changed plans were refused, and how many of these were run and came out different.
struct Tally {
  int changed = 0;
  int refused = 0;
  int run = 0;
  int different = 0;
};

void mutate(const Model& model, const Mutation& mutation, std::uint64_t seed, const std::vector<float>& expected,
            Tally* tally) {
  SCOPED_TRACE(model.name + ": " + mutation.name + ", seed " + std::to_string(seed));
  RandomStream random(seed, 0x91A7);
  Plan plan = model.plan;
  if (!mutation.change(&plan, &random)) return;
  ++tally->changed;
  const bool refused = !ir::find_defects(plan).empty();
  EXPECT_TRUE(refused || !mutation.always_harmful);
  tally->refused += refused ? 1 : 0;
  if (refused && !mutation.runs_all_the_same) return;
  const bool same = same_results(testing::run_plan(plan, model.dataset, 2), expected);
  EXPECT_TRUE(refused || same) << "the verifier let it through, and the results are others";
  tally->run += refused ? 1 : 0;
  tally->different += refused && !same ? 1 : 0;
}

TEST(PlanMutation, WhatDoesHarmIsRefused) {
  const std::vector<Model> all = models();
  std::vector<std::vector<float>> expected;
  for (const Model& model : all) expected.push_back(testing::run_plan(model.plan, model.dataset, 2));
  for (const Mutation& mutation : kMutations) {
    Tally tally;
    for (std::size_t m = 0; m < all.size(); ++m) {
      for (std::uint64_t seed = 1; seed <= 40; ++seed) mutate(all[m], mutation, seed, expected[m], &tally);
    }
    RecordProperty(mutation.name, std::to_string(tally.refused) + " of " + std::to_string(tally.changed) +
                                      " refused, " + std::to_string(tally.different) + " of " +
                                      std::to_string(tally.run) + " run with other results");
    EXPECT_GE(tally.changed, 20) << mutation.name;
    EXPECT_GE(tally.refused, tally.changed / 4) << mutation.name;
    EXPECT_GE(tally.different, tally.run / 4) << mutation.name;
  }
}

TEST(PlanMutation, PlansAsTheyAreHaveNoDefects) {
  for (const Model& model : models()) EXPECT_EQ(ir::find_defects(model.plan), std::vector<std::string>()) << model.name;
}

TEST(PlanMutation, APlaceThatNobodyNeedsIsLetThrough) {
  const Model model = std::move(models()[0]);
  Plan plan = model.plan;
  const std::size_t v = stored_in(plan, Storage::kArena).front();
  const std::int64_t end = (plan.arena_bytes + 63) / 64 * 64;
  plan.placements[v].offset_bytes = end;
  plan.arena_bytes = plan.lasting_arena_bytes = plan.setup_arena_bytes = end + plan.placements[v].bytes;
  EXPECT_EQ(ir::find_defects(plan), std::vector<std::string>());
  EXPECT_EQ(testing::run_plan(plan, model.dataset, 2), testing::run_plan(model.plan, model.dataset, 2));
}

TEST(PlanMutation, TheFirstDefectIsNamed) {
  Plan plan = std::move(models()[0].plan);
  plan.steps[1].band = 99;
  try {
    ir::verify(plan);
    FAIL() << "it was let through";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
    EXPECT_NE(error.message().find("step 1 says that it is in band 99"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace gneiss
