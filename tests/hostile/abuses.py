#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that use what the kernel permits every user, against those who look at them."""
import os
import shutil

import attack
import cameo
from attack import HOSTILE, user_dir
from cameo import ENOUGH, expect, show, total

MS = 400
THREADS = 10000
RUNTIMES = ("ruby", "php", "perl", "beam", "lua", "jvm")
SLEEPERS_MS = 5000  # most of which it needs to start them
LOOP = bytes.fromhex("4889f948ffc975fb4889f8c3")
PAGE = 4096
NAME = b"odd\x1b[2J\n\r\xff\xfe;name"  # of a file
# name of the program, and its argument
KINDS = {
    "exec-thread": "a program that is executed again by one of its threads, all the time",
    "vfork": "programs that are started with vfork()",
    "layout": "a program that lies about where its code and its environment are",
    "anon-name": "executable memory whose name changes all the time, also to that of a context",
    "memfd": "a program in a memory file whose name has control characters",
    "churn": "generated code that is mapped and unmapped all the time",
    "growing": "a perf map that grows as fast as it can be written",
}
# they run code that is elsewhere, or other programs
NOT_HOT = ("vfork", "anon-name", "churn", "growing", "memfd")


def kind(shop, name, *args):
    return [shop.link(shop.c("abuses", "-pthread"), name), MS, name, *args]


def judge(outcome, name):
    stacks = outcome.recording.of(name)
    if name == "memfd":
        # since Linux 6.14 the name of the file, before that of the descriptor
        stacks = [s for s in outcome.recording.stacks if s.comm.isdigit() or s.comm.startswith("memfd:")]
    expect(total(stacks) >= (1 if name in NOT_HOT else ENOUGH), f"{total(stacks)} samples", show(outcome.recording.stacks))
    if name not in NOT_HOT:
        outcome.recording.judge(name, "... main ... hot", leaf="hot", share=0.8, most_elsewhere=0.9)


def labels_are_those_of_the_program(outcome):
    """No sample of the honest program has a label or a frame of another"""
    for names, labels, _ in outcome.samples:
        if labels.get("comm") != "honest":
            continue
        text = " ".join((*names, *map(str, labels.values())))
        expect("abuses" not in text and "odd" not in text, text)


def false_runtimes(shop):
    """Programs that imitate six runtimes, with structures that refer to each other in circles, and great lengths"""
    commands = []
    for name in RUNTIMES:
        program = shop.c("false_runtime", "-rdynamic", "-Wl,--hash-style=both", f"-DFALSE_{name}")
        commands += [[shop.link(program, f"{name}-{how}"), MS, how] for how in ("circles", "lengths")]
    outcome = attack.attack(shop, commands)
    for program, _, how in commands:
        name = os.path.basename(program)
        stacks = outcome.recording.of(name)
        expect(total(stacks) >= ENOUGH, f"{name}: {total(stacks)} samples")
        # the frames of the false interpreter are in place of those above the first of its own
        whole = [s for s in stacks if s.frames[0] == "_start"]
        expect(total(whole) >= 0.9 * total(stacks), f"{name}:", show(stacks))
        expect(all(len(f) < 2000 for s in stacks for f in s.frames), f"{name}: a very long name")


def odd_file(shop):
    """A program whose path has control characters and invalid UTF-8, deleted while it runs"""
    path = os.path.join(user_dir(shop, "odd").encode(), NAME)
    shutil.copy(shop.c("chain"), path)
    os.chmod(path, 0o755)
    remove = ["sh", "-c", '"$0" "$1" & sleep 0.1; rm -- "$0"; wait', os.fsdecode(path), str(MS)]
    outcome = attack.attack(shop, [remove])
    ours = [s for s in outcome.recording.stacks if s.comm.startswith("odd")]
    expect(total(ours) >= ENOUGH, show(outcome.recording.stacks))
    attack.no_control_characters(outcome)


def sleepers(shop):
    """A program with 10,000 threads"""
    program, _, *args = kind(shop, "sleepers", THREADS)
    outcome = attack.attack(shop, [[program, SLEEPERS_MS, *args]])
    outcome.recording.judge("sleepers", "... main ... hot", leaf="hot", share=0.8, most_elsewhere=0.95)


def truncated(shop):
    """Executable files that become shorter and longer while their code runs"""
    folder, commands = user_dir(shop, "truncated"), []
    for i in range(4):
        path = os.path.join(folder, str(i))
        with open(path, "wb") as f:
            f.write(bytes(PAGE) + LOOP.ljust(PAGE, b"\xcc"))
        os.truncate(path, 64 * PAGE)
        os.chown(path, HOSTILE, HOSTILE)
        commands.append(kind(shop, "truncated", path))
    attack.attack(shop, commands)


def main():
    attack.need_root()
    tap = cameo.Tap()
    with cameo.Workshop() as shop:
        outcome = {}
        tap.run(f"{len(KINDS)} programs at once", lambda: outcome.update(
            of=attack.attack(shop, [kind(shop, name) for name in KINDS])))
        if outcome:
            for name, what in KINDS.items():
                tap.run(what, judge, outcome["of"], name)
            for test in (attack.no_control_characters, labels_are_those_of_the_program):
                tap.run(test.__doc__, test, outcome["of"])
        for test in (false_runtimes, odd_file, sleepers, truncated):
            tap.run(test.__doc__, test, shop)
    tap.done()


if __name__ == "__main__":
    main()
