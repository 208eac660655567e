// To open an exchange is to wait for all devices and to show rows, to close it to wait until all have read; in between
// kernels read where the rows lie. Halves of an exchange open and close, whole ones do both.
#include "runtime/exchanging_steps.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/sum_args.h"

namespace gneiss::runtime {
namespace {

using ir::OpKind;
using UnitsArgs = kernels::OnDevice<kernels::SpmmUnitsArgs>;

bool fetches_meanwhile(const ir::Op& op) { return op.attrs.text("exchange", "") == "fine"; }

bool is_extreme(kernels::Reduce reduce) { return reduce == kernels::Reduce::kMax || reduce == kernels::Reduce::kMin; }

kernels::Reduce reduce_of(const ir::Op& op) {
  return kernels::enumerator(kernels::kReduces, op.attrs.text("fn", "sum"));
}

std::int32_t graph_of(const ir::Op& op) { return static_cast<std::int32_t>(op.attrs.integer("graph", 0)); }

/// Gradients as a matrix: parameters begin cache lines.
std::pair<std::int64_t, std::int64_t> shape_of_gradients(std::int64_t count) {
  constexpr std::int64_t kRow = 16;
  const std::int64_t cols = count % kRow == 0 ? kRow : 1;
  return {count / cols, cols};
}

/// Indices as if they were numbers, for what copies elements and adds none.
ExchangingSteps::Matrix as_numbers(const MatrixView<std::int32_t, Space::kDevice>& indices) {
  return {reinterpret_cast<float*>(indices.data), indices.rows, indices.cols, indices.stride};
}

std::int64_t matrix_bytes(std::int64_t rows, std::int64_t cols) {
  return rows * cols * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

ExchangingSteps::ExchangingSteps(const ir::Plan& plan, const DeviceRank& rank,
                                 const std::function<SparsePattern(std::int32_t graph)>& in_edges)
    : plan_(plan), rank_(rank) {
  if (!several()) return;
  for (const ir::Step& step : plan.steps) {
    if (step.loop < 0) prepare(plan.program.ops[static_cast<std::size_t>(step.op)], in_edges);
  }
  const auto [rows, cols] = shape_of_gradients(plan.parameter_bytes / std::int64_t{sizeof(float)});
  prepare_sum(rows, cols);
}

int ExchangingSteps::devices() const { return static_cast<int>(rank_.halo->receive_at.size()) - 1; }

void ExchangingSteps::prepare(const ir::Op& op, const std::function<SparsePattern(std::int32_t graph)>& in_edges) {
  const comm::HaloPlan& halo = *rank_.halo;
  switch (op.kind) {
    case OpKind::halo:
    case OpKind::halo_start:
      peers_.try_emplace(op.kind == OpKind::halo ? ir::kNoValue : op.results[1]);
      need(Use::kCopy, halo.owned);
      if (!fetches_meanwhile(op)) need(Use::kFetch, halo.ghosts);
      return;
    case OpKind::halo_add:
    case OpKind::halo_add_wait:
      peers_.try_emplace(op.kind == OpKind::halo_add ? ir::kNoValue : op.inputs[1]);
      need(Use::kGive, halo.owned);
      return;
    case OpKind::rank_sum: {
      const ir::Type& type = plan_.program.type(op.inputs[0]);
      return prepare_sum(plan_.program.rows(type), type.cols);
    }
    case OpKind::spmm:
      if (fetches_meanwhile(op)) prepare_fine(op, in_edges);
      return;
    default:
      return;
  }
}

void ExchangingSteps::prepare_sum(std::int64_t rows, std::int64_t cols) {
  peers_.try_emplace(ir::kNoValue);
  need(Use::kSum, rows);
  need(Use::kCopy, rows);
  scratch_bytes_ = std::max(scratch_bytes_, matrix_bytes(rows, cols));
}

void ExchangingSteps::prepare_fine(const ir::Op& op, const std::function<SparsePattern(std::int32_t graph)>& in_edges) {
  const bool weighs = ir::weighs_edges(op);
  const kernels::Reduce reduce = reduce_of(op);
  const auto [at, is_new] = units_.try_emplace({graph_of(op), weighs, is_extreme(reduce)});
  Units& units = at->second;
  if (is_new) {
    const SparsePattern edges = in_edges(graph_of(op));
    units.pieces = exchange::fine_pieces(edges, *rank_.halo, rank_.tuning, {weighs, is_extreme(reduce)});
    units.tables = exchange::unit_tables(units.pieces, edges.rows, devices());
    units.rows_from = count_owners(units.tables.owners.span());
  }
  const ir::Type& type = plan_.program.type(op.results[0]);
  const ir::Storage storage = plan_.placements[static_cast<std::size_t>(op.results[0])].storage;
  UnitsArgs args;
  args.sum.reduce = reduce;
  args.sum.y = {nullptr, plan_.program.rows(type), type.cols};
  args.own.carried_sums = units.tables.own.carried_sums;
  args.others.carried_sums = units.tables.others.carried_sums;
  float place = 0;
  if (storage == ir::Storage::kArena || storage == ir::Storage::kConstant) args.sum.y.data = &place;
  const auto& kernel = kernels::find_kernel<UnitsArgs>(kernels::emulated_kernels());
  scratch_bytes_ = std::max(scratch_bytes_, static_cast<std::int64_t>(kernel.workspace_bytes(args)));
}

void ExchangingSteps::need(Use use, std::int64_t rows) {
  const auto [at, is_new] = entries_.try_emplace({use, rows});
  if (!is_new) return;
  PeerEntries& entries = at->second.here;
  switch (use) {
    case Use::kCopy:
      entries = no_entries(rows);
      break;
    case Use::kFetch:
      entries = halo_entries(*rank_.halo);
      break;
    case Use::kGive:
      entries = halo_add_entries(*rank_.halo);
      break;
    case Use::kSum:
      entries = rank_sum_entries(rows, devices());
      break;
  }
  at->second.rows_from = count_owners(entries.owners);
}

std::vector<std::int64_t> ExchangingSteps::count_owners(std::span<const std::uint8_t> owners) const {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(devices()), 0);
  for (const std::uint8_t owner : owners) ++rows[owner];
  return rows;
}

/// Rows that an exchange reads where others have them. Sums over all devices are no exchange of rows.
void ExchangingSteps::count(std::span<const std::int64_t> rows_from, std::int64_t columns) const {
  for (int p = 0; p < devices(); ++p)
    rank_.space->count(p, rows_from[static_cast<std::size_t>(p)], matrix_bytes(1, columns));
}

std::int64_t ExchangingSteps::bytes() const {
  std::int64_t bytes = scratch_bytes_;
  for (const auto& [key, entries] : entries_)
    bytes += entries.there != nullptr ? entries.there->bytes() : entries.here.bytes();
  for (const auto& [key, units] : units_)
    bytes += units.there != nullptr ? units.there->bytes() : DeviceUnits::bytes(units.pieces, units.tables);
  if (several()) bytes += std::ssize(peers_) * devices() * static_cast<std::int64_t>(sizeof(kernels::PeerRows<float>));
  return bytes;
}

void ExchangingSteps::send(Device* device, DeviceSpan<std::byte> memory) {
  if (!several()) return;
  GNEISS_ASSERT(rank_.space != nullptr && rank_.space->devices() == devices(), "the devices share no space");
  const std::int64_t planned = bytes();
  device_ = device;
  if (rank_.processes != nullptr)
    others_ = std::make_unique<PeerMemory>(device, *rank_.processes, memory, rank_.nvshmem);
  for (auto& [key, entries] : entries_) {
    entries.there = std::make_unique<PeerSum>(device, entries.here);
    entries.here = {};
  }
  for (auto& [key, units] : units_) {
    units.there = std::make_unique<DeviceUnits>(device, units.pieces, units.tables);
    units.pieces = {};
    units.tables = {};
  }
  for (auto& [key, table] : peers_) table = std::make_unique<PeerTable>(device, rank_.space, others_.get());
  scratch_ = std::make_unique<DeviceMemory>(device, scratch_bytes_);
  GNEISS_ASSERT(bytes() == planned, "exchanges take {} bytes, {} were planned", bytes(), planned);
}

void ExchangingSteps::retune(const exchange::Tuning& tuning) {
  for (auto& [key, units] : units_) units.there->retune(tuning);
}

const PeerSum* ExchangingSteps::sent(Use use, std::int64_t rows) const { return entries_.at({use, rows}).there.get(); }

PeerTable* ExchangingSteps::peers(ir::ValueId packed) const { return peers_.at(packed).get(); }

ExchangingSteps::Work ExchangingSteps::bind(const ir::Op& op,
                                            const kernels::Operands<float, Space::kDevice>& operands) {
  if (!ir::is_between_ranks(op.kind))
    return op.kind == OpKind::spmm && fetches_meanwhile(op) ? bind_fine(op, operands) : Work();
  GNEISS_CHECK(several(), ErrorCode::kUnsupported,
               "ranks do not run on cards yet; use --device cpu, or --devices on one card");
  GNEISS_ASSERT(op.kind != OpKind::rank_range, "kernels of devices take no range of scores");
  switch (op.kind) {
    case OpKind::halo_wait:
      return [table = peers(op.inputs[1])](const kernels::DeviceContext&) { table->close(); };
    case OpKind::halo_add_start:
      return [table = peers(op.results[0]), x = operands.real(op.inputs[0])](const kernels::DeviceContext&) {
        table->open(x);
      };
    case OpKind::halo:
    case OpKind::halo_start:
      if (plan_.program.type(op.inputs[0]).scalar == ir::Scalar::kIndex)
        return bind_halo(op, as_numbers(operands.index(op.inputs[0])), as_numbers(operands.index(op.results[0])));
      return bind_halo(op, operands.real(op.inputs[0]), operands.real(op.results[0]));
    case OpKind::rank_sum:
      return bind_sum(operands.real(op.inputs[0]), operands.real(op.results[0]));
    default:
      return bind_halo_add(op, operands.real(op.inputs[0]), operands.real(op.results[0]));
  }
}

/// Own rows are copied before they are shown, as the op's operand may change until others have read.
ExchangingSteps::Work ExchangingSteps::bind_halo(const ir::Op& op, Matrix x, Matrix y) const {
  const bool closes = op.kind == OpKind::halo;
  PeerTable* const table = peers(closes ? ir::kNoValue : op.results[1]);
  const Matrix own = y.band(0, rank_.halo->owned);
  const Matrix ghosts = y.band(rank_.halo->owned, y.rows);
  const PeerSum* const copy = sent(Use::kCopy, own.rows);
  const Entries* const fetch = fetches_meanwhile(op) ? nullptr : &entries_.at({Use::kFetch, ghosts.rows});
  return [=, this](const kernels::DeviceContext& context) {
    copy->run(context, x, own, {});
    const auto shown = table->open(own);
    if (fetch != nullptr) {
      fetch->there->run(context, {}, ghosts, shown);
      count(fetch->rows_from, ghosts.cols);
    }
    if (closes) table->close();
  };
}

ExchangingSteps::Work ExchangingSteps::bind_halo_add(const ir::Op& op, Matrix x, Matrix y) const {
  const bool whole = op.kind == OpKind::halo_add;
  PeerTable* const table = peers(whole ? ir::kNoValue : op.inputs[1]);
  const Entries* const add = &entries_.at({Use::kGive, y.rows});
  return [=, this](const kernels::DeviceContext& context) {
    add->there->run(context, x.band(0, y.rows), y, whole ? table->open(x) : table->table());
    count(add->rows_from, y.cols);
    table->close();
  };
}

ExchangingSteps::Work ExchangingSteps::bind_sum(DeviceSpan<float> gradients) {
  const auto [rows, cols] = shape_of_gradients(static_cast<std::int64_t>(gradients.size));
  const Matrix all(gradients.data, rows, cols);
  return bind_sum(all, all);
}

/// y may be x, which others read until all have their sums.
ExchangingSteps::Work ExchangingSteps::bind_sum(Matrix x, Matrix y) const {
  PeerTable* const table = peers(ir::kNoValue);
  const PeerSum* const add = sent(Use::kSum, x.rows);
  const PeerSum* const copy = sent(Use::kCopy, x.rows);
  const Matrix sum(reinterpret_cast<float*>(scratch_->data()), x.rows, x.cols);
  return [=](const kernels::DeviceContext& context) {
    add->run(context, {}, sum, table->open(x));
    table->close();
    copy->run(context, sum, y, {});
  };
}

/// What the start of its exchange showed is open meanwhile.
ExchangingSteps::Work ExchangingSteps::bind_fine(const ir::Op& op,
                                                 const kernels::Operands<float, Space::kDevice>& operands) const {
  const kernels::OnDevice<kernels::SpmmArgs> sum = kernels::sum_args(op, operands);
  const Units& taken = units_.at({graph_of(op), ir::weighs_edges(op), is_extreme(sum.reduce)});
  const DeviceUnits* const units = taken.there.get();
  const auto& kernel = std::get<kernels::DeviceKernel<UnitsArgs>>(device_->kernels());
  const std::size_t needs = kernel.workspace_bytes(units->arguments(sum, {}, false));
  GNEISS_ASSERT(static_cast<std::int64_t>(needs) <= scratch_bytes_, "a sum needs {} bytes of scratch, {} were planned",
                needs, scratch_bytes_);
  const DeviceSpan<std::byte> scratch = {scratch_->data(), static_cast<std::size_t>(scratch_->bytes())};
  return [=, this, &kernel, &taken, table = peers(shown_for(op))](const kernels::DeviceContext& context) {
    kernels::DeviceContext here = context;
    here.workspace = scratch;
    kernel.run(here, units->arguments(sum, table->table(), table->fours()));
    count(taken.rows_from, sum.x.cols);
  };
}

/// The exchange that the rows of a sum come by.
ir::ValueId ExchangingSteps::shown_for(const ir::Op& sum) const {
  const auto start = std::find_if(plan_.program.ops.begin(), plan_.program.ops.end(), [&](const ir::Op& op) {
    return op.kind == OpKind::halo_start && op.results[0] == sum.inputs[0];
  });
  GNEISS_ASSERT(start != plan_.program.ops.end(), "no exchange brings the rows that a sum takes up as they come");
  return start->results[1];
}

}  // namespace gneiss::runtime
