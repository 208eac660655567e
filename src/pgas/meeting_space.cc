// A frame's place is used again once it is closed, so that nothing grows from epoch to epoch.
#include "pgas/meeting_space.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace gneiss::pgas {

MeetingSpace::MeetingSpace(int device, int devices, Meet meet)
    : device_(device), devices_(devices), meet_(std::move(meet)), none_(static_cast<std::size_t>(devices)) {}

Frame MeetingSpace::open(SharedRows rows) {
  const auto unused = std::find_if(frames_.begin(), frames_.end(), [](const Opened& frame) { return !frame.open; });
  const auto made = static_cast<Frame>(unused - frames_.begin());
  if (made == frames_.size()) frames_.emplace_back().shown.resize(static_cast<std::size_t>(devices_));
  meet_(rows, frames_[made].shown);
  frames_[made].open = true;
  frames_[made].last = 0;
  return made;
}

void MeetingSpace::close(Frame frame) {
  expect_open(frame);
  const Token come = last_come();
  GNEISS_ASSERT(come >= frames_[frame].last, "device {} closes while {} gets are under way", device(),
                frames_[frame].last - come);
  frames_[frame].open = false;
  meet();
}

void MeetingSpace::meet() { meet_({}, none_); }

void MeetingSpace::expect_open(Frame frame) const {
  GNEISS_ASSERT(frame < frames_.size() && frames_[frame].open, "rows of others are read between open and close");
}

SharedRows MeetingSpace::shown(Frame frame, int device) const {
  expect_open(frame);
  return frames_[frame].shown[static_cast<std::size_t>(device)];
}

Token MeetingSpace::begin(const Get& get) { return frames_[get.frame].last = start(get); }

}  // namespace gneiss::pgas
