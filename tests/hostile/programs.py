#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Malformed processes and files harm nobody else's stacks, and the reason is reported."""
import os
import random
import shutil
import struct

from attack import attack, need_root
from cameo import ENOUGH, Tap, Workshop, are_rare, expect, holds, is_in, is_whole, show, total, user_frames

MS = 500
MAIN = "_start __libc_start_main.* ... main "
MAPPINGS = 60000
PAGE = 4096

# mov %rdi,%rcx; 1: dec %rcx; jnz 1b; mov %rdi,%rax; ret, the code that run_file calls
LOOP = bytes.fromhex("4889f948ffc975fb4889f8c3")


def many_mappings(shop):
    program = shop.c("mappings")
    recording = attack(shop, [[program, MS, MAPPINGS, program]]).recording
    recording.judge("mappings", MAIN + "hot", leaf="hot", most_elsewhere=0.9)


def scribbled_stack(shop):
    """One thread's stack is overwritten while it is walked."""
    recording = attack(shop, [[shop.c("scribble", "-pthread"), 2 * MS]]).recording
    ours = recording.of("scribble")
    victim = [s for s in ours if is_in(s, "victim")]
    expect(total(victim) >= ENOUGH, show(ours))
    cut = [s for s in victim if not is_whole(s)]
    expect(cut, "none of the walks failed:", show(victim))
    expect(" incomplete: " in recording.said, recording.said)
    main = [s for s in ours if is_in(s, "main")]
    expect(are_rare([s for s in main if not is_whole(s)], main), show(main))


def odd_files(shop):
    """A program of 2 GB, most of which is a hole, and one without its end, where symbols and section headers are."""
    large = shutil.copy(shop.c("chain"), shop.path("large"))
    os.truncate(large, 2 << 30)
    truncated = shutil.copy(shop.c("chain"), shop.path("truncated"))
    with open(truncated, "rb") as f:
        sections = struct.unpack_from("<Q", f.read(64), 40)[0]
    os.truncate(truncated, sections)
    recording = attack(shop, [[large, MS], [truncated, MS]]).recording
    recording.judge("large", MAIN + "outer middle hot")
    ours = recording.of("truncated")
    expect(total(ours) >= ENOUGH and are_rare([s for s in ours if not is_whole(s)], ours),
           show(ours))


def record_garbage(shop, contents):
    """Code in files with false metadata, each in a program of the same name."""
    program = shop.c("run_file", "-O0")
    commands = []
    for name, header in contents.items():
        path = shop.path(name + ".code")
        with open(path, "wb") as f:
            f.write(header.ljust(PAGE, b"\0")[:PAGE] + LOOP.ljust(PAGE, b"\xcc"))
        commands.append([shop.link(program, name), MS, path, PAGE])
    return attack(shop, commands).recording


def garbage(recording, name):
    ours = [s for s in recording.of(name) if any(name + ".code" in f for f in user_frames(s))]
    expect(total(ours) >= ENOUGH, "the file is missing in the stacks:", show(recording.stacks))
    # no rows: the walk may end, or continue by the frame pointer; the error frame names which
    wrong = [s for s in ours if is_whole(s) and not holds(s, MAIN + "...")]
    expect(are_rare(wrong, ours), show(wrong))


BUILD_ID = struct.pack("<III4s", 4, 20, 3, b"GNU")  # the beginning of the build id's note


def with_build_id(header, byte):
    """Returns HEADER with another build id, because files with equal ids count as the same."""
    at = header.find(BUILD_ID) + len(BUILD_ID)
    expect(at > len(BUILD_ID), "the program's first page has no build id")
    return header[:at] + bytes([byte] * 20) + header[at + 20:]


def headers(shop):
    """Returns beginnings of files, by their error."""
    with open(shop.c("chain"), "rb") as f:
        real = bytearray(f.read(PAGE))
    noise = random.Random(4).randbytes(PAGE)
    lying = bytearray(real)
    struct.pack_into("<H", lying, 56, 0xffff)  # program headers beyond the end
    overlapping = bytearray(real)
    for i in range(struct.unpack_from("<H", real, 56)[0]):
        struct.pack_into("<QQQ", overlapping, 64 + 56 * i + 8, 0, 0, 0)
    return {
        "noise": noise,
        "half-noise": bytes(real[:64]) + noise[64:],
        "a real header and nothing after it": bytes(real),
        "too many program headers": with_build_id(bytes(lying), 1),
        "overlapping segments": with_build_id(bytes(overlapping), 2),
        "nothing": b"",
    }


UNREADABLE = r"\[(stale|unreadable) function\]"
# argument of the program: description, expected frames
PYTHONS = {
    "garbage": ("garbage frames of a false Python", UNREADABLE + "|_PyEval_EvalFrameDefault"),
    "circle": ("circular frames of a false Python", UNREADABLE),
    "name": ("a name of a billion characters", UNREADABLE),
}


def record_python(shop):
    """Programs that imitate CPython with false data."""
    program = shop.c("false_python", "-rdynamic", "-Wl,--hash-style=both")
    return attack(shop, [[shop.link(program, "py-" + kind), MS, kind] for kind in PYTHONS]).recording


def false_python(recording, kind, expected):
    """Expects error frames in the false program."""
    ours = recording.of("py-" + kind)
    expect(total(ours) >= ENOUGH, show(ours))
    reported = [s for s in ours if is_in(s, expected)]
    expect(total(reported) >= 0.9 * total(ours), f"not {expected}:", show(ours))
    for s in recording.stacks:
        expect(all(len(f) < 2000 for f in s.frames), "a very long name")


def false_node(shop):
    """Programs that imitate V8 with false data have complete stacks."""
    program = shop.c("false_node", "-rdynamic", "-Wl,--hash-style=both")
    kinds = ("garbage", "circle", "name")
    recording = attack(shop, [[shop.link(program, f"v8-{kind}"), MS, kind] for kind in kinds]).recording
    for kind in kinds:
        expected = "generated code" if kind == "garbage" else "(stale|unreadable) function"
        expected = rf"\[{expected}\]".replace(" ", ".")
        recording.judge(f"v8-{kind}", MAIN + "outer " + expected, leaf=expected)
    for s in recording.stacks:
        expect(all(len(f) < 2000 for f in s.frames), "a very long name")


# comm: the program's argument, and the name of its function
BOMBS = {f"map-bomb-{i}": ("map-bomb", "mapped_function") for i in range(4)}
BOMBS |= {f"dump-bomb-{i}": ("dump-bomb", "dumped_function") for i in range(3)}


def symbol_bombs(shop):
    """Perf maps of 200 MiB and jitdumps of 1 GiB are read or reported, and memory does not depend on them."""
    program = shop.c("generated")
    outcome = attack(shop, [[shop.link(program, comm), 4 * MS, how] for comm, (how, _) in BOMBS.items()])
    for comm, (_, name) in BOMBS.items():
        # on a busy machine there is no time for all of them
        name = rf"({name}|\[anonymous.code:.symbol.file.is.too.slow\])"
        # the rest of the time, they write their files
        outcome.recording.judge(comm, MAIN + "outer " + name, leaf=name, most_elsewhere=0.9)


def main():
    need_root()
    tap = Tap()
    with Workshop() as shop:
        tap.run(f"{MAPPINGS} mappings", many_mappings, shop)
        tap.run("a stack that changes while it is walked", scribbled_stack, shop)
        tap.run("a program of 2 GB and a truncated one", odd_files, shop)
        contents = {name: (f"garbage-{i}", header)
                    for i, (name, header) in enumerate(headers(shop).items())}
        recording = record_garbage(shop, dict(contents.values()))
        for name, (comm, _) in contents.items():
            tap.run(f"code in a file of {name}", garbage, recording, comm)
        recording = record_python(shop)
        for kind, (name, expected) in PYTHONS.items():
            tap.run(name, false_python, recording, kind, expected)
        tap.run("programs that imitate V8", false_node, shop)
        tap.run("perf maps and jitdumps of hundreds of MiB", symbol_bombs, shop)
    tap.done()


main()
