#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of unusual shape: deep, through libraries and signals, on separate stacks, in assembler."""
import re

from cameo import ENOUGH, MACHINE, START, Skip, Tap, Workshop, are_rare, expect, holds, is_whole, need, need_bpf, \
    record, show, together, total, user_frames

MS = MACHINE.ms(400)
MAIN = "_start __libc_start_main.* ... main "
DEPTHS_WHOLE = 400, 1000
DEPTH_CUT = 1200

# name: comm, arguments, arguments of judge()
SHAPES = {
    "callback through qsort": ("callback", [], [MAIN + "outer ... .*qsort.* ... compare hot"], {}),
    "inside a signal handler": ("signals", [], [MAIN + "outer middle .* handler hot"], {}),
    "on the alternate signal stack":
        ("altstack", ["altstack"], [MAIN + "outer middle .* handler hot"], {}),
    "inside the vDSO":
        ("vdso", [], [MAIN + r"outer middle ... .*(__vdso_clock_gettime|\[vdso\+0x).* ..."],
         {"leaf": ".*vdso.*|middle|clock_gettime", "share": 0.5}),
    "a coroutine of makecontext": ("makecontext", ["makecontext"], [r"(\[context.start\]|__start_context) body middle hot"], {}),
    "a stack switched by hand": ("switch", ["switch"], ["body middle hot"], {"start": ".*"}),
    "a stack that begins with abort()":
        ("abort", ["abort"], ["body middle hot"], {"start": ".*"}),
}
ALIAS = {"altstack": "signals", "makecontext": "coroutine", "switch": "coroutine",
         "abort": "coroutine"}

CIPHERS = "aes-256-cbc", "aes-128-gcm", "sha256", "rsa2048"


def judge_depth(recording, depth):
    """Expects one complete chain of exactly DEPTH calls of deep."""
    recording.judge(f"deep-{depth}", MAIN + "... deep hot")
    hot = [s for s in recording.of(f"deep-{depth}") if "hot" in s.frames]
    wrong = [s for s in hot if s.frames.count("deep") != depth]
    expect(are_rare(wrong, hot), f"{total(wrong)} of {total(hot)} samples do not have {depth} frames:",
           *(f"{s.frames.count('deep')}: {show([s])[:200]}" for s in wrong))


def judge_cut(recording, depth):
    """Expects as many frames as the limit allows, and one that reports the truncation."""
    ours = [s for s in recording.of(f"deep-{depth}") if "hot" in s.frames]
    expect(total(ours) >= ENOUGH, f"{total(ours)} samples")
    wrong = [s for s in ours if not s.frames[0].startswith("[incomplete: more than") or
             len(user_frames(s)) != 1024 + 1]
    expect(are_rare(wrong, ours), f"{total(wrong)} of {total(ours)} samples have other frames:",
           *(f"{len(user_frames(s))}: {show([s])[:200]}" for s in wrong))
    expect("more than 1024 frames" in recording.said, recording.said)


def recursion(tap, shop):
    program = shop.c("recursion")
    depths = [*DEPTHS_WHOLE, DEPTH_CUT]
    # a link for each depth distinguishes the samples
    commands = [[shop.link(program, f"deep-{n}"), MS, n] for n in depths]
    recording = record("--", *together(commands))
    for depth in DEPTHS_WHOLE:
        tap.run(f"{depth} frames of recursion are complete", judge_depth, recording, depth)
    tap.run(f"{DEPTH_CUT} frames are truncated, and reported", judge_cut, recording, DEPTH_CUT)


def shapes(tap, shop):
    built = {name: shop.c(name) for name in ("callback", "signals", "vdso", "coroutine")}
    commands = [[shop.link(built[ALIAS.get(comm, comm)], comm), MS, *args]
                for comm, args, _, _ in SHAPES.values()]
    recording = record("--", *together(commands))
    for name, (comm, _, chains, how) in SHAPES.items():
        tap.run(name, lambda c=comm, ch=chains, h=how: recording.judge(c, *ch, **h))
    tap.run("the stacks through the vDSO are complete", whole, recording, "vdso")


def whole(recording, comm):
    ours = recording.of(comm)
    cut = [s for s in ours if not is_whole(s)]
    expect(total(ours) >= ENOUGH and are_rare(cut, ours),
           f"{total(cut)} of {total(ours)} are incomplete:", show(cut))


def wrong_cfi(shop):
    """Expects stacks that end at a misread zero to report it, and none to pass for a complete one."""
    recording = record("--", shop.c("wrong_cfi"), str(MS))
    ours = [s for s in recording.of("wrong_cfi") if "hot" in s.frames]
    chain = [r"\[incomplete: implausible root\]", "miscounted", "hot"]
    wrong = [s for s in ours if not holds(s, chain)]
    expect(total(ours) >= ENOUGH // 4 and are_rare(wrong, ours),
           f"{total(wrong)} of {total(ours)} samples:", show(wrong))


def late(shop):
    lib = shop.build("late_lib.so", "gcc", "late_lib.c", "-O2", "-fomit-frame-pointer", "-shared",
                     "-fPIC")
    recording = record("--", shop.c("late"), str(2 * MS), lib)
    recording.judge("late", MAIN + "early_hot", MAIN + "outer late_middle late_hot")


def openssl(cipher):
    if not MACHINE.has("code without CFI"):
        raise Skip("hand-written assembler has no CFI")
    need("openssl")
    args = ["-seconds", "1", cipher] if cipher.startswith("rsa") else \
        ["-seconds", "2", "-bytes", "16384", "-evp", cipher]
    recording = record("--", "openssl", "speed", *args)
    ours = recording.of("openssl")
    bottom = r"_start|\[openssl.* __libc_start_main.* ..."
    begun = [s for s in ours if is_whole(s) and holds(s, bottom)]
    loading = [s for s in ours if is_whole(s) and s not in begun and
               re.fullmatch(START, user_frames(s)[0])]
    bad = [s for s in ours if s not in begun and s not in loading]
    expect(total(begun) >= ENOUGH and are_rare(bad, ours) and total(loading) <= total(begun),
           f"{total(begun)} of {total(ours)} reach main; the others:", show(bad), show(loading),
           recording.said)


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        recursion(tap, shop)
        shapes(tap, shop)
        if MACHINE.has("x86-64"):
            tap.run("wrong CFI that leads to a zero makes no complete stack", wrong_cfi, shop)
        tap.run("a library loaded late", late, shop)
        for cipher in CIPHERS:
            tap.run(f"hand-written assembler: openssl speed {cipher}", openssl, cipher)
    tap.done()


main()
