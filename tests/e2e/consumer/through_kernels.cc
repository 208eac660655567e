// Calls what written programs call: data, a structure, a kernel.
#include <cstdio>

#include "data/load.h"
#include "kernels/cpu/cpu.h"

int main() {
  const gneiss::data::Dataset karate = gneiss::data::load("karate");
  gneiss::Buffer<float> ones(34);
  gneiss::Buffer<float> degrees(34);
  for (float& value : ones) value = 1;
  const gneiss::kernels::SpmmArgs<float> args = {
      .pattern = karate.graph.in_edges(),
      .x = {ones.data(), 34, 1},
      .w = {},
      .y = {degrees.data(), 34, 1},
      .arg = {},
  };
  gneiss::kernels::cpu::spmm({}, args);
  float edges = 0;
  for (const float degree : degrees) edges += degree;
  std::printf("%g edges\n", edges);
  return edges == 156 ? 0 : 1;
}
