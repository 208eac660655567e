// NVSHMEM's symmetric heap: blocks that all devices take together, each of which reads the others' where they lie.
//
// Its host library is loaded when a training asks for it; nothing links to it, and no header of it is needed. Devices
// are processes. They join by a unique id that goes through the communicator which they have anyway; one joins once.
// Every call below but `address` is one of all processes: NVSHMEM waits in it without a limit. So each is made when all
// have just met by the communicator, which says if one is lost, and nothing that may fail stands in between.
// Source: OpenSHMEM 1.3 and NVSHMEM 3.0 to 3.8; what is used of its binary interface stands in nvshmem.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "comm/communicator.h"

namespace gneiss::runtime {

class Nvshmem {
 public:
  /// Loads the library: GNEISS_NVSHMEM alone where that is set, else by the loader's paths, then where NVSHMEM is
  /// installed. Errors: kUnsupported if there is none, or one of another version than 3, or without a function that is
  /// needed.
  static void load();
  /// `communicator`: joins the processes; outlives this. Errors: as load
  explicit Nvshmem(comm::Communicator* communicator);
  Nvshmem(const Nvshmem&) = delete;
  Nvshmem& operator=(const Nvshmem&) = delete;
  /// Leaves NVSHMEM, if all processes come here, after an error as well; blocks that are left go with it. If one is
  /// lost, its memory goes with the process.
  ~Nvshmem();

  /// "NVSHMEM 3.4.5"
  std::string name() const;

  /// What each device takes where they need `bytes` each: the most that one needs. Errors: kPeerLost
  std::int64_t bytes_for_all(std::int64_t bytes);
  /// A block of so many bytes, the same number on all, on the device that is current; the first one joins NVSHMEM, with
  /// a heap for it. Errors: kUnsupported if a process cannot join, with NVSHMEM's number; kUsage if
  /// NVSHMEM_SYMMETRIC_SIZE is less; kOutOfMemory; kPeerLost if another ran into these
  std::byte* allocate(std::int64_t bytes);
  /// Nobody reads it any more.
  void release(std::byte* block) noexcept;
  /// Where this device finds device `owner`'s part of a block. Errors: kUnsupported if it does not reach that memory
  const std::byte* address(const std::byte* block, int owner) const;

 private:
  struct Library;

  void join(std::int64_t bytes);
  void check_heap(std::int64_t bytes) const;
  void agree_that_all_can() const;

  const Library& library_;
  comm::Communicator& communicator_;
  bool joined_ = false;
};

}  // namespace gneiss::runtime
