#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "runs/safetensors.h"

namespace gneiss::runs {
namespace {

std::string file_of(const std::string& header, const std::string& data) {
  std::string bytes;
  const std::uint64_t length = header.size();
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(length >> (8 * i)));
  return bytes + header + data;
}

void expect_refused(const std::string& bytes, const std::string& part) {
  try {
    decode_safetensors(bytes, "w.safetensors");
    FAIL() << "accepted; expected: " << part;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kBadData);
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    EXPECT_NE(e.where().find("w.safetensors"), std::string::npos) << e.what();
  }
}

TEST(SafeTensors, ReadsBackWhatItWrote) {
  SafeTensors content;
  const std::vector<float> values = {1, -2, 3.5F, 0, 5, 6};
  content.tensors.push_back(f32_tensor("convs.0.lin.weight", {2, 3}, values));
  content.tensors.push_back(i64_scalar("norms.0.module.num_batches_tracked", 7));
  content.metadata["format"] = "pt";
  const std::string bytes = encode_safetensors(content);
  const SafeTensors back = decode_safetensors(bytes, "x");
  ASSERT_EQ(back.tensors.size(), 2U);
  EXPECT_EQ(to_f32(*back.find("convs.0.lin.weight")), values);
  EXPECT_EQ(back.tensors[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_TRUE(back.tensors[1].shape.empty());
  EXPECT_EQ(back.tensors[1].dtype, "I64");
  EXPECT_EQ(back.metadata.at("format"), "pt");
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  EXPECT_EQ(header % 8, 0U);  // the data are aligned
}

TEST(SafeTensors, RefusesWhatDoesNotFitTheFile) {
  expect_refused("short", "too few");
  expect_refused(file_of("{}", "").substr(0, 9), "the header says");
  expect_refused(std::string(8, '\xff') + "{}", "the header says");
  expect_refused(file_of("[1]", ""), "not a JSON object");
  expect_refused(file_of("{\"a\":", ""), "not a JSON object");
}

TEST(SafeTensors, RefusesBadEntriesByName) {
  expect_refused(file_of(R"({"a":3})", ""), "tensor 'a'");
  expect_refused(file_of(R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", "abcd"), "unknown dtype 'F31'");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "abcd"), "no size");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4,4],"data_offsets":[0,4]}})", "abcd"),
                 "overflows");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "abcd"), "needs 8 bytes");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,5]}})", "abcd"), "outside");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "abcd"), "outside");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[1]}})", "abcd"), "data_offsets");
  expect_refused(file_of(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", "abcd"), "shape");
}

TEST(SafeTensors, DataMustBeTiledExactly) {
  const std::string one = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  expect_refused(file_of("{" + one + "}", "abcdefgh"), "belong to none");
  expect_refused(file_of("{" + one + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "abcd"), "overlap");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "abcdefgh"), "gap");
  expect_refused(file_of("{" + one + "," + one + "}", "abcd"), "twice");
}

TEST(SafeTensors, MetadataIsText) {
  expect_refused(file_of(R"({"__metadata__":{"k":1}})", ""), "'k'");
  expect_refused(file_of(R"({"__metadata__":[]})", ""), "__metadata__");
}

TEST(SafeTensors, OnlyNumbersBecomeF32) { EXPECT_THROW(to_f32(i64_scalar("n", 1)), Error); }

}  // namespace
}  // namespace gneiss::runs
