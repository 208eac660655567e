// What launchers say in the environment, and what follows from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "comm/launch.h"
#include "comm/mpi/mpi_ranks.h"
#include "support/data_fixtures.h"

namespace gneiss {
namespace {

using testing::Environment;
using ::testing::HasSubstr;

/// No launcher, whatever started the tests.
class Launch : public ::testing::Test {
 private:
  Environment open_mpi_{"OMPI_COMM_WORLD_SIZE", ""};
  Environment pmi_{"PMI_SIZE", ""};
  Environment slurm_{"SLURM_STEP_NUM_TASKS", ""};
};

TEST_F(Launch, IsFoundInTheEnvironment) {
  EXPECT_EQ(comm::find_launch().ranks, 1);
  const Environment size("OMPI_COMM_WORLD_SIZE", "4");
  const Environment rank("OMPI_COMM_WORLD_RANK", "3");
  const Environment here("OMPI_COMM_WORLD_LOCAL_SIZE", "2");
  const comm::Launch launch = comm::find_launch();
  EXPECT_EQ(launch.ranks, 4);
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.here, 2);
  EXPECT_EQ(launch.by, "mpirun");
}

TEST_F(Launch, KnowsOtherLaunchersAndNoNonsense) {
  {
    const Environment size("PMI_SIZE", "2");
    EXPECT_EQ(comm::find_launch().ranks, 2);
  }
  {
    const Environment size("SLURM_STEP_NUM_TASKS", "8");
    const Environment rank("SLURM_PROCID", "5");
    EXPECT_EQ(comm::find_launch().rank, 5);
    EXPECT_EQ(comm::find_launch().by, "srun");
    EXPECT_EQ(comm::find_launch().here, 1);
    const Environment node("SLURM_NODEID", "2");
    for (const auto& [list, here] :
         {std::pair{"3(x2),2", 2}, {"3(x2)", 1}, {"1,2,5", 5}, {"2(x4)", 2}, {"9(x3)", 8}, {"two", 1}, {"2(x", 1}}) {
      const Environment tasks("SLURM_STEP_TASKS_PER_NODE", list);
      EXPECT_EQ(comm::find_launch().here, here) << list;
    }
  }
  const Environment size("OMPI_COMM_WORLD_SIZE", "many");
  EXPECT_EQ(comm::find_launch().ranks, 1);
}

TEST_F(Launch, WithoutOneRanksAreThreads) {
  EXPECT_EQ(comm::make_ranks(1), nullptr);
  const std::unique_ptr<comm::Ranks> ranks = comm::make_ranks(3);
  EXPECT_EQ(ranks->count(), 3);
  EXPECT_EQ(ranks->here(), 3);
}

TEST_F(Launch, AnotherNumberThanTheLaunchersIsRefused) {
  const Environment size("OMPI_COMM_WORLD_SIZE", "2");
  const Error error = testing::error_of([] { comm::make_ranks(3); });
  if (comm::mpi_is_built()) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.message(), HasSubstr("--ranks 3 is asked for, mpirun started 2 processes"));
  } else {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.message(), HasSubstr("mpirun started 2 processes, and this gneiss was built without MPI"));
  }
}

}  // namespace
}  // namespace gneiss
