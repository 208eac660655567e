// The plans of each mode, and how a choice becomes one. Eq. 6 is printed without the comma between T_Model and its
// third term.
#include "schedule/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/random.h"
#include "schedule/best.h"
#include "schedule/dispatcher.h"
#include "schedule/run.h"

namespace gneiss::schedule {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double paper_cost(const StageTimes& times, double x) {
  const auto route1 = static_cast<double>(times.route1());
  const auto model = static_cast<double>(times.train);
  if (std::isinf(x)) return route1 + model;
  const double part = 1 / (1 + x);
  const double dma = static_cast<double>(times.dma) * part;
  const double rest = (static_cast<double>(times.cpu_batch) - x * route1) * part;
  return x * route1 * part + std::max({dma, model, rest});
}

Plan coin_flip_plan(const Profile& profile, const PlanOptions& options) {
  RandomStream random(options.seed, 0xC01FU);
  Plan plan = plain_plan(profile, Mode::kCoinFlip, options.batches, 0, options.gbs);
  for (std::int64_t batch = 0; batch < options.batches; ++batch) {
    plan.cpu_routes.push_back(random.uniform() < options.choice.ratio);
    plan.cpu_batches += plan.cpu_routes.back() ? 1 : 0;
  }
  plan.host_slabs = std::max<std::int64_t>(plan.host_slabs, options.batches);
  plan.x = plan.ratio();
  return plan;
}

Planned paper_plan(const Profile& profile, const PlanOptions& options) {
  Dispatcher dispatcher(profile, options.batches, options.gbs);
  while (const std::optional<Plan> plan = dispatcher.next()) dispatcher.observe(simulate(*plan, profile, false));
  return dispatcher.planned();
}

}  // namespace

double Plan::ratio() const {
  return cpu_batches == 0 ? kInfinite : static_cast<double>(device_batches()) / static_cast<double>(cpu_batches);
}

Plan plain_plan(const Profile& profile, Mode mode, std::int64_t batches, std::int64_t cpu_batches, std::int64_t gbs) {
  Plan plan;
  plan.mode = mode;
  plan.batches = batches;
  plan.cpu_batches = cpu_batches;
  plan.gbs = gbs;
  plan.workers = profile.workers;
  plan.cbs = gbs;
  plan.host_slabs = plan.cbs + profile.workers;
  plan.x = plan.ratio();
  return plan;
}

double first_ratio(const StageTimes& times) {
  const auto cpu = static_cast<double>(times.cpu_batch);
  const auto dma = static_cast<double>(times.dma);
  const auto route1 = static_cast<double>(times.route1());
  const auto model = static_cast<double>(times.train);
  // C' is piecewise of the form (a + b x) / (1 + x): its least value lies at an end or where two pieces meet.
  double best = 0;
  double least = paper_cost(times, 0);
  for (const double x : {(cpu - model) / (route1 + model), (cpu - dma) / route1, (dma - model) / model, kInfinite}) {
    if (!(x > 0)) continue;
    const double cost = paper_cost(times, x);
    if (!(cost < least * (1 - 1e-12))) continue;
    best = x;
    least = cost;
  }
  return best;
}

Plan dual_buffer_plan(const Profile& profile, std::int64_t batches, std::int64_t cbs, std::int64_t gbs) {
  Plan plan;
  plan.mode = Mode::kPaper;
  plan.batches = batches;
  plan.cbs = cbs;
  plan.gbs = gbs;
  plan.workers = profile.workers;
  plan.host_slabs = cbs + profile.workers;
  plan.cpu_batches = static_cast<std::int64_t>(
      std::llround(static_cast<double>(batches) * static_cast<double>(cbs) / static_cast<double>(cbs + gbs)));
  plan.train_while_waiting = true;
  plan.x = static_cast<double>(gbs) / static_cast<double>(cbs);
  return plan;
}

Planned make_plan(const Profile& profile, const PlanOptions& options) {
  GNEISS_CHECK(options.gbs >= 1, ErrorCode::kUsage, "expected room for one batch on the device at least, got {}",
               options.gbs);
  Planned planned;
  switch (options.choice.mode) {
    case Mode::kPaper:
      planned = paper_plan(profile, options);
      break;
    case Mode::kBest:
      planned = best_plan(profile, options);
      break;
    case Mode::kCpu:
      planned.plan = plain_plan(profile, Mode::kCpu, options.batches, options.batches, options.gbs);
      planned.why = "as asked";
      break;
    case Mode::kDevice:
      planned.plan = plain_plan(profile, Mode::kDevice, options.batches, 0, options.gbs);
      planned.why = "as asked";
      break;
    case Mode::kCoinFlip:
      planned.plan = coin_flip_plan(profile, options);
      planned.why = "by chance";
      break;
  }
  planned.bound = lower_bound(profile, options.batches);
  planned.epoch = simulate(planned.plan, profile, false).epoch;
  return planned;
}

Choice parse_choice(std::string_view text, const std::string& where) {
  constexpr std::pair<std::string_view, Mode> kNames[] = {
      {"paper", Mode::kPaper}, {"best", Mode::kBest}, {"cpu", Mode::kCpu}, {"device", Mode::kDevice}};
  for (const auto& [name, mode] : kNames)
    if (text == name) return {mode, 0};
  constexpr std::string_view kCoin = "coinflip:";
  if (text.starts_with(kCoin)) {
    const std::string number(text.substr(kCoin.size()));
    char* end = nullptr;
    const double ratio = std::strtod(number.c_str(), &end);
    if (!number.empty() && *end == '\0' && ratio >= 0 && ratio <= 1) return {Mode::kCoinFlip, ratio};
  }
  throw Error(ErrorCode::kUsage, fmt::format("'{}' is no schedule", text), where,
              "expected paper, best, cpu, device or coinflip:R with R from 0 to 1");
}

std::string_view mode_name(Mode mode) {
  switch (mode) {
    case Mode::kPaper:
      return "paper";
    case Mode::kBest:
      return "best";
    case Mode::kCpu:
      return "cpu";
    case Mode::kDevice:
      return "device";
    case Mode::kCoinFlip:
      return "coinflip";
  }
  return "";
}

std::string describe(const Planned& planned) {
  const Plan& plan = planned.plan;
  const double gap =
      planned.bound == 0 ? 0 : 100 * (static_cast<double>(planned.epoch) / static_cast<double>(planned.bound) - 1);
  return fmt::format(
      "  plan     {}: {} batches by the CPU, {} by the device (x {:.2f}, cbs {}, gbs {})\n"
      "  epoch    {:.3f} s predicted, {:.3f} s at least by the stage times ({:+.1f} %)\n"
      "  why      {}\n",
      mode_name(plan.mode), plan.cpu_batches, plan.device_batches(), plan.x, plan.cbs, plan.gbs,
      to_seconds(planned.epoch), to_seconds(planned.bound), gap, planned.why);
}

}  // namespace gneiss::schedule
