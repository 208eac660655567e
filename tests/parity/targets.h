// The instruction sets of this machine, one after the other.
#pragma once

#include <hwy/targets.h>

#include <cstdint>
#include <string>

namespace gneiss::testing {

/// Calls body(name) under every instruction set that this machine runs, the best first.
template <class Body>
void on_every_target(const Body& body) {
  hwy::SetSupportedTargetsForTest(0);
  for (std::int64_t left = hwy::SupportedTargets() | HWY_SCALAR; left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    body(std::string(hwy::TargetName(left & -left)));
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace gneiss::testing
