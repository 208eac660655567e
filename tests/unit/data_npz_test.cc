// ZIP archives and .npz files.
#include "data/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "data/npz_write.h"
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

TEST(NpzWriterTest, WritesWhatTheReaderReads) {
  const TempFolder folder;
  const std::vector<std::int64_t> ids = {1, -2, std::int64_t{1} << 40};
  const std::vector<std::int32_t> none;
  const std::vector<std::int32_t> few = {7, 8};
  for (const char* name : {"a.npz", "b.npz"}) {
    NpzWriter writer(folder.path() / name);
    writer.add<std::int64_t>("ids", "<i8", ids);
    writer.add<std::int32_t>("none", "<i4", none);
    writer.add<std::int32_t>("few", "<i4", few);
    writer.commit();
  }
  const NpzFile file(folder.path() / "a.npz");
  EXPECT_THAT(file.names(), ElementsAre("ids", "none", "few"));
  EXPECT_THAT(list(to_int64(file.array("ids"))), ElementsAre(1, -2, std::int64_t{1} << 40));
  EXPECT_EQ(file.array("none").count, 0);
  EXPECT_THAT(list(to_int64(file.array("few"))), ElementsAre(7, 8));
  EXPECT_EQ(read_file(folder.path() / "a.npz"), read_file(folder.path() / "b.npz"));
}

TEST(NpzWriterTest, RefusesWhatAPlainArchiveCannotHoldBeforeItWrites) {
  const TempFolder folder;
  NpzWriter writer(folder.path() / "a.npz");
  std::vector<std::byte> bytes(1 << 20);
  for (int i = 0; i < 4096; ++i) writer.add<std::byte>(std::to_string(i), "|u1", bytes);
  const Error error = error_of([&] { writer.commit(); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(error.message(), HasSubstr("a.npz"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a.npz"));
}

TEST(NpzWriterTest, ADiskThatTakesNothingIsAnError) {
  NpzWriter writer("/proc/gneiss/a.npz");
  const std::vector<std::int32_t> few = {7, 8};
  writer.add<std::int32_t>("few", "<i4", few);
  EXPECT_EQ(error_of([&] { writer.commit(); }).code(), ErrorCode::kDisk);
}

}  // namespace
}  // namespace gneiss::data
