#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cpus_test.sh RELEASE CAMEO: on 64 CPUs, of 512 possible ones, the agent stays within --memory, with the
# state and rings that each possible CPU needs. The release's kernel is emulated by qemu.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../tap.sh"

release=$1
cameo=$2
limit_mib=145
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# part WORD: prints the output of the machine between the line "== WORD" and the next such line.
part()
{
	sed -n "/^== $1\$/,/^== /{ /^== /d; p }" "$work/out"
}

# Prints the MiB of the agent's processes: each page once, with BPF maps and the rings of events.
# tests/hostile/memory.py measures the same, and explains it.
guest_memory()
{
	cat <<-'EOF'
		maps=$(for f in /proc/$agent/fdinfo/*; do cat $f 2>/dev/null; done | awk '
			/^memlock:/ { bytes = $2 } /^map_id:/ { size[$2] = bytes }
			END { for (id in size) sum += size[id]; print sum }')
		for p in $(ls /proc | grep '^[0-9]'); do
			case $(cat /proc/$p/comm 2>/dev/null) in cameo*) cat /proc/$p/smaps ;; esac
		done | awk -v maps=$maps '
			/^[0-9a-f]+-[0-9a-f]+ / { offset = $3; file = $4 ":" $5; inode = $5; name = $6 }
			/^Size:/ { size = $2 * 1024
				if (name ~ /perf_event/) sum += size
				if (name ~ /bpf-map/ && size == 1048576 && offset == "00000000") sum += size }
			/^Rss:/ { rss = $2 * 1024
				if (name ~ /perf_event|bpf-map/) next
				if (inode == 0) { sum += rss; next }
				key = offset ":" file
				if (rss > shared[key]) shared[key] = rss }
			END { for (key in shared) sum += shared[key]; printf "%.1f\n", (sum + maps) / 1048576 }'
	EOF
}

guest_script()
{
	cat <<-EOF
		echo '== cpus'; cat /sys/devices/system/cpu/online /sys/devices/system/cpu/possible
		echo '== refused'; cameo agent --memory 48M --dir /tmp/w --metrics no 2>&1; echo status \$?
		echo '== agent'
		cameo agent --memory ${limit_mib}M -F 2 --dir /tmp/w --window 2s --metrics no 2>/tmp/err & agent=\$!
		until ls /tmp/w/*.pb.gz >/dev/null 2>&1; do sleep 1; kill -0 \$agent || break; done
		echo '== memory'
		$(guest_memory)
		echo '== end'
		kill -TERM \$agent; wait \$agent; echo status \$?
		cat /tmp/err
	EOF
	echo 'exit 0'
}

has_cpus()
{
	part cpus
	[ "$(part cpus | tr '\n' ' ')" = '0-63 0-511 ' ]
}

# A limit that is too small is refused, with one that is accepted.
is_refused()
{
	part refused
	part refused | grep -q 'too small for 512 possible CPUs: set it to at least [0-9]*M' && part refused | grep -q '^status 1$'
}

is_within()
{
	part memory
	part end
	part end | grep -q '^status [01]$' && part memory | awk -v limit=$limit_mib '{ n++; over += $1 > limit || $1 < 10 } END { exit n != 1 || over }'
}

strip --strip-debug -o "$work/cameo" "$cameo" 2>/dev/null || cp "$cameo" "$work/cameo"
"$here/run" -f "$work/cameo" -c 64 -p 512 "$release" "$(guest_script)" >"$work/out" 2>"$work/err"
case $? in
77)
	skip "$release: the kernel boots" "$(tail -n 1 "$work/err")"
	;;
0)
	check "$release: the machine has 64 CPUs of 512" has_cpus
	check "$release: a limit that is too small is refused" is_refused
	check "$release: the agent exports a window within $limit_mib MiB" is_within
	;;
*)
	not_ok "$release: the kernel boots" "$(tail -n 20 "$work/err")" "$(tail -n 10 "$work/out")"
	;;
esac
tap_done
