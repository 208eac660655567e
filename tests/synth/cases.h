// Trainings that are written out: a list in cases.txt, a line each, and small data of awkward shape for them.
#pragma once

#include <string>
#include <vector>

#include "e2e/command.h"

namespace gneiss::testing {

struct SynthCase {
  std::string name;
  bool often = false;                  ///< part of `make check`; the others belong to `make check-synth`
  bool golden = false;                 ///< the sources of its phases are kept in tests/synth/golden,
  bool whole = false;                  ///< or all of them
  bool ranks = false;                  ///< for several ranks: target mpi
  bool device = false;                 ///< for a card: target cuda; it runs in the emulation
  std::vector<std::string> arguments;  ///< of gneiss synth and gneiss train alike
};

std::vector<SynthCase> synth_cases();
/// The options of gneiss synth that say what a case is written for.
std::vector<std::string> target_options(const SynthCase& item);

/// Writes what the arguments of cases name: `awkward.txt`, a directed weighted graph with a hub, self loops, parallel
/// edges and an isolated node, with its features and labels.
void write_awkward_files(const Workplace& place);

}  // namespace gneiss::testing
