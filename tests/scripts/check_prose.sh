#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests scripts/check-prose on a repository of one file.
# shellcheck disable=SC2016 # the back quotes are those of Markdown
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$top/tests/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/scripts"
cp "$top/scripts/check-prose" "$work/scripts/"
printf '%s\n' 'anew	say "again"' 'wants?	say "needs"' '!wants to be free' '^What (is|a)	start with the thing' >"$work/scripts/prose"
git -c init.defaultBranch=main init -q "$work"

# judge LINES NAME FILE TEXT: check-prose reports these lines of the file, separated by spaces.
judge()
{
	local found

	mkdir -p "$work/$(dirname "$3")"
	printf '%b\n' "$4" >"$work/$3"
	found=$("$work/scripts/check-prose" "$work/$3" 2>&1)
	rm "$work/$3"
	if [ "$(sed -n "s|^$3:\([0-9]*\): .*|\1|p" <<<"$found" | tr '\n' ' ' | sed 's/ $//')" = "$1" ]; then
		ok "$2"
	else
		not_ok "$2" "expected lines: $1" "$found"
	fi
}

judge 1 'reads a comment of C' a.c '/* drawn anew */'
judge 2 'reads a comment of several lines' a.c '/*\n * drawn anew\n */'
judge 1 'finds a phrase that a line break divides' a.c '/* It wants\n * to be quick. */'
judge '' 'accepts an exception that a line break divides' a.c '/* It wants\n * to be free. */'
judge 2 'reads a string' a.c '\nputs("draw it anew");'
judge '' 'leaves code alone' a.c 'int anew = wants(1);'
judge '' 'leaves a string of one word alone' a.c 'puts("anew");'
judge '' 'leaves quotations in comments alone' a.c '/* `anew`, "anew" and anew() */'
judge '1 3' 'reads the start of every comment' a.c '/* What is there. */\nint a; /* see What is there */\n/* Good. What a day. */'
judge '' 'accepts a question' a.c '/* What is there? */'
judge '1' 'reads a comment of a script' a.sh '# drawn anew\ndraw anew'
judge '2 3' 'reads comments and docstrings of Python' a.py 'def f():\n\t"""Draw it anew."""\n\t# anew\n\tanew = 1'
judge '3' 'reads documentation without its code' a.md '    anew\n\n`anew` anew\n\n```\nanew\n```'
judge '1' 'reads the text of a page' a.tsx 'const a = <p>Draw it anew</p>;'
judge 2 'reads the template of a manual page' a.1.in '.SH NAME\nIt is drawn anew.\n.EX\nanew\n.EE'
judge 1 'reads the titles of a dashboard' monitoring/a.json '{ "title": "drawn anew", "id": "drawn anew" }'

# commits SUBJECT: commits the rules, then an empty commit; prints what check-prose finds without a path.
commits()
{
	git -C "$work" add scripts
	git -C "$work" -c user.name=a -c user.email=a@b commit -qm 'Draw it anew' --allow-empty -- scripts
	git -C "$work" -c user.name=a -c user.email=a@b commit -qm "$1" --allow-empty
	"$work/scripts/check-prose" 2>&1
	echo >>"$work/scripts/prose"
}

found=$(commits 'a: Draw it anew')
case $found in
*'"anew": say "again"') ok 'reads the subjects of commits' ;;
*) not_ok 'reads the subjects of commits' "$found" ;;
esac
found=$(commits "a: Draw $(printf 'it %.0s' {1..30})")
case $found in
*'the subject has 97 characters, more than 72') ok 'limits the length of a subject' ;;
*) not_ok 'limits the length of a subject' "$found" ;;
esac
found=$(commits 'Draw it again')
case $found in
*'does not have the form "area: Do the thing"') ok 'requires the area of a subject' ;;
*) not_ok 'requires the area of a subject' "$found" ;;
esac
found=$(commits 'a: Draw it again')
if [ -z "$found" ]; then
	ok 'ignores subjects that are older than the rules'
else
	not_ok 'ignores subjects that are older than the rules' "$found"
fi

# A clone with the hook, as CONTRIBUTING.md describes it.
mkdir "$work/scripts/hooks"
cp "$top/scripts/hooks/commit-msg" "$work/scripts/hooks/"
git -C "$work" config core.hooksPath scripts/hooks
git -C "$work" config user.name a
git -C "$work" config user.email a@b

# hook EXPECTED NAME MESSAGE: the hook prints EXPECTED about MESSAGE, and refuses the commit if that is not empty.
hook()
{
	local before found status=0

	before=$(git -C "$work" rev-parse HEAD)
	found=$(printf '%b\n' "$3" | git -C "$work" commit -q --allow-empty --cleanup=strip -F - 2>&1) || status=1
	if [ "$found" = "$1" ] && [ $status = "$([ -z "$1" ]; echo $?)" ] &&
		{ [ -z "$1" ] || [ "$(git -C "$work" rev-parse HEAD)" = "$before" ]; }; then
		ok "$2"
	else
		not_ok "$2" "expected: $1" "$found" "status $status"
	fi
}

hook '' 'the hook accepts a message' 'a: Draw it again\n\nIt was `anew`.'
hook 'commit message: "anew": say "again"' 'the hook refuses a word in the subject' 'a: Draw it anew'
hook 'commit message: line 3, "wants": say "needs"' 'the hook refuses a word in the body' 'a: Draw\n\nIt wants time.'
hook '' 'the hook ignores the comments of an editor' 'a: Draw\n\n# anew'
hook '' 'the hook accepts what Git names itself' 'fixup! Draw it anew'
hook "commit message: the subject has 73 characters, more than 72" 'the hook refuses a long subject' \
	"a: $(printf 'A%.0s' {1..70})"
tap_done
