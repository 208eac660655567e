#include "support/late_space.h"

#include <cstring>

#include "base/error.h"

namespace gneiss::testing {

const std::byte* LateSpace::address(const Get& get, std::int64_t i) const {
  const std::int64_t row = get.list.empty() ? get.first + i : get.list[static_cast<std::size_t>(i)];
  if (faults_.swaps_address && row < devices()) {
    try {
      return inner_->row_address(get.frame, static_cast<int>(row), get.device);
    } catch (const Error&) {  // that device has fewer rows
    }
  }
  return inner_->row_address(get.frame, get.device, row);
}

void LateSpace::bring(std::size_t count) {
  for (; brought_ < count; ++brought_) {
    const Get& get = gets_[brought_];
    for (std::int64_t i = 0; i < get.to.count; ++i)
      std::memcpy(get.to.first + i * get.to.stride_bytes, address(get, i), static_cast<std::size_t>(get.row_bytes));
  }
}

pgas::Token LateSpace::begin(const Get& get) {
  gets_.push_back(get);
  if (faults_.at_once) bring(gets_.size());
  return gets_.size();
}

void LateSpace::do_wait(pgas::Token token) {
  if (!faults_.skips_waits) bring(token);
}

/// Whether there is such a row is looked at when it is brought.
pgas::SharedRows LateSpace::shown(pgas::Frame, int) const { return {nullptr, std::int64_t{1} << 40, 0}; }

}  // namespace gneiss::testing
