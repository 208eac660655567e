// A sum whose rows are fetched runs beside the space, one whose rows are sent beside the communicator.
#include "runtime/exchanging_sums.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "comm/communicator.h"
#include "runtime/executor.h"

namespace gneiss::runtime {

template <class T>
void ExchangingSums<T>::begin(const Structures& structures) {
  structures_ = &structures;
  fetched_.clear();
  own_first_.clear();
  pieces_.clear();
  cuts_.clear();
}

template <class T>
void ExchangingSums<T>::bind(const ir::Op& op, const kernels::SpmmArgs<T>& args, const kernels::Operands<T>& operands,
                             kernels::BoundCall* call) {
  if (resources_.space == nullptr) return bind_own_first(op, args, operands, call);
  const ir::Op& start = exchange_op(ir::OpKind::halo_start, op.inputs[0]);
  const auto graph = static_cast<std::int32_t>(op.attrs.integer("graph", 0));
  const exchange::Exchange how = exchange::exchange_of(op.attrs.text("exchange", ""));
  const exchange::SumNeeds needs = exchange::needs_of(args);
  GNEISS_ASSERT(args.pattern.indices.data() == structures_->in_edges(graph)->indices.data(),
                "a sum that takes up rows as they come walks other edges than those of its graph");
  const auto [cut, is_new] = cuts_.try_emplace({graph, how, needs.weights, needs.extreme});
  if (is_new) cut->second = exchange::sum_pieces(how, resources_.tuning, args.pattern, *resources_.halo, needs);
  fetched_.push_back(
      std::make_unique<Fetched>(Fetched{args, &exchanges_[static_cast<std::size_t>(start.results[1])],
                                        exchange::ExchangedSum<T>(&cut->second, args, *resources_.halo, &room_)}));
  call->run = [this, held = fetched_.back().get()](const kernels::Context& context) {
    held->sum.run(context, held->args, *resources_.space, *held->shown, resources_.overlap);
  };
}

/// The halo_start or halo_wait of these rows.
template <class T>
const ir::Op& ExchangingSums<T>::exchange_op(ir::OpKind kind, ir::ValueId rows) const {
  const auto found = std::find_if(plan_.program.ops.begin(), plan_.program.ops.end(), [&](const ir::Op& op) {
    return op.kind == kind && (kind == ir::OpKind::halo_start ? op.results[0] : op.inputs[0]) == rows;
  });
  GNEISS_ASSERT(found != plan_.program.ops.end(), "no exchange brings the rows that a sum takes up as they come");
  return *found;
}

/// The wait behind the sum then finds that its call was waited for.
template <class T>
void ExchangingSums<T>::bind_own_first(const ir::Op& op, const kernels::SpmmArgs<T>& args,
                                       const kernels::Operands<T>& operands, kernels::BoundCall* call) {
  GNEISS_ASSERT(op.attrs.text("exchange", "") == exchange::name_of(exchange::Exchange::kStream),
                "ranks that are sent rows sum them up by stream alone");
  own_first_.push_back(std::make_unique<OwnFirst>());
  OwnFirst* const held = own_first_.back().get();
  held->args = args;
  held->pieces = pieces_of(static_cast<std::int32_t>(op.attrs.integer("graph", 0)));
  const ir::Op& wait = exchange_op(ir::OpKind::halo_wait, op.inputs[0]);
  kernels::bind_call<T>(wait, operands, &held->wait);
  kernels::ExchangeUnderWay* const under_way = &exchanges_[static_cast<std::size_t>(wait.inputs[1])];
  held->arrivals.progress = [this] { resources_.communicator->progress(); };
  held->arrivals.wait = [this, held, under_way] {
    held->wait.run(context_);
    under_way->waited = true;
  };
  const bool extreme = held->args.reduce == kernels::Reduce::kMax || held->args.reduce == kernels::Reduce::kMin;
  call->run = [this, held, in_scratch = extreme && held->args.arg.data == nullptr](const kernels::Context& context) {
    kernels::SpmmArgs<T> sum = held->args;
    if (in_scratch) sum.arg = {reinterpret_cast<std::int32_t*>(context.workspace.data()), sum.y.rows, sum.y.cols};
    exchange::sum_own_first(context, *held->pieces, sum, held->arrivals, resources_.overlap);
  };
}

template <class T>
const exchange::StreamPieces* ExchangingSums<T>::pieces_of(std::int32_t graph) {
  pieces_.resize(plan_.program.graphs.size());
  std::unique_ptr<exchange::StreamPieces>& made = pieces_[static_cast<std::size_t>(graph)];
  if (made == nullptr) {
    const exchange::SumNeeds needs = exchange::pieces_by_graph(plan_.program)[static_cast<std::size_t>(graph)].needs;
    made = std::make_unique<exchange::StreamPieces>(
        exchange::stream_pieces(*structures_->in_edges(graph), *resources_.halo, needs));
  }
  return made.get();
}

template <class T>
void ExchangingSums<T>::retune(const exchange::Tuning& tuning) {
  for (auto& [of, cut] : cuts_) {
    const auto [graph, how, weights, extreme] = of;
    GNEISS_ASSERT(how == exchange::Exchange::kFine, "only the exchange fine is tuned");
    cut = exchange::sum_pieces(how, tuning, *structures_->in_edges(graph), *resources_.halo, {weights, extreme});
  }
  for (const std::unique_ptr<Fetched>& held : fetched_) held->sum.reserve(held->args);
}

template <class T>
std::int64_t ExchangingSums<T>::bytes() const {
  std::int64_t bytes = room_.bytes();
  for (const auto& [of, cut] : cuts_) bytes += cut.bytes();
  for (const std::unique_ptr<exchange::StreamPieces>& pieces : pieces_)
    bytes += pieces == nullptr ? 0 : pieces->bytes();
  return bytes;
}

template class ExchangingSums<float>;
template class ExchangingSums<double>;

}  // namespace gneiss::runtime
