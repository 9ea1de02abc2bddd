/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in a turn matters: first what processes did, then the samples,
 * so that a sample finds its process as it was; what the samples show to be
 * unknown is read on the spot.
 *
 * That may take long: a program that is new has its unwind tables built, and whoever reads a
 * process waits for its locks. So it is the reader that empties the ring, and what it has is
 * worked off for a while in each turn, oldest first.
 */
#include "agent/session.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/collect.h"
#include "agent/files.h"
#include "agent/jits.h"
#include "agent/offcpu.h"
#include "agent/reader.h"
#include "agent/records.h"
#include "agent/sideband.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "lang/lang.h"
#include "proc/stat.h"
#include "unwind/walk.h"

#define UPKEEP_NS 1000000000ULL

enum {
	PRIORITY = -15,
	SIDEBAND_NS = 20000000, /* so often it is read while tables are built, */
	TURN_NS = 50000000,     /* for so long in a turn */
	CUT_NS = 500000000,     /* and at the end of a window, where all of it has to be */
	BACKLOG_BYTES = 64 << 20,
	ASK_NS = 150000000,    /* how often threads are asked for their stacks at most, */
	ASK_THREAD_NS = 50000, /* and so much later for each of them */
};

struct session {
	struct session_opts opts;
	struct sampler *sampler;
	struct sideband *sideband;
	struct unwind_tables *tables;
	struct unwind_walker *walker;
	struct langs *langs;
	struct files *files;
	struct procs *procs;
	struct records *records;
	struct jits *jits;
	struct reader *reader;
	int epoll_fd;
	bool is_behind;  /* something waits for the next turn */
	uint64_t now_ns; /* of this turn */
	uint64_t start_ns;
	uint64_t sideband_ns; /* what happened up to then has been taken in */
	uint64_t next_upkeep_ns, next_ask_ns;
	bool paused;
	int own_priority; /* as it was started */
};

static int session_watch(struct session *s, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/* ---- what happened ---------------------------------------------------------- */

static void on_sideband(void *ctx, const struct sideband_event *ev)
{
	struct session *s = ctx;

	procs_handle(s->procs, ev);
}

/* Samples may be newer than the turn: first what happened before them. */
static int take_in_sideband(struct session *s)
{
	uint64_t now_ns = clock_monotonic_ns();
	int r = sideband_consume(s->sideband, on_sideband, s);

	if (r < 0)
		return r;
	s->sideband_ns = now_ns;
	procs_publish(s->procs, now_ns);
	return 0;
}

static void take_in(void *ctx, uint64_t time_ns)
{
	struct session *s = ctx;

	if (time_ns > s->sideband_ns)
		(void)take_in_sideband(s);
}

static void need_file(void *ctx, uint32_t file)
{
	struct session *s = ctx;
	uint64_t now_ns = clock_monotonic_ns();

	files_need_table(s->files, file, now_ns);
	if (now_ns - s->sideband_ns > SIDEBAND_NS)
		(void)take_in_sideband(s);
}

/* ---- set-up ----------------------------------------------------------------- */

static int session_make_records(struct session *s)
{
	const struct session_opts *o = &s->opts;
	const struct records_opts opts = {
		.sampler = s->sampler,
		.walker = s->walker,
		.langs = s->langs,
		.procs = s->procs,
		.jits = s->jits,
		.take_in = take_in,
		.need_file = need_file,
		.ctx = s,
		.on_thread = o->on_thread,
		.thread_ctx = o->ctx,
		.keep_times = o->keep_times,
		.keep_cpus = o->keep_cpus,
		.exclude_self = o->exclude_self,
		.max_stack = o->max_stack,
		.max_counts_bytes = o->max_counts_bytes,
	};

	return records_new(&s->records, &opts);
}

static int session_make_tables(struct session *s, const struct session_opts *opts)
{
	struct unwind_tables_memory mem;
	struct vm_tables vms;
	int r;

	sampler_vm_tables(s->sampler, &vms);

	sampler_tables_memory(s->sampler, &mem);
	r = unwind_tables_new(&s->tables, &mem);
	if (r == 0)
		r = unwind_walker_new(&s->walker, s->tables);
	if (r == 0)
		r = files_new(&s->files, s->tables);
	if (r == 0)
		r = langs_new(&s->langs, &vms, !opts->sampler.all_native);
	if (r == 0 && opts->signatures)
		langs_want_signatures(s->langs);
	if (r == 0) {
		files_set_langs(s->files, s->langs);
		unwind_walker_set_vms(s->walker, &vms);
	}
	if (r == 0)
		r = procs_new(&s->procs, s->files, s->tables, s->sampler);
	if (r == 0)
		procs_set_langs(s->procs, s->langs);
	if (r == 0)
		r = jits_new(&s->jits, s->procs);
	if (r == 0)
		r = session_make_records(s);
	return r;
}

/*
 * Until it has sampled, the agent goes first: what it has to do is little, and on
 * a busy machine the ring would be full before its turn came. Without the
 * right to, it samples as it is.
 */
void session_go_first(void)
{
	(void)setpriority(PRIO_PROCESS, 0, PRIORITY);
}

static void go_as_before(const struct session *s)
{
	if (!s->opts.stays_first)
		(void)setpriority(PRIO_PROCESS, 0, s->own_priority);
}

int session_open(struct session **out, const struct session_opts *opts, struct err *err)
{
	_cleanup_(session_freep) struct session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->opts = *opts;
	s->own_priority = getpriority(PRIO_PROCESS, 0);
	session_go_first();
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return err_set(err, -errno, "epoll: %s", strerror(errno));
	r = sampler_open(&s->sampler, &opts->sampler, err);
	if (r < 0)
		return r;
	r = sideband_open(&s->sideband, err);
	if (r < 0)
		return r;
	r = reader_new(&s->reader, s->sampler,
		       opts->max_backlog_bytes ? opts->max_backlog_bytes : BACKLOG_BYTES, err);
	if (r < 0)
		return r;
	r = session_make_tables(s, opts);
	if (r < 0)
		return r;
	r = session_watch(s, reader_fd(s->reader));
	if (r == 0)
		r = session_watch(s, sideband_fd(s->sideband));
	if (r < 0)
		return err_set(err, r, "epoll: %s", strerror(-r));
	*out = steal_ptr(&s);
	return 0;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	reader_free(s->reader);
	records_free(s->records);
	jits_free(s->jits);
	procs_free(s->procs);
	files_free(s->files);
	langs_free(s->langs);
	unwind_walker_free(s->walker);
	unwind_tables_free(s->tables);
	sideband_free(s->sideband);
	sampler_free(s->sampler);
	closep(&s->epoll_fd);
	free(s);
}

int session_follow(struct session *s, uint32_t pid)
{
	return procs_follow(s->procs, pid);
}

int session_fd(const struct session *s)
{
	return s->epoll_fd;
}

int session_ring_fd(const struct session *s)
{
	return reader_fd(s->reader);
}

/* ---- reading ---------------------------------------------------------------- */

/*
 * Take what waits, until @until_ns; @all: the rest too, but no tables are built for that. Nor
 * are they for what is over the limit.
 */
static void work_off(struct session *s, uint64_t until_ns, bool all)
{
	struct reader_record r;

	while (reader_first(s->reader, &r)) {
		uint64_t now_ns = clock_monotonic_ns();
		bool late = now_ns >= until_ns;

		if (late && !all && !r.is_over) {
			reader_leave(s->reader);
			s->is_behind = true;
			return;
		}
		records_take(s->records, r.data, r.len, late || r.is_over ? RECORDS_NO_TABLES : 0,
			     now_ns);
		reader_pop(s->reader);
	}
	s->is_behind = false;
}

/* @all: nothing waits afterwards; tables are built for @ns at most. */
static int session_drain(struct session *s, uint64_t ns, bool all)
{
	int r;

	s->now_ns = clock_monotonic_ns();
	r = take_in_sideband(s);
	if (r == 0)
		r = reader_empty(s->reader);
	if (r == 0)
		work_off(s, s->now_ns + ns, all);
	return r;
}

/* ---- threads that wait -------------------------------------------------------- */

static void on_asleep(void *ctx, const void *record, size_t len)
{
	struct session *s = ctx;

	records_take(s->records, record, len, RECORDS_ASLEEP, clock_monotonic_ns());
}

/* Threads off the CPU as they were at one time. */
struct waiting {
	struct {
		VEC(uint32_t);
	} tids;
	struct {
		VEC(struct off_thread);
	} threads;
};

static void note_waiting(void *ctx, uint32_t tid, const struct off_thread *t)
{
	struct waiting *w = ctx;

	if (vec_push(&w->tids, tid) == 0 && vec_push(&w->threads, *t) < 0)
		w->tids.len--;
}

static bool is_gone(uint32_t pid, uint32_t tid)
{
	return syscall(SYS_tgkill, pid, tid, 0) < 0 && errno == ESRCH;
}

static void cut_one(struct session *s, uint32_t tid, const struct off_thread *t, uint64_t now_ns,
		    bool is_last)
{
	struct record_header h = { .pid = t->pid, .tid = tid, .time_ns = now_ns };
	struct offcpu *off = records_off(s->records);
	struct collect_thread thread;

	/* after an exec, a thread has another's number, and its own is nobody's */
	if (is_gone(t->pid, tid)) {
		sampler_off_forget(s->sampler, tid);
		offcpu_forget(off, tid);
		return;
	}
	if (s->opts.exclude_self && records_is_own(s->records, &h))
		return;
	if (!offcpu_knows(off, tid))
		proc_comm((int)tid, h.comm);
	thread = records_thread(s->records, &h);
	(void)offcpu_cut(off, tid, t, &thread, now_ns, is_last);
}

static struct collect_scale scale_of(void *ctx, const struct collect_thread *thread, uint8_t place)
{
	return offcpu_scale(ctx, thread, place);
}

/*
 * Count what has been waited up to @now_ns. The ring is read after the threads, so that
 * what the threads' states say has not yet happened is in it.
 */
static int cut_waiting(struct session *s, uint64_t now_ns, bool is_last)
{
	struct offcpu *off = records_off(s->records);
	struct waiting w = { 0 };
	int r;

	r = session_drain(s, CUT_NS, true);
	if (r == 0)
		r = sampler_off_asleep(s->sampler, 0, on_asleep, s);
	if (r == 0)
		r = sampler_off_threads(s->sampler, note_waiting, &w);
	if (r == 0)
		r = session_drain(s, CUT_NS, true);
	for (size_t i = 0; i < w.tids.len && r == 0; i++)
		cut_one(s, w.tids.data[i], &w.threads.data[i], now_ns, is_last);
	vec_fini(&w.tids);
	vec_fini(&w.threads);
	collect_scale(records_collect(s->records), scale_of, off);
	offcpu_next(off);
	return r;
}

int session_cut_off(struct session *s)
{
	return s->opts.sampler.off_cpu ? cut_waiting(s, clock_monotonic_ns(), false) : 0;
}

size_t session_off_bytes(const struct session *s)
{
	return offcpu_bytes(records_off(s->records));
}

const char *session_off_refusal(const struct session *s)
{
	return sampler_off_refusal(s->sampler);
}

/* ---- the loop's turn ------------------------------------------------------ */

/* CPUs that went offline and came back need their events and rings again. */
static int follow_cpus(struct session *s, struct err *err)
{
	struct cpu_list back = { 0 };
	int r = sampler_update_cpus(s->sampler, &back, err);

	for (size_t i = 0; i < back.len && r == 0; i++)
		r = sideband_reopen_cpu(s->sideband, back.data[i], err);
	if (back.len)
		procs_reread_all(s->procs);
	vec_fini(&back);
	return r < 0 ? r : sideband_update_cpus(s->sideband, err);
}

/* Stacks of threads that have waited for long: the more threads there are, the seldomer. */
static void ask_waiting(struct session *s)
{
	if (!s->opts.sampler.off_cpu || s->now_ns < s->next_ask_ns || s->is_behind)
		return;
	(void)sampler_off_asleep(s->sampler, 0, on_asleep, s);
	s->next_ask_ns = s->now_ns + ASK_NS + offcpu_count(records_off(s->records)) * ASK_THREAD_NS;
}

static int session_upkeep(struct session *s, struct err *err)
{
	struct reader_state st;

	ask_waiting(s);
	if (s->now_ns < s->next_upkeep_ns)
		return 0;
	s->next_upkeep_ns = s->now_ns + UPKEEP_NS;
	/* what waits is of processes as they were then */
	reader_state(s->reader, &st);
	procs_reap(s->procs, st.since_ns < s->now_ns ? st.since_ns : s->now_ns);
	unwind_tables_reap(s->tables, s->now_ns);
	return s->paused ? 0 : follow_cpus(s, err);
}

int session_pause(struct session *s, bool pause)
{
	s->paused = pause;
	return sampler_pause(s->sampler, pause);
}

int session_start(struct session *s, struct err *err)
{
	int r = procs_scan(s->procs);

	if (r < 0)
		return err_set(err, r, "can't read /proc: %s", strerror(-r));
	r = reader_start(s->reader);
	if (r < 0)
		return err_set(err, r, "can't start a thread: %s", strerror(-r));
	r = sampler_attach(s->sampler, err);
	s->start_ns = s->now_ns = clock_monotonic_ns();
	if (r < 0 || !s->opts.sampler.off_cpu)
		return r;
	(void)sampler_off_asleep(s->sampler, s->start_ns, on_asleep, s);
	return 0;
}

uint64_t session_start_ns(const struct session *s)
{
	return s->start_ns;
}

int session_turn(struct session *s, struct err *err)
{
	int r = session_drain(s, TURN_NS, false);

	if (r < 0)
		return err_set(err, r, "reading samples: %s", strerror(-r));
	return session_upkeep(s, err);
}

int session_stop(struct session *s, struct err *err)
{
	uint64_t now_ns = clock_monotonic_ns();
	int r;

	sampler_detach(s->sampler);
	r = session_drain(s, s->opts.stop_ns ? s->opts.stop_ns : UINT64_MAX / 2, true);
	if (r == 0 && s->opts.sampler.off_cpu)
		r = cut_waiting(s, now_ns, true);
	go_as_before(s);
	return r < 0 ? err_set(err, r, "reading samples: %s", strerror(-r)) : 0;
}

void session_keep_cpus(struct session *s, bool keep)
{
	records_keep_cpus(s->records, keep);
}

struct langs *session_langs(struct session *s)
{
	return s->langs;
}

struct collect *session_collect(struct session *s)
{
	return records_collect(s->records);
}

struct collect *session_swap_collect(struct session *s, struct collect *fresh)
{
	return records_swap_collect(s->records, fresh);
}

bool session_has_ended(struct session *s, uint32_t pid, uint64_t start_ns)
{
	const struct process *p = procs_find(s->procs, pid, UINT64_MAX);

	return !p || p->end_ns || p->start_ns != start_ns;
}

static void mark_word(struct files *f, uint64_t word)
{
	if (word >> FRAME_KIND_SHIFT == FRAME_NATIVE)
		files_mark(f, (uint32_t)((word & FRAME_PAYLOAD_MASK) >> FRAME_OFFSET_BITS));
}

static void mark_collect(struct files *f, const struct collect *c)
{
	for (uint32_t i = 0; i < collect_n_stacks(c); i++) {
		size_t n;
		const uint64_t *words = collect_stack(c, i, &n);

		for (size_t k = 0; k < n; k++)
			mark_word(f, words[k]);
	}
}

void session_sweep_files(struct session *s, const struct collect *kept)
{
	/* what waits names files, too */
	if (!files_want_sweep(s->files) || s->is_behind)
		return;
	procs_mark_files(s->procs);
	mark_collect(s->files, records_collect(s->records));
	mark_collect(s->files, kept);
	files_sweep(s->files, clock_monotonic_ns());
}

size_t session_table_bytes(const struct session *s, uint32_t id, uint64_t *out_rows)
{
	return unwind_tables_file_bytes(s->tables, id, out_rows);
}

struct files *session_files(struct session *s)
{
	return s->files;
}

struct jits *session_jits(struct session *s)
{
	return s->jits;
}

int session_stats(struct session *s, struct session_stats *out)
{
	struct reader_state waiting;
	int r;

	reader_state(s->reader, &waiting);
	*out = (struct session_stats){ .backlog_bytes = waiting.bytes };
	records_stats(s->records, &out->records);
	out->records.n_no_room += waiting.n_lost;
	r = sampler_stats(s->sampler, &out->sampler);
	procs_stats(s->procs, &out->procs);
	unwind_tables_stats(s->tables, &out->tables);
	return r;
}

uint64_t session_n_lost(const struct session_stats *st)
{
	return st->sampler.counts.n[COUNTER_LOST] + st->records.n_bad + st->records.n_no_room;
}

uint64_t session_take_gap(struct session *s)
{
	return reader_take_gap(s->reader);
}
