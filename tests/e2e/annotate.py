#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cameo annotate` on real recordings: lines equal addr2line's, instructions equal objdump's."""
import collections
import gzip
import os
import re
import shutil
import subprocess

from cameo import ENOUGH, MACHINE, PROGRAMS, Tap, Workshop, cameo, expect, need, need_bpf, need_here

MS = MACHINE.ms(700)
SOURCES = os.path.join(PROGRAMS, "native")
ROW = re.compile(r"^ *(\S+) +([\d.]+)% +(\S+) +([\d.]+)% +(\d+)  (.*)$")
INSN = re.compile(r"^.{41}  ([ >])  *([0-9a-f]+):  ((?:[0-9a-f]{2} )+) *\+? *(.*)$")


class Program:
    """lines.c with its sources in a directory of its own, and a recording of it."""

    def __init__(self, shop, compiler):
        self.sources = shop.path(compiler)
        os.mkdir(self.sources)
        for name in "lines.c", "lines.h":
            shutil.copy(os.path.join(SOURCES, name), self.sources)
        self.path = shop.path(f"lines-{compiler}")
        need(compiler)
        subprocess.run([*MACHINE.compiler(compiler), "-O2", "-g", "-gdwarf-5", os.path.join(self.sources, "lines.c"),
                        "-o", self.path], check=True)
        self.recording = shop.path(f"{compiler}.pb.gz")
        r = cameo("record", "-F", str(MACHINE.frequency(997)), "-o", self.recording, "--", self.path, str(MS))
        expect(os.path.exists(self.recording), r.stderr)

    def annotate(self, *args, status=0):
        r = cameo("annotate", *args, self.recording)
        expect(r.returncode == status, r.stdout, r.stderr)
        return r.stdout if status == 0 else r.stderr


def leaves(program):
    """Returns samples by address of the leaf, from pprof's own view of the recording."""
    need("go")
    raw = subprocess.run(["go", "tool", "pprof", "-raw", program.recording], capture_output=True, text=True, check=True).stdout
    by_id = dict(re.findall(r"^ *(\d+): (0x[0-9a-f]+) ", raw.split("Locations")[1], re.M))
    found = collections.Counter()
    for count, leaf in re.findall(r"^ +(\d+) +\d+: (\d+) ", raw.split("Locations")[0], re.M):
        found[by_id[leaf]] += int(count)
    return found


def judge_lines(program):
    """Each line's self is the number of samples whose address addr2line puts there."""
    samples = leaves(program)
    expected = collections.Counter()
    for address, count in samples.items():
        out = subprocess.run([MACHINE.tool("addr2line"), "-f", "-i", "-e", program.path, address], capture_output=True, text=True,
                             check=True).stdout.split("\n")
        if out[0] in ("hot", "mix"):
            line = out[1].split(":")[1].split(" ")[0]
            expected[(out[0], line)] += count
    total = sum(samples.values())
    expect(total >= ENOUGH, f"{total} samples")
    for function in "hot", "mix":
        text = program.annotate(function)
        seen = {m[5]: float(m[2]) for m in map(ROW.match, text.splitlines()) if m and float(m[2])}
        wanted = {line: round(100 * n / total, 2) for (f, line), n in expected.items() if f == function}
        for line in seen.keys() | wanted.keys():
            expect(abs(seen.get(line, 0) - wanted.get(line, 0)) < 0.02, f"{function}:{line}", seen, wanted, text)
        for line in seen:
            expect(re.search(rf"% +{line}  .*\S", text) or line == "0", f"no source text of line {line}", text)


def judge_inlined(program):
    """Inlined code is shown below the line that it came from."""
    text = program.annotate("hot")
    expect(re.search(r"sum = mix\(sum, i\);.*\n.*\| inlined mix lines\.h:\d", text), text)


def judge_code(program):
    """Addresses, bytes and jump targets are those of objdump, and shares add up."""
    text = program.annotate("--asm", "hot")
    ours = {m[2]: (m[1], m[3].split(), m[4]) for m in map(INSN.match, text.splitlines()) if m}
    out = subprocess.run([MACHINE.tool("objdump"), "-d", "--disassemble=hot", program.path], capture_output=True, text=True,
                         check=True).stdout
    theirs = {a: b.split() for a, b in re.findall(r"^ *([0-9a-f]+):\t((?:[0-9a-f]{2} )+)", out, re.M)}
    # objdump continues long instructions in a second line
    starts = {a for a in theirs if not re.search(rf"^ *{a}:\t[0-9a-f ]+$", out, re.M)}
    expect(starts == ours.keys(), sorted(starts ^ ours.keys()), text, out)
    for address in starts:
        expect(ours[address][1][:7] == theirs[address][:7], address, ours[address], theirs[address])
    targets = {t for a, t in re.findall(r"^ *([0-9a-f]+):.*\tj\w+ +([0-9a-f]+) ", out, re.M)}
    expect({a for a, (mark, _, _) in ours.items() if mark == ">"} == targets & starts, targets, text)
    head = float(re.search(r"total \S+ \(([\d.]+)%\)", text)[1])
    shares = [float(m) for m in re.findall(r"^ *\S+ +[\d.]+% +\S+ +([\d.]+)%  [ >] +[0-9a-f]+:", text, re.M)]
    expect(abs(sum(shares) - head) < 0.01 * len(shares) + 0.01, sum(shares), head, text)


def judge_changed(program, shop):
    """A source that was changed is reported, by its MD5 or by its time."""
    copy = shop.path("copy")
    shutil.copytree(program.sources, copy)
    with open(os.path.join(copy, "lines.c"), "a", encoding="ascii") as f:
        f.write("/* changed */\n")
    text = program.annotate("--source-map", f"{program.sources}={copy}", "hot")
    expect("MD5" in text if "clang" in program.path else "newer than the recording" in text, text)
    expect("note:" not in program.annotate("hot"), "the unchanged source is reported")


def judge_wrong_binary(program, shop):
    """Machine code of another build is refused by its build id."""
    other = shop.path("other")
    subprocess.run([*MACHINE.compiler("gcc"), "-O1", os.path.join(SOURCES, "lines.c"), "-o", other], check=True)
    expect("is not the recorded file: its build id is" in program.annotate("--asm", "--binary", other, "hot", status=1))
    expect("does not exist" in program.annotate("--asm", "--binary", shop.path("none"), "hot", status=1))


def judge_stripped(program, shop):
    """The machine code of a function is shown without debug information as well."""
    stripped = shop.path("stripped")
    subprocess.run([MACHINE.tool("strip"), "-g", "-o", stripped, program.path], check=True)
    recording = shop.path("stripped.pb.gz")
    cameo("record", "-F", str(MACHINE.frequency(997)), "-o", recording, "--", stripped, str(MS))
    r = cameo("annotate", "--asm", "hot", recording)
    expect(r.returncode == 0, r.stderr)
    expect("has no source file for this function" in r.stdout, r.stdout)
    expect(len([m for m in map(INSN.match, r.stdout.splitlines()) if m]) > 10, r.stdout)


def judge_damaged(program, shop):
    """A recording that ends early is refused."""
    with open(program.recording, "rb") as f:
        whole = gzip.decompress(f.read())
    with open(shop.path("cut.pb"), "wb") as f:
        f.write(whole[:len(whole) // 2])
    r = cameo("annotate", "hot", shop.path("cut.pb"))
    expect(r.returncode == 1 and r.stderr.count("\n") == 1, r.stdout, r.stderr)


def main():
    need_bpf()
    tap = Tap()
    need_here()
    with Workshop() as shop:
        programs = {cc: Program(shop, cc) for cc in ("gcc", "clang")}
        for cc, program in programs.items():
            tap.run(f"{cc}: lines equal those of addr2line", judge_lines, program)
            tap.run(f"{cc}: inlined calls", judge_inlined, program)
            tap.run(f"{cc}: instructions equal those of objdump", judge_code, program)
        tap.run("a changed source, by its time", judge_changed, programs["gcc"], shop)
        shutil.rmtree(shop.path("copy"), ignore_errors=True)
        tap.run("a changed source, by its MD5", judge_changed, programs["clang"], shop)
        tap.run("another executable", judge_wrong_binary, programs["gcc"], shop)
        tap.run("without debug information", judge_stripped, programs["gcc"], shop)
        tap.run("a damaged recording", judge_damaged, programs["gcc"], shop)
    tap.done()


main()
