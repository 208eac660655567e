// What the names inside of StarPlat's loops over vertices mean while such a loop is compiled.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "language/source.h"
#include "language/value.h"

namespace gneiss::language {

struct Stmt;

/// Whose value `name.property` is: a vertex outside of the loop over neighbours; there the neighbour, the vertex that
/// it is a neighbour of, or the edge between them.
enum class Role : std::uint8_t { kVertex, kSource, kTarget, kEdge };

/// What a statement in a loop writes.
struct LoopTarget {
  std::string name;
  bool local = false;    ///< a name of the loop, not a property
  bool of_edge = false;  ///< one value for each edge, not for each vertex
  auto operator<=>(const LoopTarget&) const = default;
};

/// A name that is made inside of a loop and gone at its end: `float m = u.x * e.weight;`
struct LoopLocal {
  Value value;
  bool set = false;      ///< false: declared, and nothing written yet
  bool of_edge = false;  ///< made in the loop over neighbours
  const Stmt* declared = nullptr;
};

/// What one statement of a loop over neighbours does with each of them.
struct Update {
  std::string fn;  ///< sum, max, min
  bool negative = false;
  Span span;
};

/// What a loop over neighbours has brought together for one place; visible when the loop is over.
struct Reduction {
  std::string fn;
  Value value;
  bool starts = true;  ///< nothing but neighbours is in it
};

/// A loop over vertices, and the loop over neighbours inside of it.
struct VertexLoop {
  std::int32_t graph = 0;
  std::string vertex;
  std::string neighbour;  ///< empty outside of the loop over neighbours
  std::string along;      ///< what named the neighbours: neighbors, in_neighbors, nodes_to
  std::set<std::string> edges;
  std::map<std::string, LoopLocal> locals;
  std::set<LoopTarget> reduced;  ///< what the loop over neighbours writes for its vertex
  std::map<LoopTarget, Reduction> reductions;

  bool inner() const { return !neighbour.empty(); }
};

}  // namespace gneiss::language
