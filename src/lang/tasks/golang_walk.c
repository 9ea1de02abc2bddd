/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/tasks/golang_walk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "elf/gopclntab.h"
#include "lang/tasks/task_memory.h"
#include "lang/tasks/task_snapshot.h"
#include "profile/profile.h"

enum { PCS_MAX = 1 << 18, NO_DEPTH = -1 };

/* A program counter, and the frames and the stack depth there. */
struct golang_pc {
	uint64_t pc;
	int32_t depth; /* bytes between the stack pointer and the return address; NO_DEPTH */
	uint32_t calls;
	bool is_return; /* a return address: the call is before it */
	bool is_last;   /* of the outermost function, or of one that switches stacks */
	bool is_whole;  /* the stack ends here as intended */
	bool is_exit;
	uint32_t caller; /* a guess: the number of the caller that was found last */
};

/* The frames of one stack while it is walked. */
struct frames {
	uint32_t ids[TASK_FRAMES_MAX];
	size_t n;
};

/* ---- a program counter ----------------------------------------------------------------------- */

/*
 * Derives the directory of the library from the path of a source file:
 * "/usr/lib/go/src/runtime/proc.go" contains it, "runtime/proc.go" does not.
 */
static void find_library(struct golang_walker *w)
{
	static const char own[] = "runtime/proc.go";
	struct gopclntab_frame frame;
	struct gopclntab_func f;

	for (size_t i = 0; i < gopclntab_count(w->table); i++) {
		size_t len;

		if (gopclntab_func_at(w->table, i, &f) < 0 || strcmp(f.name, "runtime.main"))
			continue;
		if (gopclntab_frames(w->table, f.start, &frame, 1) < 1)
			return;
		len = strlen(frame.file);
		if (len >= sizeof(own) && len - sizeof(own) + 1 < sizeof(w->library) &&
		    !strcmp(frame.file + len - sizeof(own) + 1, own))
			snprintf(w->library, sizeof(w->library), "%.*s",
				 (int)(len - sizeof(own) + 1), frame.file);
		return;
	}
}

/* Without the directory, packages of the library are those whose path begins without a domain. */
static bool is_library(const struct golang_walker *w, const struct gopclntab_frame *f)
{
	size_t first = strcspn(f->function, "/.");

	if (w->library[0])
		return !strncmp(f->file, w->library, strlen(w->library));
	return strncmp(f->function, "main.", 5) != 0 &&
	       (f->function[first] == '/' || !strchr(f->function, '/'));
}

static int add_call(struct golang_walker *w, const struct gopclntab_frame *f, uint32_t *out)
{
	struct task_frame frame = {
		.line = f->line,
		.kind = PROFILE_FRAME_GO,
		.is_library = is_library(w, f),
	};
	int r = task_snapshot_string(w->out, f->function, strlen(f->function), &frame.function);

	if (r == 0)
		r = task_snapshot_string(w->out, f->file, strlen(f->file), &frame.file);
	return r < 0 ? r : task_snapshot_frame(w->out, &frame, out);
}

/*
 * Returns true for the functions that only park a goroutine, whatever it waits for. They may be
 * inlined.
 */
static bool is_park(const char *function)
{
	return !strcmp(function, "runtime.gopark") || !strcmp(function, "runtime.goparkunlock");
}

static int add_calls(struct golang_walker *w, uint64_t vaddr, uint32_t *out)
{
	struct gopclntab_frame frames[GOPCLNTAB_FRAMES_MAX];
	uint32_t ids[GOPCLNTAB_FRAMES_MAX];
	size_t n_ids = 0;
	int n = gopclntab_frames(w->table, vaddr, frames, GOPCLNTAB_FRAMES_MAX), r = 0;

	if (n < 0)
		n = 0;
	for (int i = 0; i < n && r == 0; i++)
		if (!is_park(frames[i].function))
			r = add_call(w, &frames[i], &ids[n_ids++]);
	return r < 0 ? r : seqtab_add(&w->calls, ids, n_ids, out);
}

struct depth_query {
	uint64_t vaddr;
	int32_t depth;
};

static int on_depth(void *ctx, uint64_t start, uint64_t end, int32_t sp_delta)
{
	struct depth_query *q = ctx;

	if (q->vaddr < start || q->vaddr >= end)
		return 0;
	q->depth = sp_delta;
	return 1;
}

static int examine(struct golang_walker *w, struct golang_pc *p)
{
	struct depth_query q = { .vaddr = p->pc - w->bias, .depth = NO_DEPTH };
	struct gopclntab_func f;

	p->depth = NO_DEPTH;
	p->is_last = true;
	if (gopclntab_find(w->table, q.vaddr - p->is_return, &f) < 0)
		return seqtab_add(&w->calls, NULL, 0, &p->calls);
	(void)gopclntab_spdeltas(w->table, f.index, on_depth, &q);
	p->depth = q.depth;
	p->is_whole = f.flags & GOPCLNTAB_TOP_FRAME;
	p->is_last = p->is_whole || (f.flags & GOPCLNTAB_SP_WRITE);
	p->is_exit = !strcmp(f.name, "runtime.goexit");
	return add_calls(w, q.vaddr - (p->is_return && q.vaddr > f.start), &p->calls);
}

struct pc_key {
	const struct golang_walker *w;
	const struct golang_pc *p;
};

static bool same_pc(const void *ctx, uint32_t id)
{
	const struct pc_key *key = ctx;
	const struct golang_pc *other = &key->w->pcs.data[id];

	return other->pc == key->p->pc && other->is_return == key->p->is_return;
}

/*
 * Finds what is known of the program counter, or examines it. *@id is a guess of its number in
 * w->pcs, and becomes the number; or PCS_MAX, if it has none.
 */
static int get_pc(struct golang_walker *w, uint64_t pc, bool is_return, uint32_t *id,
		  struct golang_pc *out)
{
	const struct pc_key key = { w, out };
	uint32_t hash;
	int r;

	*out = (struct golang_pc){ .pc = pc, .is_return = is_return };
	if (*id < w->pcs.len && same_pc(&key, *id)) {
		*out = w->pcs.data[*id];
		return 0;
	}
	hash = hash_u64(pc ^ is_return);
	if (index_find(&w->index, hash, same_pc, &key, id)) {
		*out = w->pcs.data[*id];
		return 0;
	}
	*id = PCS_MAX;
	r = examine(w, out);
	if (r < 0 || w->pcs.len >= PCS_MAX)
		return r;
	*id = (uint32_t)w->pcs.len;
	r = vec_push(&w->pcs, *out);
	return r < 0 ? r : index_add(&w->index, hash, *id);
}

/* ---- a stack --------------------------------------------------------------------------------- */

static void append(const struct golang_walker *w, struct frames *f, const struct golang_pc *p)
{
	size_t n;
	const uint32_t *ids = seqtab_get(&w->calls, p->calls, &n);

	for (size_t i = 0; i < n && f->n < TASK_FRAMES_MAX; i++)
		f->ids[f->n++] = ids[i];
}

/*
 * Moves to the caller. On processors with a link register a frame begins with the return address
 * of its function; on x86-64 it ends with that.
 */
static int step(const struct golang_walker *w, struct task_memory *m, const struct golang_stack *in,
		const struct golang_pc *p, uint64_t *pc, uint64_t *sp)
{
	uint64_t depth = (uint64_t)(p->depth < 0 ? 0 : p->depth), at, next;
	int r;

	if (p->depth < 0 || (w->uses_lr && !p->depth))
		return -ENOENT;
	at = w->uses_lr ? *sp : *sp + depth;
	next = *sp + depth + (w->uses_lr ? 0 : 8);
	if (at < in->lo || at > in->hi - 8 || next <= *sp || next > in->hi)
		return -EFAULT;
	r = task_memory_word(m, at, pc);
	*sp = next;
	return r;
}

static int walk(struct golang_walker *w, struct task_memory *m, const struct golang_stack *in,
		struct frames *f, bool *out_cut)
{
	uint64_t pc = in->pc, sp = in->sp;
	/* one that has never run is at the start of its function */
	bool is_return = pc != in->startpc;
	uint32_t last = PCS_MAX, id;
	struct golang_pc p;
	int r = 0;

	*out_cut = true;
	for (int i = 0; i < TASK_FRAMES_MAX; i++) {
		id = last < w->pcs.len ? w->pcs.data[last].caller : w->innermost;
		r = get_pc(w, pc, is_return, &id, &p);
		if (r < 0)
			return r;
		*(last < w->pcs.len ? &w->pcs.data[last].caller : &w->innermost) = id;
		last = id;
		if (!p.is_exit)
			append(w, f, &p);
		/* the innermost frame may have switched stacks, because sp was saved after that */
		if (p.is_whole || (p.is_last && (i > 0 || p.depth < 0))) {
			*out_cut = !p.is_whole;
			return 0;
		}
		r = step(w, m, in, &p, &pc, &sp);
		if (r < 0)
			break;
		is_return = true;
	}
	/* the first function of a goroutine that has not run yet */
	if (in->pc == in->startpc)
		*out_cut = false;
	return r == -ETIME ? r : 0;
}

/* Adds the frame at @pc, if it is one. */
static int append_outer(struct golang_walker *w, uint64_t pc, bool is_return, struct frames *f)
{
	uint32_t id = w->outer;
	struct golang_pc p;
	int r = pc ? get_pc(w, pc, is_return, &id, &p) : -ENOENT;

	w->outer = id;
	if (r == 0)
		append(w, f, &p);
	return r == -ENOENT ? 0 : r;
}

int golang_walk(struct golang_walker *w, struct task_memory *m, const struct golang_stack *in,
		uint32_t *out_stack, bool *out_cut)
{
	struct frames f = { .n = 0 };
	bool valid = in->has_registers && in->lo < in->sp && in->sp < in->hi && in->hi >= 8;
	int r = 0;

	*out_cut = in->has_registers;
	if (valid)
		r = walk(w, m, in, &f, out_cut);
	else
		r = append_outer(w, in->startpc, false, &f);
	if (r == 0 && !(valid && *out_cut))
		r = append_outer(w, in->gopc, true, &f);
	return r < 0 ? r : task_snapshot_stack(w->out, f.ids, f.n, out_stack);
}

/* ---- the walker ------------------------------------------------------------------------------ */

void golang_walker_init(struct golang_walker *w)
{
	seqtab_init(&w->calls, sizeof(uint32_t));
	find_library(w);
}

void golang_walker_fini(struct golang_walker *w)
{
	vec_fini(&w->pcs);
	index_fini(&w->index);
	seqtab_fini(&w->calls);
}

const char *golang_function_at(const struct golang_walker *w, uint64_t pc)
{
	struct gopclntab_func f;

	return gopclntab_find(w->table, pc - w->bias, &f) == 0 ? f.name : "";
}
