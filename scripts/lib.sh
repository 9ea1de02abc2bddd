# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by the scripts: messages, and becoming root.

say()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die()
{
	say "$*"
	exit 1
}

# Can as_root() succeed? sudo may ask for a password only if there is a terminal.
can_be_root()
{
	[ "$(id -u)" -eq 0 ] && return 0
	command -v sudo >/dev/null || return 1
	[ -t 0 ] || sudo -n true 2>/dev/null
}

as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif [ -t 0 ]; then
		sudo "$@"
	else
		sudo -n "$@"
	fi
}
