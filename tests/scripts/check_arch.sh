#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests scripts/check-arch on trees of one file each.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$top/tests/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# judges FILE TEXT: runs check-arch on a tree of this file.
judges()
{
	rm -rf "$work/tree"
	mkdir -p "$work/tree/$(dirname "$1")"
	printf '%s\n' "$2" >"$work/tree/$1"
	"$top/scripts/check-arch" "$work/tree" >"$work/said"
}

refuses()
{
	if judges "$@"; then not_ok "refuses $2 in $1" 'check-arch found nothing'; else ok "refuses $2 in $1"; fi
}

allows()
{
	if judges "$@"; then ok "allows $2 in $1"; else not_ok "allows $2 in $1" "$(cat "$work/said")"; fi
}

refuses bpf/lib/walk.h 'w->regs[UREG_RSP];'
refuses src/proc/stat.c 'r->rbp = 0;'
refuses src/elf/plt.c 'R_X86_64_JUMP_SLOT'
refuses src/unwind/cfi.c '#ifdef __aarch64__'
allows bpf/lib/walk.h 'w->regs[UREG_SP];'
allows bpf/lib/walk.h '/* rsp points here */'
allows src/proc/stat.c 'puts("rbp");'
allows bpf/arch/x86_64/regs.h 'UREG_RSP'
refuses src/unwind/sweep.c 'nothing'
tap_done
