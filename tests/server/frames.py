# SPDX-License-Identifier: Apache-2.0
"""Frames of HTTP/2, written by hand, for clients that behave as no library does."""

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS = 1, 4
STATUS_200 = 0x88  # as the first byte of a block of headers


def h2_frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


H2 = PREFACE + h2_frame(SETTINGS, 0, 0, b"")
H2_NO_WINDOW = PREFACE + h2_frame(SETTINGS, 0, 0, b"\0\x04" + bytes(4))  # streams must not send a byte of a body


def h2_text(name, value):
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def h2_fields(path, *more):
    fields = [(b":method", b"POST"), (b":scheme", b"http"), (b":authority", b"127.0.0.1"), (b":path", path), *more]
    return b"".join(h2_text(*f) for f in fields)


def h2_call(stream, path, body):
    """A POST of JSON."""
    fields = h2_fields(path, (b"content-type", b"application/json"))
    return h2_frame(HEADERS, END_HEADERS, stream, fields) + h2_frame(DATA, END_STREAM, stream, body)


def h2_window(stream, size):
    return h2_frame(WINDOW_UPDATE, 0, stream, size.to_bytes(4, "big"))


def h2_read(s):
    """Yields the type, flags, stream and payload of each frame that the socket receives, until it is closed."""
    buffered = b""
    while True:
        while len(buffered) < 9 or len(buffered) < 9 + int.from_bytes(buffered[:3], "big"):
            part = s.recv(65536)
            if not part:
                return
            buffered += part
        end = 9 + int.from_bytes(buffered[:3], "big")
        yield buffered[3], buffered[4], int.from_bytes(buffered[5:9], "big") & 0x7FFFFFFF, buffered[9:end]
        buffered = buffered[end:]
