/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling thread polls the session and, at the end of a window, swaps the counts and submits
 * the old ones to the symbolizer thread. If that thread is still busy with the previous window, the
 * current one is extended, so windows become longer instead of queueing up.
 *
 * One lock is held during each poll. The symbolizer thread takes it briefly to read what the
 * sampling thread writes (file table, runtimes). Objects that the symbolizer thread may hold
 * pointers to are freed only while it is idle, in submit_window(). The symbolizer thread runs at
 * normal priority, so at the end the sampling thread, whose priority is raised, does the rest.
 */
#include "agent/agent.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/agent_log.h"
#include "agent/config.h"
#include "agent/parts.h"
#include "agent/selector.h"
#include "agent/setup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file_limit.h"
#include "export/export.h"
#include "lang/lang.h"
#include "metadata/process_info.h"
#include "process/jit_symbols.h"
#include "profiler/sample_counts.h"

enum {
	POLL_MS = 500,         /* longest sleep; urgent samples end it */
	SLEEP_MS = 50,         /* between two polls, unless samples are urgent */
	STOP_TABLES_MS = 1000, /* after agent_stop(): limit for building unwind tables, */
	STOP_INFO_MS = 200,    /* for reading process attributes, */
	STOP_LOOKUP_MS = 1500, /* and for looking up symbols */
	STOP_SYMBOLIZE_MS = 3800,
	UPKEEP_MS = 2000,
	FULL_UPKEEP_MS = 200, /* while memory is almost full */
	/* Shares of the memory limit, as divisors. */
	SHARE_TRIM = 3,     /* free part below which unused heap is returned to the system */
	SHARE_FULL = 5,     /* free part below which memory is almost full */
	SHARE_RESERVE = 16, /* free part below which caches are dropped */
};

struct agent {
	struct agent_opts opts;
	struct agent_log log;
	struct agent_parts parts;
	uint64_t window_ns, probability_interval_ns;
	uint32_t freq_hz, probability;
	int epoll_fd, wake_fd;
	atomic_bool is_stopping, is_sampling;
	_Atomic(struct agent_config *) next_config;

	uint64_t started_ns, window_start_ns, window_end_ns, next_upkeep_ns;
	uint64_t next_draw_ns;
	uint64_t excluded_before[SELECT_RULES_MAX]; /* of the rules before a reload, by number */
	uint64_t longest_gap_ns;  /* longest time between two reads of the ring, in this window */
	uint64_t last_longest_ns; /* and in the previous one */
	bool window_is_late;

	bool is_logged[LANG_RUNTIMES_MAX]; /* by index of the unsupported runtime */

	pthread_mutex_t lock; /* protects the session: see above */

	pthread_mutex_t stats_lock; /* protects the statistics */
	struct agent_stats stats;
};

void agent_prepare(struct agent_prepared *out)
{
	out->priority = getpriority(PRIO_PROCESS, 0);
	out->stats_fd = sampler_enable_stats();
	session_raise_priority();
}

/* ---- setup ------------------------------------------------------------------------- */

/*
 * Copies the settings that may change while the agent runs. Other settings are read once, in
 * agent_open().
 */
static void set_reloadable(struct agent *a, const struct agent_config *c)
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

static int open_parts(struct agent *a, const struct agent_config *c, struct err *err)
{
	const struct agent_prepared *prepared = a->opts.prepared;
	const struct agent_parts_opts opts = {
		.config = c,
		.priority = prepared ? prepared->priority : getpriority(PRIO_PROCESS, 0),
		.stats_fd = prepared ? prepared->stats_fd : -1,
		.keep_times = a->opts.keep_times,
		.fetcher = a->opts.fetcher,
		.stop_ns = (uint64_t)STOP_TABLES_MS * CLOCK_MS_NS,
		.lock = &a->lock,
		.export = a->opts.export,
		.log = a->opts.log,
		.ctx = a->opts.ctx,
	};

	return agent_parts_open(&a->parts, &opts, err);
}

int agent_open(struct agent **out, const struct agent_opts *opts, struct err *err)
{
	_cleanup_(agent_freep) struct agent *a = calloc(1, sizeof(*a));
	const struct agent_config *c = opts->config;
	int r;

	if (!a)
		return -ENOMEM;
	a->opts = *opts;
	a->log = (struct agent_log){ opts->log, opts->ctx };
	a->opts.config = NULL;
	pthread_mutex_init(&a->lock, NULL);
	pthread_mutex_init(&a->stats_lock, NULL);
	a->freq_hz = (uint32_t)c->freq;
	set_reloadable(a, c);
	a->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	a->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->epoll_fd < 0 || a->wake_fd < 0)
		return err_set(err, -errno, "cannot create an epoll instance or eventfd: %s",
			       strerror(errno));
	r = agent_config_check(c, err);
	if (r < 0)
		return r;
	file_limit_raise(NULL);
	r = open_parts(a, c, err);
	if (r == 0)
		r = watch(a, session_fd(a->parts.session));
	if (r == 0)
		r = watch(a, a->wake_fd);
	if (r < 0)
		return err_set(err, r, "cannot set up the agent: %s", strerror(-r));
	*out = steal_ptr(&a);
	return 0;
}

void agent_free(struct agent *a)
{
	if (!a)
		return;
	agent_parts_close(&a->parts);
	agent_config_free(atomic_exchange(&a->next_config, NULL));
	closep(&a->epoll_fd);
	closep(&a->wake_fd);
	pthread_mutex_destroy(&a->lock);
	pthread_mutex_destroy(&a->stats_lock);
	free(a);
}

/*
 * Ends a wait of the sampling thread. Async-signal-safe, since agent_stop() may be called in a
 * signal handler.
 */
static void wake(struct agent *a)
{
	uint64_t one = 1;

	(void)!write(a->wake_fd, &one, sizeof(one));
}

void agent_stop(struct agent *a)
{
	atomic_store(&a->is_stopping, true);
	wake(a);
}

void agent_reload(struct agent *a, struct agent_config *config)
{
	agent_config_free(atomic_exchange(&a->next_config, config));
	wake(a);
}

bool agent_is_healthy(struct agent *a)
{
	return atomic_load(&a->is_sampling);
}

/* ---- windows ----------------------------------------------------------------------- */

static bool has_ended(void *ctx, uint32_t pid, uint64_t start_ns)
{
	struct agent *a = ctx;

	return session_program_has_ended(a->parts.session, pid, start_ns);
}

static bool ran_until(void *ctx, uint32_t pid, uint64_t start_ns, uint64_t until_ns,
		      bool any_program)
{
	struct agent *a = ctx;

	return session_ran_until(a->parts.session, pid, start_ns, until_ns, any_program);
}

/*
 * Confirms what was read of programs, and frees the data of those that have ended. The symbolizer
 * thread must be idle.
 */
static void reap(struct agent *a)
{
	session_apply_events(a->parts.session);
	process_info_store_confirm(a->parts.process_info);
	jit_symbols_reap(session_jits(a->parts.session), has_ended, a);
	process_info_store_reap(a->parts.process_info, has_ended, a);
}

/* Submits the counts to the symbolizer thread, which is idle, and starts a new window. */
static int submit_window(struct agent *a, uint64_t now_ns)
{
	uint64_t offset = clock_unix_ns() - now_ns;
	struct symbolize_window window = {
		.span_ids_only = true,
		.time_ns = (int64_t)(a->window_start_ns + offset),
		.duration_ns = (int64_t)(now_ns - a->window_start_ns),
		.clock_offset_ns = (int64_t)offset,
		.freq_hz = a->freq_hz,
	};
	struct sample_counts *fresh, *old;
	int r = sample_counts_new(&fresh, a->opts.keep_times);

	if (r < 0)
		return r;
	pthread_mutex_lock(&a->lock);
	if (session_count_waits(a->parts.session) < 0)
		agent_log_line(&a->log,
			       "level=error msg=\"cannot count waits that have not ended, so their "
			       "time is missing from this window\"");
	reap(a);
	old = session_swap_counts(a->parts.session, fresh);
	session_sweep_files(a->parts.session, old);
	langs_window(session_langs(a->parts.session), a->parts.plan.scripts);
	pthread_mutex_unlock(&a->lock);
	symbolizer_thread_submit(a->parts.symbolizer_thread, old, &window);
	a->window_start_ns = now_ns;
	a->window_end_ns = now_ns + a->window_ns;
	a->window_is_late = false;
	a->last_longest_ns = a->longest_gap_ns;
	a->longest_gap_ns = 0;
	return 0;
}

/* The first window begins when sampling did, and may be shorter than the others. */
static void begin_windows(struct agent *a)
{
	uint64_t first_ns = a->opts.first_window_ns;

	a->started_ns = a->window_start_ns = session_start_ns(a->parts.session);
	a->window_end_ns =
		a->started_ns + (first_ns && first_ns < a->window_ns ? first_ns : a->window_ns);
}

static void count(struct agent *a, uint64_t *counter)
{
	pthread_mutex_lock(&a->stats_lock);
	(*counter)++;
	pthread_mutex_unlock(&a->stats_lock);
}

/* Returns true if the window has reached its size limit and should end now. */
static bool is_full(const struct agent *a)
{
	return sample_counts_bytes(session_counts(a->parts.session)) > a->parts.plan.window;
}

/* ---- upkeep ------------------------------------------------------------------------ */

static uint32_t random_below(uint32_t n)
{
	uint32_t v = 0;

	(void)!getrandom(&v, sizeof(v), GRND_NONBLOCK);
	return v % n;
}

/* Decides at random, at the start of each interval, whether the machine is sampled during it. */
static void draw_interval(struct agent *a, uint64_t now_ns)
{
	bool pause;

	if (now_ns < a->next_draw_ns)
		return;
	a->next_draw_ns = now_ns + a->probability_interval_ns;
	pause = a->probability < 100 && random_below(100) >= a->probability;
	if (pause == a->stats.paused)
		return;
	pthread_mutex_lock(&a->lock);
	(void)session_pause(a->parts.session, pause);
	pthread_mutex_unlock(&a->lock);
	pthread_mutex_lock(&a->stats_lock);
	a->stats.paused = pause;
	pthread_mutex_unlock(&a->stats_lock);
}

/* Replaces the rules of selection and applies them to all processes. Owns @fresh. */
static void apply_selection(struct agent *a, struct selector *fresh)
{
	const struct process_rules rules = selector_rules(fresh);
	struct session_stats now;

	pthread_mutex_lock(&a->lock);
	session_set_rules(a->parts.session, &rules);
	if (session_stats(a->parts.session, &now) == 0)
		memcpy(a->excluded_before, now.sampler.counts.excluded, sizeof(a->excluded_before));
	pthread_mutex_unlock(&a->lock);
	selector_free(a->parts.selector);
	a->parts.selector = fresh;
	agent_log_selection(&a->log, a->parts.selector);
}

/*
 * Applies the configuration of agent_reload(). The steps that can fail come first; an invalid rule
 * thus leaves all settings unchanged.
 */
static void apply_config(struct agent *a)
{
	_cleanup_(agent_config_freep) struct agent_config *c =
		atomic_exchange(&a->next_config, NULL);
	_cleanup_(selector_freep) struct selector *selector = NULL;
	struct labeler *labeler;
	struct err err = { 0 };

	if (!c)
		return;
	if (setup_selector(&selector, c, &err) < 0 ||
	    setup_labeler(&labeler, c, a->opts.fetcher, &err) < 0) {
		agent_log_error(&a->log,
				"level=error msg=\"cannot apply new rules, keeping the old\"",
				err.msg);
		return;
	}
	apply_selection(a, steal_ptr(&selector));
	set_reloadable(a, c);
	session_set_keep_cpus(a->parts.session, setup_has_cpu_label(c));
	a->next_draw_ns = 0;
	symbolizer_thread_set_labeler(a->parts.symbolizer_thread, labeler);
	agent_log_line(&a->log, "level=info msg=\"configuration applied\"");
}

/* Logs each unsupported runtime once, however many processes it has. */
static void log_runtime(struct agent *a, const struct lang_runtime *u)
{
	bool *is_logged = &a->is_logged[u - langs_runtimes(session_langs(a->parts.session))->all];

	if (*is_logged)
		return;
	*is_logged = true;
	agent_log_unsupported(&a->log, u);
}

static void log_unsupported(struct agent *a)
{
	const struct lang_runtimes *all = langs_runtimes(session_langs(a->parts.session));
	const struct lang_runtime *u;

	for (size_t i = 0; (u = lang_runtimes_unsupported(all, i)); i++)
		log_runtime(a, u);
}

/*
 * The statistics are assembled in a copy: session and tables are read under the lock of the
 * session, which agent_stats() must not wait for.
 */
static void update_stats(struct agent *a, uint64_t now_ns)
{
	const struct stats_sources sources = {
		.session = a->parts.session,
		.selector = a->parts.selector,
		.excluded_before = a->excluded_before,
		.process_info = a->parts.process_info,
		.symbolizer_thread = a->parts.symbolizer_thread,
		.lock = &a->lock,
	};
	struct agent_stats s;

	pthread_mutex_lock(&a->stats_lock);
	s = a->stats;
	pthread_mutex_unlock(&a->stats_lock);
	stats_collect(&s, &sources);
	log_unsupported(a);
	s.longest_gap_ns =
		a->longest_gap_ns > a->last_longest_ns ? a->longest_gap_ns : a->last_longest_ns;
	if (s.symbolizer_thread.n_windows && !s.first_window_ns)
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

/*
 * A window that is due while the previous one is still being symbolized is extended, and counted
 * once as late.
 */
static void end_window_if_due(struct agent *a, uint64_t now_ns)
{
	bool full = is_full(a);

	if (now_ns < a->window_end_ns && !full)
		return;
	if (!symbolizer_thread_is_idle(a->parts.symbolizer_thread)) {
		if (!a->window_is_late)
			count(a, &a->stats.n_late);
		a->window_is_late = true;
		return;
	}
	if (full && now_ns < a->window_end_ns)
		count(a, &a->stats.n_short);
	/* the statistics reported with a window are those of its end */
	update_stats(a, now_ns);
	if (submit_window(a, now_ns) < 0)
		agent_log_line(&a->log, "level=error msg=\"not enough memory for a new window\"");
}

/* Returns true if less than the limit divided by @share is free. */
static bool is_scarce(const struct agent *a, uint64_t share)
{
	return stats_held_bytes(&a->stats) > a->parts.plan.limit - a->parts.plan.limit / share;
}

/*
 * The plan keeps each part within its share. This limits what no part accounts for: fragmentation,
 * and pages of files. Unused heap is returned to the system first. Caches and children without work
 * go only if that is not enough, because refilling and starting them costs time.
 */
static void enforce_limit(struct agent *a)
{
	if (is_scarce(a, SHARE_TRIM))
		malloc_trim(0);
	if (!is_scarce(a, SHARE_RESERVE))
		return;
	symbolizer_thread_shrink(a->parts.symbolizer_thread);
	pthread_mutex_lock(&a->lock);
	session_stop_idle_readers(a->parts.session);
	pthread_mutex_unlock(&a->lock);
	count(a, &a->stats.n_shrunk);
}

static void upkeep(struct agent *a, uint64_t now_ns)
{
	draw_interval(a, now_ns);
	apply_config(a);
	if (now_ns < a->next_upkeep_ns)
		return;
	update_stats(a, now_ns);
	enforce_limit(a);
	a->next_upkeep_ns = now_ns + (is_scarce(a, SHARE_FULL) ? FULL_UPKEEP_MS : UPKEEP_MS) *
					     (uint64_t)CLOCK_MS_NS;
}

/* ---- the loop ---------------------------------------------------------------------- */

/*
 * A late window has no end to wait for, so the loop checks every POLL_MS whether the symbolizer
 * thread is idle.
 */
static int timeout_ms(const struct agent *a, uint64_t now_ns)
{
	uint64_t n_left = a->window_end_ns > now_ns && !a->window_is_late
				  ? (a->window_end_ns - now_ns) / CLOCK_MS_NS + 1
				  : POLL_MS;

	return (int)(n_left < POLL_MS ? n_left : POLL_MS);
}

static int poll_session(struct agent *a, struct err *err)
{
	uint64_t gap_ns;
	int r;

	pthread_mutex_lock(&a->lock);
	r = session_poll(a->parts.session, err);
	gap_ns = session_take_gap(a->parts.session);
	pthread_mutex_unlock(&a->lock);
	if (gap_ns > a->longest_gap_ns)
		a->longest_gap_ns = gap_ns;
	return r;
}

static int agent_loop(struct agent *a, struct err *err)
{
	struct epoll_event ev[4];
	uint64_t drained;

	while (!atomic_load(&a->is_stopping)) {
		int r;

		if (epoll_wait(a->epoll_fd, ev, 4, timeout_ms(a, clock_monotonic_ns())) < 0 &&
		    errno != EINTR)
			return err_set(err, -errno, "cannot wait for events: %s", strerror(errno));
		(void)!read(a->wake_fd, &drained, sizeof(drained));
		r = poll_session(a, err);
		if (r < 0)
			return r;
		end_window_if_due(a, clock_monotonic_ns());
		upkeep(a, clock_monotonic_ns());
		session_sleep(a->parts.session, a->wake_fd, SLEEP_MS);
	}
	return 0;
}

static void set_unsent(struct agent *a, uint64_t n)
{
	pthread_mutex_lock(&a->stats_lock);
	a->stats.n_unsent = n;
	pthread_mutex_unlock(&a->stats_lock);
}

/*
 * Stops sampling and exports the remaining samples as a last window. Each step has its own limit
 * (STOP_*_MS), because systemd or the user kills a process that takes too long. Samples that are
 * not symbolized by then are counted as unsent.
 */
static int finish(struct agent *a, struct err *err)
{
	uint64_t now_ns = clock_monotonic_ns(), n_left;
	uint64_t deadline = now_ns + (uint64_t)STOP_SYMBOLIZE_MS * CLOCK_MS_NS;
	int r;

	symbolizer_thread_set_deadline(a->parts.symbolizer_thread,
				       now_ns + (uint64_t)STOP_LOOKUP_MS * CLOCK_MS_NS);
	pthread_mutex_lock(&a->lock);
	r = session_stop(a->parts.session, err);
	pthread_mutex_unlock(&a->lock);
	if (r < 0)
		return r;
	process_info_store_wait(a->parts.process_info,
				clock_monotonic_ns() + (uint64_t)STOP_INFO_MS * CLOCK_MS_NS);
	n_left = symbolizer_thread_finish(a->parts.symbolizer_thread, deadline);
	if (!symbolizer_thread_is_idle(a->parts.symbolizer_thread)) {
		n_left += sample_counts_total(session_counts(a->parts.session));
	} else if (sample_counts_n_samples(session_counts(a->parts.session))) {
		r = submit_window(a, clock_monotonic_ns());
		n_left += symbolizer_thread_finish(a->parts.symbolizer_thread, deadline);
	}
	set_unsent(a, n_left);
	update_stats(a, clock_monotonic_ns());
	return r;
}

int agent_run(struct agent *a, struct err *err)
{
	int r, finish_r;

	/* threads inherit the raised priority of their creator */
	if (a->opts.prepared)
		setup_lower_others(a->opts.prepared->priority);
	process_info_store_set_confirm(a->parts.process_info, ran_until, a);
	r = process_info_store_start(a->parts.process_info);
	if (r < 0)
		return err_set(err, r, "cannot start the process reader threads: %s", strerror(-r));
	r = session_start(a->parts.session, err);
	if (r < 0)
		return r;
	if (session_offcpu_error(a->parts.session))
		agent_log_error(
			&a->log,
			"level=warn msg=\"cannot record off-CPU time, sampling CPU time only\"",
			session_offcpu_error(a->parts.session));
	agent_log_selection(&a->log, a->parts.selector);
	begin_windows(a);
	atomic_store(&a->is_sampling, true);
	r = agent_loop(a, err);
	atomic_store(&a->is_sampling, false);
	finish_r = finish(a, err);
	return r < 0 ? r : finish_r;
}
