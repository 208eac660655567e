// The sub-commands. Each adds itself to the parser and says what to do when it is chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

namespace gneiss::app {

/// Set by the command that was chosen; returns the exit code.
using Action = std::function<int()>;

void add_train_commands(CLI::App* app, Action* action);  ///< train, plan, synth
void add_run_commands(CLI::App* app, Action* action);    ///< predict, embed, eval
void add_sample_command(CLI::App* app, Action* action);  ///< sample
void add_data_commands(CLI::App* app, Action* action);   ///< data info | convert | validate | generate | formats

/// Writes to stdout. Errors: kDisk when it cannot take all of it.
void print(const std::string& text);

}  // namespace gneiss::app
