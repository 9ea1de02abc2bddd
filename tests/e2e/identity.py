#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A sample never has the name of another program, however fast processes exec, end and reuse pids."""
import os
import signal

from agent_process import Agent
from cameo import ENOUGH, Recorder, Tap, Workshop, expect, need_bpf, record, show, spawn, together, total, user_frames

WORK = {"storm-a": "work_of_a", "storm-b": "work_of_b"}
TIMES, US = 300, 3000
FREQ = 1999


def programs(shop):
    return [shop.build(name, "gcc", "storm.c", "-O2", f"-DWORK={work}") for name, work in WORK.items()]


def commands(a, b, times=TIMES):
    return [[a, b, times, US], [b, a, times, US], [a, b, times, US, "reuse"], [b, a, times, US, "reuse"]]


def judge(stacks, said=""):
    """Expects each stack with a function of one of the programs to have that program's name."""
    ours = [s for s in stacks if any(w in s.frames for w in WORK.values())]
    for work in WORK.values():
        expect(total([s for s in ours if work in s.frames]) >= ENOUGH, show(ours), said)
    wrong = [s for s in ours if WORK.get(s.comm) not in s.frames]
    expect(not wrong, f"{total(wrong)} of {total(ours)} samples have a wrong name:", show(wrong), said)
    both = [s for s in ours if all(w in s.frames for w in WORK.values())]
    expect(not both, "stacks of two programs:", show(both))


def recorded(shop, *options):
    judge_recording(record(*options, "--", *together(commands(*programs(shop))), freq=FREQ))


def whole_machine(shop):
    a, b = programs(shop)
    with Recorder("-a", freq=FREQ) as recorder:
        recorder.wait_attached()
        for p in [spawn(*c) for c in commands(a, b)]:
            p.wait()
        judge_recording(recorder.finish(signal.SIGINT))


def judge_recording(recording):
    judge(recording.stacks, recording.said)
    named = [s for s in recording.stacks if s.comm in WORK and user_frames(s)]
    lost = [s for s in named if s.frames[0].startswith("[incomplete")]
    # on a busy machine many of these programs end before the recording knows them
    expect(total(lost) <= 0.5 * total(named), f"{total(lost)} of {total(named)} stacks are incomplete:", show(lost))


def is_labelled(labels, name):
    """Returns whether all labels that are read from /proc are those of the program NAME, or unknown."""
    return labels["comm"] == name and labels.get("env_STORM_NAME", name) == name and \
        os.path.basename(labels.get("exe", name)) == name


def labelled(shop):
    """The agent's labels come from /proc, which shows the next program an instant later."""
    a, b = programs(shop)
    with Agent(shop, "-F", str(FREQ), "--window", "1s", "--env", "STORM_NAME") as agent:
        agent.wait_sampling()
        storm = [spawn(*c) for c in commands(a, b)]
        for p in storm:
            p.wait()
        agent.end()
        samples = agent.all_samples()
        said = agent.said()
    ours = [s for s in samples if set(s[0]) & set(WORK.values())]
    n, known, wrong = 0, 0, []
    for frames, labels, values in ours:
        name = next(k for k, v in WORK.items() if v in frames)
        n += values[0]
        known += values[0] * ("env_STORM_NAME" in labels)
        if not is_labelled(labels, name):
            wrong.append((values[0], name, labels))
    expect(n >= ENOUGH and known, f"{n} samples, {known} with the environment", said)
    expect(not wrong, f"{sum(w[0] for w in wrong)} of {n} samples have labels of another program:", *wrong[:10])


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        tap.run("record: exec and pid reuse in a loop", recorded, shop)
        tap.run("record -a: the same", whole_machine, shop)
        tap.run("record --wall: the same", recorded, shop, "--wall")
        tap.run("agent: labels are those of the program that was sampled", labelled, shop)
    tap.done()


main()
