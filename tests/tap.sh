# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The Test Anything Protocol for tests in shell; Meson reads it (protocol: 'tap') and ./test adds
# the results up. Source this file, call ok, not_ok, skip or check once per test, and tap_done at the end.

tap_n=0

ok()
{
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1"
}

# not_ok NAME REASON...: each REASON starts a new line and may have several.
not_ok()
{
	tap_n=$((tap_n + 1))
	echo "not ok $tap_n - $1"
	shift
	[ $# -eq 0 ] || printf '%s\n' "$@" | head -n 40 | sed 's/^/# /'
}

skip()
{
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1 # SKIP $2"
}

# check NAME COMMAND...: a test that passes if the command succeeds; otherwise its output is the reason.
check()
{
	local name=$1 words

	shift
	if words=$("$@" 2>&1); then
		ok "$name"
	else
		not_ok "$name" "$words"
	fi
}

tap_done()
{
	echo "1..$tap_n"
}
