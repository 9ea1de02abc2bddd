/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The manifests of tenants in memory, each read when it is first needed. Their number is bounded,
 * because a query may be for any tenant. The caller serializes access.
 */
#include <stdbool.h>

#include "base/vec.h"
#include "store/sqlite/manifest.h"

struct manifests {
	VEC(struct manifest *);
	const char *dir; /* of the store; borrowed */
	/*
	 * Returns true for a tenant whose manifest must stay in memory. Others are dropped when
	 * there are many, unless they have changes that could not be saved.
	 */
	bool (*is_used)(void *ctx, const char *tenant);
	void *ctx;
};

void manifests_fini(struct manifests *all);

/* Returns the manifest of a tenant if it is in memory, else NULL. */
struct manifest *manifests_find(const struct manifests *all, const char *tenant);

/*
 * Reads a tenant's manifest unless it is in memory. Damaged lines are left out; their reason is in
 * @warning then, which is empty otherwise. The manifest is valid while is_used() is true for its
 * tenant, or until the next call. Returns 0 or -errno.
 */
int manifests_get(struct manifests *all, const char *tenant, struct manifest **out,
		  struct err *warning, struct err *err);
