// ZIP archives and .npz files.
#include "data/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::list;
using ::gneiss::testing::npy;
using ::gneiss::testing::npy_f4;
using ::gneiss::testing::npz;
using ::gneiss::testing::TempFolder;
using ::gneiss::testing::zip;
using ::gneiss::testing::ZipPart;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NpzTest, ReadsStoredAndDeflatedMembers) {
  const TempFolder folder;
  for (const bool deflate : {false, true}) {
    const NpzFile file(
        folder.write("a.npz", npz({{"x", npy_f4("(2,)", {1, 2})}, {"y", npy_f4("(1,)", {3})}}, deflate)));
    EXPECT_THAT(file.names(), ElementsAre("x", "y"));
    EXPECT_THAT(list(to_floats(file.array("x"))), ElementsAre(1, 2));
    EXPECT_THAT(list(to_floats(file.array("y"))), ElementsAre(3));
  }
}

TEST(NpzTest, ReadsZip64Sizes) {
  const TempFolder folder;
  ZipPart part;
  part.name = "x.npy";
  part.content = npy_f4("(1,)", {5});
  part.zip64 = true;
  const NpzFile file(folder.write("a.npz", zip({part})));
  EXPECT_THAT(list(to_floats(file.array("x"))), ElementsAre(5));
}

TEST(NpzTest, SkipsObjectsUntilTheyAreAskedFor) {
  const TempFolder folder;
  const NpzFile file(folder.write("a.npz", npz({{"names", npy("|O", "(1,)", "pickle")}, {"x", npy_f4("(1,)", {1})}})));
  EXPECT_FALSE(file.readable("names"));
  EXPECT_TRUE(file.readable("x"));
  EXPECT_FALSE(file.readable("absent"));
  const Error error = error_of([&] { file.array("names"); });
  EXPECT_THAT(error.message(), HasSubstr("Python objects"));
  EXPECT_THAT(error.where(), HasSubstr("a.npz:names"));
}

TEST(NpzTest, SaysWhatIsThereWhenAMemberIsNot) {
  const TempFolder folder;
  const NpzFile file(folder.write("a.npz", npz({{"x", npy_f4("(1,)", {1})}})));
  const Error error = error_of([&] { file.array("y"); });
  EXPECT_THAT(error.message(), HasSubstr("no member 'y'"));
  EXPECT_EQ(error.hint(), "it has: x");
}

TEST(NpzTest, ReadsAnEmptyArchive) {
  const TempFolder folder;
  EXPECT_TRUE(NpzFile(folder.write("a.npz", zip({}))).names().empty());
}

}  // namespace
}  // namespace gneiss::data
