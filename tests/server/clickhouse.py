#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clickhouse.py CAMEO API_MD EXAMPLES UNIT: the tests of the store on ClickHouse.

The test starts a separate ClickHouse on loopback, with its data in its own directory.
CAMEO_TEST_CLICKHOUSE (http://HOST:PORT) selects a running one instead.
"""
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from serving import DATA, Server, check, finish, push, skip

CONFIG = """<yandex>
<logger><level>error</level><log>{d}/log</log><errorlog>{d}/errors</errorlog></logger>
<http_port>{port}</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>
<path>{d}/data/</path><tmp_path>{d}/tmp/</tmp_path><users_config>users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>16777216</mark_cache_size><timezone>UTC</timezone>
</yandex>
"""
USERS = """<yandex><profiles><default/></profiles><users><default><password></password>
<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
</users><quotas><default/></quotas></yandex>
"""


# Ports below the range that the kernel assigns to outgoing connections, of which other tests open thousands.
PORTS = range(20000, 32000)


def free_port():
    for port in random.sample(PORTS, 100):
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise SystemExit("no port is free")


class ClickHouse:
    """A running server, which is stopped at the end."""

    def __init__(self, directory):
        port = free_port()
        self.url = "http://127.0.0.1:%d" % port
        for name in ("data", "tmp"):
            os.mkdir(os.path.join(directory, name))
        for name, text in (("config.xml", CONFIG), ("users.xml", USERS)):
            with open(os.path.join(directory, name), "w") as f:
                f.write(text.format(d=directory, port=port, tcp=free_port()))
        self.process = subprocess.Popen(
            ["clickhouse-server", "--config-file=" + os.path.join(directory, "config.xml")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=directory)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def version(url, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(url + "/?query=SELECT%20version()", timeout=5) as rs:
                return rs.read().decode().strip()
        except OSError:
            time.sleep(0.1)
    return None


def run(name, command, store):
    begun = time.monotonic()
    r = subprocess.run(command, env={**os.environ, "CAMEO_TEST_STORE": store},
                       capture_output=True, text=True)
    bad = [x for x in r.stdout.split("\n") + r.stderr.split("\n")
           if x and not x.startswith("ok ") and not x.startswith("[ ") and not x.startswith("1..")]
    check("%s, in ClickHouse" % name, r.returncode == 0, "\n".join(bad))
    print("# %.1f s" % (time.monotonic() - begun))


def check_sharing(cameo, store, directory):
    a, b = (Server(cameo, directory) for _ in range(2))
    for i, (server, (labels, time_s, folded)) in enumerate(zip([a, b, a], DATA)):
        push(server, labels, time_s, folded, "id-%d" % i)
        push([b, a, b][i], labels, time_s, folded, "id-%d" % i)
    check("servers that share a database give the same results", a.total("{}") == b.total("{}") == 30,
          (a.total("{}"), b.total("{}")))
    a.stop()
    return b


def main():
    cameo, api, examples, unit = sys.argv[1:5]
    here = os.path.dirname(os.path.abspath(__file__))
    given = os.environ.get("CAMEO_TEST_CLICKHOUSE")
    if not given and not shutil.which("clickhouse-server"):
        skip("the store in ClickHouse", "clickhouse-server is not installed")
        return finish()
    with tempfile.TemporaryDirectory(prefix="cameo-clickhouse-") as directory:
        own = None if given else ClickHouse(directory)
        url = given or own.url
        what = version(url, 180)
        check("ClickHouse is installed", what is not None)
        print("# release %s" % what)
        store = url.replace("http://", "clickhouse://")
        run("the conformance test", [unit], store)
        for name, *args in (["page"], ["contract", examples], ["examples", api], ["oracle"], ["sums"], ["lies"]):
            run(name, [sys.executable, os.path.join(here, name + ".py"), cameo, *args], store)
        os.environ["CAMEO_TEST_STORE"] = store
        server = check_sharing(cameo, store, os.path.join(directory, "shared"))
        if own:
            own.stop()
            status = server.query("ProfileTypes")[0]
            check("without it a query is 503", status == 503, status)
            status = push(server, DATA[0][0], DATA[0][1], DATA[0][2], "late")[0]
            check("and so is a push", status == 503, status)
            check("the server runs and reports that it is not ready", server.ask("/ready")[0] == 503 and
                  server.process.poll() is None)
        server.stop()
    return finish()


sys.exit(main())
