#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stack is complete only if its outermost frame is known to be outermost: each way in which stacks begin and end.

The program roots.c is linked in several ways, and stripped. Functions of stripped programs except main() are
named by their unstripped twins, so the chain has to be right, too.
"""
import collections
import os
import re
import shutil
import subprocess

from cameo import ENOUGH, TOP, Failure, Recording, Skip, Tap, Workshop, are_rare, expect, functions, holds, is_in, \
    is_whole, need, need_bpf, record, show, together, total, user_frames

MS = 300
BODY = " body middle hot"
THREAD = r"(\[thread.start\]|(__)?clone3?|start_thread)"
# way: (chain, whether such stacks are complete)
WAYS = {
    "main": (r"_start ... main" + BODY, True),
    "thread": (THREAD + " ... run_thread" + BODY, True),
    "signal": (r"_start ... main ... on_signal" + BODY, True),
    "undefined": ("undefined_root" + BODY, True),
    "fcontext": ("(context_make|context_finish|body) ... middle hot", True),
    "zero": (r"\[incomplete:.implausible.root\]" + BODY, False),
}
# how: compiler, flags
BUILDS = {
    "glibc": ("gcc", ["-pthread"]),
    "static-glibc": ("gcc", ["-pthread", "-static"]),
    "static-pie": ("gcc", ["-pthread", "-static-pie", "-fPIE"]),
    "musl": ("musl-gcc", []),
    "static-musl": ("musl-gcc", ["-static"]),
    # rcrt1.o, as in Rust's programs for musl, relocates the program before it calls main()
    "static-pie-musl": ("musl-gcc", ["-static", "-fPIE", "-nostartfiles", "-Wl,-pie,--no-dynamic-linker",
                                     "/usr/lib/x86_64-linux-musl/rcrt1.o"]),
    # without .eh_frame_hdr there is no search table
    "no-hdr": ("gcc", ["-pthread", "-static", "-Wl,--no-eh-frame-hdr"]),
    "musl-no-hdr": ("musl-gcc", ["-static", "-Wl,--no-eh-frame-hdr"]),
}
UNNAMED = re.compile(r"\[\d+-.+\+0x([0-9a-f]+)\]")


def build(shop):
    """Returns {name: (program, comm, unstripped twin, way)}, and the reasons why others are not built."""
    built, missing = {}, {}
    for how, (cc, flags) in BUILDS.items():
        try:
            twin = shop.build(f"twin-{how}", cc, "roots.c", "-O2", "-fomit-frame-pointer", *flags)
        except (Skip, Failure) as e:
            missing[how] = e
            continue
        stripped = shop.path(f"stripped-{how}")
        subprocess.run(["strip", "-o", stripped, twin], check=True)
        for way in WAYS:
            for name, program in (f"{how}, {way}", twin), (f"{how}, stripped, {way}", stripped):
                comm = f"{len(built)}-{way}"
                built[name] = (shutil.copy(program, shop.path(comm)), comm, twin, way)
    return built, missing


def named(stack, table):
    """Returns a stack with the names of the unstripped twin. Equal files are named after one of them."""
    def name(frame):
        m = UNNAMED.fullmatch(frame)
        at = int(m[1], 16) if m else -1
        return next((f for lo, hi, f in table if lo <= at < hi), frame)

    return stack._replace(frames=tuple(map(name, stack.frames)))


def judge(recording, comm, twin, way):
    chain, complete = WAYS[way]
    table = functions(twin)
    both = [(s, named(s, table)) for s in recording.of(comm)]
    ours = [s for _, s in both if "hot" in s.frames]
    expect(total(ours) >= ENOUGH, f"{total(ours)} samples in hot", show(recording.of(comm)), recording.said)
    wrong = [s for s in ours if not holds(s, chain) or is_whole(s) != complete]
    expect(are_rare(wrong, ours), f"{total(wrong)} of {total(ours)} stacks are not {chain}:", show(wrong))
    # the start-up code of stripped programs shows where main() is
    unnamed = [s for s, twin in both if "main" in twin.frames and "main" not in s.frames]
    expect(not unnamed, "main() is not named:", show(unnamed))


def one_name_each(recordings, built, how):
    """In a stripped program without a search table, an address must not become a function of its own."""
    names = collections.Counter()
    ours = 0
    for name, (_, comm, _, _) in built.items():
        if name.startswith(f"{how}, stripped"):
            for s in (s for r in recordings for s in r.of(comm)):
                ours += s.count
                names.update({f"{comm}+{m[1]}": s.count for m in map(UNNAMED.fullmatch, set(user_frames(s))) if m})
    # each program has samples in body, middle and hot, and in few functions more than that
    often = [n for n in names.values() if n >= 0.02 * ours / len(WAYS)]
    print(f"# {how}: {len(names)} functions without a symbol in {ours} samples, {len(often)} of them often")
    expect(ours >= ENOUGH and 2 * len(WAYS) <= len(often) <= 10 * len(WAYS) and len(names) <= 40 * len(WAYS), names.most_common(40))


FIBERS = """
function work($n) { for (;;) Fiber::suspend($n++); }
$fiber = new Fiber("work");
$fiber->start(1);
for ($end = microtime(true) + 1.5; microtime(true) < $end;)
	for ($i = 0; $i < 1000; $i++) $fiber->resume();
"""


def switches():
    """Stacks are complete while fibers are switched, by functions in assembly without CFI."""
    need("php")
    recording = record("--", "php", "-r", FIBERS)
    inside = [s for s in recording.of("php") if is_in(s, "jump_fcontext")]
    expect(total(inside) >= ENOUGH // 4, f"{total(inside)} samples in jump_fcontext()", show(recording.of("php")))
    cut = [s for s in inside if not is_whole(s)]
    expect(total(cut) <= 1, f"{total(cut)} of {total(inside)} stacks in jump_fcontext() are incomplete:", show(cut))


def throws(shop):
    """Stacks are complete while an exception is thrown, in the unwinder and where it enters the handler."""
    need("g++")
    program = shop.path("throws")
    r = subprocess.run(["g++", "-std=c++20", "-O2", os.path.join(TOP, "bench", "programs", "throws.cc"), "-o", program],
                       capture_output=True, text=True, check=False)
    expect(r.returncode == 0, r.stderr)
    recording = record("--", "timeout", "3", program, "3")
    ours = recording.of("throws")
    cut = [s for s in ours if not is_whole(s)]
    lost = [s for s in ours if is_whole(s) and user_frames(s)[0] not in ("_start", "[thread start]") and
            not re.fullmatch(r"_dl_.*|\[ld-.*", user_frames(s)[0])]
    inside = [s for s in ours if any(re.search(r"_Unwind_RaiseException|\[libgcc_s", f) for f in s.frames)]
    expect(total(inside) >= ENOUGH // 4, f"{total(inside)} samples in the unwinder of {total(ours)}", show(ours))
    # uw_install_context_1() replaces the return address of its caller by the one of the function that handles the
    # exception. A few instructions remain in which the walk cannot recognize that.
    expect(are_rare(cut, ours, 0.005) and are_rare(lost, ours), f"{total(cut)} incomplete, {total(lost)} with another root:",
           show(cut), show(lost))


def luajit(_):
    """The interpreter of LuaJIT pushes bytes that its CFI does not count: no stack may end at the zero that is read then."""
    need("luajit")
    script = os.path.join(TOP, "bench", "programs", "traces.lua")
    recording = record("--", "timeout", "3", "luajit", "-joff", script, "3")
    ours = recording.of("luajit")
    expect(total(ours) >= ENOUGH, f"{total(ours)} samples", recording.said)
    false = [s for s in ours if is_whole(s) and user_frames(s)[0] != "_start" and
             not re.fullmatch(r"_dl_.*|\[ld-.*", user_frames(s)[0])]
    whole = [s for s in ours if is_whole(s)]
    print(f"# {total(whole)} of {total(ours)} complete")
    expect(are_rare(false, ours), "complete, but do not begin at _start:", show(false))
    expect(total(whole) >= 0.9 * total(ours), "incomplete:", show([s for s in ours if not is_whole(s)]))


PROBE_SKIPPED = 77


def probed(shop):
    """The caller of a function is right while the kernel handles a uprobe on its first instruction, a push."""
    program = shop.build("probed", "gcc", "probed.c", "-O2")
    if subprocess.run([program, "1"], check=False).returncode == PROBE_SKIPPED:
        raise Skip("the kernel has no uprobes")
    ours = [s for s in record("-F", "997", "--", program, "1500").of("probed") if "probed" in user_frames(s)]
    handled = [s for s in ours if user_frames(s)[-1] == "probed" and user_frames(s) != s.frames]
    expect(total(handled) >= ENOUGH, f"{total(handled)} samples in the kernel of {total(ours)}", show(ours))
    wrong = [s for s in handled if not is_whole(s) or user_frames(s)[-3:] != ["main", "outer", "probed"]]
    expect(are_rare(wrong, handled, 0.005), f"{total(wrong)} of {total(handled)}:", show(wrong))


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        built, missing = build(shop)
        commands = [[program, MS, way] for program, _, _, way in built.values()]
        half = len(commands) // 2
        recordings = [record("--", *together(part)) for part in (commands[:half], commands[half:])]
        raw = [Recording(list(r.stacks), r.said, r.status) for r in recordings]
        for i, (name, (_, comm, twin, way)) in enumerate(built.items()):
            tap.run(name, judge, recordings[i >= half], comm, twin, way)
        for how, why in missing.items():
            tap.skip(how, why)
        for how in ("no-hdr", "musl-no-hdr"):
            if how not in missing:
                tap.run(f"{how}: functions have one name each", one_name_each, raw, built, how)
        tap.run(throws.__doc__, throws, shop)
        tap.run(switches.__doc__, switches)
        tap.run(luajit.__doc__, luajit, shop)
        tap.run(probed.__doc__, probed, shop)
    tap.done()


main()
