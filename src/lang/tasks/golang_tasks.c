/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list only grows: allglen is read before allgptr, as the runtime writes them in the opposite
 * order. Entries are handled in batches, each in three passes in the order of addresses, so that
 * neighbors come from one block of memory: the goroutines, their stacks, the goroutines again.
 */
#include "lang/tasks/golang_tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "elf/gopclntab.h"
#include "elf/image.h"
#include "lang/tasks/golang_holders.h"
#include "lang/tasks/golang_layout.h"
#include "lang/tasks/golang_object.h"
#include "lang/tasks/golang_walk.h"
#include "lang/tasks/task_memory.h"
#include "lang/tasks/task_snapshot.h"

enum {
	BATCH = 2048,
	ROUNDS = 3, /* rounds of reading goroutines that change meanwhile */
	LIST_MAX = 1 << 26,
	STACK_MAX = 1 << 30,    /* bytes; the runtime's own limit */
	STACK_BLOCK = 16 << 10, /* bytes of a stack that are read in advance */
	STARTS = 64,            /* of the functions that goroutines run */
};

/* runtime2.go: status of a goroutine; SCAN is set while the garbage collector reads its stack. */
enum {
	STATUS_RUNNABLE = 1,
	STATUS_RUNNING = 2,
	STATUS_SYSCALL = 3,
	STATUS_WAITING = 4,
	STATUS_COPYSTACK = 8,
	STATUS_PREEMPTED = 9,
	STATUS_LEAKED = 10,
	STATUS_SCAN = 0x1000,
};

/* The fields of a goroutine that are used. */
struct goroutine {
	uint64_t addr;
	uint64_t id, since_ns, gopc, startpc, waiting;
	uint64_t pc, sp, lo, hi;
	uint32_t status; /* without SCAN */
	uint8_t reason;
};

struct entry {
	struct goroutine g;
	uint32_t stack;
	bool is_cut, is_done, is_changed;
};

/* A function that goroutines run, and whether these are the runtime's own. */
struct start {
	uint64_t pc;
	bool is_system;
};

struct reading {
	const struct golang_layout *layout;
	struct golang_walker walker;
	const struct golang_reasons *reasons;
	uint32_t reason_ids[GOLANG_REASONS_MAX];
	uint32_t unknown_reason;
	struct task_memory *m;
	struct task_snapshot *out;
	struct golang_holders holders;
	struct golang_objects objects;
	struct start starts[STARTS];           /* by hash; a pc of 0 is free */
	struct entry batch[2 * BATCH];         /* two, so that a sample of the list fills one */
	struct task_extent extents[2 * BATCH]; /* what a pass reads; their tags are entries */
	uint32_t n;
};

/* ---- a goroutine ----------------------------------------------------------------------------- */

static uint64_t word_at(const uint8_t *data, size_t at)
{
	uint64_t v;

	memcpy(&v, data + at, sizeof(v));
	return v;
}

static bool is_valid(const struct goroutine *g)
{
	return g->status <= STATUS_LEAKED + 1 && g->lo < g->hi && g->hi - g->lo <= STACK_MAX;
}

static bool has_ended(const struct goroutine *g)
{
	switch (g->status) {
	case STATUS_RUNNABLE:
	case STATUS_RUNNING:
	case STATUS_SYSCALL:
	case STATUS_WAITING:
	case STATUS_COPYSTACK:
	case STATUS_PREEMPTED:
	case STATUS_LEAKED:
		return false;
	}
	return true;
}

/* Returns 0; -EFAULT; -ETIME. */
static int read_goroutine(const struct reading *rd, uint64_t addr, struct goroutine *out)
{
	const struct golang_offsets *at = &rd->layout->at;
	uint8_t data[G_BYTES];
	int r = task_memory_read(rd->m, addr, data, sizeof(data));
	uint32_t status;

	if (r < 0)
		return r;
	memcpy(&status, data + at->status, sizeof(status));
	*out = (struct goroutine){
		.addr = addr,
		.id = word_at(data, at->goid),
		.since_ns = word_at(data, at->waitsince),
		.gopc = word_at(data, at->gopc),
		.startpc = word_at(data, at->startpc),
		.waiting = word_at(data, at->waiting),
		.pc = word_at(data, G_SCHED_PC),
		.sp = word_at(data, G_SCHED_SP),
		.lo = word_at(data, G_STACK_LO),
		.hi = word_at(data, G_STACK_HI),
		.status = status & ~(uint32_t)STATUS_SCAN,
		.reason = data[at->waitreason],
	};
	if (out->status == STATUS_SYSCALL) {
		out->pc = word_at(data, at->syscallpc);
		out->sp = word_at(data, at->syscallsp);
	}
	return 0;
}

/* True if the goroutine had the same stack before and after that was read. */
static bool is_same(const struct goroutine *a, const struct goroutine *b)
{
	/* the saved registers of a running goroutine are old, so only its status is compared */
	bool runs = a->status == STATUS_RUNNING;

	return a->id == b->id && a->status == b->status &&
	       (runs || (a->pc == b->pc && a->sp == b->sp && a->lo == b->lo));
}

/* ---- a task ---------------------------------------------------------------------------------- */

/* Returns the same values as isSystemGoroutine() of runtime/traceback.go. */
static bool runs_system(const struct reading *rd, uint64_t startpc)
{
	static const char *const users[] = { "runtime.main", "runtime.handleAsyncEvent",
					     "runtime.corostart" };
	const char *name = golang_function_at(&rd->walker, startpc);

	for (size_t i = 0; i < sizeof(users) / sizeof(*users); i++)
		if (!strcmp(name, users[i]))
			return false;
	return !strncmp(name, "runtime.", 8);
}

/* Most goroutines run one of a few functions. */
static bool is_system(struct reading *rd, uint64_t startpc)
{
	struct start *s = &rd->starts[hash_u64(startpc) % STARTS];

	if (!s->pc || s->pc != startpc)
		*s = (struct start){ startpc, runs_system(rd, startpc) };
	return s->is_system;
}

static enum task_state state_of(uint32_t status)
{
	switch (status) {
	case STATUS_RUNNABLE:
		return TASK_RUNNABLE;
	case STATUS_RUNNING:
	case STATUS_COPYSTACK:
		return TASK_RUNNING;
	case STATUS_SYSCALL:
		return TASK_SYSCALL;
	}
	return TASK_WAITING;
}

static uint32_t reason_of(const struct reading *rd, const struct goroutine *g)
{
	if (g->status == STATUS_PREEMPTED || state_of(g->status) != TASK_WAITING)
		return 0;
	return g->reason < rd->reasons->n ? rd->reason_ids[g->reason] : rd->unknown_reason;
}

static int add_task(struct reading *rd, const struct entry *e)
{
	const struct goroutine *g = &e->g;
	const uint64_t place[] = { g->addr, g->id, g->pc, g->sp };
	struct task t = {
		.id = g->id,
		.stack = e->stack,
		.state = (uint8_t)state_of(g->status),
		.reason = reason_of(rd, g),
		.flags = (is_system(rd, g->startpc) ? TASK_SYSTEM : 0) |
			 (e->is_changed ? TASK_CHANGED : 0),
	};

	const struct golang_waiter waiter = { .task = (uint32_t)rd->out->tasks.len,
					      .sp = g->sp,
					      .hi = g->hi };
	bool is_lock = false;
	int r;

	if (t.state == TASK_WAITING || t.state == TASK_SYSCALL)
		t.place = XXH3_64bits(place, sizeof(place));
	if (t.state == TASK_WAITING) {
		t.since_ns = g->since_ns;
		is_lock = golang_object_find(
			&rd->objects, rd->layout, g->waiting,
			g->reason < rd->reasons->n ? rd->reasons->text[g->reason] : "", &t);
	}
	rd->out->totals.n_changed += e->is_changed;
	rd->out->totals.n_cut += e->is_cut;
	r = task_snapshot_add(rd->out, &t);
	if (r == 0 && is_lock && waiter.task < rd->out->tasks.len)
		r = golang_holders_add(&rd->holders, &waiter);
	return r;
}

/* ---- a batch --------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->g.addr < y->g.addr ? -1 : x->g.addr > y->g.addr;
}

static int by_start(const void *a, const void *b)
{
	const struct task_extent *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The runtime allocates most goroutines in the order of their addresses. */
static void sort_by_address(struct reading *rd)
{
	for (uint32_t i = 1; i < rd->n; i++)
		if (by_address(&rd->batch[i - 1], &rd->batch[i]) > 0) {
			qsort(rd->batch, rd->n, sizeof(rd->batch[0]), by_address);
			return;
		}
}

static int read_stack(struct reading *rd, struct entry *e)
{
	const struct goroutine *g = &e->g;
	const struct golang_stack in = {
		.pc = g->pc,
		.sp = g->sp,
		.lo = g->lo,
		.hi = g->hi,
		.startpc = g->startpc,
		/* the first goroutine was created by the runtime, not by Go code */
		.gopc = g->id == 1 ? 0 : g->gopc,
		.has_registers = state_of(g->status) != TASK_RUNNING,
	};

	return golang_walk(&rd->walker, rd->m, &in, &e->stack, &e->is_cut);
}

/* The part of the stack that is in use; empty if it is not read. */
static struct task_extent extent_of_stack(const struct goroutine *g)
{
	struct task_extent e = { g->sp, g->hi, 0 };

	if (state_of(g->status) == TASK_RUNNING || g->sp <= g->lo || g->sp >= g->hi)
		return (struct task_extent){ 0 };
	if (e.end - e.start > STACK_BLOCK)
		e.end = e.start + STACK_BLOCK;
	return e;
}

/* Fills the extents of a pass over the entries that are not done; returns their number. */
static uint32_t plan(struct reading *rd, bool stacks)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < rd->n; i++) {
		const struct goroutine *g = &rd->batch[i].g;

		if (rd->batch[i].is_done)
			continue;
		rd->extents[n] = stacks ? extent_of_stack(g)
					: (struct task_extent){ g->addr, g->addr + G_BYTES, 0 };
		rd->extents[n++].tag = i;
	}
	if (stacks)
		qsort(rd->extents, n, sizeof(rd->extents[0]), by_start);
	task_memory_drop(rd->m);
	return n;
}

/* The next entry of a pass. */
static struct entry *entry_of(struct reading *rd, uint32_t i, uint32_t n)
{
	task_memory_prefetch(rd->m, &rd->extents[i], n - i);
	return &rd->batch[rd->extents[i].tag];
}

/* Reads the goroutines of the entries that are not done. An entry without a task becomes done. */
static int read_goroutines(struct reading *rd)
{
	uint32_t n = plan(rd, false);
	int r = 0;

	for (uint32_t i = 0; i < n && r != -ETIME; i++) {
		struct entry *e = entry_of(rd, i, n);

		r = read_goroutine(rd, e->g.addr, &e->g);
		if (r == 0 && is_valid(&e->g) && !has_ended(&e->g))
			continue;
		e->is_done = true;
		e->g.id = 0;
		if (r == -EFAULT ||
		    (r == 0 && (!has_ended(&e->g) || e->g.status > STATUS_LEAKED + 1)))
			rd->out->totals.n_invalid++;
	}
	return r == -ETIME ? r : 0;
}

static int read_stacks(struct reading *rd)
{
	uint32_t n = plan(rd, true);
	int r = 0;

	for (uint32_t i = 0; i < n && r == 0; i++)
		r = read_stack(rd, entry_of(rd, i, n));
	return r;
}

/* Adds the goroutines that have not changed since they were read. Entries of others stay undone. */
static int check(struct reading *rd, bool is_last)
{
	uint32_t n = plan(rd, false);
	struct goroutine now;
	int r = 0;

	task_memory_drop(&rd->objects.sudogs);
	task_memory_drop(&rd->objects.channels);
	for (uint32_t i = 0; i < n && r == 0; i++) {
		struct entry *e = entry_of(rd, i, n);

		r = read_goroutine(rd, e->g.addr, &now);
		if (r < 0)
			return r == -EFAULT ? 0 : r;
		e->is_changed = !is_same(&e->g, &now);
		if (e->is_changed && !is_last)
			continue;
		if (e->is_changed)
			e->stack = 0;
		e->is_done = true;
		r = add_task(rd, e);
	}
	return r;
}

static int read_batch(struct reading *rd)
{
	int r = 0;

	sort_by_address(rd);
	for (int i = 0; i < ROUNDS && r == 0; i++) {
		r = read_goroutines(rd);
		if (r == 0)
			r = read_stacks(rd);
		if (r == 0)
			r = check(rd, i + 1 == ROUNDS);
	}
	for (uint32_t i = 0; i < rd->n; i++)
		rd->out->totals.n_unread += !rd->batch[i].is_done;
	rd->n = 0;
	return r;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* Reads the selected entries of the list. They are selected by position, so each time the same. */
static int read_list(struct reading *rd, uint64_t array, uint64_t len)
{
	uint32_t one_in = rd->out->totals.one_in;
	uint64_t addrs[BATCH];
	int r = 0;

	for (uint64_t at = 0; at < len; at += BATCH) {
		uint64_t n = len - at < BATCH ? len - at : BATCH;

		task_memory_drop(rd->m);
		if (r == 0)
			r = task_memory_read(rd->m, array + at * 8, addrs, n * 8);
		if (r < 0) {
			rd->out->totals.n_unread += n / one_in;
			continue;
		}
		for (uint64_t i = 0; i < n; i++)
			if (one_in == 1 || hash_u64(at + i) % one_in == 0)
				rd->batch[rd->n++] = (struct entry){ .g.addr = addrs[i] };
		if (rd->n > BATCH / 2 || at + n == len)
			r = read_batch(rd);
	}
	rd->out->totals.n_unread += rd->n;
	return r == -ETIME || r == -EFAULT ? 0 : r;
}

static int intern_reasons(struct reading *rd)
{
	int r = task_snapshot_string(rd->out, "unknown reason", 14, &rd->unknown_reason);

	for (uint32_t i = 0; i < rd->reasons->n && r == 0; i++)
		r = task_snapshot_string(rd->out, rd->reasons->text[i],
					 strlen(rd->reasons->text[i]), &rd->reason_ids[i]);
	return r;
}

static int read_all(struct reading *rd, uint64_t bias, uint32_t max)
{
	struct task_totals *totals = &rd->out->totals;
	uint64_t len, array;
	int r;

	totals->time_ns = clock_monotonic_ns();
	task_memory_drop(rd->m);
	/* in this order, the array has at least that many entries */
	if (task_memory_word(rd->m, rd->layout->allglen + bias, &len) < 0)
		return -EFAULT;
	task_memory_drop(rd->m);
	if (task_memory_word(rd->m, rd->layout->allgptr + bias, &array) < 0)
		return -EFAULT;
	if (len > LIST_MAX || array % 8)
		return -EFAULT;
	task_totals_choose(totals, len, max);
	r = read_list(rd, array, len);
	return r < 0 ? r : golang_holders_find(&rd->holders, rd->m, rd->out);
}

int golang_tasks_read_program(const struct golang_program *p, struct task_memory *m, uint32_t max,
			      struct task_snapshot *out)
{
	_cleanup_(freep) struct reading *rd = calloc(1, sizeof(*rd));
	int r;

	if (!rd)
		return -ENOMEM;
	rd->layout = p->layout;
	rd->reasons = p->reasons;
	rd->m = m;
	rd->out = out;
	rd->walker = (struct golang_walker){
		.table = p->table, .bias = p->bias, .uses_lr = p->layout->uses_lr, .out = out
	};
	strcpy(out->runtime, "Go");
	memcpy(out->version, p->layout->version, sizeof(out->version));
	golang_objects_init(&rd->objects, m);
	golang_walker_init(&rd->walker);
	r = intern_reasons(rd);
	if (r == 0)
		r = read_all(rd, p->bias, max);
	golang_walker_fini(&rd->walker);
	vec_fini(&rd->holders);
	return r;
}

static int read_process(const struct task_source *src, struct task_memory *m, uint32_t max,
			struct task_snapshot *out)
{
	_cleanup_(gopclntab_freep) struct gopclntab *table = NULL;
	_cleanup_(freep) struct golang_reasons *reasons = calloc(1, sizeof(*reasons));
	struct golang_layout layout;
	int r = gopclntab_open(&table, src->img, NULL);

	if (!reasons || r == -ENOMEM)
		return -ENOMEM;
	r = r < 0 ? -ENOENT : golang_layout_find(src->img, table, &layout);
	if (r < 0)
		return r;
	/* if this fails, all reasons are unknown */
	(void)golang_reasons_read(src->img, m, src->bias, reasons);
	return golang_tasks_read_program(
		&(const struct golang_program){ table, &layout, reasons, src->bias }, m, max, out);
}

const struct task_reader golang_task_reader = { .read = read_process };
