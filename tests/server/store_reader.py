#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""store_reader.py DIR [TENANT]: print the series, stack traces and sums of a store.

It knows docs/store.md only, and shares no code with the server. DIR is read from a copy, so no file of
it changes. A wrong checksum, number or total is an error.
"""
import collections
import glob
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from xxh3 import xxh3_64

APPLICATION_ID, NEWEST, OLDEST = 0x43614d65, 6, 3
STRINGS, FRAMES, NODES, SERIES = range(4)

Series = collections.namedtuple("Series", "name period types labels")
# rows: [(stack from the root on, (a value for each type))]
Window = collections.namedtuple("Window", "series time_ns duration_ns period totals has_id rows")


class Damaged(Exception):
    pass


def need(ok, what):
    if not ok:
        raise Damaged(what)


class Cursor:
    def __init__(self, data):
        self.data, self.at = bytes(data), 0

    def more(self):
        return self.at < len(self.data)

    def bytes(self, n):
        need(n <= len(self.data) - self.at, "it ends early")
        self.at += n
        return self.data[self.at - n:self.at]

    def varint(self):
        v = shift = 0
        while True:
            byte = self.bytes(1)[0]
            v |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return v

    def zigzag(self):
        v = self.varint()
        return v >> 1 ^ -(v & 1)

    def blob(self):
        return self.bytes(self.varint())


def signed(v):
    """A number of 64 bits that wraps around."""
    v &= (1 << 64) - 1
    return v - (1 << 64) if v >> 63 else v


def unseal(data):
    data = bytes(data or b"")
    if not data:
        return data
    need(len(data) >= 8 and xxh3_64(data[:-8]).to_bytes(8, "big") == data[-8:], "the checksum of a blob is wrong")
    return data[:-8]


def unzstd(frame):
    done = subprocess.run(["zstd", "-dcq"], input=frame, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    need(done.returncode == 0, "a frame of zstd is damaged")
    return done.stdout


def uncompressed(data):
    return data[1:] if data[:1] == b"\0" else unzstd(data)


def columns_of(c, n):
    lengths = [c.varint() for _ in range(n)]
    return [Cursor(c.bytes(length)) for length in lengths]


def values_of(columns, n):
    """The values of each type."""
    done = []
    for c in columns:
        if c.bytes(1) == b"\1":
            factor = c.zigzag()
            done.append([v * factor for v in done[0]])
        else:
            done.append([c.zigzag() for _ in range(n)])
    return done


def read_block(data):
    """[(node, values)]"""
    c = Cursor(uncompressed(data))
    n, n_types = c.varint(), c.varint()
    nodes, *values = columns_of(c, 1 + n_types)
    rows, node = [], 0
    values = values_of(values, n)
    for i in range(n):
        node += nodes.varint()
        rows.append((node, tuple(v[i] for v in values)))
    return rows


def read_pack_heads(data):
    """[(time, block, duration, period, has id, totals)]"""
    c = Cursor(uncompressed(data))
    n, n_types = c.varint(), c.varint()
    times, block, duration, period, ids, *totals = columns_of(c, 5 + n_types)
    members, totals = (block, duration, period), values_of(totals, n)
    now = step = 0
    heads, last = [], [0] * 3
    has = ids.bytes(n)
    need(len(ids.data) == n + 8 * sum(has), "ids of a pack are damaged")
    for i in range(n):
        step += times.zigzag()
        now += step
        last = [signed(v + m.zigzag()) for v, m in zip(last, members)]
        heads.append((signed(now), *last, has[i] == 1, tuple(t[i] for t in totals)))
    return heads


def read_pack_rows(data, n_windows):
    """[[(node, values)] for each window]"""
    c = Cursor(uncompressed(data))
    n_types, n_nodes, n = c.varint(), c.varint(), c.varint()
    nodes, counts, windows, *values = columns_of(c, 3 + n_types)
    values = values_of(values, n)
    rows = [[] for _ in range(n_windows)]
    node = row = 0
    for _ in range(n_nodes):
        node += nodes.varint()
        at = 0
        for _ in range(counts.varint()):
            at += windows.varint()
            need(at < n_windows, "a row of a pack has no window")
            rows[at].append((node, tuple(v[row] for v in values)))
            row += 1
    need(row == n, "a pack has another number of rows")
    return rows


class Day:
    """One file, which may have a log."""

    def __init__(self, path):
        self.check_pages(path)
        self.db = sqlite3.connect(path)
        one = lambda sql: self.db.execute(sql).fetchone()[0]
        need(one("PRAGMA application_id") == APPLICATION_ID, "not a file of Cameo")
        self.format = one("PRAGMA user_version")
        need(self.format <= NEWEST, "format %d is newer than this reader" % self.format)
        need(self.format >= OLDEST, "format %d: convert it with \"cameo store compact\"" % self.format)
        self.tables = ["", ], [], [(0, 0)], []
        self.arrivals = []
        self.read_dictionary()

    @staticmethod
    def check_pages(path):
        """Pages in the log have SQLite's checksums."""
        with open(path, "rb") as f:
            data = f.read()
        length = int.from_bytes(data[16:18], "big")
        need(data[20] in (8, 16), "pages have no checksums")
        for i in range(len(data) // length):
            page = data[i * length:(i + 1) * length]
            need(xxh3_64(page[:-8], i + 1).to_bytes(8, "big") == page[-8:], "the checksum of page %d is wrong" % (i + 1))

    def read_dictionary(self):
        for kind, first, data in self.db.execute("SELECT kind, first, data FROM chunks ORDER BY kind, first"):
            self.add_chunk(kind, first, unseal(data))
        if self.format >= 4:
            self.read_arrivals()

    def add_chunk(self, kind, first, data):
        need(kind < 4 and first == len(self.tables[kind]), "a chunk is out of place")
        c = Cursor(unzstd(data))
        while c.more():
            if kind == STRINGS:
                entry = c.blob().decode("utf-8", "replace")
            elif kind == FRAMES:
                entry = tuple(c.varint() for _ in range(5))
            elif kind == NODES:
                entry = len(self.tables[NODES]) - c.varint(), c.varint()
                need(0 <= entry[0] < len(self.tables[NODES]), "a node has no parent")
            else:
                entry = tuple(c.varint() for _ in range(c.varint()))
            self.tables[kind].append(entry)

    def read_arrivals(self):
        for expected, (at, data) in enumerate(self.db.execute("SELECT id, data FROM arrivals ORDER BY id"), 1):
            need(at == expected, "a row of arrivals is missing")
            c = Cursor(unseal(data))
            while c.more():
                kind = c.varint()
                need(kind in (1, 2, 3), "a row of arrivals is damaged")
                if kind == 1:
                    self.add_chunk(c.varint(), c.varint(), c.blob())
                elif kind == 2:
                    c.bytes(16)
                else:
                    self.arrivals.append(self.arrived(c))

    @staticmethod
    def arrived(c):
        series, time_ns, has_id = c.varint(), c.varint(), c.varint()
        c.bytes(8 * has_id)
        head, block, _, _, _ = (c.blob() for _ in range(5))
        return series, time_ns, has_id == 1, head, block

    def series(self, number):
        words = self.tables[SERIES][number]
        text = self.tables[STRINGS]
        types_end = 4 + 2 * words[3]
        pairs = lambda begin, end: [(text[words[i]], text[words[i + 1]]) for i in range(begin, end, 2)]
        return Series(text[words[0]], (text[words[1]], text[words[2]]), pairs(4, types_end), dict(pairs(types_end, len(words))))

    def stack(self, node):
        names = []
        while node:
            node, frame = self.tables[NODES][node]
            names.append(self.tables[STRINGS][self.tables[FRAMES][frame][0]])
        return tuple(reversed(names))

    def window(self, series, time_ns, head, has_id, rows):
        duration, period, totals = head
        need(totals == tuple(map(sum, zip(*(v for _, v in rows)))), "a total is not the sum of its rows")
        return Window(self.series(series), time_ns, duration, period, totals, has_id,
                      [(self.stack(node), values) for node, values in rows])

    def head(self, series, data):
        """((duration, period, totals), has id)"""
        c = Cursor(data)
        duration, period = signed(c.varint()), signed(c.varint())
        totals = tuple(c.zigzag() for _ in self.series(series).types)
        return (duration, period, totals), c.more()

    def windows(self):
        for series, time_ns, head, block in self.db.execute(
                "SELECT w.series, w.time, w.head, b.data FROM windows w JOIN blocks b ON b.id = w.block"):
            head, has_id = self.head(series, unseal(head))
            yield self.window(series, time_ns, head, has_id, read_block(unseal(block)))
        for series, time_ns, has_id, head, block in self.arrivals:
            yield self.window(series, time_ns, self.head(series, head)[0], has_id, read_block(block))
        if self.format >= 5:
            yield from self.packed()

    def packed(self):
        for series, n, heads, rows in self.db.execute(
                "SELECT p.series, p.windows, p.heads, r.data FROM packs p JOIN packed r ON r.id = p.id"):
            heads = read_pack_heads(unseal(heads))
            need(len(heads) == n, "a pack has another number of windows")
            for (time_ns, _, duration, period, has_id, totals), own in zip(heads, read_pack_rows(unseal(rows), n)):
                yield self.window(series, time_ns, (duration, period, totals), has_id, own)


def read(directory, tenant="anonymous"):
    """All windows of a tenant."""
    done = []
    with tempfile.TemporaryDirectory() as tmp:
        for path in sorted(glob.glob(os.path.join(directory, tenant, "????-??-??.db"))):
            copy = os.path.join(tmp, os.path.basename(path))
            for suffix in ("", "-wal"):
                if os.path.exists(path + suffix):
                    shutil.copyfile(path + suffix, copy + suffix)
            try:
                done += Day(copy).windows()
            except (Damaged, sqlite3.DatabaseError) as e:
                raise Damaged("%s: %s" % (path, e)) from e
    return done


def sums(windows):
    """{(series and type as text): {stack: sum}}"""
    done = {}
    for w in windows:
        for k, (kind, unit) in enumerate(w.series.types):
            labels = ", ".join('%s="%s"' % pair for pair in sorted(w.series.labels.items()))
            own = done.setdefault("%s:%s:%s:%s:%s{%s}" % (w.series.name, kind, unit, *w.series.period, labels),
                                  collections.Counter())
            for stack, values in w.rows:
                own[stack] += values[k]
    return done


def main():
    try:
        windows = read(*sys.argv[1:3])
    except Damaged as e:
        sys.exit("store_reader: %s" % e)
    for series, own in sorted(sums(windows).items()):
        print(series)
        for stack, value in sorted(own.items()):
            print("\t%d %s" % (value, ";".join(stack)))


if __name__ == "__main__":
    main()
