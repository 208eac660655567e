// The options that overrule how tables are read, through the command, and what it says it understood.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "e2e/command.h"

namespace gneiss::testing {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

class TableOptions : public ::testing::Test {
 protected:
  /// What `data info` says of e.csv with these options, on one line.
  std::string info(const std::string& options) const {
    const CommandResult result = place.gneiss(words("data info e.csv " + options));
    std::string text = result.code == 0 ? result.out : result.err;
    std::string line;
    for (const std::string& word : words(text)) line += word + " ";
    return line;
  }

  Workplace place;
};

TEST_F(TableOptions, NameTheColumnsOfEdges) {
  place.write("e.csv", "when,foo,bar,km\n2020,5,7,0.5\n2021,5,8,1.5\n2022,7,8,2\n");
  EXPECT_THAT(info(""), HasSubstr("--source-column"));
  EXPECT_THAT(info("--source-column foo --target-column bar --weight-column km"),
              HasSubstr("first edge 5 -> 7 of weight 0.5"));
  EXPECT_THAT(info("--source-column 3 --target-column 2"),
              AllOf(HasSubstr("first edge 7 -> 5"), HasSubstr("no weights")));
  EXPECT_THAT(info("--source-column foo --target-column c"), HasSubstr("its columns are: when, foo, bar, km"));
}

TEST_F(TableOptions, SayWhetherThereIsAHeader) {
  place.write("e.csv", "ann,bob\nbob,cy\ncy,ann\n");
  EXPECT_THAT(info("--no-header"), AllOf(HasSubstr("edges 3 ("), HasSubstr("first edge ann -> bob")));
  EXPECT_THAT(info("--header"), AllOf(HasSubstr("edges 2 ("), HasSubstr("first edge bob -> cy")));
}

TEST_F(TableOptions, SayWhatSeparatesFieldsAndDecimals) {
  place.write("e.csv", "5;7;1,5\n5;8;2,5\n7;8;3\n");
  EXPECT_THAT(info("--separator semicolon --decimal comma"), HasSubstr("first edge 5 -> 7 of weight 1,5"));
  EXPECT_THAT(info("--separator pipe"), HasSubstr("error:"));
}

TEST_F(TableOptions, NameTheColumnsOfNodes) {
  place.write("e.csv", "a,b\nb,c\nc,a\n");
  place.write("n.csv", "age,who,colour,side\n1,a,red,left\n2,b,blue,right\n3,c,red,left\n");
  EXPECT_THAT(info("--labels n.csv"), HasSubstr("--label-column"));
  EXPECT_THAT(info("--labels n.csv --id-column who --label-column side"),
              AllOf(HasSubstr("column 2 'who' names the node"), HasSubstr("column 4 'side' is the label"),
                    HasSubstr("2 classes")));
}

TEST_F(TableOptions, SplitsOfOnesOwnAndTheNotesOfTraining) {
  place.write("e.csv", "0,1\n1,2\n2,3\n3,4\n4,5\n5,0\n");
  place.write("x.csv", "1,0\n0,1\n1,0\n0,1\n1,0\n0,1\n");
  place.write("y.csv", "a\nb\na\nb\na\nb\n");
  place.write("train.csv", "0\n3\n");
  place.write("val.csv", "1\n2\n");
  place.write("test.csv", "0\n0\n0\n0\n1\n1\n");  // a mask
  const std::string data =
      "e.csv --features x.csv --labels y.csv --train-ids train.csv --val-ids val.csv --test-ids test.csv";
  EXPECT_THAT(info(data.substr(6)), HasSubstr("split 2 train, 2 validation, 2 test"));
  const CommandResult result = place.gneiss(words("train " + data + " --epochs 30 --json --out run"));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(Json::parse(result.out)["notes"].get<std::vector<std::string>>(),
              Contains(HasSubstr("first edge 0 -> 1")));
  const CommandResult other = place.gneiss(words("predict run"));
  EXPECT_EQ(std::count(other.out.begin(), other.out.end(), '\n'), 7) << other.out;
  EXPECT_THAT(other.err, Not(HasSubstr("warning")));
}

}  // namespace
}  // namespace gneiss::testing
