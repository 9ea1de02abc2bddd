#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests scripts/check-spdx on a repository of one file.
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
judge passes 'accepts Apache-2.0 in user space' src/a.c "/* $tag: Apache-2.0 */"
judge passes 'accepts a line comment' run "# $tag: Apache-2.0"
judge passes 'accepts a Markdown comment' README.md "<!-- $tag: Apache-2.0 -->"
judge passes 'accepts the dual licence in bpf' bpf/a.bpf.c "/* $tag: GPL-2.0-only OR BSD-2-Clause */"
judge passes 'ignores licence texts' LICENSES/Apache-2.0.txt 'Apache License'
judge passes 'accepts the dual licence in a BPF program elsewhere' bench/a.bpf.c \
	"/* $tag: GPL-2.0-only OR BSD-2-Clause */"
judge fails 'refuses a file without a line' src/a.c 'int x;'
judge fails 'refuses Apache-2.0 in bpf' bpf/a.bpf.c "/* $tag: Apache-2.0 */"
judge fails 'refuses the dual licence in user space' src/a.c "/* $tag: GPL-2.0-only OR BSD-2-Clause */"
judge fails 'refuses one half of the dual licence' bpf/a.bpf.c "/* $tag: GPL-2.0-only */"
tap_done
