/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <string.h>

#include "profile/profile.h"
#include "tests/test.h"

enum { FRAMES_MAX = 8 };

static uint32_t string(struct profile *p, const char *s)
{
	uint32_t id;

	assert_int_equal(profile_add_string(p, s, strlen(s), &id), 0);
	return id;
}

struct profile *fixture_new(const char *type, const char *unit)
{
	struct profile *p;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, type, unit), 0);
	return p;
}

static uint32_t location(struct profile *p, const struct fixture_frame *f)
{
	struct profile_mapping m = { .file = string(p, f->binary), .limit = 0x1000 };
	struct profile_function fn = { .name = string(p, f->function),
				       .system_name = string(p, f->function),
				       .file = string(p, f->file),
				       .start_line = f->start_line };
	struct profile_line line = { .line = f->line };
	struct profile_location l = { .address = f->line, .lines = &line, .n_lines = 1 };
	uint32_t id;

	assert_int_equal(profile_add_mapping(p, &m, &l.mapping), 0);
	assert_int_equal(profile_add_function(p, &fn, &line.function), 0);
	assert_int_equal(profile_add_location(p, &l, &id), 0);
	return id;
}

void fixture_sample(struct profile *p, const struct fixture_frame *frames, int64_t value)
{
	struct profile_sample s = { .values = &value };
	uint32_t ids[FRAMES_MAX];
	size_t n = 0;

	for (; frames[n].binary; n++)
		ids[n] = location(p, &frames[n]);
	assert_int_equal(profile_add_stack(p, ids, n, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
}
