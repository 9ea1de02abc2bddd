/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "profile/profile.h"
#include "tests/test.h"

static void the_sample_type_must_exist(void **state)
{
	static const char stacks[] = "main;work 3\n";
	char path[] = "/tmp/cameo-sources.XXXXXX";
	struct sources s = { 0 };
	struct profile *p = NULL;
	struct err err = { 0 };
	size_t value_num = 9;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, stacks, strlen(stacks)), strlen(stacks));
	close(fd);
	assert_int_equal(vec_push(&s.paths, path), 0);
	assert_int_equal(sources_read(&s, 0, 1, NULL, &p, &value_num, NULL), 0);
	assert_int_equal(value_num, 0);
	profile_free(p);
	s.sample_type = (char *)"colour";
	assert_int_equal(sources_read(&s, 0, 1, NULL, &p, &value_num, &err), -ENOENT);
	assert_int_equal(strncmp(err.msg, "--sample-type \"colour\": expected one of ", 40), 0);
	assert_string_equal(sources_title(&s), path + strlen("/tmp/"));
	vec_fini(&s.paths);
	unlink(path);
}

TEST_GROUP(test_sources, TEST(the_sample_type_must_exist))
