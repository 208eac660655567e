// Writing programs, over jobs::synthesize.
#include "gneiss/synth.h"

#include "api/impl.h"
#include "jobs/job.h"
#include "synth/target.h"

namespace gneiss {

std::vector<SynthTarget> synth_targets() {
  std::vector<SynthTarget> list;
  for (const synth::Target& target : synth::targets())
    list.push_back({std::string(target.name), std::string(target.summary)});
  return list;
}

SynthResult synthesize(const RunConfig& config, const Worded<ProgramTarget>& target, const std::string& folder,
                       bool force) {
  jobs::SynthReport report = jobs::synthesize(config.impl().config, target.text(), folder, force);
  return {std::move(report.model),    std::move(report.dataset), std::move(report.files), report.steps,
          std::move(report.defaults), std::move(report.warnings)};
}

}  // namespace gneiss
