#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""oidc.py CAMEO: bearer tokens of an issuer: signatures, claims, scopes, and its keys from a file or a URL."""
import base64
import hashlib
import hmac
import http.server
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

from serving import CPU, PAGE, RANGE, Server, check, finish, skip

ISSUER, AUDIENCE = "https://issuer.example.org", "cameo"
FETCH_S = 10  # FETCH_MS of src/server/oidc.c
JSON = {"Content-Type": "application/json"}
BODY = json.dumps({**RANGE, "profileTypeID": CPU}).encode()
PUSH = "/push.v1.PusherService/Push"


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*args, data=None):
    return subprocess.run(["openssl", *args], input=data, capture_output=True, check=True).stdout


class Key:
    """A private key of openssl, its public form in a key set, and signatures."""

    def __init__(self, directory, kid, alg):
        self.kid, self.alg, self.path = kid, alg, os.path.join(directory, kid + ".pem")
        args = {"RS256": ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"], "EdDSA": ["ED25519"],
                "ES256": ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"]}[alg]
        openssl("genpkey", "-algorithm", *args, "-out", self.path)
        self.public = openssl("pkey", "-in", self.path, "-pubout", "-outform", "DER")

    def jwk(self):
        if self.alg == "RS256":
            modulus = openssl("rsa", "-in", self.path, "-noout", "-modulus").decode().strip().split("=")[1]
            own = {"kty": "RSA", "n": b64(bytes.fromhex(modulus)), "e": "AQAB"}
        elif self.alg == "ES256":
            own = {"kty": "EC", "crv": "P-256", "x": b64(self.public[-64:-32]), "y": b64(self.public[-32:])}
        else:
            own = {"kty": "OKP", "crv": "Ed25519", "x": b64(self.public[-32:])}
        return {**own, "kid": self.kid, "use": "sig", "alg": self.alg}

    def sign(self, data):
        if self.alg == "EdDSA":
            with tempfile.NamedTemporaryFile() as f:
                f.write(data)
                f.flush()
                return openssl("pkeyutl", "-sign", "-rawin", "-inkey", self.path, "-in", f.name)
        signature = openssl("dgst", "-sha256", "-sign", self.path, data=data)
        if self.alg == "RS256":
            return signature
        numbers, at = b"", 2
        for _ in range(2):  # DER: two integers, each with a type and a length
            length = signature[at + 1]
            numbers += int.from_bytes(signature[at + 2:at + 2 + length], "big").to_bytes(32, "big")
            at += 2 + length
        return numbers


def token(key, claims=None, header=None, sign=None):
    now = int(time.time())
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "agent 7", "exp": now + 3600, "nbf": now - 10,
              "scope": "openid cameo:read cameo:write", **(claims or {})}
    claims = {k: v for k, v in claims.items() if v is not None}
    header = {"alg": key.alg, "kid": key.kid, "typ": "JWT", **(header or {})}
    signed = (b64(json.dumps(header).encode()) + "." + b64(json.dumps(claims).encode())).encode()
    return signed.decode() + "." + b64((sign or key.sign)(signed))


def query(server, bearer, headers=None):
    return server.ask(PAGE + "Tree", BODY, {**JSON, "Authorization": "Bearer " + bearer, **(headers or {})})[0]


def empty_push(server, bearer):
    return server.ask(PUSH, b'{"series":[]}', {**JSON, "Authorization": "Bearer " + bearer})[0]


def until(condition, limit_s=90):
    deadline = time.monotonic() + limit_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    return condition()


def options(jwks, *more):
    return ["--oidc-issuer", ISSUER, "--oidc-audience", AUDIENCE, "--oidc-jwks", jwks, *more]


def write_set(path, keys):
    with open(path + ".new", "w", encoding="ascii") as f:
        json.dump({"keys": [{"kty": "oct", "k": "AAAA", "kid": "shared"}, *[k.jwk() for k in keys]]}, f)
    os.rename(path + ".new", path)


def claims_and_signatures(cameo, tmp, keys):
    jwks = os.path.join(tmp, "jwks")
    write_set(jwks, keys[:3])
    server = Server(cameo, os.path.join(tmp, "a"), *options(jwks))
    for key in keys[:3]:
        check("%s is accepted" % key.alg, query(server, token(key)) == 200)
        check("%s of another key with its kid is not" % key.alg,
              query(server, token(key, sign=lambda d, k=key: other_of(keys, k).sign(d))) == 401)
    key, now = keys[0], int(time.time())
    check("a list of audiences", query(server, token(key, {"aud": ["x", AUDIENCE]})) == 200)
    check("a minute of leeway", query(server, token(key, {"exp": now - 20, "nbf": now + 20})) == 200)
    check("scopes as a list", query(server, token(key, {"scope": ["cameo:read"]})) == 200)
    check("again, from the cache", query(server, token(key, {"sub": "x"})) == 200)
    for name, claims in (
            ("an expired token", {"exp": now - 120}), ("one without expiry", {"exp": None}),
            ("an expiry that is text", {"exp": str(now + 3600)}), ("one of the future", {"nbf": now + 120}),
            ("another audience", {"aud": "other"}), ("no audience", {"aud": None}),
            ("a list without ours", {"aud": ["cameo2", "x"]}), ("an audience with a NUL", {"aud": AUDIENCE + "\0x"}),
            ("another issuer", {"iss": ISSUER + "/"}), ("no issuer", {"iss": None})):
        check("refused: %s" % name, query(server, token(key, claims)) == 401)
    secret = openssl("rsa", "-in", key.path, "-pubout")
    none = token(key, header={"alg": "none"}, sign=lambda d: b"")
    for name, text in (
            ("alg none", none), ("alg none without a signature", none.rstrip(".")),
            ("HS256 by the public key", token(key, header={"alg": "HS256"}, sign=lambda d: hmac.new(
                secret, d, hashlib.sha256).digest())),
            ("RS256 by a key of ES256", token(keys[1], header={"alg": "RS256"})),
            ("extensions that must be understood", token(key, header={"crit": ["x"]})),
            ("an unknown key", token(keys[3])), ("no signature", token(key).rsplit(".", 1)[0] + "."),
            ("four parts", token(key) + ".x"), ("garbage", "a.b.c"), ("a huge one", token(key, {"x": "y" * 9000})),
            ("other claims under the signature", swapped(token(key), {"sub": "root"}))):
        check("refused: %s" % name, query(server, text) == 401)
    check("the scope for reading reads", query(server, token(key, {"scope": "cameo:read"})) == 200)
    check("and does not write", empty_push(server, token(key, {"scope": "cameo:read"})) == 403)
    check("the scope for writing does", empty_push(server, token(key, {"scope": "cameo:write"})) == 400)
    check("a token without our scopes does nothing", query(server, token(key, {"scope": "openid"})) == 403)
    write_set(jwks, keys[3:])
    check("a changed file is read again", until(lambda: query(server, token(keys[3])) == 200))
    check("keys that are gone verify nothing", query(server, token(key, {"sub": "new"})) == 401)
    server.stop()
    server = Server(cameo, os.path.join(tmp, "b"), *options(jwks, "--oidc-tenant-claim", "org"))
    for org, expected in (("shop", 200), (None, 401), ("../x", 401), ("", 401), (["shop"], 401)):
        got = query(server, token(keys[3], {"org": org}))
        check("tenant %r: %d" % (org, expected), got == expected, got)
    check("no other tenant", query(server, token(keys[3], {"org": "shop"}), {"X-Scope-OrgID": "other"}) == 403)
    server.stop()


def other_of(keys, key):
    return next(k for k in keys if k is not key and k.alg == key.alg)


def swapped(text, claims):
    header, body, signature = text.split(".")
    old = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return ".".join([header, b64(json.dumps({**old, **claims}).encode()), signature])


class Issuer(http.server.ThreadingHTTPServer):
    """Serves a key set, or a status of failure."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.keys, self.status, self.n_asked = [], 200, 0
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = "http://127.0.0.1:%d/jwks" % self.server_address[1]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"keys": [k.jwk() for k in self.server.keys]}).encode()
        self.server.n_asked += 1
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def keys_by_url(cameo, tmp, keys):
    issuer = Issuer()
    issuer.status = 500
    path = os.path.join(tmp, "url.log")
    with open(path, "w", encoding="utf-8") as log:
        server = Server(cameo, os.path.join(tmp, "u"), *options(issuer.url), stderr=log)

        def logged(text):
            with open(path, encoding="utf-8") as f:
                return text in f.read()
        check("a URL that fails is reported", until(lambda: logged("\"%s\" responded with status 500" % issuer.url)))
        check("and no token is accepted meanwhile", query(server, token(keys[0])) == 401)
        check("but the server answers", server.ask("/ready")[0] == 200)
        issuer.keys, issuer.status = keys[:1], 200
        check("when it answers, tokens are accepted", until(lambda: query(server, token(keys[0])) == 200))
        issuer.keys = keys[:2]
        check("a new key is found by a token that names it", until(lambda: query(server, token(keys[1])) == 200))
        issuer.status = 500
        before = issuer.n_asked
        for i in range(50):
            query(server, token(keys[2], {"sub": str(i)}))
        check("unknown keys do not make requests each", issuer.n_asked - before <= 2, issuer.n_asked - before)
        check("while it fails, the old keys stay", until(lambda: logged("status 500")) and
              query(server, token(keys[0], {"sub": "later"})) == 200)
        server.stop()
    issuer.shutdown()


def absent_issuer(cameo, tmp):
    with socket.create_server(("127.0.0.1", 0)) as unused:
        url = "http://127.0.0.1:%d/jwks" % unused.getsockname()[1]
    path = os.path.join(tmp, "absent.log")
    with open(path, "w", encoding="utf-8") as log:
        server = Server(cameo, os.path.join(tmp, "absent"), *options(url), stderr=log)

        def logged():
            with open(path, encoding="utf-8") as f:
                return url in f.read()
        check("a URL where nobody listens is named in the log", until(logged))
        server.stop()


def silent_issuer(cameo, tmp):
    """A stopping server does not wait for an issuer that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as issuer:
        server = Server(cameo, os.path.join(tmp, "s"), *options("http://127.0.0.1:%d/jwks" % issuer.getsockname()[1]))
        connection, _ = issuer.accept()
        connection.recv(1)
        begun = time.monotonic()
        stopped = server.stop()
        took = time.monotonic() - begun
        connection.close()
        check("a server whose issuer is silent stops cleanly", stopped == 0, stopped)
        check("and before the issuer's time limit of %d s" % FETCH_S, took < FETCH_S / 2, took)


def refused(cameo, tmp, *args):
    run = subprocess.run([cameo, "server", "--listen", "127.0.0.1:0", "--data", os.path.join(tmp, "r"), *args],
                         capture_output=True, timeout=30)
    return run.returncode != 0 and b"http" not in run.stdout


def main():
    cameo = os.path.realpath(sys.argv[1])
    with tempfile.TemporaryDirectory() as tmp:
        try:
            keys = [Key(tmp, "rsa", "RS256"), Key(tmp, "ec", "ES256"), Key(tmp, "ed", "EdDSA"),
                    Key(tmp, "rsa-2", "RS256"), Key(tmp, "ec-2", "ES256"), Key(tmp, "ed-2", "EdDSA")]
        except (OSError, subprocess.CalledProcessError) as e:
            skip("all", "openssl cannot create keys: %s" % e)
            return finish()
        claims_and_signatures(cameo, tmp, keys)
        keys_by_url(cameo, tmp, keys)
        absent_issuer(cameo, tmp)
        silent_issuer(cameo, tmp)
        broken = os.path.join(tmp, "broken")
        for name, text in (("no JSON", "{"), ("no keys", "{}"), ("shared keys only", '{"keys":[{"kty":"oct"}]}')):
            with open(broken, "w", encoding="ascii") as f:
                f.write(text)
            check("a file with %s is refused" % name, refused(cameo, tmp, *options(broken)))
        check("keys over plain HTTP are refused", refused(cameo, tmp, *options("http://issuer.example.org/jwks")))
        check("an issuer without audience is refused", refused(cameo, tmp, "--oidc-issuer", ISSUER,
                                                               "--oidc-jwks", broken))
    return finish()


sys.exit(main())
