#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests scripts/test-results on artificial logs: every kind of program counts, and no failure is lost.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$top/tests/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# counts NAME "PASSED FAILED SKIPPED" STATUS LOG: LOG is what `meson test` would write.
counts()
{
	local said

	printf '%b' "$4" >"$work/log.json"
	echo 'the output of meson' >"$work/out"
	said=$("$top/scripts/test-results" suite "$3" "$work/log.json" "$work/out" 2>"$work/err")
	if [ "$said" = "$2" ]; then
		ok "$1"
	else
		not_ok "$1" "expected $2, got $said" "$(cat "$work/err")"
	fi
}

# program RESULT STDOUT: one line of the log; a \\n in STDOUT is JSON's escape.
program()
{
	printf '%s\\n' "{\"name\": \"a\", \"result\": \"$1\", \"starttime\": 1.0, \"duration\": 1.5, \"stdout\": \"$2\"}" | sed 's/\\n/\\\\n/g; s/\\\\n$/\\n/'
}

counts 'a program without output is one test' '1 0 0' 0 "$(program OK '')"
counts 'a program that fails is one failure' '0 1 0' 1 "$(program FAIL 'some words')"
counts 'a program that hangs is one failure' '0 1 0' 1 "$(program TIMEOUT '')"
counts 'a skipped program is one skip' '0 0 1' 0 "$(program SKIP 'no tool')"
counts 'each test of TAP counts' '2 1 1' 1 \
	"$(program FAIL 'ok 1 - a\nnot ok 2 - b\n# why\nok 3 - c # SKIP no tool\nok 4 - d\n1..4\n')"
counts 'a TAP program that dies is one more failure' '1 1 0' 1 "$(program ERROR 'ok 1 - a\n')"
counts 'each test of cmocka counts' '3 0 0' 0 "$(program OK '[==========] 3 test(s) run.\n[  PASSED  ] 3 test(s).\n')"
counts 'each failure of cmocka counts once' '2 1 0' 1 \
	"$(program FAIL '[  FAILED  ] b\n[  PASSED  ] 2 test(s).\n[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] b\n')"
counts 'programs add up' '2 0 0' 0 "$(program OK '')$(program OK '')"
counts 'a runner that fails without a log is a failure' '0 1 0' 2 ''
counts 'a run without a test is a failure' '0 1 0' 0 ''
tap_done
