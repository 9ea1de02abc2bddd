# SPDX-License-Identifier: Apache-2.0
"""Shared by the hostile tests: programs whose files, functions, services, cgroups and containers have crafted names.

The names have control characters, invalid UTF-8 and characters that change the direction of text; others are long, or
imitate the syntax of folded stacks, labels, metrics, logs, JSON, HTML and format strings.
"""
import json
import os
import shutil
import subprocess

import cameo
from attack import HOSTILE, as_user, user_dir

TITLE = b"\x1b]0;owned\x07"
NAMES = (
    b"esc\x1b[2J" + TITLE,
    b"c1\xc2\x9b2J\xc2\x85\x7f",
    b"line\nfeed\r\ncount 5",
    b"a;b,c=d{e=\"f\"} 7",
    b"\xff\xfe\xc0\xaf\xed\xa0\x80",
    b"\xe2\x80\xaegnp\xe2\x80\x8b\xef\xbb\xbf",
    b"%s%n%99999d",
    b"<b onload=x>&amp;",
    b"\\n\\\"\\x1b\\",
    b"long" + b"x" * 240,
)
ID = "%064x"
FUNCTION = "hot"
TOP_OF_CGROUPS = "/sys/fs/cgroup" if os.path.exists("/sys/fs/cgroup/cgroup.procs") else "/sys/fs/cgroup/systemd"
# The shell moves itself before it becomes another user.
IN_GROUP = 'echo $$ >"$1/cgroup.procs"; export OTEL_SERVICE_NAME="$2"; shift 2; exec "$@"'


def program(shop, folder, name):
    """Returns the path of a program whose file and whose function hot() have this NAME."""
    path = os.path.join(folder.encode(), name)
    made = shop.path("crafted")
    subprocess.run([b"objcopy", b"--redefine-sym", b"hot=" + name, shop.c("chain").encode(), made.encode()], check=True)
    shutil.copy(made, path)
    os.chmod(path, 0o755)
    return os.fsdecode(path)


class Groups:
    """Cgroups with crafted names, one like those of containers each and one like those of units, until the end of the block."""

    def __init__(self):
        self.made = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for path in reversed(self.made):
            try:
                os.rmdir(path)
            except OSError:
                pass

    def make(self, *names):
        path = TOP_OF_CGROUPS.encode()
        for name in names:
            path = os.path.join(path, name)
            try:
                os.mkdir(path)
            except FileExistsError:
                continue
            except OSError as e:
                raise cameo.Skip(f"cannot create a cgroup: {e}") from e
            self.made.append(path)
        return os.fsdecode(path)


def container_root(shop):
    """Returns a root directory with files of containers that have these names, one for each number in ID."""
    root = shop.path("root")
    for i, name in enumerate(NAMES):
        folder = os.path.join(root, "var/lib/docker/containers", ID % i)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "config.v2.json"), "w", encoding="utf-8", errors="surrogateescape") as f:
            json.dump({"ID": ID % i, "Name": "/" + os.fsdecode(name),
                       "Config": {"Labels": {"io.kubernetes.pod.name": os.fsdecode(name)}}}, f, ensure_ascii=False)
    return root


def commands(shop, groups, ms):
    """Returns commands for attack(others=…): each program in a cgroup, with a service of the same name."""
    folder, found = user_dir(shop, "crafted-files"), []
    for i, name in enumerate(NAMES):
        # the kernel refuses line feeds in names of cgroups
        unit = name.replace(b"\n", b"")[:200] + b".service"
        group = groups.make(b"cameo-crafted.slice", unit, b"docker-" + (ID % i).encode() + b".scope")
        found.append(["sh", "-c", IN_GROUP, "sh", group, os.fsdecode(name),
                      *as_user(HOSTILE, program(shop, folder, name), ms)])
    return found
