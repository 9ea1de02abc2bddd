/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names for what comes without: places in files whose build ids are told, when this
 * machine has the file or a debuginfod server does; of a file that a user named, also without. What
 * can't be named stays as it is. Any thread; one at a time gets names.
 */
#include <stdbool.h>

#include "base/cleanup.h"

struct naming;
struct profile;

struct naming_options {
	const char *debuginfod;       /* URLs separated by blanks; NULL: none is asked */
	const char *debuginfod_cache; /* directory; NULL: what is fetched is not kept */
	bool by_path; /* without a build id, what is at the path is taken for the file */
};

int naming_new(struct naming **out, const struct naming_options *opt);
void naming_free(struct naming *n);

DEFINE_FREEP(struct naming, naming_free)

/* Only for want of memory is it a failure: -ENOMEM. */
int naming_apply(struct naming *n, struct profile *p);
