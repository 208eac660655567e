// libmetis is loaded when it is first needed, so that one binary runs with and without it. Its ids have 32 or 64 bits,
// which only its header knows: METIS_SetDefaultOptions writes forty of them, and how far it wrote tells.
//
// To make copies few it looks at the neighbours of the neighbours of each node that moves, and on a graph with hubs
// these are most of the nodes. So the objective goes by a measure of that work.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "partition/cuts.h"

namespace gneiss::partition {
namespace {

// Of metis.h, version 5.
constexpr int kOk = 1;
constexpr std::size_t kOptions = 40;
constexpr std::size_t kObjective = 1;  // METIS_OPTION_OBJTYPE
constexpr std::size_t kSeed = 8;       // METIS_OPTION_SEED
constexpr std::size_t kUfactor = 16;   // METIS_OPTION_UFACTOR
constexpr std::int32_t kVolume = 1;    // METIS_OBJTYPE_VOL

using Index = std::int32_t;
using SetDefaults = int (*)(Index*);
using Part = int (*)(Index* nodes, Index* constraints, Index* offsets, Index* neighbours, Index* weights, Index* sizes,
                     Index* edge_weights, Index* parts, float* targets, float* imbalance, Index* options, Index* cut,
                     Index* owners);

struct Metis {
  SetDefaults set_defaults = nullptr;
  Part kway = nullptr;
  Part recursive = nullptr;

  bool is_there() const { return kway != nullptr; }
};

Metis load_metis() {
  void* const library = dlopen("libmetis.so.5", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  Metis metis;
  metis.set_defaults = reinterpret_cast<SetDefaults>(dlsym(library, "METIS_SetDefaultOptions"));
  metis.kway = reinterpret_cast<Part>(dlsym(library, "METIS_PartGraphKway"));
  metis.recursive = reinterpret_cast<Part>(dlsym(library, "METIS_PartGraphRecursive"));
  if (metis.set_defaults == nullptr || metis.kway == nullptr || metis.recursive == nullptr) return {};
  constexpr Index kUntouched = 12345;
  std::array<Index, 2 * kOptions> options{};
  options.fill(kUntouched);
  metis.set_defaults(options.data());
  return options[kOptions] == kUntouched ? metis : Metis{};
}

const Metis& metis() {
  static const Metis loaded = load_metis();
  return loaded;
}

struct Problem {
  std::vector<Index> offsets;
  std::vector<Index> neighbours;
  std::vector<Index> weights;
};

Problem problem_of(const Neighbours& neighbours, const std::vector<double>& work) {
  constexpr auto kMost = std::numeric_limits<Index>::max();
  const double all = std::accumulate(work.begin(), work.end(), 0.0);
  GNEISS_CHECK(static_cast<double>(neighbours.nodes.size()) < kMost && all < kMost, ErrorCode::kUnsupported,
               "METIS counts to {}, and the graph has {} ends of edges", kMost, neighbours.nodes.size());
  Problem problem;
  problem.offsets.assign(neighbours.offsets.begin(), neighbours.offsets.end());
  problem.neighbours.assign(neighbours.nodes.begin(), neighbours.nodes.end());
  for (const double w : work) problem.weights.push_back(std::max(1, static_cast<Index>(w + 0.5)));
  return problem;
}

/// Every node with an owner, no part empty, the load near to what can be had, fewer edges cut than by chance.
bool good(const Owners& owners, const Neighbours& neighbours, const std::vector<double>& work, int parts) {
  std::vector<double> load(static_cast<std::size_t>(parts));
  std::vector<std::int64_t> nodes(load.size());
  std::int64_t cut = 0;
  for (std::size_t v = 0; v < owners.size(); ++v) {
    if (owners[v] < 0 || owners[v] >= parts) return false;
    load[static_cast<std::size_t>(owners[v])] += work[v];
    ++nodes[static_cast<std::size_t>(owners[v])];
    for (const NodeId u : neighbours.of(static_cast<std::int64_t>(v)))
      cut += owners[static_cast<std::size_t>(u)] != owners[v];
  }
  const bool some_empty = std::find(nodes.begin(), nodes.end(), 0) != nodes.end();
  if (some_empty && static_cast<std::int64_t>(owners.size()) >= parts) return false;
  const double mean = std::accumulate(load.begin(), load.end(), 0.0) / parts;
  const double heaviest = work.empty() ? 0 : *std::max_element(work.begin(), work.end());
  const double least = std::max(mean, heaviest);
  if (*std::max_element(load.begin(), load.end()) > 1.1 * least) return false;
  const double by_chance = static_cast<double>(neighbours.nodes.size()) * (1 - 1.0 / parts);
  return neighbours.nodes.empty() || static_cast<double>(cut) <= 0.95 * by_chance;
}

}  // namespace

bool metis_is_there() { return metis().is_there(); }

double metis_work(const Neighbours& neighbours, int parts) {
  double pairs = 0;
  for (std::int64_t v = 0; v < neighbours.num_nodes(); ++v) {
    const auto degree = static_cast<double>(neighbours.of(v).size());
    pairs += degree * degree;
  }
  return parts * pairs;
}

MetisCut cut_by_metis(const graph::Graph& graph, const Neighbours& neighbours, const CutOptions& options) {
  if (!metis_is_there()) {
    throw Error(ErrorCode::kUnsupported, "libmetis (version 5, 32-bit ids) is not installed", "METIS",
                "install it (Debian: libmetis5), or take another way to cut");
  }
  Index nodes = static_cast<Index>(graph.num_nodes());
  Index parts = options.parts;
  MetisCut made;
  made.owners.assign(static_cast<std::size_t>(nodes), 0);
  if (parts == 1 || nodes == 0) return made;
  const std::vector<double> work = node_work(graph, options);
  Problem problem = problem_of(neighbours, work);
  Index constraints = 1;
  Index cut = 0;
  const auto run = [&](Part function, Index imbalance) {
    std::array<Index, kOptions> settings{};
    metis().set_defaults(settings.data());
    settings[kSeed] = 1;
    settings[kUfactor] = imbalance;
    if (made.few_copies) settings[kObjective] = kVolume;
    const int status =
        function(&nodes, &constraints, problem.offsets.data(), problem.neighbours.data(), problem.weights.data(),
                 nullptr, nullptr, &parts, nullptr, nullptr, settings.data(), &cut, made.owners.data());
    return status == kOk && good(made.owners, neighbours, work, parts);
  };
  made.few_copies = metis_work(neighbours, parts) <= options.most_metis_work;
  if (!made.few_copies) made.remark = "few cut edges, for few copies would take it long";
  for (const Index imbalance : {30, 50, 100, 200}) {  // thousandths
    if (run(metis().kway, imbalance)) return made;
  }
  made.few_copies = false;
  made.remark = "few cut edges by bisection, for no other cut is even";
  if (run(metis().recursive, 10)) return made;
  throw Error(ErrorCode::kUnsupported,
              fmt::format("METIS finds no balanced cut into {} parts that is better than chance", parts), "METIS",
              "take another way to cut, or fewer parts");
}

}  // namespace gneiss::partition
