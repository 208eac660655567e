// One address space over the memories of several devices: each reads rows where another holds them.
//
// Two calls frame every use. `open` shows all devices where each one's rows lie; until `close` they stay there and keep
// their values, and anybody reads them. Several frames may be open at a time. Reads do not block: get_rows says what is
// wanted, wait says when it has come, and what a device does in between hides the way. Rows that are shared lie here;
// edges stay private.
// Source: OpenSHMEM's symmetric heap and nbi calls; MGG (OSDI 2023), section 3.3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "pgas/timeline.h"

namespace gneiss::pgas {

/// Rows in a device's memory: row r lies at first + r * stride_bytes.
template <class Byte>
struct Rows {
  Byte* first = nullptr;
  std::int64_t count = 0;
  std::int64_t stride_bytes = 0;
};
using SharedRows = Rows<const std::byte>;
using LocalRows = Rows<std::byte>;

/// How fast rows come from another device. All zero: as fast as its memory can be read.
struct Link {
  double seconds = 0;           ///< that each get takes besides its bytes
  double bytes_per_second = 0;  ///< 0: no limit
};

/// What a device has fetched from others so far.
struct Traffic {
  std::int64_t gets = 0;
  std::int64_t rows = 0;
  std::int64_t bytes = 0;
  std::vector<std::int64_t> bytes_from;  ///< of them, by device; none where nothing was fetched yet
  double waited_seconds = 0;
};

/// Stands for a get under way; numbers of one device go up by one.
using Token = std::uint64_t;
/// Stands for what open began, on one device.
using Frame = std::size_t;

class Space {
 public:
  Space() = default;
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;
  virtual ~Space() = default;

  virtual int device() const = 0;
  virtual int devices() const = 0;

  /// Shows the others this device's rows and sees theirs. All devices open and close in one order. The rows must
  /// outlive the spaces of all devices: where one of them fails, gets of others may be under way. Errors: kPeerLost
  virtual Frame open(SharedRows rows) = 0;
  /// Waits until all devices have read what they wanted: rows may change again. All devices call it, each after it has
  /// waited for its gets. Errors: kPeerLost
  virtual void close(Frame frame) = 0;

  /// Do others' addresses mean something to this device? Else it has their rows by gets alone.
  virtual bool reads_in_place() const { return true; }
  /// Where a row of a device lies, between open and close. Errors: kInternal if the device has no such row, or its rows
  /// cannot be read in place.
  const std::byte* row_address(Frame frame, int device, std::int64_t row) const;

  /// All that a device shows: for who reads by addresses alone. Errors: likewise
  SharedRows rows_of(Frame frame, int device) const;

  /// Begins to copy rows of a device, `row_bytes` each: to row i goes rows[i]. Does not block. `rows` and `to` must
  /// stay as they are until the token was waited for. Errors: kInternal if the device has no such row.
  Token get_rows(Frame frame, int device, std::span<const NodeId> rows, std::int64_t row_bytes, LocalRows to);
  /// The same of the consecutive rows first, first + 1, … as many as `to` has.
  Token get_range(Frame frame, int device, std::int64_t first, std::int64_t row_bytes, LocalRows to);
  /// Counts rows, row_bytes each, that a kernel reads of a device by their addresses.
  void count(int device, std::int64_t rows, std::int64_t row_bytes);
  /// Returns when the rows of that get, and of all before it, have come.
  void wait(Token token);

  const Traffic& traffic() const { return traffic_; }

  /// Notes gets and waits from now on; null: none. What sums up rows of this space notes that there too. Not while gets
  /// are under way. The timeline must outlive the space.
  void note_in(Timeline* timeline) { timeline_ = timeline; }
  Timeline* timeline() const { return timeline_; }

 protected:
  /// A get as it is carried out: the rows that `list` names, or a range where that is empty.
  struct Get {
    Frame frame = 0;
    int device = 0;
    SharedRows from;  ///< of that device
    std::span<const NodeId> list;
    std::int64_t first = 0;
    std::int64_t row_bytes = 0;
    LocalRows to;
  };
  virtual Token begin(const Get& get) = 0;
  virtual void do_wait(Token token) = 0;
  /// What a device shows. Errors: kInternal if the frame is not open.
  virtual SharedRows shown(Frame frame, int device) const = 0;
  /// Copies the rows of a get from where they can be read in place.
  static void copy(const Get& get);

 private:
  SharedRows looked_up(Frame frame, int device) const;
  Token counted(const Get& get);

  Traffic traffic_;
  Timeline* timeline_ = nullptr;
};

}  // namespace gneiss::pgas
