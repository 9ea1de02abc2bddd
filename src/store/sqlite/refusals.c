/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/refusals.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct refusal *find(const struct refusals *r, const char *tenant, int64_t number)
{
	for (size_t i = 0; i < r->len; i++)
		if (r->data[i].number == number && !strcmp(r->data[i].tenant, tenant))
			return &r->data[i];
	return NULL;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

bool refusals_add(struct refusals *r, const char *tenant, int64_t number, const struct stat *st,
		  const struct err *why)
{
	struct refusal *old = find(r, tenant, number);
	struct refusal now = { .number = number, .st = *st, .why = *why };
	bool is_new = !old || !is_same_file(&old->st, st) || strcmp(old->why.msg, why->msg) != 0;

	snprintf(now.tenant, sizeof(now.tenant), "%s", tenant);
	if (old)
		*old = now;
	else
		(void)vec_push(r, now); /* without memory it is reported again */
	return is_new;
}

bool refusals_has(const struct refusals *r, const char *tenant, int64_t number,
		  const struct stat *st, struct err *err)
{
	const struct refusal *old = find(r, tenant, number);

	if (!old || !is_same_file(&old->st, st))
		return false;
	err_set(err, -EUCLEAN, "%s", old->why.msg);
	return true;
}
