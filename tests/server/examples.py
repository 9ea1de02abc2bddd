#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples.py CAMEO API_MD LIST_METHODS: docs/api.md covers all methods and its commands work."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from serving import Server, check, finish, skip


def commands(path):
    """Each command of the shell blocks, and what its answer has: the comments below it."""
    with open(path) as f:
        blocks = re.findall(r"^```sh\n(.*?)^```", f.read(), re.S | re.M)
    for block in blocks:
        for part in re.split(r"\n(?=curl)", block.replace("\\\n", " ")):
            lines = part.strip().split("\n")
            yield lines[0], [x[2:] for x in lines[1:] if x.startswith("# ")]


def undocumented(path, list_methods):
    """The registered paths that the document names neither in full nor by their last part."""
    with open(path) as f:
        text = f.read()
    rows = subprocess.run([list_methods], check=True, capture_output=True, text=True).stdout
    paths = [row.split("\t")[0] for row in rows.splitlines()]
    return [p for p in paths if not p.endswith("/") and p[1:] not in text and
            f"`{p.rsplit('/', 1)[1]}`" not in text]


def main():
    if len(sys.argv) > 3:
        missing = undocumented(sys.argv[2], sys.argv[3])
        check("the document names every registered method", not missing, missing)
    if not shutil.which("curl"):
        skip("all", "curl is not installed")
        return finish()
    with tempfile.TemporaryDirectory() as directory:
        server = Server(sys.argv[1], directory)
        now = int(time.time())
        env = {**os.environ, "URL": server.url, "FROM": str(now - 60), "UNTIL": str(now),
               "START": str((now - 3600) * 1000), "END": str((now + 1) * 1000)}
        n = 0
        for command, wanted in commands(sys.argv[2]):
            run = subprocess.run(["sh", "-c", command], env=env, capture_output=True, text=True,
                                 timeout=30)
            answer = run.stdout
            try:
                answer = json.dumps(json.loads(answer), separators=(",", ":"))
            except ValueError:
                pass
            missing = [w for w in wanted if w not in answer]
            check(command.split("URL")[-1][:60], run.returncode == 0 and not missing,
                  "%s\nmissing %s\nin %s" % (run.stderr, missing, answer))
            n += 1
        check("there are examples of all methods", n >= 20, n)
        server.stop()
    return finish()


sys.exit(main())
