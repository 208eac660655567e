#!/bin/bash
# tools/gpu-check, rehearsed without a card: what it packs gives the same bits again, and other bits are found.
#
# usage: gpu_check_test.sh ROOT BUILD
set -euo pipefail
root=$1
build=$2
[ -x "$build/bin/gneiss" ] || { echo "the command is not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$root/tools/gpu-check" pack "$work/pack" --build "$build" --cases gcn bf16 two-devices two-processes
(cd "$work/pack" && sha256sum --quiet -c SHA256SUMS)
run() { "$work/pack/gpu-check" run --device emulated --seconds 900 --out "$work/$1" --only "${@:2}"; }
stand_in=$build/tests/support/stand_in_nvshmem/libnvshmem_host.so.3
GNEISS_NVSHMEM=/nowhere run first bits cpu faults resume mgg
"$root/tools/gpu-check" report "$work/first" > "$work/report.md"
grep -q '| bits | gcn, not captured | ok |' "$work/report.md"
grep -q '| bits | two-devices, first | ok |' "$work/report.md"
grep -q '| cpu | two-devices | ok |' "$work/report.md"
grep -q '| mgg | com-orkut | ok |' "$work/report.md"
grep -q '| bits | two-processes, nvshmem | skipped |' "$work/report.md"
if [ -e "$stand_in" ]; then
  GNEISS_NVSHMEM=$stand_in run heap bits
  "$root/tools/gpu-check" report "$work/heap" > "$work/heap.md"
  grep -q '| bits | two-processes, nvshmem | ok |' "$work/heap.md"
fi

# Cards that a test describes: devices are on cards of their own and on one; where there is one card, that is skipped.
if [ -x "$build/bin/gneiss_on_test_card" ]; then
  cp -r "$work/pack" "$work/cards"
  cp "$build/bin/gneiss_on_test_card" "$work/cards/gneiss"
  for count in 1 2; do
    TEST_CARD_COUNT=$count "$work/cards/gpu-check" run --device cuda --seconds 120 --out "$work/cards-$count" \
      --only cards > "$work/cards-$count.txt"
  done
  grep -q '^skip cards *this machine has fewer than two cards' "$work/cards-1.txt"
  grep -q '^ok   cards *two-devices cuda  *cards=0,1' "$work/cards-2.txt"
  grep -q '^ok   cards *two-devices cuda:0  *cards=0,0' "$work/cards-2.txt"
  TEST_CARD_COUNT=2 TEST_CARD_APART=all "$work/cards/gpu-check" run --device cuda --seconds 120 --out "$work/apart" \
    --only cards > "$work/apart.txt"
  grep -q '^skip cards *two-devices cuda .*cannot read the memory of' "$work/apart.txt"

  # Faults, whose planted ones this card has by a number of its own.
  cat > "$work/cards/card_faults" <<'END'
#!/bin/bash
[ "$1" = take ] && { echo taken; cat > /dev/null; exit; }
TEST_CARD_FAULT=$CARD_FAULT exec "$(dirname "$0")/gneiss" "$@"
END
  chmod +x "$work/cards/card_faults"
  "$work/cards/gpu-check" run --device cuda --seconds 300 --out "$work/faults" --only faults resume > "$work/faults.txt" ||
    grep -q '^FAIL faults *hidden card' "$work/faults.txt"  # which this card is not
  for what in 'memory taken' 'a read where' 'the same, every' 'gone on with'; do
    grep -q "^ok   faults *$what" "$work/faults.txt"
  done
  sed -i 's/"--num-layers", "3"/"--layers", "3"/' "$work/cards/gpu-check"  # no such flag
  if "$work/cards/gpu-check" run --device cuda --seconds 120 --out "$work/flag" --only faults > "$work/flag.txt"; then
    echo "a wrong flag was not found"
    exit 1
  fi
  grep -q '^FAIL faults *memory taken' "$work/flag.txt"
fi

sed -i 's/"weights": "....../"weights": "000000/' "$work/pack/expected.json"
if run second bits > "$work/second.txt"; then
  echo "other weights were not found"
  exit 1
fi
grep -q 'FAIL bits' "$work/second.txt"

# A machine without a card: every stage says so, the next one begins, and a table ends it.
if [ ! -e /dev/nvidia0 ]; then
  status=0
  "$work/pack/gpu-check" run --device cuda --seconds 120 --out "$work/none" --only card bits cpu faults resume \
    > "$work/none.txt" || status=$?
  [ $status = 1 ] || { echo "no card, and exit status $status"; exit 1; }
  for stage in card bits cpu faults resume; do
    grep -Eq "^FAIL $stage .*(there is no CUDA driver|has no CUDA card|knows no CUDA)" "$work/none.txt" ||
      { echo "$stage does not say that there is no card"; cat "$work/none.txt"; exit 1; }
  done
  grep -q '^[0-9]* failed; results in ' "$work/none.txt"
fi

# Parity, by some of its tests: those of half_kernels are left out, and a program that runs none on the card has failed.
[ -f "$work/pack/spmm_parity_test.gz" ] && [ -f "$work/pack/half_kernels_parity_test.gz" ] || exit 0
if grep -q '^GNEISS_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then exit 0; fi  # whose allocators keep no heap
parity() {
  GTEST_FILTER='*/parallel:DenseKernels.ColumnsAgree' \
    "$work/pack/gpu-check" run --device "$1" --seconds 900 --out "$work/parity-$1" --only parity > "$work/$1.txt" || true
}
parity emulated
grep -q '^ok   parity  *spmm_parity_test  *runs=[1-9]' "$work/emulated.txt"
grep -q '^ok   parity  *graph_kernels_parity_test' "$work/emulated.txt"
grep -q '^FAIL parity  *half_kernels_parity_test  *runs=0' "$work/emulated.txt"
parity spoiled  # one bit of an output
grep -q '^FAIL parity  *spmm_parity_test  *runs=[1-9]' "$work/spoiled.txt"
grep -q '^FAIL parity  *dense_kernels_parity_test' "$work/spoiled.txt"

# Sums on one of several devices likewise.
[ -x "$work/pack/device_exchange_test" ] && [ -x "$work/pack/device_units_test" ] || exit 0
exchange() {
  GTEST_FILTER='DeviceUnits.HaveTheBitsOfVirtualDevicesWhereARowIsNotCut' \
    "$work/pack/gpu-check" run --device "$1" --seconds 120 --out "$work/exchange-$1" --only exchange \
    > "$work/exchange-$1.txt" || true
}
exchange emulated
grep -q '^ok   exchange *device_units_test  *runs=[1-9]' "$work/exchange-emulated.txt"
grep -q '^FAIL exchange *device_exchange_test  *runs=0' "$work/exchange-emulated.txt"
