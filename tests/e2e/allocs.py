#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Heap allocations, judged by what programs say they allocated and did not free. The programs are linked statically, except
where a library is tested: placing a probe waits for each process of the machine that maps the probed file.
"""
import math
import os
import shutil
import signal
import subprocess
import sys

from cameo import CAMEO, DEADLINE_S, OnTerminal, Tap, Workshop, cameo, end, expect, need_bpf
from pprof import Profile

NEAR = 0.05
# Bytes between two samples: the standard deviation of N bytes in small blocks is sqrt(N * INTERVAL).
INTERVAL = 2048
RARE_INTERVAL = 16384  # a busy machine may leave a burst of samples in the ring for long
SIGMAS = 5
ROUNDS = 10


class Program:
    """A program that allocates after it has read a line, and prints "FUNCTION ALLOCATED IN_USE"."""

    def __init__(self, *command, env=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **(env or {})})
        self.pid = self.process.pid
        self.truth = {}
        expect(self.process.stdout.readline() == "ready\n", "the program did not start")

    def go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        for line in iter(self.process.stdout.readline, "held\n"):
            expect(line, "the program ended", self.process.poll())
            name, allocated, in_use = line.split()
            self.truth[name] = (int(allocated), int(in_use))

    def finish(self):
        """The program ends by itself, without a crash."""
        _, _ = self.process.communicate("\n", timeout=DEADLINE_S)
        return self.process.returncode


class Recorder(OnTerminal):
    """A recording that has begun."""

    def __init__(self, *options):
        super().__init__(CAMEO, "record", *options)
        self.listen(b" samples (")

    def finish(self):
        try:
            self.process.send_signal(signal.SIGINT)
            self.listen()
            self.process.wait(DEADLINE_S)
        finally:
            end(self.process)
            os.close(self.terminal)
        expect(self.process.returncode == 0, self.said.decode())
        return self.said.decode()


class Heap:
    """A heap profile."""

    def __init__(self, path, said, interval=INTERVAL):
        with open(path, "rb") as f:
            profile = Profile(f.read())
        self.interval = interval
        self.types, self.samples, self.said = profile.types, profile.samples, said

    def of(self, function, column):
        return sum(values[column] for frames, _, values in self.samples if function in frames or f"{function}()" in frames
                   or f"{function}(void*)" in frames)

    def show(self):
        top = sorted(self.samples, key=lambda s: -s[2][1])
        return "\n".join([f"{v} {';'.join(f)}" for f, _, v in top[:20]] + [self.said])


def record(shop, program, *options, interval=INTERVAL):
    out = shop.path("heap.pb.gz")
    recorder = Recorder("-p", str(program.pid), "--alloc-interval", f"{interval}B", "--alloc-share", "100", "-o", out,
                        *options)
    try:
        if recorder.process.poll() is None:
            program.go()
    finally:
        said = recorder.finish()
    return Heap(out, said, interval)


def is_near(ours, expected, interval):
    """Within 5 percent, and the bound of what sampling explains is below that, too."""
    error = SIGMAS * math.sqrt(expected * interval)
    return abs(ours - expected) <= max(NEAR * expected, error)


# ---- tests -------------------------------------------------------------------------


def has_types(heap, live):
    types = [("alloc_objects", "count"), ("alloc_space", "bytes")]
    expect(heap.types == (types + [("inuse_objects", "count"), ("inuse_space", "bytes")] if live else types), heap.types)


def allocated(program, heap, name):
    ours, expected = heap.of(name, 1), program.truth[name][0]
    expect(is_near(ours, expected, heap.interval), f"{name}: {ours} bytes instead of {expected}", heap.show())


def in_use(program, heap, name):
    ours, expected = heap.of(name, 3), program.truth[name][1]
    expect(is_near(ours, expected, heap.interval), f"{name}: {ours} bytes in use instead of {expected}", heap.show())


def judge(tap, what, program, heap, live):
    tap.run(f"{what}: the sample types are those of Go's heap profiles", has_types, heap, live)
    for name in program.truth:
        tap.run(f"{what}: bytes that were allocated by {name}", allocated, program, heap, name)
        if live:
            tap.run(f"{what}: bytes in use of {name}", in_use, program, heap, name)
    tap.run(f"{what}: the program ends as without probes", lambda: expect(program.finish() == 0))


def compiled(tap, shop, what, path, mode, env=None, interval=INTERVAL):
    program = Program(path, env=env)
    try:
        heap = record(shop, program, f"--memory={mode}", interval=interval)
        judge(tap, what, program, heap, mode == "live")
    finally:
        end(program.process)


def replaced(tap, shop):
    """Allocators that replace the C library's, and pass calls on to each other's functions."""
    c = shop.build("heap_dynamic", "gcc", "heap.c", "-O2", "-pthread")
    cxx = shop.build("heap_dynamic_cxx", "g++", "heap_cxx.cc", "-O2", "-pthread")
    for name, path, mode in (("jemalloc", c, "live"), ("jemalloc", cxx, "alloc"), ("tcmalloc_minimal", c, "live"),
                             ("tcmalloc_minimal", cxx, "alloc"), ("mimalloc", c, "live"), ("mimalloc", c, "alloc")):
        library = subprocess.run(["gcc", f"-print-file-name=lib{name}.so"], capture_output=True, text=True,
                                 check=True).stdout.strip()
        what = f"{name}, {mode}"
        if os.path.isabs(library):
            compiled(tap, shop, what, path, mode, env={"LD_PRELOAD": library}, interval=RARE_INTERVAL)
        else:
            tap.skip(what, f"lib{name}.so is not installed")


class Interpreted(Program):
    """Python, whose objects are from malloc() with this variable."""

    SOURCE = """
import sys
print("ready", flush=True)
sys.stdin.readline()
HELD = [None] * 5000
def keep_objects():
    for i in range(5000):
        HELD[i] = bytes(1000)
def drop_objects():
    for i in range(5000):
        bytes(1000)
keep_objects()
drop_objects()
print("keep_objects", 5000 * 1033, 5000 * 1033)
print("drop_objects", 5000 * 1033, 0)
print("held", flush=True)
sys.stdin.readline()
"""

    def __init__(self):
        super().__init__(sys.executable, "-c", self.SOURCE, env={"PYTHONMALLOC": "malloc"})


def interpreted(tap, shop):
    program = Interpreted()
    try:
        judge(tap, "Python", program, record(shop, program, "--memory=live"), True)
    finally:
        end(program.process)


RUST = """
use std::hint::black_box;
use std::io::{BufRead, Write};
#[inline(never)]
fn keep_vectors() -> Vec<Vec<u8>> {
    let all: Vec<Vec<u8>> = Vec::with_capacity(10000);
    let mut all = black_box(all);
    for _ in 0..10000 { all.push(black_box(Vec::with_capacity(300))); }
    all
}
#[inline(never)]
fn drop_vectors() {
    for _ in 0..10000 { black_box(Vec::<u8>::with_capacity(300)); }
}
fn main() {
    let mut line = String::with_capacity(100);
    println!("ready");
    std::io::stdin().lock().read_line(&mut line).unwrap();
    let held = black_box(keep_vectors());
    drop_vectors();
    println!("keep_vectors {} {}", 10000 * 300 + 10000 * 24, 10000 * 300 + 10000 * 24);
    println!("drop_vectors {} 0", 10000 * 300);
    println!("held");
    std::io::stdout().flush().unwrap();
    std::io::stdin().lock().read_line(&mut line).unwrap();
    black_box(held);
}
"""


class Rust(Heap):
    """Names of Rust have a path and a hash."""

    def of(self, function, column):
        return sum(values[column] for frames, _, values in self.samples if any(function in f for f in frames))


def rust(tap, shop):
    name = "Rust: bytes of a static program"
    if not shutil.which("rustc"):
        tap.skip(name, "rustc is not installed")
        return
    with open(shop.path("heap.rs"), "w", encoding="ascii") as f:
        f.write(RUST)
    r = subprocess.run(["rustc", "-O", "-g", "-C", "target-feature=+crt-static", shop.path("heap.rs"), "-o",
                        shop.path("heap_rust")], capture_output=True, text=True, check=False)
    if r.returncode:
        tap.skip(name, "rustc cannot link statically")
        return
    program = Program(shop.path("heap_rust"))
    try:
        heap = record(shop, program, "--memory=live")
        heap.__class__ = Rust
        judge(tap, "Rust", program, heap, True)
    finally:
        end(program.process)


def survives(shop, path):
    """Probes come and go while the program allocates in several threads."""
    program = Program(path)
    try:
        program.process.stdin.write("\n")
        program.process.stdin.flush()
        for i in range(ROUNDS):
            r = cameo("record", f"--memory={'live' if i % 2 else 'alloc'}", "-p", str(program.pid), "-d", "0.1", "-o",
                      shop.path("round.pb.gz"))
            expect(r.returncode == 0, r.stderr)
            expect(program.process.poll() is None, "the program ended", program.process.returncode)
    finally:
        end(program.process)


def two_recorders(shop, path):
    program = Program(path)
    try:
        first = Recorder("-p", str(program.pid), "--memory=live", "--alloc-interval", f"{INTERVAL}B", "--alloc-share",
                         "100", "-o", shop.path("first.pb.gz"))
        heap = record(shop, program, "--memory=live")
        other = Heap(shop.path("first.pb.gz"), first.finish())
        for name in program.truth:
            allocated(program, heap, name)
            allocated(program, other, name)
        expect(program.finish() == 0)
    finally:
        end(program.process)


def ends_halfway(shop, path):
    """The process ends while it is recorded: the profile has what it had not freed."""
    program = Program(path)
    out = shop.path("ended.pb.gz")
    try:
        recorder = Recorder("-p", str(program.pid), "--memory=live", "--alloc-interval", f"{INTERVAL}B", "--alloc-share",
                            "100", "-o", out)
        program.go()
        end(program.process)
        recorder.listen()
        recorder.process.wait(DEADLINE_S)
        expect(recorder.process.returncode == 0, recorder.said)
        in_use(program, Heap(out, recorder.said.decode()), "do_keep")
    finally:
        end(program.process)


def pauses(shop, path):
    """The probes may take one percent: they are removed most of the time, and the summary reports that."""
    program = Program(path)
    try:
        program.process.stdin.write("\n")
        program.process.stdin.flush()
        r = cameo("record", "--memory=alloc", "--alloc-share", "1", "-p", str(program.pid), "-d", "3", "-o",
                  shop.path("paused.pb.gz"))
        expect(r.returncode == 0 and "paused for" in r.stderr and "missing" in r.stderr, r.stderr)
    finally:
        end(program.process)


def stripped(shop, path):
    bare = shop.path("stripped")
    subprocess.run(["strip", "-o", bare, path], check=True)
    program = Program(bare)
    try:
        r = cameo("record", "--memory=alloc", "-p", str(program.pid), "-d", "1", "-o", shop.path("none.pb.gz"))
        expect(r.returncode != 0 and "no functions of an allocator are known" in r.stderr
               and "--memory=resident" in r.stderr, r.stderr)
        expect(r.stderr.count("\n") == 1, r.stderr)
    finally:
        end(program.process)


def refusals():
    for options, said in ((["--memory=alloc"], "require --pid or a command"),
                          (["--memory=live", "-p", "1", "--no-user"], "--no-user cannot be used"),
                          (["--alloc-interval", "1K"], "require --memory=alloc"),
                          (["--memory=heaps"], "expected resident, alloc, live or heap")):
        r = cameo("record", *options, "-o", "/dev/null", "-d", "1")
        expect(r.returncode != 0 and said in r.stderr, options, r.stderr)


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        c = shop.build("heap", "gcc", "heap.c", "-O2", "-static", "-pthread")
        cxx = shop.build("heap_cxx", "g++", "heap_cxx.cc", "-O2", "-static", "-pthread")
        compiled(tap, shop, "C", c, "live")
        compiled(tap, shop, "C, alloc", c, "alloc")
        compiled(tap, shop, "C++", cxx, "live")
        if shutil.which("musl-gcc"):
            compiled(tap, shop, "musl", shop.build("heap_musl", "musl-gcc", "heap.c", "-O2", "-static"), "live")
        replaced(tap, shop)
        rust(tap, shop)
        interpreted(tap, shop)
        forever = shop.build("heap_forever", "gcc", "heap.c", "-O2", "-static", "-pthread", "-DENDLESS")
        tap.run(f"a program survives {ROUNDS} recordings of it", survives, shop, forever)
        tap.run("probes pause when they take too much time", pauses, shop, forever)
        tap.run("two recorders at once both have all allocations", two_recorders, shop, c)
        tap.run("a process may end in the middle", ends_halfway, shop, c)
        tap.run("a program without known functions is refused, with the reason", stripped, shop, c)
        tap.run("options that have no effect are refused", refusals)
    tap.done()


main()
