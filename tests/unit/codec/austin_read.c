/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/text/text.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "profile/profile.h"
#include "tests/test.h"

static struct profile *read_text(const char *text)
{
	struct profile *p = NULL;

	assert_true(austin_detect(text, strlen(text)));
	assert_int_equal(austin_read(&p, text, strlen(text), NULL, NULL), 0);
	return p;
}

static void assert_bad(const char *text, const char *why)
{
	struct profile *p = NULL;
	struct err err = { 0 };

	assert_int_equal(austin_read(&p, text, strlen(text), NULL, &err), -EBADMSG);
	assert_string_equal(err.msg, why);
	assert_null(p);
}

static void reads_stacks_with_their_thread(void **state)
{
	struct profile *p = read_text("# austin: 3.7.0\n# mode: cpu\n\n"
				      "P7;T0:8;a.py:<module>:3;C:\\b.py:f:12 1000\r\n"
				      "P7;T0:8;a.py:<module>:3;C:\\b.py:f:12 500\n"
				      "P7;T0x1f 5\n# duration: 9\n");
	struct profile_sample s = profile_sample(p, 0);
	const struct profile_function *f;
	struct profile_location l;
	size_t n;

	assert_int_equal(profile_n_sample_types(p), 1);
	assert_string_equal(profile_string(p, profile_sample_type(p, 0).type), "cpu");
	assert_int_equal(profile_n_samples(p), 2);
	assert_int_equal(s.values[0], 1500000);
	assert_int_equal(s.labels[0].num + s.labels[1].num, 15);
	l = profile_location(p, profile_stack(p, s.stack, &n)[0]);
	f = profile_function(p, l.lines[0].function);
	assert_int_equal(n, 2);
	assert_int_equal(l.lines[0].line, 12);
	assert_string_equal(profile_string(p, f->name), "f");
	assert_string_equal(profile_string(p, f->file), "C:\\b.py");
	s = profile_sample(p, 1);
	assert_string_equal(profile_string(p, s.labels[1].str), "0x1f");
	profile_free(p);
}

static void full_mode_has_time_cpu_and_memory(void **state)
{
	struct profile *p = read_text("# austin: 3\n# mode: full\nP1;T1;a:f:1 10,0,4096\n"
				      "P1;T1;a:f:1 7,1,-20\n");
	struct profile_sample s = profile_sample(p, 0);

	assert_int_equal(profile_n_sample_types(p), 3);
	assert_int_equal(s.values[0], 17000);
	assert_int_equal(s.values[1], 10000);
	assert_int_equal(s.values[2], 4096);
	profile_free(p);
	p = read_text("# austin: 3\n# mode: memory\nP1;T1;a:f:1 4096\n");
	assert_string_equal(profile_string(p, profile_sample_type(p, 0).unit), "bytes");
	assert_int_equal(profile_sample(p, 0).values[0], 4096);
	profile_free(p);
}

static void frames_of_the_garbage_collector_have_only_a_name(void **state)
{
	struct profile *p = read_text("# austin: 3\nP1;T1;a:f:1;:GC: 7\n");
	struct profile_location l;
	size_t n;

	l = profile_location(p, profile_stack(p, profile_sample(p, 0).stack, &n)[0]);
	assert_int_equal(n, 2);
	assert_string_equal(profile_string(p, profile_function(p, l.lines[0].function)->name),
			    ":GC:");
	profile_free(p);
}

static void names_the_line_that_is_wrong(void **state)
{
	assert_bad("# austin: 3\nP1;T1;a:b:1 x\n",
		   "line 2: expected a number at the end of the line");
	assert_bad("# austin: 3\nP1;T1;a:b:1 1,2\n",
		   "line 2: number of metrics does not match the mode");
	assert_bad("# austin: 3\n\nmain;work 7\n",
		   "line 3: expected P<pid>;T<tid>; at the start of the line");
	assert_bad("# austin: 3\nP1;T1;a:b:1 9223372036854775807\n",
		   "line 2: time is out of range");
	assert_bad("# austin: 3\n7\n", "line 2: expected P<pid>;T<tid>; at the start of the line");
}

TEST_GROUP(test_austin_read, TEST(reads_stacks_with_their_thread),
	   TEST(full_mode_has_time_cpu_and_memory),
	   TEST(frames_of_the_garbage_collector_have_only_a_name),
	   TEST(names_the_line_that_is_wrong))
