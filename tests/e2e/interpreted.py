# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of interpreted languages: finds interpreters and checks lines.

The interpreters are those of this machine and of other Debian releases that scripts/runtimes has
installed. The latter run in a chroot, as in another mount namespace.
"""
import collections
import copy
import glob
import gzip
import os
import re
import shutil

import machine
from cameo import MACHINE, PROGRAMS, RARE, Recording, SPARE, START, Tap, Workshop, are_rare, cameo, end, expect, \
    need_bpf, need_here, parse_folded, record_while_running, show, spawn, together
from pprof import fields, numbers

MS = MACHINE.ms(450)
RUNTIMES = os.path.join(os.environ.get("CAMEO_CACHE", "/var/cache/cameo"), "runtimes")
# The first samples of a program are walked from a copy of at most 32 KiB of its stack. The frames that are deeper
# are read later, when they may have changed.
SHARE_DEEP = 0.97
# V8 moves functions that are new. On a busy machine, those of the first samples are read after that.
STALE = 0.3
MAIN = r"(_start|\[libc.*|__libc_start.*) ... "


class Runtime:
    """An interpreter; PROGRAM is a file of tests/programs, used with the files next to it."""

    def __init__(self, name, command, program, root=None):
        self.name, self.program = name, program
        self.path = program
        if root:
            directory = os.path.join(root, "tmp", "cameo-" + program.split("/")[-2])
            shutil.rmtree(directory, ignore_errors=True)
            shutil.copytree(os.path.dirname(program), directory)
            self.path = os.path.join(directory[len(root):], os.path.basename(program))
        self.command = (self.enter(root) if root else []) + command

    @staticmethod
    def enter(root):
        """Returns a command that enters a mount namespace with /proc, whose root is ROOT."""
        return ["unshare", "--mount", "sh", "-c",
                'mount --bind /proc "$0/proc" && exec chroot "$0" "$@"', root]

    def told(self, name, more):
        """Returns this interpreter with MORE arguments."""
        other = copy.copy(self)
        other.name, other.command = f"{self.name} {name}", self.command + more
        return other

    def run(self, *args):
        return [*self.command, self.path, *map(str, args)]


def runtimes(pattern, program):
    """Yields the interpreters whose path in /usr/bin matches the glob PATTERN."""
    program = os.path.join(PROGRAMS, program)
    found = [Runtime(os.path.basename(p), [p], program)
             for p in MACHINE.programs("/usr/bin/" + pattern)]
    if machine.is_virtual():
        return found
    for root in sorted(glob.glob(os.path.join(RUNTIMES, "*"))):
        if os.geteuid() or root.endswith((".new", ".log")):
            continue
        for path in sorted(glob.glob(root + "/usr/bin/" + pattern)):
            found.append(Runtime(f"{os.path.basename(root)}'s {os.path.basename(path)}",
                                 [path[len(root):]], program, root))
    return found


# ---- lines in pprof files -------------------------------------------------------


def function_lines(path):
    """Returns {function: {(its first line, line): samples that have it}} of a pprof file."""
    with gzip.open(path) as f:
        message = list(fields(f.read()))
    strings = [v.decode() for n, v in message if n == 6]
    functions, places = {}, {}
    for n, v in message:
        if n == 5:
            f = collections.defaultdict(int, fields(v))
            functions[f[1]] = strings[f[2]], f[5]
    for n, v in message:
        if n == 4:
            location = list(fields(v))
            lines = [collections.defaultdict(int, fields(w)) for m, w in location if m == 4]
            places[dict(location)[1]] = [(*functions[x[1]], x[2]) for x in lines]
    lines = collections.defaultdict(collections.Counter)
    for n, v in message:
        if n == 2:
            sample = dict(fields(v))
            seen = {place for i in numbers(sample[1]) for place in places[i]}
            for name, start, line in seen:
                lines[re.split(r"[.#:]", name)[-1]][start, line] += numbers(sample[2])[0]
    return lines


def marks(program):
    """Returns {name: lines that end in `at NAME`} and {name: line of its definition}."""
    at, starts = collections.defaultdict(set), {}
    with open(program, encoding="utf-8") as f:
        for i, text in enumerate(f, 1):
            m = re.search(r"(?:#|//|--|%) at (\w+)$", text)
            if m:
                at[m[1]].add(i)
            m = re.match(r"[\w\s]*\b(?:def|sub|function) (?:\w+[.:])?(\w+)", text)
            if m:
                starts[m[1]] = i
    return at, starts


def record_with_lines(shop, commands):
    """Records COMMANDS at once. Returns the Recording and a pprof file for function_lines()."""
    path, folded = shop.path("shapes.pb.gz"), shop.path("shapes.folded")
    made = cameo("record", "-F", str(MACHINE.frequency(997)), "-o", path, "--", *together(commands))
    expect(made.returncode == 0, made.stderr)
    turned = cameo("convert", "-q", "--sample-type", "samples", path, folded)
    expect(turned.returncode == 0, turned.stderr)
    with open(folded, encoding="utf-8") as f:
        return Recording(parse_folded(f.read()), made.stderr, made.returncode), path


def expect_lines(name, counts, right):
    """Expects all but a few samples in function NAME to be at the lines RIGHT."""
    good = sum(n for (_, line), n in counts.items() if line in right)
    expect(good and sum(counts.values()) - good <= max(0.05 * sum(counts.values()), SPARE),
           f"{name}: lines {dict(counts)}, not {sorted(right)}")


def judge_lines(path, runtime, callers, slack=0, unknown=False):
    """Checks the lines of the calls in the shape `chain`, and those that `hot` ran.

    SLACK: how many lines of CALLERS a line may be off, where an instruction is of the
    statement around it. Such interpreters have the call's own line until the first
    statement of a function begins, so a sample may show that of a caller. UNKNOWN: there are
    places without a line, in a function's first and last instructions.
    """
    lines = function_lines(path)
    at, _ = marks(runtime.program)
    called = {m for marked in at.values() for m in marked} if slack else set()
    for name in callers:
        near = {m + off for m in at[name] for off in range(-slack, slack + 1)}
        expect_lines(name, lines[name], near | called | ({0} if unknown else set()))
        expect(near & {line for _, line in lines[name]}, f"{name}: {lines[name]}")
    got = {line for _, line in lines["hot"]}
    expect(at["hot"] & got, f"hot: lines {sorted(got)}")


def judge_running(runtime, chain, leaf, start=START, most_elsewhere=0.2):
    """The program starts before Cameo, which attaches to its PID."""
    need_here()
    program = spawn(*runtime.run("chain", 60000))
    try:
        recording = record_while_running("-p", str(program.pid), processes=[program])
    finally:
        end(program)
    stale = [s for s in recording.stacks if "[stale function]" in s.frames]
    expect(are_rare(stale, recording.stacks, STALE), "too many stale functions:", show(stale), recording.said)
    recording.stacks = [s for s in recording.stacks if s not in stale]
    recording.judge("chain", chain, leaf=leaf, start=start, most_elsewhere=most_elsewhere)


def judge_shapes(tap, shop, runtime, shapes, leaf, ms, late=RARE):
    """LATE: the share of samples that may precede the moment in which the runtime is known."""
    recording, path = record_with_lines(shop, [runtime.run(s, ms) for s in shapes])
    for shape, chains in shapes.items():
        tap.run(f"{runtime.name}: {shape}", lambda s=shape, c=chains: recording.judge(
            s, *c, leaf=leaf, start=r".*", most_elsewhere=0.35,
            share=min(SHARE_DEEP, 1 - late) if s == "recursion" else 1 - late))
    return path


def main(pattern, program, shapes, callers, leaf, slack=0, unknown=False, start=START, ms=MS,
         variants=None, has=lambda runtime, more: True):
    """The test of a language: SHAPES is {shape: [chains]}; START begins a running process's stacks.

    VARIANTS is {name: further arguments of the interpreter}, restricted to those that HAS accepts.
    """
    need_bpf()
    tap = Tap()
    found = runtimes(pattern, program)
    if not found:
        tap.skip(pattern, "it is not installed")
    with Workshop() as shop:
        for runtime in found:
            path = judge_shapes(tap, shop, runtime, shapes, leaf, ms)
            tap.run(f"{runtime.name}: lines", judge_lines, path, runtime, callers, slack,
                    unknown)
            tap.run(f"{runtime.name}: a running process", judge_running, runtime,
                    shapes["chain"][0], leaf, start)
            for name, more in (variants or {}).items():
                if not has(runtime, more):
                    tap.skip(f"{runtime.name} {name}", "it was built without this feature")
                    continue
                judge_shapes(tap, shop, runtime.told(name, more), shapes, leaf, ms)
    tap.done()
