/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What this kernel and these privileges allow: a line each, with what is lost or
 * how to mend it. Nothing is changed by asking.
 */
#include <stddef.h>
#include <stdint.h>

enum doctor_status {
	DOCTOR_OK,
	DOCTOR_DEGRADED, /* it works, and something is lost */
	DOCTOR_MISSING,  /* it does not work */
};

enum { DOCTOR_CHECKS_MAX = 24 };

struct doctor_check {
	const char *name;
	enum doctor_status status;
	char text[240];
};

/* Where to look, and what this process is: doctor_here(), or a test's inventions. */
struct doctor_env {
	const char *proc, *sys; /* "/proc", "/sys" */
	const char *release;    /* of the kernel */
	uint64_t capabilities;  /* effective */
	uint64_t memlock_bytes; /* UINT64_MAX: no limit */
	uint64_t pid_namespace; /* its inode */
	int perf_error;         /* of opening a CPU clock on a CPU: 0 or -errno */
	int bpf_error;          /* of making a BPF ring buffer */
	char release_room[72];
};

void doctor_here(struct doctor_env *out);

/* All checks, at most DOCTOR_CHECKS_MAX: how many there are. */
size_t doctor_check(const struct doctor_env *env, struct doctor_check out[DOCTOR_CHECKS_MAX]);

const char *doctor_status_name(enum doctor_status s);
