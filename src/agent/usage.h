/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a process of ours costs, from /proc. */
#include <stdint.h>
#include <sys/types.h>

struct usage {
	uint64_t rss_bytes; /* with BPF maps that it has mapped */
	uint64_t cpu_ns;
};

/* Zeroes if it is gone. @pid 0: this process, and children that have ended. */
void usage_read(pid_t pid, struct usage *out);
