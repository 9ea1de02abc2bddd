/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames, stacks and series are known by hashes of what they are, so that servers need
 * not agree on numbers; rows that are there already are merged away, and a memo keeps
 * most of them from being sent. They are sent before the windows that refer to them.
 * Who comes while an insertion is under way waits, and one of those who wait takes all
 * of them along.
 */
#include "store/click_write.h"

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
#include "profile/profile.h"
#include "store/click_http.h"
#include "store/click_rows.h"
#include "store/files.h"
#include "store/intern.h"
#include "store/memo.h"
#include "store/series.h"
#include "store/symbols.h"
#include "store/times.h"
#include "store/window.h"

enum { FRAMES, STACKS, SERIES, WINDOWS, N_TABLES };
enum { MAX_TRIES = 6, MAX_DAY = UINT16_MAX };

/* Between insertions: more would be more files to merge. */
#define BETWEEN_NS (40 * (int64_t)CLOCK_MS_NS)

static const char *const tables[N_TABLES] = { "cameo_frames", "cameo_stacks", "cameo_series",
					      "cameo_windows" };

/* What of a job is of one day. */
struct part {
	int64_t day;
	struct buf rows[N_TABLES];
	struct {
		VEC(struct memo_key);
	} keys; /* of the rows that are names */
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

struct click_write {
	struct click_http *http;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct memo known;
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

/* Making rows */

/* The names of one request. */
struct naming {
	struct click_write *w;
	const char *tenant;
	struct symbols *symbols;
	struct intern intern;
	struct memo begun;         /* rows of this request */
	uint64_t *frames, *stacks; /* hashes by frame and by node */
	size_t frames_cap, stacks_cap;
	uint32_t n_frames, n_stacks;
	struct {
		VEC(uint64_t);
	} path;
};

static void naming_fini(struct naming *nm)
{
	symbols_free(nm->symbols);
	intern_fini(&nm->intern);
	memo_fini(&nm->begun);
	free(nm->frames);
	free(nm->stacks);
	vec_fini(&nm->path);
}

static void hash_text(XXH3_state_t *h, const struct symbols *s, uint32_t id)
{
	/* with its NUL, so that what follows is not taken for a part of it */
	XXH3_64bits_update(h, symbols_string(s, id), symbols_string_len(s, id) + 1);
}

/* XXH3 is the same in all versions since 0.8.0, so it may be kept. */
static uint64_t hash_frame(const struct symbols *s, const struct symbols_frame *f)
{
	const uint32_t numbers[] = { f->line, f->kind };
	XXH3_state_t h;

	XXH3_64bits_reset(&h);
	hash_text(&h, s, f->name);
	hash_text(&h, s, f->file);
	hash_text(&h, s, f->binary);
	XXH3_64bits_update(&h, numbers, sizeof(numbers));
	return XXH3_64bits_digest(&h);
}

static uint64_t hash_stack(const struct naming *nm, uint32_t node)
{
	const struct symbols_node *n = &symbols_nodes(nm->symbols)[node];
	const uint64_t both[] = { nm->stacks[n->parent], nm->frames[n->frame] };

	return node ? XXH3_64bits(both, sizeof(both)) : 0;
}

static uint64_t hash_series(const struct symbols *s, const uint32_t *words, size_t n)
{
	XXH3_state_t h;

	XXH3_64bits_reset(&h);
	for (size_t i = 0; i < n; i++) {
		if (i == SERIES_WORD_N_TYPES)
			XXH3_64bits_update(&h, &words[i], sizeof(words[i]));
		else
			hash_text(&h, s, words[i]);
	}
	return XXH3_64bits_digest(&h);
}

/* Hashes of frames and nodes that are new; parents come first. */
static int hash_names(struct naming *nm)
{
	uint32_t n_frames = symbols_count(nm->symbols, SYMBOLS_FRAMES);
	uint32_t n_stacks = symbols_count(nm->symbols, SYMBOLS_NODES);

	if (n_frames > nm->frames_cap &&
	    vec_grow((void **)&nm->frames, &nm->frames_cap, n_frames, sizeof(*nm->frames)) < 0)
		return -ENOMEM;
	if (n_stacks > nm->stacks_cap &&
	    vec_grow((void **)&nm->stacks, &nm->stacks_cap, n_stacks, sizeof(*nm->stacks)) < 0)
		return -ENOMEM;
	for (; nm->n_frames < n_frames; nm->n_frames++)
		nm->frames[nm->n_frames] =
			hash_frame(nm->symbols, symbols_frame(nm->symbols, nm->n_frames));
	for (; nm->n_stacks < n_stacks; nm->n_stacks++)
		nm->stacks[nm->n_stacks] = hash_stack(nm, nm->n_stacks);
	return 0;
}

/* Does this name have to be written? Then it begins a row. */
static bool begin_row(struct naming *nm, struct part *p, int table, uint64_t hash)
{
	struct {
		uint64_t hash, tenant, day, table;
	} whole = { hash, XXH3_64bits(nm->tenant, strlen(nm->tenant)), (uint64_t)p->day,
		    (uint64_t)table };
	struct memo_key key = memo_key(&whole, sizeof(whole));
	uint32_t value;
	bool known;

	if (memo_find(&nm->begun, key, &value))
		return false;
	memo_add(&nm->begun, key, 0);
	pthread_mutex_lock(&nm->w->lock);
	known = memo_find(&nm->w->known, key, &value);
	pthread_mutex_unlock(&nm->w->lock);
	if (known)
		return false;
	if (vec_push(&p->keys, key) < 0)
		p->rows[table].error = -ENOMEM;
	click_put_u16(&p->rows[table], (uint16_t)p->day);
	click_put_bytes(&p->rows[table], nm->tenant, strlen(nm->tenant));
	click_put_u64(&p->rows[table], hash);
	return true;
}

static void put_string(const struct symbols *s, uint32_t id, struct buf *out)
{
	click_put_bytes(out, symbols_string(s, id), symbols_string_len(s, id));
}

static void put_frame(struct naming *nm, struct part *p, uint32_t id)
{
	const struct symbols_frame *f = symbols_frame(nm->symbols, id);
	struct buf *out = &p->rows[FRAMES];

	if (!begin_row(nm, p, FRAMES, nm->frames[id]))
		return;
	put_string(nm->symbols, f->name, out);
	put_string(nm->symbols, f->file, out);
	put_string(nm->symbols, f->binary, out);
	click_put_u32(out, f->line);
	click_put_u32(out, f->kind);
}

static int put_stack(struct naming *nm, struct part *p, uint32_t node)
{
	const struct symbols_node *nodes = symbols_nodes(nm->symbols);
	struct buf *out = &p->rows[STACKS];
	int r = 0;

	if (!begin_row(nm, p, STACKS, nm->stacks[node]))
		return 0;
	nm->path.len = 0;
	for (uint32_t i = node; r == 0 && i; i = nodes[i].parent) {
		put_frame(nm, p, nodes[i].frame);
		r = vec_push(&nm->path, nm->frames[nodes[i].frame]);
	}
	wire_put_varint(out, nm->path.len);
	for (size_t i = nm->path.len; i-- > 0;)
		click_put_u64(out, nm->path.data[i]);
	return r;
}

static uint64_t put_series(struct naming *nm, struct part *p, uint32_t id)
{
	struct buf *out = &p->rows[SERIES];
	size_t n;
	const uint32_t *words = symbols_series(nm->symbols, id, &n);
	uint64_t hash = hash_series(nm->symbols, words, n);

	if (!begin_row(nm, p, SERIES, hash))
		return hash;
	wire_put_varint(out, n - 1);
	for (size_t i = 0; i < n; i++)
		if (i != SERIES_WORD_N_TYPES)
			put_string(nm->symbols, words[i], out);
	click_put_u32(out, words[SERIES_WORD_N_TYPES]);
	return hash;
}

/* What a window is known by: a profile's id counts once, one without is new each time. */
static int make_key(const struct store_profile *p, uint8_t *key)
{
	if (p->id && p->id[0]) {
		window_profile_key(p, key);
		return 0;
	}
	return getrandom(key, WINDOW_KEY_LEN, 0) == WINDOW_KEY_LEN ? 0 : -EIO;
}

static void put_counts(const struct naming *nm, const struct window_rows *rows, struct buf *out)
{
	wire_put_varint(out, rows->n_types);
	for (size_t k = 0; k < rows->n_types; k++)
		click_put_u64(out, (uint64_t)rows->totals[k]);
	wire_put_varint(out, rows->n);
	for (size_t i = 0; i < rows->n; i++)
		click_put_u64(out, nm->stacks[rows->nodes[i]]);
	wire_put_varint(out, rows->n * rows->n_types);
	for (size_t k = 0; k < rows->n_types; k++)
		for (size_t i = 0; i < rows->n; i++)
			click_put_u64(out, (uint64_t)rows->values[i * rows->n_types + k]);
}

static int put_window(struct naming *nm, struct part *part, const struct store_profile *p,
		      const struct window_entry *e, size_t n, const struct window_rows *rows)
{
	const struct profile_meta *meta = profile_meta_const(p->profile);
	_cleanup_(buf_fini) struct buf times = { 0 }, owners = { 0 };
	struct buf *out = &part->rows[WINDOWS];
	uint64_t series = put_series(nm, part, e->series);
	uint8_t key[WINDOW_KEY_LEN];
	int r = make_key(p, key);

	for (size_t i = 0; r == 0 && i < rows->n; i++)
		r = put_stack(nm, part, rows->nodes[i]);
	if (r == 0)
		r = times_write(p->profile, e, n, rows, p->time_ns, &times, &owners);
	if (r < 0)
		return r;
	click_put_u16(out, (uint16_t)part->day);
	click_put_bytes(out, nm->tenant, strlen(nm->tenant));
	click_put_u64(out, series);
	click_put_u64(out, (uint64_t)p->time_ns);
	buf_put(out, key, sizeof(key));
	click_put_u64(out, p->id && p->id[0] ? (uint64_t)window_id_hash(p->id) : 0);
	click_put_u64(out, (uint64_t)meta->duration_ns);
	click_put_u64(out, (uint64_t)meta->period);
	put_counts(nm, rows, out);
	click_put_bytes(out, times.data, times.len);
	click_put_bytes(out, owners.data, owners.len);
	return buf_error(out);
}

static int put_windows(struct naming *nm, struct part *part, const struct store_profile *p,
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
			r = put_window(nm, part, p, e + i, end - i, &rows);
	}
	return r;
}

static int put_profile(struct naming *nm, struct part *part, const struct store_profile *p)
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
	r = intern_keys_make(&keys, p->profile);
	if (r == 0)
		r = window_entries(entries, &nm->intern, nm->symbols, p, &keys);
	if (r == 0)
		r = hash_names(nm);
	if (r < 0)
		return r;
	window_sort(entries, n);
	return put_windows(nm, part, p, entries, n);
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

static int prepare(struct click_write *w, struct job *j, const char *tenant,
		   const struct store_profile *profiles, size_t n, struct err *err)
{
	_cleanup_(naming_fini) struct naming nm = { .w = w, .tenant = tenant };
	int r = symbols_new(&nm.symbols);

	for (size_t i = 0; r == 0 && i < n; i++) {
		int64_t day = files_day(profiles[i].time_ns);
		struct part *part;

		if (day > MAX_DAY)
			return err_set(err, -EINVAL, "a profile is from after 2149");
		r = find_part(j, day, &part);
		if (r == 0)
			r = put_profile(&nm, part, &profiles[i]);
	}
	if (r == -EINVAL)
		err_set(err, r, "too many labels or sample types");
	return r;
}

/* Inserting */

static int insert(struct click_write *w, int table, const struct buf *rows, struct err *err)
{
	struct timespec pause = { .tv_nsec = 200 * (long)CLOCK_MS_NS };
	int r = rows->len ? click_http_insert(w->http, tables[table], rows, err) : 0;

	for (int i = 1; r == -EAGAIN && i < MAX_TRIES; i++) {
		nanosleep(&pause, NULL);
		pause.tv_nsec = pause.tv_nsec < 700000000 ? pause.tv_nsec * 3 / 2 : 900000000;
		*err = (struct err){ 0 };
		r = click_http_insert(w->http, tables[table], rows, err);
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

/* All rows of a day in one insertion a table. */
static int insert_day(struct click_write *w, struct job *jobs, int64_t day, struct err *err)
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

static void end_day(struct click_write *w, struct job *jobs, int64_t day, int r,
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
			memo_add(&w->known, p->keys.data[i], 0);
	}
	pthread_mutex_unlock(&w->lock);
}

static void insert_jobs(struct click_write *w, struct job *jobs)
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

static void wait_turn(const struct click_write *w)
{
	int64_t left = w->last_ns + BETWEEN_NS - (int64_t)clock_monotonic_ns();
	struct timespec pause = { .tv_nsec = left };

	if (w->last_ns && left > 0)
		nanosleep(&pause, NULL);
}

/* With the lock, which is let go meanwhile: insert all that waits. */
static void take_turn(struct click_write *w)
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
		next = jobs->next; /* the job is its owner's once it is finished */
		jobs->finished = true;
	}
	w->busy = false;
	pthread_cond_broadcast(&w->changed);
}

static void enqueue(struct click_write *w, struct job *j)
{
	*w->queue_end = j;
	w->queue_end = &j->next;
}

int click_write_append(struct click_write *w, const char *tenant,
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
			take_turn(w);
	}
	pthread_mutex_unlock(&w->lock);
	return j.r < 0 ? err_set(err, j.r, "%s", j.err.msg) : 0;
}

void click_write_forget(struct click_write *w)
{
	pthread_mutex_lock(&w->lock);
	memo_fini(&w->known);
	w->known = (struct memo){ 0 };
	pthread_mutex_unlock(&w->lock);
}

void click_write_free(struct click_write *w)
{
	if (!w)
		return;
	memo_fini(&w->known);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->changed);
	free(w);
}

int click_write_new(struct click_write **out, struct click_http *http)
{
	struct click_write *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	w->http = http;
	w->queue_end = &w->queue;
	*out = w;
	return 0;
}
