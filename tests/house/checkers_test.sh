#!/bin/bash
# The checkers of the house must catch what they are there for: each case plants one violation in a small tree of its own
# and expects it to be named; a clean tree must pass.
set -euo pipefail
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# The smallest tree that is in order.
plant() {
  rm -rf "$work/tree"
  mkdir -p "$work/tree"/{src/base,src/graph,src/data,src/train,src/kernels/cuda,include/gneiss,apps/gneiss}
  echo '#include "gneiss/error.h"' >"$work/tree/src/base/error.h"
  printf '#include <vector>\n#include "base/error.h"\n' >"$work/tree/src/graph/graph.h"
  echo '#include <string>' >"$work/tree/include/gneiss/error.h"
  echo '#include "gneiss/error.h"' >"$work/tree/apps/gneiss/main.cc"
}

# expect TOOL TEXT: the tool fails on the tree and its output holds TEXT; empty TEXT: it passes.
expect() {
  local output status=0
  output=$("$source_dir/tools/$1" "$work/tree" 2>&1) || status=$?
  if [ -z "$2" ] && [ $status -ne 0 ]; then
    echo "FAIL: $1 on a clean tree: $output"
    failures=$((failures + 1))
  elif [ -n "$2" ] && { [ $status -ne 1 ] || [[ $output != *"$2"* ]]; }; then
    echo "FAIL: $1 (status $status) did not say '$2': $output"
    failures=$((failures + 1))
  fi
}

# case TOOL FILE LINE TEXT
violation() {
  plant
  mkdir -p "$(dirname "$work/tree/$2")"
  printf '%s\n' "$3" >>"$work/tree/$2"
  expect "$1" "$4"
}

plant && expect check-includes ''
plant && expect check-tree ''
violation check-includes src/graph/graph.cc '#include "graph/graph.h"' ''
violation check-includes src/kernels/cuda/spmm.h '#ifdef GNEISS_CUDA' ''
violation check-includes src/base/x.cc '#include "graph/graph.h"' 'src/base/x.cc:1: "graph/graph.h": base (level 0)'
violation check-includes src/graph/x.cc '#include "ir/program.h"' 'graph (level 1) may not include ir (level 1)'
violation check-includes src/data/x.h '#include "train/session.h"' 'data (level 3) may not include train'
violation check-includes src/data/x.h '#include <nlohmann/json.hpp>' 'slow to compile'
violation check-includes src/data/x.h '#include "csr.h"' 'rooted at src/'
violation check-includes src/data/x.h '#include "../base/error.h"' 'rooted at src/'
violation check-includes src/train/x.cc '#include "gneiss/train.h"' 'only src/api'
violation check-includes src/train/x.cc '#if defined(GNEISS_MPI)' 'condition on CUDA or MPI'
violation check-includes src/novel/x.h '#include <vector>' 'has no level'
violation check-includes apps/gneiss/x.cc '#include "base/error.h"' 'sees only include/gneiss'
violation check-includes include/gneiss/x.h '#include <fmt/format.h>' 'only the standard library'
violation check-includes include/gneiss/x.h '#include "base/error.h"' 'only the standard library'

# The words are assembled here so that this file passes its own check.
violation check-tree src/base/x.cc "// TO""DO tidy" 'work left open'
violation check-tree src/base/x.cc "// see /ho""me/someone/notes" 'path of one machine'
violation check-tree src/base/x.cc "// from https://py""pi.org/simple" 'package host'
violation check-tree src/base/x.cc '__builtin_prefetch(x);' 'prefetch(), of base/prefetch.h'
plant
head -c 500000 /dev/zero >"$work/tree/src/base/big.bin"
expect check-tree 'src/base/big.bin: larger than 400 kB'

[ $failures -eq 0 ] && echo "all cases as expected"
exit $((failures > 0))
