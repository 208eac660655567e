#!/bin/bash
# Code that must not compile. A source holds the right form, which must compile without a warning, and wrong ones, each
# behind a macro. For every wrong form the source names the macro and an extended regular expression that some line of
# the compiler's complaint matches:
#
#   // wrong: MACRO: EXPRESSION
#
# usage: must_not_compile.sh SOURCE COMPILER [FLAG]...
set -uo pipefail
source=$1
shift

failures=0
fail() { # WHAT OUTPUT
  printf 'FAIL: %s: %s\n%s\n' "$source" "$1" "$2"
  failures=$((failures + 1))
}

output=$("$@" -fsyntax-only -Wall -Wextra -Werror "$source" 2>&1) || fail 'the right form does not compile' "$output"
cases=0
while IFS=: read -r _ macro expression; do
  macro=${macro# }
  cases=$((cases + 1))
  grep -q "ifdef $macro\$" "$source" || fail "nothing stands behind $macro" ''
  if output=$("$@" -fsyntax-only "-D$macro" "$source" 2>&1); then
    fail "$macro compiles" ''
  elif ! grep -qE "error: .*(${expression# })" <<<"$output"; then
    fail "$macro fails for another reason than '${expression# }'" "$output"
  fi
done < <(grep -E '^// wrong: [A-Z_]+: .' "$source")
[ $cases -gt 0 ] || fail 'no wrong form in it' ''
[ $failures -eq 0 ] && echo "$cases wrong forms were refused"
exit $((failures > 0))
