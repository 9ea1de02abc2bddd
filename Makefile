# SPDX-License-Identifier: Apache-2.0
# Shortcuts: Meson does the building and ./test the testing.
.PHONY: all bench check check-root check-vm lint fmt install clean

all:
	@scripts/install-packages build test
	@scripts/build build

check:
	@./test lint unit replay

check-root:
	@./test e2e

check-vm:
	@./test vm

bench: all
	@for b in unwind-tables unwind record footprint compare symbolize; do echo; bench/$$b || exit; done
	@bench/report

lint:
	@./test lint

fmt:
	@git ls-files -z '*.c' '*.h' | xargs -0 clang-format-14 -i

install: all
	@meson install -C build

clean:
	rm -rf build build-asan
