/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The manifests of tenants in memory, each read when it is first needed. Their number is bounded,
 * because a query may be for any tenant. The caller serializes access.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"
#include "store/sqlite/manifest.h"

struct manifests {
	VEC(struct manifest *);
	const char *dir; /* of the store; borrowed */
	dev_t dev;
	ino_t ino; /* identity of the directory */
	/*
	 * Returns true for a tenant whose manifest must stay in memory. Others are dropped when
	 * there are many, unless they have changes that could not be saved.
	 */
	bool (*is_used)(void *ctx, const char *tenant);
	void *ctx;
};

/* Remembers which directory @dir, which is borrowed, is. Returns 0 or -errno. */
int manifests_init(struct manifests *all, const char *dir);
void manifests_fini(struct manifests *all);

/*
 * Checks that the directory is still at its path: another one there belongs to somebody else, and
 * nothing is read from it or written to it. Returns 0, or -EUCLEAN.
 */
int manifests_check_dir(const struct manifests *all, struct err *err);

/* Saves @m if the directory is still there. Returns 0 or -errno. */
int manifests_save(const struct manifests *all, struct manifest *m, struct err *err);

/* Returns the manifest of a tenant if it is in memory, else NULL. */
struct manifest *manifests_find(const struct manifests *all, const char *tenant);

/*
 * Reads a tenant's manifest unless it is in memory. Damaged lines are left out; their reason is in
 * @warning then, which is empty otherwise. The manifest is valid while is_used() is true for its
 * tenant, or until the next call. Returns 0 or -errno.
 */
int manifests_get(struct manifests *all, const char *tenant, struct manifest **out,
		  struct err *warning, struct err *err);
