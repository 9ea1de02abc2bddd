# SPDX-License-Identifier: Apache-2.0
# The front door only: Meson builds, ./test tests.
.PHONY: all check check-root check-vm lint fmt install clean

all:
	@scripts/install-packages build test
	@scripts/build build

check:
	@./test lint unit replay

check-root:
	@./test e2e

check-vm:
	@./test vm

lint:
	@./test lint

fmt:
	@git ls-files -z '*.c' '*.h' | xargs -0 clang-format-14 -i

install: all
	@meson install -C build

clean:
	rm -rf build build-asan
