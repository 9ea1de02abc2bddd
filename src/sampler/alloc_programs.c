/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/alloc_programs.h"

#include <errno.h>
#include <math.h>

#include <bpf/libbpf.h>

#include "base/err.h"
#include "bpf/sample.skel.h"
#include "bpf/shared/allocs.h"
#include "sampler/sampler_opts.h"

enum {
	CALLS = 1 << 14,  /* threads that are allocating a sampled block */
	BLOCKS = 1 << 17, /* sampled blocks in use: 64 GiB by default */
};

/*
 * Probes need a cookie, which describes the arguments of the function; uprobes have cookies since
 * Linux 5.15.
 */
int alloc_programs_check(struct err *err)
{
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_attach_cookie, NULL) == 0)
		return err_set(err, -ENOTSUP,
			       "heap allocations can be recorded on Linux 5.15 or later; resident "
			       "memory (--memory) on 5.11 or later");
	return 0;
}

void alloc_programs_gaps(uint64_t mean_bytes, uint64_t *out, uint32_t n_cells)
{
	double mean = (double)mean_bytes;

	for (uint32_t i = 0; i < n_cells; i++)
		out[i] = (uint64_t)llround(-mean * log1p(-(double)i / n_cells));
	/* the mean beyond the last quantile is one mean above it */
	out[n_cells] = out[n_cells - 1] + 2 * mean_bytes;
}

void alloc_programs_prepare(struct sample_bpf *skel, const struct sampler_opts *opts)
{
	uint64_t gaps[ALLOC_GAPS + 1];

	bpf_program__set_autoload(skel->progs.on_alloc, opts->allocs);
	bpf_program__set_autoload(skel->progs.on_alloc_return, opts->allocs && opts->frees);
	bpf_program__set_autoload(skel->progs.on_free, opts->allocs && opts->frees);
	if (!opts->allocs)
		return;
	skel->rodata->alloc_live = opts->frees;
	alloc_programs_gaps(opts->alloc_bytes ? opts->alloc_bytes : ALLOC_MEAN_BYTES, gaps,
			    ALLOC_GAPS);
	for (uint32_t i = 0; i <= ALLOC_GAPS; i++)
		skel->rodata->alloc_gaps[i] = gaps[i];
	bpf_map__set_max_entries(skel->maps.alloc_files, ALLOC_FILES_MAX);
	bpf_map__set_max_entries(skel->maps.alloc_calls, opts->frees ? CALLS : 1);
	bpf_map__set_max_entries(skel->maps.alloc_blocks, opts->frees ? BLOCKS : 1);
}
