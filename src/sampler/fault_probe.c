/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/fault_probe.h"

#include <errno.h>

#include <bpf/libbpf.h>

#include "base/err.h"
#include "bpf/sample.skel.h"
#include "sampler/sampler_opts.h"

enum { BLOCKS = 1 << 16 }; /* 4 GiB of memory */

/* on_fault() uses bpf_get_current_task_btf(), which Linux has since 5.11. */
int fault_probe_check(struct err *err)
{
	enum bpf_prog_type type = BPF_PROG_TYPE_RAW_TRACEPOINT;

	if (libbpf_probe_bpf_helper(type, BPF_FUNC_get_current_task_btf, NULL) == 0)
		return err_set(err, -ENOTSUP,
			       "resident memory can be recorded on Linux 5.11 or later");
	return 0;
}

void fault_probe_prepare(struct sample_bpf *skel, const struct sampler_opts *opts)
{
	if (opts->faults)
		bpf_map__set_max_entries(skel->maps.fault_places, BLOCKS);
	bpf_program__set_autoload(skel->progs.on_fault, opts->faults);
	bpf_program__set_autoload(skel->progs.on_map, opts->faults);
}

int fault_probe_attach(struct fault_probe *p, struct sample_bpf *skel)
{
	const struct {
		const struct bpf_program *program;
		const char *tracepoint;
	} places[FAULT_PROBE_LINKS] = {
		{ skel->progs.on_map, "vm_unmapped_area" },
		{ skel->progs.on_fault, "page_fault_user" },
		{ skel->progs.on_fault, "page_fault_kernel" },
	};

	for (size_t i = 0; i < FAULT_PROBE_LINKS; i++) {
		p->links[i] =
			bpf_program__attach_raw_tracepoint(places[i].program, places[i].tracepoint);
		if (!p->links[i])
			return -errno;
	}
	return 0;
}

void fault_probe_detach(struct fault_probe *p)
{
	for (size_t i = 0; i < FAULT_PROBE_LINKS; i++) {
		bpf_link__destroy(p->links[i]);
		p->links[i] = NULL;
	}
}
