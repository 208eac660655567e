// Tables are made on the host and sent once; addresses are sent again where a device shows other rows than before.
#include "runtime/device_exchange.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "comm/all_gather.h"
#include "exchange/workload.h"

namespace gneiss::runtime {
namespace {

constexpr auto kElement = static_cast<std::int64_t>(sizeof(float));

bool starts_at_fours(const float* data, std::int64_t stride) {
  return reinterpret_cast<std::uintptr_t>(data) % (4 * sizeof(float)) == 0 && stride % 4 == 0;
}

}  // namespace

std::int64_t DeviceCopies::bytes() const {
  std::int64_t bytes = 0;
  for (const DeviceMemory& piece : pieces_) bytes += piece.bytes();
  return bytes;
}

PeerMemory::PeerMemory(Device* device, comm::Communicator& processes, DeviceSpan<std::byte> mine,
                       const Nvshmem* nvshmem)
    : device_(device),
      self_(processes.rank()),
      opened_(nvshmem == nullptr),
      pieces_(static_cast<std::size_t>(processes.ranks())) {
  struct Shown {
    MemoryHandle handle;
    std::uintptr_t first = 0;
    std::int64_t bytes = 0;
  };
  const Shown own = {opened_ ? device->share(mine.data) : MemoryHandle(), reinterpret_cast<std::uintptr_t>(mine.data),
                     static_cast<std::int64_t>(mine.size)};
  const std::vector<Shown> shown = comm::all_gather(processes, own);
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    pieces_[p] = {shown[p].first, shown[p].bytes, nullptr};
    const int owner = static_cast<int>(p);
    if (owner == self_) continue;
    pieces_[p].here = opened_ ? static_cast<const std::byte*>(device->open_shared(shown[p].handle, shown[p].bytes))
                              : nvshmem->address(mine.data, owner);
  }
}

PeerMemory::~PeerMemory() {
  for (const Piece& piece : pieces_) {
    if (opened_ && piece.here != nullptr) device_->close_shared(const_cast<std::byte*>(piece.here), piece.bytes);
  }
}

const std::byte* PeerMemory::here(int owner, const std::byte* there) const {
  if (owner == self_) return there;
  const Piece& piece = pieces_[static_cast<std::size_t>(owner)];
  const auto at = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(there) - piece.there);
  GNEISS_ASSERT(at >= 0 && at < piece.bytes, "device {} shows rows that lie outside of what it shares", owner);
  return piece.here + at;
}

PeerTable::PeerTable(Device* device, pgas::Space* space, const PeerMemory* memory)
    : device_(device),
      space_(space),
      others_(memory),
      host_(static_cast<std::size_t>(space->devices())),
      memory_(device, static_cast<std::int64_t>(host_.size() * sizeof(kernels::PeerRows<float>))) {
  GNEISS_ASSERT(space->devices() <= exchange::kMostDevices, "{} devices", space->devices());
}

DeviceSpan<const kernels::PeerRows<float>> PeerTable::open(const ConstMatrixView<float, Space::kDevice>& mine) {
  device_->wait();
  frame_ = space_->open({reinterpret_cast<const std::byte*>(mine.data), mine.rows, mine.stride * kElement});
  fours_ = true;
  for (int p = 0; p < space_->devices(); ++p) {
    const pgas::SharedRows rows = space_->rows_of(frame_, p);
    kernels::PeerRows<float>& peer = host_[static_cast<std::size_t>(p)];
    const std::byte* const first = others_ == nullptr || rows.count == 0 ? rows.first : others_->here(p, rows.first);
    peer = {reinterpret_cast<const float*>(first), rows.stride_bytes / kElement};
    fours_ = fours_ && (rows.count == 0 || starts_at_fours(peer.first, peer.stride));
  }
  const bool sent = std::equal(host_.begin(), host_.end(), sent_.begin(), sent_.end(),
                               [](const auto& a, const auto& b) { return a.first == b.first && a.stride == b.stride; });
  if (!sent) {
    device_->upload(memory_.data(), host_.data(), memory_.bytes());
    sent_ = host_;
  }
  return table();
}

void PeerTable::close() {
  device_->wait();
  space_->close(frame_);
}

PeerEntries halo_entries(const comm::HaloPlan& halo) {
  PeerEntries made;
  for (std::size_t p = 0; p + 1 < halo.receive_at.size(); ++p) {
    for (std::int64_t i = halo.receive_at[p]; i < halo.receive_at[p + 1]; ++i) {
      made.owners.push_back(static_cast<std::uint8_t>(p));
      made.sources.push_back(halo.ghost_rows[static_cast<std::size_t>(i)]);
      made.offsets.push_back(static_cast<std::int32_t>(i) + 1);
    }
  }
  return made;
}

PeerEntries halo_add_entries(const comm::HaloPlan& halo) {
  std::vector<std::tuple<NodeId, std::uint8_t, NodeId>> held;  // own row, device, its row
  for (std::size_t p = 0; p + 1 < halo.send_at.size(); ++p) {
    for (std::int64_t i = halo.send_at[p]; i < halo.send_at[p + 1]; ++i) {
      held.emplace_back(halo.send_rows[static_cast<std::size_t>(i)], static_cast<std::uint8_t>(p),
                        static_cast<NodeId>(halo.held_at[p] + i - halo.send_at[p]));
    }
  }
  std::sort(held.begin(), held.end());
  PeerEntries made;
  std::size_t at = 0;
  for (NodeId v = 0; v < halo.owned; ++v) {
    for (; at < held.size() && std::get<0>(held[at]) == v; ++at) {
      made.owners.push_back(std::get<1>(held[at]));
      made.sources.push_back(std::get<2>(held[at]));
    }
    made.offsets.push_back(static_cast<std::int32_t>(at));
  }
  return made;
}

PeerEntries rank_sum_entries(std::int64_t rows, int devices) {
  PeerEntries made;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (int p = 0; p < devices; ++p) {
      made.owners.push_back(static_cast<std::uint8_t>(p));
      made.sources.push_back(static_cast<NodeId>(r));
    }
    made.offsets.push_back(static_cast<std::int32_t>(made.owners.size()));
  }
  return made;
}

PeerEntries no_entries(std::int64_t rows) {
  PeerEntries made;
  made.offsets.resize(static_cast<std::size_t>(rows) + 1);
  return made;
}

std::int64_t PeerEntries::bytes() const {
  return static_cast<std::int64_t>(std::span(offsets).size_bytes() + std::span(owners).size_bytes() +
                                   std::span(sources).size_bytes());
}

PeerSum::PeerSum(Device* device, const PeerEntries& entries)
    : kernels_(&device->kernels()),
      copies_(device),
      offsets_(copies_.send(std::span(entries.offsets))),
      owners_(copies_.send(std::span(entries.owners))),
      sources_(copies_.send(std::span(entries.sources))) {}

kernels::OnDevice<kernels::SumPeerRowsArgs> PeerSum::arguments(ConstMatrixView<float, Space::kDevice> x,
                                                               MatrixView<float, Space::kDevice> y,
                                                               DeviceSpan<const kernels::PeerRows<float>> peers) const {
  GNEISS_ASSERT(y.rows + 1 == static_cast<std::int64_t>(offsets_.size), "{} rows are summed, there are entries for {}",
                y.rows, offsets_.size - 1);
  return {x, y, peers, offsets_, owners_, sources_};
}

void PeerSum::run(const kernels::DeviceContext& context, ConstMatrixView<float, Space::kDevice> x,
                  MatrixView<float, Space::kDevice> y, DeviceSpan<const kernels::PeerRows<float>> peers) const {
  std::get<kernels::DeviceKernel<kernels::OnDevice<kernels::SumPeerRowsArgs>>>(*kernels_).run(context,
                                                                                              arguments(x, y, peers));
}

DeviceUnits::DeviceUnits(Device* device, const exchange::FinePieces& pieces, const exchange::UnitTables& tables)
    : tuning_(pieces.tuning), copies_(device) {
  tuning_.warps = std::min(tuning_.warps, exchange::kMostTuning.warps);  // virtual devices take larger blocks
  own_ = send(pieces.local, tables.own, pieces.local.sources.span(), {});
  others_ = send(pieces.remote, tables.others, tables.sources.span(), tables.owners.span());
}

void DeviceUnits::retune(const exchange::Tuning& tuning) {
  GNEISS_ASSERT(tuning.piece == tuning_.piece && tuning.dist == tuning_.dist,
                "pieces of {}, {} a unit, were sent; another sum would come of {} and {}", tuning_.piece, tuning_.dist,
                tuning.piece, tuning.dist);
  tuning_.warps = std::min(tuning.warps, exchange::kMostTuning.warps);
  tuning_.stages = tuning.stages;
}

/// Sources of others' entries are those of the tables, as many as the pieces have.
std::int64_t DeviceUnits::bytes(const exchange::FinePieces& pieces, const exchange::UnitTables& tables) {
  return pieces.local.bytes() + pieces.remote.bytes() + tables.bytes() -
         static_cast<std::int64_t>(tables.sources.size_bytes());
}

kernels::UnitEntriesIn<Space::kDevice> DeviceUnits::send(const exchange::PieceList& list,
                                                         const exchange::UnitTable& table,
                                                         std::span<const NodeId> sources,
                                                         std::span<const std::uint8_t> owners) {
  kernels::UnitEntriesIn<Space::kDevice> to;
  to.offsets = copies_.send(list.offsets.span());
  to.rows = copies_.send(list.rows.span());
  to.sources = copies_.send(sources);
  to.owners = copies_.send(owners);
  to.slots = copies_.send(list.slots.span());
  to.positions = copies_.send(list.positions.span());
  to.unit_at = copies_.send(table.unit_at.span());
  to.carried = copies_.send(table.carried.span());
  to.runs = copies_.send(table.runs.span());
  to.carried_sums = table.carried_sums;
  return to;
}

kernels::OnDevice<kernels::SpmmUnitsArgs> DeviceUnits::arguments(const kernels::OnDevice<kernels::SpmmArgs>& sum,
                                                                 DeviceSpan<const kernels::PeerRows<float>> peers,
                                                                 bool fours) const {
  kernels::OnDevice<kernels::SpmmUnitsArgs> args;
  args.sum = sum;
  args.own = own_;
  args.others = others_;
  args.peers = peers;
  const bool whole = sum.y.cols % 4 == 0 && sum.y.cols / sum.heads % 4 == 0;
  const bool here = starts_at_fours(sum.x.data, sum.x.stride) && starts_at_fours(sum.y.data, sum.y.stride);
  exchange::Tuning tuning = tuning_;  // blocks of fewer warps have the same bits
  while (tuning.warps > 1 && exchange::shared_bytes(tuning, sum.y.cols) > exchange::kMostShared) tuning.warps /= 2;
  args.shape = exchange::unit_shape(tuning, sum.y.cols, fours && whole && here);
  return args;
}

}  // namespace gneiss::runtime
