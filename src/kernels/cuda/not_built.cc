// In the place of the kernels of nvcc, in a build without it.
#include "kernels/cuda/device_kernels.h"
#include "kernels/cuda/variants.h"

namespace gneiss::kernels {

const DeviceKernels* cuda_kernels() { return nullptr; }
const DeviceVariants* cuda_variants() { return nullptr; }

}  // namespace gneiss::kernels
