// The address space over processes that MPI joins keeps what that of threads does. Started by mpirun on any number of
// processes (tools/check-mpi); all run the same tests in the same order, and each fails for itself.
#include <gtest/gtest.h>

#include <memory>

#include "comm/mpi/mpi_ranks.h"
#include "support/space_contract.h"

namespace gneiss {
namespace {

comm::Ranks* world = nullptr;  // MPI is started once a process

testing::SpaceContract contract() { return {*world}; }

TEST(MpiSpace, EveryDeviceReadsEveryRow) { contract().every_device_reads_every_row(); }
TEST(MpiSpace, StridesDiffer) { contract().strides_differ(); }
TEST(MpiSpace, FramesMayBeOpenSideBySide) { contract().frames_may_be_open_side_by_side(); }
TEST(MpiSpace, ManyGetsMayBeUnderWay) { contract().many_gets_may_be_under_way(); }
TEST(MpiSpace, RowsKeepTheirValuesUntilClose) { contract().rows_keep_their_values_until_close(); }
TEST(MpiSpace, ADeviceMayHaveNoRows) { contract().a_device_may_have_no_rows(); }
TEST(MpiSpace, WhatIsAskedForIsLookedAt) { contract().what_is_asked_for_is_looked_at(); }
TEST(MpiSpace, GetsAreNoted) { contract().gets_are_noted(); }

}  // namespace
}  // namespace gneiss

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const std::unique_ptr<gneiss::comm::Ranks> ranks = gneiss::comm::mpi_ranks();
  gneiss::world = ranks.get();
  return RUN_ALL_TESTS();
}
