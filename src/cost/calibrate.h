// Measures the rates that choices by modelled time go by.
#pragma once

#include <string>

#include "cost/cost.h"

namespace gneiss::cost {

/// Runs the kernels of training, as their tables choose them, on made-up data of a handful of sizes: medians of at
/// least three runs each. Takes some seconds and about 0.6 GiB.
///   alone   no other rank of this process measures at the same time
/// Errors: kOutOfMemory.
Rates measure_rates(int threads, bool alone = true);

/// The rates as tables with units, and γ: the density below which the sparse product of features wins.
std::string describe(const Rates& rates);

}  // namespace gneiss::cost
