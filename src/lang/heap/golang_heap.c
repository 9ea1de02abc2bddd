/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records are in a list that only grows, at its front, and their stack traces never change. The
 * counts of a record are those that were published and those of three cycles of the garbage
 * collector. runtime.MemProfile() publishes the counts of the current cycle before it reads, so
 * what it returns is the sum of both; before the first collection, it is the sum of all.
 *
 * The list is read once, then the counts at least twice: they are consistent if the cycle and the
 * counts that are returned were equal both times. Between collections, they change only if nothing
 * was published yet.
 */
#include "lang/heap/golang_heap.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "lang/heap/golang_frames.h"
#include "lang/heap/golang_heap_layout.h"
#include "lang/tasks/task_memory.h"
#include "profile/profile.h"

enum {
	MEM_PROFILE = 1, /* mprof.go: the type of a record */
	CYCLES = 3,
	ROUNDS = 3, /* rounds of reading counts that change meanwhile */
};

/* mprof.go: struct bucket; the program counters and a struct counts[1 + CYCLES] follow. */
struct header {
	uint64_t next, allnext, typ, hash, size, nstk;
};
_Static_assert(sizeof(struct header) == 48, "the layout of Go's runtime");

/* mprof.go: struct memRecordCycle */
struct counts {
	uint64_t allocs, frees, alloc_bytes, free_bytes;
};

struct record {
	uint64_t counts_at; /* address */
	uint32_t stack;
	bool is_changed;
	struct counts now; /* as runtime.MemProfile() would return them */
};

struct reading {
	const struct golang_heap_program *program;
	struct task_memory *m;
	struct golang_heap_counts *counts;
	struct golang_frames frames;
	struct {
		VEC(struct record);
	} records;
	uint64_t pcs[GOLANG_HEAP_FRAMES_MAX];
};

/* ---- the list -------------------------------------------------------------------------------- */

static int read_record(struct reading *rd, uint64_t addr, const struct header *h)
{
	struct record record = { .counts_at = addr + sizeof(*h) + h->nstk * 8 };
	int r;

	if (h->typ != MEM_PROFILE || !h->nstk || h->nstk > GOLANG_HEAP_FRAMES_MAX) {
		rd->counts->n_invalid++;
		return 0;
	}
	r = task_memory_read(rd->m, addr + sizeof(*h), rd->pcs, h->nstk * 8);
	if (r == 0)
		r = golang_frames_add(&rd->frames, rd->pcs, h->nstk, &record.stack);
	return r < 0 ? r : vec_push(&rd->records, record);
}

/*
 * Reads the records of the list. @seen detects a circular list: it is an earlier record, replaced
 * after 1, 2, 4, ... steps, to which a circular list returns.
 */
static int read_list(struct reading *rd, uint64_t first)
{
	uint64_t addr = first, seen = 0;
	struct header h;
	int r = 0;

	for (uint64_t n = 0; addr && r == 0; n++, addr = h.allnext) {
		if (addr == seen)
			return -ELOOP;
		if (!(n & (n - 1)))
			seen = addr;
		if (n == GOLANG_HEAP_RECORDS_MAX)
			r = -ETIME;
		if (r == 0)
			r = addr % 8 ? -EFAULT : task_memory_read(rd->m, addr, &h, sizeof(h));
		if (r == 0)
			r = read_record(rd, addr, &h);
	}
	if (r != -ETIME && r != -EFAULT)
		return r;
	rd->counts->is_cut = true;
	return 0;
}

/* ---- counts ---------------------------------------------------------------------------------- */

static void add_counts(struct counts *to, const struct counts *c)
{
	to->allocs += c->allocs;
	to->frees += c->frees;
	to->alloc_bytes += c->alloc_bytes;
	to->free_bytes += c->free_bytes;
}

/* Reads the published counts plus those of @cycle, or of all cycles if it is CYCLES. */
static int read_counts(struct reading *rd, uint32_t cycle, struct record *record)
{
	struct counts all[1 + CYCLES], now;
	int r = task_memory_read(rd->m, record->counts_at, all, sizeof(all));

	if (r < 0)
		return r;
	now = all[0];
	for (uint32_t i = 0; i < CYCLES; i++)
		if (i == cycle || cycle == CYCLES)
			add_counts(&now, &all[1 + i]);
	record->is_changed = memcmp(&now, &record->now, sizeof(now)) != 0;
	record->now = now;
	return 0;
}

/*
 * Reads the counts of all records. A record that cannot be read any more keeps its previous counts.
 */
static void read_all_counts(struct reading *rd, uint32_t cycle)
{
	rd->counts->n_changed = 0;
	task_memory_drop(rd->m);
	for (size_t i = 0; i < rd->records.len; i++) {
		struct record *record = &rd->records.data[i];

		if (read_counts(rd, cycle, record) < 0)
			record->is_changed = true;
		rd->counts->n_changed += record->is_changed;
	}
}

static bool has_published(const struct reading *rd)
{
	for (size_t i = 0; i < rd->records.len; i++)
		if (rd->records.data[i].now.allocs || rd->records.data[i].now.frees)
			return true;
	return false;
}

static int read_cycle(struct reading *rd, uint32_t *out)
{
	const struct golang_heap_layout *layout = rd->program->layout;
	uint32_t v;
	int r;

	task_memory_drop(rd->m);
	r = task_memory_read(rd->m, layout->cycle + rd->program->bias, &v, sizeof(v));
	*out = v >> layout->cycle_shift;
	return r;
}

static int read_consistent_counts(struct reading *rd)
{
	uint32_t cycle, after;
	int r = read_cycle(rd, &cycle);

	for (int i = 0; i < ROUNDS && r == 0; i++) {
		uint32_t which = cycle % CYCLES;

		read_all_counts(rd, which);
		rd->counts->is_published = has_published(rd);
		if (!rd->counts->is_published) {
			which = CYCLES;
			read_all_counts(rd, which);
		}
		read_all_counts(rd, which);
		r = read_cycle(rd, &after);
		if (r < 0 || (after == cycle && !rd->counts->n_changed))
			break;
		/* counts of different cycles do not belong together */
		if (after != cycle)
			rd->counts->n_changed = rd->records.len;
		cycle = after;
	}
	return r == -ETIME ? 0 : r;
}

/* ---- the profile ----------------------------------------------------------------------------- */

static bool is_in_range(double v)
{
	return v > -9e18 && v < 9e18;
}

/*
 * Allocations are sampled by their bytes; this estimates what the samples stand for, with the
 * arithmetic of runtime/pprof. Returns false if the result does not fit an int64_t.
 */
static bool scale(int64_t count, int64_t size, int64_t rate, int64_t out[2])
{
	double factor = 1;

	if (!count || !size) {
		out[0] = out[1] = 0;
		return true;
	}
	if (rate > 1)
		factor = 1 / (1 - exp(-((double)size / (double)count) / (double)rate));
	if (!is_in_range((double)count * factor) || !is_in_range((double)size * factor))
		return false;
	out[0] = rate > 1 ? (int64_t)((double)count * factor) : count;
	out[1] = rate > 1 ? (int64_t)((double)size * factor) : size;
	return true;
}

static int add_sample(struct reading *rd, struct profile *p, const struct record *record,
		      uint32_t key)
{
	const struct counts *c = &record->now;
	int64_t values[4], rate = rd->counts->rate;
	int64_t allocs = (int64_t)c->allocs, bytes = (int64_t)c->alloc_bytes;
	const struct profile_label label = { .key = key, .num = allocs > 0 ? bytes / allocs : 0 };
	const struct profile_sample sample = {
		.stack = record->stack,
		.n_labels = label.num != 0,
		.labels = &label,
		.values = values,
	};

	if (!scale(allocs, bytes, rate, values) ||
	    !scale((int64_t)(c->allocs - c->frees), (int64_t)(c->alloc_bytes - c->free_bytes), rate,
		   values + 2)) {
		rd->counts->n_invalid++;
		return 0;
	}
	if (!values[0] && !values[1] && !values[2] && !values[3])
		return 0;
	return profile_add_sample(p, &sample);
}

static int begin_profile(struct profile *p, int64_t rate, uint32_t *out_key)
{
	struct profile_meta *meta = profile_meta(p);
	int r = profile_add_sample_type(p, "alloc_objects", "count");

	if (r == 0)
		r = profile_add_sample_type(p, "alloc_space", "bytes");
	if (r == 0)
		r = profile_add_sample_type(p, "inuse_objects", "count");
	if (r == 0)
		r = profile_add_sample_type(p, "inuse_space", "bytes");
	if (r == 0)
		r = profile_add_string(p, "space", 5, &meta->period_type.type);
	if (r == 0)
		r = profile_add_string(p, "bytes", 5, &meta->period_type.unit);
	if (r == 0)
		r = profile_add_string(p, "inuse_space", 11, &meta->default_sample_type);
	meta->period = rate;
	*out_key = meta->period_type.unit;
	return r;
}

static int add_samples(struct reading *rd, struct profile *out)
{
	uint32_t key;
	int r = begin_profile(out, rd->counts->rate, &key);

	for (size_t i = 0; i < rd->records.len && r == 0; i++)
		r = add_sample(rd, out, &rd->records.data[i], key);
	return r;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int read_heap(struct reading *rd, struct profile *out)
{
	const struct golang_heap_layout *layout = rd->program->layout;
	uint64_t bias = rd->program->bias, first, rate;
	int r = task_memory_word(rd->m, layout->rate + bias, &rate);

	if (r == 0)
		r = task_memory_word(rd->m, layout->buckets + bias, &first);
	if (r < 0)
		return r == -ETIME ? -EFAULT : r;
	rd->counts->rate = (int64_t)rate;
	r = read_list(rd, first);
	if (r == 0)
		r = read_consistent_counts(rd);
	rd->counts->n_records = rd->records.len;
	return r < 0 ? r : add_samples(rd, out);
}

int golang_heap_read(const struct golang_heap_program *p, struct task_memory *m,
		     struct profile *out, struct golang_heap_counts *counts)
{
	_cleanup_(freep) struct reading *rd = calloc(1, sizeof(*rd));
	int r;

	if (!rd)
		return -ENOMEM;
	rd->program = p;
	rd->m = m;
	rd->counts = counts;
	rd->frames.program = p;
	rd->frames.out = out;
	memset(counts, 0, sizeof(*counts));
	memcpy(counts->version, p->layout->version, sizeof(counts->version));
	r = read_heap(rd, out);
	vec_fini(&rd->records);
	return r;
}
