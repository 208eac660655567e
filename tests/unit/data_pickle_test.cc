// The pickle reader of the Planetoid sets.
#include "data/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::list;
using ::gneiss::testing::PickleWriter;
using ::gneiss::testing::raw;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using std::string_literals::operator""s;

struct Parsed {
  std::string bytes;
  Pickle pickle;
  explicit Parsed(std::string text) : bytes(std::move(text)), pickle(std::as_bytes(std::span(bytes)), "p") {}
};

TEST(PickleTest, ReadsAnArray) {
  const Parsed parsed(PickleWriter().array("i4", {2, 2}, raw<std::int32_t>({1, 2, 3, 4})).finish());
  const NpyArray array = parsed.pickle.array(parsed.pickle.root());
  EXPECT_THAT(array.shape, ElementsAre(2, 2));
  EXPECT_THAT(list(to_int64(array)), ElementsAre(1, 2, 3, 4));
}

TEST(PickleTest, ReadsAMatrix) {
  const Parsed parsed(PickleWriter().matrix(2, 3, {0, 1, 2}, {2, 0}, {5, 6}).finish());
  const Pickle::Matrix matrix = parsed.pickle.matrix(parsed.pickle.root());
  EXPECT_EQ(matrix.rows, 2);
  EXPECT_EQ(matrix.cols, 3);
  EXPECT_THAT(list(to_floats(matrix.values)), ElementsAre(5, 6));
}

TEST(PickleTest, ReadsNeighbourListsAndTheMemo) {
  // One list is stored in the memo and used for two keys.
  const Parsed parsed(
      PickleWriter().op("}(").integer(0).op("]q\x05(").integer(7).op("e").integer(1).op("h\x05u").finish());
  const auto items = parsed.pickle.items(parsed.pickle.root());
  ASSERT_EQ(items.size(), 4U);
  EXPECT_EQ(parsed.pickle.items(items[3])[0].number, 7);
}

TEST(PickleTest, ReadsBytesThatWereWrittenAsText) {
  // Protocol 2 from Python 3: 0x80 as the character U+0080.
  const Parsed parsed(
      "\x80\x02"
      "c_codecs\nencode\nX\x03\0\0\0a\xc2\x80X\x06\0\0\0latin1\x86R\x8a\x02\xff\xfe\x86."s);
  EXPECT_EQ(parsed.pickle.items(parsed.pickle.root())[1].number, -257);
}

TEST(PickleTest, ReadsAnArrayOfProtocolFive) {
  const std::string bytes =
      "\x80\x05\x95\x80\0\0\0\0\0\0\0\x8c\x13numpy._core.numeric\x94\x8c\x0b_frombuffer\x94\x93\x94("
      "\x96\x08\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0\x8c\x05numpy\x8c\x05"
      "dtype\x93\x8c\x02i4\x89\x88\x87R"
      "(K\x03\x8c\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tbK\x02\x85\x8c\x01"
      "CtR."s;
  const Parsed parsed(bytes);
  EXPECT_THAT(list(to_int64(parsed.pickle.array(parsed.pickle.root()))), ElementsAre(1, 2));
}

struct BadPickle {
  const char* name;
  std::string bytes;
  const char* message;
};

class BadPickleTest : public ::testing::TestWithParam<BadPickle> {};

TEST_P(BadPickleTest, IsRefused) {
  const Error error = error_of([] { Parsed parsed(GetParam().bytes); });
  EXPECT_EQ(error.code(), ErrorCode::kBadData);
  EXPECT_THAT(error.where(), HasSubstr("p: byte "));
  EXPECT_THAT(error.message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadPickleTest,
    ::testing::Values(BadPickle{"System",
                                "\x80\x02"
                                "cos\nsystem\n(U\x02lstR.",
                                "Python object 'os system'"},
                      BadPickle{"Eval",
                                "\x80\x02"
                                "c__builtin__\neval\n.",
                                "'__builtin__ eval'"},
                      BadPickle{"Global4", "\x80\x04\x8c\x02os\x8c\x06system\x93.", "Python object 'os system'"},
                      BadPickle{"GlobalOfNumbers", "\x80\x04K\x01K\x02\x93.", "by something else than text"},
                      BadPickle{"CutFrame", "\x80\x04\x95\x01", "cut off"},
                      BadPickle{"LongBytes", "\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xffx", "cut off"},
                      BadPickle{"LongNumber", "\x80\x02\x8a\x09xxxxxxxxx.", "more than 64 bits"},
                      BadPickle{"EncodeOther",
                                "\x80\x02"
                                "c_codecs\nencode\nX\x01\0\0\0aX\x04\0\0\0utf8\x86R."s,
                                "something else than text in Latin-1"},
                      BadPickle{"EncodeWide",
                                "\x80\x02"
                                "c_codecs\nencode\nX\x03\0\0\0\xe2\x82\xacX\x06\0\0\0latin1\x86R."s,
                                "no form in Latin-1"},
                      BadPickle{"Inst", "\x80\x02(ios\nsystem\n.", "instruction INST"},
                      BadPickle{"Obj", "\x80\x02(o.", "instruction OBJ"},
                      BadPickle{"Extension", "\x80\x02\x82\x01.", "instruction EXT1"},
                      BadPickle{"Persistent", "\x80\x02Pid\n.", "instruction PERSID"},
                      BadPickle{"Unknown", "\x80\x02\xfe.", "instruction unknown (0xfe)"},
                      BadPickle{"Protocol", "\x80\x06N.", "protocol 6"},
                      BadPickle{"NoProtocol", "N.", "begins with the byte 0x80"},
                      BadPickle{"Empty", "", "begins with the byte 0x80"},
                      BadPickle{"CutOff", "\x80\x02T\xff\xff\xff\x7fx", "cut off"},
                      BadPickle{"NoStop", "\x80\x02N", "cut off"},
                      BadPickle{"NegativeString", "\x80\x02T\xff\xff\xff\xffx.", "string of -1 bytes"},
                      BadPickle{"EmptyStack", "\x80\x02\x85.", "empty stack"},
                      BadPickle{"NoMark", "\x80\x02t.", "a mark that it has not set"},
                      BadPickle{"EmptyMemo", "\x80\x02h\x01.", "memo slot 1, which is empty"},
                      BadPickle{"PutNothing", "\x80\x02q\x01.", "empty stack"},
                      BadPickle{"TwoValues", "\x80\x02NN.", "does not end with one value"},
                      BadPickle{"AppendToNone", "\x80\x02NNa.", "adds elements to something that has none"},
                      BadPickle{"OddItems", "\x80\x02}(Nu.", "a key without a value"},
                      BadPickle{"CallNone", "\x80\x02N)R.", "cannot be called"},
                      BadPickle{"CallList",
                                "\x80\x02"
                                "c__builtin__\nlist\n)R.",
                                "calls a type that is only to be named"},
                      BadPickle{"BuildNone", "\x80\x02N)b.", "state to something that takes none"},
                      BadPickle{"OpenMark", "\x80\x02(N.", "does not end with one value"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(PickleTest, RefusesRepeatedStateThatWouldBlowUpMemory) {
  PickleWriter writer;
  writer.op("cscipy.sparse.csr\ncsr_matrix\n)\x81}(");
  for (int i = 0; i < 30; ++i) writer.integer(i).op("N");
  writer.op(
      "uq\x01"
      "b");
  for (int i = 0; i < 3; ++i)
    writer.op(
        "h\x01"
        "b");
  EXPECT_THAT(error_of([&] { Parsed parsed(writer.finish()); }).message(), HasSubstr("too much state"));
}

TEST(PickleTest, RefusesArraysWhosePartsDoNotFit) {
  const Parsed none("\x80\x02N.");
  EXPECT_THAT(error_of([&] { none.pickle.array(none.pickle.root()); }).message(), HasSubstr("no NumPy array"));
  EXPECT_THAT(error_of([&] { none.pickle.matrix(none.pickle.root()); }).message(), HasSubstr("no CSR matrix"));
  EXPECT_THAT(error_of([&] { none.pickle.items(none.pickle.root()); }).message(), HasSubstr("another kind of object"));
  const Parsed cut(PickleWriter().array("i4", {100}, "xxxx").finish());
  EXPECT_THAT(error_of([&] { cut.pickle.array(cut.pickle.root()); }).message(),
              HasSubstr("needs 400 bytes, 4 are there"));
  const Parsed objects(PickleWriter().array("O8", {1}, "xxxxxxxx").finish());
  EXPECT_THAT(error_of([&] { objects.pickle.array(objects.pickle.root()); }).message(), HasSubstr("Python objects"));
}

}  // namespace
}  // namespace gneiss::data
