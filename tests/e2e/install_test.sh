#!/bin/bash
# Installs into a staged prefix, builds a project of somebody else against it, and runs what came out.
#
# usage: install_test.sh SOURCE BUILD
set -euo pipefail
source_dir=$1
build_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() {
  "$@" >"$work/output" 2>&1 || { echo "FAIL: $*"; tail -30 "$work/output"; exit 1; }
}

run cmake --install "$build_dir" --prefix "$work/prefix"
run cmake -S "$source_dir/tests/e2e/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Debug
run cmake --build "$work/build"
run "$work/build/through_api"
run "$work/build/through_arrays"
run "$work/build/through_model"
run "$work/build/through_kernels"
run "$work/build/two_routes"
run "$work/prefix/bin/gneiss" --version

# A written program with loops for cards: nvcc compiles them where the package has CUDA.
if grep -rq 'set(gneiss_HAS_CUDA ON)' "$work/prefix" --include=gneissConfig.cmake; then
  run "$work/prefix/bin/gneiss" synth karate --model "$source_dir/tests/synth/models/gated_mean.gneiss" --target cuda \
    --jit --epochs 2 -o "$work/program"
  run cmake -S "$work/program" -B "$work/program/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DCMAKE_CUDA_FLAGS=-Werror=all-warnings
  run cmake --build "$work/program/build"
  [ -f "$work/program/build/CMakeFiles/train.dir/loops.cu.o" ] || { echo "FAIL: nvcc compiled no loops"; exit 1; }
  run "$work/program/build/train" --device emulated
  status=0
  "$work/program/build/train" --device cuda:999 2>"$work/output" || status=$?
  [ $status = 2 ] && grep -q 'hint: .*--device emulated' "$work/output" || { cat "$work/output"; exit 1; }
fi

# Nothing of the installed package may lead back to where it was built.
if grep -rlF -e "$source_dir" -e "$build_dir" "$work/prefix/lib"/*/cmake "$work/prefix/lib/cmake" 2>/dev/null; then
  echo "FAIL: the package names the folders that it was built in"
  exit 1
fi
echo ok
