#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/check-spdx on a repository that holds one file.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$top/tests/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# judge VERDICT NAME FILE LINE
judge()
{
	local verdict=passes said

	rm -rf "$work/tree"
	mkdir -p "$work/tree/$(dirname "$3")"
	git -c init.defaultBranch=main init -q "$work/tree"
	printf '%s\n' "$4" >"$work/tree/$3"
	said=$("$top/scripts/check-spdx" "$work/tree" 2>&1) || verdict=fails
	if [ "$verdict" = "$1" ]; then
		ok "$2"
	else
		not_ok "$2" "it $verdict" "$said"
	fi
}

tag='SPDX-License-Identifier'
judge passes 'takes Apache-2.0 in user space' src/a.c "/* $tag: Apache-2.0 */"
judge passes 'takes a line comment' run "# $tag: Apache-2.0"
judge passes 'takes a comment of a page' README.md "<!-- $tag: Apache-2.0 -->"
judge passes 'takes the double licence in bpf' bpf/a.bpf.c "/* $tag: GPL-2.0-only OR BSD-2-Clause */"
judge passes 'leaves licence texts alone' LICENSES/Apache-2.0.txt 'Apache License'
judge passes 'takes the double licence in a BPF program elsewhere' bench/a.bpf.c \
	"/* $tag: GPL-2.0-only OR BSD-2-Clause */"
judge fails 'refuses a file without a line' src/a.c 'int x;'
judge fails 'refuses Apache-2.0 in bpf' bpf/a.bpf.c "/* $tag: Apache-2.0 */"
judge fails 'refuses the double licence in user space' src/a.c "/* $tag: GPL-2.0-only OR BSD-2-Clause */"
judge fails 'refuses half of the double licence' bpf/a.bpf.c "/* $tag: GPL-2.0-only */"
tap_done
