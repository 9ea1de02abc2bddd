#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""C++, Rust and Go programs with known stacks.

The patterns match both mangled and demangled names.
"""
import os
import shutil
import subprocess

from cameo import MACHINE, PROGRAMS, Skip, Tap, Workshop, expect, need, need_bpf, record, together

MS = MACHINE.ms(500)
# The Go programs end by wall-clock time, because their oracle stops them at every instruction; a
# busy machine therefore yields few samples of them.
SECONDS = MACHINE.ms(3000) // 1000
FEW = 20

CPP = "_start __libc_start_main.* ... main "
VIRTUAL = CPP + ".*outer.* .*measure.* .*Square.*area.* .*Disc.*area.* .*hot.*"
CAUGHT = CPP + ".*catcher.* .*hot.*"
GUARD = CPP + ".*catcher.* ... .*Guard.* .*hot.*"

RUST = "_start ... main ... .*chain.*main.* .*outer.* .*middle.* ... .*hot.*"

GO_MAIN = r"... main\.main main\.outer main\.middle main\.hot"
GO_WORKERS = r"... main\.worker main\.outer main\.middle main\.hot"
GO_START = r"runtime\..*|_rt0.*|_start|\[ld-.*|\[libc\.so.*|(__)?clone3?|start_thread|\[go-.*"
FAULT = r"... main\.main main\.attempt main\.load runtime\.sigpanic ... main\.rescue main\.hot"
CGO = r"... main\.main main\.outer ... c_outer c_middle ... .*goCallback main\.inner ... c_hot"
CHAINS = {"chain": GO_MAIN, "fault": FAULT, "cgo": CGO}
# name: description, unstripped program for the names of addresses
GO = {
    "chain-plain": ("Go", None),
    "chain-stripped": ("Go, stripped", "chain-plain"),
    "chain-pie": ("Go, PIE", None),
    "chain-pie-external": ("Go, a stripped PIE made by the system's linker", "chain-twin"),
    "fault-plain": ("Go, above a fault", None),
    "cgo-plain": ("Go, into C and back", None),
    "cgo-stripped": ("Go, into C and back, stripped", "cgo-plain"),
}


def build_cpp(shop, cc):
    lib = shop.build(f"libshape-{cc}.so", cc, "shape_lib.cc", "-O2", "-fomit-frame-pointer",
                     "-shared", "-fPIC")
    return shop.build(f"shapes-{cc}", cc, "shapes.cc", "-O2", "-fomit-frame-pointer", lib,
                      "-Wl,-rpath," + shop.dir)


def build_rust(shop):
    need("rustc")
    if not MACHINE.has("rustc"):
        raise Skip("rustc has no standard library for this processor")
    out = shop.path("chain-rust")
    r = subprocess.run(["rustc", "-O", "-o", out, os.path.join(PROGRAMS, "native", "chain.rs")],
                       capture_output=True, text=True, check=False)
    expect(r.returncode == 0, r.stderr)
    return out


def build_go(shop):
    need("go")
    r = subprocess.run([os.path.join(PROGRAMS, "go", "build.sh"), shutil.which("go"), shop.dir,
                        shop.path("stamp")], capture_output=True, text=True, check=False)
    expect(r.returncode == 0, r.stderr)
    r = subprocess.run(["go", "build", "-buildmode=pie", "-ldflags=-linkmode=external", "-o",
                        shop.path("go-chain-twin"), "./chain"], capture_output=True, text=True,
                       check=False, cwd=os.path.join(PROGRAMS, "go"),
                       env=dict(os.environ, CGO_ENABLED="1", GOFLAGS="-mod=mod", GOENV="off"))
    expect(r.returncode == 0, r.stderr)
    return {name: shop.path("go-" + name) for name in GO}


def record_cpp(shop):
    built = [build_cpp(shop, cc) for cc in ("g++", "clang++")]
    return record("--", *together([[p, MS] for p in built]))


def record_rust(shop):
    recording = record("--", build_rust(shop), str(MS))
    recording.judge("chain-rust", RUST)


def judge_go(recording, shop, name):
    twin = GO[name][1]
    if twin:
        recording.name_by("go-" + name, "go-" + name, shop.path("go-" + twin))
    recording.judge("go-" + name, CHAINS[name.split("-")[0]], start=GO_START,
                    leaf=r"main\.hot|c_hot", most_elsewhere=0.5, enough=FEW)


def go(tap, shop):
    try:
        built = build_go(shop)
    except Skip as e:
        for what, _ in GO.values():
            tap.skip(what, e)
        return
    for names in ([n for n in GO if n.startswith("chain")],
                  [n for n in GO if not n.startswith("chain")]):
        recording = record("--", *together([[built[n], SECONDS] for n in names]))
        for name in names:
            tap.run(GO[name][0], judge_go, recording, shop, name)
    workers = record("--", built["chain-plain"], "1", "4")
    tap.run("goroutines", lambda: workers.judge("go-chain-plain", GO_WORKERS, start=GO_START,
                                                      enough=FEW))


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        cpp = record_cpp(shop)
        for cc in "g++", "clang++":
            tap.run(f"{cc}: virtual calls through a shared library, and exceptions",
                    lambda cc=cc: cpp.judge("shapes-" + cc, VIRTUAL, CAUGHT, GUARD))
        tap.run("Rust", record_rust, shop)
        go(tap, shop)
    tap.done()


if __name__ == "__main__":
    main()
