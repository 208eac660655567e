// The text form of a program: print(parse(print(p))) equals print(p).
#pragma once

#include <string>
#include <string_view>

#include "ir/program.h"

namespace gneiss::ir {

/// One op a line: `%h.4: node<0>[16] = gemm(%x.0, %W.1) {ta=0} @forward !7:3`. Graphs, parameters and outputs have
/// lines of their own. A place in another text than the model's own is followed by that text's number, `!7:3 in 1`; the
/// number of the layer call is not part of the text.
std::string print(const Program& program);

/// "node<0>[16]", "edge<1>[8]", "[16, 8]", with `sparse` or `index` where so.
std::string print(const Type& type);

/// Reads what print wrote; values are numbered in order of appearance. Errors: kBadData with the line.
Program parse(std::string_view text);

}  // namespace gneiss::ir
