// One table for each place where such a construct can stand. The words are those of StarPlat's scanner and of the
// methods that its samples call.
#include "language/foreign.h"

#include <span>

namespace gneiss::language {
namespace {

constexpr std::string_view kTrainAgain = "apply the updates to the data set, then train on what they leave";
constexpr std::string_view kKnownBounds =
    "repeat a known number of times: for i in 0..n { … }; a network has a fixed depth";
constexpr std::string_view kHops = "k layers reach k hops; a level or distance computed beforehand can be a feature";
constexpr std::string_view kWholeProperties =
    "layers have values of all nodes, of all edges, and parameters; at compile time numbers, texts and lists";

constexpr Foreign kDefinitions[] = {
    {"Static", Code::E0612, "functions are the first half of an algorithm on a changing graph", "write 'function'"},
    {"Dynamic", Code::E0612, "functions drive a graph through batches of updates; it does not change in training",
     "write 'function', and train on the graph as it is"},
    {"Incremental", Code::E0612,
     "functions repair a result after edges were added; a graph does not change in training", kTrainAgain},
    {"Decremental", Code::E0612,
     "functions repair a result after edges were deleted; a graph does not change in training", kTrainAgain},
};

constexpr Foreign kStatements[] = {
    {"Batch", Code::E0612, "goes through updates of the graph; it does not change in training", kTrainAgain},
    {"OnAdd", Code::E0612, "reacts to added edges; a graph does not change in training", kTrainAgain},
    {"OnDelete", Code::E0612, "reacts to deleted edges; a graph does not change in training", kTrainAgain},
    {"iterateInBFS", Code::E0613, "visits vertices level by level from a source; a layer computes all of them at once",
     kHops},
    {"iterateInReverse", Code::E0613, "walks the levels of a search back; a layer computes all vertices at once",
     "gradients flow back by themselves; nothing is to be written for them"},
    {"fixedPoint", Code::E0614, "repeats until a property stops changing, so that values would decide how much runs",
     kKnownBounds},
    {"do", Code::E0614, "repeats until a condition fails, so that values would decide how much runs", kKnownBounds},
    {"break", Code::E0614, "ends a loop early; the loops here run to their bounds", "give the loop the bound itself"},
    {"continue", Code::E0614, "skips the rest of a round; the loops here run for all alike",
     "weigh with a value that is 0 where nothing is to be added"},
};

constexpr Foreign kTypes[] = {
    {"updates", Code::E0612, "are changes of the graph; it does not change in training", kTrainAgain},
    {"SetN", Code::E0619, "is a set of vertices; loops run over all vertices, or all neighbours of one",
     "a propNode<float> of zeros and ones, given as a feature, selects some of them"},
    {"SetE", Code::E0619, "is a set of edges; loops run over all edges to a vertex",
     "weigh the edges that do not count by 0"},
    {"nodeMap", Code::E0619, "is a map from vertices; a property is one", "write: propNode<float> name;"},
    {"hashMap", Code::E0619, "is filled while a program runs", kWholeProperties},
    {"hashSet", Code::E0619, "is filled while a program runs", kWholeProperties},
    {"BTree", Code::E0619, "is filled while a program runs", kWholeProperties},
    {"std", Code::E0619, "names containers of C++, which are filled while a program runs", kWholeProperties},
    {"Point", Code::E0619, "is a type of StarPlat's geometric algorithms", kWholeProperties},
    {"Triangle", Code::E0619, "is a type of StarPlat's geometric algorithms", kWholeProperties},
    {"Edge", Code::E0619, "is an edge without a graph", "in a loop over neighbours write: edge e = g.get_edge(u, v);"},
    {"GraphList", Code::E0619, "is a list of graphs; a network is trained on one",
     "give the graph on the command line"},
    {"geomCompleteGraph", Code::E0619, "is made from points while a program runs",
     "give the graph on the command line"},
};

constexpr Foreign kCalls[] = {
    {"updateCSRAdd", Code::E0612, "adds edges; a graph does not change in training", kTrainAgain},
    {"updateCSRDel", Code::E0612, "deletes edges; a graph does not change in training", kTrainAgain},
    {"currentBatch", Code::E0612, "is a batch of updates of the graph; it does not change in training", kTrainAgain},
    {"propagateNodeFlags", Code::E0612, "marks what updates have reached; a graph does not change in training",
     kTrainAgain},
    {"is_an_edge", Code::E0615, "asks for a single edge; a layer computes all edges alike",
     "an edge value brings it to the nodes: sum(…) over in_edges"},
    {"Product", Code::E0617,
     "multiplies over neighbours, which no layer can: sums, maxima and minima are differentiated",
     "for positive values sum logarithms: v.y += log(u.x); then v.y = exp(v.y)"},
    {"Count", Code::E0617, "counts what fulfils a condition; a layer computes all neighbours alike",
     "v.y += 1 counts the neighbours, g.count_inNbrs(v) too"},
    {"Sum", Code::E0617, "stands in StarPlat for a sum over neighbours", "add them up: v.y += …"},
    {"Avg", Code::E0617, "stands in StarPlat for a mean over neighbours",
     "v.y += …; after the loop v.y = v.y / max(g.count_inNbrs(v), 1)"},
};

constexpr Foreign kAtomic = {"atomic", Code::E0620, "orders threads; statements here hold for all vertices at once",
                             "add with '+=', or take Max or Min: no result depends on the number of threads"};
constexpr std::string_view kThreadWords[] = {"lock", "unlock", "barrier", "synchronize"};

const Foreign* find(std::span<const Foreign> table, std::string_view name) {
  for (const Foreign& entry : table) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace

const Foreign* foreign_definition(std::string_view word) { return find(kDefinitions, word); }
const Foreign* foreign_statement(std::string_view word) { return find(kStatements, word); }
const Foreign* foreign_type(std::string_view word) { return find(kTypes, word); }

const Foreign* foreign_call(std::string_view name) {
  if (name.substr(0, 6) == "atomic") return &kAtomic;
  for (const std::string_view word : kThreadWords) {
    if (name == word) return &kAtomic;
  }
  if (name == "Incremental" || name == "Decremental") return foreign_definition(name);
  return find(kCalls, name);
}

}  // namespace gneiss::language
