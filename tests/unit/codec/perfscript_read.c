/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/perf/perfscript_read.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/common/limits.h"
#include "codec/text/text.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static const char usual[] = "# captured on    : Sat Nov 21 05:00:00 2026\n"
			    "#\n"
			    "my app  1200/1234 [000]  7115.396268:     250000 cpu-clock:ppp: \n"
			    "\tffffffff8112 vfs_read+0x12 ([kernel.kallsyms])\n"
			    "\t    7f13 ns::f(int) const+0x1b (/usr/lib/a b.so (deleted))\n"
			    "\t    55 [unknown] (/bin/app)\n"
			    "\n"
			    "sh  1300 [001]  7115.396270:     250000 cpu-clock:ppp: \n"
			    "\t    77 deep (inlined)\n"
			    "\t    77 work (inlined)\n"
			    "\t    77 main+0x7 (/bin/sh)\n"
			    "  main.c:12\n"
			    "\n";

static struct profile *read_text(const char *text)
{
	struct profile *p;
	struct err err = { 0 };

	if (perfscript_read(&p, text, strlen(text), NULL, &err) < 0)
		fail_msg("%s", err.msg);
	return p;
}

static void assert_folded(const struct profile *p, size_t value_num, const char *want)
{
	struct buf b = { 0 };

	assert_int_equal(folded_write(p,
				      &(struct format_options){ .root_label = "comm",
								.value_num = value_num },
				      &b, NULL),
			 0);
	buf_put_byte(&b, 0);
	assert_string_equal((const char *)b.data, want);
	buf_fini(&b);
}

static void stacks_of_perf_are_read(void **state)
{
	struct profile *p = read_text(usual);

	assert_true(perfscript_detect(usual, strlen(usual)));
	assert_int_equal(profile_n_sample_types(p), 2);
	assert_string_equal(profile_string(p, profile_sample_type(p, 1).type), "cpu-clock");
	assert_string_equal(profile_string(p, profile_sample_type(p, 1).unit), "nanoseconds");
	assert_folded(p, 0,
		      "my app;[app+0x55];ns::f(int) const;vfs_read_[k] 1\n"
		      "sh;main;work_[i];deep_[i] 1\n");
	assert_folded(p, 1,
		      "my app;[app+0x55];ns::f(int) const;vfs_read_[k] 250000\n"
		      "sh;main;work_[i];deep_[i] 250000\n");
	profile_free(p);
}

static void a_file_name_may_have_spaces_and_be_deleted(void **state)
{
	struct profile *p = read_text(usual);
	bool found = false;

	for (uint32_t i = 0; i < profile_n_mappings(p); i++)
		found |= !strcmp(profile_string(p, profile_mapping(p, i)->file),
				 "/usr/lib/a b.so (deleted)");
	assert_true(found);
	profile_free(p);
}

static void a_single_frame_may_follow_on_the_line_of_the_sample(void **state)
{
	struct profile *p = read_text("sh 7 7115.3:  11 cycles:u:  55 f+0x1 (/bin/sh)\n"
				      "sh 7 7115.4:  22 cycles:u:  55 f+0x1 (/bin/sh)\n");

	assert_folded(p, 0, "sh;f 2\n");
	assert_folded(p, 1, "sh;f 33\n");
	assert_string_equal(profile_string(p, profile_sample_type(p, 1).type), "cycles");
	profile_free(p);
}

static void each_event_is_a_sample_type(void **state)
{
	struct profile *p =
		read_text("a 1 1.0: 10 cycles: \n\t1 f (x)\n\n"
			  "a 1 1.0: sched:sched_switch: prev_comm=a prev_pid=1\n\t1 f (x)\n\n");

	assert_int_equal(profile_n_sample_types(p), 3);
	assert_folded(p, 0, "a;f 2\n");
	assert_folded(p, 1, "a;f 10\n");
	assert_folded(p, 2, "a;f 1\n");
	assert_string_equal(profile_string(p, profile_sample_type(p, 2).type),
			    "sched:sched_switch");
	profile_free(p);
}

static void lines_about_processes_are_skipped(void **state)
{
	struct profile *p = read_text("a 1 1.0: PERF_RECORD_MMAP2 1/1: [0x1(0x2)]: r-xp /x\n"
				      "a 1 1.0: 10 cycles: \n\t1 f (x)\n");

	assert_int_equal(profile_n_samples(p), 1);
	profile_free(p);
}

static void other_lines_are_refused_by_their_number(void **state)
{
	fixture_assert_refused(perfscript_read, "a 1 1.0: c:\n\t1 f (x)\nwords\n", NULL, -EBADMSG,
			       "line 3: expected a frame (ADDRESS SYMBOL (FILE)) or an empty line");
	fixture_assert_refused(perfscript_read, "words\n", NULL, -EBADMSG,
			       "line 1: expected the first line of a `perf script` sample");
	fixture_assert_refused(perfscript_read, "\t1 f (x)\n", NULL, -EBADMSG,
			       "line 1: expected a frame (ADDRESS SYMBOL (FILE)) or an empty line");
}

static void limits_on_perf_script_are_enforced(void **state)
{
	struct codec_limits l = codec_limits_default();

	l.depth = 1;
	fixture_assert_refused(perfscript_read, "a 1 1.0: c:\n\t1 f (x)\n\t2 g (x)\n", &l, -EFBIG,
			       "line 3: stack with more than 1 frames");
	l.bytes = 3;
	fixture_assert_refused(perfscript_read, "a 1 1.0: c:\n", &l, -EFBIG,
			       "file exceeds the limit of 3 bytes");
}

static void other_texts_are_not_recognized(void **state)
{
	static const char *const texts[] = {
		"", "a;b 1\n", "main;f 12.5: x\n", "just words\n", "{\"a\":1}", "a b c 7\n"
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(perfscript_detect(texts[i], strlen(texts[i])));
}

TEST_GROUP(test_perfscript_read, TEST(stacks_of_perf_are_read),
	   TEST(a_file_name_may_have_spaces_and_be_deleted),
	   TEST(a_single_frame_may_follow_on_the_line_of_the_sample),
	   TEST(each_event_is_a_sample_type), TEST(lines_about_processes_are_skipped),
	   TEST(other_lines_are_refused_by_their_number), TEST(limits_on_perf_script_are_enforced),
	   TEST(other_texts_are_not_recognized))
