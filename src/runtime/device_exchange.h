// How one of several devices reads rows where the others have them: tables in its memory of who shows what, of which
// rows it adds, and of the units in which it takes its edges.
//
// A Space brings the devices together: to open is to wait for all that each has enqueued and to show where its rows
// lie; to close is to wait until all have read. In between kernels read the others' memory themselves, by row_address.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "comm/halo.h"
#include "exchange/sum_pieces.h"
#include "exchange/unit_tables.h"
#include "kernels/spmm_units.h"
#include "kernels/sum_peer_rows.h"
#include "pgas/space.h"
#include "runtime/device.h"
#include "runtime/nvshmem.h"

namespace gneiss::runtime {

/// What one of several devices runs a plan with. All must outlive the executor.
struct DeviceRank {
  pgas::Space* space = nullptr;  ///< null: there is one device
  const comm::HaloPlan* halo = nullptr;
  exchange::Tuning tuning = {};             ///< of sums by the exchange fine
  comm::Communicator* processes = nullptr;  ///< of devices that are processes: joins them; else null
  Nvshmem* nvshmem = nullptr;             ///< of these: where rows lie that are shown; null: in the device's own memory
  comm::Communicator* devices = nullptr;  ///< joins all; null: one that fails to be made is lost to the others
};

/// The others' memory, of devices that are processes: each finds what the others share at addresses of its own.
class PeerMemory {
 public:
  /// All devices call it. The rows that they show lie in `mine`. `nvshmem`: whose block that is; null: the device
  /// shares it, and opens what the others share. Errors: kUnsupported, kPeerLost
  PeerMemory(Device* device, comm::Communicator& processes, DeviceSpan<std::byte> mine,
             const Nvshmem* nvshmem = nullptr);
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;
  ~PeerMemory();

  /// Where this device finds what lies at `there` for its owner. Errors: kInternal if that is not in shared memory.
  const std::byte* here(int owner, const std::byte* there) const;

 private:
  struct Piece {
    std::uintptr_t there = 0;  ///< its start, for its owner
    std::int64_t bytes = 0;
    const std::byte* here = nullptr;
  };

  Device* device_;
  int self_;
  bool opened_;                ///< here, to be closed again
  std::vector<Piece> pieces_;  ///< [devices]
};

/// Copies of host arrays in a device's memory, given back with this.
class DeviceCopies {
 public:
  explicit DeviceCopies(Device* device) : device_(device) {}

  template <class T>
  DeviceSpan<const T> send(std::span<const T> from) {
    const auto bytes = static_cast<std::int64_t>(from.size_bytes());
    if (bytes == 0) return {};
    const DeviceMemory& piece = pieces_.emplace_back(device_, bytes);
    device_->upload(piece.data(), from.data(), bytes);
    return {reinterpret_cast<const T*>(piece.data()), from.size()};
  }
  std::int64_t bytes() const;

 private:
  Device* device_;
  std::deque<DeviceMemory> pieces_;
};

/// Where the rows lie that the devices show, in a device's memory.
class PeerTable {
 public:
  /// All must outlive this. `memory`: of devices that are processes; null: addresses mean the same to all.
  PeerTable(Device* device, pgas::Space* space, const PeerMemory* memory = nullptr);

  /// Shows own rows and sees the others'; all that the devices have enqueued is done. All devices call it. `mine` keeps
  /// its values until close. Errors: kPeerLost
  DeviceSpan<const kernels::PeerRows<float>> open(const ConstMatrixView<float, Space::kDevice>& mine);
  /// What open gave.
  DeviceSpan<const kernels::PeerRows<float>> table() const {
    return {reinterpret_cast<const kernels::PeerRows<float>*>(memory_.data()), host_.size()};
  }
  /// Waits for what this device has enqueued, and until all others have done so. All devices call it. Errors: kPeerLost
  void close();
  /// Since the last open: do the rows of all devices start at multiples of four elements?
  bool fours() const { return fours_; }

 private:
  Device* device_;
  pgas::Space* space_;
  const PeerMemory* others_;
  pgas::Frame frame_ = 0;
  bool fours_ = false;
  std::vector<kernels::PeerRows<float>> host_;
  std::vector<kernels::PeerRows<float>> sent_;
  DeviceMemory memory_;
};

/// For each row of a result, rows of the devices that it is the sum of.
struct PeerEntries {
  std::vector<std::int32_t> offsets = {0};
  std::vector<std::uint8_t> owners;
  std::vector<NodeId> sources;

  std::int64_t bytes() const;  ///< what a PeerSum takes
};
/// [ghosts] the row of each ghost: what halo fetches.
PeerEntries halo_entries(const comm::HaloPlan& halo);
/// [owned] the rows that others hold for each own row, by device: what halo_add adds.
PeerEntries halo_add_entries(const comm::HaloPlan& halo);
/// [rows] that row of every device: what rank_sum adds.
PeerEntries rank_sum_entries(std::int64_t rows, int devices);
/// [rows] nothing: what is added to is copied.
PeerEntries no_entries(std::int64_t rows);

/// PeerEntries on a device.
class PeerSum {
 public:
  PeerSum(Device* device, const PeerEntries& entries);
  /// y = x + those rows, or without x those rows alone. Enqueues.
  void run(const kernels::DeviceContext& context, ConstMatrixView<float, Space::kDevice> x,
           MatrixView<float, Space::kDevice> y, DeviceSpan<const kernels::PeerRows<float>> peers) const;
  kernels::OnDevice<kernels::SumPeerRowsArgs> arguments(ConstMatrixView<float, Space::kDevice> x,
                                                        MatrixView<float, Space::kDevice> y,
                                                        DeviceSpan<const kernels::PeerRows<float>> peers) const;
  std::int64_t bytes() const { return copies_.bytes(); }

 private:
  const kernels::DeviceKernels* kernels_;
  DeviceCopies copies_;
  DeviceSpan<const std::int32_t> offsets_;
  DeviceSpan<const std::uint8_t> owners_;
  DeviceSpan<const NodeId> sources_;
};

/// The edges of sums by the exchange fine on a device.
class DeviceUnits {
 public:
  /// `tables`: those of the pieces.
  DeviceUnits(Device* device, const exchange::FinePieces& pieces, const exchange::UnitTables& tables);
  /// For sums of `rows` rows on one of `devices`.
  DeviceUnits(Device* device, const exchange::FinePieces& pieces, std::int64_t rows, int devices)
      : DeviceUnits(device, pieces, exchange::unit_tables(pieces, rows, devices)) {}

  /// The kernel's arguments for a sum of this shape. `fours`: of PeerTable.
  kernels::OnDevice<kernels::SpmmUnitsArgs> arguments(const kernels::OnDevice<kernels::SpmmArgs>& sum,
                                                      DeviceSpan<const kernels::PeerRows<float>> peers,
                                                      bool fours) const;
  /// Other warps of a block and rows under way, from the next launch on; no bit depends on them. Errors: kInternal for
  /// another piece or dist, which are what is added to what.
  void retune(const exchange::Tuning& tuning);
  std::int64_t bytes() const { return copies_.bytes(); }
  /// What one would take.
  static std::int64_t bytes(const exchange::FinePieces& pieces, const exchange::UnitTables& tables);

 private:
  kernels::UnitEntriesIn<Space::kDevice> send(const exchange::PieceList& list, const exchange::UnitTable& table,
                                              std::span<const NodeId> sources, std::span<const std::uint8_t> owners);

  exchange::Tuning tuning_;
  DeviceCopies copies_;
  kernels::UnitEntriesIn<Space::kDevice> own_;
  kernels::UnitEntriesIn<Space::kDevice> others_;
};

}  // namespace gneiss::runtime
