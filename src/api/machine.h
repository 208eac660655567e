// Profiles of machines as the public API has them.
#pragma once

#include "gneiss/schedule.h"
#include "schedule/profile.h"

namespace gneiss {

inline MachineProfile to_public(const schedule::Profile& profile) {
  const schedule::StageTimes& times = profile.times;
  MachineProfile machine;
  machine.name = profile.name;
  machine.batches = profile.batches;
  machine.workers = profile.workers;
  machine.cpu_batch_ms = schedule::to_ms(times.cpu_batch);
  machine.device_batch_ms = schedule::to_ms(times.route1());
  machine.dma_ms = schedule::to_ms(times.dma);
  machine.train_ms = schedule::to_ms(times.train);
  machine.link_share = profile.uva_link_share;
  machine.device_share = profile.uva_device_share;
  machine.dma_bytes = profile.dma_bytes;
  machine.uva_bytes = profile.uva_bytes;
  machine.variation = profile.variation;
  return machine;
}

inline schedule::Profile from_public(const MachineProfile& machine) {
  schedule::Profile profile;
  profile.name = machine.name;
  profile.batches = machine.batches;
  profile.workers = machine.workers;
  profile.times.cpu_batch = schedule::from_ms(machine.cpu_batch_ms);
  profile.times.device_batch = schedule::from_ms(machine.device_batch_ms);
  profile.times.uva = profile.times.device_batch;
  profile.times.dma = schedule::from_ms(machine.dma_ms);
  profile.times.train = schedule::from_ms(machine.train_ms);
  profile.uva_link_share = machine.link_share;
  profile.uva_device_share = machine.device_share;
  profile.dma_bytes = machine.dma_bytes;
  profile.uva_bytes = machine.uva_bytes;
  profile.variation = machine.variation;
  return profile;
}

}  // namespace gneiss
