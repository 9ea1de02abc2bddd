/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The page-fault part of the sampler: programs at the tracepoints of the exception and of new
 * mappings (bpf/lib/faults.h). A helper of sampler.c; it runs on the sampler's thread.
 */
struct bpf_link;
struct err;
struct sample_bpf;
struct sampler_opts;

enum { FAULT_PROBE_LINKS = 3 };

/* Zeros: not attached. */
struct fault_probe {
	struct bpf_link *links[FAULT_PROBE_LINKS];
};

/* Returns 0, or -ENOTSUP with @err set if the kernel is too old for on_fault(). */
int fault_probe_check(struct err *err);

/* Selects the programs between opening and loading the BPF object: none without opts->faults. */
void fault_probe_prepare(struct sample_bpf *skel, const struct sampler_opts *opts);

/*
 * Starts recording. Returns 0, or -errno if a tracepoint cannot be attached to; the caller then
 * calls fault_probe_detach() too.
 */
int fault_probe_attach(struct fault_probe *p, struct sample_bpf *skel);
void fault_probe_detach(struct fault_probe *p);
