// A layer written with StarPlat's loops over vertices is the same program as the layer of reductions that it means, and
// a training script in Morphling's form the same as the model that it describes: equal text of the IR but for places.
#include <gtest/gtest.h>

#include "bare_program.h"

namespace gneiss::testing {
namespace {

std::string layer(const std::string& body) { return "layer my(x: node[F], out: int) {\n" + body + "\n}\n"; }

void expect_same(const std::string& loops, const std::string& reductions) {
  EXPECT_EQ(bare_program(layer(loops)), bare_program(layer(reductions))) << loops;
}

/// The loop over neighbours alone, written around `body`.
std::string pull(const std::string& body) {
  return "forall (v in g.nodes()) { forall (u in g.neighbors(v)) { " + body + " } } return linear(y, out);";
}

std::string returned(const std::string& y) { return "y = " + y + "; return linear(y, out);"; }

TEST(StarPlat, SumsOverNeighbours) {
  const std::string sum = returned("sum(x@src) over in_edges");
  for (const char* body : {"v.y += u.x;", "v.y = v.y + u.x;", "v.y = u.x + v.y;", "v.y = Sum(v.y, u.x);",
                           "<v.y> = <Sum(v.y, u.x)>;", "<v.y>=<Sum(v.y, u.x)>;", "float m = u.x; v.y += m;"}) {
    expect_same(pull(body), sum);
  }
  expect_same(pull("v.y += u.x * e.weight;"), returned("sum(x@src * edge_weight) over in_edges"));
  expect_same(pull("e = exp(u.x); v.y += e * u.x;"), returned("sum(exp(x@src) * x@src) over in_edges"));
  expect_same(pull("v.y = v.y + u.x - v.x;"), returned("sum(x@src - x@dst) over in_edges"));
  expect_same(pull("v.y -= u.x;"), returned("-(sum(x@src) over in_edges)"));
  expect_same(pull("v.y = v.y - u.x;"), returned("-(sum(x@src) over in_edges)"));
  expect_same(pull("v.y += u.x; v.y += v.x;"), returned("sum(x@src) over in_edges + sum(x@dst) over in_edges"));
}

TEST(StarPlat, EveryFormOfTheLoops) {
  const std::string sum = returned("sum(x@src) over in_edges");
  for (const char* loops : {
           "forall (v in g.nodes()) forall (u in g.neighbors(v)) v.y += u.x;",
           "for (v in g.nodes()) { for (u in g.nodes_to(v)) { v.y += u.x; } }",
           "forall (a in G.nodes()) { for (b in G.in_neighbors(a)) { a.y += b.x; } }",
           "forall v in graph.nodes() { forall u in graph.neighbors(v) { v.y += u.x; } }",
           "propNode<float> y; forall (v in g.nodes()) { forall (u in g.neighbors(v)) { v.y += u.x; } }",
           "propNode<double> y; g.attachNodeProperty(y = 0);"
           "forall (v in g.nodes()) { forall (u in g.neighbors(v)) { v.y += u.x; } }",
           "forall (v in g.nodes()) { v.y = 0; forall (u in g.neighbors(v)) { v.y += u.x; } }",
           "forall (v in g.nodes()) { float s = 0.0; forall (u in g.neighbors(v)) { s += u.x; } v.y = s; }",
           "forall (v in g.nodes()) { float s; forall (u in g.neighbors(v)) { s = s + u.x; } v.y = s; }",
           "forall (v in g.nodes()) { forall (u in g.neighbors(v)) { v.z += u.x; } } y = z;",
       }) {
    expect_same(std::string(loops) + " return linear(y, out);", sum);
  }
}

TEST(StarPlat, MaximaAndMinimaOverNeighbours) {
  const std::string largest = returned("max(x@src) over in_edges");
  for (const char* body : {"v.y Max= u.x;", "v.y = Max(v.y, u.x);", "v.y = max(u.x, v.y);", "<v.y> = <Max(v.y, u.x)>;"})
    expect_same(pull(body), largest);
  const std::string smallest = returned("min(x@src * edge_weight) over in_edges");
  for (const char* body : {"v.y Min= u.x * e.weight;", "v.y = Min(v.y, u.x * e.w);", "<v.y> = <Min(v.y, u.x * e.w)>;"})
    expect_same(pull(body), smallest);
  expect_same(pull("v.y Max= u.x; v.y Max= v.x;"), returned("max(max(x@src) over in_edges, max(x@dst) over in_edges)"));
}

/// What a property was before is taken in, unless it was nothing.
TEST(StarPlat, ReductionsTakeInWhatWasThere) {
  const auto from = [](const std::string& start, const std::string& update) {
    return "g.attachNodeProperty(y = " + start + "); " + pull(update);
  };
  const std::string largest = "max(x@src) over in_edges";
  const std::string isolated = "relu(1 - in_degree)";
  expect_same(from("0", "v.y += u.x;"), returned("sum(x@src) over in_edges"));
  expect_same(from("x", "v.y += u.x;"), returned("x + sum(x@src) over in_edges"));
  expect_same(from("2", "v.y -= u.x;"), returned("2 - sum(x@src) over in_edges"));
  expect_same(from("-INF", "v.y Max= u.x;"), returned(largest));
  expect_same(from("INF", "v.y Min= u.x;"), returned("min(x@src) over in_edges"));
  expect_same(from("+INF", "v.y Min= u.x;"), returned("min(x@src) over in_edges"));
  expect_same(from("0", "v.y Max= u.x;"), returned("max(" + largest + ", 0)"));
  expect_same(from("1", "v.y Min= u.x;"), returned("min(1, min(x@src) over in_edges + " + isolated + " * 1)"));
  expect_same(from("x", "v.y Max= u.x;"), returned("max(x, " + largest + " + " + isolated + " * x)"));
  expect_same(
      "forall (v in g.nodes()) { v.y = -INF; forall (u in g.neighbors(v)) { v.y Max= u.x; } } return linear(y, out);",
      returned(largest));
  EXPECT_NE(bare_program(layer(from("x", "v.y Max= u.x;"))), bare_program(layer(from("-INF", "v.y Max= u.x;"))));
}

TEST(StarPlat, EdgesAndTheirProperties) {
  const std::string weighted = returned("sum(x@src * edge_weight) over in_edges");
  for (const char* body :
       {"edge e = g.get_edge(u, v); v.y += u.x * e.weight;", "edge f = g.get_edge(v, u); v.y += u.x * f.w;",
        "v.y += u.x * g.get_edge(u, v).weight;", "edge e = g.get_edge(u, v); v.y += e.source.x * e.weight;",
        "float m = u.x * e.weight; v.y += m;"}) {
    expect_same(pull(body), weighted);
  }
  expect_same(
      "s = x * 2; forall (v in g.nodes()) { forall (u in g.neighbors(v)) { e.a = exp(u.s + e.destination.s); v.d += "
      "e.a; } }"
      "forall (v in g.nodes()) { forall (u in g.neighbors(v)) { v.y += e.a * u.x; } v.y = v.y / v.d; } return "
      "linear(y, out);",
      "s = x * 2; a = exp(s@src + s@dst); d = sum(a) over in_edges; y = sum(a * x@src) over in_edges / d;"
      "return linear(y, out);");
}

TEST(StarPlat, DegreesAndCounts) {
  expect_same(pull("v.y += 1;"), returned("in_degree"));
  expect_same("forall (v in g.nodes()) { v.y = v.x / max(g.count_inNbrs(v), 1); } return linear(y, out);",
              returned("x / max(in_degree, 1)"));
  expect_same(pull("v.y += u.x / g.count_outNbrs(u);"), returned("sum(x@src / out_degree@src) over in_edges"));
  expect_same(pull("v.y += u.x / g.count_outNbrs(v);"), returned("sum(x@src / out_degree@dst) over in_edges"));
  expect_same("float n = g.num_nodes(); y = x / n; return linear(y, out);", returned("x / 100.0"));
}

/// One step of StarPlat's sample, between two properties.
TEST(StarPlat, AStepOfPageRank) {
  expect_same(
      "float numNodes = g.num_nodes(); float delta = 0.85; propNode<float> next;\n"
      "forall (v in g.nodes()) {\n"
      "  float sum = 0.0;\n"
      "  for (nbr in g.nodes_to(v)) { sum = sum + nbr.x / g.count_outNbrs(nbr); }\n"
      "  float newPageRank = (1 - delta) / numNodes + delta * sum;\n"
      "  v.next = newPageRank;\n"
      "}\n"
      "x = next; return linear(x, out);",
      "x = 0.15000000000000002 / 100.0 + 0.85 * sum(x@src / out_degree@src) over in_edges; return linear(x, out);");
}

/// Statements hold for all vertices at once; a loop over neighbours reads what was there before it.
TEST(StarPlat, StatementsHoldForAllVertices) {
  expect_same("y = x; " + pull("v.y += u.y;"), returned("x + sum(x@src) over in_edges"));
  expect_same("y = x; " + pull("v.z += u.x; v.y += u.z;").insert(0, "z = x * 3; "),
              "z = x * 3; t = z + sum(x@src) over in_edges; y = x + sum(z@src) over in_edges; return linear(y, out);");
  expect_same(
      "forall (v in g.nodes()) { v.z = v.x * 2; float s = 0; forall (u in g.neighbors(v)) { s += u.z * v.z; } v.y = "
      "relu(s); }"
      "return linear(y, out);",
      "z = x * 2; y = relu(sum(z@src * z@dst) over in_edges); return linear(y, out);");
  expect_same(
      "forall (v in g.nodes()) { float s = v.x * 2; forall (u in g.neighbors(v)) { v.y += u.x * s; } } return "
      "linear(y, out);",
      "s = x * 2; y = sum(x@src * s@dst) over in_edges; return linear(y, out);");
}

/// Loops over several graphs go along the edges of the graph that each names.
TEST(StarPlat, EveryLoopHasItsOwnGraph) {
  expect_same(
      "more = add_self_loops(graph); forall (v in g.nodes()) { forall (u in more.neighbors(v)) { v.y += u.x; } "
      "v.y = v.y / more.count_inNbrs(v) + v.x / max(g.count_inNbrs(v), 1); } return linear(y, out);",
      "g = graph; graph = add_self_loops(graph); y = sum(x@src) over in_edges; y = y / in_degree; graph = g;"
      "y = y + x / max(in_degree, 1); return linear(y, out);");
}

TEST(StarPlat, WhatIsNothingYetTakesTheFirstValue) {
  const auto once = [](const std::string& update) {
    return "propNode<float> y; g.attachNodeProperty(z = -INF); forall (v in g.nodes()) { " + update +
           " } return linear(y + z, out);";
  };
  const std::string plain = "y = x; z = x; return linear(y + z, out);";
  expect_same(once("v.y Max= v.x; v.z Max= v.x;"), plain);
  expect_same(once("v.y += v.x; v.z = Max(v.x, v.z);"), plain);
  expect_same(once("<v.y> = <Min(v.y, v.x)>; <v.z> = <Max(v.z, v.x)>;"), plain);
}

TEST(StarPlat, CompileTimeStaysCompileTime) {
  expect_same(
      "for i in 0..2 { propNode<float> y; forall (v in g.nodes()) { for j in 0..2 { float s = v.x * 2; v.y += s; } } x "
      "= y; }"
      "return linear(x, out);",
      "for i in 0..2 { s = x * 2; t = x * 2; x = s + t; } return linear(x, out);");
  expect_same(
      "h = x; for i in 0..2 { forall (v in g.nodes()) { forall (u in g.neighbors(v)) { v.h += u.h; } } } return "
      "linear(h, out);",
      "h = x; for i in 0..2 { h = h + sum(h@src) over in_edges; } return linear(h, out);");
  expect_same(pull("if (out > 1) { v.y += u.x; } else { v.y Max= u.x; }"), returned("sum(x@src) over in_edges"));
  expect_same("graph = add_self_loops(graph); " + pull("v.y += u.x * e.weight;"),
              "graph = add_self_loops(graph); " + returned("sum(x@src * edge_weight) over in_edges"));
  expect_same("g = add_self_loops(graph); " + pull("v.y += u.x * e.weight;"),
              "graph = add_self_loops(graph); " + returned("sum(x@src * edge_weight) over in_edges"));
}

}  // namespace
}  // namespace gneiss::testing
