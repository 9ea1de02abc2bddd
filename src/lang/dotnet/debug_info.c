/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map from native code to IL that the runtime has for each compiled method (debuginfostore.cpp
 * of the runtime). It is a list in order of native offsets. .NET 8 and 9 encode it in nibbles of
 * which three bits hold a part of a number, .NET 10 in bits of a width that the head states; so do
 * images with precompiled code, since version 16 of their format.
 *
 * Code that was compiled at run time has a byte with flags first, and with them what is skipped:
 * how the frame of tier 0 is laid out, for the code that replaces a running loop, and the tree of
 * inlined methods, which the runtime records only on request (DOTNET_RichDebugInfo).
 */
#include <errno.h>

#include "lang/dotnet/dotnet.h"

enum {
	HAS_PATCHPOINTS = 1,
	HAS_RICH = 2,
	SPECIAL = 3, /* IL offsets below are none: epilogue, prologue, without IL */
	LOCALS_MAX = 1 << 16,
	ENTRIES_MAX = 1 << 20,
	BYTES_MAX = 1 << 24,
	SOURCE_BITS = 2,
	WIDTH_MAX = 32,
};

/* A sequence of nibbles, the low one of a byte first. */
struct nibbles {
	struct dotnet_stream *s;
	uint8_t high; /* the second nibble of the byte */
	bool has_high;
};

/* Reads a number; all nibbles but the last one have their highest bit set. */
static uint32_t number(struct nibbles *n)
{
	uint32_t v = 0, nibble = 8;

	for (int i = 0; i < 11 && nibble & 8; i++) {
		uint8_t byte = n->has_high ? 0 : dotnet_stream_byte(n->s);

		nibble = n->has_high ? n->high : byte & 0xf;
		n->high = byte >> 4;
		n->has_high = !n->has_high;
		v = v << 3 | (nibble & 7);
	}
	n->s->is_bad |= nibble & 8;
	return v;
}

/* Takes an entry. Returns false if it is behind @native: all that follow are, too. */
static bool take(uint32_t native, uint32_t at, uint32_t il, struct dotnet_il *out)
{
	if (at > native)
		return false;
	if (il >= SPECIAL)
		*out = (struct dotnet_il){ true, il - SPECIAL };
	return true;
}

/* The form of .NET 8 and 9: distance, IL offset, kind. */
static void find_in_nibbles(struct nibbles *n, uint32_t native, struct dotnet_il *out)
{
	uint32_t n_entries = number(n), at = 0;

	n->s->is_bad |= n_entries > ENTRIES_MAX;
	for (uint32_t i = 0; i < n_entries && !n->s->is_bad; i++) {
		uint32_t il;

		at += number(n);
		il = number(n);
		number(n);
		if (n->s->is_bad || !take(native, at, il, out))
			return;
	}
}

/* Bits, the lowest of a byte first. */
struct bits {
	struct dotnet_stream *s;
	uint64_t v;
	uint32_t n;
};

static uint32_t take_bits(struct bits *b, uint32_t width)
{
	uint32_t v;

	while (b->n < width) {
		b->v |= (uint64_t)dotnet_stream_byte(b->s) << b->n;
		b->n += 8;
	}
	v = (uint32_t)(b->v & ((UINT64_C(1) << width) - 1));
	b->v >>= width;
	b->n -= width;
	return v;
}

/* The form of .NET 10: kind, distance, IL offset. */
static void find_in_bits(struct nibbles *n, uint32_t native, struct dotnet_il *out)
{
	uint32_t n_entries = number(n), native_width = number(n) + 1, il_width = number(n) + 1;
	struct bits b = { .s = n->s };
	uint32_t at = 0;

	n->s->is_bad |= n_entries > ENTRIES_MAX || native_width - 1 >= WIDTH_MAX ||
			il_width - 1 >= WIDTH_MAX;
	for (uint32_t i = 0; i < n_entries && !n->s->is_bad; i++) {
		uint32_t il;

		take_bits(&b, SOURCE_BITS);
		at += take_bits(&b, native_width);
		il = take_bits(&b, il_width);
		if (n->s->is_bad || !take(native, at, il, out))
			return;
	}
}

/* Skips what precedes the map of code that was compiled at run time. */
static void skip_extra(struct dotnet_stream *s, uint32_t patchpoint_words)
{
	uint8_t flags = dotnet_stream_byte(s);

	if (flags & HAS_PATCHPOINTS) {
		/* the number of locals follows registers, and since .NET 10 an address */
		uint32_t before = patchpoint_words == DOTNET_PATCHPOINT_WORDS_8 ? 8 : 16, n;

		dotnet_stream_skip(s, before);
		n = dotnet_stream_number(s, 4);
		s->is_bad |= n > LOCALS_MAX;
		dotnet_stream_skip(s, patchpoint_words * 4ULL - before - 4 +
					      (s->is_bad ? 0 : n) * 4ULL);
	}
	if (flags & HAS_RICH)
		dotnet_stream_skip(s, dotnet_stream_number(s, 4));
	s->is_bad |= flags & ~(HAS_PATCHPOINTS | HAS_RICH);
}

int dotnet_debug_info_find(const struct lang_process *p, uint64_t addr,
			   const struct dotnet_debug_form *form, uint32_t native,
			   struct dotnet_il *out)
{
	struct dotnet_stream s;
	struct nibbles head = { .s = &s }, map = { .s = &s };
	uint32_t bytes;

	*out = (struct dotnet_il){ 0 };
	dotnet_stream_init(&s, p, addr, BYTES_MAX);
	if (form->patchpoint_words)
		skip_extra(&s, form->patchpoint_words);
	bytes = number(&head);
	number(&head); /* the length of the variables, which are behind the map */
	if (s.is_bad || !bytes)
		return s.is_bad ? -EBADMSG : 0;
	dotnet_stream_limit(&s, bytes);
	/* what precedes the first place with IL, such as a prologue, belongs to the beginning */
	out->is_known = true;
	if (form->is_packed)
		find_in_bits(&map, native, out);
	else
		find_in_nibbles(&map, native, out);
	if (s.is_bad)
		*out = (struct dotnet_il){ 0 };
	return s.is_bad ? -EBADMSG : 0;
}
