#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""access.py CAMEO LIST_METHODS: who may connect: credentials, scopes, tenants, TLS."""
import base64
import json
import os
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

from serving import CPU, DATA, PAGE, QUERIER, RANGE, Server, check, finish, pprof, skip

JSON = {"Content-Type": "application/json"}
BODY = json.dumps({**RANGE, "profileTypeID": CPU}).encode()


def basic(text):
    return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}


def status(server, headers, path=PAGE + "Tree"):
    return server.ask(path, BODY, {**JSON, **headers})[0]


def total(server, headers):
    answer = json.loads(server.ask(PAGE + "Tree", BODY, {**JSON, **headers})[2])
    return answer["total"] // 10000000


def push(server, headers, which):
    labels, time_s, folded = DATA[which]
    labels = [{"name": k, "value": v} for k, v in {"__name__": "process_cpu", **labels}.items()]
    raw = base64.b64encode(pprof(folded, time_s)).decode()
    body = {"series": [{"labels": labels, "samples": [{"rawProfile": raw}]}]}
    return server.ask("/push.v1.PusherService/Push", json.dumps(body).encode(),
                      {**JSON, **headers})[0]


def write(directory, name, text):
    path = os.path.join(directory, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def check_secrets(cameo, directory):
    tokens = write(directory, "tokens", "# agents\nsecret-of-all\nsecret-of-mine mine\n\n")
    users = write(directory, "users", "ann:password-of-ann\n")
    server = Server(cameo, os.path.join(directory, "a"), "--auth-token-file", tokens,
                    "--auth-basic-file", users)
    check("/ready needs no authentication", server.ask("/ready")[0] == 200)
    code, kind, body = server.ask(PAGE + "Tree", BODY, JSON)
    check("other requests need authentication", code == 401 and kind == "application/json" and
          json.loads(body)["code"] == "unauthenticated", body)
    for path in ("/", "/metrics", QUERIER + "LabelNames", "/nothing/../ready"):
        check("%s needs authentication" % path, server.ask(path)[0] in (401, 404))
    check("a token is accepted", status(server, {"Authorization": "Bearer secret-of-all"}) == 200)
    for wrong in ("secret-of-al", "secret-of-all2", "", "password-of-ann"):
        check("token %r is rejected" % wrong,
              status(server, {"Authorization": "Bearer " + wrong}) == 401)
    check("a password is accepted", status(server, basic("ann:password-of-ann")) == 200)
    check("a token is accepted as a password", status(server, basic("x:secret-of-all")) == 200)
    for wrong in ("ann:password", "bob:password-of-ann", "ann", ":", "ann:password-of-ann:"):
        check("password %r is rejected" % wrong, status(server, basic(wrong)) == 401)
    check("invalid base64 is rejected", status(server, {"Authorization": "Basic *"}) == 401)
    mine = {"Authorization": "Bearer secret-of-mine"}
    check("a client restricted to a tenant pushes to it", push(server, mine, 0) == 200 and
          total(server, mine) == 11)
    check("other tenants do not see the data", total(server, {"Authorization": "Bearer secret-of-all"}) == 0)
    check("a client cannot use another tenant", status(server, {**mine, "X-Scope-OrgID": "other"}) == 403)
    metrics = server.ask("/metrics", headers={"Authorization": "Bearer secret-of-all"})[2]
    check("rejected clients are counted",
          b"\ncameo_unauthenticated_requests_total 15\n" in metrics, metrics)
    server.stop()


# The methods that change what is stored. A new one belongs here, and into the scope "write" or "admin".
CHANGING = {
    "/push.v1.PusherService/Push", "/ingest", "/pyroscope/ingest", "/v1development/profiles",
    "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
}


def methods(list_methods):
    """Path, access and cost of each method of the server's own table."""
    rows = subprocess.run([list_methods], check=True, capture_output=True, text=True).stdout
    return [(path, access, cost) for path, _, access, cost in (row.split("\t") for row in rows.splitlines())]


def attempt(server, path, token):
    """The status of a request to PATH, by the verb that it accepts."""
    headers = {**JSON, "Authorization": "Bearer " + token} if token else JSON
    code = server.ask(path, b"{}", headers)[0]
    return server.ask(path, headers=headers)[0] if code == 405 else code


def check_scopes(cameo, directory, list_methods):
    """Each method of the table, with credentials of each scope."""
    tokens = write(directory, "scopes", "reads-only * read\nwrites-only * write\nevery-thing * admin\n"
                   "one-tenant shop\n")
    server = Server(cameo, os.path.join(directory, "scopes.d"), "--auth-token-file", tokens)
    table = methods(list_methods)
    changing = {path for path, access, _ in table if access in ("write", "admin")}
    check("the methods that change data are those of this test", changing == CHANGING, changing ^ CHANGING)
    forgotten = [path for path, access, cost in table if access == "forgotten" or
                 (cost == "push" and access not in ("write", "admin"))]
    check("every method states its access", not forgotten, forgotten)
    for path, access, _ in table:
        got = {token: attempt(server, path, token) for token in (None, "reads-only", "writes-only", "every-thing")}
        want = {None: access != "open", "reads-only": access in ("write", "admin"),
                "writes-only": access in ("read", "read_all", "admin"), "every-thing": False}
        refused = {token: status in (401, 403) for token, status in got.items()}
        check("%s (%s): only clients with its scope are answered" % (path, access), refused == want, got)
    check("a client of one tenant does not read metrics of all", attempt(server, "/metrics", "one-tenant") == 403)
    check("there is no /debug", [attempt(server, p, "every-thing") for p in ("/debug", "/debug/pprof/profile")] ==
          [404, 404])
    server.stop()


def hash_of(cameo, secret):
    run = subprocess.run([cameo, "server", "--hash-secret"], input=secret + "\n", capture_output=True, text=True,
                         check=True)
    return run.stdout.strip()


def until(condition, limit_s=60):
    deadline = time.monotonic() + limit_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def replace(path, text):
    write(os.path.dirname(path), os.path.basename(path) + ".new", text)
    os.rename(path + ".new", path)


def check_hashes_and_reload(cameo, directory):
    token, user = hash_of(cameo, "secret-of-agents"), hash_of(cameo, "ann:password-of-ann")
    check("a hash does not contain the secret", "secret" not in token and "password" not in user and
          user.startswith("ann:"), user)
    tokens, users = write(directory, "hashed", token + " * write\n"), write(directory, "users", user + "\n")
    log = open(os.path.join(directory, "log"), "w+", encoding="utf-8")
    server = Server(cameo, os.path.join(directory, "r"), "--auth-token-file", tokens, "--auth-basic-file", users,
                    stderr=log)
    agents = {"Authorization": "Bearer secret-of-agents"}
    check("a hashed token is accepted", push(server, agents, 0) == 200)
    check("the hash is not accepted as a token", status(server, {"Authorization": "Bearer " + token}) == 401)
    check("a hashed password is accepted", status(server, basic("ann:password-of-ann")) == 200)
    check("a wrong one is not", status(server, basic("ann:password-of-bob")) == 401)
    replace(tokens, hash_of(cameo, "rotated-secret") + "\n")
    rotated = {"Authorization": "Bearer rotated-secret"}
    check("a rotated token is accepted without a restart", until(lambda: status(server, rotated) == 200))
    check("the old one is not any more", push(server, agents, 0) == 401)
    replace(tokens, "short\n")

    def logged():
        with open(log.name, encoding="utf-8") as f:
            return f.read()
    check("an invalid file is reported", until(lambda: "secret is shorter" in logged()), logged())
    check("and leaves the clients unchanged", status(server, rotated) == 200)
    metrics = server.ask("/metrics", headers=rotated)[2].decode()
    check("reloads are counted", 'cameo_credential_reloads_total{result="ok"} 1' in metrics and
          'cameo_credential_reloads_total{result="failed"} 1' in metrics, metrics)
    wrong = [status(server, basic("ann:password-%d" % i)) for i in range(60)]
    check("wrong passwords are limited", 429 in wrong and wrong[0] == 401, wrong)
    check("which does not affect clients with a token", status(server, rotated) == 200)
    server.stop()


def check_tenants(cameo, directory):
    server = Server(cameo, os.path.join(directory, "b"), "--tenants")
    check("a request must name its tenant", status(server, {}) == 401)
    check("the tenant must be valid", status(server, {"X-Scope-OrgID": "../a"}) == 400)
    for i, tenant in enumerate(("one", "two")):
        check("push to %s" % tenant, push(server, {"X-Scope-OrgID": tenant}, i) == 200)
    check("each tenant has its own data", total(server, {"X-Scope-OrgID": "one"}) == 11 and
          total(server, {"X-Scope-OrgID": "two"}) == 10)
    check("the page needs no tenant", server.ask("/")[0] in (200, 404))
    server.stop()


def openssl(*args):
    return subprocess.run(["openssl", *args], capture_output=True, check=True)


def issue(directory, name, subject, ca=None):
    """A certificate for SUBJECT by CA, or by itself; returns the paths of certificate and key."""
    cert, key = os.path.join(directory, name + ".crt"), os.path.join(directory, name + ".key")
    request = ["req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=" + subject, "-keyout", key]
    if not ca:
        openssl(*request, "-x509", "-days", "2", "-addext", "keyUsage=critical,keyCertSign", "-out", cert)
        return cert, key
    signing = os.path.join(directory, name + ".csr")
    openssl(*request, "-out", signing)
    extensions = write(directory, name + ".ext", "subjectAltName=IP:127.0.0.1\nsubjectKeyIdentifier=hash\n"
                       "authorityKeyIdentifier=keyid\nbasicConstraints=CA:FALSE\n")
    openssl("x509", "-req", "-in", signing, "-CA", ca[0], "-CAkey", ca[1], "-CAcreateserial", "-days", "2",
            "-extfile", extensions, "-out", cert)
    return cert, key


def ask_tls(server, ca, pair, path, body=None, headers=None):
    """The status of a request with a client certificate, or why there is none."""
    context = ssl.create_default_context(cafile=ca[0])
    if pair:
        context.load_cert_chain(*pair)
    rq = urllib.request.Request(server.url + path, data=body, headers={**JSON, **(headers or {})})
    try:
        with urllib.request.urlopen(rq, context=context, timeout=30) as rs:
            return rs.status
    except urllib.error.HTTPError as e:
        return e.code
    except OSError as e:
        return type(e).__name__


def check_client_certificates(cameo, directory):
    try:
        ca, other = issue(directory, "ca", "test CA"), issue(directory, "other-ca", "other CA")
    except (OSError, subprocess.CalledProcessError) as e:
        skip("client certificates", "openssl cannot create a certificate: %s" % e)
        return
    own = issue(directory, "own", "server", ca)
    agent, reader = issue(directory, "agent", "agent-1", ca), issue(directory, "reader", "reader", ca)
    unknown, foreign = issue(directory, "unknown", "unknown", ca), issue(directory, "foreign", "agent-1", other)
    tls = ["--tls-cert", own[0], "--tls-key", own[1], "--tls-client-ca", ca[0]]
    subjects = write(directory, "subjects", "agent-1 shop write\nreader * read\n")
    tokens = write(directory, "mtls-tokens", "some-token\n")
    server = Server(cameo, os.path.join(directory, "m"), *tls, "--auth-subject-file", subjects,
                    "--auth-token-file", tokens)
    pushed = json.dumps({"series": []}).encode()
    writes, reads = ("/push.v1.PusherService/Push", pushed), (PAGE + "Tree", BODY)
    for name, pair, expected in (
            ("a listed certificate for writing", agent, (400, 403)), ("one for reading", reader, (403, 200)),
            ("a certificate that is not listed", unknown, (401, 401)), ("no certificate", None, (401, 401))):
        got = ask_tls(server, ca, pair, *writes), ask_tls(server, ca, pair, *reads)
        check("%s: %s for an empty push and a query" % (name, expected), got == expected, got)
    got = ask_tls(server, ca, foreign, *reads)
    check("a certificate of another CA ends the handshake", isinstance(got, str), got)
    got = ask_tls(server, ca, agent, *reads, {"Authorization": "Bearer some-token"})
    check("a token counts more than the certificate", got == 200, got)
    got = ask_tls(server, ca, agent, *writes, {"X-Scope-OrgID": "other"})
    check("a certificate is restricted to its tenant", got == 403, got)
    check("/ready needs none", ask_tls(server, ca, None, "/ready") == 200)
    replace(subjects, "unknown\n")
    check("the file of subjects is read again",
          until(lambda: ask_tls(server, ca, unknown, *reads) == 200) and ask_tls(server, ca, agent, *writes) == 401)
    fresh = issue(directory, "fresh", "server", other)
    replace(own[1], open(fresh[1], encoding="ascii").read())
    replace(own[0], open(fresh[0], encoding="ascii").read())
    check("a new certificate is served without a restart",
          until(lambda: ask_tls(server, other, unknown, "/ready") == 200), ask_tls(server, other, None, "/ready"))
    server.stop()
    fresh = issue(directory, "own", "server", ca)
    server = Server(cameo, os.path.join(directory, "n"), *tls)
    got = ask_tls(server, ca, unknown, *writes), ask_tls(server, ca, None, *reads)
    check("without a file of subjects every certificate of the CA may read and write", got == (400, 401), got)
    server.stop()
    check("a CA of clients without TLS is refused", refused(cameo, directory, "--tls-client-ca", ca[0]))


def check_tls(cameo, directory):
    cert, key = os.path.join(directory, "cert"), os.path.join(directory, "key")
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                           "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                           "-keyout", key, "-out", cert], capture_output=True)
    if made.returncode:
        skip("TLS", "openssl cannot create a certificate")
        return
    server = Server(cameo, os.path.join(directory, "c"), "--tls-cert", cert, "--tls-key", key)
    check("its URL says https", server.url.startswith("https://"), server.url)
    with urllib.request.urlopen(server.url + "/ready",
                                context=ssl.create_default_context(cafile=cert)) as rs:
        check("it responds over HTTPS", rs.read() == b"ready")
    try:
        urllib.request.urlopen(server.url.replace("https", "http") + "/ready", timeout=10)
        check("plain HTTP is refused", False)
    except OSError:
        check("plain HTTP is refused", True)
    server.stop()
    for args in (["--tls-cert", cert], ["--tls-cert", key, "--tls-key", cert],
                 ["--tls-cert", directory + "/none", "--tls-key", key]):
        check("%s is refused" % args, refused(cameo, directory, *args))


def refused(cameo, directory, *args):
    run = subprocess.run([cameo, "server", "--listen", "127.0.0.1:0", "--data",
                          os.path.join(directory, "d"), *args], capture_output=True, timeout=30)
    return run.returncode != 0 and run.stderr and b"listen" not in run.stdout


def check_refused(cameo, directory):
    tokens = write(directory, "ok", "secret-of-all\n")
    check("listening on all addresses without authentication is refused", refused(cameo, directory, "--listen", "0.0.0.0:0"))
    check("so is listening with the OTLP port", refused(cameo, directory, "--otlp-listen", "0.0.0.0:0"))
    for args in (("--auth-token-file", tokens), ("--insecure",)):
        server = Server(cameo, os.path.join(directory, "e"), "--listen", "0.0.0.0:0", *args)
        check("it is allowed with %s" % args[0], server.url)
        server.stop()
    for text in ("", "# nobody\n", "short\n", "secret-of-all tenant more\n", "secret-of-all a/b\n"):
        path = write(directory, "wrong", text)
        check("token file %r is refused" % text, refused(cameo, directory, "--auth-token-file", path))
    path = write(directory, "wrong", "no-password\n")
    check("a line without a password is refused", refused(cameo, directory, "--auth-basic-file",
                                                          path))
    check("a missing file is refused", refused(cameo, directory, "--auth-token-file", "/none"))


def main():
    with tempfile.TemporaryDirectory() as directory:
        check_secrets(sys.argv[1], directory)
        check_scopes(sys.argv[1], directory, sys.argv[2])
        check_hashes_and_reload(sys.argv[1], directory)
        check_tenants(sys.argv[1], directory)
        check_tls(sys.argv[1], directory)
        check_client_certificates(sys.argv[1], directory)
        check_refused(sys.argv[1], directory)
    return finish()


sys.exit(main())
