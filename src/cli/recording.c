/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording ends after its duration, on SIGINT, SIGTERM or SIGHUP, or when the command or all
 * selected processes have ended. In each case the complete file is written. One thread does all of
 * it: it polls the session, processes, signals and the command through one epoll descriptor.
 *
 * The order of the setup matters: the cgroup and the output are opened first, so that wrong
 * arguments fail before anything is attached; then pidfds, so that a pid cannot be reused
 * meanwhile; then the command is forked, which must not inherit a raised priority; then BPF is set
 * up; then this process gives up its privileges, which the command keeps, and the network, which
 * only the process that downloads debug files keeps. The command is released when sampling runs.
 */
#include "cli/recording.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "agent/privileges.h"
#include "agent/selector.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file_limit.h"
#include "base/outfile.h"
#include "cli/args.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/network.h"
#include "cli/summary.h"
#include "codec/format.h"
#include "opener/opener.h"
#include "proc/cgroup.h"
#include "process/file_table.h"
#include "profile/profile.h"
#include "profiler/sample_counts.h"
#include "profiler/session.h"
#include "symbolize/frame_symbols.h"
#include "symbolize/symbolize.h"

enum {
	TABLE_CHUNKS = 512, /* of 1 MiB */
	PROGRESS_MS = 500,
};

/* Values of epoll_event.data; values from 0 on are indices of pid_fds. */
enum { WAKE_SESSION = -1, WAKE_SIGNAL = -2, WAKE_CHILD = -3 };

struct recording {
	const struct recording_opts *opts;
	struct network network;
	struct session *session;
	struct selector *selector;
	struct outfile *out;
	struct child child;
	int epoll_fd, signal_fd;
	int cgroup_fd;         /* -1: none */
	struct rlimit n_files; /* the initial limit of open files, for the command */
	struct {
		VEC(int);
	} pid_fds; /* of the selected processes; -1: ended */
	size_t n_running;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	int64_t start_wall_ns;
	uint64_t next_progress_ns;
	bool ended;
	int signal;    /* the signal that ended the recording; 0: none */
	bool progress; /* show the progress line */
};

/* @what identifies the descriptor in on_wake(): a pid index or one of the WAKE_ constants. */
static int watch(struct recording *rec, int fd, int what)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = what };

	return epoll_ctl(rec->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/*
 * Signals become a descriptor, so they interrupt nothing and end the recording at a well-defined
 * place.
 */
static int setup_signals(struct recording *rec)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	rec->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return rec->signal_fd < 0 ? -errno : watch(rec, rec->signal_fd, WAKE_SIGNAL);
}

/* Opens a pidfd of each selected process, which reports its end and prevents reuse of its pid. */
static int open_pids(struct recording *rec, struct err *err)
{
	for (size_t i = 0; i < rec->opts->pids.len; i++) {
		uint32_t pid = rec->opts->pids.data[i];
		int fd = args_open_process(pid, err), r;

		if (fd < 0)
			return fd;
		r = vec_push(&rec->pid_fds, fd);
		if (r < 0) {
			close(fd);
			return r;
		}
		r = watch(rec, fd, (int)i);
		if (r < 0)
			return err_set(err, r, "cannot watch process %u: %s", pid, strerror(-r));
		rec->n_running++;
	}
	return 0;
}

/* From here on the session follows these processes and what they start. */
static int follow_all(struct recording *rec, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < rec->opts->pids.len && r == 0; i++)
		r = session_follow(rec->session, rec->opts->pids.data[i]);
	if (r == 0 && rec->child.pid)
		r = session_follow(rec->session, (uint32_t)rec->child.pid);
	return r < 0 ? err_set(err, r, "cannot follow a process: %s", strerror(-r)) : 0;
}

/*
 * Off-CPU accounting runs in the scheduler, where the helper that finds a task's cgroup works for
 * the unified hierarchy only.
 */
static int open_cgroup(struct recording *rec, struct err *err)
{
	const char *name = rec->opts->cgroup;

	rec->cgroup_fd = cgroup_open(name);
	if (rec->cgroup_fd < 0)
		return err_set(err, rec->cgroup_fd, "cannot open cgroup \"%.120s\": %s", name,
			       strerror(-rec->cgroup_fd));
	if (rec->opts->what != SYMBOLIZE_CPU && !cgroup_is_unified(rec->cgroup_fd))
		return err_set(err, -ENOTSUP,
			       "off-CPU time of a cgroup requires the unified hierarchy (cgroup2): "
			       "use --pid");
	return 0;
}

/* The capabilities to replace the file @path. */
static uint64_t outfile_privileges(const char *path)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (!strcmp(path, "-") || snprintf(dir, sizeof(dir), "%s", path) >= (int)sizeof(dir))
		return 0;
	if (!slash)
		return privileges_to_write(".");
	dir[slash - path + 1] = '\0';
	return privileges_to_write(dir);
}

/* Opens the output before anything is recorded, so that a wrong path is reported at once. */
static int open_output(struct recording *rec, struct err *err)
{
	int r = outfile_open(&rec->out, rec->opts->path, err);

	return r < 0 ? r : outfile_give_to_sudo_user(rec->out, err);
}

static bool is_heap(const struct recording_opts *o)
{
	return o->what == SYMBOLIZE_ALLOC || o->what == SYMBOLIZE_LIVE;
}

/*
 * A recording holds whole-machine tables of up to TABLE_CHUNKS MiB: unlike the agent, it has no
 * memory limit of its own, because it ends.
 */
static int open_session(struct recording *rec, struct err *err)
{
	const struct recording_opts *o = rec->opts;
	const struct selector_opts selection = { o->rules, o->n_rules, "/" };
	struct session_opts opts = {
		.sampler = {
			.freq_hz = o->freq_hz,
			.events = o->events.data,
			.n_events = o->events.len,
			.kernel = !o->no_kernel,
			.all_native = o->all_native,
			.no_children = o->no_children,
			.user = !o->no_user,
			.idle = o->idle,
			.targets_only = o->command || o->pids.len,
			.stats = o->verbose,
			.off_cpu = o->what == SYMBOLIZE_OFF || o->what == SYMBOLIZE_WALL,
			.faults = o->what == SYMBOLIZE_RESIDENT,
			.allocs = is_heap(o),
			.frees = o->what == SYMBOLIZE_LIVE,
			.alloc_bytes = o->alloc_bytes,
			.no_samples = o->what != SYMBOLIZE_CPU && o->what != SYMBOLIZE_WALL,
			.off_min_ns = o->off_min_ns,
			.wakers = o->wakers,
			.max_chunks = TABLE_CHUNKS,
			.in_cgroup = o->cgroup != NULL,
			.cgroup_fd = rec->cgroup_fd,
		},
		.alloc_share_max = o->alloc_share,
		.max_stack = o->max_stack,
		.signatures = o->signatures,
		.keep_times = format_has_times(o->format),
	};

	int r = selector_new(&rec->selector, &selection, err);

	if (r < 0)
		return r;
	opts.rules = selector_rules(rec->selector);
	return session_open(&rec->session, &opts, err);
}

/*
 * The order of events within one wake-up does not matter: the session is polled afterwards in any
 * case.
 */
static int watch_all(struct recording *rec)
{
	int r = setup_signals(rec);

	if (r == 0)
		r = watch(rec, session_fd(rec->session), WAKE_SESSION);
	if (r == 0 && rec->child.pid)
		r = watch(rec, rec->child.pid_fd, WAKE_CHILD);
	return r;
}

/*
 * The recording itself needs the capabilities of the agent, and more in some cases: to rename the
 * output in a directory of another user, to send a signal to a command that became another user,
 * and to probe functions.
 */
static int drop_privileges(const struct recording *rec, struct err *err)
{
	const struct recording_opts *o = rec->opts;
	uint64_t keep = privileges_kept() | outfile_privileges(o->path);
	char report[256];
	int r;

	for (size_t i = 0; o->more_outputs && o->more_outputs[i]; i++)
		keep |= outfile_privileges(o->more_outputs[i]);
	if (o->command)
		keep |= privileges_to_kill();
	if (is_heap(o))
		keep |= privileges_to_probe();
	for (size_t i = 0; i < o->events.len; i++)
		if (o->events.data[i].kind == EVENT_UPROBE)
			keep |= privileges_to_probe();
	r = privileges_drop(keep, report, sizeof(report), err);
	if (r == 0 && o->verbose)
		fprintf(stderr, "cameo: privileges: %s\n", report);
	if (r == 0)
		r = privileges_deny_network(err);
	return r < 0 ? r : opener_start(err);
}

static int recording_setup(struct recording *rec, struct err *err)
{
	const struct recording_opts *o = rec->opts;
	int r = o->cgroup ? open_cgroup(rec, err) : 0;

	if (r == 0)
		r = open_output(rec, err);
	if (r < 0)
		return r;
	file_limit_raise(&rec->n_files);
	rec->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (rec->epoll_fd < 0)
		return err_set(err, -errno, "cannot create an epoll instance: %s", strerror(errno));
	r = open_pids(rec, err);
	/* The command starts before session_open() raises the priority, which it would inherit. */
	if (r == 0 && o->command)
		r = child_start(&rec->child, o->command, &rec->n_files, err);
	if (r == 0)
		r = network_open(&rec->network, o->symbolizer.debuginfod ? NETWORK_DOWNLOADS : 0,
				 err);
	if (r == 0)
		r = open_session(rec, err);
	if (r == 0)
		r = watch_all(rec);
	if (r == 0)
		r = follow_all(rec, err);
	if (r == 0)
		r = drop_privileges(rec, err);
	return r < 0 ? err_set(err, r, "cannot set up the recording: %s", strerror(-r)) : 0;
}

/* Events of a descriptor that was closed in the same batch are ignored. */
static void on_pid_end(struct recording *rec, int i)
{
	if ((size_t)i >= rec->pid_fds.len || rec->pid_fds.data[i] < 0)
		return;
	close(rec->pid_fds.data[i]);
	rec->pid_fds.data[i] = -1;
	if (--rec->n_running == 0 && !rec->child.pid)
		rec->ended = true;
}

/* Sessions are polled after each wake-up in any case, so their event needs no action. */
static void on_wake(struct recording *rec, int what)
{
	struct signalfd_siginfo si;

	switch (what) {
	case WAKE_SESSION:
		break;
	case WAKE_SIGNAL:
		if (read(rec->signal_fd, &si, sizeof(si)) == sizeof(si))
			rec->signal = (int)si.ssi_signo;
		rec->ended = true;
		break;
	case WAKE_CHILD:
		rec->ended = true;
		break;
	default:
		on_pid_end(rec, what);
	}
}

/* Reading the counters takes a system call per BPF map, so the line is updated twice per second. */
static void show_progress(struct recording *rec, uint64_t now_ns)
{
	struct session_stats st;

	if (!rec->progress || now_ns < rec->next_progress_ns)
		return;
	rec->next_progress_ns = now_ns + PROGRESS_MS * 1000000ULL;
	if (session_stats(rec->session, &st) == 0)
		summary_progress(&st, now_ns - rec->start_ns);
}

/* How long to wait for events: until the session needs its turn, or the end of the recording. */
static int wait_ms(const struct recording *rec, uint64_t now_ns)
{
	uint64_t left = SESSION_POLL_MS;

	if (rec->opts->duration_ns) {
		uint64_t end = rec->start_ns + rec->opts->duration_ns;
		uint64_t ms = end > now_ns ? (end - now_ns + 999999) / 1000000 : 0;

		if (ms < left)
			left = ms;
	}
	return (int)left;
}

/* Polls the session until the recording ends, then processes the remaining samples. */
static int recording_loop(struct recording *rec, struct err *err)
{
	struct epoll_event ev[16];

	while (!rec->ended) {
		uint64_t now = clock_monotonic_ns();
		int n, r;

		if (rec->opts->duration_ns && now - rec->start_ns >= rec->opts->duration_ns)
			break;
		n = epoll_wait(rec->epoll_fd, ev, 16, wait_ms(rec, now));
		if (n < 0 && errno != EINTR)
			return err_set(err, -errno, "cannot wait for events: %s", strerror(errno));
		for (int i = 0; i < n; i++)
			on_wake(rec, ev[i].data.fd);
		r = session_poll(rec->session, err);
		if (r < 0)
			return r;
		show_progress(rec, now);
		session_sleep(rec->session, rec->signal_fd, SESSION_SLEEP_MS);
	}
	if (rec->progress)
		summary_progress_end();
	rec->end_ns = clock_monotonic_ns();
	return session_stop(rec->session, err);
}

/* User and system time of all threads, without that of the symbolizer process. */
static uint64_t own_cpu_ns(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000000ULL +
	       (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000ULL;
}

/* The number of the sample type for formats that hold only one; see enum symbolize_mode. */
static size_t main_value(enum symbolize_mode what)
{
	switch (what) {
	case SYMBOLIZE_WALL:
	case SYMBOLIZE_LIVE:
		return 3;
	case SYMBOLIZE_ALLOC:
		return 1;
	default:
		return 0;
	}
}

/*
 * Symbolizes the counts and writes the complete file, which replaces an existing one at once. Adds
 * the statistics of symbolization to @sum.
 */
static int recording_write(struct recording *rec, struct frame_symbols *frame_symbols,
			   struct summary *sum, struct err *err)
{
	struct symbolize_window window = {
		.time_ns = rec->start_wall_ns,
		.duration_ns = (int64_t)(rec->end_ns - rec->start_ns),
		.freq_hz = rec->opts->freq_hz,
		.events = rec->opts->events.data,
		.n_events = rec->opts->events.len,
		.mode = rec->opts->what,
		.alloc_bytes = rec->opts->alloc_bytes,
		.locks_only = rec->opts->locks_only,
		.per_thread = rec->opts->per_thread,
		.clock_offset_ns = rec->start_wall_ns - (int64_t)rec->start_ns,
	};
	const struct format_options opt = { .title = "cameo record",
					    .value_num = main_value(window.mode),
					    .root_label =
						    rec->opts->per_thread ? "thread" : "comm" };
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(buf_fini) struct buf buf = { 0 };
	int r;

	r = symbolize_profile(frame_symbols, session_counts(rec->session), &window, &p,
			      &sum->symbols, err);
	if (r == 0)
		package_hints_find(p, PACKAGE_HINTS_DIR, &sum->hints);
	if (r == 0)
		r = format_write(rec->opts->format, p, &opt, &buf, err);
	if (r == 0)
		r = outfile_commit(rec->out, buf.data, buf.len, err);
	return r;
}

/*
 * Writes the profile and prints the summary. @start_cpu_ns is the CPU time that was used before
 * sampling began. The session is read after symbolization, because symbolization changes its
 * counters.
 */
static int recording_finish(struct recording *rec, uint64_t start_cpu_ns, struct err *err)
{
	_cleanup_(frame_symbols_freep) struct frame_symbols *frame_symbols = NULL;
	struct summary sum = {
		.what = session_offcpu_error(rec->session) ? SYMBOLIZE_CPU : rec->opts->what,
		.events = &rec->opts->events,
		.duration_ns = rec->end_ns - rec->start_ns,
		.path = rec->opts->path,
		.langs = session_langs(rec->session),
		.selects = rec->opts->n_rules > 0,
		.verbose = rec->opts->verbose,
		.start_cpu_ns = start_cpu_ns,
		.sampling_cpu_ns = own_cpu_ns() - start_cpu_ns,
	};
	struct frame_symbols_opts lo = {
		.files = session_files(rec->session),
		.jits = session_jits(rec->session),
		.langs = session_langs(rec->session),
		.resident = session_resident(rec->session),
		.kernel_changes = session_kernel_changes(rec->session),
		.symbolizer = rec->opts->symbolizer,
	};
	int r;

	lo.symbolizer.fetcher = rec->network.fetcher;
	r = frame_symbols_new(&frame_symbols, &lo);
	if (r == 0)
		r = recording_write(rec, frame_symbols, &sum, err);
	if (r < 0)
		return r;
	r = session_stats(rec->session, &sum.session);
	if (r < 0)
		return err_set(err, r, "cannot read the BPF counters: %s", strerror(-r));
	sum.total_cpu_ns = own_cpu_ns() - start_cpu_ns;
	sum.n_stacks = sample_counts_n_stacks(session_counts(rec->session));
	frame_symbols_counters(frame_symbols, &sum.symbolizer);
	summary_print(&sum);
	return 0;
}

/*
 * Records from session_start() to the end. The command is released only when sampling runs, so its
 * first instructions are sampled. A command that is still running keeps running, unless SIGTERM or
 * SIGHUP ended the recording: it gets the same signal.
 */
static int recording_record(struct recording *rec, int *out_status, struct err *err)
{
	uint64_t start_cpu_ns;
	int r = session_start(rec->session, err);

	if (r < 0)
		return r;
	if (session_offcpu_error(rec->session))
		cli_fail("cannot record off-CPU time: %s", session_offcpu_error(rec->session));
	rec->start_ns = session_start_ns(rec->session);
	rec->start_wall_ns = (int64_t)(clock_unix_ns() - (clock_monotonic_ns() - rec->start_ns));
	if (rec->child.pid) {
		r = child_release(&rec->child, rec->opts->command[0], err);
		if (r < 0) {
			*out_status = r == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
			return 0;
		}
	}
	start_cpu_ns = own_cpu_ns();
	r = recording_loop(rec, err);
	if (r < 0)
		return r;
	r = recording_finish(rec, start_cpu_ns, err);
	if (r < 0 || !rec->child.pid)
		return r;
	if (rec->signal == SIGTERM || rec->signal == SIGHUP)
		kill(rec->child.pid, rec->signal);
	*out_status = child_wait(&rec->child);
	return 0;
}

static void recording_fini(struct recording *rec)
{
	child_fini(&rec->child);
	for (size_t i = 0; i < rec->pid_fds.len; i++)
		closep(&rec->pid_fds.data[i]);
	vec_fini(&rec->pid_fds);
	session_free(rec->session);
	selector_free(rec->selector);
	network_close(&rec->network);
	outfile_free(rec->out);
	closep(&rec->signal_fd);
	closep(&rec->cgroup_fd);
	closep(&rec->epoll_fd);
}

/* The progress line is shown on terminals only, so that logs do not contain control characters. */
int recording_run(const struct recording_opts *o, int *out_status, struct err *err)
{
	struct recording rec = {
		.opts = o,
		.child = CHILD_NONE,
		.epoll_fd = -1,
		.signal_fd = -1,
		.cgroup_fd = -1,
		.progress = isatty(STDERR_FILENO),
	};
	int r;

	*out_status = 0;
	r = recording_setup(&rec, err);
	if (r == 0)
		r = recording_record(&rec, out_status, err);
	recording_fini(&rec);
	return r;
}
