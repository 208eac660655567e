// The sums of an executor that take up others' rows as they come.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "exchange/exchanged_sum.h"
#include "exchange/own_first.h"
#include "ir/plan.h"
#include "kernels/call.h"
#include "runtime/structures.h"

namespace gneiss::runtime {

struct Resources;

template <class T>
class ExchangingSums {
 public:
  /// All must outlive this. `exchanges`: by value, of the packed rows of an exchange. `context`: that waits run in.
  ExchangingSums(const ir::Plan& plan, const Resources& resources, const kernels::Context& context,
                 std::vector<kernels::ExchangeUnderWay>* exchanges)
      : plan_(plan), resources_(resources), context_(context), exchanges_(*exchanges) {}
  ExchangingSums(const ExchangingSums&) = delete;
  ExchangingSums& operator=(const ExchangingSums&) = delete;

  /// Forgets what was bound; from now on edges are those of `structures`, which outlive this.
  void begin(const Structures& structures);
  /// Has `call` take up the rows of `op` as they come. `args`: what spmm would be given.
  void bind(const ir::Op& op, const kernels::SpmmArgs<T>& args, const kernels::Operands<T>& operands,
            kernels::BoundCall* call);
  /// Cuts the edges of sums by the exchange fine anew.
  void retune(const exchange::Tuning& tuning);
  std::int64_t bytes() const;

 private:
  /// Of a device: others' rows are fetched.
  struct Fetched {
    kernels::SpmmArgs<T> args;
    const kernels::ExchangeUnderWay* shown = nullptr;
    exchange::ExchangedSum<T> sum;
  };
  /// Of a rank that is sent rows: begins with edges from own nodes.
  struct OwnFirst {
    kernels::SpmmArgs<T> args;
    const exchange::StreamPieces* pieces = nullptr;
    exchange::Arrivals arrivals;
    kernels::BoundCall wait;  ///< for its rows
  };

  const ir::Op& exchange_op(ir::OpKind kind, ir::ValueId rows) const;
  void bind_own_first(const ir::Op& op, const kernels::SpmmArgs<T>& args, const kernels::Operands<T>& operands,
                      kernels::BoundCall* call);
  const exchange::StreamPieces* pieces_of(std::int32_t graph);

  const ir::Plan& plan_;
  const Resources& resources_;
  const kernels::Context& context_;
  std::vector<kernels::ExchangeUnderWay>& exchanges_;
  const Structures* structures_ = nullptr;
  /// What sums of `fetched_` share: by graph, exchange, and needs of weights and places.
  std::map<std::tuple<std::int32_t, exchange::Exchange, bool, bool>, exchange::SumPieces> cuts_;
  std::vector<std::unique_ptr<Fetched>> fetched_;
  exchange::SumRoom<T> room_;  ///< that sums of `fetched_` share
  std::vector<std::unique_ptr<OwnFirst>> own_first_;
  std::vector<std::unique_ptr<exchange::StreamPieces>> pieces_;  ///< by graph, of sums that begin with own edges
};

extern template class ExchangingSums<float>;
extern template class ExchangingSums<double>;

}  // namespace gneiss::runtime
