// Slabs are found by a search over a few dozen of them; a batch takes milliseconds.
#include "train/host_work.h"

#include <algorithm>

#include "base/error.h"

namespace gneiss::train {
namespace {

constexpr std::int64_t kFree = -1;

}  // namespace

HostWork::Memory::Memory(std::int64_t slabs)
    : slabs_(static_cast<std::size_t>(slabs)), holds_(static_cast<std::size_t>(slabs), kFree) {}

std::size_t HostWork::Memory::find(std::int64_t batch) const {
  const auto at = std::ranges::find(holds_, batch);
  GNEISS_ASSERT(at != holds_.end(), "batch {} is in none of {} slabs", batch, holds_.size());
  return static_cast<std::size_t>(at - holds_.begin());
}

minibatch::Slab* HostWork::Memory::take(std::int64_t batch) {
  const std::lock_guard lock(mutex_);
  const std::size_t slot = find(kFree);
  holds_[slot] = batch;
  return &slabs_[slot];
}

minibatch::Slab* HostWork::Memory::of(std::int64_t batch) {
  const std::lock_guard lock(mutex_);
  return &slabs_[find(batch)];
}

void HostWork::Memory::free(std::int64_t batch) {
  const std::lock_guard lock(mutex_);
  holds_[find(batch)] = kFree;
}

void HostWork::Memory::free_all() { std::ranges::fill(holds_, kFree); }

std::int64_t HostWork::Memory::bytes() const {
  std::int64_t bytes = 0;
  for (const minibatch::Slab& slab : slabs_) bytes += slab.capacity();
  return bytes;
}

HostWork::HostWork(Stages stages, std::int64_t host_slabs, std::int64_t device_slabs)
    : stages_(std::move(stages)), host_(host_slabs), device_(device_slabs) {}

void HostWork::start_epoch(std::span<const std::int64_t> order, std::int64_t first) {
  host_.free_all();
  device_.free_all();
  copied_bytes_ = 0;
  index_.assign(order.size(), 0);
  for (std::size_t step = 0; step < order.size(); ++step)
    index_[static_cast<std::size_t>(order[step])] = first + static_cast<std::int64_t>(step);
}

void HostWork::prepare_on_cpu(std::int64_t batch, int worker) {
  stages_.prepare_on_cpu(index(batch), worker, host_.take(batch));
}

std::int64_t HostWork::copy(std::int64_t batch) {
  minibatch::Slab* to = device_.take(batch);
  to->copy_from(*host_.of(batch));
  host_.free(batch);
  copied_bytes_ += std::ssize(to->bytes());
  return std::ssize(to->bytes());
}

void HostWork::prepare_on_device(std::int64_t batch) {
  stages_.prepare_on_device(index(batch), 0, device_.take(batch));
}

void HostWork::train(std::int64_t batch) {
  stages_.train(index(batch), 0, device_.of(batch));
  device_.free(batch);
}

std::int64_t HostWork::slab_bytes() const { return host_.bytes() + device_.bytes(); }

schedule::Registry HostWork::operators() {
  using schedule::Phase;
  schedule::Registry registry;
  registry.add(Phase::kBatching, "CPU", "sample", [this](std::int64_t batch, int worker) {
    prepare_on_cpu(batch, worker);
    return std::int64_t{0};
  });
  registry.add(Phase::kTransferring, "Link", "copy", [this](std::int64_t batch, int) { return copy(batch); });
  registry.add(Phase::kBatching, "Device+Link", "sample", [this](std::int64_t batch, int) {
    prepare_on_device(batch);
    return std::int64_t{0};
  });
  registry.add(Phase::kTraining, "Device", "step", [this](std::int64_t batch, int) {
    train(batch);
    return std::int64_t{0};
  });
  return registry;
}

std::vector<std::pair<std::string, std::string>> stage_operators() {
  constexpr const char* kWhat[] = {
      "a worker samples a batch and gathers its rows", "the slab of a batch goes to the device's memory",
      "the device samples a batch and reads its rows through the link", "forward, backward and update"};
  HostWork none({}, 0, 0);
  std::vector<std::pair<std::string, std::string>> table;
  const schedule::Registry registry = none.operators();
  for (const schedule::Registry::Entry& entry : registry.entries())
    table.emplace_back(entry.full_name(), kWhat[table.size()]);
  return table;
}

}  // namespace gneiss::train
