# SPDX-License-Identifier: Apache-2.0
"""A model of a disk that loses power: the states in which a log of disk_shim.c can leave it.

A flush of a file makes its content durable, one of a directory the names in it. A write that was
not flushed reaches the disk or not, each of its sectors of 512 bytes by chance, and in any order. Names
that were not flushed change up to a random one (as with a journal), or each by chance.
"""
import os
import struct

SECTOR = 512
RECORD = struct.Struct("<B3xIQQQ")


class File:
    def __init__(self, data=b""):
        self.data = bytearray(data)  # durable
        self.pending = []            # (offset, data), or (length, None) of a truncation

    def apply(self, offset, data):
        if data is None:
            del self.data[offset:]
            self.data.extend(bytes(offset - len(self.data)))
            return
        self.data.extend(bytes(max(0, offset - len(self.data))))
        self.data[offset:offset + len(data)] = data

    def sync(self):
        for offset, data in self.pending:
            self.apply(offset, data)
        self.pending = []

    def lose_power(self, rng):
        """Applies what has reached the disk by chance."""
        share = rng.choice((0, 0.1, 0.5, 0.9, 1))
        torn = rng.random() < 0.7
        for offset, data in self.pending:
            if data is None or not torn:
                if rng.random() < share:
                    self.apply(offset, data)
                continue
            at = 0
            while at < len(data):
                n = min(SECTOR - (offset + at) % SECTOR, len(data) - at)
                if rng.random() < share:
                    self.apply(offset + at, data[at:at + n])
                at += n
        self.pending = []


class Disk:
    """The state of a directory; all of it is durable at first."""

    def __init__(self, directory):
        self.directory, self.names, self.by_inode = directory, {directory: None}, {}
        for d, dirs, files in os.walk(directory):
            for name in dirs:
                self.names[os.path.join(d, name)] = None
            for name in files:
                path = os.path.join(d, name)
                with open(path, "rb") as f:
                    self.names[path] = self.by_inode[os.stat(path).st_ino] = File(f.read())
        self.live, self.pending = dict(self.names), []

    def change(self, kind, path, file, names):
        if kind == "unlink":
            names.pop(path, None)
        else:
            names[path] = file

    def rename(self, old, new):
        """Two changes, of which a loss of power has both or none."""
        file = self.live.pop(old)
        self.live[new] = file
        self.pending.append([("unlink", old, None), ("link", new, file)])

    def put(self, kind, path, file=None):
        self.change(kind, path, file, self.live)
        self.pending.append([(kind, path, file)])

    def apply(self, changes):
        for kind, path, file in changes:
            self.change(kind, path, file, self.names)

    def sync_names(self, directory):
        rest = []
        for changes in self.pending:
            if os.path.dirname(changes[0][1]) == directory:
                self.apply(changes)
            else:
                rest.append(changes)
        self.pending = rest

    def record(self, op, inode, offset, path, data):
        if op == "W":
            self.by_inode[inode].pending.append((offset, data))
        elif op == "T":
            self.by_inode[inode].pending.append((offset, None))
        elif op == "S":
            self.by_inode[inode].sync()
        elif op == "D":
            self.sync_names(path)
        elif op == "C":
            self.by_inode[inode] = File()
            self.put("link", path, self.by_inode[inode])
        elif op == "M":
            self.put("link", path)
        elif op == "R":
            self.rename(*path.split("\0"))
        else:
            self.put("unlink", path)

    def lose_power(self, rng, target):
        """Writes the state after a loss of power to the new directory @target."""
        if rng.random() < 0.5:
            for changes in self.pending[:rng.randrange(len(self.pending) + 1)]:
                self.apply(changes)
        else:
            for changes in self.pending:
                if rng.random() < 0.5:
                    self.apply(changes)
        os.mkdir(target)
        for path in sorted(self.names):
            new = target + path[len(self.directory):]
            if path == self.directory or not os.path.isdir(os.path.dirname(new)):
                continue
            if self.names[path] is None:
                os.mkdir(new)
                continue
            self.names[path].lose_power(rng)
            with open(new, "wb") as f:
                f.write(self.names[path].data)


def read_log(path, until):
    """The records in the first @until bytes of a log, as arguments of Disk.record()."""
    with open(path, "rb") as f:
        log = f.read(until)
    at = 0
    while at + RECORD.size <= len(log):
        op, path_len, inode, offset, data_len = RECORD.unpack_from(log, at)
        begin = at + RECORD.size
        end = begin + path_len + data_len
        if end > len(log):
            return
        name = log[begin:begin + path_len].decode()
        yield chr(op), inode, offset, name, log[begin + path_len:end]
        at = end


def length(records):
    """The number of bytes that these records have in a log."""
    return sum(RECORD.size + len(name.encode()) + len(data) for _, _, _, name, data in records)
