// A space whose rows come as late as they may, for tests of who waits and who does not, and mutants of it.
#pragma once

#include <memory>
#include <vector>

#include "pgas/space.h"

namespace gneiss::testing {

/// What such a space does wrong.
struct SpaceFaults {
  bool skips_waits = false;    ///< a wait returns at once
  bool at_once = false;        ///< no fault: rows come when they are asked for, as early as they may
  bool swaps_address = false;  ///< of (owner, row) either is taken for the other, where there is such an address
};

/// Rows come at the wait for them and no earlier: who does not wait reads what was there before.
class LateSpace final : public pgas::Space {
 public:
  LateSpace(std::unique_ptr<pgas::Space> inner, SpaceFaults faults) : inner_(std::move(inner)), faults_(faults) {}
  int device() const override { return inner_->device(); }
  int devices() const override { return inner_->devices(); }
  pgas::Frame open(pgas::SharedRows rows) override { return inner_->open(rows); }
  void close(pgas::Frame frame) override { inner_->close(frame); }

 private:
  const std::byte* address(const Get& get, std::int64_t i) const;
  void bring(std::size_t count);
  pgas::Token begin(const Get& get) override;
  void do_wait(pgas::Token token) override;
  pgas::SharedRows shown(pgas::Frame frame, int device) const override;

  std::unique_ptr<pgas::Space> inner_;
  SpaceFaults faults_;
  std::vector<Get> gets_;
  std::size_t brought_ = 0;
};

}  // namespace gneiss::testing
