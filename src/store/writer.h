/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The one thread that writes to days. */
#include <stddef.h>

#include "base/cleanup.h"

struct days;
struct err;
struct store_profile;
struct writer;

typedef int (*writer_fn)(void *ctx, struct err *err);

int writer_new(struct writer **out, struct days *days);
/* Nobody may be in a call. */
void writer_free(struct writer *w);

DEFINE_FREEP(struct writer, writer_free)

/* As store_append(). Times are not before 1970. */
int writer_append(struct writer *w, const char *tenant, const struct store_profile *profiles,
		  size_t n, struct err *err);

/* Call @fn in that thread, between its transactions: what it returns. */
int writer_run(struct writer *w, writer_fn fn, void *ctx, struct err *err);
