#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh GO OUT_DIR STAMP: build this folder's programs in every way that
# changes the file: OUT_DIR/go-PROGRAM-VARIANT. The C compiler is needed for cgo.
set -eu

go=$1
stamp=$(realpath "$3")
mkdir -p "$2"
out=$(cd "$2" && pwd)
cd "$(dirname "$0")"
export GOENV=off GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPROXY=off GO111MODULE=on

build() {
	name=$1
	package=$2
	shift 2
	"$go" build "$@" -o "$out/go-$name" "./$package"
}

for program in chain selfdump; do
	CGO_ENABLED=0 build "$program-plain" "$program"
	CGO_ENABLED=0 build "$program-stripped" "$program" -ldflags='-s -w'
	CGO_ENABLED=0 build "$program-pie" "$program" -buildmode=pie
	CGO_ENABLED=1 build "$program-pie-external" "$program" -buildmode=pie \
		-ldflags='-linkmode=external -s -w'
done
CGO_ENABLED=0 build fault-plain fault
CGO_ENABLED=1 build cgo-plain cgo
CGO_ENABLED=1 build cgo-stripped cgo -ldflags='-s -w'
touch "$stamp"
