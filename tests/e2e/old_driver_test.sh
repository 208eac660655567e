#!/bin/bash
# What is said of a driver that is too old for the CUDA of this build, by a driver that has a version and nothing else.
#
# usage: old_driver_test.sh GNEISS COMPILER
set -euo pipefail
gneiss=$1
compiler=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/driver.cc" <<'END'
extern "C" int cuInit(unsigned) { return 0; }
extern "C" int cuDriverGetVersion(int* version) {
  *version = 11040;
  return 0;
}
END
"$compiler" -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$work/libcuda.so.1" "$work/driver.cc"
export LD_LIBRARY_PATH=$work

fail() {
  echo "FAIL: $*"
  cat "$work/output"
  exit 1
}

status=0
"$gneiss" train karate --epochs 1 --no-save --device cuda >"$work/output" 2>&1 || status=$?
[ $status = 2 ] || fail "exit status $status instead of 2"
grep -Eq 'the driver is for CUDA 11\.4, CUDA [0-9.]+ is needed' "$work/output" || fail "versions are not named"
grep -q 'hint: update the driver or use --device cpu' "$work/output" || fail "no remedy is named"

"$gneiss" doctor >"$work/output" 2>&1 || fail "doctor fails"
grep -q 'the driver is for CUDA 11.4' "$work/output" || fail "doctor does not say why there are no cards"

"$gneiss" train karate --epochs 1 --no-save --device auto >"$work/output" 2>&1 || fail "auto does not take the CPU"
echo ok
