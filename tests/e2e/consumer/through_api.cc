// Trains through the public API alone.
#include <gneiss/gneiss.h>

#include <cstdio>

#if __has_include("kernels/spmm.h") || __has_include("base/ids.h")
#error "gneiss::gneiss shows headers that are not part of the public API"
#endif

int main() {
  gneiss::RunConfig config;
  config.set(gneiss::keys::data, "karate");
  config.set(gneiss::keys::model, "gcn");
  config.set(gneiss::keys::epochs, 5);
  config.set(gneiss::keys::optimizer, gneiss::Optimizer::kAdamw);
  config.set(gneiss::keys::betas, {0.8, 0.99});
  config.set(gneiss::keys::save, false);
  const gneiss::TrainResult result = gneiss::train_model(config);
  std::printf("%zu epochs\n", result.losses[0].size());
  return result.losses[0].size() == 5 ? 0 : 1;
}
