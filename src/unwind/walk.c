/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's build of the walk. Step functions find their state by a number, as in the kernel; here
 * the walk in progress is a thread-local pointer. The host also checks what the kernel need not: a
 * stack copy and the memory read later may not belong to the same instant.
 */
#include "unwind/walk.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "arch/arch.h"
#include "unwind/arena.h"
#include "unwind/tables.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define WALK_FN static
#include "bpf/lib/walk_state.h"

enum {
	STACK_REACH = 1 << 30, /* bytes above a copy that may belong to its stack */
	BELOW_COPY = 4096,     /* bytes below a copy that are stack, used since by other calls */
	FRAMES_ALIKE = 2, /* outermost frames of a copy that are compared: while they are unchanged,
			     so are their callers */
};

struct native_frame {
	uint64_t cfa;
	uint32_t loop; /* slot of the runtime whose loop it is, plus 1; 0 if it is none */
};

struct unwind_walker {
	struct walk state;
	struct unwind_tables *tables;
	struct vm_tables vms; /* each NULL, or VM_TABLE_MAX entries */
	const struct unwind_walk_input *in;
	uint64_t n_walks;
	bool beyond_copy; /* memory was read that is neither in the stack copy nor code */
	bool copy_alone;  /* only the copy is used as stack */
	uint32_t missing; /* the file whose table is still being made; 0: none */
	/* the native frames of the walk, innermost first */
	struct {
		size_t n;
		struct native_frame frames[WALK_TURNS_MAX];
	} frames;
	uint8_t live[RAW_STACK_MAX]; /* the current content of the stack */
	__u64 copied;                /* key of the function copied last */
	unwind_function_fn *on_function;
	void *function_ctx;
};

/* The walk in progress on this thread. */
static _Thread_local struct unwind_walker *current;

static __always_inline struct walk *walk_get(uint32_t which)
{
	(void)which;
	return &current->state;
}

static __always_inline int walk_knows(uint32_t lang)
{
	(void)lang;
	return true;
}

static uint32_t walk_generation(void)
{
	return unwind_tables_generation(current->tables);
}

static __always_inline __attribute__((unused)) uint64_t walk_code_mask(void)
{
	return arch_code_mask();
}

/* True if @addr is in the mapping of the code that the walk looked up last. */
static bool is_code(const struct walk *w, uint64_t addr)
{
	return addr - w->mapping.start < w->mapping.end - w->mapping.start;
}

/* Reads stack above the copy, @off bytes from the start of the copy. */
static long read_above(const struct unwind_walk_input *in, uint64_t off, void *dst, size_t len)
{
	const struct unwind_rest *rest = in->rest;
	uint64_t at = off - in->stack_len;

	if (current->copy_alone)
		return -1;
	if (rest && at < rest->len && rest->len - at >= len) {
		memcpy(dst, rest->data + at, len);
		return 0;
	}
	if (rest && (rest->is_cut || at < rest->len) &&
	    !is_code(&current->state, in->stack_at + off))
		return -1;
	return in->read ? in->read(in->ctx, in->stack_at + off, dst, len) : -1;
}

/* Reads the part of the @len bytes at @addr that was copied with the sample; returns its bytes. */
static size_t read_copied(const struct unwind_walk_input *in, uint8_t *dst, size_t len,
			  uint64_t addr)
{
	struct unwind_piece piece = { in->stack_at, in->stack_len, in->stack };
	size_t done = 0;

	for (size_t i = 0; done < len; piece = in->pieces[i++]) {
		uint64_t off = addr + done - piece.at;
		size_t n = off >= piece.len ? 0 : piece.len - off;

		if (n > len - done)
			n = len - done;
		if (n)
			memcpy(dst + done, piece.data + off, n);
		done += n;
		if (i == in->n_pieces)
			break;
	}
	return done;
}

static long read_user(void *dst, uint32_t len, uint64_t addr)
{
	const struct unwind_walk_input *in = current->in;
	uint64_t off = addr - in->stack_at;
	size_t n = read_copied(in, dst, len, addr);

	if (n == len)
		return 0;
	if (in->lists_are_late && in->stack_len && in->stack_at - addr <= BELOW_COPY)
		return -1;
	if (!is_code(&current->state, addr))
		current->beyond_copy = !in->is_stopped;
	if (off < STACK_REACH)
		return read_above(in, off + n, (uint8_t *)dst + n, len - n);
	return in->read ? in->read(in->ctx, addr + n, (uint8_t *)dst + n, len - n) : -1;
}

static long read_user_text(void *dst, uint32_t max, uint64_t addr)
{
	uint8_t *to = dst;

	for (uint32_t i = 0; i < max; i++) {
		if (read_user(to + i, 1, addr + i))
			return -1;
		if (!to[i])
			return i + 1;
	}
	return max;
}

/* Each function is copied for each stack; the caller decides what it needs. */
static __u64 *copy_slot(uint32_t hash)
{
	(void)hash;
	current->copied = 0;
	return &current->copied;
}

static int copy_send(struct walk *w)
{
	current->on_function(current->function_ctx, &w->function,
			     offsetof(struct function_record, bytes) + w->function.n_bytes);
	return WALK_CONTINUE;
}

static struct arena_chunk *arena_chunk_get(uint32_t unit)
{
	struct unwind_arena *a = unwind_tables_arena(current->tables);

	return (struct arena_chunk *)unwind_arena_chunk(a, unit >> ARENA_CHUNK_SHIFT);
}

static const struct unwind_rule *rule_get(uint32_t id)
{
	return unwind_tables_rule(current->tables, id);
}

static struct unwind_file *file_get(uint32_t id)
{
	return unwind_tables_file(current->tables, id);
}

static const struct vm_code *vm_code_get(uint32_t vm)
{
	return current->vms.codes && vm < VM_TABLE_MAX ? &current->vms.codes[vm] : NULL;
}

#define X(sym, name)                                                                               \
	static const struct name##_vm *name##_get(uint32_t vm)                                     \
	{                                                                                          \
		return current->vms.name && vm < VM_TABLE_MAX ? &current->vms.name[vm] : NULL;     \
	}
#include "bpf/shared/langs.def"
#undef X

#include "bpf/lib/vm.h"
#include "bpf/lib/vm_copy.h"
#include "bpf/lib/walk.h"

int unwind_walker_new(struct unwind_walker **out, struct unwind_tables *tables)
{
	struct unwind_walker *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->tables = tables;
	*out = w;
	return 0;
}

void unwind_walker_free(struct unwind_walker *w)
{
	free(w);
}

void unwind_walker_set_vms(struct unwind_walker *w, const struct vm_tables *vms)
{
	w->vms = *vms;
}

static void walker_begin(struct unwind_walker *w, const struct unwind_walk_input *in)
{
	current = w;
	w->in = in;
	w->beyond_copy = false;
	w->copy_alone = false;
	w->missing = 0;
	memcpy(w->state.leaf_regs, in->regs, sizeof(in->regs));
	w->state.thread_pointer = in->thread_pointer;
	w->state.record.head.flags = 0;
	w->state.record.head.n_words = 0;
	w->state.record.head.n_kernel = 0;
	w->state.vm_is_new = 0;
	/*
	 * Caches compare the time of the walk, which is not known here: any number that no other
	 * walk has is sufficient.
	 */
	w->state.record.head.time_ns = ++w->n_walks;
	w->state.process = in->process;
	walk_begin(&w->state);
	w->state.process.unmapped_is_final = 1;
	w->state.absent_is_final = 1;
	w->state.process.generated_pending = 0;
}

/*
 * Makes a step and has the file's table made if it is missing; twice, if code without CFI has to be
 * analysed as well.
 */
static int walker_step(struct unwind_walker *w)
{
	int r = walk_step(0);

	for (int i = 0; i < 2 && r == WALK_NEED_FILE && w->in->need_file; i++) {
		if (!w->in->need_file(w->in->ctx, w->state.need_file)) {
			w->missing = w->state.need_file;
			return walk_fail(&w->state, WALK_ERR_NO_TABLE_YET);
		}
		r = walk_step(0);
	}
	if (r != WALK_NEED_FILE)
		return r;
	return walk_fail(&w->state, w->in->need_file ? WALK_ERR_BAD_TABLE : WALK_ERR_NO_TABLE_YET);
}

/* True if the word at @addr was copied with the sample. */
static bool is_copied(const struct unwind_walk_input *in, uint64_t addr)
{
	uint64_t word;

	return read_copied(in, (uint8_t *)&word, sizeof(word), addr) == sizeof(word);
}

/* True if the walk ended at a return address of zero that was read beyond the copy. */
static bool ends_beyond_copy(const struct unwind_walker *w)
{
	const struct walk *s = &w->state;

	return s->complete && !s->regs[UREG_PC] && !w->in->is_stopped &&
	       !is_copied(w->in, s->regs[UREG_SP] - sizeof(uint64_t));
}

/*
 * Memory beyond the copy was read after the sample, when it may have changed: a walk that fails
 * there ends for that reason. So does one that reads a zero, because a frame that has returned
 * since may have been cleared.
 */
static void blame_the_copy(struct unwind_walker *w)
{
	struct sample_record *rec = &w->state.record;
	uint32_t n = rec->head.n_words;

	if (ends_beyond_copy(w)) {
		w->state.complete = 0;
		walk_push(&w->state, FRAME_WORD(FRAME_ERROR, WALK_ERR_STACK_CHANGED));
	} else if (w->beyond_copy && !w->state.complete && n) {
		rec->words[n - 1] = FRAME_WORD(FRAME_ERROR, WALK_ERR_STACK_CHANGED);
	}
}

static uint32_t loops(const struct walk *state)
{
	return state->n_loops[0] + state->n_loops[1];
}

/* Makes a step and notes the frame that it left. */
static int step_and_note(struct unwind_walker *w)
{
	uint32_t before = loops(&w->state), first = w->state.n_loops[0];
	int r = walker_step(w);
	uint32_t slot = first != w->state.n_loops[0] ? 1 : 2;

	w->frames.frames[w->frames.n].cfa = w->state.regs[UREG_SP];
	w->frames.frames[w->frames.n++].loop = loops(&w->state) != before ? slot : 0;
	return r;
}

/*
 * Appends the lists that the input has. Returns false if they are not of the process's runtimes, or
 * if the walk found that they may belong to another stack, after which the process has none.
 */
static bool push_given(struct unwind_walker *w)
{
	const struct unwind_walk_input *in = w->in;
	struct sample_record *rec = &w->state.record;

	for (size_t i = 0; i < in->n_lists; i += 2) {
		uint32_t slot = VM_FRAME_SLOT(in->lists[i]);

		if (slot >= VM_SLOTS_MAX ||
		    w->state.process.vms[slot].vm != VM_FRAME_INDEX(in->lists[i]))
			return false;
	}
	if (in->n_lists)
		memcpy(rec->words + rec->head.n_words, in->lists, in->n_lists * sizeof(uint64_t));
	rec->head.n_vm_words = (__u16)in->n_lists;
	return in->n_lists;
}

/*
 * Appends, instead of the runtimes' lists, one frame for each activation of a loop, which says that
 * its functions are not known.
 */
static void push_late(struct unwind_walker *w)
{
	struct sample_record *rec = &w->state.record;

	for (uint32_t slot = 0; slot < VM_SLOTS_MAX; slot++) {
		uint64_t head = VM_FRAME_WORD(slot, w->in->process.vms[slot].vm, 0);

		for (size_t i = 0; i < w->frames.n; i++) {
			uint64_t *words =
				(uint64_t *)rec->words + rec->head.n_words + rec->head.n_vm_words;

			if (w->frames.frames[i].loop != slot + 1)
				continue;
			if (rec->head.n_vm_words + 2 > VM_WORDS_MAX)
				return;
			words[0] = head | VM_FRAME_LAST;
			words[1] = VM_FRAME_LATE;
			rec->head.n_vm_words += 2;
		}
	}
}

/* Finds the return address of frame @i in the copy. Returns false if it is outside of the copy. */
static bool in_copy(const struct unwind_walker *w, size_t i, uint64_t *out_off)
{
	const struct unwind_walk_input *in = w->in;

	*out_off = w->frames.frames[i].cfa - sizeof(uint64_t) - in->stack_at;
	return *out_off < in->stack_len && in->stack_len - *out_off >= sizeof(uint64_t);
}

void unwind_rest_compare(struct unwind_rest *out, const void *copy, const void *live, size_t len)
{
	const uint8_t *a = copy, *b = live;

	memset(out->alike, 0, sizeof(out->alike));
	for (size_t i = 0; i < len / 8 && i < UNWIND_WORDS_MAX; i++)
		if (!memcmp(a + 8 * i, b + 8 * i, 8))
			out->alike[i / 8] |= (uint8_t)(1u << i % 8);
}

static bool is_alike(const struct unwind_rest *rest, uint64_t off)
{
	return off % 8 == 0 && off / 8 < UNWIND_WORDS_MAX &&
	       rest->alike[off / 64] & 1u << off / 8 % 8;
}

/*
 * True if the part of the stack that was read beyond the copy belongs to the copy's instant: the
 * outermost frames of the copy are unchanged. Without a copy the thread must not have run since.
 */
static bool stands_as_copied(struct unwind_walker *w)
{
	const struct unwind_walk_input *in = w->in;
	size_t n = 0, first;
	uint64_t low, off;

	if (!w->beyond_copy || (!in->read && !in->rest))
		return true;
	while (n < w->frames.n && is_copied(in, w->frames.frames[n].cfa - sizeof(uint64_t)))
		n++;
	if (n == w->frames.n)
		return true;
	for (n = 0; in_copy(w, n, &off); n++)
		;
	if (!in->stack_len)
		return !in->lists_are_late;
	first = n > FRAMES_ALIKE ? n - FRAMES_ALIKE : 0;
	if (in->rest) {
		for (size_t i = first; i < n; i++)
			if (in_copy(w, i, &off) && !is_alike(in->rest, off))
				return false;
		return n;
	}
	if (!n || !in_copy(w, first, &low) || in->stack_len > sizeof(w->live) ||
	    in->read(in->ctx, in->stack_at + low, w->live + low, in->stack_len - low))
		return false;
	for (size_t i = first; i < n; i++)
		if (!in_copy(w, i, &off) || off < low ||
		    memcmp(in->stack + off, w->live + off, sizeof(uint64_t)) != 0)
			return false;
	return true;
}

static void walk_all(struct unwind_walker *w, const struct unwind_walk_input *in, bool copy_alone)
{
	int r = WALK_CONTINUE;

	walker_begin(w, in);
	w->copy_alone = copy_alone;
	w->frames.n = 0;
	for (int i = 0; i < WALK_TURNS_MAX && r == WALK_CONTINUE; i++)
		r = step_and_note(w);
	if (r == WALK_CONTINUE)
		walk_fail(&w->state, WALK_ERR_DEPTH);
	else
		blame_the_copy(w);
}

size_t unwind_walk(struct unwind_walker *w, const struct unwind_walk_input *in,
		   const uint64_t **out_words, bool *out_complete)
{
	walk_all(w, in, false);
	if (!stands_as_copied(w))
		walk_all(w, in, true);
	if (push_given(w))
		;
	else if (in->lists_are_late)
		push_late(w);
	else
		vm_walk(&w->state, 0);
	*out_words = (const uint64_t *)w->state.record.words;
	*out_complete = w->state.complete;
	return w->state.record.head.n_words;
}

size_t unwind_walk_vm_words(const struct unwind_walker *w, const uint64_t **out_words,
			    bool *out_truncated)
{
	const struct sample_record *rec = &w->state.record;

	*out_words = (const uint64_t *)rec->words + rec->head.n_words;
	*out_truncated = rec->head.flags & RECORD_VM_TRUNCATED;
	return rec->head.n_vm_words;
}

void unwind_walk_copy(struct unwind_walker *w, unwind_function_fn *fn, void *ctx)
{
	w->on_function = fn;
	w->function_ctx = ctx;
	vm_copy_new(&w->state, 0);
}

uint32_t unwind_walk_missing(const struct unwind_walker *w)
{
	return w->missing;
}

bool unwind_walk_searched(const struct unwind_walker *w)
{
	return w->state.record.head.flags & RECORD_SEARCHED;
}

const struct unwind_rule *unwind_walk_rule(struct unwind_walker *w, uint32_t file, uint64_t off)
{
	const struct unwind_file *f = unwind_tables_file(w->tables, file);
	uint32_t id;

	current = w;
	id = f ? rule_search(f, off) : UNWIND_RULE_NONE;
	return id == UNWIND_RULE_NONE ? NULL : rule_get(id);
}

int unwind_walk_step(struct unwind_walker *w, const struct unwind_walk_input *in,
		     uint64_t out_regs[UREG_COUNT])
{
	int r;

	walker_begin(w, in);
	r = walker_step(w);
	memcpy(out_regs, w->state.regs, sizeof(w->state.regs));
	return r;
}

const char *unwind_error_text(uint64_t why)
{
	static const char *const text[WALK_ERR_MAX] = {
#define X(sym, label) [WALK_ERR_##sym] = label,
#include "bpf/shared/walk_errors.def"
#undef X
	};

	return why < WALK_ERR_MAX && text[why] ? text[why] : "unknown reason";
}
