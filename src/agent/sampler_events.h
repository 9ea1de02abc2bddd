/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the sampler's programs are attached to for their samples. */
#include <stdbool.h>
#include <stdint.h>

#include "agent/sampler.h"

struct sample_bpf;
struct sampler_events;

/* How many states of walks each CPU needs. */
uint32_t sampler_events_walks(const struct sampler_opts *opts);

/* Before the object is loaded: with those programs that the events need. */
void sampler_events_prepare(struct sample_bpf *skel, const struct sampler_opts *opts,
			    uint32_t n_possible);

/* Nothing is attached yet. Keeps @opts and @skel. 0 or -ENOMEM. */
int sampler_events_new(struct sampler_events **out, const struct sampler_opts *opts,
		       struct sample_bpf *skel);
void sampler_events_free(struct sampler_events *s);

/* As sampler_update_cpus() has it; the first call attaches. */
int sampler_events_update(struct sampler_events *s, struct cpu_list *back, struct err *err);
/* Of what the CPUs count. 0 or -errno. */
int sampler_events_pause(struct sampler_events *s, bool pause);
void sampler_events_detach(struct sampler_events *s);

/* The programs' time, and how often they ran; 0 or -errno. */
int sampler_events_cost(const struct sampler_events *s, uint64_t *out_ns, uint64_t *out_runs);
