// The steps of a device's plan in which other devices have a part: rows that go between them, sums over all of them,
// and sums over edges that fetch rows meanwhile.
//
// Who has which row stands in tables. They are made on the host before anything is taken of the device, so that what
// they take there is known, and sent once; steps that read the same rows share them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/plan.h"
#include "kernels/call.h"
#include "runtime/device_exchange.h"

namespace gneiss::runtime {

class ExchangingSteps {
 public:
  using Work = std::function<void(const kernels::DeviceContext&)>;
  using Matrix = MatrixView<float, Space::kDevice>;

  /// Makes the tables. `plan` must outlive this. `rank`: without a halo there is one device and nothing to make;
  /// without a space this tells bytes() alone. `in_edges`: of a graph of the program; read here alone.
  ExchangingSteps(const ir::Plan& plan, const DeviceRank& rank,
                  const std::function<SparsePattern(std::int32_t graph)>& in_edges);
  ExchangingSteps(const ExchangingSteps&) = delete;
  ExchangingSteps& operator=(const ExchangingSteps&) = delete;

  /// Is the plan that of one of several?
  bool several() const { return rank_.halo != nullptr; }
  /// What they take of the device's memory.
  std::int64_t bytes() const;

  /// Brings the tables to the device, and takes what else they need there. All devices call it. What they show lies in
  /// `memory`. Errors: kOutOfMemory; kUnsupported, kPeerLost of processes
  void send(Device* device, DeviceSpan<std::byte> memory);
  /// Of sums by the exchange fine: as DeviceUnits::retune. Not while a phase runs.
  void retune(const exchange::Tuning& tuning);
  /// Closes what other processes share, which may give it back when all have done so.
  void leave() { others_.reset(); }
  /// What is done in the place of the op's kernel; empty where a device is by itself. Errors: kUnsupported for an op
  /// between ranks on one device.
  Work bind(const ir::Op& op, const kernels::Operands<float, Space::kDevice>& operands);
  /// Puts the sum over all devices in the place of the gradients.
  Work bind_sum(DeviceSpan<float> gradients);

 private:
  /// What a table of entries is for, and how many rows the result has.
  enum class Use : std::uint8_t { kCopy, kFetch, kGive, kSum };
  struct Entries {
    PeerEntries here;
    std::unique_ptr<PeerSum> there;
    std::vector<std::int64_t> rows_from;  ///< [devices] that are read of each
  };
  struct Units {
    exchange::FinePieces pieces;
    exchange::UnitTables tables;
    std::unique_ptr<DeviceUnits> there;
    std::vector<std::int64_t> rows_from;  ///< likewise
  };
  using UnitsKey = std::tuple<std::int32_t, bool, bool>;  ///< graph, weights, extremes

  int devices() const;
  void prepare(const ir::Op& op, const std::function<SparsePattern(std::int32_t graph)>& in_edges);
  void prepare_fine(const ir::Op& op, const std::function<SparsePattern(std::int32_t graph)>& in_edges);
  void prepare_sum(std::int64_t rows, std::int64_t cols);
  void need(Use use, std::int64_t rows);
  const PeerSum* sent(Use use, std::int64_t rows) const;
  std::vector<std::int64_t> count_owners(std::span<const std::uint8_t> owners) const;
  void count(std::span<const std::int64_t> rows_from, std::int64_t columns) const;
  PeerTable* peers(ir::ValueId packed) const;
  ir::ValueId shown_for(const ir::Op& sum) const;
  Work bind_halo(const ir::Op& op, Matrix x, Matrix y) const;
  Work bind_halo_add(const ir::Op& op, Matrix x, Matrix y) const;
  Work bind_sum(Matrix x, Matrix y) const;
  Work bind_fine(const ir::Op& op, const kernels::Operands<float, Space::kDevice>& operands) const;

  const ir::Plan& plan_;
  const DeviceRank rank_;
  Device* device_ = nullptr;
  std::unique_ptr<PeerMemory> others_;  ///< of devices that are processes
  std::map<std::pair<Use, std::int64_t>, Entries> entries_;
  std::map<UnitsKey, Units> units_;
  std::map<ir::ValueId, std::unique_ptr<PeerTable>> peers_;  ///< by an exchange's packed rows; kNoValue: of whole ones
  std::int64_t scratch_bytes_ = 0;
  std::unique_ptr<DeviceMemory> scratch_;
};

}  // namespace gneiss::runtime
