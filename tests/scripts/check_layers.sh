#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests scripts/check-layers on small trees that consist of the direction table and a few files.
# shellcheck disable=SC2016 # the back quotes are those of Markdown
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$top/tests/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# plant FILE INCLUDE: makes a tree of the table and this file and runs check-layers on it.
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
allows src/unwind/file_rows.h bpf/shared/unwind_rule.h
allows src/sampler/sampler.c bpf/shared/abi.h
allows src/unwind/walk.c bpf/lib/step.h
allows tests/replay/walk.c bpf/lib/step.h
allows src/cli/record.c agent/agent.h
refuses src/base/vec.c elf/image.h
refuses src/elf/image.c symbol/symbol.h
refuses src/codec/pprof.c agent/agent.h
refuses src/profile/profile.c codec/common/wire.h
refuses src/dwarf/dwarf.c bpf/shared/abi.h
refuses src/elf/image.c bpf/lib/step.h
refuses src/symbol/chain.c unwind/file_rows.h
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

# cycle VERDICT NAME FILE INCLUDE [FILE INCLUDE]...: a tree of these files, each with one include.
cycle()
{
	local verdict=passes expected=$1 name=$2 said

	shift 2
	rm -rf "$work/tree"
	mkdir -p "$work/tree/docs"
	printf '<!-- layers -->\n| `base` | elf |\n| `elf` | base |\n<!-- /layers -->\n' >"$work/tree/docs/ARCHITECTURE.md"
	while [ $# -gt 0 ]; do
		mkdir -p "$work/tree/$(dirname "$1")"
		printf '#include "%s"\n' "$2" >>"$work/tree/$1"
		shift 2
	done
	said=$("$top/scripts/check-layers" "$work/tree" 2>&1) || verdict=fails
	if [ "$verdict" = "$expected" ]; then
		ok "$name"
	else
		not_ok "$name" "it $verdict" "$said"
	fi
}

cycle passes 'accepts a chain of modules' src/base/a.c base/a.h src/base/a.h base/b.h src/base/b.h base/c.h src/base/c.h string.h
cycle fails 'refuses two headers that include each other' src/base/a.h base/b.h src/base/b.h base/a.h
cycle fails 'refuses a cycle through a source file' src/base/a.c base/b.h src/base/b.c base/a.h src/base/a.h x.h src/base/b.h x.h
cycle fails 'refuses a cycle of three' src/base/a.h base/b.h src/base/b.h base/c.h src/base/c.h base/a.h
cycle fails 'refuses a cycle between folders' src/base/a.h elf/a.h src/elf/b.h base/b.h src/elf/a.h x.h src/base/b.h x.h
cycle passes 'accepts modules that use the same one' src/base/a.h elf/c.h src/base/b.h elf/c.h src/elf/c.h x.h
tap_done
