/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States of files are indexed by file id. An id is reused for another file after an eviction, so a
 * state and the keys of the cache also have the file's serial, which is never reused.
 */
#include "symbolize/native_symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/vec.h"
#include "bpf/shared/abi.h"
#include "proc/usage.h"
#include "process/file_table.h"
#include "symbol/facts.h"
#include "symbolize/address_cache.h"

enum {
	BATCH = 1024,
	SYMBOLIZER_FILES_MAX = 4096, /* each holds descriptors: above this, all are released */
	BUSY_LOOKUPS = 128,          /* lookups of a batch below which the worker counts as idle */
	PRELIMINARY_SHARE = 4,       /* as divisor: of the memory of both caches */
	SMALL_CACHE = 4 << 20,       /* size below which unused names are not dropped */
};

/* Time after which the worker is stopped if it had little to do, and unused names are dropped. */
#define IDLE_NS 30000000000ULL

/* Knowledge about one file of the file table. */
struct file_state {
	uint64_t serial; /* 0: nothing is known */
	bool added;      /* the symbolizer knows the file as symbolizer_id */
	uint32_t symbolizer_id;
	const struct symbol_facts *facts; /* NULL: not read yet; the symbolizer's */
};

struct native_symbols {
	struct native_symbols_opts opts;
	struct symbolizer *symbolizer;
	struct {
		VEC(struct file_state);
	} states; /* by file id */
	struct address_cache *cache;
	struct address_cache *preliminary;  /* results that are valid in this batch only */
	struct symbolizer_counters retired; /* sums of symbolizers that were replaced */
	uint64_t n_lookups;                 /* lookups at the end of the last batch */
	uint64_t busy_ns;                   /* when a batch had many lookups, or the worker ended */
	uint64_t aged_ns;                   /* when unused names were dropped */
};

int native_symbols_new(struct native_symbols **out, const struct native_symbols_opts *opts)
{
	_cleanup_(native_symbols_freep) struct native_symbols *s = calloc(1, sizeof(*s));
	size_t preliminary_bytes = opts->address_cache_bytes / PRELIMINARY_SHARE;
	int r;

	if (!s)
		return -ENOMEM;
	s->opts = *opts;
	s->opts.symbolizer.name_all = true;
	r = address_cache_new(&s->cache, opts->address_cache_bytes - preliminary_bytes);
	if (r == 0)
		r = address_cache_new(&s->preliminary, preliminary_bytes);
	if (r == 0)
		r = symbolizer_new(&s->symbolizer, &s->opts.symbolizer);
	if (r < 0)
		return r;
	*out = steal_ptr(&s);
	return 0;
}

void native_symbols_free(struct native_symbols *s)
{
	if (!s)
		return;
	vec_fini(&s->states);
	address_cache_free(s->cache);
	address_cache_free(s->preliminary);
	symbolizer_free(s->symbolizer);
	free(s);
}

size_t native_symbols_bytes(const struct native_symbols *s)
{
	return address_cache_bytes(s->cache) + address_cache_bytes(s->preliminary);
}

int native_symbols_worker_pid(const struct native_symbols *s)
{
	return (int)symbolizer_worker_pid(s->symbolizer);
}

/* Sums over the present symbolizer and those that it replaced. */
void native_symbols_counters(const struct native_symbols *s, struct symbolizer_counters *out)
{
	symbolizer_counters(s->symbolizer, out);
	out->addresses += s->retired.addresses;
	out->worker_restarts += s->retired.worker_restarts;
	out->files_given_up += s->retired.files_given_up;
	for (int i = 0; i < SYMBOLIZER_SOURCE_MAX; i++)
		out->by_source[i] += s->retired.by_source[i];
}

/*
 * Replaces the symbolizer by a new one, which knows no files. Without memory for a second one, the
 * old one stays in use.
 */
static void symbolizer_renew(struct native_symbols *s)
{
	struct symbolizer_counters sums;
	struct symbolizer *fresh;

	if (symbolizer_new(&fresh, &s->opts.symbolizer) < 0)
		return;
	native_symbols_counters(s, &sums);
	s->retired = sums;
	symbolizer_free(s->symbolizer);
	s->symbolizer = fresh;
	for (size_t i = 0; i < s->states.len; i++)
		s->states.data[i] = (struct file_state){ 0 };
}

void native_symbols_trim(struct native_symbols *s)
{
	address_cache_clear(s->cache);
	symbolizer_renew(s);
}

/*
 * A file is not evicted while a window that is being symbolized refers to it, so the result
 * stays valid after unlocking.
 */
static const struct file_info *file_get(struct native_symbols *s, uint32_t id)
{
	const struct file_info *info;

	if (s->opts.lock)
		pthread_mutex_lock(s->opts.lock);
	info = file_table_get(s->opts.files, id);
	if (s->opts.lock)
		pthread_mutex_unlock(s->opts.lock);
	return info;
}

/* Releases the files that the file table has evicted, which the symbolizer still holds open. */
static void release_evicted(struct native_symbols *s)
{
	for (uint32_t id = 1; id < s->states.len; id++) {
		struct file_state *k = &s->states.data[id];
		const struct file_info *info = k->added ? file_get(s, id) : NULL;

		if (!k->added || (info && info->serial == k->serial))
			continue;
		symbolizer_release_file(s->symbolizer, k->symbolizer_id);
		*k = (struct file_state){ 0 };
	}
}

/*
 * Once almost all addresses were in the cache for a while, the worker is stopped to release its
 * memory: it starts again with the next unknown address.
 */
static void stop_idle_worker(struct native_symbols *s, uint64_t n_addresses, uint64_t now_ns)
{
	if (n_addresses - s->n_lookups >= BUSY_LOOKUPS || !s->busy_ns)
		s->busy_ns = now_ns;
	s->n_lookups = n_addresses;
	if (now_ns - s->busy_ns < IDLE_NS)
		return;
	symbolizer_stop_worker(s->symbolizer);
	s->busy_ns = now_ns;
}

void native_symbols_end_batch(struct native_symbols *s)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct symbolizer_counters c;

	address_cache_clear(s->preliminary);
	if (now_ns - s->aged_ns >= IDLE_NS && address_cache_bytes(s->cache) > SMALL_CACHE) {
		address_cache_age(s->cache);
		s->aged_ns = now_ns;
	}
	release_evicted(s);
	symbolizer_counters(s->symbolizer, &c);
	if (c.files > SYMBOLIZER_FILES_MAX)
		symbolizer_renew(s);
	else
		stop_idle_worker(s, c.addresses, now_ns);
}

/* ---- files ---------------------------------------------------------------------- */

static void add_file(struct native_symbols *s, struct file_state *k, const struct file_info *info)
{
	struct symbolizer_file sf = {
		.fd = info->fd,
		.root_fd = info->root_fd,
		.debug_fd = info->debug_fd,
		.path = info->path,
		.user = info->user,
	};

	k->added = symbolizer_add_file(s->symbolizer, &sf, &k->symbolizer_id) == 0;
}

/* Makes the state of file @id that of @info. Returns 0 or -ENOMEM. */
static int update_state(struct native_symbols *s, uint32_t id, const struct file_info *info)
{
	struct file_state *k;

	while (s->states.len <= id)
		if (vec_push(&s->states, (struct file_state){ 0 }) < 0)
			return -ENOMEM;
	k = &s->states.data[id];
	if (k->serial == info->serial)
		return 0;
	if (k->added)
		symbolizer_release_file(s->symbolizer, k->symbolizer_id);
	*k = (struct file_state){ .serial = info->serial };
	if (info->is_elf && info->fd >= 0)
		add_file(s, k, info);
	return 0;
}

static struct file_state *state_of(const struct native_symbols *s, const struct native_file *f)
{
	return &s->states.data[f->id];
}

static uint32_t file_of(uint64_t word)
{
	return (uint32_t)((word & FRAME_PAYLOAD_MASK) >> FRAME_OFFSET_BITS);
}

int native_symbols_select(struct native_symbols *s, uint64_t word, struct native_file *f)
{
	uint32_t id = file_of(word);
	const struct file_info *info;

	if (f->info && f->id == id)
		return 0;
	info = file_get(s, id);
	if (!info || update_state(s, id, info) < 0)
		return -ENOMEM;
	*f = (struct native_file){ info, id };
	return 0;
}

/* The facts are requested again in each batch until they could be read. */
static const struct symbol_facts *facts_of(const struct native_symbols *s,
					   const struct native_file *f)
{
	struct file_state *k = state_of(s, f);

	if (k->added && !k->facts)
		k->facts = symbolizer_facts(s->symbolizer, k->symbolizer_id);
	return k->facts;
}

void native_symbols_place(const struct native_symbols *s, const struct native_file *f, uint64_t off,
			  struct native_place *out)
{
	const struct symbol_facts *facts = facts_of(s, f);

	*out = (struct native_place){ .vaddr = off, .limit = UINT64_MAX };
	if (facts)
		(void)symbol_facts_vaddr(facts, off, &out->vaddr);
	for (size_t i = 0; facts && i < facts->n_segments; i++) {
		const struct elf_segment *seg = &facts->segments[i];

		if (out->vaddr < seg->vaddr || out->vaddr - seg->vaddr >= seg->memsz)
			continue;
		out->start = seg->vaddr & ~4095ULL;
		out->limit = (seg->vaddr + seg->memsz + 4095) & ~4095ULL;
		out->file_off = seg->file_off & ~4095ULL;
	}
}

/* ---- lookups -------------------------------------------------------------------- */

static struct address_cache_place cache_key(const struct native_file *f, uint64_t word)
{
	return (struct address_cache_place){ word, f->info->serial };
}

/* A lookup in progress. */
struct lookup {
	struct native_symbols *s;
	const struct native_file *file;
	const uint64_t *words;
	bool is_answered[BATCH];
};

static int on_symbol(void *ctx, size_t cookie, const struct symbol_frame *frames, size_t n)
{
	struct lookup *q = ctx;
	struct address_cache_place place = cache_key(q->file, q->words[cookie]);

	q->is_answered[cookie] = true;
	return address_cache_put(frames[0].is_preliminary ? q->s->preliminary : q->s->cache, &place,
				 frames, n);
}

/*
 * Looks up @n words of @f, at most BATCH. A word of a file that the symbolizer does not know has no
 * frames, so that it is not looked up again. Returns 0; -ENOMEM; NATIVE_SYMBOLS_LATE.
 */
static int look_up(struct native_symbols *s, const struct native_file *f, const uint64_t *words,
		   size_t n)
{
	const struct file_state *k = state_of(s, f);
	struct lookup q = { .s = s, .file = f, .words = words };
	uint64_t offsets[BATCH];
	int r = 0;

	for (size_t i = 0; i < n; i++)
		offsets[i] = words[i] & FRAME_OFFSET_MASK;
	if (k->added)
		r = symbolizer_resolve(s->symbolizer, k->symbolizer_id, SYMBOLIZER_OFFSET, offsets,
				       n, on_symbol, &q);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct address_cache_place place = cache_key(f, words[i]);

		if (!q.is_answered[i])
			r = address_cache_put(s->cache, &place, NULL, 0);
	}
	return r == -ETIMEDOUT ? NATIVE_SYMBOLS_LATE : r;
}

/* Finds a word in the caches. */
static bool recall(struct native_symbols *s, const struct native_file *f, uint64_t word,
		   const struct symbol_frame **out, size_t *out_n)
{
	struct address_cache_place place = cache_key(f, word);

	return address_cache_get(s->cache, &place, out, out_n) ||
	       address_cache_get(s->preliminary, &place, out, out_n);
}

/*
 * Restarts the worker if it is above its limit: pages of debug files that it has mapped count
 * as its RSS until it exits.
 */
static void limit_worker(struct native_symbols *s)
{
	pid_t pid = symbolizer_worker_pid(s->symbolizer);
	struct proc_usage u;

	if (!s->opts.worker_rss_bytes || !pid)
		return;
	proc_usage_read(pid, &u);
	if (u.rss_bytes > s->opts.worker_rss_bytes)
		symbolizer_stop_worker(s->symbolizer);
}

/* Looks up @n words, all of one file. */
static int look_up_file(struct native_symbols *s, const uint64_t *words, size_t n)
{
	struct native_file f = { 0 };
	int r = native_symbols_select(s, words[0], &f);

	for (size_t at = 0; at < n && r == 0; at += BATCH)
		r = look_up(s, &f, words + at, n - at < BATCH ? n - at : BATCH);
	limit_worker(s);
	return r == NATIVE_SYMBOLS_LATE ? 0 : r;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Moves the words that are not in the cache to the front and sorts them, which groups them by file.
 * Changes *@io_n to their number. Returns 0 or -ENOMEM.
 */
static int select_unknown(struct native_symbols *s, uint64_t *words, size_t *io_n)
{
	struct native_file f = { 0 };
	size_t n_unknown = 0;

	for (size_t i = 0; i < *io_n; i++) {
		const struct symbol_frame *frames;
		size_t n_frames;
		int r = native_symbols_select(s, words[i], &f);

		if (r < 0)
			return r;
		if (!recall(s, &f, words[i], &frames, &n_frames))
			words[n_unknown++] = words[i];
	}
	*io_n = n_unknown;
	if (n_unknown)
		qsort(words, n_unknown, sizeof(*words), by_value);
	return 0;
}

int native_symbols_prefetch(struct native_symbols *s, uint64_t *words, size_t n,
			    const atomic_bool *must_yield)
{
	int r = select_unknown(s, words, &n);
	size_t end;

	for (size_t i = 0; i < n && r == 0 && !deadline_is_past(s->opts.symbolizer.until_ns);
	     i = end) {
		uint32_t file = file_of(words[i]);

		for (end = i + 1; end < n; end++)
			if (file_of(words[end]) != file)
				break;
		r = look_up_file(s, words + i, end - i);
		if (r == 0 && end < n && must_yield && atomic_load(must_yield))
			r = -EAGAIN;
	}
	return r;
}

/*
 * The cache may have dropped a word of this batch during later lookups: then it is looked up again.
 */
int native_symbols_find(struct native_symbols *s, const struct native_file *f, uint64_t word,
			const struct symbol_frame **out, size_t *out_n)
{
	int r;

	if (recall(s, f, word, out, out_n))
		return 0;
	*out_n = 0;
	if (deadline_is_past(s->opts.symbolizer.until_ns))
		return NATIVE_SYMBOLS_LATE;
	r = look_up(s, f, &word, 1);
	if (r == 0 && !recall(s, f, word, out, out_n))
		*out_n = 0;
	return r;
}
