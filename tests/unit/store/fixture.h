/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A store in a temporary directory, and small profiles to append. */
#include <stddef.h>
#include <stdint.h>

struct profile;
struct sqlite3;
struct store;
struct store_label;

#define DAY  86400000000000LL
#define NOON (20778 * DAY + DAY / 2)

/* Creates a directory; remove and free it with fixture_remove(). */
char *fixture_dir(void);
void fixture_remove(char *dir);

struct store *fixture_open(const char *dir);

/*
 * Opens a day's file to change it with SQL; its pages get correct checksums. Arrivals have
 * been moved into the tables.
 */
struct sqlite3 *fixture_database(const char *path);

/*
 * Builds a profile from folded lines, with the types samples/count (n) and cpu/nanoseconds (10 ms
 * each).
 */
struct profile *fixture_profile(const char *folded);

/* Appends with service_name and instance. Returns the result of store_append(). */
int fixture_append(struct store *s, const char *service, const char *instance, int64_t time_ns,
		   const char *id, const char *folded);

/* The total of cpu/nanoseconds of one service_name, or of all if @service is NULL. */
int64_t fixture_total(struct store *s, const char *service, int64_t start_ns, int64_t end_ns);
