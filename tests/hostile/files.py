#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles of hostile authors, given to commands: their sizes cost no time, and no file that they name is opened but a regular one."""
import os
import resource
import signal
import subprocess

import attack
import cameo
from attack import Baits
from cameo import Tap, Workshop, expect
from hangs import mounted

N = 60000  # entries of a profile; each command needs less than a second of CPU time
CPU_S = 15
VALUE = 7
HUGE = 1 << 40
MADE_BY_KERNEL = f"/proc/{os.getpid()}/timers"
FORMATS = ("pb.gz", "folded", "html", "svg", "speedscope.json", "chrome.json", "firefox.json", "otlp.pb")
REPORTS = ((), ("--by", "line"), ("--tree", "--limit", "0", "--min", "0"), ("--callers", "function"), ("--json",))


def varint(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def message(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


class Pprof:
    """A pprof file that is written entry by entry; ids count from 1."""

    def __init__(self):
        self.strings, self.ids, self.body = [b""], {b"": 0}, b""
        self.parts, self.counts = [], {}
        self.put(1, number(1, self.string("cpu")) + number(2, self.string("nanoseconds")))

    def string(self, text):
        data = os.fsencode(text)
        if data not in self.ids:
            self.ids[data] = len(self.strings)
            self.strings.append(data)
        return self.ids[data]

    def put(self, field, data):
        """Appends an entry and returns its number among those of its kind."""
        self.counts[field] = self.counts.get(field, 0) + 1
        self.parts.append(message(field, data))
        return self.counts[field]

    def function(self, name, path, start=1):
        n = self.counts.get(5, 0) + 1
        return self.put(5, number(1, n) + number(2, self.string(name)) + number(4, self.string(path)) + number(5, start))

    def location(self, *lines):
        """LINES: a function and the number of a line, the innermost first."""
        n = self.counts.get(4, 0) + 1
        return self.put(4, number(1, n) + b"".join(message(4, number(1, f) + number(2, line)) for f, line in lines))

    def native(self, path, address, function):
        """A location at ADDRESS of the program PATH."""
        mapping = self.put(3, number(1, self.counts.get(3, 0) + 1) + number(3, 1 << 47) + number(5, self.string(path)))
        n = self.counts.get(4, 0) + 1
        return self.put(4, number(1, n) + number(2, mapping) + number(3, address) +
                        message(4, number(1, function) + number(2, 1)))

    def sample(self, *stack, labels=()):
        self.put(2, message(1, b"".join(map(varint, stack))) + message(2, varint(VALUE)) +
                 b"".join(message(3, number(1, self.string(k)) + number(2, self.string(v))) for k, v in labels))

    def data(self):
        return b"".join(self.parts) + b"".join(message(6, s) for s in self.strings)

    def write(self, path):
        with open(path, "wb") as f:
            f.write(self.data())
        return path


# ---- sizes -----------------------------------------------------------------------


def many_files(p):
    """a source file for each function"""
    for i in range(N):
        p.sample(p.location((p.function(f"function{i}", f"/none/{i}.c"), 9)))


def one_file(p):
    """many functions and lines of one file"""
    for i in range(N):
        p.sample(p.location((p.function(f"function{i}", "/none.c", i), i * 7919 % (1 << 32))))


def inlined(p):
    """one location with many inlined functions"""
    p.sample(p.location(*((p.function(f"function{i}", "/none.c"), i % 9 + 1) for i in range(N))))


def deep(p):
    """one deep stack"""
    p.sample(*(p.location((p.function(f"function{i}", "/none.c"), 9)) for i in range(N // 4)))


def wide(p):
    """many callers and callees of one function"""
    root = p.location((p.function("function", "/none.c"), 1))
    for i in range(N):
        at = p.location((p.function(f"function{i}", "/none.c"), 9))
        p.sample(at, root, at, root)


def labelled(p):
    """many labels, and a sample with many"""
    at = p.location((p.function("function", "/none.c"), 1))
    p.sample(at, labels=[(f"key{i}", f"value{i}") for i in range(N // 4)])
    for i in range(N):
        p.sample(at, labels=[(f"key{i}", f"value{i}")])


SHAPES = (many_files, one_file, inlined, deep, wide, labelled)


def limit_cpu():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))


def run(*command):
    r = subprocess.run([cameo.CAMEO, *command], capture_output=True, preexec_fn=limit_cpu, check=False,
                       timeout=cameo.DEADLINE_S)
    expect(r.returncode != -signal.SIGXCPU, "more than", CPU_S, "s of CPU time:", *command)
    expect(r.returncode in (0, 1), r.returncode, *command, r.stderr.decode(errors="replace"))
    return r


def sizes(shop, shape):
    p = Pprof()
    shape(p)
    path = p.write(shop.path("sizes.pb"))
    for options in REPORTS:
        run("report", *options, path)
    for suffix in FORMATS:
        run("convert", path, shop.path("sizes." + suffix))
    run("annotate", "function", path)
    run("diff", path, path)


# ---- sources ----------------------------------------------------------------------


def annotated(shop, *paths):
    """Annotates functions of these sources. Returns the output."""
    p = Pprof()
    for i, path in enumerate(paths):
        p.sample(p.location((p.function(f"function{i}", path), 2)))
    r = run("annotate", "function", p.write(shop.path("sources.pb")))
    expect(r.returncode == 0, r.stderr)
    text = r.stdout.decode()  # which is valid
    expect(all(c == "\n" or c.isprintable() for c in text), repr(text))
    expect(text.count(f"{VALUE}ns") >= len(paths), text)
    return text


def unsuitable_sources(shop):
    """Sources that are FIFOs, devices, terminals, files of /proc, links to these, or huge"""
    huge = shop.path("huge.c")
    with open(huge, "wb") as f:
        f.truncate(HUGE)
    with Baits(shop) as baits:
        paths = [baits.fifo("fifo.c"), baits.device("device.c"), baits.terminal(), baits.watch(MADE_BY_KERNEL), huge,
                 shop.dir, shop.path("none.c"), "../" * 99 + "none.c", "/" * 4000 + "none.c", "x" * 70000]
        for i, path in enumerate(paths[:4]):
            os.symlink(path, shop.path(f"link{i}.c"))
            paths.append(shop.path(f"link{i}.c"))
        text = annotated(shop, *paths)
        expect(text.count("cannot read this source") == len(paths), text)
        expect(not baits.opened(), "files were opened that must not be")


def unsuitable_programs(shop):
    """Programs that are FIFOs, devices, terminals, files of /proc, directories or a sparse TiB, where machine code is needed"""
    huge, profile = shop.path("huge"), shop.path("program.pb")
    with open(huge, "wb") as f, open("/bin/true", "rb") as real:
        f.write(real.read())
        f.truncate(HUGE)
    with Baits(shop) as baits:
        for path in (baits.fifo("fifo"), baits.device("device"), baits.terminal(), baits.watch(MADE_BY_KERNEL), shop.dir, huge):
            p = Pprof()
            p.sample(p.native(path, 0x1000, p.function("function", "/none.c")))
            p.write(profile)
            for command in (("annotate", "--asm", "function"), ("pgo", "llvm", "-o", shop.path("out.prof"))):
                r = run(*command, profile)
                reason = b"not a 64-bit" if path == huge else b"not a regular file"
                expect(r.returncode == 1 and reason in r.stderr, *command, path, r.stderr)
        expect(not baits.opened(), "files were opened that must not be")


def odd_sources(shop):
    """Sources with control characters in their lines and names, and lines of any length"""
    odd = os.path.join(os.fsencode(shop.dir), b"odd\x1b[2J\n\xff.c")
    for path, data in ((odd, b"one\n\x1b]0;title\x07two\xff\xc2\x9b\x7f\n"), (os.fsencode(shop.path("long.c")), b"x" * (8 << 20)),
                       (os.fsencode(shop.path("lines.c")), b"\n" * (8 << 20))):
        with open(path, "wb") as f:
            f.write(data)
    text = annotated(shop, odd, shop.path("long.c"), shop.path("lines.c"))
    expect("x" * 1000 in text, text)


def hung_source(shop):
    """A source on FUSE whose server answers nothing any more"""
    with mounted(shop, "source", size=4096) as fuse:
        fuse.server.send_signal(signal.SIGUSR1)
        expect("cannot read this source" in annotated(shop, fuse.path), "a source was read from a server that hangs")


def main():
    tap = Tap()
    with Workshop() as shop:
        for shape in SHAPES:
            tap.run(f"sizes: {shape.__doc__}", sizes, shop, shape)
        if os.geteuid() == 0:
            for test in (unsuitable_sources, unsuitable_programs, odd_sources, hung_source):
                tap.run(test.__doc__, test, shop)
    tap.done()


if __name__ == "__main__":
    main()
