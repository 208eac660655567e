// One sum says whether work failed anywhere; only then are words exchanged, each rank's to all.
#include "comm/together.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/all_gather.h"

namespace gneiss::comm {
namespace {

template <std::size_t Size>
void keep(const std::string& text, std::array<char, Size>* to) {
  std::copy_n(text.begin(), std::min(text.size(), Size - 1), to->begin());
}

struct Said {
  std::int32_t failed = 0;
  ErrorCode code = ErrorCode::kInternal;
  std::array<char, 768> message{};  ///< texts end with 0, and are cut where they are longer
  std::array<char, 64> where{};
  std::array<char, 384> hint{};
};

}  // namespace

void together(Communicator& communicator, const std::function<void()>& work) {
  std::optional<Error> mine;
  try {
    work();
  } catch (const Error& error) {
    mine = error;
  }
  double failed[] = {mine ? 1.0 : 0.0};
  communicator.sum(failed);
  if (failed[0] == 0) return;
  Said own;
  if (mine) {
    own.failed = 1;
    own.code = mine->code();
    keep(mine->message(), &own.message);
    keep(mine->where(), &own.where);
    keep(mine->hint(), &own.hint);
  }
  const std::vector<Said> all = all_gather(communicator, own);
  const auto first = std::find_if(all.begin(), all.end(), [](const Said& said) { return said.failed != 0; });
  throw Error(first->code, first->message.data(), first->where.data(), first->hint.data());
}

}  // namespace gneiss::comm
