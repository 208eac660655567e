// The mpi target: a program for as many ranks as it was written for, processes under mpirun or threads of one process.
//
// Ranks run the same ops, but sizes, places in memory, bands and tiles are those of a rank's part. So each rank has
// sources of its own, which the openmp target writes, and what they share is written once: options, reading the data,
// dealing out the nodes. Kernels, exchanges and sums are those of `gneiss train --ranks`, started in the same order, so
// that losses and weights are equal to the bit.
#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "synth/openmp.h"
#include "synth/target.h"
#include "synth/text.h"

namespace gneiss::synth {
namespace {

using openmp::Source;

int ranks_of(const Source& from) { return static_cast<int>(from.spec.several.ranks.size()); }

std::string shared_header(const Source& from) {
  const Specification& spec = from.spec;
  std::string text = comment(
      "", fmt::format("{} on {}: a training program for {} ranks, written by gneiss {} (gneiss synth --target mpi).",
                      spec.model, spec.data.title, ranks_of(from), spec.version));
  text += R"(//
//   main.cc   options, and the start of the ranks
//   data.cc   reads the data and deals the nodes out
//   rank_0/   what rank 0 runs, and so on:
//     data.cc        takes the rank's part, makes its graphs, lays out memory
//     parameters.cc  first values of the parameters, and how they are saved
//     setup.cc       what is computed once
//     forward.cc     the rank's share of the loss of the training nodes
//     backward.cc    the gradients, summed over the ranks
//     update.cc      a step of the optimizer, the same on all ranks
//     inference.cc   logits without dropout
//     scores.cc      scores and loss of the three parts of all nodes
//     epochs.cc      the loop over epochs
//
// Comments of the form `FILE:LINE` show the line of the model that the code below comes from.
#pragma once

)";
  text += includes({"<cstdint>", "<memory>", "<string>", "<vector>", "", quote("comm/open_sums.h"),
                    quote("data/dataset.h"), quote("kernels/kernel.h"), quote("train/rank_data.h")});
  text += fmt::format(R"(
namespace program {{

using namespace gneiss;
using namespace gneiss::kernels;
using Matrix = MatrixView<float>;
using Indices = MatrixView<std::int32_t>;

inline constexpr int kRanks = {};
)",
                      ranks_of(from));
  text += openmp::class_weights(from) + openmp::settings_struct(from);
  text +=
      R"(/// How the nodes were dealt out.
struct Cut {
  std::vector<std::int64_t> starts;  ///< the first nodes of the parts
  std::uint64_t data_hash = 0;       ///< of what was dealt out
};

/// Reads the data set and renames its nodes, so that parts are runs of them.
/// Errors: kBadData if the data are not those that this program was written for.
Cut load_and_cut(const Settings& settings, int threads, data::Dataset& whole);

// What the ranks run. `keep` holds what other ranks read of a rank's memory.
)";
  for (int rank = 0; rank < ranks_of(from); ++rank) {
    text += fmt::format("namespace {} {{\n", openmp::rank_name(rank)) +
            call("", "void run_epochs",
                 {"const Settings& settings", "const data::Dataset& whole", "train::RankData part", "int threads",
                  "std::shared_ptr<void>* keep"}) +
            "}\n";
  }
  return text + "\n}  // namespace program\n";
}

std::string shared_data(const Source& from) {
  std::string text = "// Reads the data and deals the nodes out.\n";
  std::vector<std::string> headers = {quote("data/data_hash.h"), quote("data/load.h")};
  const bool reorders = from.spec.data.node_order != "none";
  if (reorders) headers.push_back(quote("data/preprocess.h"));
  headers.push_back(quote("gneiss/error.h"));
  if (reorders) headers.push_back(quote("graph/reorder.h"));
  headers.insert(headers.end(), {quote("shared.h"), quote("train/cut_nodes.h")});
  text += includes(headers) + "\nnamespace program {\n\n" + openmp::expect_function() + R"(
Cut load_and_cut(const Settings& settings, int threads, data::Dataset& whole) {
)";
  text += openmp::load_lines(from, "whole");
  return text + fmt::format(
                    "  const std::uint64_t hash = data::data_hash(whole);\n"
                    "  return {{train::cut_nodes(kRanks, {{{}, {{}}}}, threads, &whole).starts, hash}};\n}}\n\n}}  // "
                    "namespace program\n",
                    quote(from.spec.several.cut));
}

std::string shared_main(const Source& from) {
  std::string text = "// Options, and the start of the ranks.\n";
  text +=
      includes({"<algorithm>", "<charconv>", "<cstdio>", "<cstdlib>", "<exception>", "<filesystem>", "<string_view>",
                "<utility>", "", quote("base/hash_bytes.h"), quote("base/parallel.h"), quote("comm/launch.h"),
                quote("comm/loopback.h"), quote("gneiss/error.h"), quote("shared.h"), quote("train/cut_nodes.h")});
  text += "\nnamespace program {\n\n" + openmp::options_source(from);
  text += R"(/// Processes could have been started with anything.
static void agree(comm::Communicator& communicator, const Settings& settings, const data::Dataset& whole,
                  const Cut& cut) {
  const std::string text = settings.data + " " + settings.split + " " + std::to_string(settings.data_seed) + " " +
                           std::to_string(settings.epochs) + " " + std::to_string(settings.seed);
  comm::agree(communicator, "configuration", hash_bytes(text.data(), text.size()));
  comm::agree(communicator, "data set", cut.data_hash);
  comm::agree(communicator, "cut of the graph", train::cut_hash(whole, cut.starts));
}

/// Processes that a launcher started, else threads of this one. Errors: kUsage for another number of processes.
static std::unique_ptr<comm::Ranks> start_ranks() {
  const comm::Launch launch = comm::find_launch();
  if (launch.ranks == 1) return comm::loopback(kRanks);
  if (launch.ranks == kRanks) return comm::make_ranks(kRanks);
  throw Error(ErrorCode::kUsage,
              "this program was written for " + std::to_string(kRanks) + " ranks, " + launch.by + " started " +
                  std::to_string(launch.ranks) + " processes",
              {}, "start as many, or write a program for them with gneiss synth --ranks");
}

static void run(const Settings& settings) {
  if (!settings.out.empty() && std::filesystem::exists(settings.out))
    throw Error(ErrorCode::kUsage, "there is something of this name already", settings.out, "name a new folder");
  std::vector<std::shared_ptr<void>> programs(kRanks);
  const std::unique_ptr<comm::Ranks> ranks = start_ranks();
  const int threads = settings.threads > 0 ? settings.threads : available_threads();
  data::Dataset whole;
  const Cut cut = load_and_cut(settings, threads, whole);
  std::vector<train::RankData> parts(kRanks);
  ranks->run([&](comm::Communicator& communicator) {
    if (ranks->here() < kRanks) agree(communicator, settings, whole, cut);
)";
  text += fmt::format("    train::RankData& part = parts[static_cast<std::size_t>(communicator.rank())];\n{}",
                      call("    ", "part = train::cut_dataset",
                           {"whole", "cut.starts", "communicator", "passes::LossSpec::Kind::" + from.spec.several.loss,
                            from.spec.class_weights.empty() ? "{}" : "kClassWeights"}));
  text += R"(  });
  // Each rank has its own now.
  whole.graph.drop_edges();
  whole.features.drop_values();
  ranks->run([&](comm::Communicator& communicator) {
    const int each = std::max(1, threads / ranks->here());
)";
  for (int rank = 0; rank < ranks_of(from); ++rank) {
    text += fmt::format(
        "    if (communicator.rank() == {0}) {1}::run_epochs(settings, whole, std::move(parts[{0}]), each, "
        "&programs[{0}]);\n",
        rank, openmp::rank_name(rank));
  }
  return text + "  });\n}\n\n}  // namespace program\n\n" + openmp::main_function();
}

std::string epochs_file(const Source& from) {
  return openmp::source_file(from, "The loop over epochs.",
                             includes({"<cmath>", "<cstdio>", "<filesystem>", "<memory>", "<span>", "<utility>", "",
                                       quote("epochs/early_stopping.h"), quote("epochs/schedule.h"),
                                       quote("gneiss/error.h"), quote("program.h")}),
                             openmp::epochs_source(from));
}

}  // namespace

std::vector<SourceFile> emit_mpi(const Specification& specification) {
  GNEISS_ASSERT(!specification.several.ranks.empty(), "a program for ranks has none");
  std::vector<SourceFile> files;
  for (int rank = 0; rank < std::ssize(specification.several.ranks); ++rank) {
    Specification own = specification;
    own.rank = rank;
    own.plan = specification.several.ranks[static_cast<std::size_t>(rank)].plan;
    GNEISS_ASSERT(own.plan->value_bytes == 4 && own.plan->loops.empty(), "programs for ranks are f32, without loops");
    const Names names(own);
    const Source from{own, names};
    if (rank == 0) {
      files = {{"CMakeLists.txt", openmp::build_file(from)},
               {"shared.h", shared_header(from)},
               {"main.cc", shared_main(from)},
               {"data.cc", shared_data(from)}};
    }
    std::vector<SourceFile> sources = openmp::phase_sources(from);
    sources.push_back({"epochs.cc", epochs_file(from)});
    for (SourceFile& source : sources)
      files.push_back({openmp::rank_name(rank) + "/" + source.name, std::move(source.text)});
  }
  return files;
}

}  // namespace gneiss::synth
