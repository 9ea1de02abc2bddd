/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A local profile is symbolized between two intervals, in the same thread; the ring buffer holds
 * seconds of samples meanwhile. From a server the last minute is queried, since profiles are pushed
 * to it in windows.
 */
#include "cli/top_source.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/privileges.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file_limit.h"
#include "cli/args.h"
#include "cli/input.h"
#include "opener/opener.h"
#include "profile/profile.h"
#include "profiler/sample_counts.h"
#include "profiler/session.h"
#include "symbolize/frame_symbols.h"
#include "symbolize/symbolize.h"

enum {
	TABLE_CHUNKS = 512, /* of 1 MiB */
	ADDRESS_CACHE_BYTES = 32 << 20,
	URL_CAP = 4096,
};

struct top_source {
	struct top_source_opts opts;
	struct session *session; /* NULL: profiles are those of a server */
	struct frame_symbols *frame_symbols;
	char url[URL_CAP];
	const char *label; /* label to request from a server; NULL: none */
	uint64_t start_ns; /* of the current interval, CLOCK_MONOTONIC */
};

/* Queries the last minute, unless the URL names another range. */
static int set_url(struct top_source *s, const char *url, struct err *err)
{
	const char *suffix = strstr(url, "from=")          ? ""
			     : strchr(url, '?')            ? "&from=now-1m"
			     : url[strlen(url) - 1] == '/' ? "?query=&from=now-1m"
							   : "/?query=&from=now-1m";

	if (snprintf(s->url, sizeof(s->url), "%s%s", url, suffix) >= URL_CAP)
		return err_set(err, -EINVAL, "the query URL is longer than %d bytes", URL_CAP - 1);
	return 0;
}

/* Profiles of a server need no privileges. */
static int open_url(struct top_source *s, const char *url, struct err *err)
{
	char report[256];
	int r = set_url(s, url, err);

	return r < 0 ? r : privileges_drop(0, report, sizeof(report), err);
}

/*
 * A pidfd is opened for each process only to report a missing process or the id of a thread with a
 * clear error. It is closed again: rows of a process that has ended are not a problem here.
 */
static int open_session(struct top_source *s, struct err *err)
{
	const struct session_opts so = {
		.sampler = {
			.freq_hz = s->opts.freq_hz,
			.kernel = true,
			.user = true,
			.targets_only = s->opts.n_pids > 0,
			.max_chunks = TABLE_CHUNKS,
		},
		.exclude_self = true,
	};
	struct frame_symbols_opts lo = { .address_cache_bytes = ADDRESS_CACHE_BYTES };
	char report[256];
	int r;

	file_limit_raise(NULL);
	r = session_open(&s->session, &so, err);
	for (size_t i = 0; r == 0 && i < s->opts.n_pids; i++) {
		r = args_open_process(s->opts.pids[i], err);
		if (r < 0)
			return r;
		close(r);
		r = session_follow(s->session, s->opts.pids[i]);
		if (r < 0)
			return err_set(err, r, "cannot follow process %u: %s", s->opts.pids[i],
				       strerror(-r));
	}
	if (r == 0)
		r = privileges_drop(privileges_kept(), report, sizeof(report), err);
	if (r == 0)
		r = privileges_deny_network(err);
	if (r == 0)
		r = opener_start(err);
	if (r == 0)
		r = session_start(s->session, err);
	if (r < 0)
		return r;
	lo.files = session_files(s->session);
	lo.jits = session_jits(s->session);
	lo.langs = session_langs(s->session);
	return frame_symbols_new(&s->frame_symbols, &lo);
}

int top_source_open(struct top_source **out, const struct top_source_opts *opts, struct err *err)
{
	_cleanup_(top_source_freep) struct top_source *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->opts = *opts;
	r = opts->url ? open_url(s, opts->url, err) : open_session(s, err);
	if (r < 0)
		return r;
	s->start_ns = clock_monotonic_ns();
	/* A server has profiles at once. */
	if (opts->url)
		s->start_ns -= opts->interval_ms * 1000000ULL;
	*out = steal_ptr(&s);
	return 0;
}

void top_source_free(struct top_source *s)
{
	if (!s)
		return;
	frame_symbols_free(s->frame_symbols);
	session_free(s->session);
	free(s);
}

/* After a change of label a server is queried again at once. */
void top_source_set_label(struct top_source *s, const char *label)
{
	bool same = s->label && label ? !strcmp(s->label, label) : s->label == label;

	s->label = label;
	if (s->opts.url && !same)
		s->start_ns = clock_monotonic_ns() - s->opts.interval_ms * 1000000ULL;
}

/*
 * A response without samples becomes an empty profile: a server may receive nothing for a minute.
 */
static int query_server(struct top_source *s, struct profile **out, struct err *err)
{
	const struct input_options in = { .label = s->label };
	char *paths[] = { s->url };
	int r = input_read(out, paths, 1, &in, err);

	if (r != -ENODATA)
		return r;
	if (err)
		*err = (struct err){ 0 };
	r = profile_new(out);
	return r < 0 ? r : profile_add_sample_type(*out, "cpu", "nanoseconds");
}

/*
 * Symbolizes the interval, then clears its counts. Files that no stack refers to any more are
 * released.
 */
static int take_window(struct top_source *s, uint64_t now_ns, struct profile **out, struct err *err)
{
	struct sample_counts *c = session_counts(s->session);
	struct symbolize_stats stats = { 0 };
	struct symbolize_window window = {
		.duration_ns = (int64_t)(now_ns - s->start_ns),
		.freq_hz = s->opts.freq_hz,
	};
	int r = symbolize_profile(s->frame_symbols, c, &window, out, &stats, err);

	sample_counts_clear(c);
	session_sweep_files(s->session, c);
	return r;
}

/* Waits for at most @ms; true if wake_fd is readable or a signal has arrived. */
static bool wait_for_input(struct top_source *s, int ms)
{
	struct pollfd fds[] = {
		{ .fd = s->opts.wake_fd, .events = POLLIN },
		{ .fd = s->session ? session_fd(s->session) : -1, .events = POLLIN },
	};
	int n = poll(fds, 2, ms);

	return n < 0 || (n > 0 && fds[0].revents);
}

int top_source_wait(struct top_source *s, struct profile **out, struct err *err)
{
	for (;;) {
		uint64_t now = clock_monotonic_ns();
		uint64_t end = s->start_ns + s->opts.interval_ms * 1000000ULL;
		int ms = end > now ? (int)((end - now) / 1000000 + 1) : 0, r = 0;

		if (!ms) {
			r = s->session ? take_window(s, now, out, err) : query_server(s, out, err);
			s->start_ns = clock_monotonic_ns();
			return r < 0 ? r : 1;
		}
		if (wait_for_input(s, s->session && ms > SESSION_POLL_MS ? SESSION_POLL_MS : ms))
			return 0;
		if (!s->session)
			continue;
		r = session_poll(s->session, err);
		if (r < 0)
			return r;
		session_sleep(s->session, s->opts.wake_fd, SESSION_SLEEP_MS);
	}
}
