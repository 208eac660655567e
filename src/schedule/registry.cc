// A plain list: machines have a handful of operators.
#include "schedule/registry.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace gneiss::schedule {
namespace {

class RegisteredWork : public Work {
 public:
  RegisteredWork(Operator cpu, Operator copy, Operator device, Operator train)
      : cpu_(std::move(cpu)), copy_(std::move(copy)), device_(std::move(device)), train_(std::move(train)) {}

  void prepare_on_cpu(std::int64_t batch, int worker) override { cpu_(batch, worker); }
  std::int64_t copy(std::int64_t batch) override { return copy_(batch, 0); }
  void prepare_on_device(std::int64_t batch) override { device_(batch, 0); }
  void train(std::int64_t batch) override { train_(batch, 0); }

 private:
  Operator cpu_;
  Operator copy_;
  Operator device_;
  Operator train_;
};

}  // namespace

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::kBatching:
      return "Batching";
    case Phase::kTransferring:
      return "Transferring";
    case Phase::kTraining:
      return "Training";
  }
  return "";
}

std::string Registry::Entry::full_name() const { return fmt::format("{}_{}_{}", phase_name(phase), hardware, name); }

void Registry::add(Phase phase, std::string hardware, std::string name, Operator run) {
  GNEISS_CHECK(!hardware.empty() && !name.empty() && (hardware + name).find('_') == std::string::npos,
               ErrorCode::kUsage, "'{}' and '{}' name no hardware and operator: neither is empty or has a '_'",
               hardware, name);
  Entry entry{phase, std::move(hardware), std::move(name), std::move(run)};
  for (const Entry& there : entries_) {
    GNEISS_CHECK(there.phase != entry.phase || there.hardware != entry.hardware, ErrorCode::kUsage,
                 "{} is there already, and {} would do the same", there.full_name(), entry.full_name());
  }
  entries_.push_back(std::move(entry));
}

const Registry::Entry& Registry::find(Phase phase, const std::string& hardware) const {
  const auto at = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.phase == phase && entry.hardware == hardware; });
  if (at != entries_.end()) return *at;
  std::string known;
  for (const Entry& entry : entries_) known += (known.empty() ? "" : ", ") + entry.full_name();
  throw Error(
      ErrorCode::kUsage, fmt::format("no operator does the phase {} on {}", phase_name(phase), hardware), "registry",
      fmt::format("add {}_{}_NAME; there are: {}", phase_name(phase), hardware, known.empty() ? "none" : known));
}

std::unique_ptr<Work> Registry::work(const std::string& device, const std::string& link) const {
  const Entry& cpu = find(Phase::kBatching, "CPU");
  const Entry& copy = find(Phase::kTransferring, link);
  const Entry& batching = find(Phase::kBatching, device + "+" + link);
  const Entry& training = find(Phase::kTraining, device);
  return std::make_unique<RegisteredWork>(cpu.run, copy.run, batching.run, training.run);
}

}  // namespace gneiss::schedule
