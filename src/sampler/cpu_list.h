/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* CPU lists in the kernel's notation, such as "0-3,8". */
#include "base/vec.h"

struct err;

struct cpu_list {
	VEC(int);
};

enum { CPUS_MAX = 8192 };

/*
 * Appends the CPU numbers of @text to @out, in the order of the text. A trailing newline is
 * accepted. Returns 0, -EINVAL for a malformed list or a number of CPUS_MAX or more, or
 * -ENOMEM.
 */
int cpu_list_parse(struct cpu_list *out, const char *text, struct err *err);

/* Appends the CPUs that are online now, in ascending order. Returns 0 or -errno. */
int cpu_list_online(struct cpu_list *out, struct err *err);
