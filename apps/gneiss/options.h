// Command-line options made from the library's table of settings.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "command_line.h"
#include "gneiss/config.h"

namespace gneiss::app {

/// Settings given on a command line, in order.
class SettingFlags {
 public:
  /// Adds the options of the groups ("data", "optim", …) and keys ("train.threads") named to a command; --model-arg
  /// comes with group "model".
  void add_to(const Command& command, const std::vector<std::string>& groups);
  /// Gives what was parsed to `config`. Errors: kUsage naming the flag.
  void apply(RunConfig* config) const;

 private:
  struct Given {
    std::string key;
    std::string value;
    std::string where;
  };
  void add_switch(const Command& command, const SettingInfo& setting);
  void add_value(const Command& command, const SettingInfo& setting);

  std::vector<Given> given_;
  std::vector<std::string> model_args_;
};

/// "--num-layers,--num_layers,--ALIAS…" as Command takes it.
std::string flag_names(const SettingInfo& setting, const std::string& prefix = {});

}  // namespace gneiss::app
