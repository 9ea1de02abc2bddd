#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests scripts/install-packages with a fake apt-get and a fake dpkg-query. Every package that
# the fake apt-get "installs" becomes a line of $work/installed.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$top/tests/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/scripts"
cp "$top/scripts/install-packages" "$top/scripts/lib.sh" "$work/scripts/"
cat >"$work/scripts/packages" <<'END'
build one
build two
build three unless=sh
build four  release=nosuchrelease
build five  optional
build six   optional
test  seven
END

# fake NAME: standard input becomes a program in front of PATH.
fake()
{
	{ echo '#!/bin/bash'; cat; } >"$work/bin/$1"
	chmod +x "$work/bin/$1"
}

fake id <<<'echo 0'
fake dpkg-query <<END
shift 3
for package; do ! grep -qx "\$package" $work/installed || echo "installed \$package"; done
END
fake apt-cache <<END
if [ "\$2" = six ] || [ -e $work/no-lists ]; then echo '  Candidate: (none)'; else echo '  Candidate: 1.0'; fi
END
fake dpkg <<<"echo \"dpkg \$*\" >>$work/calls"
# The first calls of "install" fail with the messages in $work/failures, one per call.
fake apt-get <<END
echo "\$*" | sed 's/.*Use-Pty=0 //' >>$work/calls
[[ "\$*" != *' update' ]] || rm -f $work/no-lists
[[ "\$*" == *' install '* ]] || exit 0
failure=\$(head -n 1 $work/failures)
sed -i 1d $work/failures
if [ -n "\$failure" ]; then
	echo "\$failure"
	[[ \$failure != *partly* ]] || echo one >>$work/installed
	exit 100
fi
printf '%s\n' "\${@##-*}" | grep -xE 'one|two|five|seven' >>$work/installed
END

# run FAILURES KIND...
run()
{
	: >"$work/installed"
	: >"$work/calls"
	printf '%b' "$1" >"$work/failures"
	PATH="$work/bin:$PATH" CAMEO_APT_ATTEMPTS=3 CAMEO_APT_DELAY=0 "$work/scripts/install-packages" "${@:2}" \
		>"$work/out" 2>&1
}

installs()
{
	[ "$(sort -u "$work/installed" | tr '\n' ' ')" = "$1 " ] || { cat "$work/out" "$work/calls"; return 1; }
}

run '' build
check 'installs the packages of a kind whose conditions hold' installs 'five one two'
run '' build test
check 'installs the packages of several kinds' installs 'five one seven two'
run 'E: Could not get lock /var/lib/dpkg/lock-frontend\n' build
check 'retries when another apt holds the lock' installs 'five one two'
check 'reports the reason of a retry' grep -q 'Could not get lock.*retrying' "$work/out"
run 'E: Failed to fetch file:/a.deb\ndpkg: error: cannot access archive\n' build
check 'retries twice when the package cache is cleaned meanwhile' installs 'five one two'
check 'refreshes the package lists before each attempt' test "$(grep -cx update "$work/calls")" -eq 3
run 'E: partly done\n' build
check 'installs only what is still missing' grep -qx 'install --no-install-recommends five two' "$work/calls"
run 'E: dpkg was interrupted, you must manually run dpkg --configure -a\n' build
check 'finishes an interrupted installation' grep -qx 'dpkg --configure -a' "$work/calls"
run 'E: no\nE: no\nE: no\nE: no\n' build
check 'fails after the last attempt' test $? -eq 1
check 'lists the packages that are still missing' grep -q 'failed 3 times .*missing: five one two' "$work/out"
touch "$work/no-lists"
run '' build
check 'installs optional packages on a system that has no package lists yet' installs 'five one two'
run '' --print build
check 'prints the list' test "$(tr '\n' ' ' <"$work/out")" = 'one two five '
check 'calls no apt-get to print the list' test ! -s "$work/calls"
tap_done
