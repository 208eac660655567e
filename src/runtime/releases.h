// Goes along a plan's list of what is freed when, as a run comes along.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "ir/plan.h"

namespace gneiss::runtime {

/// Every part has an owner, and each owner one of these: the executor frees what it made, a session that has a data set
/// of its own frees parts of that.
class Releases {
 public:
  /// `plan` must outlive this; `release` frees what it owns and passes over the rest.
  Releases(const ir::Plan& plan, std::function<void(const ir::Release&)> release)
      : plan_(plan), release_(std::move(release)) {}

  /// The run has come so far: a step of the setup phase is through, or a moment of ir::Release has come.
  void until(std::int32_t moment) {
    for (; next_ < plan_.releases.size() && plan_.releases[next_].after <= moment; ++next_)
      release_(plan_.releases[next_]);
  }

 private:
  const ir::Plan& plan_;
  std::function<void(const ir::Release&)> release_;
  std::size_t next_ = 0;
};

}  // namespace gneiss::runtime
