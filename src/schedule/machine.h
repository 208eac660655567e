// A machine by its rates: from these and from how large batches are, the times of a profile follow.
//
// A profile of the paper says what one graph's batches took on one machine. A machine says what any batches would take
// there, so that rows which the device keeps show in every stage: the CPU gathers fewer, the link carries fewer, and a
// device that reads through the link waits for fewer. Nothing here models contention.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "schedule/profile.h"

namespace gneiss::schedule {

struct Machine {
  std::string_view name;
  std::string_view summary;
  int workers = 1;                ///< threads that prepare batches
  double cpu_edges = 0;           ///< sampled by a worker, a second
  double cpu_gather = 0;          ///< bytes of rows that a worker gathers, a second
  double cpu_memory = 0;          ///< bytes a second that all workers together read and write
  double link = 0;                ///< bytes a second of a copy to the device
  double link_reads = 0;          ///< the same of pieces of 128 bytes that the device reads itself (zero-copy)
  double page_reads = 0;          ///< the same of pages that move to the device when it touches them
  double peer_link = 0;           ///< bytes a second that a device reads from the others' memories; 0: no such link
  double device_memory = 0;       ///< bytes a second
  double device_edges = 0;        ///< sampled by the device, a second
  double device_flop = 0;         ///< a second
  double call_seconds = 0;        ///< of each op of a step
  std::int64_t memory_bytes = 0;  ///< of a device
};

/// Machines that come with the program.
const std::vector<Machine>& machines();
/// One of them; null if there is none of that name.
const Machine* find_machine(std::string_view name);

/// A mean batch, and a step on it.
struct BatchSize {
  double edges = 0;     ///< sampled
  double rows = 0;      ///< of features
  double hot_rows = 0;  ///< of these, in the device's memory
  double row_bytes = 0;
  double row_read_bytes = 0;   ///< a row in whole pieces of 128 bytes, as a device reads it
  double structure_bytes = 0;  ///< blocks, labels and ids, which are copied with the rows
  double step_flop = 0;
  double step_bytes = 0;  ///< that a step reads and writes
  double step_calls = 0;
};

/// Stage times of such batches on a machine:
///   CPU batch   edges and cold rows by a worker's rates over the workers, no faster than main memory
///   copy        structure and cold rows over the link
///   Route 1     the device's sampling; cold rows through the link and hot ones from its own memory
///   step        its flop and its bytes, and hot rows put between those that were copied
Profile profile_of(const Machine& machine, const BatchSize& batch);

/// A profile of measured stages on a machine whose device keeps rows that serve `hits` of those read. Route 0 gathers
/// and ships the others only: its copy shrinks to 1 - hits, and of its CPU time the part that gathers, `gather_share`,
/// does too. Route 1 stays as it was measured.
Profile with_hot_rows(const Profile& profile, double hits, double gather_share);

/// Half of a CPU batch is gathering: what SALIENT's authors and our own sampler find for rows of 100 to 256 numbers.
inline constexpr double kGatherShare = 0.5;

}  // namespace gneiss::schedule
