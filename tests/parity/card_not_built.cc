// A build without CUDA has no card.
#include <stdexcept>

#include "parity/card.h"

namespace gneiss::testing::internal {

std::string open_cuda_card(const Range& /*heap*/) { throw std::runtime_error("this build has no CUDA"); }
void wait_for_cuda_card(const char* /*kernel*/) { throw std::runtime_error("this build has no CUDA"); }

}  // namespace gneiss::testing::internal
