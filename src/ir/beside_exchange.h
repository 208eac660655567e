// Which steps are under way together where a band of rows stands beside an exchange between ranks.
#pragma once

#include <utility>

#include "ir/plan.h"

namespace gneiss::ir {

/// The first and the last step of a band with the waits in front of it, or the start behind it, that it runs on its way
/// (row_order): what these need is there from the first of them to the last.
std::pair<std::int32_t, std::int32_t> steps_with(const Plan& plan, const RowBand& band);

}  // namespace gneiss::ir
