// In the place of cuda_device.cc, in a build without CUDA.
#include "base/error.h"
#include "runtime/cards.h"
#include "runtime/device.h"

namespace gneiss::runtime {

namespace {
constexpr const char* kReason = "this build of Gneiss knows no CUDA";
constexpr const char* kRemedy = "build where nvcc is found, with -DGNEISS_CUDA=ON";
[[noreturn]] void throw_not_built(Asker asker) {
  throw Error(ErrorCode::kUnsupported, kReason, "--device", fmt::format("use {}; or {}", in_its_place(asker), kRemedy));
}
}  // namespace

std::unique_ptr<Device> open_cuda(int, Asker asker) { throw_not_built(asker); }
std::vector<int> usable_cards(Asker asker) { throw_not_built(asker); }
void check_card(int, Asker asker) { throw_not_built(asker); }
std::string card_name(int) { throw_not_built(Asker::kCommand); }
bool card_reads(int, int) { throw_not_built(Asker::kCommand); }
void let_card_read(int, int) { throw_not_built(Asker::kCommand); }

Cards find_cards() { return {std::string("none: ") + kReason + "; " + kRemedy, {}}; }

}  // namespace gneiss::runtime
