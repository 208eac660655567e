// Parts of the cuda target, a function for each file that differs from those of the openmp target.
#pragma once

#include <string>
#include <vector>

#include "synth/openmp.h"

namespace gneiss::synth::cuda {

using openmp::Source;

std::string program_header(const Source& from);
std::string data_source(const Source& from);
std::string scores_source(const Source& from);

/// Graphs whose weights an op reads.
std::vector<bool> graphs_with_weights(const Source& from);

}  // namespace gneiss::synth::cuda
