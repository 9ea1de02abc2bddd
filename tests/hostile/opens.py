#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs whose debug files, perf maps and jitdumps are FIFOs, devices, terminals and files of /proc: nobody opens these."""
import os
import shutil
import subprocess

import attack
import cameo
from attack import HOSTILE, Baits, as_user, user_dir
from cameo import ENOUGH, expect, show, total

MS = 400
# Like /proc/kmsg, of which a read consumes something, this looks like a regular file; but nobody else opens it.
MADE_BY_KERNEL = f"/proc/{os.getpid()}/timers"
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
    commands["link-proc"] = [with_debug_link(shop, "link-proc"), MS]
    os.symlink(baits.watch(MADE_BY_KERNEL), shop.path("link-proc.debug"))
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


# Binds a device and a FIFO over the paths of debug files, in a namespace of the user's own.
IN_NAMESPACE = """
mount -t tmpfs none "$1" || exit 99
cp "$2" "$1/$3" || exit 99
: > "$1/$3.debug"
mount --bind "$4" "$1/$3.debug" || exit 99
exec "$1/$3" "$5"
"""


def in_mount_namespace(shop, name, bait):
    """Returns a command whose debug file is BAIT, but only in a mount namespace that the user made."""
    place = user_dir(shop, "mnt-" + name)
    program = shop.build(name, "gcc", "chain.c", "-O2", "-g")
    debug = os.path.join(place, name + ".debug")
    subprocess.run(["objcopy", "--strip-debug", program], check=True)
    with open(debug, "wb") as f:
        f.write(b"x")
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", program], check=True)
    os.unlink(debug)
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", IN_NAMESPACE, "sh", place, program, name, bait,
            str(MS)]


def may_make_namespaces():
    check = as_user(HOSTILE, "unshare", "--user", "--map-root-user", "--mount", "true")
    return subprocess.run(check, check=False, capture_output=True).returncode == 0


def judge(recording, name, command):
    """Expects the program's stacks to be whole in spite of what could not be opened."""
    leaf = "hot" if command[0].endswith(("-fifo", "-dev", "link-tty", "link-proc", "replaced")) else r"\[anonymous.code.*"
    ours = recording.of(name)
    expect(total(ours) >= ENOUGH, show(ours), recording.said)
    recording.judge(name, MAIN + "... " + leaf, leaf=leaf, most_elsewhere=0.5)


def namespaces(shop, baits):
    """Programs in mount namespaces that the user made, with a FIFO, a device, a terminal and a file of /proc as debug file"""
    if not may_make_namespaces():
        raise cameo.Skip("users may not make namespaces here")
    commands = {"ns-fifo": baits.fifo("ns.fifo"), "ns-device": baits.device("ns.zero"), "ns-tty": baits.terminal(),
                "ns-proc": MADE_BY_KERNEL}
    for name, bait in commands.items():
        commands[name] = in_mount_namespace(shop, name, bait)
    baits.opened()
    recording = attack.attack(shop, list(commands.values()), baits=baits).recording
    for name in commands:
        ours = recording.of(name)
        expect(total(ours) >= ENOUGH, f"{name}:", show(ours), recording.said)
        recording.judge(name, MAIN + "... hot", leaf="hot", most_elsewhere=0.5)


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
        tap.run(namespaces.__doc__, namespaces, shop, baits)
    tap.done()


main()
