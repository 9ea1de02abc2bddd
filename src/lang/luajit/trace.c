/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the functions that a compiled trace runs. A trace has inlined the calls that it recorded,
 * so their frames are not on the Lua stack. Each exit of a trace has a snapshot (lj_jit.h), which
 * lists the slots of the stack and their values at the exit. Snapshots are ordered by the code that
 * follows them; the one before the pc lists the frames: their links are constants of the trace, and
 * lead to instructions, which follow the prototype of their function.
 *
 * A snapshot is made where the state has changed since the one before, at the latest before the
 * next instruction that may leave the trace. So the first instructions of an inlined function, and
 * the first after its return, may count for the other one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/find.h"
#include "lang/luajit/luajit.h"

enum {
	SNAP_BYTES = 12, /* SnapShot: offset of its map, in entries; offset of its code; entries */
	SNAP_CODE = 6,
	SNAP_N = 10,
	SNAPS_MAX = 1 << 12,
	ENTRIES_MAX = 256 + 2,
	IR_BYTES = 8,
	SLOT_SHIFT =
		24, /* of an entry: its slot; below that flags, and the reference to its value */
	REF_MASK = 0xffff,
	IR_BIAS = 0x8000, /* references below are constants */
	DISTANCE_MASK = 0xff,
	LINK_BYTES = 13, /* the end of a trace: it releases its stack and jumps to another trace */
};

struct trace {
	const struct lang_process *p;
	__u64 words[LUAJIT_TRACE_BYTES / 8];
	uint32_t entries[ENTRIES_MAX];
	uint32_t n_entries; /* without the two that have the pc */
	uint64_t pc;
	uint32_t distance; /* slots between the base where the trace began and the innermost */
};

static int read_trace(const struct lang_process *p, uint64_t at, uint32_t cookie, struct trace *out)
{
	out->p = p;
	if (p->read(p->ctx, at, out->words, sizeof(out->words)))
		return -EFAULT;
	return lang_check_cookie(cookie, luajit_trace_key(out->words));
}

static uint32_t n_snaps(const struct trace *t)
{
	uint16_t n;

	memcpy(&n, (const uint8_t *)t->words + LUAJIT_TRACE_N_SNAPS, sizeof(n));
	return n < SNAPS_MAX ? n : SNAPS_MAX;
}

/* Copies to @out the last snapshot whose code does not begin after @off. */
static int find_snapshot(const struct trace *t, uint32_t off, uint8_t out[SNAP_BYTES])
{
	uint32_t n = n_snaps(t), i = 0;
	uint8_t *snaps = malloc((size_t)n * SNAP_BYTES + 1);
	uint16_t code;

	if (!snaps)
		return -ENOMEM;
	if (!n || t->p->read(t->p->ctx, t->words[LUAJIT_TRACE_SNAPS / 8], snaps,
			     (size_t)n * SNAP_BYTES)) {
		free(snaps);
		return -ENOENT;
	}
	for (uint32_t k = 1; k < n; k++) {
		memcpy(&code, snaps + (size_t)k * SNAP_BYTES + SNAP_CODE, sizeof(code));
		if (code <= off)
			i = k;
	}
	memcpy(out, snaps + (size_t)i * SNAP_BYTES, SNAP_BYTES);
	free(snaps);
	return 0;
}

/* Reads the map of a snapshot: slots, then the pc with the distance of the base in its low byte. */
static int read_map(struct trace *t, const uint8_t snap[SNAP_BYTES])
{
	uint32_t first, n_map = (uint32_t)(t->words[LUAJIT_TRACE_N_MAP / 8] >> 32);
	uint64_t at = t->words[LUAJIT_TRACE_MAP / 8], last;

	memcpy(&first, snap, sizeof(first));
	t->n_entries = snap[SNAP_N];
	if (first > n_map || t->n_entries + 2 > n_map - first ||
	    t->p->read(t->p->ctx, at + 4 * (uint64_t)first, t->entries, 4 * (t->n_entries + 2)))
		return -ENOENT;
	memcpy(&last, t->entries + t->n_entries, sizeof(last));
	t->pc = last >> 8;
	t->distance = last & DISTANCE_MASK;
	return 0;
}

/* Reads the constant that the snapshot puts into @slot. */
static int read_slot(const struct trace *t, uint32_t slot, uint64_t *out)
{
	for (uint32_t i = 0; i < t->n_entries; i++) {
		uint32_t ref = t->entries[i] & REF_MASK;

		if (t->entries[i] >> SLOT_SHIFT != slot)
			continue;
		if (ref >= IR_BIAS)
			return -ENOENT;
		/* the value follows the instruction */
		return lang_read_u64(
			t->p, t->words[LUAJIT_TRACE_IR / 8] + IR_BYTES * ((uint64_t)ref + 1), out);
	}
	return -ENOENT;
}

static struct lang_call call_of(const struct luajit_proto *f, uint64_t pc)
{
	uint64_t code = f->at + LUAJIT_PROTO_BYTES, n = (pc - code) / 4;

	return (struct lang_call){
		.addr = f->at,
		.cookie = lang_cookie(luajit_proto_key(f->words)),
		.place = pc >= code && n <= luajit_proto_n_code(f) ? (uint32_t)n : 0,
	};
}

/*
 * Moves *@distance to the caller by the link of the frame. Return: 1 if that is the same function
 * again, 0, or -ENOENT.
 */
static int move_up(const struct trace *t, uint32_t *distance, uint64_t *pc)
{
	uint32_t code, slots;
	uint64_t link;

	if (read_slot(t, *distance + 1, &link) < 0)
		return -ENOENT;
	if ((link & LUAJIT_LINK_TYPE) == LUAJIT_LINK_LUA) {
		if (t->p->read(t->p->ctx, link - 4, &code, sizeof(code)))
			return -ENOENT;
		*pc = link;
		slots = 2 + (code >> 8 & 0xff);
	} else {
		if ((link & LUAJIT_LINK_P) != LUAJIT_LINK_VARARG)
			*pc = 0;
		slots = (uint32_t)(link >> 3);
	}
	if (!slots || slots > *distance)
		return -ENOENT;
	*distance -= slots;
	return (link & LUAJIT_LINK_P) == LUAJIT_LINK_VARARG;
}

/* Lists the frames of the snapshot. Return: their number; 0 if they could not be read. */
static int list_calls(const struct trace *t, struct lang_call out[LANG_CALLS_MAX])
{
	uint32_t distance = t->distance;
	uint64_t pc = t->pc + 4; /* after the instruction with which the snapshot would resume */
	struct luajit_proto f;
	int n = 0, r = 0;

	while (n < LANG_CALLS_MAX) {
		if (r == 0 && pc && luajit_proto_of(t->p, pc, &f) == 0)
			out[n++] = call_of(&f, pc);
		if (!distance)
			return n;
		r = move_up(t, &distance, &pc);
		if (r < 0)
			return 0;
	}
	return n;
}

/*
 * A trace that ends in a function that it has inlined moves the base there before it jumps to the
 * next trace. During that jump, the walk finds the other functions on the Lua stack, too: the
 * caller of the trace is then @outer, the one outside of the innermost.
 */
static bool is_base_moved(const struct trace *t, uint32_t off, const struct lang_call *outer)
{
	const uint64_t *caller = t->p->caller;
	uint64_t end = t->words[LUAJIT_TRACE_N_MCODE / 8] >> 32;

	return off + (uint64_t)LINK_BYTES >= end && caller &&
	       VM_FRAME_ADDR(caller[0]) == outer->addr && VM_PLACE_OF(caller[1]) == outer->place;
}

int luajit_trace_calls(const struct lang_process *p, uint64_t at, uint32_t off, uint32_t cookie,
		       struct lang_call out[LANG_CALLS_MAX])
{
	struct trace *t = calloc(1, sizeof(*t));
	uint8_t snap[SNAP_BYTES];
	struct luajit_proto f;
	int n = 0, r;

	if (!t)
		return -ENOMEM;
	r = read_trace(p, at, cookie, t);
	if (r == 0 && find_snapshot(t, off, snap) == 0 && read_map(t, snap) == 0)
		n = list_calls(t, out);
	if (n > 1 && is_base_moved(t, off, &out[1]))
		n = 1;
	if (r == 0 && !n && (r = luajit_read_proto(p, t->words[LUAJIT_TRACE_START / 8], &f)) == 0) {
		out[0] = call_of(&f, 0);
		n = 1;
	}
	free(t);
	return r < 0 ? r : n;
}
