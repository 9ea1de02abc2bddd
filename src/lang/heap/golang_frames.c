/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/heap/golang_frames.h"

#include <string.h>

#include "base/hash.h"
#include "elf/gopclntab.h"
#include "lang/heap/golang_heap_layout.h"
#include "profile/profile.h"

enum { NAME_MAX_BYTES = 4096 };

/* The locations of one stack. */
struct locations {
	uint32_t ids[GOLANG_HEAP_FRAMES_MAX + GOPCLNTAB_FRAMES_MAX];
	size_t n;
};

/* ---- a program counter ----------------------------------------------------------------------- */

static int add_text(struct profile *p, const char *s, uint32_t *out)
{
	return profile_add_string(p, s, strnlen(s, NAME_MAX_BYTES), out);
}

/* Adds a location; without a @frame, it is only an address. */
static int add_location(struct golang_frames *f, uint64_t pc, const struct gopclntab_frame *frame,
			uint32_t *out)
{
	struct profile_function function = { .start_line = frame ? frame->start_line : 0 };
	struct profile_line line = { .line = frame ? frame->line : 0 };
	const struct profile_location location = {
		.mapping = PROFILE_NONE,
		.address = frame ? 0 : pc - 1,
		.kind = frame ? PROFILE_FRAME_GO : PROFILE_FRAME_UNKNOWN,
		.n_lines = frame != NULL,
		.lines = &line,
	};
	int r = frame ? add_text(f->out, frame->function, &function.name) : 0;

	function.system_name = function.name;
	if (r == 0 && frame)
		r = add_text(f->out, frame->file, &function.file);
	if (r == 0 && frame)
		r = profile_add_function(f->out, &function, &line.function);
	return r < 0 ? r : profile_add_location(f->out, &location, out);
}

static bool is_runtime(const struct golang_frames *f, const char *name)
{
	return !strncmp(name, "runtime.", 8) ||
	       (f->program->layout->hides_internal && !strncmp(name, "internal/runtime/", 17));
}

/*
 * The call is in the instruction before @pc. As in runtime/pprof, the instruction at @pc decides if
 * it belongs to the runtime.
 */
static int find_place(struct golang_frames *f, uint64_t pc, struct golang_place *out)
{
	struct golang_place *known = &f->places[hash_u64(pc) % GOLANG_PLACES];
	const struct gopclntab *table = f->program->table;
	uint64_t vaddr = pc - f->program->bias;
	struct gopclntab_frame frame;
	int n, r;

	if (known->pc == pc && pc) {
		*out = *known;
		return 0;
	}
	*out = (struct golang_place){ .pc = pc };
	if (gopclntab_frames(table, vaddr, &frame, 1) > 0)
		out->is_runtime = is_runtime(f, frame.function);
	n = gopclntab_frames(table, vaddr - 1, &frame, 1);
	out->is_exit = n > 0 && !strcmp(frame.function, "runtime.goexit");
	r = add_location(f, pc, n > 0 ? &frame : NULL, &out->location);
	if (r == 0)
		*known = *out;
	return r;
}

/* ---- a stack --------------------------------------------------------------------------------- */

/* Counts the runtime's functions above the first one of the program; 0 if all are the runtime's. */
static int count_hidden(struct golang_frames *f, const uint64_t *pcs, size_t n, size_t *out)
{
	struct golang_place place;
	int r;

	for (size_t i = 0; i < n; i++) {
		r = find_place(f, pcs[i], &place);
		if (r < 0)
			return r;
		*out = i;
		if (!place.is_runtime)
			return 0;
	}
	*out = 0;
	return 0;
}

/* The trace was limited in the middle of inlined calls: their callers follow from its last one. */
static int add_callers(struct golang_frames *f, uint64_t pc, struct locations *l)
{
	struct gopclntab_frame frames[GOPCLNTAB_FRAMES_MAX];
	int n = gopclntab_frames(f->program->table, pc - f->program->bias - 1, frames,
				 GOPCLNTAB_FRAMES_MAX);
	int r = 0;

	for (int i = 1; i < n && r == 0; i++)
		r = add_location(f, pc, &frames[i], &l->ids[l->n++]);
	return r;
}

static int add_calls(struct golang_frames *f, const uint64_t *pcs, size_t n, struct locations *l)
{
	struct golang_place place;
	int r = 0;

	l->n = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		r = find_place(f, pcs[i], &place);
		if (r == 0 && !place.is_exit)
			l->ids[l->n++] = place.location;
	}
	return r < 0 || !n ? r : add_callers(f, pcs[n - 1], l);
}

int golang_frames_add(struct golang_frames *f, const uint64_t *pcs, size_t n, uint32_t *out)
{
	struct locations l = { .n = 0 };
	size_t hidden = 0;
	int r = count_hidden(f, pcs, n, &hidden);

	if (r == 0)
		r = add_calls(f, pcs + hidden, n - hidden, &l);
	if (r == 0 && !l.n)
		r = add_calls(f, pcs, n, &l);
	return r < 0 ? r : profile_add_stack(f->out, l.ids, l.n, out);
}
