// sample: the mini-batches that a training would see.
#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "gneiss/sample.h"
#include "options.h"

namespace gneiss::app {
namespace {

struct SampleArguments {
  std::string data;
  SampleRequest request;
  bool json = false;
  SettingFlags flags;
};

int run_sample(const SampleArguments& arguments) {
  RunConfig config;
  arguments.flags.apply(&config);
  config.set("data.name", arguments.data, "DATA");
  const SampleResult result = sample_batches(config, arguments.request);
  print(arguments.json ? result.json + "\n" : result.text);
  return 0;
}

}  // namespace

void add_sample_command(const Command& program, Action* action) {
  const Command command = program.add_command("sample", "sample mini-batches and write them as .npz files");
  auto arguments = std::make_shared<SampleArguments>();
  SampleRequest& request = arguments->request;
  command.add_text("what", &arguments->data, "data set: generator, preset, file or folder",
                   {.value_name = "DATA", .required = true});
  command.add_integer("--epoch", &request.epoch, "which epoch's batches, from 1 [1]");
  command.add_integer("--batches", &request.batches, "how many, from the first of the epoch on [all]");
  command.add_text("--nodes", &request.nodes_file, "sample around these nodes, an id a line [the training nodes]",
                   {.value_name = "FILE"});
  command.add_text("--out", &request.out, "folder to write [nothing is written]", {.value_name = "DIR"});
  command.add_flag("--force", &request.force, "replace batches there");
  command.add_flag("--json", &arguments->json, "results as one JSON object on stdout");
  arguments->flags.add_to(command, {"batch", "data", "train.seed", "train.threads"});
  command.when_chosen([=] { *action = [=] { return run_sample(*arguments); }; });
}

}  // namespace gneiss::app
