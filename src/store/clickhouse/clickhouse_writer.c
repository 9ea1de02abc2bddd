/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames, stacks and series are identified by hashes of their contents, so that servers need not
 * agree on numbers. ClickHouse merges rows that exist already, and a cache of known rows keeps most
 * of them from being sent. Rows are inserted before the windows that refer to them. A thread that
 * arrives during an insertion waits; afterwards one of the waiting threads inserts for all of them.
 */
#include "store/clickhouse/clickhouse_writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "flame/stack_dict.h"
#include "profile/profile.h"
#include "store/clickhouse/clickhouse_hash.h"
#include "store/clickhouse/clickhouse_http.h"
#include "store/clickhouse/row_binary.h"
#include "store/id_cache.h"
#include "store/intern.h"
#include "store/sample_times.h"
#include "store/series.h"
#include "store/store.h"
#include "store/window.h"

enum { FRAMES, STACKS, SERIES, WINDOWS, N_TABLES };
enum { MAX_TRIES = 6, MAX_DAY = UINT16_MAX };

/* More frequent insertions would leave ClickHouse more parts to merge. */
#define MIN_INSERT_INTERVAL_NS (40 * (int64_t)CLOCK_MS_NS)

static const char *const tables[N_TABLES] = { "cameo_frames", "cameo_stacks", "cameo_series",
					      "cameo_windows" };

/* The rows of a job for one day. */
struct part {
	int64_t day;
	struct buf rows[N_TABLES];
	struct {
		VEC(struct id_cache_key);
	} keys; /* of the rows of frames, stacks and series */
};

struct job {
	struct {
		VEC(struct part);
	} parts;
	struct job *next;
	bool finished;
	int r;
	struct err err;
};

/*
 * lock guards known, queue and busy. At most one thread inserts at a time (busy); last_ns belongs
 * to it.
 */
struct clickhouse_writer {
	struct clickhouse_http *http;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct id_cache known;
	struct job *queue, **queue_end;
	bool busy;
	int64_t last_ns;
};

static void part_fini(struct part *p)
{
	for (int i = 0; i < N_TABLES; i++)
		buf_fini(&p->rows[i]);
	vec_fini(&p->keys);
}

static void job_fini(struct job *j)
{
	for (size_t i = 0; i < j->parts.len; i++)
		part_fini(&j->parts.data[i]);
	vec_fini(&j->parts);
}

/*
 * Builds the rows of one request. They are built without the writer's lock, except for single
 * look-ups in known. The dictionary lives as long as the request, since servers hold no state.
 */
struct row_builder {
	struct clickhouse_writer *w;
	const char *tenant;
	struct stack_dict *dict;
	struct intern intern;
	struct id_cache begun;     /* rows that this request has built already */
	uint64_t *frames, *stacks; /* hashes, indexed by frame and by node */
	size_t frames_cap, stacks_cap;
	uint32_t n_frames, n_stacks;
	struct {
		VEC(uint64_t);
	} path;
};

static void row_builder_fini(struct row_builder *rb)
{
	stack_dict_free(rb->dict);
	intern_fini(&rb->intern);
	id_cache_fini(&rb->begun);
	free(rb->frames);
	free(rb->stacks);
	vec_fini(&rb->path);
}

/*
 * A stack's hash is that of its parent's hash and its own frame's, so all prefixes of a stack get
 * theirs in one pass. The root has the hash 0, which clickhouse_stacks.c relies on.
 */
static uint64_t hash_stack(const struct row_builder *rb, uint32_t node)
{
	const struct stack_dict_node *n = stack_dict_node(stack_dict_nodes(rb->dict), node);
	const uint64_t both[] = { rb->stacks[n->parent], rb->frames[n->frame] };

	return node ? XXH3_64bits(both, sizeof(both)) : 0;
}

/* Hashes the frames and nodes added since the last call; parents come first. */
static int hash_new_ids(struct row_builder *rb)
{
	uint32_t n_frames = stack_dict_count(rb->dict, STACK_DICT_FRAMES);
	uint32_t n_stacks = stack_dict_count(rb->dict, STACK_DICT_NODES);

	if (n_frames > rb->frames_cap &&
	    vec_grow((void **)&rb->frames, &rb->frames_cap, n_frames, sizeof(*rb->frames)) < 0)
		return -ENOMEM;
	if (n_stacks > rb->stacks_cap &&
	    vec_grow((void **)&rb->stacks, &rb->stacks_cap, n_stacks, sizeof(*rb->stacks)) < 0)
		return -ENOMEM;
	for (; rb->n_frames < n_frames; rb->n_frames++)
		rb->frames[rb->n_frames] =
			clickhouse_hash_frame(rb->dict, stack_dict_frame(rb->dict, rb->n_frames));
	for (; rb->n_stacks < n_stacks; rb->n_stacks++)
		rb->stacks[rb->n_stacks] = hash_stack(rb, rb->n_stacks);
	return 0;
}

/*
 * Begins a row unless it is known to be stored already. Returns true if it did. The key includes
 * tenant, day and table, because each day's partition must be complete on its own: it may outlive
 * the day before. Rows become known only when their insertion has succeeded (end_day()).
 */
static bool begin_row(struct row_builder *rb, struct part *p, int table, uint64_t hash)
{
	struct {
		uint64_t hash, tenant, day, table;
	} whole = { hash, XXH3_64bits(rb->tenant, strlen(rb->tenant)), (uint64_t)p->day,
		    (uint64_t)table };
	struct id_cache_key key = id_cache_key(hash_seed(), &whole, sizeof(whole));
	uint32_t value;
	bool known;

	if (id_cache_find(&rb->begun, key, &value))
		return false;
	id_cache_add(&rb->begun, key, 0);
	pthread_mutex_lock(&rb->w->lock);
	known = id_cache_find(&rb->w->known, key, &value);
	pthread_mutex_unlock(&rb->w->lock);
	if (known)
		return false;
	if (vec_push(&p->keys, key) < 0)
		p->rows[table].error = -ENOMEM;
	row_binary_put_u16(&p->rows[table], (uint16_t)p->day);
	row_binary_put_bytes(&p->rows[table], rb->tenant, strlen(rb->tenant));
	row_binary_put_u64(&p->rows[table], hash);
	return true;
}

static void put_string(const struct stack_dict *s, uint32_t id, struct buf *out)
{
	row_binary_put_bytes(out, stack_dict_string(s, id), stack_dict_string_len(s, id));
}

static void put_frame(struct row_builder *rb, struct part *p, uint32_t id)
{
	const struct stack_dict_frame *f = stack_dict_frame(rb->dict, id);
	struct buf *out = &p->rows[FRAMES];

	if (!begin_row(rb, p, FRAMES, rb->frames[id]))
		return;
	put_string(rb->dict, f->name, out);
	put_string(rb->dict, f->file, out);
	put_string(rb->dict, f->binary, out);
	row_binary_put_u32(out, f->line);
	row_binary_put_u32(out, f->kind);
}

/*
 * A stack is stored as the complete list of its frames, root first. Storing parent links would be
 * smaller, but ClickHouse cannot follow links within a statement, which call sites and merging
 * need.
 */
static int put_stack(struct row_builder *rb, struct part *p, uint32_t node)
{
	const struct stable *nodes = stack_dict_nodes(rb->dict);
	struct buf *out = &p->rows[STACKS];
	int r = 0;

	if (!begin_row(rb, p, STACKS, rb->stacks[node]))
		return 0;
	rb->path.len = 0;
	for (uint32_t i = node; r == 0 && i; i = stack_dict_node(nodes, i)->parent) {
		uint32_t frame = stack_dict_node(nodes, i)->frame;

		put_frame(rb, p, frame);
		r = vec_push(&rb->path, rb->frames[frame]);
	}
	wire_put_varint(out, rb->path.len);
	for (size_t i = rb->path.len; i-- > 0;)
		row_binary_put_u64(out, rb->path.data[i]);
	return r;
}

static uint64_t put_series(struct row_builder *rb, struct part *p, uint32_t id)
{
	struct buf *out = &p->rows[SERIES];
	size_t n;
	const uint32_t *words = stack_dict_series(rb->dict, id, &n);
	uint64_t hash = clickhouse_hash_series(rb->dict, words, n);

	if (!begin_row(rb, p, SERIES, hash))
		return hash;
	wire_put_varint(out, n - 1);
	for (size_t i = 0; i < n; i++)
		if (i != SERIES_WORD_N_TYPES)
			put_string(rb->dict, words[i], out);
	row_binary_put_u32(out, words[SERIES_WORD_N_TYPES]);
	return hash;
}

/*
 * The key of a window. A profile with an id is stored once; one without id gets a random key. A
 * random key is what makes two equal profiles without id count twice, as in the SQLite store.
 */
static int make_key(const struct store_profile *p, uint8_t *key)
{
	if (p->id && p->id[0]) {
		window_profile_key(p, key);
		return 0;
	}
	return getrandom(key, WINDOW_KEY_LEN, 0) == WINDOW_KEY_LEN ? 0 : -EIO;
}

/*
 * Appends totals, stacks and values. Values are ordered by sample type, so that a query slices out
 * one type.
 */
static void put_counts(const struct row_builder *rb, const struct window_rows *rows,
		       struct buf *out)
{
	wire_put_varint(out, rows->n_types);
	for (size_t k = 0; k < rows->n_types; k++)
		row_binary_put_u64(out, (uint64_t)rows->totals[k]);
	wire_put_varint(out, rows->n);
	for (size_t i = 0; i < rows->n; i++)
		row_binary_put_u64(out, rb->stacks[rows->nodes[i]]);
	wire_put_varint(out, rows->n * rows->n_types);
	for (size_t k = 0; k < rows->n_types; k++)
		for (size_t i = 0; i < rows->n; i++)
			row_binary_put_u64(out, (uint64_t)rows->values[i * rows->n_types + k]);
}

/* Builds the row of a window and the rows of its stacks that are not known to be stored. */
static int put_window(struct row_builder *rb, struct part *part, const struct store_profile *p,
		      const struct window_entry *e, size_t n, const struct window_rows *rows)
{
	const struct profile_meta *meta = profile_meta_const(p->profile);
	_cleanup_(buf_fini) struct buf times = { 0 }, owners = { 0 };
	struct buf *out = &part->rows[WINDOWS];
	uint64_t series = put_series(rb, part, e->series);
	uint8_t key[WINDOW_KEY_LEN];
	int r = make_key(p, key);

	for (size_t i = 0; r == 0 && i < rows->n; i++)
		r = put_stack(rb, part, rows->nodes[i]);
	if (r == 0)
		r = sample_times_write(p->profile, e, n, rows, p->time_ns, &times, &owners);
	if (r < 0)
		return r;
	row_binary_put_u16(out, (uint16_t)part->day);
	row_binary_put_bytes(out, rb->tenant, strlen(rb->tenant));
	row_binary_put_u64(out, series);
	row_binary_put_u64(out, (uint64_t)p->time_ns);
	buf_put(out, key, sizeof(key));
	row_binary_put_u64(out, p->id && p->id[0] ? (uint64_t)window_id_hash(p->id) : 0);
	row_binary_put_u64(out, (uint64_t)meta->duration_ns);
	row_binary_put_u64(out, (uint64_t)meta->period);
	put_counts(rb, rows, out);
	row_binary_put_bytes(out, times.data, times.len);
	row_binary_put_bytes(out, owners.data, owners.len);
	return buf_error(out);
}

static int put_windows(struct row_builder *rb, struct part *part, const struct store_profile *p,
		       const struct window_entry *e, size_t n)
{
	size_t n_types = profile_n_sample_types(p->profile), end;
	_cleanup_(freep) uint32_t *nodes = malloc(n * sizeof(*nodes));
	_cleanup_(freep) int64_t *values = malloc(n * n_types * sizeof(*values));
	struct window_rows rows = { .nodes = nodes, .values = values, .n_types = n_types };
	int r = nodes && values ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i = end) {
		for (end = i; end < n && e[end].series == e[i].series;)
			end++;
		window_fill(&rows, p->profile, e + i, end - i);
		if (rows.n)
			r = put_window(rb, part, p, e + i, end - i, &rows);
	}
	return r;
}

static int put_profile(struct row_builder *rb, struct part *part, const struct store_profile *p)
{
	_cleanup_(intern_keys_fini) struct intern_keys keys = { 0 };
	_cleanup_(freep) struct window_entry *entries = NULL;
	uint32_t n = profile_n_samples(p->profile);
	int r;

	if (!n || !profile_n_sample_types(p->profile))
		return 0;
	entries = malloc(n * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	r = intern_keys_build(&keys, p->profile);
	if (r == 0)
		r = window_entries(entries, &rb->intern, rb->dict, p, &keys);
	if (r == 0)
		r = hash_new_ids(rb);
	if (r < 0)
		return r;
	window_sort(entries, n);
	return put_windows(rb, part, p, entries, n);
}

static int find_part(struct job *j, int64_t day, struct part **out)
{
	int r;

	for (size_t i = 0; i < j->parts.len; i++) {
		*out = &j->parts.data[i];
		if ((*out)->day == day)
			return 0;
	}
	r = vec_push(&j->parts, (struct part){ .day = day });
	if (r == 0)
		*out = &j->parts.data[j->parts.len - 1];
	return r;
}

/* Encodes a request before it queues, so that the thread that inserts only concatenates bytes. */
static int prepare(struct clickhouse_writer *w, struct job *j, const char *tenant,
		   const struct store_profile *profiles, size_t n, struct err *err)
{
	_cleanup_(row_builder_fini) struct row_builder rb = { .w = w, .tenant = tenant };
	int r = stack_dict_new(&rb.dict);

	for (size_t i = 0; r == 0 && i < n; i++) {
		int64_t day = store_day_of(profiles[i].time_ns);
		struct part *part;

		if (day > MAX_DAY)
			return err_set(
				err, -EINVAL,
				"profile timestamp is after 2149, which ClickHouse cannot store");
		r = find_part(j, day, &part);
		if (r == 0)
			r = put_profile(&rb, part, &profiles[i]);
	}
	if (r == -EINVAL)
		err_set(err, r, "profile has more than %d labels or %d sample types",
			SERIES_MAX_LABELS, BLOCK_MAX_TYPES);
	return r;
}

/*
 * Inserts rows; while ClickHouse has too many parts to merge, it retries with growing pauses. At
 * most five retries with pauses of 0.2 to 0.9 s: merging usually frees parts within seconds, and a
 * client that waits longer would time out and send the same profiles again.
 */
static int insert(struct clickhouse_writer *w, int table, const struct buf *rows, struct err *err)
{
	struct timespec pause = { .tv_nsec = 200 * (long)CLOCK_MS_NS };
	int r = rows->len ? clickhouse_http_insert(w->http, tables[table], rows, err) : 0;

	for (int i = 1; r == -EAGAIN && i < MAX_TRIES; i++) {
		nanosleep(&pause, NULL);
		pause.tv_nsec = pause.tv_nsec < 700000000 ? pause.tv_nsec * 3 / 2 : 900000000;
		*err = (struct err){ 0 };
		r = clickhouse_http_insert(w->http, tables[table], rows, err);
	}
	return r;
}

static const struct part *part_of(const struct job *j, int64_t day)
{
	for (size_t i = 0; i < j->parts.len; i++)
		if (j->parts.data[i].day == day)
			return &j->parts.data[i];
	return NULL;
}

/* Inserts all jobs' rows of a day, one insertion per table. */
static int insert_day(struct clickhouse_writer *w, struct job *jobs, int64_t day, struct err *err)
{
	int r = 0;

	for (int t = 0; r == 0 && t < N_TABLES; t++) {
		_cleanup_(buf_fini) struct buf all = { 0 };

		for (struct job *j = jobs; j; j = j->next) {
			const struct part *p = part_of(j, day);

			if (p)
				buf_put(&all, p->rows[t].data, p->rows[t].len);
		}
		r = buf_error(&all);
		if (r == 0)
			r = insert(w, t, &all, err);
	}
	return r;
}

/*
 * Records the result of a day in all jobs that have a part of it. Rows become known only on
 * success; known is guarded because other threads build rows meanwhile.
 */
static void end_day(struct clickhouse_writer *w, struct job *jobs, int64_t day, int r,
		    const struct err *err)
{
	pthread_mutex_lock(&w->lock);
	for (struct job *j = jobs; j; j = j->next) {
		const struct part *p = part_of(j, day);

		if (p && r < 0) {
			j->r = r;
			j->err = *err;
		}
		for (size_t i = 0; p && r == 0 && i < p->keys.len; i++)
			id_cache_add(&w->known, p->keys.data[i], 0);
	}
	pthread_mutex_unlock(&w->lock);
}

/* Inserts day by day, because jobs succeed or fail by day. */
static void insert_jobs(struct clickhouse_writer *w, struct job *jobs)
{
	struct {
		VEC(int64_t);
	} done = { 0 };

	for (struct job *j = jobs; j; j = j->next)
		for (size_t i = 0; i < j->parts.len; i++) {
			int64_t day = j->parts.data[i].day;
			struct err err = { 0 };
			size_t k = 0;

			while (k < done.len && done.data[k] != day)
				k++;
			if (k < done.len)
				continue;
			if (vec_push(&done, day) < 0)
				end_day(w, jobs, day, -ENOMEM, &err);
			else
				end_day(w, jobs, day, insert_day(w, jobs, day, &err), &err);
		}
	vec_fini(&done);
}

/*
 * Waits until MIN_INSERT_INTERVAL_NS have passed since the last insertion. 40 ms bound the rate to
 * 25 insertions per second and table. Requests that arrive in that time share the insertion, so
 * throughput does not suffer.
 */
static void wait_turn(const struct clickhouse_writer *w)
{
	int64_t left = w->last_ns + MIN_INSERT_INTERVAL_NS - (int64_t)clock_monotonic_ns();
	struct timespec pause = { .tv_nsec = left };

	if (w->last_ns && left > 0)
		nanosleep(&pause, NULL);
}

/* Inserts everything in the queue. Called with the lock, which it releases meanwhile. */
static void insert_queue(struct clickhouse_writer *w)
{
	struct job *jobs, *next;

	w->busy = true;
	pthread_mutex_unlock(&w->lock);
	wait_turn(w);
	pthread_mutex_lock(&w->lock);
	jobs = w->queue;
	w->queue = NULL;
	w->queue_end = &w->queue;
	w->last_ns = (int64_t)clock_monotonic_ns();
	pthread_mutex_unlock(&w->lock);
	insert_jobs(w, jobs);
	pthread_mutex_lock(&w->lock);
	for (; jobs; jobs = next) {
		next = jobs->next; /* a finished job may be freed by its owner at once */
		jobs->finished = true;
	}
	w->busy = false;
	pthread_cond_broadcast(&w->changed);
}

static void enqueue(struct clickhouse_writer *w, struct job *j)
{
	*w->queue_end = j;
	w->queue_end = &j->next;
}

int clickhouse_writer_append(struct clickhouse_writer *w, const char *tenant,
			     const struct store_profile *profiles, size_t n, struct err *err)
{
	_cleanup_(job_fini) struct job j = { 0 };
	int r = prepare(w, &j, tenant, profiles, n, err);

	if (r < 0)
		return r;
	pthread_mutex_lock(&w->lock);
	enqueue(w, &j);
	while (!j.finished) {
		if (w->busy)
			pthread_cond_wait(&w->changed, &w->lock);
		else
			insert_queue(w);
	}
	pthread_mutex_unlock(&w->lock);
	return j.r < 0 ? err_set(err, j.r, "%s", j.err.msg) : 0;
}

void clickhouse_writer_forget_known(struct clickhouse_writer *w)
{
	pthread_mutex_lock(&w->lock);
	id_cache_fini(&w->known);
	w->known = (struct id_cache){ 0 };
	pthread_mutex_unlock(&w->lock);
}

void clickhouse_writer_free(struct clickhouse_writer *w)
{
	if (!w)
		return;
	id_cache_fini(&w->known);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->changed);
	free(w);
}

int clickhouse_writer_new(struct clickhouse_writer **out, struct clickhouse_http *http)
{
	struct clickhouse_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	w->http = http;
	w->queue_end = &w->queue;
	*out = w;
	return 0;
}
