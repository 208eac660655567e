#!/bin/bash
# Runs the commands that a page shows, so that the page stays true.
#
# usage: readme_test.sh SOURCE GNEISS PAGE
# A block opened by ```sh on the line after <!-- test --> is run; the blocks of a page run in order, in one folder of their own
# that holds what a built checkout holds: build/bin/gneiss, models/, recipes/, examples/. A block must succeed. `cat > FILE` in
# a block makes files that later blocks use.
set -uo pipefail
source_dir=$1
gneiss=$2
page=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/tree/build/bin"
ln -s "$gneiss" "$work/tree/build/bin/gneiss"
for folder in models recipes examples; do
  [ -d "$source_dir/$folder" ] && cp -r "$source_dir/$folder" "$work/tree/$folder"
done

awk -v out="$work/block" '
  /^<!-- test -->[ \t]*$/ { marked = NR; next }
  /^```sh[ \t]*$/ && marked == NR - 1 { block = sprintf("%s%02d.sh", out, ++count); line[block] = NR; print "# line " NR + 1 > block; next }
  /^```/ { block = ""; next }
  block { print > block }
' "$source_dir/$page"

count=0
for block in "$work"/block*.sh; do
  [ -f "$block" ] || continue
  count=$((count + 1))
  place="$page:$(head -1 "$block" | tr -dc 0-9)"
  if ! (cd "$work/tree" && PATH="$work/tree/build/bin:$PATH" bash -euo pipefail "$block" </dev/null >"$work/output" 2>&1); then
    printf 'FAIL: the commands at %s\n' "$place"
    sed 's/^/  $ /' "$block" | tail -n +2
    tail -30 "$work/output"
    exit 1
  fi
  printf 'ok: %s\n' "$place"
done
if [ $count -eq 0 ]; then
  echo "FAIL: $page marks no block with <!-- test -->"
  exit 1
fi
