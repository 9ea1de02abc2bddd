/* SPDX-License-Identifier: Apache-2.0 */
#include "process/jit_source.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/regular_file.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "reader/jit_client.h"
#include "roles/pool.h"

enum {
	KNOWN_MAX = 8192,   /* addresses; if they become more, all are forgotten */
	TEXT_MAX = 4 << 20, /* bytes of names; the same */
	JOB_MS = 3000,
	FAILURES_MAX = 8, /* the pause after a failure is doubled up to this number */
};

struct known {
	uint64_t addr;
	uint32_t name; /* 0: the file has no function there */
	uint32_t file, line;
};

struct jit_source {
	int fd;
	enum jit_format format;
	uint64_t end; /* the content of the file before this offset was applied to all of known */
	struct {
		VEC(struct known);
	} known; /* sorted by address */
	struct strtab *texts;
	unsigned int n_failures; /* in succession */
	int error;               /* the last failure */
	uint64_t next_ns;        /* the file is left alone until then */
	atomic_size_t bytes;
};

int jit_source_new(struct jit_source **out, int fd, enum jit_format format)
{
	struct jit_source *s = calloc(1, sizeof(*s));

	if (!s || strtab_new(&s->texts) < 0) {
		free(s);
		close(fd);
		return -ENOMEM;
	}
	s->fd = fd;
	s->format = format;
	*out = s;
	return 0;
}

void jit_source_free(struct jit_source *s)
{
	if (!s)
		return;
	close(s->fd);
	strtab_free(s->texts);
	vec_fini(&s->known);
	free(s);
}

size_t jit_source_bytes(const struct jit_source *s)
{
	return atomic_load(&s->bytes);
}

static uint64_t file_size(const struct jit_source *s)
{
	struct stat st;

	return regular_file_stat(s->fd, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

uint64_t jit_source_unread(const struct jit_source *s)
{
	uint64_t size = file_size(s);

	return size >= s->end ? size - s->end : size;
}

/* The index of the first known address that is not below @addr. */
static size_t known_from(const struct jit_source *s, uint64_t addr)
{
	size_t lo = 0, hi = s->known.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->known.data[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool is_known(const struct jit_source *s, uint64_t addr)
{
	size_t i = known_from(s, addr);

	return i < s->known.len && s->known.data[i].addr == addr;
}

static void forget_all(struct jit_source *s)
{
	struct strtab *texts;

	if (strtab_new(&texts) == 0) {
		strtab_free(s->texts);
		s->texts = texts;
	}
	vec_fini(&s->known);
	s->end = 0;
}

/* ---- one request --------------------------------------------------------------------------- */

/* Addresses of the file that are looked up together, and what was found. */
struct look_up {
	struct jit_source *s;
	struct role_pool *pool;
	struct jit_time *time;
	uint64_t from, size; /* the part of the file to read */
	uint64_t end;        /* where the reader stopped, at most */
	const uint64_t *addrs;
	struct known *found; /* for each of @addrs */
	size_t at;           /* the first address of the request */
};

static int on_found(void *ctx, const struct jit_found *f)
{
	struct look_up *l = ctx;
	struct known *k = &l->found[l->at + f->index];
	int r = strtab_add(l->s->texts, f->name, f->name_len, &k->name);

	k->line = f->line;
	return r < 0 ? r : strtab_add(l->s->texts, f->file, f->file_len, &k->file);
}

/*
 * The time limit of the next request in ms, chosen so that the request ends with the batch even if
 * its reader waits for a CPU; 0: no request is sent.
 */
static unsigned int limit_ms(const struct jit_time *t, uint64_t now_ns)
{
	uint64_t ns = now_ns < t->end_ns ? (t->end_ns - now_ns) / ROLE_PATIENCE : 0;

	if (deadline_is_past(t->until_ns))
		return 0;
	if (ns > t->left_ns)
		ns = t->left_ns;
	return ns < JOB_MS * (uint64_t)CLOCK_MS_NS ? (unsigned int)(ns / CLOCK_MS_NS) : JOB_MS;
}

/* Sends the request to a reader, and charges the time that it takes. */
static int request_once(struct look_up *l, uint32_t n, uint64_t *out_end)
{
	uint64_t began_ns = clock_monotonic_ns(), waited_ns = 0, ns;
	const struct jit_query q = {
		.fd = l->s->fd,
		.request = { .format = l->s->format, .n = n, .from = l->from, .end = l->size },
		.addrs = l->addrs + l->at,
		.timeout_ms = limit_ms(l->time, began_ns),
		.waited_ns = &waited_ns,
		.until_ns = l->time->until_ns,
		.found = on_found,
		.ctx = l,
	};
	int r = q.timeout_ms ? jit_client_find(l->pool, &q, out_end) : -ETIMEDOUT;

	ns = clock_monotonic_ns() - began_ns - waited_ns;
	l->time->left_ns -= ns < l->time->left_ns ? ns : l->time->left_ns;
	return r;
}

static int request(struct look_up *l, uint32_t n)
{
	uint64_t end = 0;
	int r = request_once(l, n, &end);

	/* a reader that somebody killed was not this file's fault */
	if (r == -EPIPE)
		r = request_once(l, n, &end);
	if (r == 0 && end < l->end)
		l->end = end;
	return r;
}

/* Looks up @n addresses in the file from @from on. */
static int look_up(struct look_up *l, uint64_t from, size_t n)
{
	int r = 0;

	l->from = from;
	for (l->at = 0; l->at < n && r == 0; l->at += JIT_ADDRS_MAX)
		r = request(l, n - l->at < JIT_ADDRS_MAX ? (uint32_t)(n - l->at) : JIT_ADDRS_MAX);
	return r;
}

/* ---- known addresses and new ones ---------------------------------------------------------- */

/* Applies what was appended to the file to the addresses that are known. */
static int update_known(struct look_up *l)
{
	struct jit_source *s = l->s;
	_cleanup_(freep) uint64_t *addrs = calloc(s->known.len + 1, sizeof(*addrs));
	_cleanup_(freep) struct known *found = calloc(s->known.len + 1, sizeof(*found));
	int r;

	if (!addrs || !found)
		return -ENOMEM;
	for (size_t i = 0; i < s->known.len; i++)
		addrs[i] = s->known.data[i].addr;
	l->addrs = addrs;
	l->found = found;
	r = look_up(l, s->end, s->known.len);
	for (size_t i = 0; i < s->known.len && r == 0; i++) {
		found[i].addr = addrs[i];
		if (found[i].name)
			s->known.data[i] = found[i];
	}
	return r;
}

static int by_address(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Reads the whole file for the @n addresses @addrs, none of which is known. */
static int add_new(struct look_up *l, const uint64_t *addrs, size_t n)
{
	struct jit_source *s = l->s;
	_cleanup_(freep) struct known *found = calloc(n + 1, sizeof(*found));
	int r;

	if (!found)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		found[i].addr = addrs[i];
	l->addrs = addrs;
	l->found = found;
	r = look_up(l, 0, n);
	if (r == 0)
		r = vec_reserve(&s->known, s->known.len + n);
	if (r < 0 || !n)
		return r;
	for (size_t i = 0; i < n; i++)
		s->known.data[s->known.len++] = found[i];
	qsort(s->known.data, s->known.len, sizeof(*s->known.data), by_address);
	return 0;
}

/* Brings all known addresses and @addrs to the same state of the file. */
static int refresh(struct look_up *l, const uint64_t *addrs, size_t n)
{
	struct jit_source *s = l->s;
	_cleanup_(freep) uint64_t *fresh = calloc(n + 1, sizeof(*fresh));
	size_t n_fresh = 0;
	int r = 0;

	if (!fresh)
		return -ENOMEM;
	if (l->size < s->end || s->known.len + n > KNOWN_MAX || strtab_bytes(s->texts) > TEXT_MAX)
		forget_all(s);
	if (s->known.len && l->size > s->end)
		r = update_known(l);
	if (r == -EAGAIN) { /* code moved: the addresses are new again */
		forget_all(s);
		r = 0;
	}
	for (size_t i = 0; i < n; i++)
		if (!is_known(s, addrs[i]))
			fresh[n_fresh++] = addrs[i];
	if (r == 0 && n_fresh)
		r = add_new(l, fresh, n_fresh);
	if (r == 0)
		s->end = l->end;
	return r;
}

static void note_failure(struct jit_source *s, int error)
{
	unsigned int n = s->n_failures < FAILURES_MAX ? s->n_failures++ : FAILURES_MAX;

	s->error = error;
	s->next_ns = clock_monotonic_ns() + ((uint64_t)CLOCK_SECOND_NS << n);
}

int jit_source_look_up(struct jit_source *s, struct role_pool *pool, const uint64_t *addrs,
		       size_t n, struct jit_time *time)
{
	struct look_up l = { .s = s, .pool = pool, .time = time, .size = file_size(s) };
	int r;

	if (clock_monotonic_ns() < s->next_ns)
		return -ETIME;
	l.end = l.size;
	r = refresh(&l, addrs, n);
	if (r < 0) {
		note_failure(s, r);
	} else {
		s->n_failures = 0;
		s->error = 0;
	}
	atomic_store(&s->bytes,
		     sizeof(*s) + strtab_bytes(s->texts) + s->known.cap * sizeof(*s->known.data));
	return r;
}

int jit_source_find(const struct jit_source *s, uint64_t addr, struct jit_source_function *out)
{
	const struct known *k;

	if (!is_known(s, addr))
		return s->error ? s->error : -ENOENT;
	k = &s->known.data[known_from(s, addr)];
	if (!k->name)
		return -ENOENT;
	*out = (struct jit_source_function){
		.name = strtab_get(s->texts, k->name),
		.file = strtab_get(s->texts, k->file),
		.line = k->line,
	};
	return 0;
}
