/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The sampler's programs at the scheduler's tracepoints, and the threads that they know. */
#include <stdbool.h>
#include <stdint.h>

#include "agent/sampler.h"

struct sample_bpf;
struct sampler_off;

/*
 * Before the object is loaded: with these programs or without, and @raw_record, the one of
 * the raw records that is for threads asleep. A cgroup must be one of the unified hierarchy.
 * 0; -ENOENT: the kernel lacks one of the tracepoints.
 */
int sampler_off_prepare(struct sample_bpf *skel, const struct sampler_opts *opts,
			uint32_t raw_record, struct err *err);

/* 0; -errno where one of the tracepoints can't be had. Keeps @skel. */
int sampler_off_attach(struct sampler_off **out, struct sample_bpf *skel);
/* No interval begins or ends any more. @off may be NULL, as below. */
void sampler_off_detach(struct sampler_off *off);
void sampler_off_free(struct sampler_off *off);

DEFINE_FREEP(struct sampler_off, sampler_off_free)

/* As sampler.h says. */
int sampler_off_each(struct sampler_off *off, sampler_thread_fn fn, void *ctx);
int sampler_off_scan(struct sampler_off *off, uint64_t since_ns, sampler_record_fn fn, void *ctx);
int sampler_off_get(struct sampler_off *off, uint32_t tid, struct off_thread *out);
void sampler_off_remove(struct sampler_off *off, uint32_t tid);
