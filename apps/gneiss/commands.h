// The sub-commands. Each adds itself to the parser and says what to do when it is chosen.
#pragma once

#include <functional>
#include <string>

#include "command_line.h"

namespace gneiss::app {

/// Set by the command that was chosen; returns the exit code.
using Action = std::function<int()>;

void add_train_commands(const Command& program, Action* action);    ///< train, plan, synth
void add_run_commands(const Command& program, Action* action);      ///< predict, embed, eval
void add_sample_command(const Command& program, Action* action);    ///< sample
void add_schedule_command(const Command& program, Action* action);  ///< schedule
void add_profile_command(const Command& program, Action* action);   ///< profile
void add_data_commands(const Command& program,
                       Action* action);  ///< data info | convert | validate | generate | formats

/// The machines that `schedule` and `train --device` know, a line each.
std::string profiles_text();

/// Writes to stdout. Errors: kDisk when it cannot take all of it.
void print(const std::string& text);

}  // namespace gneiss::app
