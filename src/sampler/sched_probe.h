/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The off-CPU half of the sampler: programs at the scheduler's tracepoints, and the
 * per-thread states that they maintain in BPF maps. A helper of sampler.c, which documents
 * the functions with the same names; it runs on the sampler's thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "sampler/sampler_opts.h"

struct err;
struct sample_bpf;
struct sched_probe;

/*
 * Configures the programs between opening and loading the BPF object; without opts->off_cpu
 * they are not loaded. @raw_record is the index of the raw record reserved for sleeping
 * threads. A cgroup filter works in the unified hierarchy only. Returns 0, or -ENOENT if the
 * kernel lacks a tracepoint.
 */
int sched_probe_prepare(struct sample_bpf *skel, const struct sampler_opts *opts,
			uint32_t raw_record, struct err *err);

/*
 * Starts recording. @skel is borrowed until sched_probe_free(). Returns 0, or -errno if a
 * tracepoint cannot be attached to.
 */
int sched_probe_attach(struct sched_probe **out, struct sample_bpf *skel);
/* Stops recording; the states stay readable. Here and below, @probe may be NULL. */
void sched_probe_detach(struct sched_probe *probe);
void sched_probe_free(struct sched_probe *probe);

DEFINE_FREEP(struct sched_probe, sched_probe_free)

/*
 * See sampler_each_thread(), sampler_scan_sleepers(), sampler_get_thread() and
 * sampler_remove_thread().
 */
int sched_probe_each_thread(struct sched_probe *probe, sampler_thread_fn fn, void *ctx);
int sched_probe_scan_sleepers(struct sched_probe *probe, uint64_t since_ns, sampler_record_fn fn,
			      void *ctx);
int sched_probe_get_thread(struct sched_probe *probe, uint32_t tid, struct off_thread *out);
void sched_probe_remove_thread(struct sched_probe *probe, uint32_t tid);
