/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks what this kernel and these privileges allow: one line per check, with the consequence or
 * the remedy. It changes nothing. The checks read a struct doctor_env, so tests can describe other
 * machines. Texts are one line of at most 239 bytes. Checks do not depend on each other; a check
 * that cannot read what it needs assumes the kernel's default.
 */
#include <stddef.h>
#include <stdint.h>

enum doctor_status {
	DOCTOR_OK,
	DOCTOR_DEGRADED, /* works, but something is lost */
	DOCTOR_MISSING,  /* does not work */
};

enum { DOCTOR_CHECKS_MAX = 24 };

struct doctor_check {
	const char *name;
	enum doctor_status status;
	char text[240];
};

/* Where to look, and facts about this process: filled by doctor_env_detect() or by a test. */
struct doctor_env {
	const char *proc, *sys; /* "/proc" and "/sys"; borrowed */
	const char *release;    /* kernel release, as uname -r prints it */
	uint64_t capabilities;  /* effective ones, as a mask */
	uint64_t memlock_bytes; /* UINT64_MAX: no limit */
	uint64_t pid_namespace; /* its inode number */
	int perf_error;         /* of opening a CPU clock event: 0 or -errno */
	int bpf_error;          /* of creating a BPF ring buffer: 0 or -errno */
	char release_room[72];
};

/*
 * Describes this machine and process; creates a perf event and a BPF map to test that. Both are
 * released at once. It needs no privileges: a refusal is a result.
 */
void doctor_env_detect(struct doctor_env *out);

/*
 * Runs all checks. Returns their number, at most DOCTOR_CHECKS_MAX. It reads files below env->proc
 * and env->sys and takes up to a few tenths of a second on a machine with thousands of processes.
 */
size_t doctor_check(const struct doctor_env *env, struct doctor_check out[DOCTOR_CHECKS_MAX]);

const char *doctor_status_name(enum doctor_status s);
