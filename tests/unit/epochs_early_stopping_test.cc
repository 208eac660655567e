#include <gtest/gtest.h>

#include "epochs/early_stopping.h"
#include "epochs/schedule.h"

namespace gneiss::epochs {
namespace {

TEST(EarlyStopping, TheFirstOfEqualEpochsIsBest) {
  EarlyStopping stopping(Monitor::kMetric, true, 2);
  EXPECT_TRUE(stopping.observe(0.5, 1));
  EXPECT_FALSE(stopping.observe(0.5, 0));
  EXPECT_FALSE(stopping.should_stop());
  EXPECT_FALSE(stopping.observe(0.4, 0));
  EXPECT_TRUE(stopping.should_stop());
}

TEST(EarlyStopping, CountsPatienceAnewAfterProgress) {
  EarlyStopping stopping(Monitor::kMetric, true, 2);
  stopping.observe(0.5, 1);
  stopping.observe(0.4, 1);
  EXPECT_TRUE(stopping.observe(0.6, 1));
  stopping.observe(0.6, 1);
  EXPECT_FALSE(stopping.should_stop());
}

TEST(EarlyStopping, LossAndErrorsAreBetterWhenLower) {
  EarlyStopping by_loss(Monitor::kLoss, true, 0);
  by_loss.observe(0.5, 1);
  EXPECT_TRUE(by_loss.observe(0.1, 0.9));
  EXPECT_FALSE(by_loss.should_stop());
  EarlyStopping by_error(Monitor::kMetric, false, 0);
  by_error.observe(2.0, 1);
  EXPECT_TRUE(by_error.observe(1.5, 1));
  EXPECT_FALSE(by_error.observe(1.6, 1));
}

TEST(EarlyStopping, TheObjectiveIsJudgedByItsLossAlone) {
  EarlyStopping stopping(Monitor::kObjective, true, 2);
  EXPECT_TRUE(stopping.observe(0.5, 1.0));
  EXPECT_FALSE(stopping.observe(0.9, 1.1));
  EXPECT_TRUE(stopping.observe(0.4, 0.9));
}

TEST(EarlyStopping, BothNeedsBothForTheBestAndEitherForProgress) {
  EarlyStopping stopping(Monitor::kBoth, true, 1);
  EXPECT_TRUE(stopping.observe(0.5, 1.0));
  EXPECT_FALSE(stopping.observe(0.6, 1.1));  // progress by the metric alone
  EXPECT_FALSE(stopping.should_stop());
  EXPECT_TRUE(stopping.observe(0.6, 0.9));
  EXPECT_FALSE(stopping.observe(0.5, 1.0));
  EXPECT_TRUE(stopping.should_stop());
}

TEST(Schedule, ConstantIsTheBaseRate) { EXPECT_EQ(Schedule({}, 0.1, 10, true).lr(7), 0.1); }

TEST(Schedule, WarmupReachesTheBaseRate) {
  ScheduleConfig config;
  config.warmup_epochs = 4;
  config.warmup_start = 0.5;
  const Schedule schedule(config, 0.1, 10, true);
  EXPECT_DOUBLE_EQ(schedule.lr(0), 0.05);
  EXPECT_DOUBLE_EQ(schedule.lr(2), 0.075);
  EXPECT_DOUBLE_EQ(schedule.lr(4), 0.1);
}

TEST(Schedule, PlateauWaitsForMoreThanPatience) {
  ScheduleConfig config;
  config.kind = ScheduleKind::kPlateau;
  config.patience = 1;
  config.factor = 0.5;
  Schedule schedule(config, 0.1, 10, false);
  for (const double loss : {1.0, 1.0}) schedule.observe(loss);
  EXPECT_DOUBLE_EQ(schedule.lr(2), 0.1);
  schedule.observe(1.0);
  EXPECT_DOUBLE_EQ(schedule.lr(3), 0.05);
}

}  // namespace
}  // namespace gneiss::epochs
