// Trains on arrays of its own through the public API.
#include <gneiss/gneiss.h>

#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
  // A ring of 60 nodes; a node's feature tells which third of the ring it lies in.
  constexpr std::int64_t kNodes = 60;
  std::vector<std::int64_t> edges(2 * kNodes);
  std::vector<float> x(kNodes * 3, 0.0F);
  std::vector<std::int32_t> y(kNodes);
  for (std::int64_t v = 0; v < kNodes; ++v) {
    edges[v] = v;
    edges[kNodes + v] = (v + 1) % kNodes;
    y[v] = static_cast<std::int32_t>(v / 20);
    x[3 * v + y[v]] = 1;
  }
  gneiss::DatasetArrays arrays;
  arrays.name = "ring";
  arrays.edge_index = gneiss::array_of(edges.data(), {2, kNodes});
  arrays.x = gneiss::array_from(std::move(x), {kNodes, 3});
  arrays.y = gneiss::array_of(y.data(), {kNodes});
  arrays.label_kind = gneiss::LabelKind::kClass;
  const gneiss::Dataset ring = gneiss::Dataset::from_arrays(arrays);
  gneiss::RunConfig config;
  config.set(gneiss::keys::model, "gcn");
  config.set(gneiss::keys::epochs, 50);
  config.set(gneiss::keys::save, false);
  const gneiss::TrainResult result = gneiss::train_model(ring, config);
  std::printf("%s: %g of the training nodes\n", result.dataset.c_str(), result.train.mean);
  return result.train.mean > 0.8 ? 0 : 1;
}
