// What spaces have in common whose devices meet to open and to close a frame: to open is to exchange what they show, to
// close is to exchange nothing.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "pgas/space.h"

namespace gneiss::pgas {

/// How the devices meet: shows `mine` to all, waits for all, and fills `all`, one entry a device, with what they show.
/// Throws if a device is lost.
using Meet = std::function<void(const SharedRows& mine, std::span<SharedRows> all)>;

class MeetingSpace : public Space {
 public:
  int device() const final { return device_; }
  int devices() const final { return devices_; }
  Frame open(SharedRows rows) override;
  void close(Frame frame) override;

 protected:
  MeetingSpace(int device, int devices, Meet meet);

  /// Starts a get and numbers it.
  virtual Token start(const Get& get) = 0;
  /// The last get that has come, as have all before it.
  virtual Token last_come() const = 0;

  SharedRows shown(Frame frame, int device) const final;
  /// Waits for all devices.
  void meet();

 private:
  /// What all devices show from open to close.
  struct Opened {
    std::vector<SharedRows> shown;  ///< by device
    Token last = 0;                 ///< the last get in it
    bool open = false;
  };

  void expect_open(Frame frame) const;
  Token begin(const Get& get) final;

  const int device_;
  const int devices_;
  Meet meet_;
  std::vector<Opened> frames_;    ///< the device's own thread alone looks at them
  std::vector<SharedRows> none_;  ///< [devices]: room for what nobody shows
};

}  // namespace gneiss::pgas
