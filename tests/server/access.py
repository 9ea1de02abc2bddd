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
import urllib.error
import urllib.parse
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
    """The status of a request to PATH, by the verb that it accepts, as from the server's own page."""
    headers = {**JSON, "Origin": server.url, **({"Authorization": "Bearer " + token} if token else {})}
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


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None


class Browser:
    """Sends requests as a browser does: with the cookie, and the origin of the page."""

    def __init__(self, server, cafile=None):
        handlers = [NoRedirect()]
        if cafile:
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=cafile)))
        self.opener, self.url, self.cookie = urllib.request.build_opener(*handlers), server.url, None

    def ask(self, path, body=None, headers=None):
        """Status, headers and body. A cookie that is set replaces the one of before."""
        own = {"Origin": self.url} if body is not None else {}
        if self.cookie:
            own["Cookie"] = "theme=dark; " + self.cookie
        rq = urllib.request.Request(self.url + path, data=body, headers={**own, **(headers or {})})
        try:
            rs = self.opener.open(rq, timeout=30)
        except urllib.error.HTTPError as e:
            rs = e
        with rs:
            if rs.headers.get("Set-Cookie"):
                self.cookie = rs.headers["Set-Cookie"].split(";")[0]
            return rs.status, rs.headers, rs.read().decode()

    def sign_in(self, user, secret, headers=None):
        fields = urllib.parse.urlencode({"user": user, "secret": secret}).encode()
        return self.ask("/login", fields, headers)

    def query(self, headers=None):
        return self.ask(PAGE + "Tree", BODY, {**JSON, "X-Requested-With": "XMLHttpRequest", **(headers or {})})


LOADS = {"Accept": "text/html,application/xhtml+xml"}


def check_form(server):
    """The form instead of a dialog of the browser, and an unchanged challenge for programs."""
    browser = Browser(server)
    code, headers, _ = browser.ask("/", headers=LOADS)
    check("the page leads to the form", code == 303 and headers["Location"] == "login" and
          "WWW-Authenticate" not in headers, (code, headers.items()))
    code, headers, _ = browser.ask("/")
    check("a program is challenged", code == 401 and headers["WWW-Authenticate"].startswith("Basic"), headers.items())
    code, headers, _ = browser.query()
    check("a request of the page is not", code == 401 and "WWW-Authenticate" not in headers, headers.items())
    code, headers, form = browser.ask("/login", headers=LOADS)
    check("the form has fields and no script", code == 200 and 'name="user"' in form and 'type="password"' in form and
          "<script" not in form and "script-src" not in headers["Content-Security-Policy"] and
          "default-src 'none'" in headers["Content-Security-Policy"], form)
    code, headers, form = browser.sign_in("ann", "password-of-bob")
    check("a wrong password shows the form with an error", code == 403 and 'role="alert"' in form and
          not browser.cookie and "WWW-Authenticate" not in headers, (code, form))
    code, _, form = browser.sign_in("<b>", "password-of-bob")
    check("the form does not repeat what was entered", code == 403 and "<b>" not in form, form)
    for name, headers in (("another origin", {"Origin": "https://example.org"}), ("no origin", {"Origin": ""}),
                          ("an opaque origin", {"Origin": "null"}),
                          ("another site", {"Sec-Fetch-Site": "cross-site"}),
                          ("a link or bookmark", {"Sec-Fetch-Site": "none"})):
        code = browser.sign_in("ann", "password-of-ann", headers)[0]
        check("a form of %s is refused" % name, code == 403 and not browser.cookie, code)
    code = browser.ask("/login", b"user=ann&secret=" + b"x" * 5000)[0]
    check("a large form is refused", code == 413, code)
    for body in (b"", b"user=ann", b"secret=", b"secret", b"\xff&&&=%%%2&secret=%", b"user=ann&secret=%zz%00"):
        code = browser.ask("/login", body)[0]
        check("a form %r is refused" % body, code in (400, 403) and not browser.cookie, code)


def check_session(server):
    browser = Browser(server)
    browser.cookie = "cameo-session-%s=%s" % (server.url.rsplit(":", 1)[1], "0" * 64)
    planted = browser.cookie
    code, headers, _ = browser.sign_in("ann", "password-of-ann", {"Sec-Fetch-Site": "same-origin"})
    flags = headers["Set-Cookie"].split("; ")[1:]
    check("signing in leads to the page", code == 303 and headers["Location"] == "./", (code, headers.items()))
    check("the cookie is for this server only, and not for scripts",
          sorted(flags) == ["HttpOnly", "Path=/", "SameSite=Strict"], flags)
    check("its id is a new one", browser.cookie != planted and len(browser.cookie.split("=")[1]) == 64, browser.cookie)
    check("the session may query", browser.query()[0] == 200)
    check("and load the page", browser.ask("/", headers=LOADS)[0] in (200, 404))
    code, _, text = browser.ask("/api/v1/session")
    check("the page learns the user", json.loads(text) == {"user": "ann", "signedIn": True}, text)
    for name, headers in (("another origin", {"Origin": "https://example.org"}),
                          ("another site", {"Sec-Fetch-Site": "cross-site"}),
                          ("the same site", {"Sec-Fetch-Site": "same-site"})):
        check("a request of %s with the cookie is refused" % name, browser.query(headers)[0] == 403)
    check("a POST with the cookie and no origin is refused", browser.query({"Origin": ""})[0] in (401, 403))
    first = browser.cookie
    check("signing in again changes the id", browser.sign_in("ann", "password-of-ann")[0] == 303 and
          browser.cookie != first)
    second, browser.cookie = browser.cookie, first
    check("and ends the session of before", browser.query()[0] == 401)
    browser.cookie = second
    check("a page of another origin cannot sign out",
          browser.ask("/logout", b"", {"Origin": "https://example.org"})[0] == 403 and browser.query()[0] == 200)
    code, headers, _ = browser.ask("/logout", b"")
    check("signing out deletes the cookie", code == 204 and "Max-Age=0" in headers["Set-Cookie"], headers.items())
    browser.cookie = second
    check("and the session", browser.query()[0] == 401)


def check_session_rights(server):
    reader, writer = Browser(server), Browser(server)
    pushed = json.dumps({"series": []}).encode()
    check("a token signs in without a user", reader.sign_in("", "reads-everything")[0] == 303 and
          writer.sign_in("", "writes-and-reads")[0] == 303)
    got = [b.ask("/push.v1.PusherService/Push", pushed, JSON)[0] for b in (reader, writer)]
    check("a session has the scopes of its credential", got[0] == 403 and got[1] in (200, 400), got)
    check("and its tenant", writer.query({"X-Scope-OrgID": "other"})[0] == 403 and writer.query()[0] == 200)
    check("credentials count more than the session",
          reader.query({"Authorization": "Bearer wrong-token"})[0] == 401)
    return reader, writer


def check_http2_cookie(server):
    """HTTP/2 has :authority instead of Host."""
    got = subprocess.run(["curl", "-s", "--http2-prior-knowledge", "-D-", "-o/dev/null", "-H", "Sec-Fetch-Site: same-origin",
                          "-d", "user=ann&secret=password-of-ann", server.url + "/login"],
                         capture_output=True, text=True, check=False).stdout
    name = "cameo-session-%s=" % server.url.rsplit(":", 1)[1]
    check("over HTTP/2 the cookie's name holds the port too", got.startswith("HTTP/2 303") and "set-cookie: " + name in got, got)


def check_sessions(cameo, directory):
    tokens = write(directory, "session-tokens", "reads-everything * read\nwrites-and-reads shop read,write\n")
    users = write(directory, "session-users", hash_of(cameo, "ann:password-of-ann") + "\n")
    files = ["--auth-token-file", tokens, "--auth-basic-file", users]
    server = Server(cameo, os.path.join(directory, "s"), *files)
    if server.ask("/login")[0] == 404:
        skip("signing in", "this build has no web page")
        return
    check_form(server)
    check_session(server)
    check_http2_cookie(server)
    reader, writer = check_session_rights(server)
    replace(tokens, "reads-everything * read\n# another line\n")
    check("a session ends when its credential is removed", until(lambda: writer.query()[0] == 401))
    check("and no other session does", reader.query()[0] == 200)
    server.stop()
    server = Server(cameo, os.path.join(directory, "t"), *files, "--session-idle", "6s", "--session-max", "13s")
    idle, busy = Browser(server), Browser(server)
    check("two sessions begin", idle.sign_in("ann", "password-of-ann")[0] == 303 and
          busy.sign_in("ann", "password-of-ann")[0] == 303)
    # the time at which a query is sent: a busy machine may answer it later
    begun, used, sent = time.monotonic(), 0, 0
    while busy.query()[0] == 200 and sent < 60:
        used = sent
        time.sleep(0.05)
        sent = time.monotonic() - begun
    check("a session that is used ends at its time", 6 < used < 14, used)
    check("one that is not used ended before", idle.query()[0] == 401)
    server.stop()
    check("a session without a time is refused", refused(cameo, directory, "--session-idle", "0s"))


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
    users = write(directory, "tls-users", "ann:password-of-ann\n")
    with_users = Server(cameo, os.path.join(directory, "cs"), "--tls-cert", cert, "--tls-key", key,
                        "--auth-basic-file", users)
    browser = Browser(with_users, cert)
    code, headers, _ = browser.sign_in("ann", "password-of-ann")
    if code != 404:
        check("over TLS the cookie is not sent without it", code == 303 and "; Secure" in headers["Set-Cookie"] and
              browser.cookie.startswith("__Host-"), headers.items())
        check("and identifies the session", browser.query()[0] == 200)
    with_users.stop()
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
        check_sessions(sys.argv[1], directory)
        check_tenants(sys.argv[1], directory)
        check_tls(sys.argv[1], directory)
        check_client_certificates(sys.argv[1], directory)
        check_refused(sys.argv[1], directory)
    return finish()


sys.exit(main())
