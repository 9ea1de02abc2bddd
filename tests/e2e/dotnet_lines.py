#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Frames of .NET have the lines that the runtime's own stack trace has.

A program writes its stacks with method, IL offset and line, once for each chain of calls, and samples of the same
chains are compared with it. mcs writes lines in a form of its own, of which tests/programs/dotnet/embed_lines.cs makes
a portable PDB, in the assembly or next to it. Without one, frames have the IL offset as their address.
"""
import collections
import functools
import glob
import gzip
import os
import subprocess

import cameo
from cameo import PROGRAMS, Skip, Tap, Workshop, expect, need
from dotnet_runtimes import all_runtimes, command, compile_program
from interpreted import fields, numbers

MS = 200
SHARE = 0.95
LIBRARIES = "/usr/lib/mono/gac/Mono.Cecil/0.1[1-9]*/Mono.Cecil.dll"
IN_CATCH = 41  # offset of the statement with Hot in the clause
SOURCE = os.path.join(PROGRAMS, "dotnet", "lines.cs")
Frame = collections.namedtuple("Frame", "name file line address")


def stacks_of(path):
    """Returns [(frames, leaf first; samples)] of a pprof file."""
    with gzip.open(path) as f:
        message = list(fields(f.read()))
    strings = [v.decode() for n, v in message if n == 6]
    functions, locations, out = {}, {}, []
    for n, v in message:
        if n == 5:
            f = collections.defaultdict(int, fields(v))
            functions[f[1]] = strings[f[2]], strings[f[4]]
    for n, v in message:
        if n == 4:
            location = collections.defaultdict(int, fields(v))
            lines = [collections.defaultdict(int, fields(w)) for m, w in fields(v) if m == 4]
            locations[location[1]] = [Frame(*functions[x[1]], x[2], location[3]) for x in lines]
    for n, v in message:
        if n == 2:
            sample = dict(fields(v))
            out.append(([f for i in numbers(sample[1]) for f in locations[i]], numbers(sample[2])[0]))
    return out


def ours(frames):
    """Returns the frames of the program from Hot to Main, or an empty list."""
    own = [f for f in frames if f.name.startswith("Lines.")]
    names = [f.name for f in own]
    if "Lines.Program.Hot" not in names or "Lines.Program.Trace" in names:
        return []
    # before .NET 9, a catch clause runs on top of the method that threw, and of its own method
    if "Lines.Program.Fails" in names:
        at = names.index("Lines.Program.Fails")
        del own[at:at + 2]
    return own[names.index("Lines.Program.Hot"):]


def chains_of(text):
    """Returns the chains that the program wrote: lists of (method, IL offset, line), from Hot on."""
    chains = {tuple(tuple(map(int, line.split())) for line in chain.splitlines())
              for chain in text.strip().split("\n\n")}
    expect(len({c[-1] for c in chains}) == 4 and all(len(c) >= 4 for c in chains), text)
    return chains


def marked(mark):
    with open(SOURCE, encoding="utf-8") as f:
        return next(i for i, text in enumerate(f, 1) if text.rstrip().endswith(f"// {mark}"))


def read_table(text):
    """Returns {method: [(IL offset, line)]} of the sequence points that embed_lines wrote."""
    table = collections.defaultdict(list)
    for line in text.splitlines():
        method, il, number, _ = map(int, line.split())
        if number:
            table[method].append((il, number))
    return table


def lines_of(chain, table):
    """Returns the lines of Hot's callers in a chain. A runtime that has read the PDB agrees with the table."""
    out = []
    for method, il, known in chain:
        line = max((p for p in table[method] if p[0] <= il), default=(0, 0))[1]
        expect(known in (0, line), f"method {method} at {il}: line {line}, the runtime has {known}")
        out.append(line)
    return tuple(out[1:])


def compile_tool(shop):
    need("mcs", "mono")
    libraries = sorted(glob.glob(LIBRARIES))
    if not libraries:
        raise Skip("Mono.Cecil is not installed")
    out = shop.path("embed_lines.exe")
    r = subprocess.run(["mcs", "-nologo", f"-out:{out}", f"-r:{libraries[-1]}", "-r:Mono.CompilerServices.SymbolWriter.dll",
                        os.path.join(PROGRAMS, "dotnet", "embed_lines.cs")], capture_output=True, text=True, check=False)
    if r.returncode:
        raise Skip(f"Mono's libraries differ: {r.stderr.splitlines()[:1]}")
    return out


def build(tool, tables, where, shop, name, *args):
    """Makes the program with its lines, WHERE they are for the tool. Adds them to TABLES."""
    plain = compile_program("lines.cs", shop, f"plain-{name}", "-debug", *args)
    out = shop.path(name)
    r = subprocess.run(["mono", tool, plain, out, *where], capture_output=True, text=True, check=False)
    expect(r.returncode == 0, r.stdout, r.stderr)
    tables[out] = read_table(r.stdout)
    return out


def run(shop, runtime):
    """Records the program. Returns the chains that it wrote, and its stacks."""
    path, wrote = shop.path("out.pb.gz"), shop.path("wrote")
    r = cameo.cameo("record", "-F", "997", "-o", path, "--", "sh", "-c", f'exec "$@" >{wrote}', "sh",
                    *command(runtime, MS))
    expect(r.returncode == 0, r.stderr)
    with open(wrote, encoding="ascii") as f:
        return chains_of(f.read()), [(ours(frames), n) for frames, n in stacks_of(path)]


def expect_chains(stacks, place, right, in_catch):
    """Expects that nearly all samples have one of the chains RIGHT, in all four ways from Main to Hot.

    A clause has a frame of its own. The runtime's stack trace has that of its method instead, at the call in "try", so
    the place IN_CATCH is expected from the clause.
    """
    counts = collections.Counter()
    for frames, n in stacks:
        if frames:
            is_catch = frames[1].name.endswith(".ByCatch")
            expect(not is_catch or place(frames[1]) == in_catch or n < 3, f"a clause at {frames[1]}, not {in_catch}")
            counts[tuple(place(f) for f in frames[2 if is_catch else 1:])] += n
    total = sum(counts.values())
    right = right | {c[1:] for c in right}
    good = sum(n for chain, n in counts.items() if chain in right)
    expect(total >= cameo.ENOUGH and good >= SHARE * total and len({c[-1] for c in counts if c in right}) == 4,
           f"{good} of {total}:", *map(str, counts.most_common(20)), f"not {sorted(right)}")


def judge(tables, runtime, shop):
    chains, stacks = run(shop, runtime)
    table = next(iter(tables.values()))
    files = {f.file for frames, _ in stacks for f in frames}
    expect(files == {SOURCE}, files)
    expect_chains(stacks, lambda f: f.line, {lines_of(c, table) for c in chains}, marked("in catch"))
    leaves, hot = collections.Counter(), marked("hot")
    for frames, n in stacks:
        if frames:
            leaves[frames[0].line] += n
    expect(leaves[hot - 1] + leaves[hot] >= SHARE * leaves.total(), leaves)


def judge_offsets(runtime, shop):
    chains, stacks = run(shop, runtime)
    expect_chains(stacks, lambda f: f.address, {tuple(il for _, il, _ in c[1:]) for c in chains}, IN_CATCH)
    expect(not any(f.line or f.file for frames, _ in stacks for f in frames), "lines without a PDB")


def judge_file(tables, runtime, shop):
    judge(tables, runtime, shop)
    # the PDB of another build has another id
    path = shop.path("program.pdb")
    with open(path, "rb") as f:
        data = bytearray(f.read())
    at = data.index(b"#Pdb\0") - 8
    data[int.from_bytes(data[at:at + 4], "little")] ^= 1
    with open(path, "wb") as f:
        f.write(data)
    judge_offsets(runtime, shop)


def main():
    cameo.need_bpf()
    tap = Tap()
    with Workshop() as shop, Workshop() as plain_shop, Workshop() as file_shop:
        tables = {}
        try:
            tool = compile_tool(shop)
            found = all_runtimes(shop, functools.partial(build, tool, tables, []))
            plain = all_runtimes(plain_shop, functools.partial(compile_program, "lines.cs"))[:1]
            in_file = all_runtimes(file_shop, functools.partial(build, tool, tables, ["file"]))[:1]
        except Skip as e:
            found = plain = in_file = []
            tap.skip(".NET", e)
        for runtime in found:
            tap.run(f".NET {runtime.version}: lines", judge, tables, runtime, shop)
        for runtime in plain:
            tap.run(f".NET {runtime.version}: IL offsets without a PDB", judge_offsets, runtime, plain_shop)
        for runtime in in_file:
            tap.run(f".NET {runtime.version}: lines of a PDB next to the assembly", judge_file, tables, runtime, file_shop)
    tap.done()


main()
