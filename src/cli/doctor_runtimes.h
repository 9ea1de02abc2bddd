/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The language runtimes in the executable mappings of one process, for `cameo doctor -p`: their
 * versions, and whether a recording can read their functions.
 */
#include <stddef.h>
#include <stdint.h>

#include "doctor/doctor.h"

struct err;

enum { DOCTOR_RUNTIMES_MAX = 16 };

struct doctor_runtimes {
	size_t n; /* further runtimes are omitted */
	struct {
		char name[64];             /* "Python 3.11" */
		struct doctor_check check; /* without its name */
	} all[DOCTOR_RUNTIMES_MAX];
};

/*
 * Fills *@out in the order of addresses. It opens the files that the process has mapped and reads
 * the process's memory. Returns 0, or -errno with the reason in @err.
 */
int doctor_runtimes_find(struct doctor_runtimes *out, uint32_t pid, struct err *err);
