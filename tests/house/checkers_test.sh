#!/bin/bash
# The checkers of the house must catch what they are there for: each case plants one violation in a small tree of its own
# and expects it to be named; a clean tree must pass.
set -euo pipefail
source_dir=$1
compiler=${2:-c++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# The smallest tree that is in order.
plant() {
  rm -rf "$work/tree"
  mkdir -p "$work/tree"/{src/base,src/graph,src/data,src/train,src/kernels/cuda,include/gneiss,apps/gneiss}
  printf '// Errors.\n#include "gneiss/error.h"\n' >"$work/tree/src/base/error.h"
  printf '// Graphs.\n#include <vector>\n\n#include "base/error.h"\n' >"$work/tree/src/graph/graph.h"
  printf '// Errors.\n#include <string>\n' >"$work/tree/include/gneiss/error.h"
  printf '// The command.\n#include "gneiss/error.h"\n' >"$work/tree/apps/gneiss/main.cc"
  cp "$source_dir/.clang-format" "$work/tree/"
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
violation check-includes src/graph/graph.cc '#include <cuda_runtime.h>' ':1: <cuda_runtime.h>: headers of CUDA belong'
violation check-includes src/base/x.cc '#include "graph/graph.h"' 'src/base/x.cc:1: "graph/graph.h": base (level 0)'
violation check-includes src/graph/x.cc '#include "ir/program.h"' 'graph (level 1) may not include ir (level 1)'
violation check-includes src/data/x.h '#include "train/session.h"' 'data (level 4) may not include train'
violation check-includes src/data/x.h '#include <nlohmann/json.hpp>' 'slow to compile'
violation check-includes src/data/x.h '#include "csr.h"' 'rooted at src/'
violation check-includes src/data/x.h '#include "../base/error.h"' 'rooted at src/'
violation check-includes src/train/x.cc '#include "gneiss/train.h"' 'only src/api'
violation check-includes src/train/x.cc '#if defined(GNEISS_MPI)' 'condition on CUDA or MPI'
violation check-includes src/data/x.cc 'f(available_threads());' 'asks how many processors there are'
violation check-includes src/runs/x.cc 'f(std::thread::hardware_concurrency());' ''
violation check-includes src/novel/x.h '#include <vector>' 'has no level'
violation check-includes apps/gneiss/x.cc '#include "base/error.h"' 'sees only include/gneiss'
violation check-includes include/gneiss/x.h '#include <fmt/format.h>' 'only the standard library'
violation check-includes include/gneiss/x.h '#include "base/error.h"' 'only the standard library'

# The words are assembled here so that this file passes its own check.
violation check-tree src/base/x.cc "// TO""DO tidy" 'work left open'
violation check-tree src/base/x.cc "// see /ho""me/someone/notes" 'path of one machine'
violation check-tree src/base/x.cc "// from https://py""pi.org/simple" 'package host'
violation check-tree src/base/x.cc '__builtin_prefetch(x);' 'prefetch(), of base/prefetch.h'
violation check-tree src/base/x.cc 'int x;' 'src/base/x.cc: opens with a comment'
violation check-tree apps/gneiss/x.h '#include <vector>' 'apps/gneiss/x.h: opens with a comment'
violation check-tree src/base/x.h "// $(printf 'a%.0s' {1..118})" 'src/base/x.h:1: over 120 columns'
violation check-tree bindings/python/x.py "# $(printf 'a%.0s' {1..119})" 'bindings/python/x.py:1: over 120 columns'
violation check-tree src/base/x.h "// $(printf 'ä%.0s' {1..117})" ''
if command -v clang-format >/dev/null; then
  violation check-tree tests/unit/x.cc 'int   x;' 'tests/unit/x.cc: clang-format would change it'
  violation check-tree tests/unit/x.cc 'int x;' ''
fi
plant
head -c 500000 /dev/zero >"$work/tree/src/base/big.bin"
expect check-tree 'src/base/big.bin: larger than 400 kB'

# Pages: lengths, widths, and links with their anchors.
plant && expect check-pages ''
plant
seq 151 >"$work/tree/README.md"
expect check-pages 'README.md: 151 lines, more than 150'
plant
seq 251 >"$work/tree/ARCHITECTURE.md"
expect check-pages 'ARCHITECTURE.md: 251 lines, more than 250'
plant
mkdir "$work/tree/docs"
seq 201 >"$work/tree/docs/performance.md"
expect check-pages 'docs/performance.md: 201 lines, more than 200'
plant
{ seq -s '' 100; } >"$work/tree/README.md"
expect check-pages 'README.md:1: 192 columns, more than 120'
violation check-pages README.md 'ä, ö and ü are a column each: äääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääää' ''
violation check-pages README.md 'see [there](docs/none.md)' "README.md:1: link to 'docs/none.md', which is not there"
violation check-pages README.md 'see [there](#nowhere)' "README.md:1: link to '#nowhere': the page has no such heading"
violation check-pages README.md '`x[i](j)` is no link, [this](https://example.org) is not ours' ''
plant
printf '# Two words\n\nsee [there](#two-words)\n' >"$work/tree/README.md"
expect check-pages ''

# The page of ops: one that is not current, and an op that it could not name.
ops_page() {
  local output status=0
  output=$("$source_dir/tools/make-ops-page" --check "$work/tree" 2>&1) || status=$?
  if [ $status -ne 1 ] || [[ $output != *"$1"* ]]; then
    echo "FAIL: make-ops-page (status $status) did not say '$1': $output"
    failures=$((failures + 1))
  fi
}
ops_tree() {
  plant
  mkdir -p "$work/tree/src/ir" "$work/tree/docs"
  cp "$source_dir"/src/kernels/*.h "$work/tree/src/kernels/"
  cp -r "$source_dir/src/kernels/cuda" "$work/tree/src/kernels/"
  cp "$source_dir/src/ir/ops.def" "$work/tree/src/ir/"
  cp "$source_dir/docs/ops.md" "$work/tree/docs/"
}
ops_tree
"$source_dir/tools/make-ops-page" --check "$work/tree" || { echo "FAIL: the page of ops is not current"; failures=$((failures + 1)); }
ops_tree
rm "$work/tree/src/kernels/cuda/spx_gemm.cc"
ops_page 'no src/kernels/cuda/spx_gemm.cc'
ops_tree
echo 'GNEISS_OP(novel, 1, 1, 1, 0, same_shape)' >>"$work/tree/src/ir/ops.def"
ops_page "op 'novel' has no src/kernels/novel.h"
ops_tree
sed -i 's|^/// Multiplies sparse rows|/// Multiplies rows|' "$work/tree/src/kernels/spx_gemm.h"
ops_page 'docs/ops.md is not what'
ops_tree
sed -i 's|^void spx_gemm(|void other(|' "$work/tree/src/kernels/spx_gemm.h"
ops_page 'src/kernels/spx_gemm.h has no contract of spx_gemm()'

# outcome NAME STATUS TEXT COMMAND…: the command ends with STATUS and its output holds TEXT.
outcome() {
  local output status=0
  output=$("${@:4}" 2>&1) || status=$?
  if [ $status -ne "$2" ] || [[ $output != *"$3"* ]]; then
    echo "FAIL: $1 (status $status) did not say '$3': $output"
    failures=$((failures + 1))
  fi
}

# skipped REASON...: a log of CTest in which tests S.0, S.1, … are skipped for these reasons.
skipped() {
  local i=0 reason
  mkdir -p "$work/Testing/Temporary"
  {
    printf '[ RUN      ] S.Runs\n[       OK ] S.Runs (3 ms)\n'
    for reason in "$@"; do
      printf '[ RUN      ] S.%d\nx_test.cc:7: Skipped\n%s\n\n[  SKIPPED ] S.%d (0 ms)\n' $i "$reason" $i
      i=$((i + 1))
    done
    printf '[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] S.0\n'
  } >"$work/Testing/Temporary/LastTest.log"
}
check_skips="$source_dir/tools/check-skips $work"
outcome check-skips 1 'run ctest first' $check_skips
skipped
outcome check-skips 0 'no test was skipped' $check_skips
skipped 'no real data: planetoid_cora' 'no real data: flickr' 'there is no clang++'
outcome check-skips 0 '2 skipped: no real data: flickr; no real data: planetoid_cora' $check_skips
outcome check-skips 0 'S.2' $check_skips
skipped 'there is no clang++' 'there is no clang++'
outcome check-skips 1 'at most 1 tests may be skipped' $check_skips
printf '1/2 Testing: house.x\n1/2 Test: house.x\nskipped: no python3\n' >>"$work/Testing/Temporary/LastTest.log"
outcome check-skips 1 '    house.x' $check_skips
skipped 'no real data: flickr' 'this is hard'
outcome check-skips 1 'S.1 may not be skipped: this is hard' $check_skips
skipped 'memory is not counted under a sanitizer'
outcome check-skips 1 'S.0 may not be skipped' $check_skips
outcome check-skips 0 '1 skipped' $check_skips --sanitized
skipped 'a sanitizer has its own allocator'
outcome check-skips 1 'S.0 may not be skipped' $check_skips
outcome check-skips 0 '1 skipped' $check_skips --sanitized

# check-toys must notice a patch that no longer fits and one that touches a file that ARCHITECTURE.md does not name.
toys_tree() {
  rm -rf "$work/toys"
  mkdir -p "$work/toys/tests/house"
  cp -r "$source_dir/src" "$source_dir/ARCHITECTURE.md" "$work/toys/"
  cp -r "$source_dir/tests/house/toys" "$work/toys/tests/house/"
}
toys_tree
outcome check-toys 0 'three toys fit' "$source_dir/tools/check-toys" --apply "$work/toys"
sed -i '/src\/passes\/gradients.cc/d' "$work/toys/ARCHITECTURE.md"
outcome check-toys 1 'touches src/passes/gradients.cc' "$source_dir/tools/check-toys" --apply "$work/toys"
toys_tree
sed -i 's/GNEISS_OP(tanh/GNEISS_OP(than/' "$work/toys/src/ir/ops.def"
outcome check-toys 1 'op.patch does not fit' "$source_dir/tools/check-toys" --apply "$work/toys"

# must_not_compile.sh must notice a wrong form that compiles, one that fails for another reason, and a wrong right form.
wrong_form() { # HEADER BODY
  printf '// wrong: WRONG: %s\n%s\n#ifdef WRONG\n%s\n#endif\n' "$1" "${3:-int f();}" "$2" >"$work/form.cc"
}
must_not_compile="$source_dir/tests/house/must_not_compile.sh $work/form.cc $compiler -std=c++20"
wrong_form 'conversion' 'int* g() { return 1.5; }'
outcome must_not_compile 1 'fails for another reason' $must_not_compile
wrong_form 'cannot convert|cannot initialize' 'int* g() { return 1.5; }'
outcome must_not_compile 0 '1 wrong forms were refused' $must_not_compile
wrong_form 'cannot convert' 'int g() { return 1; }'
outcome must_not_compile 1 'WRONG compiles' $must_not_compile
wrong_form 'cannot convert|cannot initialize' 'int* g() { return 1.5; }' 'int f() { return x; }'
outcome must_not_compile 1 'the right form does not compile' $must_not_compile
echo 'int f();' >"$work/form.cc"
outcome must_not_compile 1 'no wrong form in it' $must_not_compile

[ $failures -eq 0 ] && echo "all cases as expected"
exit $((failures > 0))
