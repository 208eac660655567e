// Parts of the openmp target, a function for each file that it writes.
#pragma once

#include <string>
#include <vector>

#include "synth/names.h"
#include "synth/specification.h"

namespace gneiss::synth::openmp {

/// What the functions below read.
struct Source {
  const Specification& spec;
  const Names& names;

  const ir::Plan& plan() const { return *spec.plan; }
  const ir::Program& program() const { return spec.plan->program; }
  const ir::Placement& place(ir::ValueId v) const { return plan().placements[static_cast<std::size_t>(v)]; }
};

/// `// TITLE` and the namespace around `body`; `headers` are #include lines.
std::string source_file(const std::string& title, const std::string& headers, const std::string& body);

/// The C++ function of a kernel's variant: cpu::spmm, reference::unary<float>.
std::string function_of(const std::string& kernel, const std::string& variant);
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

}  // namespace gneiss::synth::openmp
