// Calls follow one another without a pause, so that buffers on the way are full and a link is seen at the rate that it
// keeps up. Of each kind and size the lower quartile counts: what another program on the machine delays is no latency,
// and a call is delayed if any rank is.
#include "cost/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/buffer.h"
#include "base/error.h"

namespace gneiss::cost {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kWarmSeconds = 0.02;
constexpr double kSeconds = 0.08;  ///< of one kind and size

/// What a call has of the two unknowns: messages of a latency each, bytes over a rate.
struct Share {
  double messages = 1;
  double bytes = 0;
};

Share share_of(const NetworkCall& call, int ranks) {
  if (!call.is_sum) return {1, call.bytes};
  const double others = ranks - 1;
  return {2 * others, 2 * others / ranks * call.bytes};
}

class Talk {
 public:
  explicit Talk(comm::Communicator* communicator)
      : communicator_(*communicator),
        sent_(static_cast<std::size_t>(kMostBytes)),
        received_(static_cast<std::size_t>(kMostBytes)),
        values_(static_cast<std::size_t>(kMostBytes) / sizeof(float)) {
    std::fill(sent_.begin(), sent_.end(), std::byte{1});
    std::fill(values_.begin(), values_.end(), 0.0F);
    const auto ranks = static_cast<std::size_t>(communicator_.ranks());
    const auto rank = static_cast<std::size_t>(communicator_.rank());
    to_.assign(ranks + 1, 0);
    from_.assign(ranks + 1, 0);
    const std::size_t to = (rank + ranks / 2) % ranks;
    const std::size_t from = (rank + ranks - ranks / 2) % ranks;
    for (std::size_t p = 0; p < ranks; ++p) {
      to_[p + 1] = to_[p] + (p == to ? 1 : 0);
      from_[p + 1] = from_[p] + (p == from ? 1 : 0);
    }
  }

  NetworkCall measure(bool is_sum, std::int64_t bytes) {
    NetworkCall call{is_sum, static_cast<double>(bytes), 0};
    const auto make = [&] {
      if (is_sum) return communicator_.sum(values_.span().first(static_cast<std::size_t>(bytes) / sizeof(float)));
      const auto size = static_cast<std::size_t>(bytes);
      communicator_.exchange({sent_.span().first(size), to_}, {received_.span().first(size), from_}, bytes);
    };
    make();
    const double once = std::max(agreed([&] { make(); }), 1e-7);
    const auto times = [&](double seconds, double most) {
      return static_cast<int>(std::clamp(std::ceil(seconds / once), 1.0, most));
    };
    for (int i = times(kWarmSeconds, 1000); i > 0; --i) make();
    std::vector<double> seconds;
    for (int i = 2 + times(kSeconds, 4000); i > 0; --i) seconds.push_back(seconds_of(make));
    const auto quartile = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 4);
    std::nth_element(seconds.begin(), quartile, seconds.end());
    double mean[] = {*quartile / communicator_.ranks()};
    communicator_.sum(mean);
    call.seconds = std::max(mean[0], 1e-9);
    return call;
  }

  static constexpr std::int64_t kMostBytes = std::int64_t{4} << 20;

 private:
  template <class Call>
  static double seconds_of(const Call& call) {
    const Clock::time_point start = Clock::now();
    call();
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  /// Rank 0's time, so that all ranks call as often.
  template <class Call>
  double agreed(const Call& call) {
    double seconds[] = {seconds_of(call)};
    comm::share(communicator_, seconds);
    return seconds[0];
  }

  comm::Communicator& communicator_;
  Buffer<std::byte> sent_;
  Buffer<std::byte> received_;
  Buffer<float> values_;
  std::vector<std::int64_t> to_;
  std::vector<std::int64_t> from_;
};

}  // namespace

bool Network::is_valid() const {
  return std::isfinite(bytes_per_second) && bytes_per_second > 0 && std::isfinite(latency) && latency > 0;
}

double call_seconds(const Network& network, const NetworkCall& call, int ranks) {
  const Share share = share_of(call, ranks);
  return share.messages * network.latency + share.bytes / network.bytes_per_second;
}

Network fit_network(const std::vector<NetworkCall>& calls, int ranks) {
  GNEISS_ASSERT(calls.size() >= 2 && ranks >= 2, "a network is fitted to {} calls of {} ranks", calls.size(), ranks);
  double mm = 0;
  double mb = 0;
  double bb = 0;
  double m = 0;
  double b = 0;
  double least_latency = calls[0].seconds;
  double least_per_byte = calls[0].seconds;
  for (const NetworkCall& call : calls) {  // of each the share of its own seconds, which should add up to 1
    const Share share = share_of(call, ranks);
    const double messages = share.messages / call.seconds;
    const double bytes = share.bytes / call.seconds;
    mm += messages * messages;
    mb += messages * bytes;
    bb += bytes * bytes;
    m += messages;
    b += bytes;
    least_latency = std::min(least_latency, 1 / messages);
    if (bytes > 0) least_per_byte = std::min(least_per_byte, 1 / bytes);
  }
  const double determinant = mm * bb - mb * mb;
  double latency = (m * bb - b * mb) / determinant;
  double per_byte = (b * mm - m * mb) / determinant;
  if (!(latency > 0)) {  // bytes explain all
    latency = 0.01 * least_latency;
    per_byte = (b - mb * latency) / bb;
  }
  if (!(per_byte > 0)) {  // messages explain all
    per_byte = 0.01 * least_per_byte;
    latency = (m - mb * per_byte) / mm;
  }
  Network network;
  network.bytes_per_second = 1 / per_byte;
  network.latency = latency;
  network.source = fmt::format("measured between {} ranks", ranks);
  return network;
}

MeasuredNetwork measure_network(comm::Communicator& communicator) {
  constexpr std::int64_t kKiB = 1024;
  MeasuredNetwork measured;
  measured.ranks = communicator.ranks();
  Talk talk(&communicator);
  for (const std::int64_t bytes : {kKiB / 16, 16 * kKiB, 256 * kKiB, 1024 * kKiB, Talk::kMostBytes})
    measured.calls.push_back(talk.measure(false, bytes));
  for (const std::int64_t bytes : {kKiB / 16, 16 * kKiB, 256 * kKiB})
    measured.calls.push_back(talk.measure(true, bytes));
  measured.network = fit_network(measured.calls, measured.ranks);
  return measured;
}

std::string describe(const MeasuredNetwork& measured) {
  std::string text = fmt::format("  network, {}: {:.3g} GB/s and {:.3g} us a message\n", measured.network.source,
                                 1e-9 * measured.network.bytes_per_second, 1e6 * measured.network.latency);
  text += fmt::format("    {:>10} {:>9} {:>13} {:>13}\n", "call", "KiB", "measured, us", "modelled, us");
  for (const NetworkCall& call : measured.calls) {
    text += fmt::format("    {:>10} {:9.2f} {:13.1f} {:13.1f}\n", call.is_sum ? "sum" : "exchange", call.bytes / 1024,
                        1e6 * call.seconds, 1e6 * call_seconds(measured.network, call, measured.ranks));
  }
  return text;
}

}  // namespace gneiss::cost
