// The .npy reader and writer.
#include "base/file_pages.h"
#include "data/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::list;
using ::gneiss::testing::npy;
using ::gneiss::testing::npy_with_header;
using ::gneiss::testing::raw;
using ::gneiss::testing::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

NpyArray parse(const std::string& bytes) {
  static std::string kept;  // the array points into it
  kept = bytes;
  return parse_npy(std::as_bytes(std::span(kept)), "a.npy");
}

TEST(NpyTest, ReadsEveryNumberType) {
  EXPECT_THAT(list(to_int64(parse(npy("|i1", "(2,)", raw<std::int8_t>({-1, 2}))))), ElementsAre(-1, 2));
  EXPECT_THAT(list(to_int64(parse(npy("<i2", "(2,)", raw<std::int16_t>({-300, 2}))))), ElementsAre(-300, 2));
  EXPECT_THAT(list(to_int64(parse(npy("<i4", "(1,)", raw<std::int32_t>({-70000}))))), ElementsAre(-70000));
  EXPECT_THAT(list(to_int64(parse(npy("<i8", "(1,)", raw<std::int64_t>({1LL << 40}))))), ElementsAre(1LL << 40));
  EXPECT_THAT(list(to_int64(parse(npy("|u1", "(1,)", raw<std::uint8_t>({255}))))), ElementsAre(255));
  EXPECT_THAT(list(to_int64(parse(npy("<u2", "(1,)", raw<std::uint16_t>({65535}))))), ElementsAre(65535));
  EXPECT_THAT(list(to_int64(parse(npy("<u4", "(1,)", raw<std::uint32_t>({4000000000U}))))), ElementsAre(4000000000LL));
  EXPECT_THAT(list(to_int64(parse(npy("<u8", "(1,)", raw<std::uint64_t>({7}))))), ElementsAre(7));
  EXPECT_THAT(list(to_int64(parse(npy("|b1", "(2,)", raw<std::uint8_t>({1, 0}))))), ElementsAre(1, 0));
  EXPECT_THAT(list(to_floats(parse(npy("<f8", "(2,)", raw<double>({0.5, -2}))))), ElementsAre(0.5F, -2.0F));
  EXPECT_THAT(list(to_floats(parse(npy("<f4", "(1,)", raw<float>({0.25F}))))), ElementsAre(0.25F));
}

TEST(NpyTest, ReadsHalfPrecision) {
  // 1, -2, the smallest subnormal, the largest number, infinity
  const auto values =
      to_floats(parse(npy("<f2", "(5,)", raw<std::uint16_t>({0x3C00, 0xC000, 0x0001, 0x7BFF, 0x7C00}))));
  EXPECT_THAT(list(std::span<const float>(values).first(4)), ElementsAre(1.0F, -2.0F, 0x1p-24F, 65504.0F));
  EXPECT_TRUE(std::isinf(values[4]));
}

TEST(NpyTest, TurnsFortranOrderIntoRowMajor) {
  const auto values = to_floats(parse(npy("<f4", "(2, 3)", raw<float>({1, 4, 2, 5, 3, 6}), true)));
  EXPECT_THAT(list(values), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(NpyTest, ReadsScalarsEmptyArraysAndVersionTwo) {
  EXPECT_EQ(parse(npy("<i4", "()", raw<std::int32_t>({9}))).count, 1);
  EXPECT_EQ(parse(npy("<i4", "(0, 5)", "")).count, 0);
  const std::string dict = "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }\n";
  std::string two("\x93NUMPY\x02\x00", 8);
  two += std::string{static_cast<char>(dict.size()), 0, 0, 0};
  EXPECT_THAT(list(to_int64(parse(two + dict + raw<std::int32_t>({3})))), ElementsAre(3));
}

TEST(NpyTest, ReadsTextAsUtf8) {
  const auto array = parse(npy("<U2", "(2,)", raw<std::uint32_t>({'a', 0xE9, 0x1F600, 0})));
  EXPECT_THAT(to_strings(array), ElementsAre("a\xC3\xA9", "\xF0\x9F\x98\x80"));
  EXPECT_THAT(to_strings(parse(npy("|S3", "(2,)", std::string("abcd\0\0", 6)))), ElementsAre("abc", "d"));
}

TEST(NpyTest, NamesTheFirstValueThatDoesNotFit) {
  EXPECT_THAT(error_of([] {
                to_ids(parse(npy("<i8", "(2, 2)", raw<std::int64_t>({0, 1, 2, 9}))), 5);
              }).message(),
              HasSubstr("element [1, 1] is 9, outside 0..4"));
  EXPECT_THAT(error_of([] { to_ids(parse(npy("<i8", "(1,)", raw<std::int64_t>({-1}))), 5); }).message(),
              HasSubstr("[0] is -1"));
  EXPECT_THAT(error_of([] {
                to_int64(parse(npy("<f4", "(2,)", raw<float>({1, 1.5F}))));
              }).message(),
              HasSubstr("element [1] is 1.5"));
  EXPECT_THAT(error_of([] { to_int64(parse(npy("<u8", "(1,)", raw<std::uint64_t>({~0ULL})))); }).message(),
              HasSubstr("not a whole number of 64 bits"));
  EXPECT_THAT(error_of([] { to_floats(parse(npy("<f8", "(1,)", raw<double>({1e300})))); }).message(),
              HasSubstr("beyond the range of 32-bit floats"));
  EXPECT_THAT(error_of([] { to_bools(parse(npy("|u1", "(1,)", raw<std::uint8_t>({2})))); }).message(),
              HasSubstr("outside 0..1"));
  EXPECT_THAT(error_of([] { to_floats(parse(npy("<U1", "(1,)", raw<std::uint32_t>({65})))); }).message(),
              HasSubstr("expected numbers, got text"));
  EXPECT_THAT(error_of([] { to_strings(parse(npy("|u1", "(1,)", "a"))); }).message(), HasSubstr("expected text"));
}

TEST(NpyTest, ThreadsNarrowNodeNumbersAndTheFirstBadOneIsNamed) {
  std::vector<std::int64_t> ids(700000);  // more than one thread converts at a time
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i * 7 % 1000);
  const auto convert = [&](int threads) { return to_ids(parse(npy("<i8", "(2, 350000)", raw(ids))), 1000, threads); };
  for (const int threads : {1, 2, 3}) {
    const Buffer<NodeId> narrow = convert(threads);
    ASSERT_EQ(narrow.size(), ids.size());
    EXPECT_TRUE(std::equal(narrow.begin(), narrow.end(), ids.begin()));
  }
  ids[690000] = -5;
  ids[600000] = std::int64_t{1} << 32;  // 0 in 32 bits
  EXPECT_THAT(error_of([&] { convert(2); }).message(), HasSubstr("element [1, 250000] is 4294967296, outside 0..999"));
}

TEST(NpyTest, WritesPageAlignedDataThatItReads) {
  const TempFolder folder;
  const auto path = folder.path() / "x.npy";
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  write_npy(path, "<f4", {3, 2}, std::as_bytes(std::span(values)));
  const NpyArray array = load_npy(path);
  EXPECT_THAT(array.shape, ElementsAre(3, 2));
  EXPECT_EQ(array.data.data() - array.file->bytes().data(), 4096);
  EXPECT_THAT(list(to_floats(array)), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(NpyTest, LargeArraysStayInTheFilesPages) {
  const TempFolder folder;
  const auto path = folder.path() / "x.npy";
  std::vector<float> values(std::size_t{1} << 19);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  write_npy(path, "<f4", {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values)));
  Buffer<float> buffer;
  {
    const NpyArray array = load_npy(path);
    buffer = to_floats(array);
    EXPECT_EQ(static_cast<const void*>(buffer.data()), array.data.data());
  }
  EXPECT_EQ(list(buffer), values) << "the buffer keeps the file mapped";
  EXPECT_TRUE(as_in_file(buffer));
  give_back_tail(buffer.data(), 0, buffer.size_bytes());
  EXPECT_EQ(list(buffer), values) << "pages come back from the file";
  buffer[7] = -1;
  EXPECT_FALSE(as_in_file(buffer)) << "what was written would be lost with its page";
  EXPECT_EQ(list(to_floats(load_npy(path))), values) << "what is written does not reach the file";
  const float* before = buffer.data();
  settle(&buffer, 2);
  EXPECT_NE(buffer.data(), before);
  values[7] = -1;
  EXPECT_EQ(list(buffer), values);
  EXPECT_FALSE(as_in_file(buffer));
}

struct BadNpy {
  const char* name;
  std::string bytes;
  const char* message;
};

class BadNpyTest : public ::testing::TestWithParam<BadNpy> {};

TEST_P(BadNpyTest, IsRefused) {
  const Error error = error_of([] { parse(GetParam().bytes); });
  EXPECT_EQ(error.code(), ErrorCode::kBadData);
  EXPECT_EQ(error.where(), "a.npy");
  EXPECT_THAT(error.message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadNpyTest,
    ::testing::Values(
        BadNpy{"Empty", "", "not a .npy array"}, BadNpy{"Magic", "\x93NUMPX\x01\x01\x10\x10", "not a .npy array"},
        BadNpy{"Version", std::string("\x93NUMPY\x09\x00\x00\x00", 10), ".npy version 9"},
        BadNpy{"HeaderLength", std::string("\x93NUMPY\x01\x00\xff\xff{}", 12), ".npy header claims 65535 bytes"},
        BadNpy{"HeaderLength32", std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14), ".npy header claims"},
        BadNpy{"Object", npy("|O", "(1,)", "xxxxxxxx"), "Python objects"},
        BadNpy{"BigEndian", npy(">f4", "(1,)", "xxxx"), "big-endian"},
        BadNpy{"Complex", npy("<c8", "(1,)", "xxxxxxxx"), "element type '<c8' is not read"},
        BadNpy{"Structured",
               npy_with_header("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }", "xxxx"),
               "structured arrays"},
        BadNpy{"Overflow", npy("<f8", "(4294967296, 4294967296)", ""), "overflows"},
        BadNpy{"OverflowOfBytes", npy("<f8", "(2305843009213693952,)", ""), "overflows"},
        BadNpy{"Negative", npy("<f4", "(-1,)", "xxxx"), "negative size"},
        BadNpy{"Truncated", npy("<f4", "(3,)", "xxxxxxxx"), "needs 12 bytes, 8 are there"},
        BadNpy{"BadNumber", npy("<f4", "(99999999999999999999,)", ""), "bad number in shape"},
        BadNpy{"ManyDims", npy("<f4", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)", "xxxx"),
               "more than 32 dimensions"},
        BadNpy{"MissingKey", npy_with_header("{'descr': '<f4', 'shape': (1,), }", "xxxx"), "needs 'descr'"},
        BadNpy{"RepeatedKey", npy_with_header("{'descr': '<f4', 'descr': '<f8', }", "xxxx"), "repeated key 'descr'"},
        BadNpy{"UnknownKey", npy_with_header("{'colour': 'red', }", "xxxx"), "unexpected or repeated key 'colour'"},
        BadNpy{"Trailing", npy_with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} + 1", "xxxx"),
               "something follows the dict"},
        BadNpy{"NoDict", npy_with_header("__import__('os')", ""), "expected '{'"},
        BadNpy{"OpenString", npy_with_header("{'descr", ""), "a string does not end"},
        BadNpy{"BadBool", npy_with_header("{'fortran_order': maybe", ""), "must be True or False"},
        BadNpy{"EmptyStrings", npy("|S0", "(1099511627776,)", ""), "larger than the file"}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace gneiss::data
