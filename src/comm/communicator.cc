// What every communicator does alike: counting what is sent and which calls are open, small collectives made of the
// sum, and the address space of ranks that have each other's memory.
#include "comm/communicator.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "pgas/thread_space.h"

namespace gneiss::comm {

void Communicator::exchange(RowsByRank<const std::byte> send, RowsByRank<std::byte> receive, std::int64_t row_bytes) {
  wait(start_exchange(send, receive, row_bytes));
}

void Communicator::sum(std::span<float> values) { wait(start_sum(values)); }
void Communicator::sum(std::span<double> values) { wait(start_sum(values)); }

Request Communicator::start_exchange(RowsByRank<const std::byte> send, RowsByRank<std::byte> receive,
                                     std::int64_t row_bytes) {
  const auto ends = static_cast<std::size_t>(ranks()) + 1;
  GNEISS_ASSERT(send.at.size() == ends && receive.at.size() == ends, "an exchange between {} ranks names {} and {}",
                ranks(), send.at.size(), receive.at.size());
  const Request request = do_start_exchange(send, receive, row_bytes);
  ++open_;
  const auto self = static_cast<std::size_t>(rank());
  const std::int64_t kept = send.at[self + 1] - send.at[self];
  ++traffic_.exchanges;
  traffic_.exchanged_bytes += (send.at.back() - send.at.front() - kept) * row_bytes;
  return request;
}

Request Communicator::start_sum(std::span<float> values) {
  const Request request = do_start_sum(values);
  opened_sum(values.size_bytes());
  return request;
}

Request Communicator::start_sum(std::span<double> values) {
  const Request request = do_start_sum(values);
  opened_sum(values.size_bytes());
  return request;
}

void Communicator::opened_sum(std::size_t bytes) {
  ++open_;
  ++traffic_.sums;
  traffic_.summed_bytes += static_cast<std::int64_t>(bytes);
}

void Communicator::progress() noexcept {
  if (open_ == 0 || failed_) return;
  try {
    do_progress();
  } catch (...) {
    failed_ = std::current_exception();
  }
}

void Communicator::wait(Request request) {
  if (failed_) std::rethrow_exception(failed_);
  do_wait(request);
  --open_;
}

std::unique_ptr<pgas::Space> Communicator::make_space(const pgas::Link& link) {
  return pgas::thread_space(rank(), ranks(), meeting(), link);
}

pgas::Meet Communicator::meeting() {
  const auto devices = static_cast<std::size_t>(ranks());
  std::vector<std::int64_t> one_each(devices + 1);
  std::iota(one_each.begin(), one_each.end(), std::int64_t{0});
  return [this, one_each, copies = std::vector<pgas::SharedRows>(devices)](const pgas::SharedRows& mine,
                                                                           std::span<pgas::SharedRows> all) mutable {
    std::fill(copies.begin(), copies.end(), mine);
    exchange({std::as_bytes(std::span(copies)), one_each}, {std::as_writable_bytes(all), one_each},
             sizeof(pgas::SharedRows));
  };
}

void share(Communicator& communicator, std::span<double> values) {
  if (communicator.rank() != 0) std::fill(values.begin(), values.end(), 0.0);
  communicator.sum(values);
}

void agree(Communicator& communicator, const std::string& what, std::uint64_t value) {
  // Numbers below 2^32 are exact, and so are their sums over any number of ranks.
  constexpr std::uint64_t kLow = 0xFFFFFFFF;
  const double mine[] = {static_cast<double>(value & kLow), static_cast<double>(value >> 32)};
  double first[] = {mine[0], mine[1]};
  share(communicator, first);
  double others = mine[0] == first[0] && mine[1] == first[1] ? 0 : 1;
  double culprit = others * (communicator.rank() + 1);
  double counts[] = {others, culprit};
  communicator.sum(counts);
  if (counts[0] == 0) return;
  throw Error(ErrorCode::kBadData,
              counts[0] == 1
                  ? fmt::format("rank {} has another {} than rank 0", counts[1] - 1, what)
                  : fmt::format("{} of {} ranks have another {} than rank 0", counts[0], communicator.ranks(), what),
              {}, "start all ranks with the same gneiss, the same settings and the same data");
}

}  // namespace gneiss::comm
