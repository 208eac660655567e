#!/bin/bash
# tools/gpu-check, rehearsed without a card: what it packs gives the same bits again, and other bits are found.
#
# usage: gpu_check_test.sh ROOT BUILD
set -Eeuo pipefail
trap 'echo "gpu_check_test.sh: line $LINENO: $BASH_COMMAND"' ERR
root=$1
build=$2
[ -x "$build/bin/gneiss" ] || { echo "the command is not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$root/tools/gpu-check" pack "$work/pack" --build "$build" --cases gcn bf16 gated-mean-loops two-devices two-processes
(cd "$work/pack" && sha256sum --quiet -c SHA256SUMS)
run() { "$work/pack/gpu-check" run --device emulated --seconds 900 --out "$work/$1" --only "${@:2}"; }
stand_in=$build/tests/support/stand_in_nvshmem/libnvshmem_host.so.3
GNEISS_NVSHMEM=/nowhere run first bits cpu faults resume
"$root/tools/gpu-check" report "$work/first" > "$work/report.md"
grep -q '| bits | gcn, not captured | ok |' "$work/report.md"
grep -q '| bits | two-devices, first | ok |' "$work/report.md"
grep -q '| cpu | two-devices | ok |' "$work/report.md"
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
  small() { # OUT STAGE ...
    PATH=$work/bin:$PATH "$work/cards/gpu-check" run --device cuda --small --seconds 600 --out "$work/$1" --only "${@:2}" \
      > "$work/$1.txt" || true
    "$root/tools/gpu-check" report "$work/$1" > "$work/$1.md"
  }
  small faults faults
  for what in 'memory taken' 'a read where' 'the same, every' 'gone on with'; do
    grep -q "^| faults | $what.* | ok" "$work/faults.md" || { cat "$work/faults.md"; exit 1; }
  done

  # Stages that time, on small data: every command that they call, and what is wanted, unjudged. compute-sanitizer runs
  # the command behind its own flags; ncu writes what two steps of two kernels would have.
  mkdir "$work/bin"
  printf '#!/bin/bash\nshift 4\nexec "$@"\n' > "$work/bin/compute-sanitizer"
  cat > "$work/bin/ncu" <<'END'
#!/bin/bash
while [[ $1 == -* ]]; do
  case $1 in
    --log-file) log=$2 ;;
  esac
  case $1 in
    --csv) shift ;;
    *) shift 2 ;;
  esac
done
echo '"ID","Kernel Name","Grid Size","Metric Name","Metric Unit","Metric Value"' > "$log"
id=0
for kernel in spmm adam_update spmm adam_update; do
  id=$((id + 1))
  for metric in gpu__time_duration.sum,ns dram__bytes.sum,byte lts__t_bytes.sum,byte; do
    echo "\"$id\",\"$kernel\",\"(1, 1, 1)\",\"${metric%,*}\",\"${metric#*,}\",\"1,000\"" >> "$log"
  done
done
exec "$@"
END
  chmod +x "$work/bin"/*
  small times bits sanitizer speed starts kernels choices mgg amazon
  if grep '\*\*failed\*\*' "$work/times.md"; then exit 1; fi
  for what in 'bits | tensor cores, twice | ok' 'sanitizer | two-devices, racecheck | ok' 'speed | reddit gat | ok' \
      'speed | ogbn-arxiv own_gatv2 | ok' 'speed | nell gcn | ok' 'starts | goal: Cora.s step, not captured | skipped' \
      'kernels | ogbn-arxiv gat | ok' 'mgg | com-orkut | ok' 'choices | nell --sparse-path | ok' 'amazon | goal: epoch, s | skipped'; do
    grep -q "^| $what" "$work/times.md" || { echo "not there: $what"; exit 1; }
  done
  grep -Eq '^\| reddit (\| [0-9.]+ \([0-9.]+\) ){4}\|$' "$work/times.md"

  # Wrong flags are found.
  sed -i 's/"--num-layers", "3"/"--layers", "3"/' "$work/cards/gpu_check/correct.py"
  sed -i 's/"--eval-every", "2"/"--every", "2"/' "$work/cards/gpu_check/speed.py"
  small flags faults starts
  grep -q '^| faults | memory taken by another process | \*\*failed\*\*' "$work/flags.md"
  grep -q '^| starts | .*--every.* | \*\*failed\*\*' "$work/flags.md"
fi

# What is wanted is judged where a card has run it all: reached, and not reached.
PYTHONDONTWRITEBYTECODE=1 python3 - "$work/pack" <<'END'
import sys

sys.path.insert(0, sys.argv[1])
from gpu_check import goals, speed


class Card:
    judges = True

    def __init__(self):
        self.met = {}
        self.sums = {}

    def note(self, stage, what, ok, **numbers):
        self.met[what] = ok

    keep = note


def met(judge, *args, **more):
    card = Card()
    judge(card, "stage", *args, **more)
    return list(card.met.values())[-1]


assert met(goals.judge_ratios, "best of PyG", {"a": 2, "b": 5})
assert not met(goals.judge_ratios, "best of PyG", {"a": 1.9, "b": 9})  # the least
assert not met(goals.judge_ratios, "best of PyG", {"a": 2, "b": 2.1})  # the mean
assert met(goals.judge_ratios, "best of PyG", {}) is False
assert met(goals.judge_each, "ms", {"a": (1, 2), "b": (2, 2)}) and not met(goals.judge_each, "ms", {"a": (1, 2), "b": (3, 2)})
assert not met(goals.judge_each, "reached", {"a": (0.6, 0.5), "b": (0.6, 0.7)}, most=False)
assert met(goals.judge_bytes, "best of PyG", {"a": 0.5}) and not met(goals.judge_bytes, "best of PyG", {"a": 0.5, "b": 0.7})
assert met(goals.judge, "step", 0.1, most=0.15) and not met(goals.judge, "step", 1.5, least=2)

card = Card()
full = {(data, model): {"edge_index": 20, "expert": 2, "csr": 4} for data in goals.EPOCH_MS for model in ("gcn", "sage", "gin")}
speed.judge_peers(card, full, {("reddit", "gcn"): {"edge_index": 0.1, "csr": 0.7}})
assert card.met["goal: PyG by edge_index"] and card.met["goal: best of PyG"] and card.met["goal: expert"]
assert card.met["goal: best of PyG, GAT"] is False  # not measured
assert card.met["goal: bytes, PyG's default"] and not card.met["goal: bytes, best of PyG"]
far = {"blocking_ms": 4, "direct_ms": 8}
card.sums = {("reddit", "spmm 32 columns"): {"ratio": 1.6}, ("reddit", "far piece 16 32 columns"): {"pipelined_ms": 4, **far},
             ("reddit", "far piece 32 32 columns"): {"pipelined_ms": 3, **far}}
speed.judge_sums(card)  # by the best of the tunings
assert card.met["goal: far rows, blocking"] and card.met["goal: far rows, direct"]
END

sed -i 's/"weights": "....../"weights": "000000/' "$work/pack/expected.json"
if run second bits > "$work/second.txt"; then
  echo "other weights were not found"
  exit 1
fi
grep -q 'FAIL bits' "$work/second.txt"

# A machine without a card: every stage says so, the next one begins, and a table ends it.
if [ ! -e /dev/nvidia0 ]; then
  status=0
  "$work/pack/gpu-check" run --device cuda --seconds 120 --out "$work/none" --only card bits cpu faults resume limits \
    > "$work/none.txt" || status=$?
  [ $status = 1 ] || { echo "no card, and exit status $status"; exit 1; }
  for stage in card bits cpu faults resume limits; do
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
if [ -x "$work/pack/device_sums_bench" ]; then  # where benchmarks are built
  grep -q '^skip exchange *goal: far rows, direct ' "$work/exchange-emulated.txt"
else
  grep -q '^skip exchange *device_sums_bench was not packed' "$work/exchange-emulated.txt"
fi
