#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kernel_test.sh SUITE CAMEO CHAIN...: the kernel of that Debian suite boots under
# qemu, takes our BPF programs, and each CHAIN (tests/vm/chain.c, static, compiled
# in different ways) is recorded in it with its whole stack. Most of the time is the
# verifier's, so few recordings do for many tests.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../tap.sh"

suite=$1
cameo=$2
shift 2
chains=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The part of the machine's output that follows the line "== WORD", to the next such line.
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
	# a CPU goes and comes back while it records; then something that runs there only
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

# How many samples of a program there are in spin, and how many of them show the whole chain.
# (Starting up takes so long under emulation that it has samples of its own.)
count()
{
	awk -v begin="^$1;" '$0 !~ begin { next }
		/;spin(;| )/ { total += $NF }
		/;_start;.*;main;chain_a;chain_b;chain_c;spin(;| )/ { whole += $NF }
		END { print total + 0, whole + 0 }'
}

# Where others have the CPU the machine misses ticks: so it may be few samples, of which three
# never decide.
recorded()
{
	local chain=$1 name total whole wrong

	name="$suite: $chain is recorded with its whole stack"
	read -r total whole < <(part chains.folded | count "$chain")
	wrong=$((total - whole))
	if [ "$total" -ge 20 ] && { [ "$wrong" -le 3 ] || [ $((wrong * 100)) -le "$total" ]; }; then
		ok "$name"
	else
		not_ok "$name" "$whole of $total samples in spin" "$(part chains.stderr)" \
			"$(part chains.folded | sort -t' ' -k2 | head -n 20)"
	fi
}

# The recording ended well, and has what ran on the CPU after it came back.
hotplugged()
{
	part hotplug
	[ "$(part hotplug | head -n 1)" = 'status 0' ] && [ "$(part hotplug | sed -n 2p)" -gt 0 ]
}

# A sleep of three seconds has been so long off the CPU, where it was waited for.
slept()
{
	part off
	part off.stderr
	part off | grep -q '^status 0$' &&
		part off | awk '/nanosleep_\[k\]/ { ns += $NF } END { exit !(ns > 2.97e9 && ns < 3.5e9) }'
}

# A tracepoint and a function, each as often as they were met.
probed()
{
	part probes
	part probes | grep -q ' 1 samples of sched:sched_process_exec, 1 samples of uprobe:.*:main$'
}

# A kernel that does all that an agent wants, and a stack that was recorded there.
well()
{
	part doctor
	part doctor | grep -q '^status 0$' && part doctor | grep -q '^ok *self-test'
}

# With the capabilities that it keeps, it sends, and ends well.
agent_runs()
{
	part agent
	part agent | grep -q '^strict 0$' && part agent | grep -q '^status 0$' && part agent | grep -q '^CapPrm:.000001c400084004$'
}

# its debug information is not read, and as large as all the rest of the machine
strip --strip-debug -o "$work/cameo" "$cameo" 2>/dev/null || cp "$cameo" "$work/cameo"
files=(-f "$work/cameo")
for chain in "${chains[@]}"; do
	files+=(-f "$chain")
done
boot()
{
	"$here/run" "${files[@]}" "$suite" "$(guest_script)" >"$work/out" 2>"$work/err"
	status=$?
}

# what dies before it runs anything of ours says nothing of us
for _ in 1 2 3; do
	boot
	[ "$status" -eq 78 ] || break
done
if [ "$status" -eq 78 ] && [ "$suite" = sid ]; then
	# the newest kernel and this release's emulator need not know each other
	status=77
	echo 'it dies in this emulator before it runs anything' >>"$work/err"
fi
case $status in
77)
	skip "$suite: the kernel boots" "$(tail -n 1 "$work/err")"
	;;
0)
	check "$suite: $(part kernel | head -n 1) boots and has its BTF" grep -q '^/sys/kernel/btf/vmlinux$' "$work/out"
	for chain in "${chains[@]##*/}"; do
		recorded "$chain"
	done
	check "$suite: time off the CPU is told" slept
	check "$suite: samples of a tracepoint and of a function" probed
	check "$suite: the doctor finds nothing missing" well
	check "$suite: an agent runs with few privileges" agent_runs
	check "$suite: a CPU may go offline and come back" hotplugged
	check "$suite: the kernel has nothing to complain of" test -z "$(part oops)"
	;;
*)
	not_ok "$suite: the kernel boots" "$(cat "$work/out" "$work/err")"
	;;
esac
tap_done
