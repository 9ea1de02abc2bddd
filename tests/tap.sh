# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What a test in shell reports with: the Test Anything Protocol, which Meson
# reads (protocol: 'tap') and ./test adds up. Source it, call ok, not_ok or skip
# once for each test, and tap_done at the end.

tap_n=0

ok()
{
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1"
}

# not_ok NAME WHY...: each further word is a line of its own, and may hold lines.
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

# check NAME COMMAND...: the test is that the command succeeds; what it says is the reason if not.
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
