/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Profiles into tables. Requests that wait for each other go in one insertion, since
 * ClickHouse makes files of each. Any thread.
 */
#include <stddef.h>

#include "base/cleanup.h"

struct click_http;
struct click_write;
struct err;
struct store_profile;

int click_write_new(struct click_write **out, struct click_http *http);
void click_write_free(struct click_write *w);

DEFINE_FREEP(struct click_write, click_write_free)

int click_write_append(struct click_write *w, const char *tenant,
		       const struct store_profile *profiles, size_t n, struct err *err);

/* Days were dropped: names that were written for them must be written again. */
void click_write_forget(struct click_write *w);
