#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The documentation against the tree and the program, and scripts/check-docs itself on small trees.
# check_docs.sh CAMEO
# shellcheck disable=SC2016 # the back quotes are those of Markdown
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$top/tests/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# judge VERDICT NAME FILE TEXT [FILE TEXT]...: expects that check-docs passes or fails on a tree of these files
judge()
{
	local verdict=passes wanted=$1 name=$2 said

	rm -rf "$work/tree"
	mkdir -p "$work/tree/docs"
	shift 2
	while [ $# -gt 0 ]; do
		mkdir -p "$work/tree/$(dirname "$1")"
		printf '%b\n' "$2" >"$work/tree/$1"
		shift 2
	done
	said=$("$top/scripts/check-docs" --tree "$work/tree" 2>&1) || verdict=fails
	if [ "$verdict" = "$wanted" ]; then
		ok "$name"
	else
		not_ok "$name" "it $verdict" "$said"
	fi
}

losses='LOSS_KIND(S, "cameo_lost_total",\nLOSS(S, ONE, "one", x,\nLOSS(S, TWO, "two", y,'
row='| `cameo_lost_total` | `one`'
# shellcheck disable=SC2016 # Markdown's backquotes
{
	judge passes 'accepts a link to a file' README.md '[a](docs/a.md)' docs/a.md '# A'
	judge passes 'accepts a link to a heading' README.md '[a](docs/a.md#two-words)' docs/a.md '## Two `words`'
	judge passes 'leaves links to other hosts alone' README.md '[a](https://example.org/#x)'
	judge fails 'refuses a link to nothing' README.md '[a](docs/b.md)'
	judge fails 'refuses a link to a heading that is not there' README.md '[a](docs/a.md#three)' docs/a.md '## Two'
	judge fails 'refuses a link to a heading in a code block' README.md '[a](#two)\n```\n# two\n```'
	judge passes 'accepts a frame that is explained' docs/troubleshooting.md '`[gone]`' src/a.c 'f("[gone]");'
	judge passes 'accepts the fixed beginning of a frame' docs/troubleshooting.md '`[gave up on FILE]`' \
		src/a.c 'f("[gave up on %s]");'
	judge passes 'leaves comments alone' docs/troubleshooting.md '' src/a.c '/* "[gone]" */'
	judge fails 'refuses a frame that nothing explains' docs/troubleshooting.md '' src/a.c 'f("[gone]");'
	judge fails 'refuses a metric that does not exist' README.md '`cameo_gone_total`' src/a.c 'f("cameo_here_total");'
	judge passes 'accepts a table with all losses' src/symbolize/losses.def "$losses" \
		docs/troubleshooting.md "<!-- losses -->\n$row | text |\n| | \`two\` | text |\n<!-- /losses -->"
	judge fails 'refuses a table without one' src/symbolize/losses.def "$losses" \
		docs/troubleshooting.md "<!-- losses -->\n$row | text |\n<!-- /losses -->"
	judge fails 'refuses a loss without a text' src/symbolize/losses.def "$losses" \
		docs/troubleshooting.md "<!-- losses -->\n$row | text |\n| | \`two\` | |\n<!-- /losses -->"
	judge passes 'accepts a source file that is there, by name' README.md '`a.c`' src/a.c ''
	judge fails 'refuses a source file that is not there' README.md '`src/b.c`' src/a.c ''
	judge passes 'accepts a diff that applies' README.md '```diff\n--- a/src/a.c\n@@ a place\n int a;\n+int b;\n```' \
		src/a.c 'int a;'
	judge fails 'refuses a diff of a line that is not there' README.md '```diff\n--- a/src/a.c\n int c;\n+int b;\n```' \
		src/a.c 'int a;'
}
check 'the documentation agrees with the tree and the program' "$top/scripts/check-docs" --cameo "$1"
tap_done
