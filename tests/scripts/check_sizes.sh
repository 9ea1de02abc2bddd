#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests scripts/check-sizes on a tree of one file.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$top/tests/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# judge EXPECTED NAME FILE: standard input becomes FILE; EXPECTED is the output for it.
judge()
{
	local said

	rm -rf "$work/tree"
	mkdir -p "$work/tree/$(dirname "$3")"
	cat >"$work/tree/$3"
	said=$("$top/scripts/check-sizes" "$work/tree" 2>&1)
	if [ "$said" = "$1" ]; then
		ok "$2"
	else
		not_ok "$2" "$said"
	fi
}

# lines N: N lines of code.
lines()
{
	yes $'\tx++;' | head -n "$1"
}

# body N: a function with N lines, after a table that is longer.
body()
{
	printf '%s\n' 'int table[] = {'
	lines 80
	printf '%s\n' '};' 'static int f(int a,' $'\t     int b)' '{'
	lines "$1"
	printf '}\n'
}

judge '' 'accepts a function at the limit' src/a.c < <(body 60)
judge 'src/a.c:84: f() has 61 lines; the limit is 60' 'refuses a longer function' src/a.c < <(body 61)
judge 'tests/a.c:84: f() has 61 lines; the limit is 60' 'refuses a longer function in a test' \
	tests/a.c < <(body 61)
judge '' 'accepts a module at the limit' src/a.c < <(lines 600)
judge 'src/a.c: 601 lines; the limit is 600' 'refuses a longer module' src/a.c < <(lines 601)
judge '' 'accepts a longer test' tests/a.c < <(lines 601)
tap_done
