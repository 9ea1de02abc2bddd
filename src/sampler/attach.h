/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Opens the events that samples are taken at and attaches the sampling programs to them. A
 * helper of sampler.c: nothing else includes it, and it runs on the sampler's thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "sampler/sampler_opts.h"

struct attach;
struct err;
struct sample_bpf;

/*
 * Number of walk states that each CPU needs: contexts that may interrupt one another have one
 * each.
 */
uint32_t attach_walks(const struct sampler_opts *opts);

/*
 * Selects the programs to load and sizes their maps. Call it between opening and loading the
 * BPF object. @n_possible is the number of possible CPUs.
 */
void attach_prepare(struct sample_bpf *skel, const struct sampler_opts *opts, uint32_t n_possible);

/*
 * Attaches nothing yet. @opts and @skel are borrowed until attach_free(). Returns 0 or
 * -ENOMEM.
 */
int attach_new(struct attach **out, const struct sampler_opts *opts, struct sample_bpf *skel);
void attach_free(struct attach *s);

/* Implements sampler_update_cpus(); the first call attaches all events. */
int attach_update(struct attach *s, struct cpu_list *back, struct err *err);
/*
 * Disables or enables the events that CPUs count; tracepoints and uprobes stay on. Returns 0
 * or -errno.
 */
int attach_pause(struct attach *s, bool pause);
/* Closes all events. attach_update() may open them again. */
void attach_detach(struct attach *s);

/*
 * Run time and number of runs of the attached programs, as the kernel accounts them. Returns
 * 0 or -errno.
 */
int attach_cost(const struct attach *s, uint64_t *out_ns, uint64_t *out_runs);
