/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The days that are open, of all tenants of a directory. Any thread. */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "store/store.h"

struct day;
struct day_ref;
struct days;
struct err;

int days_new(struct days **out, const char *dir, store_warn_fn warn, void *warn_ctx);
void days_free(struct days *d);

DEFINE_FREEP(struct days, days_free)

/* 0 and a day to be given back; -ENOENT when there is no such day and none is to be made; -errno.
 */
int days_take(struct days *d, const char *tenant, int64_t number, bool create, struct day_ref **out,
	      struct err *err);
void days_give(struct days *d, struct day_ref *ref);

/* Those that are open now, at most @max, each to be given back: how many. */
size_t days_open(struct days *d, struct day_ref **out, size_t max);

struct day *days_day(const struct day_ref *ref);

/* Remove a day: 1; 0 while somebody uses it; -errno. */
int days_drop(struct days *d, const char *tenant, int64_t number);
