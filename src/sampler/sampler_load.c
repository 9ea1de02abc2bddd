/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An error from the kernel is often the first message that a new user sees, so each of them
 * explains how to fix it.
 */
#include "sampler/sampler_load.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "arch/arch.h"
#include "base/err.h"
#include "bpf/sample.skel.h"
#include "sampler/alloc_programs.h"
#include "sampler/attach.h"
#include "sampler/fault_probe.h"
#include "sampler/kernel_error.h"
#include "sampler/sampler_state.h"
#include "sampler/sched_probe.h"
#include "sampler/sparse_maps.h"
#include "sampler/walk_programs.h"

enum {
	RING_BYTES_PER_CPU = 4 << 20,
	RING_BYTES_MIN = 1 << 20,
	RING_BYTES_MAX = 64 << 20,
};

uint32_t sampler_ring_bytes(const struct sampler *s)
{
	uint64_t wanted_bytes = (uint64_t)RING_BYTES_PER_CPU * s->n_possible;
	uint32_t bytes = RING_BYTES_MIN;

	if (s->opts.ring_bytes)
		return s->opts.ring_bytes;

	while (bytes < wanted_bytes && bytes < RING_BYTES_MAX)
		bytes *= 2;
	return bytes;
}

__attribute__((format(printf, 2, 0))) static int on_libbpf_message(enum libbpf_print_level level,
								   const char *fmt, va_list ap)
{
	return getenv("CAMEO_LIBBPF_DEBUG") ? vfprintf(stderr, fmt, ap) : 0;
}

int sampler_prepare(struct sampler *s, bool lists, struct err *err)
{
	uint32_t bytes = sampler_ring_bytes(s), n_walks = attach_walks(&s->opts);
	int r;

	libbpf_set_print(on_libbpf_message);
	s->skel = sample_bpf__open();
	if (!s->skel)
		return err_set(err, -errno, "cannot open the BPF object: %s", strerror(errno));
	s->skel->rodata->collect_kernel = s->opts.kernel;
	s->skel->rodata->collect_user = s->opts.user;
	s->skel->rodata->collect_idle = s->opts.idle;
	s->skel->rodata->selected_only = s->opts.targets_only;
	s->skel->rodata->select_children = !s->opts.no_children;
	s->skel->rodata->ring_wakeup_bytes = bytes / 2;
	if (!s->opts.targets_only && !s->opts.by_rules)
		bpf_map__set_max_entries(s->skel->maps.selected, 1);
	sparse_maps_prepare(s->skel, s->opts.targets_only);
	s->skel->rodata->n_walks = n_walks;
	s->skel->rodata->code_mask = arch_code_mask();
	bpf_map__set_max_entries(s->skel->maps.raw_records, s->n_possible * n_walks + 1);
	bpf_map__set_max_entries(s->skel->maps.walks, s->n_possible * n_walks);
	attach_prepare(s->skel, &s->opts, s->n_possible);
	fault_probe_prepare(s->skel, &s->opts);
	alloc_programs_prepare(s->skel, &s->opts);
	r = sched_probe_prepare(s->skel, &s->opts, s->n_possible * n_walks, err);
	if (r < 0)
		return r;
	walk_programs_prepare(s->skel, lists);
	bpf_map__set_max_entries(s->skel->maps.ring, bytes);
	return 0;
}

/* A kernel that refuses the programs for lists may accept the others. */
static int try_programs(struct sampler *s)
{
	int r = sample_bpf__load(s->skel);

	if (r >= 0)
		return r;
	sample_bpf__destroy(s->skel);
	r = sampler_prepare(s, false, NULL);
	return r < 0 ? r : sample_bpf__load(s->skel);
}

static int load_programs(struct sampler *s, struct err *err)
{
	int r = sampler_prepare(s, true, err);

	if (r < 0)
		return r;
	r = try_programs(s);
	if (r == -EACCES && geteuid() == 0)
		return err_set(
			err, r,
			"the verifier of this kernel rejected the BPF program: run again with "
			"CAMEO_LIBBPF_DEBUG=1 in the environment, and report the output");
	if (r == -ESRCH)
		return err_set(err, r,
			       "cannot use /sys/kernel/btf/vmlinux: it is truncated or does not "
			       "match the running kernel");
	return r < 0 ? kernel_error(r, "load BPF programs", err) : 0;
}

int sampler_load(struct sampler *s, struct err *err)
{
	struct err cause = { 0 };
	int r = load_programs(s, s->opts.off_cpu && !s->opts.no_samples ? &cause : err);

	if (r >= 0 || !s->opts.off_cpu || s->opts.no_samples)
		return r;
	snprintf(s->off_error, sizeof(s->off_error), "%s", cause.msg);
	sample_bpf__destroy(s->skel);
	s->opts.off_cpu = false;
	return load_programs(s, err);
}
