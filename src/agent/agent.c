/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling thread turns the session's loop and, when a window is over, swaps
 * the counts and gives the old ones to the naming thread. If that is still at the
 * window before, this one goes on: windows get longer, nothing piles up.
 *
 * One lock is held for each turn of the loop; the naming thread takes it for a
 * moment when it reads what the sampling thread writes. What the naming thread may
 * be reading of is freed only between two of its windows. The naming thread does
 * not go before others; so in the end the sampling thread does its work.
 */
#include "agent/agent.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/collect.h"
#include "agent/config.h"
#include "agent/files.h"
#include "agent/jits.h"
#include "agent/locate.h"
#include "agent/setup.h"
#include "agent/usage.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "export/export.h"
#include "lang/lang.h"
#include "target/facts.h"
#include "target/labeler.h"

enum {
	TURN_MS = 500,         /* what is urgent wakes the loop before */
	REST_MS = 50,          /* from one turn to the next, unless the ring fills */
	STOP_TABLES_MS = 1000, /* for tables of what was sampled last, after agent_stop() */
	STOP_FACTS_MS = 200,   /* for what labels are made of, after agent_stop() */
	STOP_ASKING_MS = 1500, /* for names, after agent_stop() */
	STOP_NAMING_MS = 3800,
	UPKEEP_MS = 2000,
	RING_BYTES_PER_CPU = 1 << 20,
	/* Shares of the memory limit, as divisors. */
	SHARE_TABLES = 4,
	SHARE_ANSWERS = 16,
	SHARE_SYMBOLS = 16,
	SHARE_WORKER = 8,
	SHARE_WORKER_RSS = 4,
	SHARE_COLLECT = 24, /* a window that holds more is cut, ... */
	SHARE_COUNTS = 12,  /* and beyond this nothing is counted until the one before is named */
	SHARE_SCRIPTS = 16, /* names and lines of interpreters' functions that are not in use */
	SHARE_PART = 64,
	SHARE_BACKLOG = 16, /* samples that wait while tables are built */
	SHARE_SPARE = 3,    /* of which nothing should be needed */
	SHARE_RESERVE = 16, /* left for what may be taken until it is looked at again */
};

struct agent {
	struct agent_opts opts;
	uint64_t window_ns, memory_bytes, probability_interval_ns;
	uint32_t freq_hz, probability;
	struct cpu_list cpus;
	char *debuginfod, *symbol_cache; /* URLs, a directory; NULL: none */
	struct session *session;
	struct facts *facts;
	struct namer *namer;
	int epoll_fd, wake_fd;
	atomic_bool stops, samples;
	_Atomic(struct agent_config *) next_config;

	uint64_t started_ns, window_start_ns, window_end_ns, next_upkeep_ns;
	uint64_t next_draw_ns;
	uint64_t longest_gap_ns;  /* in which the ring was not read, in this window, */
	uint64_t last_longest_ns; /* and in the one before */
	bool window_is_late;

	pthread_mutex_t lock; /* of the session, see above */

	pthread_mutex_t stats_lock; /* of what follows */
	struct agent_stats stats;
};

void agent_prepare(struct agent_prepared *out)
{
	out->priority = getpriority(PRIO_PROCESS, 0);
	out->stats_fd = sampler_enable_stats();
	session_go_first();
}

/* ---- set-up ---------------------------------------------------------------------------- */

static void agent_log(struct agent *a, const char *line)
{
	if (a->opts.log)
		a->opts.log(a->opts.ctx, line);
}

static void on_thread(void *ctx, const struct collect_thread *t, uint32_t ppid)
{
	struct agent *a = ctx;
	const struct file_info *exe = files_get(session_files(a->session), t->exe);
	struct facts_of of = {
		.pid = t->pid,
		.ppid = ppid,
		.start_ns = t->start_ns,
		.comm = t->process_comm,
		.exe = exe ? exe->path : "",
	};

	facts_note(a->facts, &of);
}

static int open_session(struct agent *a, const struct agent_config *c, struct err *err)
{
	struct session_opts so = {
		.sampler = {
			.freq_hz = a->freq_hz,
			.kernel = c->kernel,
			.user = true,
			.idle = c->idle,
			.off_cpu = c->off_cpu,
			.off_min_ns = c->off_min,
			.all_native = !strcmp(c->native_frames, "all"),
			.stats = true,
			.stats_fd = a->opts.prepared ? a->opts.prepared->stats_fd : -1,
			.max_chunks = (uint32_t)(a->memory_bytes / SHARE_TABLES / ARENA_CHUNK_BYTES),
			.ring_bytes_per_cpu = RING_BYTES_PER_CPU,
			.cpus = a->cpus.len ? &a->cpus : NULL,
		},
		.keep_times = a->opts.keep_times,
		.max_counts_bytes = a->memory_bytes / SHARE_COUNTS,
		.max_backlog_bytes = a->memory_bytes / SHARE_BACKLOG,
		.stop_ns = (uint64_t)STOP_TABLES_MS * CLOCK_MS_NS,
		.keep_cpus = setup_wants_cpu(c),
		.exclude_self = c->exclude_self,
		.stays_first = true,
		.on_thread = on_thread,
		.ctx = a,
	};

	return session_open(&a->session, &so, err);
}

static int open_namer(struct agent *a, const struct agent_config *c, struct labeler *labeler,
		      int priority)
{
	struct locator_opts lo = {
		.files = session_files(a->session),
		.jits = session_jits(a->session),
		.langs = session_langs(a->session),
		.lock = &a->lock,
		.answers_bytes = a->memory_bytes / SHARE_ANSWERS,
		.worker_rss_bytes = a->memory_bytes / SHARE_WORKER_RSS,
		.symbolizer = { .memory_bytes = a->memory_bytes / SHARE_SYMBOLS,
				.worker_memory_bytes = a->memory_bytes / SHARE_WORKER,
				.debuginfod = a->debuginfod,
				.symbol_cache = a->symbol_cache },
	};
	struct namer_opts opts = {
		.locator = &lo,
		.facts = a->facts,
		.labeler = labeler,
		.export = a->opts.export,
		.log = a->opts.log,
		.ctx = a->opts.ctx,
		.part_bytes = a->memory_bytes / SHARE_PART,
		.priority = priority,
	};

	(void)demangle_mode_parse(c->demangle, &lo.symbolizer.demangle);
	return namer_new(&a->namer, &opts);
}

static int open_parts(struct agent *a, const struct agent_config *c, struct err *err)
{
	int priority = a->opts.prepared ? a->opts.prepared->priority : getpriority(PRIO_PROCESS, 0);
	struct labeler *labeler = NULL;
	int r = setup_facts(&a->facts, c, err);

	if (r == 0)
		r = setup_labeler(&labeler, c, err);
	if (r == 0)
		r = setup_debuginfod(&a->debuginfod, c);
	if (r == 0 && c->symbol_cache) {
		a->symbol_cache = strdup(c->symbol_cache);
		r = a->symbol_cache ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = open_session(a, c, err);
	if (r < 0) {
		labeler_free(labeler);
		return r;
	}
	return open_namer(a, c, labeler, priority);
}

static void take_config(struct agent *a, const struct agent_config *c)
{
	a->window_ns = c->window;
	a->probability = (uint32_t)c->probability;
	a->probability_interval_ns = c->probability_interval;
}

static int watch(struct agent *a, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(a->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

int agent_open(struct agent **out, const struct agent_opts *opts, struct err *err)
{
	_cleanup_(agent_freep) struct agent *a = calloc(1, sizeof(*a));
	const struct agent_config *c = opts->config;
	int r;

	if (!a)
		return -ENOMEM;
	a->opts = *opts;
	a->opts.config = NULL;
	pthread_mutex_init(&a->lock, NULL);
	pthread_mutex_init(&a->stats_lock, NULL);
	a->freq_hz = (uint32_t)c->freq;
	a->memory_bytes = c->memory;
	take_config(a, c);
	a->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	a->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->epoll_fd < 0 || a->wake_fd < 0)
		return err_set(err, -errno, "epoll: %s", strerror(errno));
	r = agent_config_check(c, err);
	if (r == 0 && c->cpus)
		r = cpus_parse(&a->cpus, c->cpus, err);
	if (r < 0)
		return r;
	setup_file_limit();
	r = open_parts(a, c, err);
	if (r == 0)
		r = watch(a, session_fd(a->session));
	if (r == 0)
		r = watch(a, a->wake_fd);
	if (r < 0)
		return err_set(err, r, "can't set up the agent: %s", strerror(-r));
	*out = steal_ptr(&a);
	return 0;
}

void agent_free(struct agent *a)
{
	if (!a)
		return;
	namer_free(a->namer);
	session_free(a->session);
	facts_free(a->facts);
	vec_fini(&a->cpus);
	free(a->debuginfod);
	free(a->symbol_cache);
	agent_config_free(atomic_exchange(&a->next_config, NULL));
	closep(&a->epoll_fd);
	closep(&a->wake_fd);
	pthread_mutex_destroy(&a->lock);
	pthread_mutex_destroy(&a->stats_lock);
	free(a);
}

static void wake(struct agent *a)
{
	uint64_t one = 1;

	(void)!write(a->wake_fd, &one, sizeof(one));
}

void agent_stop(struct agent *a)
{
	atomic_store(&a->stops, true);
	wake(a);
}

void agent_reload(struct agent *a, struct agent_config *config)
{
	agent_config_free(atomic_exchange(&a->next_config, config));
	wake(a);
}

bool agent_is_well(struct agent *a)
{
	return atomic_load(&a->samples);
}

/* ---- windows ---------------------------------------------------------------------------- */

static bool has_ended(void *ctx, uint32_t pid, uint64_t start_ns)
{
	struct agent *a = ctx;

	return session_has_ended(a->session, pid, start_ns);
}

/* Nobody is naming: what ended programs have left can go. */
static void reap(struct agent *a)
{
	jits_reap(session_jits(a->session), has_ended, a);
	facts_reap(a->facts, has_ended, a);
}

/* Give the counts to the naming thread, which is idle. */
static int give_window(struct agent *a, uint64_t now_ns)
{
	uint64_t offset = clock_unix_ns() - now_ns;
	struct names_window window = {
		.time_ns = (int64_t)(a->window_start_ns + offset),
		.duration_ns = (int64_t)(now_ns - a->window_start_ns),
		.clock_offset_ns = (int64_t)offset,
		.freq_hz = a->freq_hz,
	};
	struct collect *fresh, *old;
	int r = collect_new(&fresh, a->opts.keep_times);

	if (r < 0)
		return r;
	pthread_mutex_lock(&a->lock);
	if (session_cut_off(a->session) < 0)
		agent_log(a, "level=error msg=\"waits that are not over could not be counted\"");
	reap(a);
	old = session_swap_collect(a->session, fresh);
	session_sweep_files(a->session, old);
	langs_window(session_langs(a->session), a->memory_bytes / SHARE_SCRIPTS);
	pthread_mutex_unlock(&a->lock);
	namer_give(a->namer, old, &window);
	a->window_start_ns = now_ns;
	a->window_end_ns = now_ns + a->window_ns;
	a->window_is_late = false;
	a->last_longest_ns = a->longest_gap_ns;
	a->longest_gap_ns = 0;
	return 0;
}

static void count(struct agent *a, uint64_t *counter)
{
	pthread_mutex_lock(&a->stats_lock);
	(*counter)++;
	pthread_mutex_unlock(&a->stats_lock);
}

/* More than a window should hold: then it is over now. */
static bool is_full(const struct agent *a)
{
	return collect_bytes(session_collect(a->session)) > a->memory_bytes / SHARE_COLLECT;
}

/* ---- upkeep ------------------------------------------------------------------------------ */

static uint32_t random_below(uint32_t n)
{
	uint32_t v = 0;

	(void)!getrandom(&v, sizeof(v), GRND_NONBLOCK);
	return v % n;
}

/* Whether this interval is sampled is drawn once, for the whole machine. */
static void draw(struct agent *a, uint64_t now_ns)
{
	bool pause;

	if (now_ns < a->next_draw_ns)
		return;
	a->next_draw_ns = now_ns + a->probability_interval_ns;
	pause = a->probability < 100 && random_below(100) >= a->probability;
	if (pause == a->stats.paused)
		return;
	pthread_mutex_lock(&a->lock);
	(void)session_pause(a->session, pause);
	pthread_mutex_unlock(&a->lock);
	pthread_mutex_lock(&a->stats_lock);
	a->stats.paused = pause;
	pthread_mutex_unlock(&a->stats_lock);
}

static void apply_config(struct agent *a)
{
	_cleanup_(agent_config_freep) struct agent_config *c =
		atomic_exchange(&a->next_config, NULL);
	struct labeler *labeler;
	struct err err = { 0 };
	char line[320];

	if (!c)
		return;
	if (setup_labeler(&labeler, c, &err) < 0) {
		snprintf(line, sizeof(line),
			 "level=error msg=\"labels stay as they were\" error=\"%s\"", err.msg);
		agent_log(a, line);
		return;
	}
	take_config(a, c);
	session_keep_cpus(a->session, setup_wants_cpu(c));
	a->next_draw_ns = 0;
	namer_set_labeler(a->namer, labeler);
	agent_log(a, "level=info msg=\"config taken\"");
}

static void note_usage(struct agent *a, struct agent_stats *s)
{
	struct usage own, worker = { 0 };

	usage_read(0, &own);
	if (s->namer.worker_pid)
		usage_read(s->namer.worker_pid, &worker);
	s->maps_bytes = s->session.sampler.maps_bytes;
	s->rss_bytes = own.rss_bytes > s->session.sampler.mapped_bytes
			       ? own.rss_bytes - s->session.sampler.mapped_bytes
			       : 0;
	s->worker_rss_bytes = worker.rss_bytes;
	s->cpu_ns = own.cpu_ns + worker.cpu_ns;
}

/* The largest tables, without sorting them all. */
static void note_top(struct agent *a, struct agent_stats *s)
{
	const struct files *files = session_files(a->session);

	s->n_files = files_n_live(files);
	s->n_files_forgotten = files_n_forgotten(files);
	s->n_top = 0;
	for (uint32_t id = 1; id <= files_count(files); id++) {
		const struct file_info *info = files_get(files, id);
		struct agent_file f = { 0 };
		size_t i;

		f.bytes = info ? session_table_bytes(a->session, id, &f.rows) : 0;
		if (!f.bytes)
			continue;
		for (i = s->n_top; i && s->top[i - 1].bytes < f.bytes; i--)
			if (i < AGENT_TOP_FILES)
				s->top[i] = s->top[i - 1];
		if (i >= AGENT_TOP_FILES)
			continue;
		snprintf(f.path, sizeof(f.path), "%s", info->path);
		s->top[i] = f;
		s->n_top += s->n_top < AGENT_TOP_FILES;
	}
}

static void note_stats(struct agent *a, uint64_t now_ns)
{
	struct agent_stats s;

	pthread_mutex_lock(&a->stats_lock);
	s = a->stats;
	pthread_mutex_unlock(&a->stats_lock);
	pthread_mutex_lock(&a->lock);
	(void)session_stats(a->session, &s.session);
	s.collect_bytes =
		collect_bytes(session_collect(a->session)) + session_off_bytes(a->session);
	s.langs_bytes = langs_bytes(session_langs(a->session));
	note_top(a, &s);
	pthread_mutex_unlock(&a->lock);
	s.jits_bytes = jits_bytes(session_jits(a->session));
	s.n_facts = facts_count(a->facts);
	s.longest_gap_ns =
		a->longest_gap_ns > a->last_longest_ns ? a->longest_gap_ns : a->last_longest_ns;
	namer_stats(a->namer, &s.namer);
	note_usage(a, &s);
	if (s.namer.n_windows && !s.first_window_ns)
		s.first_window_ns = now_ns - a->started_ns;
	pthread_mutex_lock(&a->stats_lock);
	a->stats = s;
	pthread_mutex_unlock(&a->stats_lock);
}

void agent_stats(struct agent *a, struct agent_stats *out)
{
	pthread_mutex_lock(&a->stats_lock);
	*out = a->stats;
	pthread_mutex_unlock(&a->stats_lock);
}

static void turn_window(struct agent *a, uint64_t now_ns)
{
	bool full = is_full(a);

	if (now_ns < a->window_end_ns && !full)
		return;
	if (!namer_is_idle(a->namer)) {
		if (!a->window_is_late)
			count(a, &a->stats.n_late);
		a->window_is_late = true;
		return;
	}
	if (full && now_ns < a->window_end_ns)
		count(a, &a->stats.n_short);
	/* what is told with this window is of its end */
	note_stats(a, now_ns);
	if (give_window(a, now_ns) < 0)
		agent_log(a, "level=error msg=\"no memory for another window\"");
}

/*
 * Over the limit, what is only kept for later goes first: it costs time to get it
 * again. Before that, memory that is only not given back is.
 */
static void obey_limit(struct agent *a)
{
	const struct agent_stats *s = &a->stats;
	uint64_t held = s->rss_bytes + s->worker_rss_bytes + s->maps_bytes;

	if (held > a->memory_bytes - a->memory_bytes / SHARE_SPARE)
		malloc_trim(0);
	if (held <= a->memory_bytes - a->memory_bytes / SHARE_RESERVE)
		return;
	namer_shrink(a->namer);
	count(a, &a->stats.n_shrunk);
}

static void upkeep(struct agent *a, uint64_t now_ns)
{
	draw(a, now_ns);
	apply_config(a);
	if (now_ns < a->next_upkeep_ns)
		return;
	a->next_upkeep_ns = now_ns + (uint64_t)UPKEEP_MS * CLOCK_MS_NS;
	note_stats(a, now_ns);
	obey_limit(a);
}

/* ---- the loop ------------------------------------------------------------------------------ */

static int wait_ms(const struct agent *a, uint64_t now_ns)
{
	uint64_t left = a->window_end_ns > now_ns && !a->window_is_late
				? (a->window_end_ns - now_ns) / CLOCK_MS_NS + 1
				: TURN_MS;

	return (int)(left < TURN_MS ? left : TURN_MS);
}

static int turn(struct agent *a, struct err *err)
{
	uint64_t gap_ns;
	int r;

	pthread_mutex_lock(&a->lock);
	r = session_turn(a->session, err);
	gap_ns = session_take_gap(a->session);
	pthread_mutex_unlock(&a->lock);
	if (gap_ns > a->longest_gap_ns)
		a->longest_gap_ns = gap_ns;
	return r;
}

/*
 * A program that starts maps a dozen files, and each of them wakes: what they are is not
 * wanted before its first sample.
 */
static void rest(const struct agent *a)
{
	struct pollfd urgent[] = {
		{ .fd = a->wake_fd, .events = POLLIN },
		{ .fd = session_ring_fd(a->session), .events = POLLIN },
	};

	(void)poll(urgent, 2, REST_MS);
}

static int agent_loop(struct agent *a, struct err *err)
{
	struct epoll_event ev[4];
	uint64_t drained;

	while (!atomic_load(&a->stops)) {
		int r;

		if (epoll_wait(a->epoll_fd, ev, 4, wait_ms(a, clock_monotonic_ns())) < 0 &&
		    errno != EINTR)
			return err_set(err, -errno, "epoll: %s", strerror(errno));
		(void)!read(a->wake_fd, &drained, sizeof(drained));
		r = turn(a, err);
		if (r < 0)
			return r;
		turn_window(a, clock_monotonic_ns());
		upkeep(a, clock_monotonic_ns());
		rest(a);
	}
	return 0;
}

static void note_unsent(struct agent *a, uint64_t n)
{
	pthread_mutex_lock(&a->stats_lock);
	a->stats.n_unsent = n;
	pthread_mutex_unlock(&a->stats_lock);
}

/* The rest of the samples, as one more window. */
static int finish(struct agent *a, struct err *err)
{
	uint64_t now_ns = clock_monotonic_ns(), left;
	uint64_t deadline = now_ns + (uint64_t)STOP_NAMING_MS * CLOCK_MS_NS;
	int r;

	namer_hurry(a->namer, now_ns + (uint64_t)STOP_ASKING_MS * CLOCK_MS_NS);
	pthread_mutex_lock(&a->lock);
	r = session_stop(a->session, err);
	pthread_mutex_unlock(&a->lock);
	if (r < 0)
		return r;
	facts_settle(a->facts, clock_monotonic_ns() + (uint64_t)STOP_FACTS_MS * CLOCK_MS_NS);
	left = namer_finish(a->namer, deadline);
	if (!namer_is_idle(a->namer)) {
		left += collect_total(session_collect(a->session));
	} else if (collect_n_samples(session_collect(a->session))) {
		r = give_window(a, clock_monotonic_ns());
		left += namer_finish(a->namer, deadline);
	}
	note_unsent(a, left);
	note_stats(a, clock_monotonic_ns());
	return r;
}

static void log_refusal(struct agent *a, const char *why)
{
	char line[320];

	snprintf(line, sizeof(line),
		 "level=warn msg=\"no time off the CPU; the rest goes on\" error=\"%s\"", why);
	agent_log(a, line);
}

int agent_run(struct agent *a, struct err *err)
{
	int r, end;

	/* they have the priority of who made them */
	if (a->opts.prepared)
		setup_lower_others(a->opts.prepared->priority);
	r = facts_start(a->facts);
	if (r < 0)
		return err_set(err, r, "can't start a thread: %s", strerror(-r));
	r = session_start(a->session, err);
	if (r < 0)
		return r;
	if (session_off_refusal(a->session))
		log_refusal(a, session_off_refusal(a->session));
	a->started_ns = a->window_start_ns = session_start_ns(a->session);
	a->window_end_ns = a->started_ns + a->window_ns;
	atomic_store(&a->samples, true);
	r = agent_loop(a, err);
	atomic_store(&a->samples, false);
	end = finish(a, err);
	return r < 0 ? r : end;
}
