/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/waiting_threads.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/stat.h"
#include "profiler/offcpu.h"
#include "profiler/record_decoder.h"
#include "profiler/sample_counts.h"
#include "sampler/sampler.h"

enum {
	CAPTURE_NS = 150000000,    /* the shortest interval between two captures */
	CAPTURE_THREAD_NS = 50000, /* is extended by this for each known thread */
};

static void on_asleep(void *ctx, const void *record, size_t len)
{
	struct waiting_threads *w = ctx;

	record_decoder_add(w->decoder, record, len, RECORD_ASLEEP, clock_monotonic_ns());
}

int waiting_threads_capture(struct waiting_threads *w, uint64_t since_ns)
{
	return sampler_scan_sleepers(w->sampler, since_ns, on_asleep, w);
}

void waiting_threads_capture_if_due(struct waiting_threads *w, uint64_t now_ns)
{
	if (now_ns < w->next_capture_ns)
		return;
	(void)waiting_threads_capture(w, 0);
	w->next_capture_ns = now_ns + CAPTURE_NS +
			     offcpu_count(record_decoder_offcpu(w->decoder)) * CAPTURE_THREAD_NS;
}

void waiting_states_fini(struct waiting_states *s)
{
	vec_fini(&s->tids);
	vec_fini(&s->threads);
}

static void add_state(void *ctx, uint32_t tid, const struct off_thread *t)
{
	struct waiting_states *s = ctx;

	if (vec_push(&s->tids, tid) == 0 && vec_push(&s->threads, *t) < 0)
		s->tids.len--;
}

int waiting_threads_read(struct waiting_threads *w, struct waiting_states *out)
{
	int r = waiting_threads_capture(w, 0);

	return r == 0 ? sampler_each_thread(w->sampler, add_state, out) : r;
}

static bool is_gone(uint32_t pid, uint32_t tid)
{
	return syscall(SYS_tgkill, pid, tid, 0) < 0 && errno == ESRCH;
}

static void count_wait(const struct waiting_threads *w, uint32_t tid, const struct off_thread *t,
		       uint64_t now_ns, bool is_last)
{
	struct record_header h = { .pid = t->pid, .tid = tid, .time_ns = now_ns };
	struct offcpu *offcpu = record_decoder_offcpu(w->decoder);
	struct sample_counts_thread thread;

	/*
	 * an exec gives the calling thread the pid of the process; its own tid vanishes
	 * without an event
	 */
	if (is_gone(t->pid, tid)) {
		sampler_remove_thread(w->sampler, tid);
		offcpu_remove_thread(offcpu, tid);
		return;
	}
	if (w->exclude_self && record_decoder_is_own(w->decoder, &h))
		return;
	if (!offcpu_has_thread(offcpu, tid))
		proc_comm((int)tid, h.comm);
	thread = record_decoder_thread(w->decoder, &h);
	(void)offcpu_end_window(offcpu, tid, t, &thread, now_ns, is_last);
}

void waiting_threads_count(const struct waiting_threads *w, const struct waiting_states *states,
			   uint64_t now_ns, bool is_last)
{
	for (size_t i = 0; i < states->tids.len; i++)
		count_wait(w, states->tids.data[i], &states->threads.data[i], now_ns, is_last);
}

static struct sample_counts_scale get_scale(void *ctx, const struct sample_counts_thread *thread,
					    uint8_t place)
{
	return offcpu_scale(ctx, thread, place);
}

void waiting_threads_end_window(const struct waiting_threads *w)
{
	struct offcpu *offcpu = record_decoder_offcpu(w->decoder);

	sample_counts_scale(record_decoder_counts(w->decoder), get_scale, offcpu);
	offcpu_begin_window(offcpu);
}
