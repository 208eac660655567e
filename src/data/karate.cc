// Zachary's karate club, embedded.
#include <array>
#include <utility>

#include "data/generate.h"

namespace gneiss::data {
namespace {

constexpr std::int64_t kNodes = 34;
constexpr std::array<std::array<NodeId, 2>, 78> kEdges = {{
    {0, 1},   {0, 2},   {0, 3},   {0, 4},   {0, 5},   {0, 6},   {0, 7},   {0, 8},   {0, 10},  {0, 11},
    {0, 12},  {0, 13},  {0, 17},  {0, 19},  {0, 21},  {0, 31},  {1, 2},   {1, 3},   {1, 7},   {1, 13},
    {1, 17},  {1, 19},  {1, 21},  {1, 30},  {2, 3},   {2, 7},   {2, 8},   {2, 9},   {2, 13},  {2, 27},
    {2, 28},  {2, 32},  {3, 7},   {3, 12},  {3, 13},  {4, 6},   {4, 10},  {5, 6},   {5, 10},  {5, 16},
    {6, 16},  {8, 30},  {8, 32},  {8, 33},  {9, 33},  {13, 33}, {14, 32}, {14, 33}, {15, 32}, {15, 33},
    {18, 32}, {18, 33}, {19, 33}, {20, 32}, {20, 33}, {22, 32}, {22, 33}, {23, 25}, {23, 27}, {23, 29},
    {23, 32}, {23, 33}, {24, 25}, {24, 27}, {24, 31}, {25, 31}, {26, 29}, {26, 33}, {27, 33}, {28, 31},
    {28, 33}, {29, 32}, {29, 33}, {30, 32}, {30, 33}, {31, 32}, {31, 33}, {32, 33},
}};
/// 1 where the member followed the Officer.
constexpr std::array<std::int32_t, kNodes> kOfficer = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0,
                                                       0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

}  // namespace

Dataset generate_karate() {
  Dataset out;
  out.name = "karate";
  out.format = "generator";
  graph::EdgeList edges{Buffer<NodeId>(kEdges.size()), Buffer<NodeId>(kEdges.size()), {}};
  for (std::size_t e = 0; e < kEdges.size(); ++e) {
    edges.src[e] = kEdges[e][0];
    edges.dst[e] = kEdges[e][1];
  }
  out.graph = graph::build_graph(edges, kNodes, {.to_undirected = true});
  out.features.rows = kNodes;
  out.features.cols = kNodes;
  out.features.dense = Buffer<float>::zeros(kNodes * kNodes);
  for (std::size_t v = 0; v < kNodes; ++v) out.features.dense[v * kNodes + v] = 1.0F;
  out.labels.kind = LabelKind::kSingle;
  out.labels.num_classes = 2;
  out.labels.classes = Buffer<std::int32_t>::copy_of(kOfficer);
  out.class_names = {"Mr. Hi", "Officer"};
  out.split.train = {0, 1, 32, 33};
  for (NodeId v = 2; v < 32; ++v) (v % 2 == 0 ? out.split.val : out.split.test).push_back(v);
  return out;
}

}  // namespace gneiss::data
