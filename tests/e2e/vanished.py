#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of interpreters have their names although they, and their processes, are gone.

Each program compiles functions, runs them once and drops them; the recording is written after it
has ended. The functions of one round have the same number, so that a wrong name is recognized.
"""
import os
import re
import shutil
import sys
import tempfile

from cameo import PROGRAMS, Tap, expect, is_in, need, need_bpf, record, show, total, user_frames

MS = 900
ENOUGH = 300
# Until the agent knows a program, it walks copies of stacks and reads the frames later.
FIRST_SAMPLES = 8
# The share of samples whose functions vanish uncopied while a busy machine does not run the agent.
UNCOPIED = 0.01
NAMELESS = r"\[(unreadable|stale) function\]|\[functions not read in time\]"
ROUND = re.compile(r"(?:inner_|outer_|page_)(\d+)\b")


def rounds(stack):
    """Returns the rounds of the program that the frames belong to."""
    return {m[1] for m in map(ROUND.search, user_frames(stack)) if m}


def vanished(command, program, inner, most_mixed=0):
    need(command)
    # The first process, of another name, makes the files of the interpreter known, so this is not about first samples.
    with tempfile.TemporaryDirectory() as directory:
        known = os.path.join(directory, "known")
        os.symlink(os.path.realpath(sys.executable if command == "python3" else shutil.which(command)), known)
        seen = record("--", "sh", "-c", '"$0" "$2" "$3"; exec "$1" "$2" "$3"', known, command,
                      os.path.join(PROGRAMS, program), str(MS))
    ours = seen.of(command)
    nameless = [s for s in ours if is_in(s, NAMELESS)]
    mixed = [s for s in ours if len(rounds(s)) > 1]
    expect(total(ours) >= ENOUGH, f"{total(ours)} samples", seen.said)
    expect(total(nameless) <= max(FIRST_SAMPLES, UNCOPIED * total(ours)),
           f"{total(nameless)} of {total(ours)} samples have a function without a name",
           show(nameless), seen.said)
    expect(total(mixed) <= most_mixed * total(ours), "functions of different rounds in one stack:",
           show(mixed))
    found = [s for s in ours if is_in(s, inner)]
    expect(total(found) >= 0.3 * total(ours), f"{total(found)} of {total(ours)} samples in {inner}",
           show(ours))


# Short processes of a known interpreter: each ends before the agent has read its mappings.
CROWD = 160
CROWD_PROGRAM = '''
def hot(n):
    return sum(i * i for i in range(n))
def main():
    for _ in range(12):
        hot(15000)
main()
'''
INTERPRETER = r"_PyEval_EvalFrame.*|\[native.*"


def crowd():
    """Expects nearly every sample of a crowd of processes to have its functions."""
    python = "/usr/bin/python3"
    need(python)
    # The first process, of another name, makes the interpreter known.
    loop = '"$3" -c "sum(range(3000000))"; i=0; while [ $i -lt "$1" ]; do ' \
           '"$0" -S -E -c "$2" & "$0" -S -E -c "$2" & wait; i=$((i + 2)); done'
    with tempfile.TemporaryDirectory() as directory:
        known = os.path.join(directory, "known")
        os.symlink(os.path.realpath(python), known)
        seen = record("--", "sh", "-c", loop, python, str(CROWD), CROWD_PROGRAM, known)
    unnamed = NAMELESS + "|" + INTERPRETER
    ours = [s for s in seen.of("python3") if is_in(s, "<module>|main|hot|" + unnamed)]
    nameless = [s for s in ours if is_in(s, unnamed)]
    expect(total(ours) >= 4 * CROWD, f"{total(ours)} samples", seen.said)
    # a busy machine may take longer to know the interpreter than the first process runs
    expect(total(nameless) <= max(FIRST_SAMPLES, UNCOPIED * total(ours)),
           f"{total(nameless)} of {total(ours)} samples have a function without a name",
           show(nameless), seen.said)


need_bpf()
tap = Tap()
tap.run("the functions of a crowd of short Python processes have names", crowd)
# A sub or an iseq whose addresses are all those of one that was freed is not recognized.
for args in (("python3", "python/vanishing.py", r"inner_\d+"),
             ("perl", "perl/vanishing.pl", r"main::inner_\d+", 0.002),
             ("ruby", "ruby/vanishing.rb", r"(.*[#.])?inner_\d+", 0.02),
             ("php", "php/vanishing.php", r".*\{closure.*"),
             ("lua5.4", "lua/vanishing.lua", r"inner_\d+|<page_\d+\.lua:1>"),
             ("lua5.1", "lua/vanishing.lua", r"inner_\d+|<page_\d+\.lua:1>")):
    tap.run(f"functions that a {args[0]} program dropped have names", vanished, *args)
tap.done()
