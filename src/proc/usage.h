/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Memory and CPU time that a process uses, from /proc. */
#include <stdint.h>
#include <sys/types.h>

struct proc_usage {
	uint64_t rss_bytes;     /* including BPF maps that are mapped */
	uint64_t private_bytes; /* part of rss_bytes that is neither a file's nor shared memory */
	uint64_t cpu_ns;
};

/*
 * Reads the usage of @pid; zeros if it is gone. @pid 0: this process, with the CPU time of
 * its terminated children.
 */
void proc_usage_read(pid_t pid, struct proc_usage *out);
