/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in a turn matters: first what processes did, then the samples,
 * so that a sample finds its process as it was; what the samples show to be
 * unknown is read on the spot.
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
#include "agent/sideband.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "lang/lang.h"
#include "proc/memory.h"
#include "proc/stat.h"
#include "unwind/walk.h"

#define UPKEEP_NS 1000000000ULL

enum {
	PRIORITY = -15,
	DRAIN_NS = 20000000,
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
	struct collect *collect;
	struct offcpu *off;
	struct jits *jits;
	int epoll_fd;
	uint64_t now_ns; /* of this turn */
	uint64_t start_ns;
	uint64_t sideband_ns; /* what happened up to then has been taken in */
	uint64_t next_upkeep_ns, next_ask_ns;
	bool paused;
	int own_priority;               /* as it was started */
	uint32_t read_pid;              /* whose memory is being read */
	uint64_t woven[LANG_STACK_MAX]; /* the stack in work */
	bool is_asleep;                 /* the record in work is of a thread asleep */
	uint64_t n_off_stacks, n_off_complete;
	uint64_t n_samples, n_complete, n_raw, n_raw_failed, n_bad_records, n_excluded, n_no_room;
	uint64_t walk_errors[WALK_ERR_MAX];
};

static int session_watch(struct session *s, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/* More would be over the limit. */
static bool is_full(const struct session *s)
{
	return collect_is_full(s->collect, s->opts.max_counts_bytes);
}

/* Time that a thread waited. */
static void count_wait(void *ctx, const struct off_time *t)
{
	struct session *s = ctx;
	struct collect_wait wait = { .ns = t->ns,
				     .count = t->count,
				     .state = (uint8_t)t->state,
				     .is_thinned = t->is_thinned };
	int r;

	if (is_full(s)) {
		s->n_no_room += t->count;
		return;
	}
	r = collect_add_off(s->collect, t->thread, &wait, t->words, t->n_words);

	if (r == COLLECT_NEW_THREAD && s->opts.on_thread) {
		const struct process *p = procs_find(s->procs, t->thread->pid, s->now_ns);

		s->opts.on_thread(s->opts.ctx, t->thread, p ? p->ppid : 0);
	}
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
		r = collect_new(&s->collect, opts->keep_times);
	if (r == 0)
		r = offcpu_new(&s->off, count_wait, s);
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
	r = session_make_tables(s, opts);
	if (r < 0)
		return r;
	r = session_watch(s, sampler_fd(s->sampler));
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
	jits_free(s->jits);
	offcpu_free(s->off);
	procs_free(s->procs);
	collect_free(s->collect);
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
	return sampler_fd(s->sampler);
}

/* ---- samples -------------------------------------------------------------- */

static struct collect_thread thread_of(struct session *s, const struct record_header *h)
{
	const struct process *p = procs_find(s->procs, h->pid, h->time_ns);
	struct collect_thread t = { .pid = h->pid, .tid = h->tid };

	memcpy(t.comm, h->comm, sizeof(t.comm));
	t.comm[sizeof(t.comm) - 1] = '\0';
	memcpy(t.process_comm, p && p->comm[0] ? p->comm : t.comm, sizeof(t.process_comm));
	if (p) {
		t.exe = p->exe;
		t.start_ns = p->start_ns;
	}
	return t;
}

/* The stack of a thread that waits, unless it has gone on while it was read. */
static void keep_stack(struct session *s, const struct record_header *h,
		       const struct collect_thread *t, const uint64_t *words, size_t n)
{
	struct off_thread now;

	if (s->is_asleep &&
	    (sampler_off_thread(s->sampler, h->tid, &now) < 0 || now.out_ns != h->time_ns))
		return;
	(void)offcpu_stack(s->off, t, h->time_ns, words, n);
}

/* The stack in work, of @n words. */
static void count_stack(struct session *s, const struct record_header *h, size_t n)
{
	const uint64_t *words = s->woven;
	struct collect_thread t = thread_of(s, h);
	const struct process *p;
	int r;

	if (is_full(s)) {
		s->n_no_room++;
		return;
	}
	if (s->opts.keep_cpus && !(h->flags & RECORD_OFF_CPU))
		t.cpu_plus_1 = h->cpu + 1;
	if (s->opts.max_stack && n > s->opts.max_stack)
		n = s->opts.max_stack;
	n = collect_cut(s->collect, s->opts.max_counts_bytes, s->woven, n);
	for (size_t i = h->n_kernel; i < n; i++)
		if (words[i] >> FRAME_KIND_SHIFT == FRAME_ADDRESS)
			jits_note(s->jits, h->pid, t.start_ns);
	if (h->flags & RECORD_OFF_CPU) {
		keep_stack(s, h, &t, words, n);
		return;
	}
	r = collect_add_of(s->collect, &t, (uint8_t)h->event, h->time_ns, words, n);
	s->n_samples += r >= 0;
	if (r != COLLECT_NEW_THREAD || !s->opts.on_thread)
		return;
	p = procs_find(s->procs, h->pid, h->time_ns);
	s->opts.on_thread(s->opts.ctx, &t, p ? p->ppid : 0);
}

/* The reason that ends an incomplete stack. */
static void count_end(struct session *s, const struct record_header *h, const uint64_t *words,
		      size_t n, bool complete)
{
	uint64_t why = n ? words[n - 1] : 0;
	bool is_cut = n && why >> FRAME_KIND_SHIFT == FRAME_ERROR;

	if (h->flags & RECORD_OFF_CPU) {
		s->n_off_stacks++;
		s->n_off_complete += complete && !is_cut;
		return;
	}
	if (n && why >> FRAME_KIND_SHIFT == FRAME_ERROR &&
	    (why & FRAME_PAYLOAD_MASK) < WALK_ERR_MAX)
		s->walk_errors[why & FRAME_PAYLOAD_MASK]++;
	else if (complete)
		s->n_complete++;
}

/* Where the virtual machine @vm is mapped in the process that is being read. */
static uint64_t process_bias(void *ctx, uint32_t vm)
{
	struct session *s = ctx;

	return procs_vm_bias(s->procs, s->read_pid, vm);
}

static int read_process(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct session *s = ctx;

	return proc_memory_read(s->read_pid, addr, dst, len);
}

/* Count a walked stack, with the frames of virtual machines where they belong. */
static void weave_and_count(struct session *s, const struct record_header *h,
			    struct lang_stack *stack)
{
	const struct process *p = procs_find(s->procs, h->pid, h->time_ns);
	size_t n;

	s->read_pid = h->pid;
	stack->process = (struct lang_process){
		.pid = h->pid,
		.start_ns = p ? p->start_ns : 0,
		.read = read_process,
		.bias = process_bias,
		.ctx = s,
	};
	n = langs_weave(s->langs, stack, s->woven);
	count_stack(s, h, n);
}

static void need_file(void *ctx, uint32_t file)
{
	struct session *s = ctx;

	files_need_table(s->files, file, s->now_ns);
}

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

static bool ends_unmapped(const uint64_t *words, size_t n)
{
	return n && words[n - 1] == FRAME_WORD(FRAME_ERROR, WALK_ERR_PC_UNMAPPED);
}

/*
 * Walk a stack copy with what is known of its process. An address that is in
 * no mapping may be newer than what was read of the side-band: that is read
 * again, once. Number of words; 0 if the process has gone unseen.
 */
static size_t walk_raw(struct session *s, const struct raw_record *rec, const uint64_t **out_words,
		       bool *out_complete)
{
	const struct record_header *h = &rec->head;
	struct unwind_walk_input in = {
		.stack = rec->stack,
		.stack_len = h->stack_len,
		.stack_at = rec->stack_at,
		.read = read_process,
		.need_file = need_file,
		.ctx = s,
	};
	size_t n = 0;

	memcpy(in.regs, rec->regs, sizeof(in.regs));
	in.fs_base = rec->fs_base;
	s->read_pid = h->pid;
	for (int turn = 0; turn < 2; turn++) {
		if (procs_mappings(s->procs, h->pid, h->time_ns, s->now_ns, &in.process) < 0)
			return 0;
		n = unwind_walk(s->walker, &in, out_words, out_complete);
		if (!ends_unmapped(*out_words, n))
			return n;
		if (turn == 0)
			(void)take_in_sideband(s);
	}
	procs_unmapped_is_final(s->procs, h->pid);
	return n;
}

static void on_raw(struct session *s, const struct raw_record *rec)
{
	uint64_t words[RECORD_WORDS_MAX];
	const uint64_t *walked;
	size_t n = rec->head.n_kernel, n_walked;
	struct lang_stack stack = { .words = words };
	bool complete = false;

	s->n_raw++;
	memcpy(words, rec->kernel, n * sizeof(*words));
	n_walked = walk_raw(s, rec, &walked, &complete);
	if (n_walked > RECORD_WORDS_MAX - n)
		n_walked = RECORD_WORDS_MAX - n;
	if (n_walked) {
		memcpy(words + n, walked, n_walked * sizeof(*words));
		n += n_walked;
		stack.n_vm_words = unwind_walk_vm_words(s->walker, &stack.vm_words, &stack.cut);
	} else {
		s->n_raw_failed++;
		words[n++] = FRAME_WORD(FRAME_ADDRESS, rec->regs[UREG_RIP]);
		words[n++] = FRAME_WORD(FRAME_ERROR, WALK_ERR_NO_PROCESS);
	}
	count_end(s, &rec->head, words, n, complete);
	stack.n_words = n;
	weave_and_count(s, &rec->head, &stack);
}

static void on_walked(struct session *s, const struct sample_record *rec)
{
	const uint64_t *words = (const uint64_t *)rec->words;
	struct lang_stack stack = {
		.words = words,
		.n_words = rec->head.n_words,
		.vm_words = words + rec->head.n_words,
		.n_vm_words = rec->head.n_vm_words,
		.cut = rec->head.flags & RECORD_VM_CUT,
	};

	/* a kernel thread, or a recording without user stacks, needs no outermost frame */
	count_end(s, &rec->head, words, stack.n_words, true);
	weave_and_count(s, &rec->head, &stack);
}

static bool is_own(struct session *s, const struct record_header *h)
{
	const struct process *p = procs_find(s->procs, h->pid, h->time_ns);

	return (pid_t)h->pid == getpid() || (p && (pid_t)p->ppid == getpid());
}

static void on_wait_end(struct session *s, const struct off_record *rec)
{
	struct collect_thread t = thread_of(s, &rec->head);

	offcpu_end(s->off, rec, &t);
}

/* The ring is ours, but a record is believed only as far as it is long. */
static void on_record(void *ctx, const void *record, size_t len)
{
	const struct record_header *h = record;
	struct session *s = ctx;

	if (len >= sizeof(*h) && h->time_ns > s->sideband_ns)
		(void)take_in_sideband(s);
	if (len >= sizeof(*h) && h->event >= EVENTS_MAX)
		s->n_bad_records++;
	else if (s->opts.exclude_self && len >= sizeof(*h) && is_own(s, h))
		s->n_excluded++;
	else if (len >= sizeof(struct off_record) &&
		 (h->type == RECORD_OFF || h->type == RECORD_OFF_LAST))
		on_wait_end(s, record);
	else if (len >= sizeof(*h) && h->type == RECORD_SAMPLE &&
		 len >= sizeof(*h) + (h->n_words + h->n_vm_words) * sizeof(uint64_t))
		on_walked(s, record);
	else if (len >= offsetof(struct raw_record, stack) && h->type == RECORD_RAW &&
		 h->n_kernel <= KERNEL_FRAMES_MAX &&
		 len >= offsetof(struct raw_record, stack) + h->stack_len)
		on_raw(s, record);
	else
		s->n_bad_records++;
}

static int session_drain(struct session *s)
{
	int r;

	s->now_ns = clock_monotonic_ns();
	r = take_in_sideband(s);
	if (r < 0)
		return r;
	r = sampler_consume(s->sampler, on_record, s);
	return r < 0 ? r : 0;
}

/* ---- threads that wait -------------------------------------------------------- */

static void on_asleep(void *ctx, const void *record, size_t len)
{
	struct session *s = ctx;

	s->is_asleep = true;
	on_record(s, record, len);
	s->is_asleep = false;
	/* reading so many stacks takes its time, while the ring fills */
	if (clock_monotonic_ns() - s->now_ns > DRAIN_NS)
		(void)session_drain(s);
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
	struct collect_thread thread;

	/* after an exec, a thread has another's number, and its own is nobody's */
	if (is_gone(t->pid, tid)) {
		sampler_off_forget(s->sampler, tid);
		offcpu_forget(s->off, tid);
		return;
	}
	if (s->opts.exclude_self && is_own(s, &h))
		return;
	if (!offcpu_knows(s->off, tid))
		proc_comm((int)tid, h.comm);
	thread = thread_of(s, &h);
	(void)offcpu_cut(s->off, tid, t, &thread, now_ns, is_last);
}

static double factor_of(void *ctx, const struct collect_thread *thread)
{
	return offcpu_factor(ctx, thread);
}

/*
 * Count what has been waited up to @now_ns. The ring is read after the threads, so that
 * what the threads' states say has not yet happened is in it.
 */
static int cut_waiting(struct session *s, uint64_t now_ns, bool is_last)
{
	struct waiting w = { 0 };
	int r;

	r = sampler_off_asleep(s->sampler, 0, on_asleep, s);
	if (r == 0)
		r = sampler_off_threads(s->sampler, note_waiting, &w);
	if (r == 0)
		r = session_drain(s);
	for (size_t i = 0; i < w.tids.len && r == 0; i++)
		cut_one(s, w.tids.data[i], &w.threads.data[i], now_ns, is_last);
	vec_fini(&w.tids);
	vec_fini(&w.threads);
	collect_scale(s->collect, factor_of, s->off);
	offcpu_next(s->off);
	return r;
}

int session_cut_off(struct session *s)
{
	return s->opts.sampler.off_cpu ? cut_waiting(s, clock_monotonic_ns(), false) : 0;
}

size_t session_off_bytes(const struct session *s)
{
	return offcpu_bytes(s->off);
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
	if (!s->opts.sampler.off_cpu || s->now_ns < s->next_ask_ns)
		return;
	(void)sampler_off_asleep(s->sampler, 0, on_asleep, s);
	s->next_ask_ns = s->now_ns + ASK_NS + offcpu_count(s->off) * ASK_THREAD_NS;
}

static int session_upkeep(struct session *s, struct err *err)
{
	ask_waiting(s);
	if (s->now_ns < s->next_upkeep_ns)
		return 0;
	s->next_upkeep_ns = s->now_ns + UPKEEP_NS;
	procs_reap(s->procs, s->now_ns);
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
	int r = session_drain(s);

	if (r < 0)
		return err_set(err, r, "reading samples: %s", strerror(-r));
	return session_upkeep(s, err);
}

int session_stop(struct session *s, struct err *err)
{
	uint64_t now_ns = clock_monotonic_ns();
	int r;

	sampler_detach(s->sampler);
	r = session_drain(s);
	if (r == 0 && s->opts.sampler.off_cpu)
		r = cut_waiting(s, now_ns, true);
	go_as_before(s);
	return r < 0 ? err_set(err, r, "reading samples: %s", strerror(-r)) : 0;
}

void session_keep_cpus(struct session *s, bool keep)
{
	s->opts.keep_cpus = keep;
}

struct langs *session_langs(struct session *s)
{
	return s->langs;
}

struct collect *session_collect(struct session *s)
{
	return s->collect;
}

struct collect *session_swap_collect(struct session *s, struct collect *fresh)
{
	struct collect *old = s->collect;

	s->collect = fresh;
	return old;
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
	if (!files_want_sweep(s->files))
		return;
	procs_mark_files(s->procs);
	mark_collect(s->files, s->collect);
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
	int r;

	*out = (struct session_stats){
		.n_samples = s->n_samples,
		.n_complete = s->n_complete,
		.n_raw = s->n_raw,
		.n_raw_failed = s->n_raw_failed,
		.n_excluded = s->n_excluded,
		.n_bad_records = s->n_bad_records,
		.n_no_room = s->n_no_room,
		.n_off_stacks = s->n_off_stacks,
		.n_off_complete = s->n_off_complete,
	};
	memcpy(out->walk_errors, s->walk_errors, sizeof(out->walk_errors));
	r = sampler_stats(s->sampler, &out->sampler);
	procs_stats(s->procs, &out->procs);
	unwind_tables_stats(s->tables, &out->tables);
	return r;
}
