/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A poll first applies what processes did, then processes samples, so that a sample finds its
 * process in the state at that time. Mappings and files that a sample shows to be unknown are read
 * at once.
 *
 * That can take long: the unwind tables of a new program have to be made, and reading a
 * process can block on its locks. Therefore ring_reader.h drains the ring independently into
 * a queue, and each poll processes that queue for a limited time, oldest record first. Readers make
 * the tables (process/table_maker.h). A poll waits for them for a limited time, too; beyond, the
 * decoder parks records, so the files of one program do not delay the samples of others.
 */
#include "profiler/session.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "process/file_table.h"
#include "process/process_tree.h"
#include "process/sideband.h"
#include "process/table_maker.h"
#include "profiler/offcpu.h"
#include "profiler/record_decoder.h"
#include "profiler/sample_counts.h"
#include "profiler/session_parts.h"
#include "profiler/waiting_threads.h"
#include "reader/lang_client.h"
#include "roles/pool.h"
#include "sampler/ring_reader.h"

#define UPKEEP_NS          1000000000ULL
#define IDLE_NS            30000000000ULL /* readers without work are ended then */
#define UNREAD_WAIT_MAX_NS 300000000000ULL
#define SWEEP_NS           10000000000ULL

enum {
	PRIORITY = -15,
	SIDEBAND_NS = 20000000, /* interval at which the side-band is read while tables are built */
	POLL_NS = 50000000,     /* time limit for one poll */
	WINDOW_NS = 500000000,  /* for tables at the end of a window, when the queue is emptied */
};

struct session {
	struct session_opts opts;
	struct session_parts parts;
	struct waiting_threads waiting;
	int epoll_fd;
	bool is_behind;               /* records remain for the next poll */
	uint64_t now_ns;              /* time of this poll */
	uint64_t wait_ns;             /* for which it may still wait for tables */
	uint64_t n_requests, busy_ns; /* of the readers, and when the last one was noticed */
	uint64_t unread_due_ns, unread_wait_ns; /* see retry_unread_files() */
	uint64_t start_ns;
	uint64_t sideband_ns; /* events up to this time have been applied */
	uint64_t next_upkeep_ns, next_sweep_ns;
	bool paused;
	_Atomic uint32_t kernel_changes;
	int own_priority; /* nice value at session_open() */
	uint64_t n_cpu_errors;
};

static int session_watch(struct session *s, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/* ---- events ---------------------------------------------------------------------- */

static void on_sideband(void *ctx, const struct sideband_event *ev)
{
	struct session *s = ctx;

	if (ev->type == SIDEBAND_KERNEL)
		atomic_fetch_add(&s->kernel_changes, 1);
	else
		process_table_handle(s->parts.procs, ev);
}

/*
 * Applies all available side-band events. Queued samples may be newer than the start of the
 * poll, so this also runs in between.
 */
static int apply_events(struct session *s)
{
	int r = 0;

	/* events that came while the rings were read would otherwise wait for the next turn */
	for (int i = 0; r >= 0 && (i == 0 || (i < 3 && sideband_has_pending(s->parts.sideband)));
	     i++) {
		uint64_t now_ns = clock_monotonic_ns();

		r = sideband_consume(s->parts.sideband, now_ns, on_sideband, s);
		if (r >= 0)
			s->sideband_ns = now_ns;
	}
	if (r < 0)
		return r;
	process_table_publish(s->parts.procs, s->sideband_ns);
	return 0;
}

/* Applies everything that has happened; for the process table. */
static void sync_now(void *ctx)
{
	(void)apply_events(ctx);
}

static void sync_processes(void *ctx, uint64_t time_ns)
{
	struct session *s = ctx;

	if (time_ns > s->sideband_ns)
		(void)apply_events(s);
}

static bool build_table(void *ctx, uint32_t file, bool may_wait)
{
	struct session *s = ctx;
	uint64_t begin_ns = clock_monotonic_ns(), end_ns, spent_ns;
	bool is_done = table_maker_need(file_table_maker(s->parts.files), file,
					begin_ns + (may_wait ? s->wait_ns : 0));

	end_ns = clock_monotonic_ns();
	spent_ns = end_ns - begin_ns;
	s->wait_ns -= spent_ns < s->wait_ns ? spent_ns : s->wait_ns;
	if (end_ns - s->sideband_ns > SIDEBAND_NS)
		(void)apply_events(s);
	return is_done;
}

static bool is_pending(void *ctx, uint32_t file)
{
	struct session *s = ctx;

	return table_maker_is_pending(file_table_maker(s->parts.files), file);
}

/* ---- setup ----------------------------------------------------------------------- */

/*
 * The sampling thread runs at a raised priority: it needs little CPU time, and on a busy
 * machine the ring would overflow before its turn. Without the permission, it runs at its
 * normal priority.
 */
void session_raise_priority(void)
{
	(void)setpriority(PRIO_PROCESS, 0, PRIORITY);
}

static void restore_priority(const struct session *s)
{
	if (!s->opts.keeps_priority)
		(void)setpriority(PRIO_PROCESS, 0, s->own_priority);
}

int session_open(struct session **out, const struct session_opts *opts, struct err *err)
{
	_cleanup_(session_freep) struct session *s = calloc(1, sizeof(*s));
	const struct session_hooks hooks = {
		.sync_processes = sync_processes,
		.build_table = build_table,
		.is_pending = is_pending,
		.ctx = s,
	};
	int r;

	if (!s)
		return -ENOMEM;
	s->opts = *opts;
	s->own_priority = getpriority(PRIO_PROCESS, 0);
	session_raise_priority();
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return err_set(err, -errno, "cannot create an epoll instance: %s", strerror(errno));
	r = session_parts_open(&s->parts, opts, &hooks, err);
	if (r < 0)
		return r;
	process_table_set_sync(s->parts.procs, sync_now, s);
	s->waiting = (struct waiting_threads){ .sampler = s->parts.sampler,
					       .decoder = s->parts.decoder,
					       .exclude_self = opts->exclude_self };
	r = session_watch(s, ring_reader_fd(s->parts.ring));
	if (r == 0)
		r = session_watch(s, sideband_fd(s->parts.sideband));
	if (r == 0)
		r = session_watch(s, table_maker_fd(file_table_maker(s->parts.files)));
	if (r < 0)
		return err_set(err, r, "cannot watch the event sources: %s", strerror(-r));
	*out = steal_ptr(&s);
	return 0;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	session_parts_close(&s->parts);
	closep(&s->epoll_fd);
	free(s);
}

int session_follow(struct session *s, uint32_t pid)
{
	return s->opts.sampler.no_children ? process_table_follow(s->parts.procs, pid)
					   : process_tree_follow(s->parts.procs, pid);
}

int session_fd(const struct session *s)
{
	return s->epoll_fd;
}

void session_sleep(const struct session *s, int fd, int ms)
{
	ring_reader_wait(s->parts.ring, fd, ms);
}

/* ---- reading --------------------------------------------------------------------- */

/*
 * Processes queued records until @until_ns. With @all, the remaining ones are processed too,
 * but without building tables. Records of a queue above its limit are always processed
 * without building tables.
 */
static void process_queue(struct session *s, uint64_t until_ns, bool all)
{
	struct ring_reader_record r;

	while (ring_reader_peek(s->parts.ring, &r)) {
		uint64_t now_ns = clock_monotonic_ns();
		bool late = now_ns >= until_ns;

		if (late && !all && !r.is_over) {
			ring_reader_defer(s->parts.ring);
			s->is_behind = true;
			return;
		}
		record_decoder_add(s->parts.decoder, r.data, r.len,
				   late || r.is_over ? RECORD_NO_TABLES : 0, now_ns);
		ring_reader_pop(s->parts.ring);
	}
	s->is_behind = false;
}

/* Applies events, drains the ring and processes the queue for @ns; with @all, completely. */
static int session_drain(struct session *s, uint64_t ns, bool all)
{
	int r;

	s->now_ns = clock_monotonic_ns();
	s->wait_ns = 2 * ns;
	r = apply_events(s);
	process_table_select(s->parts.procs, s->now_ns);
	if (r == 0)
		r = ring_reader_drain(s->parts.ring);
	table_maker_poll(file_table_maker(s->parts.files), 0);
	record_decoder_resume(s->parts.decoder, 0, s->now_ns);
	if (r == 0)
		process_queue(s, s->now_ns + ns, all);
	/* programs that the records have identified */
	process_table_publish(s->parts.procs, s->now_ns);
	return r;
}

/* The longest time for tables at the end. */
static uint64_t stop_ns(const struct session *s)
{
	return s->opts.stop_ns ? s->opts.stop_ns : UINT64_MAX / 4;
}

/* Waits for parked records until @until_ns; the remaining ones are processed if @all. */
static void wait_for_parked(struct session *s, uint64_t until_ns, bool all)
{
	while (record_decoder_n_parked(s->parts.decoder)) {
		uint64_t now_ns = clock_monotonic_ns();
		bool is_late = now_ns >= until_ns;

		if (is_late && !all)
			return;
		if (!is_late)
			table_maker_poll(file_table_maker(s->parts.files), SESSION_POLL_MS);
		(void)apply_events(s);
		record_decoder_resume(s->parts.decoder, is_late ? RECORD_NO_TABLES : 0, now_ns);
	}
}

/* ---- waiting threads ------------------------------------------------------------- */

/*
 * Counts all waits up to @now_ns. The ring is drained after the states were read: what those
 * do not contain yet is then in the queue.
 */
static int count_waits(struct session *s, uint64_t now_ns, bool is_last)
{
	struct waiting_states states = { 0 };
	int r;

	r = session_drain(s, WINDOW_NS, true);
	if (r == 0)
		r = waiting_threads_read(&s->waiting, &states);
	if (r == 0)
		r = session_drain(s, WINDOW_NS, true);
	/* stacks that are not there by now are missing in this window */
	wait_for_parked(s, clock_monotonic_ns() + (is_last ? stop_ns(s) : WINDOW_NS), is_last);
	if (r == 0)
		waiting_threads_count(&s->waiting, &states, now_ns, is_last);
	waiting_states_fini(&states);
	waiting_threads_end_window(&s->waiting);
	return r;
}

int session_count_waits(struct session *s)
{
	return s->opts.sampler.off_cpu ? count_waits(s, clock_monotonic_ns(), false) : 0;
}

size_t session_offcpu_bytes(const struct session *s)
{
	return offcpu_bytes(record_decoder_offcpu(s->parts.decoder));
}

const char *session_offcpu_error(const struct session *s)
{
	return sampler_offcpu_error(s->parts.sampler);
}

/* ---- the loop -------------------------------------------------------------------- */

/* Returns true for errors that pass when other parts of the process close files or free memory. */
static bool is_transient(int r)
{
	return r == -EMFILE || r == -ENFILE || r == -ENOMEM;
}

/*
 * Reopens the events and rings of CPUs that were offline. Without descriptors or memory for that,
 * the profiler continues with the CPUs that it has, and the next call tries again.
 */
static int follow_cpus(struct session *s, struct err *err)
{
	struct cpu_list back = { 0 };
	int r = sampler_update_cpus(s->parts.sampler, &back, err);

	for (size_t i = 0; i < back.len && r == 0; i++)
		r = sideband_reopen_cpu(s->parts.sideband, back.data[i], err);
	if (back.len)
		process_table_reread_all(s->parts.procs);
	vec_fini(&back);
	if (r >= 0)
		r = sideband_update_cpus(s->parts.sideband, err);
	if (!is_transient(r))
		return r;
	s->n_cpu_errors++;
	return 0;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Releases the memory of readers that have had nothing to do for a while. */
static void stop_idle_readers(struct session *s)
{
	struct role_counters c;

	role_pool_counters(s->parts.readers, &c);
	if (c.requests != s->n_requests)
		s->busy_ns = s->now_ns;
	else if (s->now_ns - s->busy_ns > IDLE_NS)
		role_pool_stop_idle(s->parts.readers);
	s->n_requests = c.requests;
}

void session_stop_idle_readers(struct session *s)
{
	role_pool_stop_idle(s->parts.readers);
	lang_client_stop_idle(s->parts.lang_client);
}

/*
 * Requests again the files that could not be read because an opener hung or was killed. The
 * interval between two attempts is doubled as long as such files remain.
 */
static void retry_unread_files(struct session *s)
{
	if (s->now_ns < s->unread_due_ns)
		return;
	if (!process_table_reread_unread(s->parts.procs)) {
		s->unread_wait_ns = 0;
		return;
	}
	s->unread_wait_ns = earlier(2 * s->unread_wait_ns + UPKEEP_NS, UNREAD_WAIT_MAX_NS);
	s->unread_due_ns = s->now_ns + s->unread_wait_ns;
}

static int session_upkeep(struct session *s, struct err *err)
{
	struct ring_reader_state st;
	uint64_t since_ns;

	if (s->opts.sampler.off_cpu && !s->is_behind)
		waiting_threads_capture_if_due(&s->waiting, s->now_ns);
	if (s->now_ns < s->next_upkeep_ns)
		return 0;
	s->next_upkeep_ns = s->now_ns + UPKEEP_NS;
	/* queued and parked records refer to the state of processes at that time */
	ring_reader_state(s->parts.ring, &st);
	since_ns = earlier(st.since_ns, record_decoder_parked_since_ns(s->parts.decoder));
	process_table_reap(s->parts.procs, earlier(since_ns, s->now_ns));
	process_table_sweep(s->parts.procs);
	table_maker_retry(file_table_maker(s->parts.files), s->now_ns);
	unwind_tables_reap(s->parts.tables, s->now_ns);
	lang_client_upkeep(s->parts.lang_client);
	resident_programs_reap(&s->parts.memory);
	stop_idle_readers(s);
	retry_unread_files(s);
	return s->paused ? 0 : follow_cpus(s, err);
}

int session_pause(struct session *s, bool pause)
{
	s->paused = pause;
	return sampler_pause(s->parts.sampler, pause);
}

/* While the memory of programs is read. */
static void take_turn(void *ctx)
{
	(void)session_drain(ctx, POLL_NS, false);
}

int session_start(struct session *s, struct err *err)
{
	int r = process_table_scan(s->parts.procs);

	if (r < 0)
		return err_set(err, r, "cannot read /proc: %s", strerror(-r));
	process_table_sweep(s->parts.procs);
	r = apply_events(s);
	if (r < 0)
		return err_set(err, r, "cannot watch processes: %s", strerror(-r));
	if (s->opts.rules.select)
		session_set_rules(s, &s->opts.rules);
	r = ring_reader_start(s->parts.ring);
	if (r < 0)
		return err_set(err, r, "cannot start the ring reader thread: %s", strerror(-r));
	sampler_wait_for_programs(s->parts.sampler);
	r = sampler_attach(s->parts.sampler, err);
	s->start_ns = s->now_ns = clock_monotonic_ns();
	s->parts.memory.turn = take_turn;
	s->parts.memory.ctx = s;
	if (r == 0)
		r = session_parts_start_memory(&s->parts, err);
	if (r < 0 || !s->opts.sampler.off_cpu)
		return r;
	s->wait_ns = 2 * POLL_NS;
	(void)waiting_threads_capture(&s->waiting, s->start_ns);
	return 0;
}

uint64_t session_start_ns(const struct session *s)
{
	return s->start_ns;
}

int session_poll(struct session *s, struct err *err)
{
	int r = session_drain(s, POLL_NS, false);

	if (r < 0)
		return err_set(err, r, "cannot read samples: %s", strerror(-r));
	session_parts_update_allocs(&s->parts);
	return session_upkeep(s, err);
}

int session_stop(struct session *s, struct err *err)
{
	uint64_t now_ns = clock_monotonic_ns();
	int r = resident_programs_read(&s->parts.memory);

	session_parts_detach(&s->parts);
	if (r == 0)
		r = session_drain(s, stop_ns(s), true);
	wait_for_parked(s, now_ns + stop_ns(s), true);
	if (r == 0)
		r = session_parts_attribute(&s->parts);
	if (r == 0 && s->opts.sampler.off_cpu)
		r = count_waits(s, now_ns, true);
	restore_priority(s);
	return r < 0 ? err_set(err, r, "cannot read samples: %s", strerror(-r)) : 0;
}

void session_set_keep_cpus(struct session *s, bool keep)
{
	record_decoder_set_keep_cpus(s->parts.decoder, keep);
}

void session_set_rules(struct session *s, const struct process_rules *rules)
{
	process_table_set_rules(s->parts.procs, rules);
}

const _Atomic uint32_t *session_kernel_changes(const struct session *s)
{
	return &s->kernel_changes;
}

struct langs *session_langs(struct session *s)
{
	return s->parts.langs;
}

const struct resident *session_resident(const struct session *s)
{
	return s->parts.memory.resident;
}

struct sample_counts *session_counts(struct session *s)
{
	return record_decoder_counts(s->parts.decoder);
}

struct sample_counts *session_swap_counts(struct session *s, struct sample_counts *fresh)
{
	return record_decoder_swap_counts(s->parts.decoder, fresh);
}

void session_apply_events(struct session *s)
{
	(void)apply_events(s);
}

bool session_ran_until(struct session *s, uint32_t pid, uint64_t start_ns, uint64_t until_ns,
		       bool any_program)
{
	return process_table_ran_until(s->parts.procs, pid, start_ns, until_ns, any_program);
}

bool session_program_has_ended(struct session *s, uint32_t pid, uint64_t start_ns)
{
	const struct process *p = process_table_find(s->parts.procs, pid, UINT64_MAX);

	return !p || p->end_ns || p->start_ns != start_ns;
}

void session_sweep_files(struct session *s, const struct sample_counts *kept)
{
	uint64_t now_ns = clock_monotonic_ns();

	/* queued records refer to files, too */
	if (s->is_behind || (now_ns < s->next_sweep_ns && !file_table_needs_sweep(s->parts.files)))
		return;
	s->next_sweep_ns = now_ns + SWEEP_NS;
	session_parts_sweep_files(&s->parts, kept, now_ns);
}

size_t session_table_bytes(const struct session *s, uint32_t id, uint64_t *out_rows)
{
	return unwind_tables_file_bytes(s->parts.tables, id, out_rows);
}

struct file_table *session_files(struct session *s)
{
	return s->parts.files;
}

struct jit_symbols *session_jits(struct session *s)
{
	return s->parts.jits;
}

int session_stats(struct session *s, struct session_stats *out)
{
	int r = session_parts_stats(&s->parts, out);

	out->n_cpu_errors = s->n_cpu_errors;
	return r;
}

uint64_t session_n_lost(const struct session_stats *st)
{
	return st->sampler.counts.n[COUNTER_LOST] + st->records.n_bad + st->records.n_no_room;
}

uint64_t session_take_gap(struct session *s)
{
	return ring_reader_take_gap(s->parts.ring);
}
