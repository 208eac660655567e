// The command with faults for a real card, which tools/gpu-check runs:
//
//   card_faults take DEVICE LEAVE      takes the memory of a card but LEAVE bytes, says "taken", and gives it back when
//                                      its input ends
//   CARD_FAULT=N card_faults train ... is gneiss, but the N-th product that is enqueued reads where nothing lies
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "kernels/cuda/device_kernels.h"
#include "runtime/device.h"

namespace gneiss {
namespace {

using Gemm = kernels::OnDevice<kernels::GemmArgs>;

const kernels::DeviceKernels* real_kernels();
int take(const std::string& device, std::int64_t leave);

void faulty_gemm(const kernels::DeviceContext& context, const Gemm& args) {
  static std::int64_t products = 0;
  static const char* const asked = std::getenv("CARD_FAULT");
  Gemm changed = args;
  if (asked != nullptr && ++products == std::atoll(asked)) changed.a.data = reinterpret_cast<const float*>(1 << 12);
  kernels::find_kernel<Gemm>(*real_kernels()).run(context, changed);
}

}  // namespace
}  // namespace gneiss

// The linker puts these in the place of main and cuda_kernels.
// NOLINTBEGIN(bugprone-reserved-identifier): its names
extern "C" {
const gneiss::kernels::DeviceKernels* __real__ZN6gneiss7kernels12cuda_kernelsEv();
const gneiss::kernels::DeviceKernels* __wrap__ZN6gneiss7kernels12cuda_kernelsEv() {
  static const gneiss::kernels::DeviceKernels kernels = [] {
    gneiss::kernels::DeviceKernels made = *gneiss::real_kernels();
    std::get<gneiss::kernels::DeviceKernel<gneiss::Gemm>>(made).run = gneiss::faulty_gemm;
    return made;
  }();
  return &kernels;
}

int __real_main(int argc, char** argv);
int __wrap_main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "take") return gneiss::take(argv[2], std::atoll(argv[3]));
  return __real_main(argc, argv);
}
}
// NOLINTEND(bugprone-reserved-identifier)

namespace gneiss {
namespace {

const kernels::DeviceKernels* real_kernels() { return __real__ZN6gneiss7kernels12cuda_kernelsEv(); }

int take(const std::string& device, std::int64_t leave) {
  try {
    const auto card = runtime::open_device(device);
    const runtime::DeviceMemory taken(card.get(), std::max<std::int64_t>(card->room().free_bytes - leave, 0));
    std::puts("taken");
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "card_faults: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace gneiss
