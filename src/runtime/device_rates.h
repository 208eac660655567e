// Measures the rates of a device that plans for it go by.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/cost.h"
#include "runtime/device_program.h"

namespace gneiss::runtime {

/// What is measured; the defaults are for a card.
struct DeviceSizes {
  std::vector<double> columns = {1, 8, 32, 128, 256};                    ///< of rows that are gathered, and of products
  std::vector<double> tables = {4 << 20, 32 << 20, 128 << 20, 1 << 30};  ///< bytes that rows are gathered from
  std::vector<double> streams = {3 << 20, 24 << 20, 96 << 20, 768 << 20};  ///< bytes that an elementwise op moves
  std::vector<double> inner = {32, 128, 512};                              ///< the second size of products
  std::vector<double> densities = {0.001, 0.01, 0.1};                      ///< of sparse features
  std::int64_t gathered_bytes = std::int64_t{512} << 20;                   ///< of rows, by a gather
  std::int64_t product_floats = std::int64_t{64} << 20;                    ///< of the large operand of a product
  std::int64_t rows = std::int64_t{1} << 20;                               ///< of attention, dropout, exponentials
  double seconds = 0.02;                                                   ///< of work that a time is taken of
};

/// Runs the device's kernels on made-up data: medians of three. What devices have no kernels for, tiles and files, has
/// the described card's rates. Takes some seconds and 2.5 GB of a card's memory. Errors: kOutOfMemory; those of
/// kernels.
cost::Rates measure_device_rates(DeviceProgram* program, const DeviceSizes& sizes = {});

}  // namespace gneiss::runtime
