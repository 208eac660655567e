// schedule: an epoch of mini-batches on a simulated machine, without data. profile: the stage times of this one.
#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "gneiss/schedule.h"
#include "options.h"

namespace gneiss::app {
namespace {

struct ScheduleArguments {
  ScheduleRequest request;
  bool json = false;
};

int run_schedule(const ScheduleArguments& arguments) {
  const ScheduleResult result = simulate_schedule(arguments.request);
  print(arguments.json ? result.json + "\n" : result.text);
  return 0;
}

struct ProfileArguments {
  std::string data;
  std::int64_t workers = 0;
  bool contended = false;
  std::string out;
  SettingFlags flags;
};

int run_profile(const ProfileArguments& arguments) {
  RunConfig config;
  arguments.flags.apply(&config);
  config.set("data.name", arguments.data, "DATA");
  const ProfileResult result =
      profile_training(config, {static_cast<int>(arguments.workers), arguments.contended, arguments.out});
  print(arguments.out.empty() ? result.text + result.json : result.text);
  return 0;
}

}  // namespace

std::string profiles_text() {
  std::string text = fmt::format("  {:13}{:>8}{:>8}{:>9}{:>9}{:>8}{:>9}   ms a batch\n", "profile", "batches",
                                 "workers", "CPU", "device", "copy", "step");
  for (const MachineProfile& profile : machine_profiles())
    text += fmt::format("  {:13}{:8}{:8}{:9.2f}{:9.2f}{:8.2f}{:9.2f}\n", profile.name, profile.batches, profile.workers,
                        profile.cpu_batch_ms, profile.device_batch_ms, profile.dma_ms, profile.train_ms);
  text += "  machines by their rates, for any data: train --device sim:NAME\n";
  for (const SimulatedMachine& machine : simulated_machines())
    text += fmt::format("  {:13}{}\n", machine.name, machine.summary);
  return text;
}

void add_schedule_command(const Command& program, Action* action) {
  const Command command =
      program.add_command("schedule", "simulate an epoch of mini-batches that CPU and device prepare");
  auto arguments = std::make_shared<ScheduleArguments>();
  ScheduleRequest& request = arguments->request;
  command.add_text("profile", &request.profile, "machine: a profile's name (gneiss help profiles) or its file",
                   {.value_name = "PROFILE", .required = true});
  command.add_text("--schedule", request.schedule.word(), "paper, best, cpu, device or coinflip:R [best]", {});
  command.add_integer("--batches", &request.batches, "of the epoch [the profile's]");
  command.add_integer("--device-batches,--device_batches", &request.device_batches,
                      "batches that may wait in the device's memory [10]");
  command.add_text("--trace", &request.trace, "write the schedule for Perfetto", {.value_name = "FILE"});
  command.add_flag("--json", &arguments->json, "results as one JSON object on stdout");
  command.when_chosen([=] { *action = [=] { return run_schedule(*arguments); }; });
}

void add_profile_command(const Command& program, Action* action) {
  const Command command = program.add_command("profile", "measure the stages of mini-batches, for --device host:FILE");
  auto arguments = std::make_shared<ProfileArguments>();
  command.add_text("what", &arguments->data, "data set: generator, preset, file or folder",
                   {.value_name = "DATA", .required = true});
  command.add_integer("--workers", &arguments->workers,
                      "threads that prepare batches on the CPU [half of the threads]");
  command.add_flag("--contended", &arguments->contended,
                   "profile by the times that stages take beside each other, in an epoch of both routes");
  command.add_text("-o,--output", &arguments->out, "file to write [shown on stdout]", {.value_name = "FILE"});
  arguments->flags.add_to(command, {"data", "model", "loss", "optim", "train", "batch", "passes"});
  command.when_chosen([=] { *action = [=] { return run_profile(*arguments); }; });
}

}  // namespace gneiss::app
