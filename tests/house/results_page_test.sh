#!/bin/bash
# docs/results.md is what bench/results/*.json give, and so are README's table and its chart. Measuring and rendering are
# in Python, which building and testing do not need: without it this test is skipped.
#
# usage: results_page_test.sh SOURCE
set -euo pipefail
if ! command -v python3 >/dev/null; then
  echo "skipped: no python3"
  exit 77
fi
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -B "$source_dir/bench/results/render" --check

cp "$source_dir/README.md" "$work/"
python3 -B "$source_dir/bench/peers/report" --readme "$work/README.md" --svg "$work/peers.svg"
for pair in README.md:README.md peers.svg:docs/peers.svg; do
  if ! cmp -s "$work/${pair%%:*}" "$source_dir/${pair#*:}"; then
    echo "FAIL: ${pair#*:} is not what bench/results give; run bench/peers/report"
    exit 1
  fi
done
echo "results, README's table and chart are current"
