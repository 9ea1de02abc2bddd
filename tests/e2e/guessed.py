#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generated code without frame pointers and unwind tables in real programs: what is found by search is marked, and is code.

PCRE's JIT (in PHP and in grep), QEMU's TCG, and SBCL, whose code keeps frame pointers. Node.js and LuaJIT, whose generated code has rules, are the counterexamples.
"""
import os
import re
import subprocess

from cameo import ENOUGH, PROGRAMS, RARE, TOP, Tap, Workshop, cameo, expect, need, need_bpf
from pprof import Profile

SECONDS = "3"
BENCH = os.path.join(TOP, "bench", "programs")
ANONYMOUS = "[anonymous code]"
# name: (command, comm, the least share of marked stacks, the greatest)
PROGRAM = {
    "PHP's regular expressions": (["php", f"{BENCH}/regex.php", SECONDS], "php", 0.2, 1),
    "grep -P": (["grep", "-cP", r"(?:[0-9a-f]{2}){8,}(?= )|\w+@\w+\.com"] + 8 * ["TEXT"], "grep", 0.02, 1),
    "QEMU": (["qemu-x86_64", "GUEST", SECONDS], "qemu-x86_64", 0.5, 1),
    "SBCL": (["sbcl", "--script", f"{PROGRAMS}/lisp/chain.lisp", "1500"], "sbcl", 0.9, 1),
    "LuaJIT": (["luajit", f"{BENCH}/traces.lua", SECONDS], "luajit", 0, 0.02),
    "Node.js, asm.js and WebAssembly": (["node", f"{PROGRAMS}/node/names.js", "1500"], "node|MainThread", 0, 0.02),
}
WHOLE = 0.97
# Until a program is known, copies of its stacks are walked later, and what is beyond the copy may have changed. How
# many samples that are depends on how busy the machine is.
LATE = "[incomplete: stack changed before it was read]"
KNOWN = 0.9


class Code:
    """The executable segments of ELF files; all of another file (SBCL's core)."""

    def __init__(self):
        self.files = {}

    def holds(self, path, addr):
        if path not in self.files:
            out = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=False).stdout
            self.files[path] = [(int(at, 16), int(at, 16) + int(size, 16)) for at, size, flags in re.findall(
                r"LOAD\s+\w+ (\w+) \w+ \w+ (\w+) (R?W?\s?E?)", out) if "E" in flags] if out else [(0, 2**64)]
        return any(start <= addr < end for start, end in self.files[path])


def arguments(shop, command):
    """Replaces the names of files that have to be made."""
    if "GUEST" in command:
        need("gcc")
        guest = shop.path("guest")
        subprocess.run(["gcc", "-O2", "-static", f"{BENCH}/guest.c", "-o", guest], check=True)
        return [guest if c == "GUEST" else c for c in command]
    if "TEXT" in command:
        with open(shop.path("text"), "w", encoding="ascii") as f:
            for i in range(400000):
                f.write(f"user{i}@example{i}.org foo {i * 2654435761 % 2**32:08x}{i * 40503 % 2**32:08x} bar {i}\n")
        return [shop.path("text") if c == "TEXT" else c for c in command]
    return command


def judge(shop, name):
    command, comm, least, most = PROGRAM[name]
    need(command[0])
    path = shop.path("guessed.pb.gz")
    r = cameo("record", "-F", "997", "-o", path, "--", *arguments(shop, command))
    expect(os.path.exists(path), r.stderr)
    with open(path, "rb") as f:
        profile = Profile(f.read())
    ours = [s for s in profile.samples if s[0] and re.fullmatch(comm, s[1].get("comm", ""))]
    n = sum(s[2][0] for s in ours)
    marked = sum(s[2][0] for s in ours if s[1].get("unwind") == "search")
    late = sum(s[2][0] for s in ours if s[0][0] == LATE)
    cut = sum(s[2][0] for s in ours if s[0][0].startswith("[incomplete")) - late
    unmarked = sum(s[2][0] for s in ours if ANONYMOUS in s[0] and s[1].get("unwind") != "search")
    print(f"# {name}: {n} samples, {marked / max(1, n):.1%} found by search, {cut / max(1, n):.2%} incomplete, "
          f"{late / max(1, n):.2%} changed", flush=True)
    expect(n >= ENOUGH, f"{n} samples", r.stderr)
    expect(least * n <= marked <= most * n, f"{marked} of {n} are marked", r.stderr)
    expect(cut <= (1 - WHOLE) * n, f"{cut} of {n} are incomplete", r.stderr)
    expect(late <= (1 - KNOWN) * n, f"{late} of {n} changed before they were read", r.stderr)
    expect(unmarked <= max(RARE * n, 3), f"{unmarked} of {n} hold generated code and are not marked")
    code = Code()
    false = [(address, profile.mappings[m][0]) for m, address, _ in profile.locations.values()
             if m in profile.mappings and os.path.isfile(profile.mappings[m][0]) and not code.holds(profile.mappings[m][0], address)]
    expect(not false, "frames at addresses that are not code:", false)


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        for name in PROGRAM:
            tap.run(name, judge, shop, name)
    tap.done()


main()
