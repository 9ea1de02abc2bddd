/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The BPF programs of the stages that know languages (bpf/lib/walk_programs.h). One program knows
 * the lists of all runtimes; it is loaded with the other programs, since frames of lists cannot be
 * read later. There is a walk for each set of languages that a process has. The one without
 * languages is loaded with the other programs, and the others by a thread when they are first
 * requested, because the kernel's verifier takes up to a tenth of a second for one. A helper of
 * sampler.c: nothing else includes it, and all functions run on the sampler's thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct sample_bpf;
struct walk_programs;
struct err;

/*
 * Selects the walks, and with @lists the programs for lists, that are loaded with @skel, of the
 * kinds of samples that it takes. Call it between attach_prepare(), fault_probe_prepare(),
 * sched_probe_prepare() and loading.
 */
void walk_programs_prepare(struct sample_bpf *skel, bool lists);

/*
 * Makes the walks without languages and the programs for lists callable. @skel is loaded, and
 * borrowed until walk_programs_free(). Starts no thread yet. Returns 0 or -errno.
 */
int walk_programs_new(struct walk_programs **out, struct sample_bpf *skel, struct err *err);
/* Waits for the program that is being loaded. */
void walk_programs_free(struct walk_programs *p);

/*
 * Returns the indices for struct unwind_process of the programs that know @languages (bits 1 <<
 * enum vm_lang), and requests the programs that are not loaded yet: samples of the process arrive
 * raw until they are.
 */
void walk_programs_request(struct walk_programs *p, uint32_t languages, uint16_t *out_walk,
			   uint16_t *out_lists);

/* Waits until no requested program is being loaded, at most for @limit_ns. */
void walk_programs_wait(struct walk_programs *p, uint64_t limit_ns);

struct walk_programs_stats {
	uint32_t n_loaded;  /* without the first */
	uint32_t n_waiting; /* requested, not loaded yet */
	uint32_t n_refused; /* by the kernel: their processes' samples are all raw */
	uint64_t load_ns;   /* CPU time of loading */
};
void walk_programs_stats(struct walk_programs *p, struct walk_programs_stats *out);
