/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks and threads are interned in a struct sample_counts of its own; a toucher of a page is the
 * number of a sample there plus 1. The pages that are read at the end are stored as runs and
 * attributed later, after the stacks of the last faults have arrived.
 */
#include "profiler/resident.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "bpf/shared/abi.h"
#include "proc/resident_pages.h"
#include "profiler/address_space.h"
#include "profiler/sample_counts.h"

enum { TEXTS_MAX_BYTES = 8 << 20 };

struct program {
	uint32_t pid; /* 0: the entry is free */
	uint32_t next_free;
	struct program_id id;
	struct address_space *space;
};

/* A mapping at the end. */
struct mapping {
	struct page_range pages;
	uint64_t rss_bytes;
	size_t first_run; /* its runs are those up to the next mapping's */
	uint32_t name;    /* id of the text */
	bool is_file;
};

/* A program at the end; its mappings are those up to the next reading's. */
struct reading {
	struct sample_counts_thread main_thread;
	struct address_space *space; /* with a reference; NULL: nothing is known */
	size_t first_mapping;
};

struct resident {
	size_t max_bytes, spaces_bytes;
	struct sample_counts *touchers;
	struct strtab *texts;
	uint32_t before_text, unseen_text, either_text, others_text;
	struct {
		VEC(struct program);
	} programs;
	struct index by_pid;
	uint32_t first_free; /* index plus 1; 0: none */
	struct {
		VEC(struct reading);
	} readings;
	struct {
		VEC(struct mapping);
	} mappings;
	struct {
		VEC(struct proc_pages);
	} runs;
	struct resident_stats stats;
};

/* ---- texts -------------------------------------------------------------------------- */

static int add_text(struct resident *r, const char *text, uint32_t *out)
{
	return strtab_add(r->texts, text, strlen(text), out);
}

const char *resident_text(const struct resident *r, uint64_t payload)
{
	return payload < strtab_count(r->texts) ? strtab_get(r->texts, (uint32_t)payload) : "";
}

/* The name of a mapping. Programs choose the names of files, so their memory is limited. */
static uint32_t mapping_name(struct resident *r, const struct proc_map *m)
{
	uint32_t id;

	if (strtab_bytes(r->texts) > TEXTS_MAX_BYTES ||
	    add_text(r, m->path[0] ? m->path : "[anonymous]", &id) < 0)
		return r->others_text;
	return id;
}

int resident_new(struct resident **out, size_t max_bytes)
{
	_cleanup_(resident_freep) struct resident *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return -ENOMEM;
	r->max_bytes = max_bytes;
	e = sample_counts_new(&r->touchers, false);
	if (e == 0)
		e = strtab_new(&r->texts);
	if (e == 0)
		e = add_text(r, "[present before the recording]", &r->before_text);
	if (e == 0)
		e = add_text(r, "[fault not seen]", &r->unseen_text);
	if (e == 0)
		e = add_text(r, "[present before the recording, or fault not seen]",
			     &r->either_text);
	if (e == 0)
		e = add_text(r, "[other mappings]", &r->others_text);
	if (e < 0)
		return e;
	*out = steal_ptr(&r);
	return 0;
}

static void drop_readings(struct resident *r)
{
	for (size_t i = 0; i < r->readings.len; i++)
		address_space_put(r->readings.data[i].space);
	vec_fini(&r->readings);
	vec_fini(&r->mappings);
	vec_fini(&r->runs);
}

void resident_free(struct resident *r)
{
	if (!r)
		return;
	drop_readings(r);
	for (size_t i = 0; i < r->programs.len; i++)
		address_space_put(r->programs.data[i].space);
	vec_fini(&r->programs);
	index_fini(&r->by_pid);
	sample_counts_free(r->touchers);
	strtab_free(r->texts);
	free(r);
}

/* ---- programs ----------------------------------------------------------------------- */

struct pid_key {
	const struct resident *r;
	uint32_t pid;
};

static bool same_pid(const void *ctx, uint32_t id)
{
	const struct pid_key *k = ctx;

	return k->r->programs.data[id].pid == k->pid;
}

static struct program *find(const struct resident *r, uint32_t pid)
{
	struct pid_key key = { r, pid };
	uint32_t id;

	if (!pid || !index_find(&r->by_pid, hash_u64(pid), same_pid, &key, &id))
		return NULL;
	return &r->programs.data[id];
}

int resident_knows(const struct resident *r, uint32_t pid)
{
	return find(r, pid) != NULL;
}

static void remove_program(struct resident *r, struct program *p)
{
	uint32_t id = (uint32_t)(p - r->programs.data);

	index_remove(&r->by_pid, hash_u64(p->pid), id);
	address_space_put(p->space);
	*p = (struct program){ .next_free = r->first_free };
	r->first_free = id + 1;
}

static int new_entry(struct resident *r, uint32_t pid, uint32_t *out_id)
{
	int e = 0;

	*out_id = r->first_free ? r->first_free - 1 : (uint32_t)r->programs.len;
	if (!r->first_free)
		e = vec_push(&r->programs, (struct program){ 0 });
	if (e == 0)
		e = index_add(&r->by_pid, hash_u64(pid), *out_id);
	if (e < 0)
		return e;
	if (r->first_free)
		r->first_free = r->programs.data[*out_id].next_free;
	return 0;
}

static struct program *add_program(struct resident *r, const struct record_header *h,
				   struct address_space *base)
{
	struct address_space *space = address_space_new(base, &r->spaces_bytes);
	uint32_t id;

	if (!space || new_entry(r, h->pid, &id) < 0) {
		address_space_put(space);
		return NULL;
	}
	r->programs.data[id] = (struct program){ .pid = h->pid, .id = h->program, .space = space };
	return &r->programs.data[id];
}

/* Returns true if @a is a program that ran before @b under the same pid. */
static bool is_older(const struct program_id *a, const struct program_id *b)
{
	return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->exec_id < b->exec_id;
}

/*
 * Returns the program of a record, which replaces an older one of the pid; NULL if it is older
 * itself, or without memory.
 */
static struct program *get(struct resident *r, const struct record_header *h,
			   struct address_space *base)
{
	struct program *p = find(r, h->pid);

	if (p && is_older(&h->program, &p->id))
		return NULL;
	if (p && is_older(&p->id, &h->program)) {
		remove_program(r, p);
		p = NULL;
	}
	return p ? p : add_program(r, h, base);
}

void resident_begin(struct resident *r, const struct record_header *h)
{
	const struct program *parent = h->arg <= UINT32_MAX ? find(r, (uint32_t)h->arg) : NULL;
	struct program *p;

	if (!h->pid)
		return;
	p = get(r, h, parent ? parent->space : NULL);
	/*
	 * no page of a new program was present before; pages that a child inherits are in the base
	 */
	if (p && (!h->arg || p->space->base))
		p->space->has_snapshot = true;
}

/*
 * Only ESRCH proves the end of a process. A newer process with the same pid has already replaced
 * the entry.
 */
void resident_reap(struct resident *r)
{
	for (size_t i = 0; i < r->programs.len; i++) {
		struct program *p = &r->programs.data[i];

		if (p->pid && kill((pid_t)p->pid, 0) < 0 && errno == ESRCH)
			remove_program(r, p);
	}
}

/* ---- pages -------------------------------------------------------------------------- */

size_t resident_bytes(const struct resident *r)
{
	return r->spaces_bytes + sample_counts_bytes(r->touchers) +
	       r->programs.cap * sizeof(*r->programs.data) +
	       r->mappings.cap * sizeof(*r->mappings.data) + r->runs.cap * sizeof(*r->runs.data);
}

static bool is_full(const struct resident *r)
{
	return resident_bytes(r) > r->max_bytes;
}

static int touch(struct address_space *space, const struct record_header *h, uint32_t toucher)
{
	const struct page_touch t = {
		.page = h->arg / PROC_PAGE_BYTES,
		.time_ns = h->time_ns,
		.toucher = toucher,
		.was_present = h->flags & RECORD_FAULT_PRESENT,
		.is_write = h->flags & RECORD_FAULT_WRITE,
	};

	return address_space_touch(space, &t);
}

void resident_touch(struct resident *r, const struct record_header *h,
		    const struct sample_counts_thread *thread, const struct sample_labels *labels,
		    const uint64_t *words, size_t n)
{
	struct program *p = get(r, h, NULL);
	uint32_t id;
	int e = -ENOMEM;

	if (!p || is_full(r)) {
		r->stats.n_no_room += is_full(r);
		return;
	}
	if (sample_counts_intern(r->touchers, thread, labels, words, n, &id) == 0 &&
	    id < ADDRESS_SPACE_TOUCHER_MAX)
		e = 0;
	if (e == 0 && h->flags & RECORD_MAPPED)
		address_space_set_mapper(p->space, h->arg / PROC_PAGE_BYTES, h->time_ns, id + 1);
	else if (e == 0)
		e = touch(p->space, h, id + 1);
	r->stats.n_no_room += e < 0;
}

void resident_map(struct resident *r, const struct record_header *h)
{
	uint64_t end = h->arg + h->len;
	struct program *p = h->len && end > h->arg ? get(r, h, NULL) : NULL;

	if (!p)
		return;
	if (is_full(r) ||
	    address_space_map(p->space, h->arg / PROC_PAGE_BYTES,
			      (end + PROC_PAGE_BYTES - 1) / PROC_PAGE_BYTES, h->time_ns) < 0)
		r->stats.n_no_room++;
}

struct snapshot {
	struct resident *r;
	struct address_space *space;
};

static int add_present(void *ctx, const struct proc_pages *pages)
{
	struct snapshot *s = ctx;

	return is_full(s->r) ? -ENOMEM
			     : address_space_add_present(s->space, pages->start / PROC_PAGE_BYTES,
							 pages->end / PROC_PAGE_BYTES);
}

void resident_snapshot(struct resident *r, const struct record_header *h)
{
	struct program *p = get(r, h, NULL);
	struct snapshot s = { r, p ? p->space : NULL };
	const struct proc_resident_sink sink = { .pages = add_present, .ctx = &s };
	int e = p && !p->space->has_snapshot ? proc_resident_read(h->pid, &sink) : 0;

	if (e == -ESRCH)
		remove_program(r, p);
	else if (p)
		p->space->has_snapshot |= e == 0;
}

/* ---- the end ------------------------------------------------------------------------ */

static int add_run(void *ctx, const struct proc_pages *pages)
{
	struct resident *r = ctx;

	return is_full(r) ? -ENOMEM : vec_push(&r->runs, *pages);
}

/* Pages that cannot be read are a difference from rss_bytes, which becomes [fault not seen]. */
static int add_mapping(void *ctx, const struct proc_resident_mapping *m)
{
	struct resident *r = ctx;
	struct mapping added = {
		.pages = { m->map.start / PROC_PAGE_BYTES, m->map.end / PROC_PAGE_BYTES },
		.rss_bytes = m->rss_bytes,
		.first_run = r->runs.len,
		.name = mapping_name(r, &m->map),
		.is_file = m->map.inode != 0,
	};

	return is_full(r) ? -ENOMEM : vec_push(&r->mappings, added);
}

void resident_read(struct resident *r, const struct record_header *h,
		   const struct sample_counts_thread *main_thread)
{
	const struct proc_resident_sink sink = { add_mapping, add_run, r };
	struct program *p = find(r, h->pid);
	struct reading reading = { .main_thread = *main_thread, .first_mapping = r->mappings.len };
	int e;

	if (p && !is_older(&p->id, &h->program))
		reading.space = p->space;
	e = vec_push(&r->readings, reading);
	if (e == 0 && reading.space)
		reading.space->n_refs++;
	if (e == 0)
		e = proc_resident_read(h->pid, &sink);
	/* a kernel thread or a process that has ended holds no memory */
	r->stats.n_unread += e < 0 && e != -ESRCH;
	r->stats.n_programs += e == 0;
}

/* Consecutive pages of one owner. */
struct share {
	uint32_t owner;
	bool is_file;
	uint64_t bytes;
};

struct attribution {
	struct resident *r;
	struct sample_counts *to;
	const struct reading *reading;
	const struct mapping *mapping;
	struct share share;
};

/* The text that stands for a missing stack. */
static uint32_t reason(const struct attribution *a, const struct share *s)
{
	const struct address_space *space = a->reading->space;

	if (s->owner == ADDRESS_SPACE_BEFORE)
		return a->r->before_text;
	return space && address_space_is_whole(space) ? a->r->unseen_text : a->r->either_text;
}

static int add(struct attribution *a, const struct sample_counts_thread *t,
	       const struct sample_labels *labels, const struct share *s, const uint64_t *words,
	       size_t n)
{
	int e = sample_counts_add_memory(a->to, t, labels,
					 s->is_file ? RESIDENT_FILE : RESIDENT_ANONYMOUS, s->bytes,
					 words, n);

	return e < 0 ? e : 0;
}

/* Adds bytes that have no stack: a frame with the reason, which calls that of the mapping. */
static int add_without_stack(struct attribution *a, const struct share *s)
{
	struct resident *r = a->r;
	bool before = s->owner == ADDRESS_SPACE_BEFORE;
	const uint64_t words[] = {
		FRAME_WORD(FRAME_TEXT, a->mapping->name),
		FRAME_WORD(FRAME_TEXT, reason(a, s)),
	};

	r->stats.before_bytes += before ? s->bytes : 0;
	r->stats.unseen_bytes += before ? 0 : s->bytes;
	return add(a, &a->reading->main_thread, NULL, s, words, 2);
}

/* A thread of the parent that touched a page before a fork stands for the child's main thread. */
static int flush(struct attribution *a)
{
	const struct share s = a->share;
	const struct sample_counts_thread *main_thread = &a->reading->main_thread, *t;
	const struct sample_counts_sample *toucher;
	struct sample_labels labels;
	const uint64_t *words;
	size_t n;

	a->share = (struct share){ 0 };
	if (!s.bytes)
		return 0;
	a->r->stats.bytes += s.bytes;
	if (s.owner == ADDRESS_SPACE_BEFORE || s.owner == ADDRESS_SPACE_UNSEEN)
		return add_without_stack(a, &s);
	toucher = sample_counts_sample(a->r->touchers, s.owner - 1);
	t = sample_counts_thread(a->r->touchers, toucher->thread);
	words = sample_counts_stack(a->r->touchers, toucher->stack, &n);
	labels = sample_counts_labels(a->r->touchers, toucher);
	return add(a, t->pid == main_thread->pid ? t : main_thread, &labels, &s, words, n);
}

static int add_bytes(struct attribution *a, uint32_t owner, bool is_file, uint64_t bytes)
{
	int e = 0;

	if (a->share.owner != owner || a->share.is_file != is_file) {
		e = flush(a);
		a->share.owner = owner;
		a->share.is_file = is_file;
	}
	a->share.bytes += bytes;
	return e;
}

/* Returns the owner of @page, and counts it if that touched a neighbouring page. */
static uint32_t owner_of(struct attribution *a, uint64_t page, bool is_huge)
{
	const struct owned_page p = { page, a->mapping->pages, is_huge };
	bool is_near;
	uint32_t owner;

	if (!a->reading->space)
		return ADDRESS_SPACE_UNSEEN;
	owner = address_space_owner(a->reading->space, &p, &is_near);
	if (is_near && owner != ADDRESS_SPACE_BEFORE && owner != ADDRESS_SPACE_UNSEEN)
		a->r->stats.near_bytes += PROC_PAGE_BYTES;
	return owner;
}

/* Attributes the pages of @run, at most @io_left_bytes. */
static int add_run_pages(struct attribution *a, const struct proc_pages *run,
			 uint64_t *io_left_bytes)
{
	int e = 0;

	for (uint64_t at = run->start; at < run->end && *io_left_bytes && e == 0;
	     at += PROC_PAGE_BYTES) {
		e = add_bytes(a, owner_of(a, at / PROC_PAGE_BYTES, run->is_huge), run->is_file,
			      PROC_PAGE_BYTES);
		*io_left_bytes -= PROC_PAGE_BYTES;
	}
	return e;
}

static int add_mapping_pages(struct attribution *a, size_t i)
{
	struct resident *r = a->r;
	size_t end = i + 1 < r->mappings.len ? r->mappings.data[i + 1].first_run : r->runs.len;
	uint64_t left_bytes = r->mappings.data[i].rss_bytes;
	int e = 0;

	a->mapping = &r->mappings.data[i];
	for (size_t k = a->mapping->first_run; k < end && e == 0; k++)
		e = add_run_pages(a, &r->runs.data[k], &left_bytes);
	if (e == 0 && left_bytes)
		e = add_bytes(a, ADDRESS_SPACE_UNSEEN, a->mapping->is_file, left_bytes);
	return e < 0 ? e : flush(a);
}

int resident_attribute(struct resident *r, struct sample_counts *to)
{
	int e = 0;

	for (size_t i = 0; i < r->readings.len; i++) {
		const struct reading *reading = &r->readings.data[i];
		size_t end = i + 1 < r->readings.len ? r->readings.data[i + 1].first_mapping
						     : r->mappings.len;
		struct attribution a = { .r = r, .to = to, .reading = reading };

		for (size_t k = reading->first_mapping; k < end && e == 0; k++)
			e = add_mapping_pages(&a, k);
	}
	drop_readings(r);
	return e;
}

void resident_stats(const struct resident *r, struct resident_stats *out)
{
	*out = r->stats;
}
