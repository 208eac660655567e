// Places, underlines and JSON of diagnostics; the script settings and parameters that a compile hands out.
#include <gtest/gtest.h>

#include "language/compile.h"

namespace gneiss::language {
namespace {

CompileOptions karate() {
  CompileOptions options;
  options.inputs = {34, 156, false, true, 34, false, 2};
  return options;
}

TEST(Locate, CountsCharactersAndExpandsTabs) {
  const Source source = {"a.gneiss", "x\r\n\tö = 1;\r\n"};
  const std::size_t at = source.text.find('=');
  const Place place = locate({&source, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + 3)});
  EXPECT_EQ(place.line, 2);
  EXPECT_EQ(place.column, 4);  // tab, ö, space
  EXPECT_EQ(place.indent, 4);  // the tab is shown as two spaces
  EXPECT_EQ(place.width, 3);
  EXPECT_EQ(place.line_text, "  ö = 1;");
}

TEST(Locate, EndOfTextHasAPlace) {
  const Source source = {"a.gneiss", "ab"};
  const Place place = locate({&source, 2, 2});
  EXPECT_EQ(place.line, 1);
  EXPECT_EQ(place.column, 3);
  EXPECT_EQ(place.width, 1);
}

TEST(Locate, CutsLongLinesAroundTheColumn) {
  const Source source = {"a.gneiss", std::string(1000, 'x') + "!" + std::string(1000, 'y')};
  const Place place = locate({&source, 1000, 1001});
  EXPECT_EQ(place.column, 1001);
  EXPECT_LT(place.line_text.size(), 200U);
  EXPECT_EQ(place.line_text[static_cast<std::size_t>(place.indent)], '!');
}

TEST(Locate, NoSourceIsNoPlace) {
  EXPECT_EQ(locate({}).line, 0);
  EXPECT_EQ(line_column({}).line, 0);
}

TEST(Diagnostics, KeepsTwentyErrorsAndDropsRepetitions) {
  const Source source = {"a.gneiss", std::string(100, 'x')};
  Diagnostics diagnostics;
  for (std::uint32_t i = 0; i < 60; ++i)
    diagnostics.error(Code::E0301, {&source, i / 2, i / 2 + 1}, "unknown").help = "none";
  EXPECT_TRUE(diagnostics.full());
  EXPECT_EQ(diagnostics.list().size(), Diagnostics::kLimit);
}

TEST(Diagnostics, RendersCodePlaceUnderlineNotesAndHelp) {
  const Source source = {"a.gneiss", "h = wdith(x);\n"};
  Diagnostics diagnostics;
  Diagnostic& made = diagnostics.error(Code::E0302, {&source, 4, 9}, "unknown function 'wdith'");
  made.notes.push_back({"x is here", locate({&source, 10, 11})});
  made.help = "did you mean 'width'?";
  EXPECT_EQ(render(diagnostics.list()),
            "a.gneiss:1:5: error[E0302]: unknown function 'wdith'\n"
            "  h = wdith(x);\n"
            "      ^~~~~\n"
            "a.gneiss:1:11: note: x is here\n"
            "  h = wdith(x);\n"
            "            ^\n"
            "help: did you mean 'width'?\n");
}

TEST(Diagnostics, JsonHoldsEverythingAndSurvivesBadBytes) {
  const Source source = {"a\xff.gneiss", "h = \"x\";\n"};
  Diagnostics diagnostics;
  diagnostics.warning(Code::W0602, {&source, 4, 7}, "quote \" and byte \xff").notes.push_back({"note", {}});
  const std::string json = to_json(diagnostics.list());
  for (const char* part : {"\"severity\": \"warning\"", "\"code\": \"W0602\"", "\"line\": 1", "\"column\": 5",
                           "\"width\": 3", "quote \\\" and", "\"notes\": ["}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
  }
  EXPECT_EQ(to_json({}), "[]");
}

TEST(ModelParameters, HaveTypesDefaultsChoicesAndWords) {
  const std::vector<ModelParameter> list = model_parameters(*builtin_model("gat"));
  const auto find = [&](const std::string& name) -> const ModelParameter& {
    for (const ModelParameter& item : list) {
      if (item.name == name) return item;
    }
    throw std::out_of_range(name);
  };
  EXPECT_EQ(find("heads").type, "int");
  EXPECT_EQ(find("heads").default_value, ArgValue(std::int64_t{8}));
  EXPECT_EQ(find("attention_dropout").default_value, ArgValue(0.6));  // the default is another parameter
  EXPECT_EQ(find("act").default_value, ArgValue(std::string("elu")));
  EXPECT_EQ(find("act").choices.size(), 5U);
  EXPECT_EQ(find("v2").default_value, ArgValue(false));
  for (const ModelParameter& item : list) EXPECT_FALSE(item.doc.empty()) << item.name;
}

TEST(ModelParameters, OfALoneLayerAreThoseOfItsModelAndItsOwn) {
  const Source source = {
      "my.gneiss", "layer my(x: node[F], out: int, hops: int = 2, dropout: float = 0.1) { return linear(x, out); }"};
  std::vector<std::string> names;
  for (const ModelParameter& item : model_parameters(source)) names.push_back(item.name);
  EXPECT_EQ(names, (std::vector<std::string>{"hidden_channels", "num_layers", "dropout", "input_dropout", "hops"}));
}

TEST(ModelParameters, OfATextWithMistakesAreNone) {
  EXPECT_TRUE(model_parameters({"a.gneiss", "model m(a: int = ) {}"}).empty());
}

TEST(Compile, BuiltinModelsAreKnownByName) {
  EXPECT_EQ(builtin_model_names(), (std::vector<std::string>{"gat", "gcn", "gin", "mlp", "sage"}));
  EXPECT_EQ(builtin_model("shell"), nullptr);
  EXPECT_EQ(builtin_model("transformer"), nullptr);
  for (const std::string& name : builtin_model_names())
    EXPECT_TRUE(compile(*builtin_model(name), karate()).ok()) << name;
}

TEST(Compile, GraphsKeepWhatTheDataIsLike) {
  const CompileResult result = compile(*builtin_model("gcn"), karate());
  ASSERT_EQ(result.program.graphs.size(), 2U);  // both layers share one derived graph
  EXPECT_TRUE(result.program.graphs[1].symmetric);
  EXPECT_EQ(result.program.graphs[1].base, 0);
  EXPECT_EQ(result.program.graphs[1].num_edges, ir::kUnknown);
  EXPECT_EQ(result.program.node_sets[0].size, 34);
}

TEST(Compile, DropoutStreamsAreDistinctAndZeroDropoutIsNothing) {
  CompileOptions options = karate();
  options.args = {{"input_dropout", 0.5}, {"num_layers", std::int64_t{3}}};
  std::vector<std::int64_t> streams;
  for (const ir::Op& op : compile(*builtin_model("gcn"), options).program.ops) {
    if (op.kind == ir::OpKind::dropout) streams.push_back(op.attrs.integer("stream", -1));
  }
  EXPECT_EQ(streams, (std::vector<std::int64_t>{0, 1, 2}));
  options.args = {{"dropout", 0.0}};
  for (const ir::Op& op : compile(*builtin_model("gcn"), options).program.ops) EXPECT_NE(op.kind, ir::OpKind::dropout);
}

TEST(Compile, ParametersKnowTheirLayer) {
  CompileOptions options = karate();
  options.args = {{"num_layers", std::int64_t{3}}, {"norm", std::string("batch")}};
  for (const char* model : {"gcn", "sage", "gin", "gat"}) {
    for (const ir::Param& param : compile(*builtin_model(model), options).program.params) {
      EXPECT_EQ(param.layer, param.name[param.name.find('.') + 1] - '0') << param.name;
    }
  }
}

TEST(Compile, ScriptSettingsAreHandedOut) {
  const std::string text =
      "function train(Graph g, GNN gnn, int epochs) {\n"
      "  gnn.init(8, \"he\");\n"
      "  for (int e = 0; e < COUNT; e++) {\n"
      "    gnn.forwardPass(0, \"GAT\"); gnn.forwardPass(1, \"SAGE\", \"Sum\");\n"
      "    gnn.backPropagation(1); gnn.backPropagation(0);\n"
      "    OPTIMIZER;\n"
      "  }\n"
      "}\n"
      "schedule { layer 2: order = transform_first; order = auto; }\n";
  const auto with = [&](const std::string& count, const std::string& optimizer) {
    std::string made = text;
    made.replace(made.find("COUNT"), 5, count);
    made.replace(made.find("OPTIMIZER"), 9, optimizer);
    return made;
  };
  const CompileResult open =
      compile({"a.gneiss", with("epochs", "gnn.optimizer(\"adamw\", 0.02, 0.8, 0.99, 1e-6, 0.1)")}, karate());
  ASSERT_TRUE(open.ok()) << render(open.diagnostics);
  EXPECT_FALSE(open.script->epochs.has_value());
  EXPECT_EQ(open.script->optimizer, "adamw");
  EXPECT_EQ(open.script->lr, 0.02);
  EXPECT_EQ(open.script->beta1, 0.8);
  EXPECT_EQ(open.script->beta2, 0.99);
  EXPECT_EQ(open.script->eps, 1e-6);
  EXPECT_EQ(open.script->weight_decay, 0.1);
  EXPECT_EQ(open.script->init, "he");
  ASSERT_EQ(open.schedule.size(), 2U);
  EXPECT_EQ(open.schedule[0].layer, 2);
  EXPECT_EQ(open.schedule[0].value, "transform_first");
  EXPECT_EQ(open.schedule[1].layer, 0);

  const CompileResult closed = compile({"a.gneiss", with("150", "gnn.optimizer(\"sgd, 0.5, 0.9, 1e-3\")")}, karate());
  ASSERT_TRUE(closed.ok()) << render(closed.diagnostics);
  EXPECT_EQ(closed.script->epochs, 150);
  EXPECT_EQ(closed.script->lr, 0.5);
  EXPECT_EQ(closed.script->momentum, 0.9);
  EXPECT_EQ(closed.script->weight_decay, 1e-3);

  CompileOptions options = karate();
  options.args = {{"epochs", std::int64_t{7}}};
  EXPECT_EQ(compile({"a.gneiss", with("epochs", "gnn.optimizer(\"adam\")")}, options).script->epochs, 7);
}

TEST(Compile, AWhileLoopOverEpochsIsCounted) {
  const Source source = {
      "a.gneiss",
      "function train(Graph g, GNN gnn) { gnn.init(\"he\"); int e = 0; while (e < 5) { gnn.forwardPass(0, \"GCN\");\n"
      "gnn.backPropagation(0); gnn.optimizer(\"adam\", 0.1); e++; } }"};
  const CompileResult result = compile(source, karate());
  ASSERT_TRUE(result.ok()) << render(result.diagnostics);
  EXPECT_EQ(result.script->epochs, 5);
}

}  // namespace
}  // namespace gneiss::language
