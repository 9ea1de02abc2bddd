/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Writes call frame information by hand, for the tests of its readers. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct cfi_bytes {
	uint8_t data[2048];
	size_t len;
	size_t entry; /* where the entry's length is */
};

static inline void cfi_put(struct cfi_bytes *b, const void *data, size_t len)
{
	if (b->len + len > sizeof(b->data))
		abort();
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static inline void cfi_put_u32(struct cfi_bytes *b, uint32_t v)
{
	cfi_put(b, &v, sizeof(v));
}

static inline void cfi_put_u64(struct cfi_bytes *b, uint64_t v)
{
	cfi_put(b, &v, sizeof(v));
}

#define CFI_PUT(b, ...)                                                                            \
	cfi_put((b), (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static inline void cfi_begin(struct cfi_bytes *b)
{
	b->entry = b->len;
	cfi_put_u32(b, 0);
}

static inline void cfi_end(struct cfi_bytes *b)
{
	uint32_t len = (uint32_t)(b->len - b->entry - 4);

	memcpy(b->data + b->entry, &len, sizeof(len));
}

/* The CIE of all compilers for x86-64: CFA rsp + 8, return address there; addresses by @enc. */
static inline uint32_t cfi_put_cie(struct cfi_bytes *b, uint8_t enc)
{
	uint32_t at = (uint32_t)b->len;

	cfi_begin(b);
	cfi_put_u32(b, 0);
	CFI_PUT(b, 1, 'z', 'R', 0, 1, 0x78, 16, 1, enc, 0x0c, 7, 8, 0x90, 1);
	cfi_end(b);
	return at;
}

/* Begin a function with the CIE at @cie, addresses as 8 bytes; its program follows. */
static inline void cfi_begin_fde(struct cfi_bytes *b, uint32_t cie, uint64_t start, uint64_t len)
{
	cfi_begin(b);
	cfi_put_u32(b, (uint32_t)b->len - cie);
	cfi_put_u64(b, start);
	cfi_put_u64(b, len);
	CFI_PUT(b, 0);
}

#define CFI_FDE(b, cie, start, len, ...)                                                           \
	do {                                                                                       \
		cfi_begin_fde((b), (cie), (start), (len));                                         \
		CFI_PUT((b), __VA_ARGS__);                                                         \
		cfi_end(b);                                                                        \
	} while (0)
