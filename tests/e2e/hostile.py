#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes and files that are not as they should be: nothing crashes, and it is said why."""
import os
import random
import shutil
import struct

from cameo import ENOUGH, Tap, Workshop, are_rare, expect, expect_kept, holds, is_in, is_whole, \
    need_bpf, record, show, together, total, user_frames

MS = 500
MAIN = "_start __libc_start_main.* ... main "
MAPPINGS = 20000
PAGE = 4096

# mov %rdi,%rcx; 1: dec %rcx; jnz 1b; mov %rdi,%rax; ret: what run_file calls
LOOP = bytes.fromhex("4889f948ffc975fb4889f8c3")


def sound(recording):
    """It ended as it should and lost nothing; its stacks all begin somewhere."""
    expect(recording.status == 0, recording.status, recording.said)
    expect_kept(recording.said)
    for s in recording.stacks:
        expect(s.frames, show([s]))


def many_mappings(shop):
    program = shop.c("mappings")
    recording = record("--", program, str(MS), str(MAPPINGS), program)
    sound(recording)
    recording.judge("mappings", MAIN + "hot", leaf="hot", most_elsewhere=0.9)


def scribbled_stack(shop):
    """One thread's stack is overwritten while it is walked."""
    recording = record("--", shop.c("scribble", "-pthread"), str(2 * MS))
    sound(recording)
    ours = recording.of("scribble")
    victim = [s for s in ours if is_in(s, "victim")]
    expect(total(victim) >= ENOUGH, show(ours))
    cut = [s for s in victim if not is_whole(s)]
    expect(cut, "not one of the walks failed:", show(victim))
    expect("end early" in recording.said, recording.said)
    main = [s for s in ours if is_in(s, "main")]
    expect(are_rare([s for s in main if not is_whole(s)], main), show(main))


def large_file(shop):
    """A program of 2 GB, most of it a hole."""
    program = shutil.copy(shop.c("chain"), shop.path("large"))
    os.truncate(program, 2 << 30)
    recording = record("--", program, str(MS))
    sound(recording)
    recording.judge("large", MAIN + "outer middle hot")


def truncated_file(shop):
    """A program whose end (its symbols and section headers) is gone."""
    program = shutil.copy(shop.c("chain"), shop.path("truncated"))
    with open(program, "rb") as f:
        sections = struct.unpack_from("<Q", f.read(64), 40)[0]
    os.truncate(program, sections)
    recording = record("--", program, str(MS))
    sound(recording)
    ours = recording.of("truncated")
    expect(total(ours) >= ENOUGH and are_rare([s for s in ours if not is_whole(s)], ours),
           show(ours))


def record_garbage(shop, contents):
    """Code in files that say of themselves what is not true, each in a program called as it."""
    program = shop.c("run_file", "-O0")
    commands = []
    for name, header in contents.items():
        path = shop.path(name + ".code")
        with open(path, "wb") as f:
            f.write(header.ljust(PAGE, b"\0")[:PAGE] + LOOP.ljust(PAGE, b"\xcc"))
        commands.append([shop.link(program, name), MS, path, PAGE])
    return record("--", *together(commands))


def garbage(recording, name):
    sound(recording)
    ours = [s for s in recording.of(name) if any(name + ".code" in f for f in user_frames(s))]
    expect(total(ours) >= ENOUGH, "the file does not appear:", show(recording.stacks))
    # no rows: the walk may not go on, or may by the frame pointer; but it says which
    wrong = [s for s in ours if is_whole(s) and not holds(s, MAIN + "...")]
    expect(are_rare(wrong, ours), show(wrong))


BUILD_ID = struct.pack("<III4s", 4, 20, 3, b"GNU")  # what the note begins with


def with_build_id(header, byte):
    """HEADER with another build id: by that two files are the same."""
    at = header.find(BUILD_ID) + len(BUILD_ID)
    expect(at > len(BUILD_ID), "no build id in the program's first page")
    return header[:at] + bytes([byte] * 20) + header[at + 20:]


def headers(shop):
    """Beginnings of files, by what is wrong with them."""
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
        "a real header and nothing behind": bytes(real),
        "too many program headers": with_build_id(bytes(lying), 1),
        "segments on top of each other": with_build_id(bytes(overlapping), 2),
        "nothing": b"",
    }


UNREADABLE = r"\[(stale|unreadable) function\]"
# what the program is told: what it does, and the names of its frames
PYTHONS = {
    "garbage": ("frames of a false Python that are garbage", UNREADABLE + "|_PyEval_EvalFrameDefault"),
    "circle": ("frames of a false Python that go round in a circle", UNREADABLE),
    "name": ("a name of a billion characters", UNREADABLE),
}


def record_python(shop):
    """Programs that say they are CPython, with nothing true behind it, and another."""
    program = shop.c("false_python", "-rdynamic", "-Wl,--hash-style=both")
    return record("--", *together([*([shop.link(program, "py-" + kind), MS, kind] for kind in PYTHONS),
                                   [shop.c("chain"), MS]]))


def false_python(recording, kind, shown):
    """The other program is not affected."""
    sound(recording)
    recording.judge("chain", MAIN + "outer middle hot")
    ours = recording.of("py-" + kind)
    expect(total(ours) >= ENOUGH, show(ours))
    told = [s for s in ours if is_in(s, shown)]
    expect(total(told) >= 0.9 * total(ours), f"not {shown}:", show(ours))
    for s in recording.stacks:
        expect(all(len(f) < 2000 for f in s.frames), "a very long name")


def false_node(shop):
    """Programs that say they are V8, with nothing true behind it: their frames are whole."""
    program = shop.c("false_node", "-rdynamic", "-Wl,--hash-style=both")
    kinds = ("garbage", "circle", "name")
    recording = record("--", *together([[shop.link(program, f"v8-{kind}"), MS, kind]
                                        for kind in kinds]))
    sound(recording)
    for kind in kinds:
        shown = "generated code" if kind == "garbage" else "(stale|unreadable) function"
        shown = rf"\[{shown}\]".replace(" ", ".")
        recording.judge(f"v8-{kind}", MAIN + "outer " + shown, leaf=shown)
    for s in recording.stacks:
        expect(all(len(f) < 2000 for f in s.frames), "a very long name")


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        tap.run(f"{MAPPINGS} mappings", many_mappings, shop)
        tap.run("a stack that changes while it is walked", scribbled_stack, shop)
        tap.run("a program of 2 GB", large_file, shop)
        tap.run("a program without its end", truncated_file, shop)
        contents = {name: (f"garbage-{i}", header)
                    for i, (name, header) in enumerate(headers(shop).items())}
        recording = record_garbage(shop, dict(contents.values()))
        for name, (comm, _) in contents.items():
            tap.run(f"code in a file of {name}", garbage, recording, comm)
        recording = record_python(shop)
        for kind, (name, shown) in PYTHONS.items():
            tap.run(name, false_python, recording, kind, shown)
        tap.run("programs that say they are V8", false_node, shop)
    tap.done()


main()
