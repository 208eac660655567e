// A Plan: a program whose values have places in memory and whose ops have kernels, ready to run or to be written out.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/near.h"
#include "ir/program.h"

namespace gneiss::ir {

/// "setup", "forward", "backward" or "inference".
std::string_view phase_name(Phase phase);

/// Who owns the memory of a value.
enum class Storage : std::uint8_t {
  kNone,       ///< never read; not stored
  kInput,      ///< the dataset
  kParameter,  ///< the flat parameter buffer
  kGradient,   ///< the flat gradient buffer, same offsets as the parameters
  kState,      ///< running statistics
  kConstant,   ///< computed once in the setup phase, kept
  kFile,       ///< likewise, in a file of which memory holds the rows being worked on
  kArena,      ///< shared between values whose lifetimes do not overlap
  kBand,       ///< of each thread, only the band of rows that it works on; shared likewise
  kLoop,       ///< the row of the edge that a loop is at; nothing is stored
};

struct Placement {
  Storage storage = Storage::kNone;
  std::int64_t offset_bytes = 0;  ///< within its storage
  std::int64_t bytes = 0;         ///< in a band: of all rows
};

/// One kernel call.
struct Step {
  std::int32_t op = 0;       ///< index in program.ops
  std::string variant;       ///< chosen kernel
  bool walks_tiles = false;  ///< that kernel goes by the graph's tiles of sources
  double flops = 0;          ///< modelled work
  double bytes = 0;          ///< modelled traffic, each operand once,
  double cached_bytes = 0;   ///< and what of it stays in a cache because its band has to do with it anyway
  double away_bytes = 0;   ///< traffic of other steps since the rest was last made or read: a cache of less has lost it
  double seconds = 0;      ///< modelled time
  std::int32_t band = -1;  ///< index in Plan::bands, or -1: it runs by itself
  std::int32_t loop = -1;  ///< index in Plan::loops, or -1
  std::int64_t band_rows = 0;        ///< rows that it can be cut into, or do behind another kernel; 0: it cannot
  std::int64_t workspace_bytes = 0;  ///< scratch of the call when it runs by itself,
  std::int64_t shared_bytes = 0;     ///< when it is cut into bands,
  std::int64_t task_bytes = 0;       ///< and then of each task
};

/// Consecutive steps that work through the same rows together, a band of rows at a time, while those are in cache. They
/// run in the phase of the first one.
struct RowBand {
  std::int32_t first_step = 0;
  std::int32_t last_step = 0;
  std::int64_t rows = 0;
  std::int64_t tasks = 0;      ///< each worked through by one thread; the cut depends on the data alone
  std::int64_t band_rows = 0;  ///< rows of a band; 0: a chain of a device, one kernel that does what follows its result
  bool streams = false;        ///< it works on rows of values in files: their pages go back with each task
};

/// Consecutive steps that are one loop over the edges of a graph. They have no kernels: their C++ is made from the plan
/// (synth/loops.h) and compiled when the program is written out or, with --jit, when it runs.
struct EdgeLoop {
  std::int32_t first_step = 0;
  std::int32_t last_step = 0;
  std::int32_t graph = 0;
  bool out_edges = false;  ///< row by row of sources; else of destinations
  bool slots = false;      ///< along out-edges, reads what lies in the order of the in-edges
  std::int64_t rows = 0;
  std::int64_t tasks = 0;       ///< each worked through by one thread, about equal in edges
  std::int64_t task_bytes = 0;  ///< of a task's part of the sums over all edges
};

/// The values that a loop has to do with, each once, in the order in which they first appear.
struct LoopValues {
  std::vector<ValueId> reads;   ///< matrices made outside
  std::vector<ValueId> writes;  ///< of nodes or edges, read outside
  std::vector<ValueId> totals;  ///< sums over all edges
  std::vector<ValueId> inside;  ///< rows of the edge at hand
};

/// What is needed of a graph besides its in-edges.
struct GraphUse {
  bool used = false;
  bool transpose = false;       ///< some op runs along out-edges
  bool slots = false;           ///< and reads values of edges, so the transpose has to name their places
  std::int64_t bytes = 0;       ///< of structures made for this run (derived graph, transpose); 0 if only the dataset's
  std::int64_t in_tile = 0;     ///< sources of a tile of the in-edges cut by sources; 0: they are not cut
  std::int64_t out_tile = 0;    ///< the same of the out-edges
  std::int64_t tile_bytes = 0;  ///< of the edges cut by sources, at most
};

/// The edges of a graph cut by sources once more: those alone that end in rows of the loss (walked to these rows, or
/// from them). They are made when the setup phase is through.
struct LossTiles {
  std::int32_t graph = 0;
  bool out_edges = false;  ///< a part of the out-edges; else of the in-edges
  bool sources = false;    ///< the rows of the loss are the sources; else the rows
  std::int64_t edges = 0;  ///< how many
  std::int64_t bytes = 0;  ///< at most
};

/// What a run frees on the way, because nothing reads it again.
enum class Released : std::uint8_t {
  kGivenEdges,    ///< ids and weights of the edges of a given graph, which belong to the data set
  kInEdges,       ///< the same of a graph that was made for the run; its offsets stay
  kOutEdges,      ///< ids and slots of a graph's out-edges
  kFeatures,      ///< the values of the data set's features
  kFeaturePages,  ///< pages of features in a file; reading brings them again
  kArena,         ///< the part of the arena that the setup alone uses
};
/// "given edges", "in-edges", …
std::string_view released_name(Released what);
/// Is it a part of the data set? It is freed only where the run has a data set of its own.
bool is_of_data(Released what);

/// One of them. Ids of edges that are read cut by sources alone are not read in this sense: tiles have their own.
struct Release {
  static constexpr std::int32_t kAtOnce = -2;       ///< when the plan is made; structures are made after that
  static constexpr std::int32_t kBeforeSetup = -1;  ///< when all structures are made
  static constexpr std::int32_t kAfterSetup =
      std::numeric_limits<std::int32_t>::max();  ///< and its results were checked

  Released what = Released::kArena;
  std::int32_t graph = 0;  ///< of edges
  std::int64_t bytes = 0;
  std::int32_t after = kAfterSetup;  ///< the step of the setup phase that is the last to read it, or one of those above
};

/// Into how many tasks a band of `rows` rows is cut: enough for any machine's threads to share evenly, few enough for a
/// partial result each.
std::int64_t band_tasks(std::int64_t rows, std::int64_t band_rows);

/// Scratch of a step of a band.
std::int64_t band_workspace_bytes(const Step& step, std::int64_t tasks);

/// How a pass spent its time and what it decided.
struct PassReport {
  std::string name;
  double milliseconds = 0;
  std::int64_t ops_before = 0;
  std::int64_t ops_after = 0;
  std::vector<std::string> decisions;
};

struct Plan {
  Program program;
  std::int64_t value_bytes = 4;  ///< 4: f32, 8: f64
  std::vector<std::int64_t>
      strides;  ///< per value: elements from a row to the next, where rows lie apart; else 0 (or all: empty)
  std::vector<Placement> placements;    ///< per value
  std::vector<Step> steps;              ///< in running order, all phases
  std::vector<RowBand> bands;           ///< in running order
  std::vector<EdgeLoop> loops;          ///< in running order
  std::vector<GraphUse> graph_uses;     ///< per graph of the program
  std::vector<LossTiles> loss_tiles;    ///< of spmm steps that name rows of the loss
  std::vector<Release> releases;        ///< in the order in which they are due
  Near near;                            ///< how near the ends of edges lie to each other; none: nothing is known
  std::int64_t feature_nonzeros = 0;    ///< stored entries of sparse features
  bool features_kept = false;           ///< the features themselves are read after the setup phase,
  bool features_streamed = false;       ///< from their file, row by row, anew in every sweep
  std::vector<ValueId> file_constants;  ///< results of the setup phase that are kept in a file likewise
  bool feature_transpose = false;       ///< a CSC copy of sparse features is needed
  bool feature_slots =
      false;  ///< it finds values by slots, as they change (dropout); otherwise it has its own copy of them
  std::int64_t feature_transpose_bytes = 0;
  std::int64_t parameter_bytes = 0;
  std::int64_t state_bytes = 0;
  std::int64_t constant_bytes = 0;
  std::int64_t file_bytes = 0;  ///< of constants in a file, which are no memory
  std::int64_t arena_bytes = 0;
  std::int64_t setup_arena_bytes = 0;    ///< of the arena, what the setup phase uses,
  std::int64_t lasting_arena_bytes = 0;  ///< and what the phases after it use; both from its start on
  std::int64_t workspace_bytes =
      0;                        ///< scratch of kernels: the start of the arena, where no value lies while it is in use
  std::int64_t band_bytes = 0;  ///< of each thread, for values that live in a band alone
  std::vector<PassReport> passes;
  std::string fit;  ///< a limit on memory that it was made to fit, how, and what that costs; empty: it is as it would
                    ///< be without

  std::int64_t loss_tile_bytes() const;
  /// Which of loss_tiles an op walks; -1: none.
  std::int32_t loss_tiles_of(const Op& op) const;
  /// When what of a graph is freed; null: never.
  const Release* release_of(Released what, std::int32_t graph = 0) const;
  /// Elements from a row of a matrix to the next.
  std::int64_t stride(ValueId v) const;
  /// What values kept in 16 bits, input features included, would take more as reals.
  std::int64_t bytes_saved_by_halves() const;
  /// Everything the run allocates besides the dataset; parameters count as often as `parameter_copies` says (values,
  /// gradients, optimizer state, best weights).
  std::int64_t total_bytes(int parameter_copies, int threads) const;
  /// Modelled time of the steps of a phase.
  double seconds(Phase phase) const;
};

/// The edges along which a step of a band walks.
struct EdgeWalk {
  std::int32_t graph = 0;
  bool out_edges = false;
};
/// The last walk along edges in a band; tasks are cut about equal in these edges. None: no step of it walks along
/// edges.
std::optional<EdgeWalk> edge_walk(const Plan& plan, const RowBand& band);

/// Which rows of a band go first where it stands beside an exchange between ranks that goes on meanwhile.
enum class RowOrder : std::uint8_t {
  kAny,
  kInteriorFirst,  ///< the exchange is waited for in front of it, and its steps read ghosts at the sources of edges
                   ///< alone: rows and edges of nodes all of whose in-edges come from own nodes can do without
  kGhostsFirst,    ///< what it makes of the ghosts' rows is sent behind it
};
RowOrder row_order(const Plan& plan, const RowBand& band);

/// Is a graph walked, or another one made from it that is?
bool is_made(const Plan& plan, std::size_t graph);

LoopValues values_of(const Plan& plan, const EdgeLoop& loop);

/// The plan as a table: ops in order with variant, bytes and modelled time.
std::string describe(const Plan& plan);

}  // namespace gneiss::ir
