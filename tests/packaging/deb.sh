#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# deb.sh CAMEO: packages the program CAMEO of a build directory, then installs, uses and purges the
# package in a chroot of this release that contains nothing but it and its dependencies.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(dirname "$(dirname "$here")")
. "$top/tests/tap.sh"
build=$(dirname "$(realpath "$1")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

everything='the package is built, installed and removed in a chroot'
# unless REASON COMMAND...: skips everything for this reason if the command fails.
unless()
{
	if ! "${@:2}" >/dev/null 2>&1; then
		skip "$everything" "$1"
		tap_done
		exit
	fi
}

suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
unless 'this is not Debian' grep -q '^ID=debian$' /etc/os-release
unless 'only root can make a chroot' test "$(id -u)" -eq 0
unless 'debootstrap is not installed' command -v debootstrap
unless 'dpkg-dev is not installed' command -v dpkg-shlibdeps

in_chroot()
{
	cat <<-'EOF'
		set -e
		apt-get -qq install -y --no-install-recommends ../cameo_*.deb >/dev/null
		echo "== version $(cameo --version)"
		echo "== linked $(ldd /usr/bin/cameo | grep -c 'not found' || true)"
		echo "== conf $(stat -c '%a %U' /etc/cameo/agent.conf)"
		echo "== unit $(grep -c '^ExecStart=/usr/bin/cameo agent' /lib/systemd/system/cameo-agent.service)"
		echo "== man $(ls /usr/share/man/man1/cameo.1.gz /usr/share/man/man1/cameo-agent.1.gz | wc -l)"
		echo "== keys $(cameo agent --config /etc/cameo/agent.conf --freq 0 2>&1 | grep -c 'freq')"
		echo "== doctor $(cameo doctor --quick | wc -l)"
		echo "== stack $(cameo doctor | tail -n 1 | cut -d ' ' -f 1)"
		echo "== sums $(dpkg --verify cameo | wc -l)"
		mkdir -p /var/lib/cameo-agent/spool
		dpkg --purge cameo >/dev/null
		echo "== left $(ls -d /usr/bin/cameo /etc/cameo /var/lib/cameo-agent /usr/share/doc/cameo 2>/dev/null | wc -l)"
	EOF
}

# said WORD VALUE: the chroot printed this value.
said()
{
	grep -qxF "== $1 $2" "$work/out"
}

build_it()
{
	CAMEO_DEB_BUILD=$build nice "$top/packaging/deb" "$work" >"$work/path" 2>"$work/log" ||
		{ tail -n 20 "$work/log"; return 1; }
}

in_chroot >"$work/steps"
check 'a build directory of its own can be configured' "$top/packaging/deb" --configure "$work/own"
check 'the package is built' build_it
deb=$(cat "$work/path" 2>/dev/null)
check 'it depends on the libraries that it needs' sh -c "dpkg-deb -f '$deb' Depends | grep -q libcurl"
"$top/scripts/chroot-check" -f "$deb" -f "$work/steps" "$suite" 'sh ../steps' >"$work/out" 2>"$work/err"
sed 's/^/# /' "$work/out"
[ -s "$work/out" ] || sed 's/^/# /' "$work/err"
version=$("$build/cameo" --version 2>/dev/null)
check 'it runs where nothing else is installed' said version "$version"
check 'no library is missing' said linked 0
check 'only root can read its configuration' said conf '600 root'
check 'it has a systemd unit' said unit 1
check 'it has its man pages' said man 2
check 'the agent reads its configuration' said keys 1
check 'cameo doctor reports its checks' grep -qE '^== doctor [1-9]' "$work/out"
check 'the stripped binary records a known stack trace' said stack ok
check 'its files match their checksums' said sums 0
check 'purging it removes everything' said left 0
tap_done
