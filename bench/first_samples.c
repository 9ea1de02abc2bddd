/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first_samples HZ LAUNCH-NS PID...: measures the time from LAUNCH-NS (CLOCK_MONOTONIC) until a
 * whole-machine session is attached, and until it has processed the first sample and the first
 * complete stack trace of each process. Prints `attached MS`, then for each process `PID FIRST-MS
 * COMPLETE-MS SAMPLES COMPLETE`; -1 stands for none within ten seconds. The ring is read once per
 * millisecond, which is the resolution.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "profiler/sample_counts.h"
#include "profiler/session.h"

enum { TABLE_CHUNKS = 512, PIDS_MAX = 64, DEADLINE_MS = 10000 };

struct seen {
	uint32_t pid;
	double first_ms, complete_ms;
	uint64_t n_samples, n_complete;
};

static double ms_since(uint64_t ns)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return ((double)t.tv_sec * 1e9 + (double)t.tv_nsec - (double)ns) / 1e6;
}

static bool is_complete(const struct sample_counts *c, uint32_t stack)
{
	size_t n;
	const uint64_t *words = sample_counts_stack(c, stack, &n);

	return n && words[n - 1] >> FRAME_KIND_SHIFT != FRAME_ERROR;
}

/* Updates the figures of one process from everything that was collected. */
static void update(const struct sample_counts *c, struct seen *s, double ms)
{
	s->n_samples = s->n_complete = 0;
	for (size_t i = 0; i < sample_counts_n_samples(c); i++) {
		const struct sample_counts_sample *sample = sample_counts_sample(c, i);

		if (sample_counts_thread(c, sample->thread)->pid != s->pid)
			continue;
		s->n_samples += sample->count;
		if (is_complete(c, sample->stack))
			s->n_complete += sample->count;
	}
	if (s->n_samples && s->first_ms < 0)
		s->first_ms = ms;
	if (s->n_complete && s->complete_ms < 0)
		s->complete_ms = ms;
}

static int run(uint32_t hz, uint64_t launch_ns, struct seen *seen, int n, struct err *err)
{
	struct session_opts opts = {
		.sampler = {
			.freq_hz = hz,
			.kernel = true,
			.user = true,
			.max_chunks = TABLE_CHUNKS,
		},
	};
	_cleanup_(session_freep) struct session *s = NULL;
	double ms = 0;
	int missing = n, r;

	r = session_open(&s, &opts, err);
	if (r == 0)
		r = session_start(s, err);
	if (r < 0)
		return r;
	printf("attached %.1f\n", ms_since(launch_ns));
	while (missing && ms < DEADLINE_MS && r == 0) {
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		r = session_poll(s, err);
		ms = ms_since(launch_ns);
		missing = 0;
		for (int i = 0; i < n; i++) {
			update(session_counts(s), &seen[i], ms);
			missing += seen[i].complete_ms < 0;
		}
	}
	return r;
}

int main(int argc, char **argv)
{
	struct seen seen[PIDS_MAX];
	struct err err = { 0 };
	int n = argc - 3, r;

	if (n < 1 || n > PIDS_MAX)
		return 2;
	for (int i = 0; i < n; i++)
		seen[i] = (struct seen){ (uint32_t)atoi(argv[i + 3]), -1, -1, 0, 0 };
	r = run((uint32_t)atoi(argv[1]), strtoull(argv[2], NULL, 10), seen, n, &err);
	if (r < 0) {
		fprintf(stderr, "first_samples: %s\n", err.msg[0] ? err.msg : strerror(-r));
		return 1;
	}
	for (int i = 0; i < n; i++)
		printf("%u %.1f %.1f %llu %llu\n", seen[i].pid, seen[i].first_ms,
		       seen[i].complete_ms, (unsigned long long)seen[i].n_samples,
		       (unsigned long long)seen[i].n_complete);
	return 0;
}
