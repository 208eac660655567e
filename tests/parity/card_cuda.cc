// Card 0 by CUDA's runtime. The heap of this process is mapped into it, at the addresses that it has here.
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#include "parity/card.h"

namespace gneiss::testing::internal {
namespace {

void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  throw std::runtime_error("the card failed while " + std::string(doing) + ": " + cudaGetErrorString(status));
}

}  // namespace

std::string open_cuda_card(const Range& heap) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "asking for its properties");
  int same_addresses = 0;
  check(cudaDeviceGetAttribute(&same_addresses, cudaDevAttrCanUseHostPointerForRegisteredMem, 0), "asking for memory");
  if (same_addresses == 0) throw std::runtime_error("this card sees memory of the host at other addresses");
  check(cudaHostRegister(reinterpret_cast<void*>(heap.begin), heap.end - heap.begin, cudaHostRegisterMapped),
        "mapping the heap");
  return properties.name;
}

void wait_for_cuda_card(const char* kernel) {
  check(cudaGetLastError(), kernel);
  check(cudaDeviceSynchronize(), kernel);
}

}  // namespace gneiss::testing::internal
