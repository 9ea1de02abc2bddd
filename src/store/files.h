/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* DIR/TENANT/2026-11-21.db: a file a tenant and UTC day. */
#include <stdint.h>

#include "base/vec.h"
#include "store/store.h"

#define DAY_NS 86400000000000LL

enum { FILES_TENANT_MAX = 64, FILES_PATH_LEN = 4096 };

struct day_file {
	int64_t number; /* days since 1970 */
	char tenant[FILES_TENANT_MAX + 1];
	uint64_t bytes; /* 0 in the list of one tenant */
};

/* The oldest first. */
struct files {
	VEC(struct day_file);
};

static inline int64_t files_day(int64_t time_ns)
{
	return time_ns < 0 ? -1 : time_ns / DAY_NS;
}

void files_fini(struct files *f);

/* Into FILES_PATH_LEN bytes. */
void files_path(const char *dir, const char *tenant, int64_t number, char *out);

/* Add to @out: of all tenants, with their sizes; of one. 0; -errno. */
int files_list(const char *dir, struct files *out);
int files_list_tenant(const char *dir, const char *tenant, struct files *out);

/* A file that can't be read keeps its bytes, under another name: 0; -errno. */
int files_set_aside(const char *path, const char *why, store_warn_fn warn, void *ctx);

/* With its log. 0; -errno. */
int files_unlink(const char *dir, const char *tenant, int64_t number);
