// Can this plan run at all? Asked of every plan that the pipeline makes.
#pragma once

#include <string>
#include <vector>

#include "ir/plan.h"

namespace gneiss::ir {

/// What is wrong with a plan, one sentence each; empty: nothing is. Of the program, find_defects (ir/verify.h) speaks.
///   Places    every value that an op reads is stored, within its storage, and no value lies where another one is still
///             needed, but for those made in place of an operand or, in a band, of rows that were read before;
///   Scratch   no value that is needed lies where a kernel has its scratch;
///   Bands     steps of a band follow one another and can be cut into its rows; none of them reads all rows of what
///             another one makes, or a sum over the rows;
///   Releases  ids of edges are there as long as steps read them, and so are features.
std::vector<std::string> find_defects(const Plan& plan);

/// Throws kInternal with the first defect.
void verify(const Plan& plan);

}  // namespace gneiss::ir
