# SPDX-License-Identifier: Apache-2.0
"""XXH3 with 64 bits, by its specification (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md)."""
import struct

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
WORD = (1 << 64) - 1
LOW = (1 << 32) - 1
P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
STRIPE, PER_BLOCK = 64, 16


def u64(data, at):
    return int.from_bytes(data[at:at + 8], "little")


def u32(data, at):
    return int.from_bytes(data[at:at + 4], "little")


def fold(a, b):
    product = a * b
    return product & WORD ^ product >> 64


def avalanche(h):
    h ^= h >> 37
    h = h * 0x165667919E3779F9 & WORD
    return h ^ h >> 32


def avalanche64(h):
    h ^= h >> 33
    h = h * P64_2 & WORD
    h ^= h >> 29
    h = h * P64_3 & WORD
    return h ^ h >> 32


def mix16(data, at, secret_at, seed):
    return fold(u64(data, at) ^ u64(SECRET, secret_at) + seed & WORD,
                u64(data, at + 8) ^ u64(SECRET, secret_at + 8) - seed & WORD)


def short(data, seed):
    """Up to 16 bytes."""
    n = len(data)
    if n > 8:
        low = u64(data, 0) ^ (u64(SECRET, 24) ^ u64(SECRET, 32)) + seed & WORD
        high = u64(data, n - 8) ^ (u64(SECRET, 40) ^ u64(SECRET, 48)) - seed & WORD
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return avalanche(n + swapped + high + fold(low, high) & WORD)
    if n >= 4:
        seed ^= int.from_bytes((seed & LOW).to_bytes(4, "little"), "big") << 32
        h = u32(data, n - 4) + (u32(data, 0) << 32) ^ (u64(SECRET, 8) ^ u64(SECRET, 16)) - seed & WORD
        h ^= (h << 49 | h >> 15) & WORD ^ (h << 24 | h >> 40) & WORD
        h = h * 0x9FB21C651E98DF25 & WORD
        h ^= (h >> 35) + n
        h = h * 0x9FB21C651E98DF25 & WORD
        return h ^ h >> 28
    if n:
        word = data[0] << 16 | data[n >> 1] << 24 | data[-1] | n << 8
        return avalanche64(word ^ (u32(SECRET, 0) ^ u32(SECRET, 4)) + seed)
    return avalanche64(seed ^ u64(SECRET, 56) ^ u64(SECRET, 64))


def middle(data, seed):
    """17 to 240 bytes."""
    n = len(data)
    acc = n * P64_1
    if n <= 128:
        for i in range((n - 1) // 32, -1, -1):
            acc += mix16(data, 16 * i, 32 * i, seed) + mix16(data, n - 16 * (i + 1), 32 * i + 16, seed)
        return avalanche(acc & WORD)
    acc = avalanche(acc + sum(mix16(data, 16 * i, 16 * i, seed) for i in range(8)) & WORD)
    acc += sum(mix16(data, 16 * i, 16 * (i - 8) + 3, seed) for i in range(8, n // 16))
    return avalanche(acc + mix16(data, n - 16, 136 - 17, seed) & WORD)


def accumulate(acc, data, at, secret, secret_at):
    values = struct.unpack_from("<8Q", data, at)
    for i, (v, k) in enumerate(zip(values, struct.unpack_from("<8Q", secret, secret_at))):
        k ^= v
        acc[i ^ 1] += v
        acc[i] = acc[i] + (k & LOW) * (k >> 32) & WORD


def long(data, seed):
    secret = b"".join(struct.pack("<QQ", u64(SECRET, i) + seed & WORD, u64(SECRET, i + 8) - seed & WORD)
                      for i in range(0, len(SECRET), 16))
    acc = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]
    last = len(data) - STRIPE
    for n in range((len(data) - 1) // STRIPE):
        accumulate(acc, data, n * STRIPE, secret, n % PER_BLOCK * 8)
        if n % PER_BLOCK == PER_BLOCK - 1:
            acc = [(a & WORD ^ (a & WORD) >> 47 ^ u64(secret, 128 + 8 * i)) * P32_1 & WORD for i, a in enumerate(acc)]
    accumulate(acc, data, last, secret, len(secret) - STRIPE - 7)
    total = len(data) * P64_1
    for i in range(0, 8, 2):
        total += fold(acc[i] & WORD ^ u64(secret, 11 + 8 * i), acc[i + 1] & WORD ^ u64(secret, 19 + 8 * i))
    return avalanche(total & WORD)


def xxh3_64(data, seed=0):
    data = bytes(data)
    return (short if len(data) <= 16 else middle if len(data) <= 240 else long)(data, seed)
