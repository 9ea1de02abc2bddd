#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs whose debug files, perf maps and jitdumps are FIFOs, devices and terminals: nobody opens these."""
import os
import shutil
import subprocess

import attack
import cameo
from attack import Baits, user_dir
from cameo import ENOUGH, expect, show, total

MS = 400
MAIN = "_start __libc_start_main.* ... main "


def with_debug_link(shop, name):
    """Builds a stripped program with a debug link to NAME.debug, which does not exist."""
    program, debug = shop.build(name, "gcc", "chain.c", "-O2", "-g"), shop.path(name + ".debug")
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", program], check=True)
    os.unlink(debug)
    return program


def with_alternate_file(shop, name):
    """Builds a program with a .gnu_debugaltlink to NAME.alt."""
    program, link = shop.build(name, "gcc", "chain.c", "-O2", "-g"), shop.path(name + ".link")
    with open(link, "wb") as f:
        f.write(shop.path(name + ".alt").encode() + b"\0" + bytes(range(20)))
    subprocess.run(["objcopy", "--add-section", f".gnu_debugaltlink={link}", program], check=True)
    return program


def with_split_debug_info(shop, name):
    """Builds a program whose DWARF is in NAME.dwo, which does not exist any more."""
    source = os.path.join(cameo.PROGRAMS, "native", "chain.c")
    for command in (["gcc", "-D_GNU_SOURCE", "-O2", "-g", "-gsplit-dwarf", "-c", source, "-o", name + ".o"],
                    ["gcc", name + ".o", "-o", name]):
        subprocess.run(command, cwd=shop.dir, check=True)
    os.unlink(shop.path(name + ".dwo"))
    return shop.path(name)


def programs(shop, baits):
    """Returns the commands by the name of the program."""
    hostile = shop.c("hostile", "-pthread")
    commands = {}
    for how, make in (("fifo", baits.fifo), ("dev", baits.device)):
        commands["link-" + how] = [with_debug_link(shop, "link-" + how), MS]
        make(f"link-{how}.debug")
    commands["link-tty"] = [with_debug_link(shop, "link-tty"), MS]
    os.symlink(baits.terminal(), shop.path("link-tty.debug"))
    commands["alt-fifo"] = [with_alternate_file(shop, "alt-fifo"), MS]
    baits.fifo("alt-fifo.alt")
    commands["dwo-fifo"] = [with_split_debug_info(shop, "dwo-fifo"), MS]
    baits.fifo("dwo-fifo.dwo")
    commands["dwp-fifo"] = [with_split_debug_info(shop, "dwp-fifo"), MS]
    baits.fifo("dwp-fifo.dwp")
    for kind in ("map-link", "map-symlink", "dump-link"):
        commands[kind] = [shop.link(hostile, kind), MS, kind, baits.fifo(kind + ".fifo")]
    commands["map-device"] = [shop.link(hostile, "map-device"), MS, "map-symlink", baits.device("map.zero")]
    commands["map-tty"] = [shop.link(hostile, "map-tty"), MS, "map-symlink", baits.terminal()]
    own = user_dir(shop, "own")
    commands["replaced"] = [shutil.copy(hostile, os.path.join(own, "replaced")), MS, "replaced",
                            baits.fifo("replaced.fifo")]
    return commands


def judge(recording, name, command):
    """Expects the program's stacks to be whole in spite of what could not be opened."""
    leaf = "hot" if command[0].endswith(("-fifo", "-dev", "link-tty", "replaced")) else r"\[anonymous.code.*"
    ours = recording.of(name)
    expect(total(ours) >= ENOUGH, show(ours), recording.said)
    recording.judge(name, MAIN + "... " + leaf, leaf=leaf, most_elsewhere=0.5)


def main():
    attack.need_root()
    tap = cameo.Tap()
    with cameo.Workshop() as shop, Baits(shop) as baits:
        commands = programs(shop, baits)
        baits.opened()
        outcome = {}
        tap.run(f"{len(commands)} programs with baits: none is opened", lambda: outcome.update(
            of=attack.attack(shop, list(commands.values()), baits=baits)))
        for name, command in commands.items():
            if outcome:
                tap.run(f"{name}: its stacks are whole", judge, outcome["of"].recording, name, command)
    tap.done()


main()
