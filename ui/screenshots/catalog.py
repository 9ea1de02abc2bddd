# SPDX-License-Identifier: Apache-2.0
"""A product catalog for the screenshots: serves /products?page=N from SQLite as gzipped JSON."""
import gzip
import json
import re
import sqlite3
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

PRODUCTS, PAGE = 5000, 80
WORDS = "light solid garden kitchen travel winter classic compact premium folding".split()


def create_database():
    db = sqlite3.connect("file:catalog?mode=memory&cache=shared", uri=True, check_same_thread=False)
    db.execute("CREATE TABLE products (id INTEGER, name TEXT, price INTEGER, description TEXT)")
    rows = [(i, "%s %s %d" % (WORDS[i % 10], WORDS[i // 7 % 10], i), i * 37 % 9900,
             " ".join(WORDS[(i + k * k) % 10] for k in range(30))) for i in range(PRODUCTS)]
    db.executemany("INSERT INTO products VALUES (?, ?, ?, ?)", rows)
    return db


def load_products(db, page):
    word = WORDS[page % 10]
    return db.execute("SELECT * FROM products WHERE description LIKE ? ORDER BY price LIMIT ? OFFSET ?",
                      ("%%%s %%" % word, PAGE, page * 10)).fetchall()


def highlight(text, word):
    return re.sub(r"\b(%s)\w*" % re.escape(word[:4]), r"<em>\1</em>", text)


def format_price(cents):
    return "%d.%02d EUR" % divmod(cents, 100)


def render_products(rows, page):
    return [{"id": i, "name": name.title(), "price": format_price(price),
             "text": highlight(text, WORDS[page % 10]), "tags": sorted(set(text.split()))}
            for i, name, price, text in rows]


class Catalog(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    db = create_database()

    def do_GET(self):
        page = int(parse_qs(urlparse(self.path).query).get("page", ["0"])[0])
        body = gzip.compress(json.dumps(render_products(load_products(self.db, page), page)).encode(), 6)
        self.send_response(200)
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Catalog).serve_forever()
