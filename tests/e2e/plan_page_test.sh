#!/bin/bash
# The page that walks a model to its plan shows what the command prints: every line of its outputs must be in the output of
# the command with the options that stand above the block.
#
# usage: plan_page_test.sh SOURCE GNEISS
# A block opened by ``` on the line after <!-- output of: OPTIONS --> is compared; the command is the page's first sh block.
# Runs of blanks count as one, "…" stands for lines left out, and a line of the page may be a part of one of the output.
set -uo pipefail
page=$1/docs/from-model-to-plan.md
gneiss=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache  # no calibration: modelled times are by the default rates

command=$(awk '/^```sh$/ { on = 1; next } /^```/ { if (on) exit } on { sub(/^gneiss /, ""); print }' "$page")
awk -v out="$work/block" '
  /^<!-- output of:.*-->$/ {
    options = $0
    sub(/^<!-- output of: */, "", options)
    sub(/ *-->$/, "", options)
    marked = NR
    next
  }
  /^```$/ && marked && marked == NR - 1 { file = sprintf("%s%02d", out, ++count); print options >file; on = 1; next }
  /^```/ { on = 0; next }
  on { print FNR "\t" $0 >file }' "$page"

failures=0
count=0
for block in "$work"/block*; do
  [ -f "$block" ] || continue
  count=$((count + 1))
  options=$(head -1 "$block")
  # shellcheck disable=SC2086 # the words of the page are words of the command
  if ! "$gneiss" $command $options >"$work/out" 2>&1; then
    echo "FAIL: gneiss $command $options"
    tail -5 "$work/out"
    exit 1
  fi
  tail -n +2 "$block" | awk -F'\t' -v options="$options" '
    function plain(text) { gsub(/[ \t]+/, " ", text); sub(/^ /, "", text); sub(/ $/, "", text); return text }
    NR == FNR { lines[++n] = plain($0); next }
    $2 == "…" { next }
    {
      wanted = plain($2)
      for (i = 1; i <= n; ++i) if (index(lines[i], wanted)) next
      printf "FAIL: docs/from-model-to-plan.md:%d: not in the output of %s: %s\n", $1, options, wanted
      bad = 1
    }
    END { exit bad }' "$work/out" - || failures=$((failures + 1))
done
if [ $count -eq 0 ]; then
  echo "FAIL: $page marks no block with <!-- output of: … -->"
  exit 1
fi
[ $failures -eq 0 ] && echo "$count blocks as printed"
exit $((failures > 0))
