// JSON values: what is written, what is read back, and what is refused with which words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/json.h"

namespace gneiss {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::string& text, int most_levels = 100) {
  try {
    Json::parse(text, "here", most_levels);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
    EXPECT_THAT(error.what(), HasSubstr("here"));
    return error.message();
  }
  return "";
}

TEST(Json, WritesEveryKindInTheOrderInWhichItWasAdded) {
  Json json;
  json["z"] = nullptr;
  json["flag"] = true;
  json["least"] = std::numeric_limits<std::int64_t>::min();
  json["most"] = std::numeric_limits<std::uint64_t>::max();
  json["real"] = 0.1;
  json["float"] = 0.5F;
  json["text"] = "a \"b\"";
  json["list"] = std::vector<int>{1, -2};
  json["texts"] = std::vector<std::string>{"x"};
  json["object"] = Json::object({{"b", 1}, {"a", Json::list({Json::object(), Json::list()})}});
  json["map"] = std::map<std::string, std::string>{{"k", "v"}};
  EXPECT_EQ(json.dump(),
            R"({"z":null,"flag":true,"least":-9223372036854775808,"most":18446744073709551615,"real":0.1,"float":0.5,)"
            R"("text":"a \"b\"","list":[1,-2],"texts":["x"],"object":{"b":1,"a":[{},[]]},"map":{"k":"v"}})");
  EXPECT_EQ(Json::object({{"a", Json::list({1})}}).dump(2), "{\n  \"a\": [\n    1\n  ]\n}");
}

TEST(Json, WritesUndefinedNumbersAsNullAndBrokenTextAsReplacement) {
  EXPECT_EQ(Json::list({std::nan(""), std::numeric_limits<double>::infinity()}).dump(), "[null,null]");
  EXPECT_EQ(Json("a\xff").dump(), "\"a\xEF\xBF\xBD\"");
}

TEST(Json, ReadsWhatItWrites) {
  const std::string text = R"({"b":[1,-2,2.5,true,null,"é"],"a":{"c":{}}})";
  EXPECT_EQ(Json::parse(text, "here").dump(), text);
}

TEST(Json, TellsKindsOfNumbersApart) {
  const Json json = Json::parse("[1, -1, 1.0, 18446744073709551615]", "here");
  EXPECT_TRUE(json.elements()[0].is_size());
  EXPECT_FALSE(json.elements()[1].is_size());
  EXPECT_TRUE(json.elements()[1].is_integer());
  EXPECT_FALSE(json.elements()[2].is_integer());
  EXPECT_EQ(json.elements()[1].integer(), -1);
  EXPECT_EQ(json.elements()[1].real(), -1.0);
  EXPECT_THROW(json.elements()[3].integer(), Error);
  EXPECT_THROW(json.elements()[2].integer(), Error);
  EXPECT_THROW(json.elements()[0].text(), Error);
}

TEST(Json, FindsMembers) {
  const Json json = Json::parse(R"({"a": {"b": 2}})", "here");
  EXPECT_EQ(json.at("a").at("b").integer(), 2);
  EXPECT_EQ(json.find("b"), nullptr);
  EXPECT_EQ(Json(1).find("b"), nullptr);
  EXPECT_THROW(json.at("b"), Error);
}

TEST(Json, RefusesWhatIsNoJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1}x", "nul", "\"\xff\"", "01"}) {
    EXPECT_THAT(refusal(text), HasSubstr("not valid JSON")) << text;
  }
  EXPECT_THAT(refusal(R"({"a": 1, "b": 2, "a": 3})"), HasSubstr("the key 'a' is given twice"));
  EXPECT_EQ(refusal(R"([{"a": 1}, {"a": 3}])"), "");
}

TEST(Json, RefusesDeepNesting) {
  EXPECT_EQ(refusal("[[[]]]", 3), "");
  EXPECT_THAT(refusal("[[[{}]]]", 3), HasSubstr("nested deeper than 3"));
  EXPECT_THAT(refusal(std::string(1'000'000, '['), 100), HasSubstr("nested deeper than 100"));
}

}  // namespace
}  // namespace gneiss
