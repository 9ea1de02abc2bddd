/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "codec/text/text.h"
#include "flame/merged_stacks.h"
#include "profile/profile.h"
#include "store/kinds/store_open.h"
#include "store/matcher.h"
#include "store/sqlite/day_settle.h"
#include "store/sqlite/page_sums.h"
#include "store/store.h"
#include "tests/test.h"

char *fixture_dir(void)
{
	char *dir = strdup("/tmp/cameo-store-XXXXXX");

	assert_non_null(mkdtemp(dir));
	return dir;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

void fixture_remove(char *dir)
{
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(dir);
}

/* CAMEO_TEST_STORE is the URL of another kind of store, where each directory becomes a database. */
static char *url_of(const char *dir)
{
	const char *base = getenv("CAMEO_TEST_STORE");
	char *url;

	if (!base)
		return NULL;
	assert_true(asprintf(&url, "%s/%s", base, strrchr(dir, '/') + 1) > 0);
	for (char *c = url + strlen(base); *c; c++)
		*c = *c == '-' ? '_' : *c;
	return url;
}

struct sqlite3 *fixture_database(const char *path)
{
	struct sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, page_sums_vfs(false)),
			 SQLITE_OK);
	assert_int_equal(day_settle_file(db, NULL), 0);
	return db;
}

struct store *fixture_open(const char *dir)
{
	_cleanup_(freep) char *url = url_of(dir);
	struct store_options opt = { .dir = dir, .url = url };
	struct store *s = NULL;
	struct err err = { 0 };

	if (store_open(&s, &opt, &err) < 0)
		fail_msg("%s", err.msg);
	return s;
}

static uint32_t add_string(struct profile *p, const char *s)
{
	uint32_t id;

	assert_int_equal(profile_add_string(p, s, strlen(s), &id), 0);
	return id;
}

struct profile *fixture_profile(const char *folded)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct profile *out = NULL;

	assert_int_equal(folded_read(&p, folded, strlen(folded), NULL, NULL), 0);
	assert_int_equal(profile_new(&out), 0);
	assert_int_equal(profile_add_sample_type(out, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(out, "cpu", "nanoseconds"), 0);
	profile_meta(out)->period_type.type = add_string(out, "cpu");
	profile_meta(out)->period_type.unit = add_string(out, "nanoseconds");
	profile_meta(out)->period = 10000000;
	profile_meta(out)->duration_ns = 15000000000;
	for (uint32_t i = 0; i < profile_n_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);
		int64_t values[2] = { s.values[0], s.values[0] * 10000000 };
		size_t n;
		const uint32_t *from = profile_stack(p, s.stack, &n);
		uint32_t ids[64];

		for (size_t k = 0; k < n; k++) {
			struct profile_location l = profile_location(p, from[k]);
			const char *name =
				profile_string(p, profile_function(p, l.lines[0].function)->name);
			struct profile_function f = { .name = add_string(out, name) };
			struct profile_line line = { 0 };

			assert_int_equal(profile_add_function(out, &f, &line.function), 0);
			l = (struct profile_location){ .mapping = PROFILE_NONE,
						       .n_lines = 1,
						       .lines = &line };
			assert_int_equal(profile_add_location(out, &l, &ids[k]), 0);
		}
		s = (struct profile_sample){ .values = values };
		assert_int_equal(profile_add_stack(out, ids, n, &s.stack), 0);
		assert_int_equal(profile_add_sample(out, &s), 0);
	}
	return out;
}

int fixture_append(struct store *s, const char *service, const char *instance, int64_t time_ns,
		   const char *id, const char *folded)
{
	_cleanup_(profile_freep) struct profile *p = fixture_profile(folded);
	const struct store_label labels[] = { { "instance", instance },
					      { "service_name", service } };
	struct store_profile sp = { .name = "process_cpu",
				    .labels = labels,
				    .n_labels = 2,
				    .time_ns = time_ns,
				    .id = id,
				    .id_time_ns = time_ns,
				    .profile = p };

	return store_append(s, "anonymous", &sp, 1, NULL);
}

int64_t fixture_total(struct store *s, const char *service, int64_t start_ns, int64_t end_ns)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *st = NULL;
	_cleanup_(matcher_freep) struct matcher *m = NULL;
	const struct store_type type = { "process_cpu", "cpu", "nanoseconds", "cpu",
					 "nanoseconds" };
	struct store_select sel = { .tenant = "anonymous",
				    .type = &type,
				    .matchers = &m,
				    .n_matchers = service != NULL,
				    .start_ns = start_ns,
				    .end_ns = end_ns };
	int64_t sum = 0;

	if (service)
		assert_int_equal(matcher_new(&m, MATCHER_EQ, "service_name", service, NULL), 0);
	assert_int_equal(store_merge(s, &sel, &st, NULL), 0);
	for (size_t i = 0; i < st->n; i++)
		sum += st->self[i];
	assert_int_equal(sum, st->total);
	return st->total;
}
