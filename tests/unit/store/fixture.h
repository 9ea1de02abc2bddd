/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A store in a directory of its own, and profiles of a few lines to put into it. */
#include <stddef.h>
#include <stdint.h>

struct profile;
struct store;
struct store_label;

#define DAY  86400000000000LL
#define NOON (20778 * DAY + DAY / 2)

/* A new directory's name, to be removed and freed with fixture_remove(). */
char *fixture_dir(void);
void fixture_remove(char *dir);

struct store *fixture_open(const char *dir);

/* From folded lines: samples/count n, and cpu/nanoseconds 10 ms each. */
struct profile *fixture_profile(const char *folded);

/* Append with service_name and one more label; the store's answer. */
int fixture_append(struct store *s, const char *service, const char *instance, int64_t time_ns,
		   const char *id, const char *folded);

/* The total of cpu/nanoseconds that a selector of service_name finds; NULL: of all. */
int64_t fixture_total(struct store *s, const char *service, int64_t start_ns, int64_t end_ns);
