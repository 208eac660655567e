// Parts of the openmp target, a function for each file that it writes.
#pragma once

#include <string>
#include <vector>

#include "synth/calls.h"
#include "synth/names.h"
#include "synth/specification.h"
#include "synth/target.h"
#include "synth/text.h"

namespace gneiss::synth::openmp {

/// What the functions below read.
struct Source {
  const Specification& spec;
  const Names& names;
  Space space = Space::kHost;  ///< where the program computes

  bool is_rank() const { return !spec.several.ranks.empty(); }
  bool on_device() const { return space == Space::kDevice; }
  const ir::Plan& plan() const { return *spec.plan; }
  const ir::Program& program() const { return spec.plan->program; }
  const ir::Placement& place(ir::ValueId v) const { return plan().placements[static_cast<std::size_t>(v)]; }
  /// Which rows of a band go first: on one rank there is no exchange that they would wait for.
  ir::RowOrder row_order(const ir::RowBand& band) const {
    return is_rank() ? ir::row_order(plan(), band) : ir::RowOrder::kAny;
  }
};

/// Of a rank's sources, their folder and their namespace.
std::string rank_name(int rank);

/// `// TITLE` and the namespace around `body`; `headers` are #include lines.
std::string source_file(const Source& from, const std::string& title, const std::string& headers,
                        const std::string& body);

/// The C++ function of a kernel's variant that is called: cpu::spmm, reference::unary<float>.
std::string function_of(const Call& call, const std::string& variant);
/// The graph object of a graph of the program.
std::string graph_object(const Source& from, std::int32_t graph);

/// Values that ops name, in the order in which they are made.
std::vector<ir::ValueId> named_values(const Source& from);

std::string program_header(const Source& from);
std::string data_source(const Source& from);
std::string parameters_source(const Source& from);
std::string scores_source(const Source& from);
std::string main_source(const Source& from);
std::string build_file(const Source& from);

/// What a program runs its phases by, without options: a file for each phase and for data, parameters and scores.
std::vector<SourceFile> phase_sources(const Source& from);
/// Those of them that are compiled, without their `.cc`.
std::vector<std::string> phase_names();

// Pieces of the above that programs for several ranks and for devices are laid out from in another way (mpi.cc,
// cuda.cc).

/// The first lines of program.h, up to what the files are.
std::string sizes(const Source& from);
std::string class_weights(const Source& from);
std::string settings_struct(const Source& from);
/// Reads the data set as `whole` is called, and renames its nodes.
std::string load_lines(const Source& from, const std::string& whole);
/// How many rows the loss is taken of, where those were made for it.
std::string loss_row_count(const Source& from);
/// `  expect(WHAT, FOUND, EXPECTED);`
std::string check(const std::string& what, const std::string& found, const std::string& expected);
/// `  const ERROR if found is not expected`: the function that these lines call.
std::string expect_function();
/// Options of the command line, into Settings.
std::string options_source(const Source& from);
/// What an ir::Init of a parameter is.
std::vector<Field> init_fields(const ir::Init& init);
/// A member for each value that has a place, with its shape.
std::string value_members(const Source& from);
/// `struct Scores`, which an evaluation returns.
std::string scores_struct();
/// The loop over epochs and what it needs.
std::string epochs_source(const Source& from);
std::string main_function();

}  // namespace gneiss::synth::openmp
