/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Files of days that could not be read, so that not every query opens and reports them again. A
 * file that has changed since is another one. The caller serializes access.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/vec.h"
#include "store/store.h"

struct refusal {
	char tenant[STORE_TENANT_MAX + 1];
	int64_t number;
	struct stat st; /* zeros if there is no file */
	struct err why;
};

struct refusals {
	VEC(struct refusal);
};

/* Remembers a refusal. Returns true if it has to be reported: the file or the reason is new. */
bool refusals_add(struct refusals *r, const char *tenant, int64_t number, const struct stat *st,
		  const struct err *why);

/* Has the file been refused, and is it unchanged since? Then @err has the reason. */
bool refusals_has(const struct refusals *r, const char *tenant, int64_t number,
		  const struct stat *st, struct err *err);
