/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files are named SINK-SEQUENCE.item. A sequence number is the time of writing, but always larger
 * than existing ones, so that setting the clock back does not change the order. The index in memory
 * is authoritative: files are written, read and removed without the lock, which is thus never held
 * during disk operations.
 *
 * Files are not flushed. After a crash of the machine the last ones may be damaged, which their
 * checksums reveal.
 *
 * The directory must be private, so nobody else can write to it. Contents are checked nevertheless,
 * because a disk can corrupt data and an older version may have written them.
 */
#include "export/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <libdeflate.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/outfile.h"
#include "base/vec.h"
#include "export/sink.h"
#include "export/spool_item.h"

#define SUFFIX ".item"
#define ASIDE  ".damaged"

enum { ITEMS_MAX = 16384, ASIDE_MAX = 8, NAME_CAP = 48 };

/* born_ns of an item found on disk is computed from its age, so it may lie before the boot. */
struct entry {
	uint64_t seq, bytes;
	int64_t born_ns; /* CLOCK_BOOTTIME */
	uint32_t sink;
	bool claimed;
};

struct counted {
	uint32_t sink;
	struct spool_usage usage;
};

struct spool {
	char *path;
	int fd, lock_fd;
	uint64_t max_bytes;

	pthread_mutex_t lock; /* protects the members below */
	unsigned int n_owners;
	uint64_t bytes, last_seq;
	struct {
		VEC(struct entry);
	} entries; /* by seq */
	struct {
		VEC(struct counted);
	} sinks;
};

uint32_t spool_sink(const char *name)
{
	return libdeflate_crc32(0, name, strlen(name));
}

static void name_of(uint32_t sink, uint64_t seq, char out[NAME_CAP])
{
	snprintf(out, NAME_CAP, "%08" PRIx32 "-%016" PRIx64 SUFFIX, sink, seq);
}

/*
 * Parses the name of an item's file. Names are compared with their canonical form, so other files
 * in the directory are never mistaken for items.
 */
static bool read_name(const char *name, uint32_t *sink, uint64_t *seq)
{
	char again[NAME_CAP];

	if (sscanf(name, "%8" SCNx32 "-%16" SCNx64, sink, seq) != 2)
		return false;
	name_of(*sink, *seq, again);
	return !strcmp(name, again);
}

/* Requires the lock. NULL: no memory to count a new sink. */
static struct spool_usage *usage_of(struct spool *s, uint32_t sink)
{
	for (size_t i = 0; i < s->sinks.len; i++)
		if (s->sinks.data[i].sink == sink)
			return &s->sinks.data[i].usage;
	if (vec_push(&s->sinks, (struct counted){ .sink = sink }) < 0)
		return NULL;
	return &s->sinks.data[s->sinks.len - 1].usage;
}

/* Adds an entry, which is unclaimed. Requires the lock. Returns 0 or -ENOMEM. */
static int add_entry(struct spool *s, const struct entry *e)
{
	struct spool_usage *u = usage_of(s, e->sink);

	if (!u || vec_push(&s->entries, *e) < 0)
		return -ENOMEM;
	u->items++;
	u->unclaimed++;
	u->bytes += e->bytes;
	s->bytes += e->bytes;
	return 0;
}

/* Removes the entry at index @at and returns it. Requires the lock. */
static struct entry take_entry(struct spool *s, size_t at)
{
	struct entry e = s->entries.data[at];
	struct spool_usage *u = usage_of(s, e.sink);

	s->entries.len--;
	memmove(&s->entries.data[at], &s->entries.data[at + 1], (s->entries.len - at) * sizeof(e));
	u->items--;
	u->unclaimed -= !e.claimed;
	u->bytes -= e.bytes;
	s->bytes -= e.bytes;
	return e;
}

static void unlink_item(struct spool *s, const struct entry *e)
{
	char name[NAME_CAP];

	name_of(e->sink, e->seq, name);
	unlinkat(s->fd, name, 0);
}

/* Evicts items until the limits hold, without the lock. */
static void evict(struct spool *s)
{
	for (;;) {
		struct entry e;
		bool over;

		pthread_mutex_lock(&s->lock);
		over = s->bytes > s->max_bytes || s->entries.len > ITEMS_MAX;
		if (over) {
			e = take_entry(s, 0);
			usage_of(s, e.sink)->evicted++;
		}
		pthread_mutex_unlock(&s->lock);
		if (!over)
			return;
		unlink_item(s, &e);
	}
}

static int by_seq(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Adds the files of an earlier process to the index. */
static int find_items(struct spool *s)
{
	int64_t now = (int64_t)clock_unix_ns(), boot = (int64_t)clock_ns(CLOCK_BOOTTIME);
	struct dir_files files = { 0 };
	int r = dir_list(s->fd, "", SUFFIX, &files);

	for (size_t i = 0; r == 0 && i < files.len; i++) {
		const struct dir_file *f = &files.data[i];
		struct entry e = { .bytes = f->bytes };
		int64_t age = now - (f->mtime.tv_sec * CLOCK_SECOND_NS + f->mtime.tv_nsec);

		if (!read_name(f->name, &e.sink, &e.seq))
			continue;
		e.born_ns = boot - (age > 0 ? age : 0);
		r = add_entry(s, &e);
	}
	dir_files_fini(&files);
	if (s->entries.len) {
		qsort(s->entries.data, s->entries.len, sizeof(struct entry), by_seq);
		s->last_seq = s->entries.data[s->entries.len - 1].seq;
	}
	return r;
}

/* Removes temporary files of a process that was killed while writing. */
static void remove_unfinished(struct spool *s)
{
	struct dir_files files = { 0 };

	if (dir_list(s->fd, ".", "", &files) == 0)
		for (size_t i = 0; i < files.len; i++)
			if (strstr(files.data[i].name, SUFFIX "."))
				unlinkat(s->fd, files.data[i].name, 0);
	dir_files_fini(&files);
}

/*
 * O_NOFOLLOW is used because the name is predictable, and others may have been able to write to the
 * directory earlier.
 */
static int open_locked(struct spool *s, struct err *err)
{
	s->fd = dir_open_private(s->path, err);
	if (s->fd < 0)
		return s->fd;
	s->lock_fd = openat(s->fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->lock_fd < 0)
		return err_set(err, -errno, "cannot write to \"%.100s\": %s", s->path,
			       strerror(errno));
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, -EBUSY, "\"%.100s\" is in use by another process", s->path);
	return 0;
}

int spool_open(struct spool **out, const char *dir, uint64_t max_bytes, struct err *err)
{
	_cleanup_(spool_closep) struct spool *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->fd = s->lock_fd = -1;
	s->n_owners = 1;
	s->max_bytes = max_bytes;
	pthread_mutex_init(&s->lock, NULL);
	s->path = strdup(dir);
	r = s->path ? open_locked(s, err) : -ENOMEM;
	if (r == 0) {
		remove_unfinished(s);
		r = find_items(s);
	}
	if (r < 0)
		return err_set(err, r, "cannot open spool \"%.100s\": %s", dir, strerror(-r));
	evict(s);
	*out = steal_ptr(&s);
	return 0;
}

struct spool *spool_share(struct spool *s)
{
	pthread_mutex_lock(&s->lock);
	s->n_owners++;
	pthread_mutex_unlock(&s->lock);
	return s;
}

bool spool_is_at(const struct spool *s, const char *dir)
{
	return !strcmp(s->path, dir);
}

static bool is_last_owner(struct spool *s)
{
	bool last;

	pthread_mutex_lock(&s->lock);
	last = --s->n_owners == 0;
	pthread_mutex_unlock(&s->lock);
	return last;
}

void spool_close(struct spool *s)
{
	if (!s || !is_last_owner(s))
		return;
	closep(&s->fd);
	closep(&s->lock_fd);
	pthread_mutex_destroy(&s->lock);
	vec_fini(&s->entries);
	vec_fini(&s->sinks);
	free(s->path);
	free(s);
}

/* Writes a temporary file and renames it, so an item is complete or absent. */
static int write_file(struct spool *s, const struct entry *e, const struct buf *data)
{
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	_cleanup_(freep) char *path = NULL;
	char name[NAME_CAP];
	int r;

	name_of(e->sink, e->seq, name);
	if (asprintf(&path, "%s/%s", s->path, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	r = outfile_open(&f, path, NULL);
	return r < 0 ? r : outfile_commit(f, data->data, data->len, NULL);
}

/*
 * The number is assigned under the lock before the file is written, so two sinks cannot choose the
 * same one.
 */
int spool_put(struct spool *s, uint32_t sink, const struct export_item *item)
{
	struct entry e = { .sink = sink, .born_ns = item->born_ns };
	_cleanup_(buf_fini) struct buf data = { 0 };
	int r;

	spool_item_write(item, &data);
	if (buf_error(&data))
		return -ENOMEM;
	if (data.len > SPOOL_ITEM_MAX || data.len > s->max_bytes)
		return -EFBIG;
	e.bytes = data.len;
	pthread_mutex_lock(&s->lock);
	e.seq = clock_unix_ns();
	if (e.seq <= s->last_seq)
		e.seq = s->last_seq + 1;
	s->last_seq = e.seq;
	pthread_mutex_unlock(&s->lock);
	r = write_file(s, &e, &data);
	if (r == 0) {
		/*
		 * another sink may have added a greater number meanwhile; the order matters only
		 * per sink
		 */
		pthread_mutex_lock(&s->lock);
		r = add_entry(s, &e);
		pthread_mutex_unlock(&s->lock);
		if (r < 0)
			unlink_item(s, &e);
	}
	evict(s);
	return r;
}

/*
 * The index of an entry of @sink, or the number of entries if there is none; @seq 0 finds the
 * oldest unclaimed one. Requires the lock.
 */
static size_t find_entry(const struct spool *s, uint32_t sink, uint64_t seq)
{
	size_t i = 0;

	for (; i < s->entries.len; i++) {
		const struct entry *e = &s->entries.data[i];

		if (e->sink == sink && (seq ? e->seq == seq : !e->claimed))
			break;
	}
	return i;
}

/* Reads at most the maximum size of an item, because the file may have grown. */
static int read_file(struct spool *s, const struct entry *e, struct export_item **out)
{
	_cleanup_(buf_fini) struct buf data = { 0 };
	_cleanup_(closep) int fd = -1;
	uint8_t piece[65536];
	char name[NAME_CAP];
	ssize_t n = 1;

	name_of(e->sink, e->seq, name);
	fd = openat(s->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (n > 0 && data.len <= SPOOL_ITEM_MAX) {
		n = read(fd, piece, sizeof(piece));
		if (n > 0)
			buf_put(&data, piece, (size_t)n);
	}
	if (n < 0)
		return -errno;
	return buf_error(&data) ? -ENOMEM : spool_item_read(out, data.data, data.len);
}

/* Keeps the newest ASIDE_MAX damaged files for an investigation. */
static void trim_aside(struct spool *s)
{
	struct dir_files files = { 0 };

	if (dir_list(s->fd, "", ASIDE, &files) == 0)
		for (size_t i = 0; i + ASIDE_MAX < files.len; i++)
			unlinkat(s->fd, files.data[i].name, 0);
	dir_files_fini(&files);
}

/* A damaged file is renamed, so it is not read again. */
static void set_aside(struct spool *s, const struct entry *e)
{
	char name[NAME_CAP], aside[NAME_CAP + sizeof(ASIDE)];

	name_of(e->sink, e->seq, name);
	snprintf(aside, sizeof(aside), "%s" ASIDE, name);
	if (renameat(s->fd, name, s->fd, aside) < 0)
		unlinkat(s->fd, name, 0);
	trim_aside(s);
	pthread_mutex_lock(&s->lock);
	usage_of(s, e->sink)->damaged++;
	pthread_mutex_unlock(&s->lock);
}

/* Other claims skip an entry that is claimed, until it is released or removed. */
static bool claim_entry(struct spool *s, uint32_t sink, struct entry *out)
{
	size_t at;
	bool found;

	pthread_mutex_lock(&s->lock);
	at = find_entry(s, sink, 0);
	found = at < s->entries.len;
	if (found) {
		s->entries.data[at].claimed = true;
		usage_of(s, sink)->unclaimed--;
		*out = s->entries.data[at];
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

void spool_release(struct spool *s, uint32_t sink, uint64_t seq)
{
	size_t at;

	pthread_mutex_lock(&s->lock);
	at = find_entry(s, sink, seq);
	if (at < s->entries.len && s->entries.data[at].claimed) {
		s->entries.data[at].claimed = false;
		usage_of(s, sink)->unclaimed++;
	}
	pthread_mutex_unlock(&s->lock);
}

/* Removes an entry from the index, not its file. */
static void forget(struct spool *s, const struct entry *e)
{
	size_t at;

	pthread_mutex_lock(&s->lock);
	at = find_entry(s, e->sink, e->seq);
	if (at < s->entries.len)
		take_entry(s, at);
	pthread_mutex_unlock(&s->lock);
}

/*
 * Lack of memory or descriptors is not damage: the claim is released and the caller pauses. Any
 * other failure removes the item from the index, so a bad file cannot block its sink.
 */
int spool_claim(struct spool *s, uint32_t sink, struct export_item **out)
{
	struct entry e;

	while (claim_entry(s, sink, &e)) {
		int r = read_file(s, &e, out);

		if (r == 0) {
			(*out)->seq = e.seq;
			(*out)->born_ns = e.born_ns;
			return 0;
		}
		if (r == -ENOMEM || r == -EMFILE || r == -ENFILE) {
			spool_release(s, sink, e.seq);
			return r;
		}
		forget(s, &e);
		if (r != -ENOENT)
			set_aside(s, &e);
	}
	return -ENOENT;
}

void spool_remove(struct spool *s, uint32_t sink, uint64_t seq)
{
	const struct entry e = { .sink = sink, .seq = seq };

	forget(s, &e);
	unlink_item(s, &e);
}

void spool_usage(struct spool *s, uint32_t sink, struct spool_usage *out)
{
	const struct spool_usage *u;

	pthread_mutex_lock(&s->lock);
	u = usage_of(s, sink);
	*out = u ? *u : (struct spool_usage){ 0 };
	pthread_mutex_unlock(&s->lock);
}

uint64_t spool_n_unconfigured(struct spool *s, const uint32_t *sinks, size_t n_sinks)
{
	uint64_t n = 0;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->sinks.len; i++) {
		bool known = false;

		for (size_t k = 0; k < n_sinks; k++)
			known |= s->sinks.data[i].sink == sinks[k];
		if (!known)
			n += s->sinks.data[i].usage.items;
	}
	pthread_mutex_unlock(&s->lock);
	return n;
}
