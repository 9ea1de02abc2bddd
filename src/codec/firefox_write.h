/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The Firefox Profiler's processed format (profiler.firefox.com opens it): a
 * track a thread. Samples that know when they were taken stand there, others
 * one behind the other.
 */
#include <stddef.h>

struct buf;
struct err;
struct profile;

/* Append the file, of sample type @value_num; @title may be NULL. 0, -EINVAL, -ENOMEM. */
int firefox_write(const struct profile *p, size_t value_num, const char *title, struct buf *out,
		  struct err *err);
