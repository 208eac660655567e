#!/bin/bash
# .ci/run skips the tests of the Python package where its packages cannot be had, and fails where a tool of it fails; the
# tools tell the two apart. All that fetches or builds is a fake here.
set -euo pipefail
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# fake FILE LINE...: a script of these lines.
fake() {
  mkdir -p "$(dirname "$1")"
  printf '#!/bin/bash\n' >"$1"
  printf '%s\n' "${@:2}" >>"$1"
  chmod +x "$1"
}

# expect STATUS TEXT NAME COMMAND...: its status, and TEXT in what it says.
expect() {
  local output status=0
  output=$("${@:4}" 2>&1) || status=$?
  [ $status -eq "$1" ] && [[ $output == *"$2"* ]] && return
  echo "FAIL: $3: status $status, expected $1 and '$2': $output"
  failures=$((failures + 1))
}

# A tree in which everything works.
plant() {
  rm -rf "$work/tree"
  mkdir -p "$work/tree/.ci" "$work/tree/tools"
  cp "$source_dir/.ci/run" "$work/tree/.ci/"
  fake "$work/bin/make" 'exit 0'
  fake "$work/tree/tools/make-wheel" 'exit 0'
  fake "$work/tree/tools/check-python" 'echo "checked with ${PARTNERS-all}, $*"'
}
run() { expect "$1" "$2" "$3" env PATH="$work/bin:$PATH" "$work/tree/.ci/run"; }

plant
run 0 'checked with all, ' 'everything works'
fake "$work/tree/tools/make-wheel" 'exit 69'
run 0 'SKIPPED: the tests of Python: what builds the wheel: there is no way to the packages' 'no network'
fake "$work/tree/tools/make-wheel" 'exit 1'
run 1 "'tools/make-wheel --fetch' failed, and not for want of a network" 'an error of make-wheel'
fake "$work/tree/tools/make-wheel" 'no-such-command'
run 1 'not for want of a network' 'a mistake in make-wheel'
plant
fake "$work/tree/tools/check-python" 'exit 1'
run 1 "'tools/check-python --fetch' failed" 'an error of check-python'
fake "$work/tree/tools/check-python" 'exit 69'
run 0 'SKIPPED: the tests of Python: its partners' 'no network for the partners'
fake "$work/tree/tools/check-python" '[ -n "${PARTNERS:-}" ] || exit 69' 'echo "checked with $PARTNERS"'
run 0 'SKIPPED: the tests of PyTorch and PyG' 'no PyTorch alone'
plant
fake "$work/tree/tools/check-python" '[ "${1:-}" = --fetch ] || exit 5'
run 5 '' 'a test of Python fails'
fake "$work/bin/make" '[ "$1" != wheel ]'
run 1 '' 'the wheel cannot be built'
fake "$work/bin/make" 'exit 2'
run 2 '' 'a test of make check fails'

# A Python with what it takes, and a pip that fails as it is told.
mkdir -p "$work/venv/tools"
cp "$source_dir/tools/python-venv" "$work/venv/tools/"
fake "$work/bin/python-of-test" 'case "$2" in *ensurepip*) ;; *) echo 3.11 ;; esac'
pip=$work/venv/build-python/test-3.11/bin/pip
venv() { expect "$1" "$2" "$3" env PATH="$work/bin:$PATH" "$work/venv/tools/python-venv" test python-of-test one two; }
fake "$pip" 'exit 0'
venv 0 'build-python/test-3.11' 'packages are fetched'
fake "$pip" 'exit 1'
venv 69 'no way to the package index' 'nothing can be fetched'
fake "$pip" '[ "$1" = download ]'
venv 1 'not all of these could be installed: one two' 'a package that does not exist'

# The tools in between pass on what they are told.
for status in 1 69; do
  for tool in make-wheel check-python; do
    cp "$source_dir/tools/$tool" "$work/venv/tools/"
    fake "$work/venv/tools/python-venv" "exit $status"
    expect $status '' "$tool after python-venv's $status" env PYTHON=python-of-test "$work/venv/tools/$tool" --fetch
  done
done

exit $((failures > 0))
