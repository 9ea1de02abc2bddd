#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/check-layers on small trees that hold the table and one planted file.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$top/tests/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# plant FILE INCLUDE: a tree of the table and this file; says what check-layers says of it.
plant()
{
	rm -rf "$work/tree"
	mkdir -p "$work/tree/docs" "$work/tree/$(dirname "$1")"
	cp "$top/docs/ARCHITECTURE.md" "$work/tree/docs/"
	printf '/* a file */\n#include "%s"\n' "$2" >"$work/tree/$1"
	"$top/scripts/check-layers" "$work/tree"
}

allows()
{
	local said

	if said=$(plant "$1" "$2" 2>&1); then
		ok "allows $1 to include $2"
	else
		not_ok "allows $1 to include $2" "$said"
	fi
}

refuses()
{
	local said

	if said=$(plant "$1" "$2" 2>&1); then
		not_ok "refuses $2 in $1" "check-layers found nothing"
	elif [[ $said == "$1:2: "* ]]; then
		ok "refuses $2 in $1"
	else
		not_ok "refuses $2 in $1" "it failed, but said: $said"
	fi
}

allows src/elf/image.c base/err.h
allows src/elf/image.c elf/image.h
allows src/unwind/rows.h bpf/shared/unwind_rule.h
allows src/agent/agent.c bpf/shared/abi.h
allows src/unwind/walk.c bpf/lib/step.h
allows tests/replay/walk.c bpf/lib/step.h
allows src/cli/record.c agent/agent.h
refuses src/base/vec.c elf/image.h
refuses src/elf/image.c symbol/symbol.h
refuses src/codec/pprof.c agent/agent.h
refuses src/profile/profile.c codec/wire.h
refuses src/symbol/elf.c bpf/shared/abi.h
refuses src/elf/image.c bpf/lib/step.h
refuses src/symbol/chain.c unwind/rows.h
refuses src/agent/agent.c cli/cli.h
refuses bpf/sample.bpf.c base/err.h

rm -rf "$work/tree"
mkdir -p "$work/tree/docs" "$work/tree/src/new"
cp "$top/docs/ARCHITECTURE.md" "$work/tree/docs/"
: >"$work/tree/src/new/file.c"
if "$top/scripts/check-layers" "$work/tree" >"$work/said"; then
	not_ok 'refuses a folder that has no row'
else
	check 'refuses a folder that has no row' grep -q '^src/new/file.c: ' "$work/said"
fi
tap_done
