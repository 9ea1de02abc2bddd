# SPDX-License-Identifier: Apache-2.0
"""Decodes as much of pprof's protobuf as is needed to check the profiles of an agent."""
import gzip


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Yields (number, value) of the fields of a message; values are integers and bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            n, at = varint(data, at)
            value, at = data[at:at + n], at + n
        else:
            raise ValueError(f"wire type {key & 7}")
        yield key >> 3, value


def numbers(value):
    """Returns the values of a repeated integer, packed or not."""
    if isinstance(value, int):
        return [value]
    out, at = [], 0
    while at < len(value):
        v, at = varint(value, at)
        out.append(v)
    return out


def get(message, number, default=0):
    return next((v for n, v in fields(message) if n == number), default)


class Profile:
    """A profile; samples are (stack of function names from the root, {label: value}, values)."""

    def __init__(self, data):
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        top = list(fields(data))
        self.strings = [v.decode() for n, v in top if n == 6]
        functions = {get(v, 1): self.strings[get(v, 2)] for n, v in top if n == 5}
        self.mappings = {get(v, 1): (self.strings[get(v, 5)], self.strings[get(v, 6)]) for n, v in top if n == 3}
        self.locations = {get(v, 1): (get(v, 2), get(v, 3), [functions[get(line, 1)] for n, line in fields(v) if n == 4])
                          for n, v in top if n == 4}
        self.types = [(self.strings[get(v, 1)], self.strings[get(v, 2)]) for n, v in top if n == 1]
        period = next((v for n, v in top if n == 11), b"")
        self.period_type = (self.strings[get(period, 1)], self.strings[get(period, 2)])
        self.period = next((v for n, v in top if n == 12), 0)
        self.time_ns = next((v for n, v in top if n == 9), 0)
        self.duration_ns = next((v for n, v in top if n == 10), 0)
        self.samples = [self.sample(v) for n, v in top if n == 2]

    def label(self, message):
        text = get(message, 2)
        return self.strings[get(message, 1)], self.strings[text] if text else get(message, 3)

    def sample(self, message):
        ids = [i for n, v in fields(message) if n == 1 for i in numbers(v)]
        names = [name for i in reversed(ids) for name in reversed(self.locations[i][2])]
        values = [i for n, v in fields(message) if n == 2 for i in numbers(v)]
        labels = dict(self.label(v) for n, v in fields(message) if n == 3)
        return tuple(names), labels, values

    def places(self, function):
        """Returns the location of FUNCTION: (file, build id, address in the file)."""
        return {(*self.mappings[m], address) for m, address, names in self.locations.values()
                if m and function in names}
