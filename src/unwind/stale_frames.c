/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack copy shows one instant, but a runtime's list of frames is read some time later. An
 * activation that has returned in between shows unrelated frames by then. So only those activations
 * are kept whose return address on the native stack, and all return addresses farther out, are
 * unchanged. The innermost frame of a kept activation may be slightly newer than the copy.
 */
#include "unwind/stale_frames.h"

#include <string.h>

/* The activations of one runtime. */
struct part {
	const uint64_t *words;
	size_t n;
	uint32_t slot;
	size_t n_loops, n_left; /* calls of its loop, and how many of them have returned */
};

size_t unwind_stale_count(const struct unwind_native_frames *m, uint64_t stack_at,
			  const uint8_t *copy, const uint8_t *live, size_t len)
{
	for (size_t i = m->n; i > 0; i--) {
		uint64_t off = m->frames[i - 1].cfa - sizeof(uint64_t) - stack_at;

		if (off < len && len - off >= sizeof(uint64_t) &&
		    memcmp(copy + off, live + off, sizeof(uint64_t)) != 0)
			return i;
	}
	return 0;
}

/* The number of words of the outermost @n activations. */
static size_t outer_words(const struct part *p, size_t n)
{
	size_t at = p->n, seen = 0;

	while (at >= 2) {
		if (at == p->n || p->words[at - 2] & VM_FRAME_LAST)
			seen++;
		if (seen > n)
			break;
		at -= 2;
	}
	return p->n - at;
}

static size_t filter_part(const struct part *p, uint64_t *out)
{
	uint64_t head = p->words[0] & ~(VM_FRAME_LAST | VM_FRAME_ADDR(UINT64_MAX));
	size_t n = 0, kept = outer_words(p, p->n_loops - p->n_left);

	for (size_t i = 0; i < p->n_left; i++) {
		out[n++] = head | VM_FRAME_LAST;
		out[n++] = 0;
	}
	memcpy(out + n, p->words + p->n - kept, kept * sizeof(*out));
	return n + kept;
}

size_t unwind_stale_replace(const struct unwind_native_frames *m, size_t n_left, bool whole,
			    const uint64_t *words, size_t n_words, uint64_t *out)
{
	size_t n_out = 0;

	for (size_t at = 0; at + 1 < n_words;) {
		struct part p = { .words = words + at, .slot = VM_FRAME_SLOT(words[at]) };

		while (at + 1 < n_words && VM_FRAME_SLOT(words[at]) == p.slot)
			at += 2;
		p.n = (size_t)(words + at - p.words);
		for (size_t i = 0; i < m->n; i++) {
			p.n_loops += m->frames[i].loop == p.slot + 1;
			p.n_left += (i < n_left || !whole) && m->frames[i].loop == p.slot + 1;
		}
		n_out += filter_part(&p, out + n_out);
	}
	return n_out;
}
