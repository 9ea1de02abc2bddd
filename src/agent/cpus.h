/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Lists of CPUs as the kernel writes them: "0-3,8". */
#include "base/vec.h"

struct err;

struct cpu_list {
	VEC(int);
};

enum { CPUS_MAX = 8192 };

/* CPU numbers of @text, appended in order. 0; -EINVAL for anything else; -ENOMEM. */
int cpus_parse(struct cpu_list *out, const char *text, struct err *err);

/* The CPUs that are online now. */
int cpus_online(struct cpu_list *out, struct err *err);
