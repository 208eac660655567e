// Tables of edges, features and labels: what is understood, what is refused, and what overrules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/load.h"
#include "data/text.h"
#include "data/validate.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::gzip;
using ::gneiss::testing::list;
using ::gneiss::testing::named_edges;
using ::gneiss::testing::npy;
using ::gneiss::testing::npy_bool;
using ::gneiss::testing::npy_i8;
using ::gneiss::testing::raw;
using ::gneiss::testing::TempFolder;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class TablesTest : public ::testing::Test {
 protected:
  Dataset read(const std::string& text, const LoadOptions& options = {}) {
    return load(folder_.write("e.csv", text).string(), options);
  }
  Error error(const std::string& text, const LoadOptions& options = {}) {
    return error_of([&] { read(text, options); });
  }
  LoadOptions labels(const std::string& text, const std::string& kind = "auto") {
    LoadOptions options;
    options.split = "none";
    options.labels_path = folder_.write("y.csv", text);
    options.label_kind = kind;
    return options;
  }
  LoadOptions features(const std::string& text) {
    LoadOptions options;
    options.features_path = folder_.write("x.csv", text);
    return options;
  }

  TempFolder folder_;
};

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  LineReader reader(path);
  std::vector<std::string> lines;
  std::string_view line;
  while (reader.next(&line)) lines.emplace_back(line);
  return lines;
}

TEST_F(TablesTest, LinesEndInEveryWay) {
  const std::string mixed = "a\nb\r\nc\rd\r\r\ne\r\rf\r";
  for (const std::string& text : {mixed, gzip(mixed)})
    EXPECT_THAT(lines_of(folder_.write("t", text)), ElementsAre("a", "b", "c", "d", "e", "", "f"));
  // A line end that is cut by the window of the unpacker.
  std::string text;
  for (int i = 0; i < 60000; ++i) text += i % 2 == 0 ? "12345\r" : "678\r\n";
  EXPECT_EQ(lines_of(folder_.write("t", gzip(text))).size(), 60000U);
  EXPECT_EQ(lines_of(folder_.write("t", text)).size(), 60000U);
}

TEST_F(TablesTest, Utf16IsRefusedByName) {
  const Error e =
      error(std::string("\xff\xfe"
                        "0\0,\0001\0\n\0",
                        10));
  EXPECT_THAT(e.message(), HasSubstr("UTF-16"));
  EXPECT_THAT(e.hint(), HasSubstr("iconv"));
}

TEST_F(TablesTest, InvisibleCharactersAreShownAsTheirCode) {
  EXPECT_EQ(excerpt("a\xef\xbb\xbf"
                    "b\x07\xc2\xa0"),
            "a<U+FEFF>b<U+0007><U+00A0>");
  EXPECT_THAT(error("a,b\n\xe2\x80\x8b"
                    "c,a\nc,b\n")
                  .message(),
              HasSubstr("'<U+200B>c'"));
}

TEST_F(TablesTest, QuotesAreThoseOfTheStandard) {
  EXPECT_THAT(named_edges(read("source,target\n\"Doe, Jane\",\"say \"\"hi\"\"\"\n\"two\nlines\",Bo\n")),
              ElementsAre("Doe, Jane>say \"hi\"", "two\nlines>Bo"));
  EXPECT_THAT(named_edges(read("\"a b\" \"c\"\nc \"a b\"\n")), ElementsAre("a b>c", "c>a b"));
  EXPECT_THAT(error("source,target\n\"a,b\nc,d\n").message(), HasSubstr("quote"));
  EXPECT_THAT(error("source,target\n\"a\"x,b\nc,d\n").message(), HasSubstr("quote"));
}

TEST_F(TablesTest, NamesOfColumnsInAnyOrderAndCase) {
  for (const char* text :
       {"Target,Weight,Source\n7,0.5,5\n", "dst;w;src\n7;0.5;5\n", "TO\tscore\tFROM\n7\t0.5\t5\n",
        "node_v|value|node_u\n7|0.5|5\n", "to_city,from_city,combined_score\n7,5,0.5\n", "id,v,u,weight\n0,7,5,0.5\n",
        "note,time,tail,head,w\nx,99,7,5,0.5\n", ":START_ID,:END_ID,weight:float,:TYPE\n5,7,0.5,KNOWS\n"})
    EXPECT_THAT(named_edges(read(text)), ElementsAre("5>7 0.5")) << text;
  EXPECT_THAT(error("paper,cites,n\n1,2,3\n").hint(), HasSubstr("--source-column"));
  EXPECT_THAT(error("from,to,source,target\n1,2,3,4\n").message(), HasSubstr("several columns"));
  EXPECT_THAT(error("source,target,w,score\n1,2,3,4\n").hint(), HasSubstr("--weight-column"));
}

TEST_F(TablesTest, AHeaderIsNoEdgeAndAnEdgeNoHeader) {
  EXPECT_THAT(named_edges(read("a,b\nb,c\nc,a\n")), ElementsAre("a>b", "b>c", "c>a"));
  EXPECT_THAT(named_edges(read("x,y\nz,w\n")), ElementsAre("x>y", "z>w"));
  EXPECT_THAT(named_edges(read("u,v\nv,w\n")), ElementsAre("u>v", "v>w"));
  EXPECT_THAT(named_edges(read("u,v\nAda,Bo\n")), ElementsAre("Ada>Bo"));
  EXPECT_THAT(named_edges(read("a,b\n1,2\n")), ElementsAre("1>2"));
  EXPECT_THAT(error("parent,child\nchild,toy\n").hint(), HasSubstr("--no-header"));
  EXPECT_THAT(error("from to\n1 2 5\n2 3 7\n").message(), HasSubstr("the header has 2 fields and this row 3"));
  EXPECT_THAT(error("from,to\nAda,Bo,5\n").message(), HasSubstr("the header has 2 fields and this row 3"));
}

TEST_F(TablesTest, OptionsOverrule) {
  LoadOptions options;
  options.tables.source_column = "3";
  options.tables.target_column = "1";
  EXPECT_THAT(named_edges(read("5,0.5,7\n8,1,7\n", options)), ElementsAre("7>5", "7>8"));
  options.tables.weight_column = "2";
  EXPECT_THAT(named_edges(read("5,0.5,7\n8,1,7\n", options)), ElementsAre("7>5 0.5", "7>8 1"));
  options.tables = {};
  options.tables.source_column = "cites";
  options.tables.target_column = "paper";
  EXPECT_THAT(named_edges(read("paper,cites,n\n1,2,3\n", options)), ElementsAre("2>1"));
  options.tables.source_column = "nothing";
  EXPECT_EQ(error("paper,cites,n\n1,2,3\n", options).code(), ErrorCode::kUsage);
  options.tables = {};
  options.tables.weight_column = "3";
  EXPECT_THAT(named_edges(read("1 2 1217567877\n2 1 1217567878\n", options)).size(), 2U);
  EXPECT_TRUE(read("1 2 1217567877\n2 1 1217567878\n", options).graph.weighted());
  options.tables = {};
  options.tables.header = true;
  EXPECT_THAT(named_edges(read("Ann,Bob\nAda,Bo\n", options)), ElementsAre("Ada>Bo"));
  options.tables.header = false;
  EXPECT_THAT(named_edges(read("source,target\nAda,Bo\n", options)), ElementsAre("Ada>Bo", "source>target"));
  options.tables = {};
  options.tables.separator = "pipe";
  EXPECT_THAT(named_edges(read("a,1|b,2\nb,2|a,1\n", options)), ElementsAre("a,1>b,2", "b,2>a,1"));
  options.tables.separator = "dot";
  EXPECT_EQ(error("0,1\n", options).code(), ErrorCode::kUsage);
  options.tables = {};
  options.tables.decimal = "comma";
  EXPECT_THAT(named_edges(read("0,1,\"0,5\"\n", options)), ElementsAre("0>1 0.5"));
  options.tables.decimal = "colon";
  EXPECT_EQ(error("0,1\n", options).code(), ErrorCode::kUsage);
}

TEST_F(TablesTest, AThirdColumnWithoutANameIsAWeightOnlyIfItCanBe) {
  EXPECT_TRUE(read("5 7 0.5\n7 5 1\n").graph.weighted());
  EXPECT_TRUE(read("5 7 3\n7 5 12\n5 8 3\n").graph.weighted());
  for (const char* text : {"5 7 1370000000\n7 5 1370000001\n", "5 7 1370000000123\n7 5 1370000001123\n",
                           "5 7 1998\n7 5 2004\n", "5 7 20010131\n7 5 20011231\n", "5 7 1\n7 5 2\n8 5 3\n5 9 4\n"}) {
    const Dataset d = read(text);
    EXPECT_FALSE(d.graph.weighted()) << text;
    EXPECT_THAT(d.doubts, Contains(HasSubstr("--weight-column 3"))) << text;
  }
}

TEST_F(TablesTest, AnIndexIsNoEnd) {
  EXPECT_THAT(error("0,5,7\n1,5,8\n2,7,8\n").message(), HasSubstr("counts the rows"));
  EXPECT_THAT(error("1,Ada,Bo\n2,Bo,Cy\n").message(), HasSubstr("counts the rows"));
  EXPECT_THAT(named_edges(read("0 1 5\n1 2 3\n2 0 4\n")), ElementsAre("0>1 5", "1>2 3", "2>0 4"));
  EXPECT_THAT(named_edges(read("0 1 0.5\n1 2 0.5\n2 0 2\n")), ElementsAre("0>1 0.5", "1>2 0.5", "2>0 2"));
  EXPECT_THAT(named_edges(read("Unnamed: 0,a,b\n0,5,7\n1,5,8\n")), ElementsAre("5>7", "5>8"));
}

TEST_F(TablesTest, IdsAreWholeNumbersOrPlainWords) {
  EXPECT_THAT(read("99999,1e+05\n1E5,1.0\n").orig_id, ElementsAre(1, 99999, 100000));
  EXPECT_THAT(error("0.5,1\n1,2\n").message(), HasSubstr("fraction '0.5'"));
  EXPECT_THAT(error("'a','b'\n'b','c'\n").message(), HasSubstr("quotes"));
  EXPECT_THAT(error("b,[a]\n[a],b\n").message(), HasSubstr("bracket"));
  EXPECT_THAT(error("0,1\n1,two\n2,0\n").message(), HasSubstr("'two'"));
  EXPECT_THAT(error("source,target\na,b\nb,\n").message(), HasSubstr("empty"));
  EXPECT_THAT(read("a,b\nb,c\nc,17\n").doubts, Contains(HasSubstr("1 of the first 6 ids are numbers")));
  std::string late = "0,1\n";
  for (int i = 0; i < 3000; ++i) late += fmt::format("{},{}\n", i + 1, i);
  EXPECT_THAT(error(late + "17,x\n").where(), HasSubstr("e.csv:3002"));
  EXPECT_THAT(error(late + "17,x\n").message(), HasSubstr("'x'"));
  EXPECT_THAT(error(late + "17\n").message(), HasSubstr("expected 2 fields as in the first row, got 1"));
  std::string words = "a,b\n";
  for (int i = 0; i < 3000; ++i) words += fmt::format("w{},w{}\n", i + 1, i);
  EXPECT_THAT(error(words + "[x],a\n").where(), HasSubstr("e.csv:3002"));
  EXPECT_THAT(error(words + "#love,a\n").message(), HasSubstr("a comment or an edge"));
}

struct Foreign {
  const char* text;
  const char* name;
};

TEST_F(TablesTest, OtherFormatsAreRefusedByName) {
  for (const Foreign& f :
       {Foreign{"[[0, 1], [1, 2]]\n", "JSON"}, Foreign{"{\"nodes\": [], \"links\": []}\n", "JSON"},
        Foreign{"(0, 1)\n(1, 2)\n", "tuples"}, Foreign{"[(0, 1), (1, 2)]\n", "Python"},
        Foreign{"<?xml version=\"1.0\"?>\n<graphml>\n", "XML"}, Foreign{"graph [\n  node [\n    id 0\n  ]\n]\n", "GML"},
        Foreign{"digraph {\n  a -> b;\n}\n", "DOT"}, Foreign{"*Vertices 2\n1 \"a\"\n2 \"b\"\n*Edges\n1 2\n", "Pajek"},
        Foreign{"0 -> 1\n1 -> 2\n", "arrows"}, Foreign{"0->1\n1->2\n", "arrows"},
        Foreign{"0 1 2 3\n1 0\n2 0 3\n3 0 2\n", "adjacency list"}, Foreign{"0: 1 2\n1: 0\n2: 0\n", "adjacency list"},
        Foreign{"0,1,0,1\n1,0,1,0\n0,1,0,1\n1,0,1,0\n", "adjacency matrix"},
        Foreign{"0,1,1\n1,0,1\n1,1,0\n", "adjacency matrix"},
        Foreign{",A,B,C\nA,0,1,2\nB,1,0,3\nC,2,3,0\n", "adjacency matrix"},
        Foreign{"4\n0 1 2\n1 2 3\n2 3 0\n3 0 1\n", "begins with its length"}, Foreign{"PAR1xxxx", "Parquet"}}) {
    const Error e = error(f.text);
    EXPECT_EQ(e.code(), ErrorCode::kBadData) << f.text;
    EXPECT_THAT(e.message(), HasSubstr(f.name)) << f.text;
    EXPECT_FALSE(e.hint().empty()) << f.text;
  }
  EXPECT_THAT(error("0,1,2,3\n4,5,6,7\n").message(), HasSubstr("4 columns without names"));
  EXPECT_THAT(error("a,b\n0,1,2\n1,2,3\n").message(), HasSubstr("the header has 2 fields and this row 3"));
  EXPECT_THAT(error("4 4\n0 1\n1 2\n2 3\n3 0\n").message(), HasSubstr("numbers of nodes and edges"));
  EXPECT_THAT(error("lonely\nwords\n").message(), HasSubstr("an edge needs two fields"));
}

TEST_F(TablesTest, SuspiciousFilesAreWarnedOf) {
  const auto warns = [&](const Dataset& d, const char* text) {
    EXPECT_THAT(validate(d), Contains(::testing::Field(&Finding::message, HasSubstr(text))));
    EXPECT_THAT(d.notes, Contains(HasSubstr(text)));
  };
  warns(read("Buyer,Seller\nAda,Bo\nBo,Cy\nCy,Ada\nAda,Cy\n"), "have no other edge");
  warns(read("% sym unweighted\n1 2\n2 3\n"), "--to-undirected");
  warns(read("# Undirected graph: x\n1 2\n2 3\n"), "--to-undirected");
  std::string ids;
  std::string ring;
  for (int v = 0; v < 30; ++v) {
    ids += fmt::format("user{}\n", v);
    ring += fmt::format("{} {}\n", v, (v + 1) % 30);
  }
  warns(read(ring, labels(ids)), "30 classes for 30 labelled nodes");
  EXPECT_THAT(read("0 1\n1 2\n2 0\n").doubts, IsEmpty());
}

TEST_F(TablesTest, OneRuleForLabels) {
  const std::string ring = "0 1\n1 2\n2 3\n3 0\n";
  const auto classes = [&](const std::string& text) { return list(read(ring, labels(text)).labels.classes); };
  EXPECT_THAT(classes("2\n10\n-1\n2.0\n"), ElementsAre(0, 1, -1, 0));
  EXPECT_THAT(classes("b\n\na\nNA\n"), ElementsAre(1, -1, 0, -1));
  EXPECT_THAT(classes("1\n0\n-100\nnan\n"), ElementsAre(1, 0, -1, -1));
  EXPECT_THAT(classes("1\n0\n1\n\n"), ElementsAre(1, 0, 1, -1)) << "an empty line at the end, for a node";
  EXPECT_EQ(read(ring, labels("1\n0\n1\n0\n\n\n")).num_nodes(), 4) << "and for none";
  EXPECT_THAT(error(ring, labels("1\n-1\n1\n-1\n")).message(), HasSubstr("labels are -1 and 1"));
  EXPECT_THAT(error(ring, labels("1\n-2\n1\n0\n")).message(), HasSubstr("'-2' is no class"));
  EXPECT_EQ(read(ring, labels("1.5\n-1\n0\n2\n")).labels.kind, LabelKind::kRegression);
  EXPECT_EQ(read(ring, labels("1.5\n-1\n0\n2\n")).labels.targets[1], -1.0F);
  EXPECT_THAT(read(ring, labels("1.5\n10\n2\n1.5\n", "class")).class_names, ElementsAre("1.5", "2", "10"));
  const Dataset mixed = read(ring, labels("a\n1\na\n1.0\n"));
  EXPECT_THAT(mixed.class_names, ElementsAre("1", "a"));
  EXPECT_THAT(mixed.doubts, Contains(HasSubstr("are words and")));
  EXPECT_THAT(error(ring, labels("0,1,0\n\n1,0,0\n0,0,1\n0,0,1\n")).message(), HasSubstr("an empty line"));
  EXPECT_EQ(read(ring, labels("1,1,0\n1,0,0\n0,0,1\n0,0,1\n")).labels.kind, LabelKind::kMulti);
  EXPECT_THAT(error(ring, labels("1,1,0\n1,0,0\n0,0,1\n0,0,1\n", "class")).message(), HasSubstr("not exactly one 1"));
  const Dataset hot = read(ring, labels("a,b,c\n1,0,0\n1,0,0\n0,0,1\n0,0,1\n"));
  EXPECT_THAT(hot.class_names, ElementsAre("a", "b", "c"));
  EXPECT_THAT(list(hot.labels.classes), ElementsAre(0, 0, 2, 2));
}

TEST_F(TablesTest, ColumnsOfLabelTables) {
  const std::string edges = "source,target\n5,7\n7,8\n8,5\n";
  const auto classes = [&](const std::string& text) { return list(read(edges, labels(text)).labels.classes); };
  EXPECT_THAT(classes("label,id\n1,5\n0,7\n1,8\n"), ElementsAre(1, 0, 1));
  EXPECT_THAT(classes(",id,f0,y\n0,5,0.5,1\n1,7,0.5,0\n2,8,1,1\n"), ElementsAre(1, 0, 1));
  EXPECT_THAT(classes("5.0,1\n7.0,0\n8.0,1\n"), ElementsAre(1, 0, 1));
  EXPECT_THAT(error(edges, labels("id,a,b\n5,x,y\n7,y,x\n8,x,y\n")).hint(), HasSubstr("--label-column"));
  LoadOptions options = labels("id,a,b\n5,x,y\n7,y,x\n8,x,y\n");
  options.tables.label_column = "b";
  EXPECT_THAT(list(read(edges, options).labels.classes), ElementsAre(1, 0, 1));
  EXPECT_THAT(error("Ada,Bo\nBo,Ada\n", labels("person,party\nAda,red\nBo,blue\n")).message(), HasSubstr("a header?"));
}

TEST_F(TablesTest, ColumnsOfFeatureTables) {
  const Dataset d = read("5,7\n7,5\n", features("x,y,node,label,name\n0.5,1,7,0,Ada\n2,3,5,1,Bo\n"));
  EXPECT_THAT(list(d.features.dense), ElementsAre(2, 3, 0.5F, 1));
  EXPECT_THAT(list(read("0,1\n1,0\n", features("0,1\n0.5,2\n1,3.5\n")).features.dense), ElementsAre(0.5F, 2, 1, 3.5F))
      << "pandas' names 0, 1, 2, …";
  EXPECT_THAT(list(read("0,1\n1,0\n", features(",a\n0,0.5\n1,2\n")).features.dense), ElementsAre(0.5F, 2));
  const Dataset ids = read("1,2\n2,1\n", features("\"\",\"a\"\n\"1\",0.5\n\"2\",2\n"));
  EXPECT_THAT(list(ids.features.dense), ElementsAre(0.5F, 2)) << "R's row names are ids that count from 1";
  EXPECT_THAT(list(read("0,1\n1,0\n", features("\"\",\"a\"\n\"1\",0.5\n\"2\",2\n")).features.dense),
              ElementsAre(0.5F, 2));
  EXPECT_THAT(error("0,1\n1,0\n", features("id,city\n0,Rome\n1,Oslo\n")).message(),
              HasSubstr("'Rome' (column 'city')"));
  EXPECT_THAT(error("0,1\n1,0\n", features("1\n\n2\n")).message(), HasSubstr("an empty line"));
  EXPECT_THAT(error("0,1\n1,0\n", features("id,a\n0,1\n1,\n")).message(),
              HasSubstr("expected a number in field 2, got ''"));
}

TEST_F(TablesTest, OwnSplitsBesideAnyFormat) {
  LoadOptions options = labels("id,label\n10,a\n20,b\n30,a\n40,b\n");
  options.split.clear();
  const std::string edges = "10,20\n20,30\n30,40\n";
  options.train_ids = folder_.write("train.csv", "30\n10\n");
  options.val_ids = folder_.write("val.csv.gz", gzip("id\n20\n"));
  options.test_ids = folder_.write("test.npy", npy_bool("(4,)", {0, 0, 0, 1}));
  const Dataset d = read(edges, options);
  EXPECT_THAT(d.split.train, ElementsAre(0, 2));
  EXPECT_THAT(d.split.val, ElementsAre(1));
  EXPECT_THAT(d.split.test, ElementsAre(3));
  options.train_ids = folder_.write("train.npy", npy_i8("(2,)", {40, 10}));
  EXPECT_THAT(read(edges, options).split.train, ElementsAre(0, 3));
  options.train_ids = folder_.write("train.csv", "train_mask\nTrue\nFalse\nTrue\nFalse\n");
  EXPECT_THAT(read(edges, options).split.train, ElementsAre(0, 2));
  options.train_ids = folder_.write("train.csv", "10\n50\n");
  EXPECT_THAT(error(edges, options).message(), HasSubstr("'50' is no node"));
  EXPECT_THAT(error(edges, options).where(), HasSubstr("train.csv:2"));
  options.train_ids = folder_.write("train.csv", "10\n10\n");
  EXPECT_THAT(error(edges, options).message(), HasSubstr("given twice"));
  options.train_ids = folder_.write("train.csv", "0\n1\n0\n");
  EXPECT_THAT(error(edges, options).hint(), HasSubstr("each of the 4 nodes, here are 3 rows"));
  options.train_ids = folder_.write("train.csv", "10,1\n20,0\n");
  EXPECT_THAT(error(edges, options).message(), HasSubstr("expected one column"));
  options.train_ids.clear();
  EXPECT_EQ(error(edges, options).code(), ErrorCode::kUsage);
  options.train_ids = folder_.write("train.csv", "10\n");
  options.split = "random";
  EXPECT_EQ(error(edges, options).code(), ErrorCode::kUsage);
  LoadOptions karate;
  karate.train_ids = folder_.write("train.csv", "0\n33\n");
  EXPECT_THAT(load("karate", karate).split.train, ElementsAre(0, 33));
  EXPECT_THAT(load("karate", karate).split.test, IsEmpty());
}

TEST_F(TablesTest, Metis) {
  const auto metis = [&](const std::string& text) { return load(folder_.write("g.graph", text).string()); };
  EXPECT_THAT(named_edges(metis("3 2 1\n2 5\n1 5 3 7\n2 7\n")), ElementsAre("1>2 5", "2>1 5", "2>3 7", "3>2 7"));
  EXPECT_THAT(named_edges(metis("3 1 11 2\n9 9 2 5\n9 9 1 5\n9 9\n")), ElementsAre("1>2 5", "2>1 5"));
  EXPECT_THAT(named_edges(metis("3 3 100\n2 3\n\n1\n")), ElementsAre("1>2", "1>3", "3>1")) << "GAP's, without sizes";
  EXPECT_EQ(load(folder_.write("g.txt", gzip("% x\n4 3\n2 3\n1\n1 4\n3\n")).string()).format, "metis");
  const auto message = [&](const std::string& text) { return error_of([&] { metis(text); }).message(); };
  EXPECT_THAT(message("3 2\n2\n1\n"), HasSubstr("4 neighbours are due; 2 are there"));
  EXPECT_THAT(message("3 2\n2 4\n1\n1\n"), HasSubstr("neighbour 4 of node 1 is outside 1..3"));
  EXPECT_THAT(message("3 2\n2 x\n1\n1\n"), HasSubstr("got 'x'"));
  EXPECT_THAT(message("3 2 7\n2\n1 3\n2\n"), HasSubstr("expected a format"));
  EXPECT_THAT(message("2 1\n2\n1\n2\n"), HasSubstr("all 2 nodes have had their line"));
  EXPECT_THAT(message("2 1 1\n2\n1\n"), Not(IsEmpty()));
  EXPECT_THAT(message("999999999 1\n2\n1\n"), HasSubstr("cannot be in a file of"));
}

TEST_F(TablesTest, Dimacs) {
  const auto dimacs = [&](const std::string& text) { return load(folder_.write("g.gr", text).string()); };
  EXPECT_THAT(named_edges(dimacs("c x\np sp 3 2\na 1 2 5\na 3 1 0.5\n")), ElementsAre("1>2 5", "3>1 0.5"));
  const Dataset undirected = dimacs("p edge 3 2\ne 1 2\ne 2 3\n");
  EXPECT_THAT(named_edges(undirected), ElementsAre("1>2", "2>3"));
  EXPECT_THAT(undirected.doubts, Contains(HasSubstr("--to-undirected")));
  const auto message = [&](const std::string& text) { return error_of([&] { dimacs(text); }).message(); };
  EXPECT_THAT(message("p sp 3 2\na 1 2 5\n"), HasSubstr("says 2 arcs, 1 are there"));
  EXPECT_THAT(message("p sp 3 1\na 1 4 5\n"), HasSubstr("node of 1..3, got '4'"));
  EXPECT_THAT(message("p sp 3 1\nb 1 4 5\n"), HasSubstr("begins with c, p or a"));
  EXPECT_THAT(message("p sp 3 1\na 1 2\n"), HasSubstr("expected `a from to weight`"));
  EXPECT_THAT(message("p sp 3 1\np sp 3 1\na 1 2 1\n"), HasSubstr("a second line p"));
}

}  // namespace
}  // namespace gneiss::data
