#!/bin/bash
# docs/results.md is what bench/results/*.json give. Measuring and rendering are in Python, which building and testing do
# not need: without it this test is skipped.
#
# usage: results_page_test.sh SOURCE
set -euo pipefail
if ! command -v python3 >/dev/null; then
  echo "skipped: no python3"
  exit 77
fi
exec python3 -B "$1/bench/results/render" --check
