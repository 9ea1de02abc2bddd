/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structure layouts of CPython by minor version. All builds of one minor version have the same
 * layout, except those with Py_TRACE_REFS, which are not supported. From 3.13 on _PyRuntime begins
 * with a table of offsets (struct _Py_DebugOffsets in Include/internal/pycore_debug_offsets.h),
 * which is used if its values are plausible; for older versions the offsets below are those
 * of the headers.
 */
#include "lang/python/python.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { FIRST_MINOR = 6, LAST_WITHOUT_TABLE = 12 };

#define COMMON_CODE_36                                                                             \
	.code_first_line = 36, .code_filename = 96, .code_name = 104,                              \
	.code_qualname = PYTHON_NONE, .code_lines = 112
#define COMMON_CODE_38                                                                             \
	.code_first_line = 40, .code_filename = 104, .code_name = 112,                             \
	.code_qualname = PYTHON_NONE, .code_lines = 120
#define COMMON_CODE_311                                                                            \
	.code_filename = 112, .code_name = 120, .code_qualname = 128, .code_lines = 136
#define COMMON_OLD                                                                                 \
	.interp_threads = 8, .thread_next = 8, .thread_interp = 16, .thread_frame = 24,            \
	.cframe_frame = PYTHON_NONE, .frame_bytes = 128, .frame_back = 24, .frame_code = 32,       \
	.entry = PYTHON_ENTRY_ALWAYS, .object = 16, .ascii_data = 48, .kind_shift = 2

/*
 * interp_head is an offset in _PyRuntime; 3.6 has none, and its caller passes the address itself.
 */
static const struct python_vm known[LAST_WITHOUT_TABLE + 1] = {
	[6] = { COMMON_OLD, COMMON_CODE_36, .thread_id = 152, .frame_place = 120 },
	[7] = { COMMON_OLD, COMMON_CODE_36, .interp_head = 24, .thread_id = 176,
		.frame_place = 104 },
	[8] = { COMMON_OLD, COMMON_CODE_38, .interp_head = 32, .thread_id = 176,
		.frame_place = 104 },
	[9] = { COMMON_OLD, COMMON_CODE_38, .interp_head = 32, .thread_id = 176,
		.frame_place = 104 },
	[10] = { COMMON_OLD, COMMON_CODE_38, .interp_head = 32, .thread_id = 176,
		 .frame_place = 96 },
	[11] = { COMMON_CODE_311,      .interp_head = 40,
		 .interp_threads = 16, .thread_next = 8,
		 .thread_interp = 16,  .thread_id = 152,
		 .thread_frame = 56,   .cframe_frame = 8,
		 .frame_bytes = 80,    .frame_code = 32,
		 .frame_back = 48,     .frame_place = 56,
		 .frame_owner = 68,    .entry = PYTHON_ENTRY_FLAG,
		 .place_is_addr = 1,   .code_first_line = 72,
		 .code_bytecode = 184, .object = 16,
		 .ascii_data = 48,     .kind_shift = 2 },
	[12] = { COMMON_CODE_311,      .interp_head = 40,
		 .interp_threads = 72, .thread_next = 8,
		 .thread_interp = 16,  .thread_id = 136,
		 .thread_frame = 56,   .cframe_frame = 0,
		 .frame_bytes = 80,    .frame_code = 0,
		 .frame_back = 8,      .frame_place = 56,
		 .frame_owner = 70,    .frame_object = 48,
		 .object_link = 48,    .entry = PYTHON_ENTRY_SHIM,
		 .place_is_addr = 1,   .code_first_line = 68,
		 .code_bytecode = 192, .object = 16,
		 .ascii_data = 40,     .kind_shift = 2 },
};

/* ---- 3.13 and later -------------------------------------------------------- */

/* The table consists of 64-bit words in groups; a group begins with the size of its structure. */
enum { COOKIE, VERSION, FREE_THREADED, RUNTIME, RUNTIME_INTERPS = RUNTIME + 2, INTERP };

/* The word at which each group begins; 3.14 and 3.15 inserted fields. */
struct table_shape {
	uint8_t interp, thread, frame, code;
	uint8_t object;
	uint8_t thread_id; /* the field in the group of the thread */
	uint8_t link;      /* offset of struct _frame._f_frame_data after the PyObject */
};

static const struct table_shape shapes[] = {
	[13 - 13] = { INTERP, INTERP + 13, INTERP + 22, INTERP + 28, INTERP + 38, 5, 48 },
	[14 - 13] = { INTERP, INTERP + 16, INTERP + 25, INTERP + 33, INTERP + 44, 5, 56 },
	[15 - 13] = { INTERP, INTERP + 16, INTERP + 33, INTERP + 41, INTERP + 52, 8, 56 },
};

enum { SIZE_MAX_PLAUSIBLE = 60000 };

struct table {
	const uint8_t *data;
	size_t len;
	bool invalid;
};

/* Returns word @i of the table; sets t->invalid if it is outside. */
static uint64_t word(struct table *t, size_t i)
{
	uint64_t v = 0;

	if (i >= t->len / 8)
		t->invalid = true;
	else
		memcpy(&v, t->data + 8 * i, 8);
	return v;
}

/* Returns the offset of a field; sets t->invalid if it is outside of the structure. */
static uint16_t field(struct table *t, size_t group, size_t i)
{
	uint64_t size = word(t, group), off = word(t, group + i);

	if (off >= size || off >= SIZE_MAX_PLAUSIBLE)
		t->invalid = true;
	return (uint16_t)off;
}

/* Return: 0, or -EBADMSG if the table is implausible or frames exceed what the walk reads. */
static int parse_table(struct python_vm *out, unsigned int minor, struct table *t)
{
	const struct table_shape *s = &shapes[minor - 13];

	out->interp_head = word(t, RUNTIME_INTERPS);
	out->interp_next = field(t, s->interp, 2);
	out->interp_threads = field(t, s->interp, 3);
	out->thread_prev = field(t, s->thread, 1);
	out->thread_next = field(t, s->thread, 2);
	out->thread_interp = field(t, s->thread, 3);
	out->thread_frame = field(t, s->thread, 4);
	out->thread_id = field(t, s->thread, s->thread_id);
	out->cframe_frame = PYTHON_NONE;
	out->frame_back = field(t, s->frame, 1);
	out->frame_code = field(t, s->frame, 2);
	out->frame_place = field(t, s->frame, 3);
	out->frame_owner = field(t, s->frame, 5);
	out->frame_bytes = (uint16_t)((out->frame_owner | 7) + 1);
	out->code_filename = field(t, s->code, 1);
	out->code_name = field(t, s->code, 2);
	out->code_qualname = field(t, s->code, 3);
	out->code_lines = field(t, s->code, 4);
	out->code_first_line = field(t, s->code, 5);
	out->code_bytecode = field(t, s->code, 9);
	out->entry = PYTHON_ENTRY_SHIM;
	out->place_is_addr = 1;
	out->object = (uint16_t)word(t, s->object);
	out->frame_object = out->frame_place - 8; /* not in the table */
	out->object_link = out->object + s->link;
	out->ascii_data = out->object + 24;
	/* in free-threaded builds from 3.14 on, a separate byte precedes the kind */
	out->kind_shift = word(t, FREE_THREADED) && minor >= 14 ? 8 : 2;
	if (t->invalid || word(t, s->object) < 16 || word(t, s->object) > 64 ||
	    out->interp_head >= word(t, RUNTIME) || (out->frame_back & 7) ||
	    (out->frame_code & 7) || (out->frame_place & 7) ||
	    out->frame_place + 8 > VM_FRAME_BYTES || out->frame_bytes > VM_FRAME_BYTES)
		return -EBADMSG;
	if (out->frame_bytes < out->frame_place + 8)
		out->frame_bytes = out->frame_place + 8;
	return 0;
}

int python_offsets(struct python_vm *out, unsigned int minor, uint64_t runtime,
		   const uint8_t *debug_offsets, size_t len)
{
	struct table t = { debug_offsets, len, false };
	int r;

	memset(out, 0, sizeof(*out));
	if (minor >= FIRST_MINOR && minor <= LAST_WITHOUT_TABLE) {
		*out = known[minor];
	} else if (minor > LAST_WITHOUT_TABLE && minor - 13 < sizeof(shapes) / sizeof(shapes[0])) {
		if (len < 16 || memcmp(debug_offsets, "xdebugpy", 8) != 0 ||
		    (word(&t, VERSION) >> 16 & 0xff) != minor)
			return -EBADMSG;
		r = parse_table(out, minor, &t);
		if (r < 0)
			return r;
	} else {
		return -ENOENT;
	}
	out->interp_head += runtime;
	out->minor = (uint16_t)minor;
	return 0;
}
