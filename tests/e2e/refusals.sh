#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# refusals.sh CAMEO: what `cameo record` cannot do it says in one line that helps,
# with an exit status to match, and leaves no file behind.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Others than root must be able to start it, wherever the build directory is.
install -m 755 "$1" "$work/cameo"
chmod 755 "$work"
mkdir -m 777 "$work/out"
cd "$work/out" || exit 1
cameo=$work/cameo

# refused NAME STATUS PATTERN COMMAND...: the command must end like this.
refused()
{
	local name=$1 want=$2 pattern=$3 status wrong=()

	shift 3
	timeout 30 "$@" >"$work/stdout" 2>"$work/stderr"
	status=$?
	[ "$status" -eq "$want" ] || wrong+=("exit status $status, not $want")
	[ "$(wc -l <"$work/stderr")" -eq 1 ] || wrong+=('not one line')
	grep -qiE -- "$pattern" "$work/stderr" || wrong+=("nothing like: $pattern")
	[ ! -s "$work/stdout" ] || wrong+=('words on stdout')
	[ -z "$(ls -A .)" ] || wrong+=("a file is left: $(ls -A .)")
	rm -f -- * .[!.]*
	if [ ${#wrong[@]} -eq 0 ]; then
		ok "$name"
	else
		not_ok "$name" "${wrong[@]}" "it said: $(cat "$work/stderr")"
	fi
}

record=("$cameo" record -d 1)
refused 'refuses an unknown suffix' 2 'suffix|format' "${record[@]}" -o x.zip
refused 'refuses a frequency of 0' 2 '-F "0": expected a number of samples per second between 1 and' "${record[@]}" -F 0
refused 'refuses a frequency beyond what the kernel allows' 2 'perf_event_max_sample_rate' "${record[@]}" -F 99999999
refused 'refuses a duration that is not one' 2 '-d "soon": expected a duration' "$cameo" record -d soon
refused 'refuses a negative duration' 2 '-d "-1": expected a duration' "$cameo" record -d -1
refused 'refuses a process id that is not a number' 2 '-p "init": expected process ids' "${record[@]}" -p init
refused 'refuses -p together with a command' 2 'cannot be used together' "${record[@]}" -p 1 -- true
refused 'refuses a command it does not have' 2 'no such command' "$cameo" rekord
refused 'reports what a server requires' 2 '--data DIR' "$cameo" server
mkfifo "$work/fifo"
refused 'has no unwind table of a FIFO' 1 'not a regular file' "$cameo" unwind-info "$work/fifo"
# shellcheck disable=SC2016 # the inner shell's own words
refused 'reports a limit of file size' 1 'cannot write "x.html": File too large' \
	bash -c 'ulimit -f 1; echo "main;work 1" | "$0" convert - x.html' "$cameo"
refused 'has no symbols of a text' 1 'ELF' "$cameo" symbols /etc/passwd 1

unprivileged=()
if [ "$(id -u)" -eq 0 ]; then
	unprivileged=(setpriv --reuid 65534 --regid 65534 --clear-groups)
fi
refused 'reports to a user without privileges that root is required' 1 'root' "${unprivileged[@]}" "${record[@]}" -o x.folded

if [ "$(id -u)" -ne 0 ]; then
	for name in 'no such process' 'no such process, of cameo top' 'no such command' 'a file that is not a program' 'an unwritable place' 'no BTF'; do
		skip "reports: $name" 'needs root'
	done
	tap_done
	exit
fi
sleep 0 &
gone=$!
wait "$gone"
refused 'reports: no such process' 1 "cannot open process $gone: no such process" "${record[@]}" -p "$gone"
refused 'cameo top reports: no such process' 1 "cannot open process $gone" "$cameo" top -p "$gone"
refused 'reports: no such command' 127 'not found|no such file' "${record[@]}" -- "$work/nothing"
refused 'reports: a file that is not a program' 126 'permission|not executable|cannot execute|exec format' \
	"${record[@]}" -- "$work/stderr"
# That it is known before anything is recorded shows in the time: this would take an hour.
refused 'reports: an unwritable place' 1 'no such file or directory|cannot write' "$cameo" record -d 3600 -o "$work/none/x.folded"
# shellcheck disable=SC2016 # the inner shell's own words
refused 'reports: no BTF' 1 'BTF' unshare --mount --propagation unchanged -- \
	sh -c 'mount --make-rprivate /sys && mount -t tmpfs none /sys/kernel/btf && exec "$0" record -d 1' "$cameo"
tap_done
