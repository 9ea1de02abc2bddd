#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# boot.sh SUITE: the kernel of that Debian suite, booted under qemu.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../tap.sh"

suite=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$here/run" "$suite" 'uname -r; ls /sys/kernel/btf/vmlinux' >"$work/out" 2>"$work/err"
case $? in
77) skip "$suite: the kernel boots" "$(tail -n 1 "$work/err")" ;;
0) ok "$suite: $(head -n 1 "$work/out") boots and has its BTF" ;;
*) not_ok "$suite: the kernel boots and has its BTF" "$(cat "$work/out" "$work/err")" ;;
esac
tap_done
