#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kernel_test.sh RELEASE CAMEO HEAP CHAIN...: the kernel of that Debian release boots under qemu, loads the
# BPF programs, and records complete stack traces of each CHAIN (tests/vm/chain.c, static,
# compiled in different ways), and the allocations of HEAP (tests/programs/native/heap.c). The verifier
# needs most of the time, so several tests share a recording.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../tap.sh"

release=$1
cameo=$2
heap=$3
shift 3
chains=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# part WORD: prints the output of the machine between the line "== WORD" and the next such line.
part()
{
	sed -n "/^== $1\$/,/^== /{ /^== /d; p }" "$work/out"
}

guest_script()
{
	local together

	together=$(printf '%s 5 & ' "${chains[@]##*/}")
	cat <<-EOF
		echo '== kernel'; uname -r; ls /sys/kernel/btf/vmlinux
		cameo record -d 3 -o /tmp/chains.folded -- sh -c '$together wait' 2>/tmp/err
		echo '== chains.stderr'; cat /tmp/err
		echo '== chains.folded'; cat /tmp/chains.folded
		echo '== off'
		cameo record --off-cpu -o /tmp/off.folded -- sleep 3 2>/tmp/err; echo status \$?
		cat /tmp/off.folded
		echo '== off.stderr'
		cat /tmp/err
		echo '== wakers'
		cameo record --off-cpu --wakers -o /tmp/wakers.folded -- \\
			sh -c '(sleep 2; echo x) | (read a; sleep 1)' 2>&1; echo status \$?
		cat /tmp/wakers.folded
		echo '== probes'
		cameo record -e sched:sched_process_exec -e uprobe:/bin/${chains[0]##*/}:main \
			--format folded -o - -- ${chains[0]##*/} 1 2>&1 >/dev/null
		echo '== doctor'
		cameo doctor; echo status \$?
		echo '== agent'
		echo 3 >/proc/sys/kernel/perf_event_paranoid
		cameo agent --dir /tmp/strict --window 2s --metrics no 2>/tmp/err & agent=\$!
		until ls /tmp/strict/*.pb.gz >/dev/null 2>&1; do sleep 1; kill -0 \$agent || break; done
		kill -TERM \$agent; wait \$agent; echo strict \$?
		cat /tmp/err
		echo 2 >/proc/sys/kernel/perf_event_paranoid
		cameo agent --dir /tmp/windows --window 2s --metrics no 2>/tmp/err & agent=\$!
		until ls /tmp/windows/*.pb.gz >/dev/null 2>&1; do sleep 1; kill -0 \$agent || break; done
		grep -E 'Cap(Prm|Bnd)|Seccomp:' /proc/\$agent/status
		kill -TERM \$agent; wait \$agent; echo status \$?
		cat /tmp/err
	EOF
	# The recorder holds more links when the probes are placed.
	cat <<-EOF
		echo '== heap'
		mkfifo /tmp/in; ${heap##*/} </tmp/in >/tmp/truth & pid=\$!; exec 3>/tmp/in
		until grep -q ready /tmp/truth; do sleep 1; done
		cameo record --memory=live --alloc-interval 1K --alloc-share 100 -p \$pid -o /tmp/heap.folded \
			2>/tmp/err & rec=\$!
		links() { ls -l /proc/\$rec/fd 2>/dev/null | grep -c bpf_link; }
		n=0; until n=\$((n + 1)); [ \$(links) -ge 16 ] || ! kill -0 \$rec || [ \$n -gt 120 ]; do sleep 1; done
		echo >&3; until grep -q held /tmp/truth; do sleep 1; done
		kill -INT \$rec; wait \$rec; echo status \$?
		cat /tmp/err /tmp/truth /tmp/heap.folded
	EOF
	echo "echo '== resident'; cameo record --memory -o /tmp/resident.folded -- ${chains[0]##*/} 1 2>&1 >/dev/null"
	# A CPU goes offline and comes back during a recording; then a program runs on that CPU only.
	cat <<-EOF
		echo '== hotplug'
		cpu1=/sys/devices/system/cpu/cpu1/online
		cameo record -a -o /tmp/hotplug.folded 2>/tmp/err & rec=\$!
		events() { ls -l /proc/\$rec/fd 2>/dev/null | grep -c perf_event; }
		until [ \$(events) -ge 4 ]; do sleep 1; done
		echo 0 >\$cpu1
		until [ \$(events) -lt 4 ]; do sleep 1; done
		echo 1 >\$cpu1
		until [ \$(events) -ge 4 ]; do sleep 1; done
		taskset 2 ${chains[0]##*/} 5
		kill -INT \$rec; wait \$rec; echo status \$?
		grep -c '^${chains[0]##*/};.*spin' /tmp/hotplug.folded
		cat /tmp/err
	EOF
	echo "echo '== oops'; dmesg | grep -E 'BUG:|Oops|WARNING:|Call Trace'"
	echo 'exit 0'
}

# count PROGRAM: prints the number of its samples in spin, and how many of them have the complete chain.
# Samples elsewhere do not count: under emulation, even the start of a program has some.
count()
{
	awk -v begin="^$1;" '$0 !~ begin { next }
		/;spin(;| )/ { total += $NF }
		/;_start;.*;main;chain_a;chain_b;chain_c;spin(;| )/ { whole += $NF }
		END { print total + 0, whole + 0 }'
}

# On a busy host the machine misses timer ticks, so there may be few samples. A sixth of them may be
# wrong, but no more than three or one in a hundred.
recorded()
{
	local chain=$1 name total whole wrong

	name="$release: $chain is recorded with its whole stack"
	read -r total whole < <(part chains.folded | count "$chain")
	wrong=$((total - whole))
	if [ "$total" -ge 5 ] && [ $((wrong * 6)) -le "$total" ] &&
		{ [ "$wrong" -le 3 ] || [ $((wrong * 100)) -le "$total" ]; }; then
		ok "$name"
	else
		not_ok "$name" "$whole of $total samples in spin" "$(part chains.stderr)" \
			"$(part chains.folded | sort -t' ' -k2 | head -n 20)"
	fi
}

# The recording succeeded and has samples of the CPU after it came back.
hotplugged()
{
	part hotplug
	[ "$(part hotplug | head -n 1)" = 'status 0' ] && [ "$(part hotplug | sed -n 2p)" -gt 0 ]
}

# A sleep of three seconds is recorded as three seconds off the CPU, in nanosleep.
slept()
{
	part off
	part off.stderr
	part off | grep -q '^status 0$' &&
		part off | awk '/nanosleep_\[k\]/ { ns += $NF } END { exit !(ns > 2.97e9 && ns < 3.5e9) }'
}

# The wait for the pipe is ended by the shell that writes, and a sleep by a timer.
woken()
{
	part wakers
	part wakers | grep -q '^status 0$' &&
		part wakers | awk '/(pipe_read|do_sys_poll)_\[k\]/ && !/nanosleep/ { ns += $NF }
			/(pipe_read|do_sys_poll)_\[k\].*;\[woken by (sh|busybox)\];.*pipe_write_\[k\]/ { right += $NF }
			/nanosleep_\[k\].*;\[woken by interrupt: timer\];/ { timer += $NF }
			END { exit !(ns > 1.5e9 && right > ns * 0.9 && timer > 2.5e9) }'
}

# A tracepoint and a probed function have one sample for each time they were hit.
probed()
{
	part probes
	part probes | grep -q ' 1 sample of sched:sched_process_exec, 1 sample of uprobe:.*:main$'
}

# The bytes of do_keep() are recorded within 10 %; before Linux 5.15, the reason is reported.
heap_recorded()
{
	part heap
	if [ "$release" = bullseye ]; then
		part heap | grep -q 'Linux 5.15 or later'
	else
		part heap | awk '/;do_keep;/ { n += $NF } END { exit !(n > 5.4e6 && n < 6.6e6) }'
	fi
}

# Resident memory is recorded; before Linux 5.11, the reason is reported.
resident_recorded()
{
	part resident
	if [ "$release" = bullseye ]; then
		part resident | grep -q 'Linux 5.11 or later'
	else
		part resident | grep -q 'MiB resident'
	fi
}

# The kernel has everything that an agent needs, and the self-test recorded a stack trace.
well()
{
	part doctor
	part doctor | grep -q '^status 0$' && part doctor | grep -q '^ok *self-test'
}

# The agent exports profiles with its reduced set of capabilities, and exits cleanly.
agent_runs()
{
	part agent
	part agent | grep -q '^strict 0$' && part agent | grep -q '^status 0$' && part agent | grep -q '^CapPrm:.000001c400084004$'
}

# The debug information is not used, and is larger than everything else in the initramfs.
strip --strip-debug -o "$work/cameo" "$cameo" 2>/dev/null || cp "$cameo" "$work/cameo"
files=(-f "$work/cameo" -f "$heap")
for chain in "${chains[@]}"; do
	files+=(-f "$chain")
done
boot()
{
	"$here/run" "${files[@]}" "$release" "$(guest_script)" >"$work/out" 2>"$work/err"
	status=$?
}

# A kernel that dies before it runs the command does not say anything about the program.
for _ in 1 2 3; do
	boot
	[ "$status" -eq 78 ] || break
done
# One that dies later was ended by the program or by the emulator. The program would do so again.
died=
if [ "$status" -ge 125 ]; then
	died=$(printf '%s\n' "status $status" "$(tail -n 20 "$work/err")" "$(tail -n 10 "$work/out")")
	boot
fi
if [ "$status" -eq 78 ] && [ "$release" = sid ]; then
	# The newest kernel may be too new for this release's qemu.
	status=77
	echo "the kernel dies in this version of qemu before it runs anything" >>"$work/err"
fi
case $status in
77)
	skip "$release: the kernel boots" "$(tail -n 1 "$work/err")"
	;;
0)
	check "$release: $(part kernel | head -n 1) boots and has its BTF" grep -q '^/sys/kernel/btf/vmlinux$' "$work/out"
	[ -z "$died" ] || printf '%s\n' "$died" | sed 's/^/# warning: the first machine ended: /'
	for chain in "${chains[@]##*/}"; do
		recorded "$chain"
	done
	check "$release: time off the CPU is recorded" slept
	check "$release: threads that end waits are recorded" woken
	check "$release: a tracepoint and a probed function have samples" probed
	check "$release: heap allocations are recorded, or the reason why not is reported" heap_recorded
	check "$release: resident memory is recorded, or the reason why not is reported" resident_recorded
	check "$release: cameo doctor finds nothing missing" well
	check "$release: an agent runs with few privileges" agent_runs
	check "$release: a CPU can go offline and come back" hotplugged
	check "$release: the kernel reports no error" test -z "$(part oops)"
	;;
*)
	not_ok "$release: the kernel boots" "status $status" "$(tail -n 20 "$work/err")" "$(tail -n 10 "$work/out")" "$died"
	;;
esac
tap_done
