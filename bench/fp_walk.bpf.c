/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reference for Cameo's stack walk: the kernel's own frame-pointer walk of the user stack,
 * written to a ring buffer in a record like Cameo's.
 */
#include "bpf/vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "bpf/shared/abi.h"

struct fp_record {
	struct record_header head;
	__u64 words[KERNEL_FRAMES_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fp_record);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} ring SEC(".maps");

/* Only one thread is sampled, so these need no atomic operations. */
__u64 n_samples = 0;
__u64 n_frames = 0;

SEC("perf_event")
int on_sample(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct fp_record *r;
	__u32 zero = 0;
	long n;

	r = bpf_map_lookup_elem(&records, &zero);
	if (!r)
		return 0;
	r->head.pid = id >> 32;
	r->head.tid = (__u32)id;
	r->head.time_ns = bpf_ktime_get_ns();
	r->head.cpu = bpf_get_smp_processor_id();
	bpf_get_current_comm(r->head.comm, sizeof(r->head.comm));
	/*
	 * The kernel zeroes the unused part, so the buffer is only as large as it fills by default.
	 */
	n = bpf_get_stack(ctx, r->words, sizeof(r->words), BPF_F_USER_STACK);
	if (n < 0 || n > (long)sizeof(r->words))
		return 0;
	n_samples++;
	n_frames += n / sizeof(__u64);
	bpf_ringbuf_output(&ring, r, sizeof(r->head) + n, BPF_RB_NO_WAKEUP);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
