// The openmp target: scores.cc, main.cc and CMakeLists.txt.
#include <fmt/format.h>

#include <algorithm>

#include "synth/calls.h"
#include "synth/loops.h"
#include "synth/openmp.h"
#include "synth/text.h"

namespace gneiss::synth::openmp {
namespace {

std::string schedule(const Source& from) {
  std::string fields;
  for (const auto& [name, value] : from.spec.epochs.schedule) fields += fmt::format("  config.{} = {};\n", name, value);
  return fields;
}

}  // namespace

/// The logits of all nodes, which every rank sends to rank 0.
static std::string bring_together(const std::string& logits) {
  return fmt::format(R"(/// Logits of all nodes, on rank 0.
static ConstMatrixView<float> bring_together(Program& p) {{
  const auto ranks = static_cast<std::size_t>(p.communicator->ranks());
  const bool first = p.communicator->rank() == 0;
  std::vector<std::int64_t> to_first(ranks + 1, p.part.halo.owned);
  to_first[0] = 0;
  const std::vector<std::int64_t> from_all = first ? p.part.starts : std::vector<std::int64_t>(ranks + 1, 0);
  const std::int64_t cols = p.{0}.cols;
  if (first && p.all_logits.empty()) p.all_logits = Buffer<float>(static_cast<std::size_t>(p.part.nodes() * cols));
  p.communicator->exchange({{std::as_bytes(elements(p.{0})), to_first}},
                           {{std::as_writable_bytes(p.all_logits.span()), from_all}},
                           cols * static_cast<std::int64_t>(sizeof(float)));
  return {{p.all_logits.data(), first ? p.part.nodes() : 0, cols}};
}}

)",
                     logits);
}

std::string scores_source(const Source& from) {
  const std::string logits = from.names.value(from.program().output("logits"));
  const ir::ValueId val_loss = from.program().output("val_loss");
  const std::string loss =
      val_loss == ir::kNoValue ? "kUndefined" : fmt::format("p.{}.at(0, 0)", from.names.value(val_loss));
  const char* const validated = val_loss == ir::kNoValue ? "false" : "!split.val.empty()";
  const std::string whole = from.is_rank() ? "*p.whole" : "p.dataset";
  std::string body = from.is_rank() ? bring_together(logits) : "";
  body += fmt::format(R"(Scores evaluate(Program& p) {{
  static const data::Split split = epochs::labelled_split({});
  static epochs::Evaluator evaluator(epochs::Metric::{}, {}labels, p.threads);
  constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
  infer(p);
)",
                      whole, from.spec.epochs.metric, from.is_rank() ? "p.whole->" : "p.dataset.");
  if (!from.is_rank()) {
    body += fmt::format(R"(  const auto score = [&](const std::vector<NodeId>& nodes) {{
    return nodes.empty() ? kUndefined : evaluator.score(p.{}, nodes);
  }};
  return {{score(split.train), score(split.val), score(split.test), {}, {}}};
}}
)",
                        logits, loss, validated);
  } else {
    body += fmt::format(R"(  const ConstMatrixView<float> logits = bring_together(p);
  const auto score = [&](const std::vector<NodeId>& nodes) {{
    return nodes.empty() || p.communicator->rank() != 0 ? kUndefined : evaluator.score(logits, nodes);
  }};
  double scores[] = {{score(split.train), score(split.val), score(split.test)}};
  comm::share(*p.communicator, scores);
  double loss[] = {{{}}};
  p.communicator->sum(loss);
  return {{scores[0], scores[1], scores[2], loss[0], {}}};
}}
)",
                        loss, validated);
  }
  return source_file(from, "Scores of the training, validation and test nodes.",
                     includes({"<limits>", "", quote("epochs/metrics.h"), quote("program.h")}), body);
}

std::string options_source(const Source& from) {
  std::string text = R"(constexpr const char* kUsage = "train --help lists the options";
constexpr const char* kHelp =
    "usage: train [DATA] [options]\n"
    "  --data DATA     the same as DATA: data of the sizes that this program was written for\n"
    "  --split NAME    which nodes train, validate and test\n"
    "  --data-seed N   seed of splits and generators\n"
    "  --epochs N      most epochs\n"
    "  --seed N        seed of weights and dropout\n"
    "  --threads N     0: all processors allowed; never changes a result\n"
)";
  if (from.on_device())
    text += R"(    "  --device NAME   cuda, cuda:N, or emulated: what a card would compute, on the CPU, slowly\n"
)";
  text += R"(    "  --out FOLDER    a new folder for the weights of the best epoch, model.safetensors\n"
    "  --save FILE     these weights as this file\n";

static std::int64_t number(std::string_view option, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 0) return value;
  const std::string got = "expected a whole number, got '" + std::string(text) + "'";
  throw Error(ErrorCode::kUsage, got, std::string(option), kUsage);
}

static void take(std::string_view option, std::string_view value, Settings& settings) {
  if (option == "--data") {
    settings.data = value;
  } else if (option == "--split") {
    settings.split = value;
  } else if (option == "--out") {
    settings.out = value;
  } else if (option == "--save") {
    settings.save = value;
  } else if (option == "--data-seed") {
    settings.data_seed = static_cast<std::uint64_t>(number(option, value));
  } else if (option == "--epochs") {
    settings.epochs = number(option, value);
  } else if (option == "--seed") {
    settings.seed = static_cast<std::uint64_t>(number(option, value));
  } else if (option == "--threads") {
    settings.threads = static_cast<int>(number(option, value));
)";
  if (from.on_device())
    text += R"(  } else if (option == "--device") {
    settings.device = value;
)";
  text += R"(  } else {
    throw Error(ErrorCode::kUsage, "unknown option '" + std::string(option) + "'", {}, kUsage);
  }
}

/// Options as of `gneiss train`: --name value or --name=value, and the data set without a name.
static Settings read_settings(int argc, char** argv) {
  Settings settings;
  int data_sets = 0;
  for (int i = 1; i < argc; ++i) {
    std::string_view option = argv[i];
    const std::size_t equals = option.find('=');
    const bool joined = option.starts_with("--") && equals != std::string_view::npos;
    if (option == "--help" || option == "-h") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    }
    std::string_view value = joined ? option.substr(equals + 1) : option;
    if (!option.starts_with("-")) {
      option = "--data";
    } else if (joined) {
      option = option.substr(0, equals);
    } else if (i + 1 < argc) {
      value = argv[++i];
    } else {
      throw Error(ErrorCode::kUsage, std::string(option) + " needs a value", {}, kUsage);
    }
    take(option, value, settings);
    data_sets += option == "--data" ? 1 : 0;
  }
  if (data_sets > 1) throw Error(ErrorCode::kUsage, "two data sets are named", settings.data, "name one");
  return settings;
}

)";
  return text;
}

std::string epochs_source(const Source& from) {
  const EpochSpec& epochs = from.spec.epochs;
  const bool rank = from.is_rank();
  const char* const prints = rank ? "if (prints) " : "";
  const std::string value_of_loss = "p." + from.names.value(from.program().output("loss"));
  std::string text = from.on_device() ? "" : R"(/// Weights and states that can be put back.
struct Snapshot {
  explicit Snapshot(const Program& p) : parameters(p.parameters.size()), states(p.states.size()) {}
  void keep(const Program& p) {
    std::copy(p.parameters.begin(), p.parameters.end(), parameters.begin());
    std::copy(p.states.begin(), p.states.end(), states.begin());
  }
  void put_back(Program& p) const {
    std::copy(parameters.begin(), parameters.end(), p.parameters.begin());
    std::copy(states.begin(), states.end(), p.states.begin());
  }

  Buffer<float> parameters;
  Buffer<float> states;
};

)";
  text += R"(static void check_loss(double loss, std::int64_t epoch) {
  if (std::isfinite(loss)) return;
  throw Error(ErrorCode::kNumeric, "the loss is not finite", "epoch " + std::to_string(epoch), "lower the rate");
}

/// Errors: kUsage for a folder that is there; kDisk.
static void save(const Settings& settings, const Program& p, std::int64_t epochs) {
  if (!settings.save.empty()) save_parameters(p, settings.save, epochs);
  if (settings.out.empty()) return;
  std::error_code failure;
  std::filesystem::create_directories(settings.out, failure);
  if (failure) throw Error(ErrorCode::kDisk, "cannot make the folder: " + failure.message(), settings.out);
  save_parameters(p, settings.out + "/model.safetensors", epochs);
}

)";
  if (from.on_device()) {
    text += fmt::format(
        R"(/// Forward, backward and update, recorded as one piece of work when they first run; the update does nothing
/// where the loss is not finite. Returns the loss.
static double step(Program& p, std::uint64_t epoch, double lr) {{
  ++p.step;
  p.send_numbers(runtime::step_numbers(p.seed, epoch, lr, p.step, {}, {}));
  p.recorded_step.run(p.device.get(), p.arena, [&] {{
    forward(p);
    backward(p);
    update(p);
  }});
  return p.read({});
}}

)",
        real(from.spec.optimizer.beta1), real(from.spec.optimizer.beta2), value_of_loss);
  }
  text +=
      rank ? R"(void run_epochs(const Settings& settings, const data::Dataset& whole, train::RankData part, int threads,
                std::shared_ptr<void>* keep) {
  const auto made = std::make_shared<Program>();
  *keep = made;  // others may read what this rank sent until they know that it is lost
  Program& p = *made;
  p.threads = threads;
  p.seed = settings.seed;
  lay_out(whole, std::move(part), p);
  initialize_parameters(p);
  setup(p);
  const bool prints = p.communicator->rank() == 0;
)"
           : R"(static void run(const Settings& settings) {
  if (!settings.out.empty() && std::filesystem::exists(settings.out))
    throw Error(ErrorCode::kUsage, "there is something of this name already", settings.out, "name a new folder");
)" + std::string(from.on_device() ? "  Program p(settings.device);\n" : "  Program p;\n") +
                 R"(  load_and_lay_out(settings, p);
  initialize_parameters(p);
)" + std::string(from.on_device() ? "  p.send_numbers(runtime::step_numbers(p.seed, 0, 0, 0, 0, 0));\n" : "") +
                 "  setup(p);\n";
  text +=
      fmt::format("  constexpr bool kHigherIsBetter = {};\n", epochs.higher_is_better && epochs.monitor == "kMetric");
  text += fmt::format("  epochs::EarlyStopping stopping(epochs::Monitor::{}, {}, {});\n", epochs.monitor,
                      epochs.higher_is_better, epochs.patience);
  text += "  epochs::ScheduleConfig config;\n" + schedule(from);
  text += fmt::format("  epochs::Schedule schedule(config, {}, settings.epochs, kHigherIsBetter);\n",
                      real(from.spec.optimizer.lr));
  text += fmt::format(R"(  Snapshot best(p);
  Scores best_scores;
  std::int64_t best_epoch = 0;
  {}std::printf("epoch\tloss\ttrain\tval\ttest\n");
  for (std::int64_t epoch = 1; epoch <= settings.epochs; ++epoch) {{
)",
                      prints);
  text += rank ? R"(    p.loss_of_all = forward(p, static_cast<std::uint64_t>(epoch));
    const comm::Request sum = p.communicator->start_sum(std::span<double>(&p.loss_of_all, 1));
    backward(p);
    p.communicator->wait(sum);
    const double loss = p.loss_of_all;
    check_loss(loss, epoch);
    update(p, schedule.lr(epoch - 1));
)"
          : from.on_device()
              ? R"(    const double loss = step(p, static_cast<std::uint64_t>(epoch), schedule.lr(epoch - 1));
    check_loss(loss, epoch);
)"
              : R"(    const double loss = forward(p, static_cast<std::uint64_t>(epoch));
    backward(p);
    check_loss(loss, epoch);
    update(p, schedule.lr(epoch - 1));
)";
  text += fmt::format(R"(    {}std::printf("%lld\t%.{}g", static_cast<long long>(epoch), loss);
    const bool last = epoch == settings.epochs;
)",
                      prints, rank ? 17 : 9);  // on ranks a sum of f64
  const std::string due = epochs.eval_every == 1 ? "true" : fmt::format("epoch % {} == 0 || last", epochs.eval_every);
  text += fmt::format("    const bool due = {};\n", due);
  text += R"(    if (due) {
      const Scores scores = evaluate(p);
      if (scores.validated) check_loss(scores.val_loss, epoch);
      const bool better = !scores.validated || stopping.observe(scores.val, scores.val_loss);
      if (better && (scores.validated || last)) {
        best.keep(p);
        best_scores = scores;
        best_epoch = epoch;
      }
)";
  text += fmt::format("      if (scores.validated) schedule.observe({});\n",
                      epochs.monitor == "kMetric" ? "scores.val" : "scores.val_loss");
  text += fmt::format(R"(      {0}std::printf("\t%.4f\t%.4f\t%.4f", scores.train, scores.val, scores.test);
    }}
    {0}std::printf("\n");
    if (stopping.should_stop()) break;
  }}
  best.put_back(p);
)",
                      prints);
  if (rank) text += "  if (!prints) return;\n";
  text +=
      R"(  std::printf("best epoch %lld\t\t%.4f\t%.4f\t%.4f\n", static_cast<long long>(best_epoch), best_scores.train,
              best_scores.val, best_scores.test);
  save(settings, p, best_epoch);
}
)";
  return text;
}

std::string main_function() {
  return R"(int main(int argc, char** argv) {
  try {
    program::run(program::read_settings(argc, argv));
    return 0;
  } catch (const gneiss::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return gneiss::exit_code(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
)";
}

std::string main_source(const Source& from) {
  std::string text = "// Options, and the loop over epochs.\n";
  text += includes({"<charconv>", "<cmath>", "<cstdio>", "<cstdlib>", "<exception>", "<filesystem>", "<string_view>",
                    "", quote("epochs/early_stopping.h"), quote("epochs/schedule.h"), quote("gneiss/error.h"),
                    quote("program.h")});
  return text + "\nnamespace program {\n\n" + options_source(from) + epochs_source(from) +
         "\n}  // namespace program\n\n" + main_function();
}

/// Loops over edges need nothing of the other sources, and options that the bits of their sums depend on.
static std::string loops_in_build() {
  std::string options = kLoopOptions;
  std::replace(options.begin(), options.end(), ' ', ';');
  return fmt::format(R"(target_sources(train PRIVATE loops.cc)
set_source_files_properties(loops.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS "{}")
)",
                     options);
}

/// The same for a card. The emulation's are always made.
static std::string device_loops_in_build() {
  std::string options = kEmulatedLoopOptions;
  std::replace(options.begin(), options.end(), ' ', ';');
  return fmt::format(R"(
# Loops over edges: for the emulation, and by nvcc for cards where Gneiss was built with CUDA.
target_sources(train PRIVATE loops_emulated.cc)
set_source_files_properties(loops_emulated.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
                            COMPILE_OPTIONS "{}")
if(gneiss_HAS_CUDA AND CUDAToolkit_NVCC_EXECUTABLE)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{{CUDACXX}})
    set(CMAKE_CUDA_COMPILER ${{CUDAToolkit_NVCC_EXECUTABLE}})
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual)
  endif()
  enable_language(CUDA)
  target_sources(train PRIVATE loops.cu)
  target_compile_definitions(train PRIVATE PROGRAM_HAS_CUDA)
  set_target_properties(train PROPERTIES CUDA_ARCHITECTURES "${{CMAKE_CUDA_ARCHITECTURES}}")
  set_source_files_properties(loops.cu PROPERTIES COMPILE_OPTIONS "{}")
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 knows the flag only of some releases
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
endif()
)",
                     options, kCardLoopOptions);
}

/// Sources of a build, several a line.
static std::string listed_sources(const Source& from) {
  std::vector<std::string> names = phase_names();
  std::string list = "main.cc";
  if (!from.is_rank()) {
    for (const std::string& name : names) list += fmt::format(" {}.cc", name);
    return list;
  }
  names.emplace_back("epochs");
  list += " data.cc";
  for (int rank = 0; rank < std::ssize(from.spec.several.ranks); ++rank) {
    list += "\n              ";
    for (const std::string& name : names) list += fmt::format(" {}/{}.cc", rank_name(rank), name);
  }
  return list;
}

std::string build_file(const Source& from) {
  const std::string title = comment("", fmt::format("{} on {}, written by gneiss {}. Builds `train`:", from.spec.model,
                                                    from.spec.data.title, from.spec.version));
  return fmt::format(R"(#{}#
#   cmake -S . -B build && cmake --build build && build/train
#
# Where Gneiss is installed under a prefix of its own, add -DCMAKE_PREFIX_PATH=PREFIX.
cmake_minimum_required(VERSION 3.25)
project(train LANGUAGES CXX)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_package(gneiss {} REQUIRED)

add_executable(train {})
target_link_libraries(train PRIVATE gneiss::{})
# The work is done in kernels, which are compiled already: -O1 is as fast as more, and half the time to compile.
target_compile_options(train PRIVATE {})
# All sources as one: most of the compiler's time would go into reading the same headers for each.
set_target_properties(train PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0
                      RUNTIME_OUTPUT_DIRECTORY ${{CMAKE_BINARY_DIR}})
)",
                     title.substr(2), from.spec.version.substr(0, from.spec.version.rfind('.')), listed_sources(from),
                     from.is_rank() ? "ranks" : "kernels",
                     from.on_device() && !from.plan().loops.empty() ? "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-O1>"
                                                                    : "-Wall -Wextra -O1") +
         (from.plan().loops.empty() ? ""
          : from.on_device()        ? device_loops_in_build()
                                    : loops_in_build());
}

}  // namespace gneiss::synth::openmp
