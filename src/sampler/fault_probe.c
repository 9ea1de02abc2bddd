/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/fault_probe.h"

#include <errno.h>

#include <bpf/libbpf.h>

#include "bpf/sample.skel.h"
#include "sampler/sampler_opts.h"

enum { BLOCKS = 1 << 16 }; /* 4 GiB of memory */

void fault_probe_prepare(struct sample_bpf *skel, const struct sampler_opts *opts)
{
	if (opts->faults)
		bpf_map__set_max_entries(skel->maps.fault_blocks, BLOCKS);
	bpf_program__set_autoload(skel->progs.on_fault, opts->faults);
}

int fault_probe_attach(struct fault_probe *p, struct sample_bpf *skel)
{
	static const char *const names[] = { "page_fault_user", "page_fault_kernel" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		p->links[i] = bpf_program__attach_raw_tracepoint(skel->progs.on_fault, names[i]);
		if (!p->links[i])
			return -errno;
	}
	return 0;
}

void fault_probe_detach(struct fault_probe *p)
{
	for (size_t i = 0; i < sizeof(p->links) / sizeof(p->links[0]); i++) {
		bpf_link__destroy(p->links[i]);
		p->links[i] = NULL;
	}
}
