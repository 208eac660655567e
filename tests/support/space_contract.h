// What any address space has to keep, whatever brings the rows: checked on ranks that are threads, and on processes
// that MPI joins.
#pragma once

#include <string>

#include "comm/communicator.h"
#include "pgas/space.h"

namespace gneiss::testing {

/// Each of these runs a body on all ranks and expects what it says. A link slows down gets of spaces that know one, so
/// that more is under way at a time.
struct SpaceContract {
  comm::Ranks& ranks;
  pgas::Link link = {};

  /// Lists (repeated, unordered and empty ones) and ranges, of devices with more or fewer rows, and what is counted.
  void every_device_reads_every_row() const;
  /// Rows that begin apart, here and there: what lies between is left alone.
  void strides_differ() const;
  void frames_may_be_open_side_by_side() const;
  /// A wait brings all gets before its own.
  void many_gets_may_be_under_way() const;
  /// A device that reads late reads what was there when the frame was opened.
  void rows_keep_their_values_until_close() const;
  /// A device without rows opens and closes as all others.
  void a_device_may_have_no_rows() const;
  /// Rows that are not there, other devices, a closed frame, a get under way at the end: each is refused by name.
  void what_is_asked_for_is_looked_at() const;
  /// Bytes and owners of all gets.
  void gets_are_noted() const;
};

}  // namespace gneiss::testing
