/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines in memory of exactly their length, so that a read beyond one is detected. Lines made of
 * chosen fields must come apart into these fields again.
 */
#include "codec/perf/perfscript_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

static struct text exact(const char *line)
{
	size_t len = strlen(line);
	char *copy = malloc(len + !len);

	assert_non_null(copy);
	memcpy(copy, line, len);
	return (struct text){ copy, len };
}

static void assert_is(struct text t, const char *want)
{
	char got[512];

	assert_true(t.len < sizeof(got));
	memcpy(got, t.len ? t.s : "", t.len);
	got[t.len] = '\0';
	assert_string_equal(got, want);
}

static void assert_sample(const char *line, const char *comm, int64_t tid, const char *event,
			  const char *rest)
{
	struct text t = exact(line);
	struct perfscript_sample s;

	if (!perfscript_sample(t, &s))
		fail_msg("not a sample: \"%s\"", line);
	assert_is(s.comm, comm);
	assert_int_equal(s.tid, tid);
	assert_is(s.event, event);
	assert_is(s.rest, rest);
	free((char *)t.s);
}

static void the_forms_of_perf_are_read(void **state)
{
	assert_sample("sh 7 cycles:", "sh", 7, "cycles", "");
	assert_sample("   sh   7 [003] 1.5:  250000 cycles:ppp: ", "sh", 7, "cycles", "");
	assert_sample("sh 6/7 1.5: cpu-clock:u:  55 f (x)", "sh", 7, "cpu-clock", "55 f (x)");
	assert_sample("swapper -1 1.5: cycles:", "swapper", -1, "cycles", "");
	assert_sample("sh 7 sched:sched_switch: prev_comm=a", "sh", 7, "sched:sched_switch",
		      "prev_comm=a");
	assert_sample("sh 7 sched:sched_switch:ppp:", "sh", 7, "sched:sched_switch", "");
	assert_sample("sh\t7\tcycles:\t1 f", "sh", 7, "cycles", "1 f");
}

static void a_name_may_look_like_other_fields(void **state)
{
	assert_sample("Web Content 12 34 1.0: cycles:", "Web Content 12", 34, "cycles", "");
	assert_sample("1200 34 1.0: cycles:", "1200", 34, "cycles", "");
	assert_sample("a:b 1 cycles:", "a:b", 1, "cycles", "");
	assert_sample("kworker/0:1-events 9 [000] 1.0: cycles:", "kworker/0:1-events", 9, "cycles",
		      "");
	assert_sample(":7 7 1.0: cycles:", ":7", 7, "cycles", "");
}

static void other_lines_are_not_samples(void **state)
{
	static const char *const lines[] = {
		"",
		" ",
		"sh",
		"7",
		"7 cycles:",
		"sh 7",
		"sh 7 1.0:",
		"sh 7 cycles",
		"sh 7 1.0: 10",
		"sh 7 :",
		"sh x cycles:",
		"sh 7/x cycles:",
		"sh -2 cycles:",
		"sh 7 1.0: PERF_EXIT",
		"sh 99999999999999999999 cycles:",
		"sh /7 cycles:",
		"sh 7/ cycles:",
		"# sh",
		"sh 7 1.0: 1.1: x",
		"\tffff f+0x1 (/x)",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct text t = exact(lines[i]);
		struct perfscript_sample s;

		if (perfscript_sample(t, &s))
			fail_msg("a sample: \"%s\"", lines[i]);
		free((char *)t.s);
	}
}

static void the_search_for_the_pid_is_limited(void **state)
{
	char line[400] = "";
	struct perfscript_sample s;

	for (int i = 0; i < 31; i++)
		strncat(line, "w ", 3);
	strncat(line, "7 cycles:", 10);
	assert_true(perfscript_sample((struct text){ line, strlen(line) }, &s));
	assert_int_equal(s.comm.len, 31 * 2 - 1);
	memmove(line + 2, line, strlen(line) + 1);
	assert_false(perfscript_sample((struct text){ line, strlen(line) }, &s));
}

/* Every combination of the optional fields is understood, for names with and without spaces. */
static void fields_are_found_in_every_combination(void **state)
{
	static const char *const names[] = { "sh", "Web Content", "a 1 b", "x:y z" };
	char line[200], ids[40];

	for (unsigned int i = 0; i < 4 * 16; i++) {
		bool pid = i & 4, cpu = i & 8, time = i & 16, period = i & 32;
		struct perfscript_sample s;
		int n;

		snprintf(ids, sizeof(ids), pid ? "12/345" : "345");
		n = snprintf(line, sizeof(line), "%s %s %s%s%scycles:u: 1f main (/x)", names[i % 4],
			     ids, cpu ? "[012] " : "", time ? "71.396: " : "",
			     period ? "250 " : "");
		assert_true(perfscript_sample((struct text){ line, (size_t)n }, &s));
		assert_is(s.comm, names[i % 4]);
		assert_int_equal(s.has_pid, pid);
		assert_int_equal(s.tid, 345);
		if (pid)
			assert_int_equal(s.pid, 12);
		assert_int_equal(s.has_period, period);
		if (period)
			assert_int_equal(s.period, 250);
		assert_is(s.event, "cycles");
		assert_is(s.rest, "1f main (/x)");
	}
}

static void assert_frame(const char *line, uint64_t address, const char *name, const char *file,
			 bool inlined)
{
	struct text t = exact(line);
	struct perfscript_frame f;

	if (!perfscript_frame(t, &f))
		fail_msg("not a frame: \"%s\"", line);
	assert_int_equal(f.address, address);
	assert_is(f.name, name);
	assert_is(f.file, file);
	assert_int_equal(f.inlined, inlined);
	free((char *)t.s);
}

static void frames_come_apart(void **state)
{
	assert_frame("\tffffffff81120012 vfs_read+0x12 ([kernel.kallsyms])", 0xffffffff81120012,
		     "vfs_read", "[kernel.kallsyms]", false);
	assert_frame("  7f13 ns::f(int) const+0x1b (/usr/lib/a b.so (deleted)) ", 0x7f13,
		     "ns::f(int) const", "/usr/lib/a b.so (deleted)", false);
	assert_frame("55 [unknown] ([unknown])", 0x55, "", "", false);
	assert_frame("55 f (inlined)", 0x55, "f", "", true);
	assert_frame("55", 0x55, "", "", false);
	assert_frame("55 f", 0x55, "f", "", false);
	assert_frame("55 (/bin/app)", 0x55, "", "/bin/app", false);
	assert_frame("0 operator()+0x0 (/x)", 0, "operator()", "/x", false);
	/* No offset: a name that ends in something else, or is nothing else. */
	assert_frame("1 a+0xg (/x)", 1, "a+0xg", "/x", false);
	assert_frame("1 a+0x (/x)", 1, "a+0x", "/x", false);
	assert_frame("1 +0x12 (/x)", 1, "+0x12", "/x", false);
	assert_frame("1 operator+ (/x)", 1, "operator+", "/x", false);
	/* Parentheses that do not match belong to the name. */
	assert_frame("1 f) (/x)", 1, "f)", "/x", false);
	assert_frame("1 f(/x)", 1, "f(/x)", "", false);
	assert_frame("1 f )", 1, "f )", "", false);
	assert_frame("1 f ()", 1, "f", "", false);
}

static void other_lines_are_not_frames(void **state)
{
	static const char *const lines[] = { "",         " ",           "main.c:12",
					     "x f (/x)", "0x12 f (/x)", "11112222333344445 f (/x)",
					     "FF f" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct text t = exact(lines[i]);
		struct perfscript_frame f;

		if (perfscript_frame(t, &f))
			fail_msg("a frame: \"%s\"", lines[i]);
		free((char *)t.s);
	}
}

static bool lies_within(struct text part, struct text line)
{
	return !part.len || (part.s >= line.s && part.s + part.len <= line.s + line.len);
}

static void whatever_is_parsed_lies_within_the_line(void **state)
{
	static const char chars[] = "sf7:1 \t()[]+0x/-.";
	unsigned int seed = 1, samples = 0, frames = 0;

	for (int i = 0; i < 200000; i++) {
		char line[24];
		struct text t = { line, (size_t)(rand_r(&seed) % (int)sizeof(line)) };
		struct perfscript_sample s;
		struct perfscript_frame f;

		for (size_t k = 0; k < t.len; k++)
			line[k] = chars[(size_t)rand_r(&seed) % (sizeof(chars) - 1)];
		if (perfscript_sample(t, &s)) {
			samples++;
			assert_true(s.comm.len && s.event.len);
			assert_true(lies_within(s.comm, t) && lies_within(s.event, t) &&
				    lies_within(s.rest, t));
		}
		if (perfscript_frame(t, &f)) {
			frames++;
			assert_true(lies_within(f.name, t) && lies_within(f.file, t));
		}
	}
	assert_true(samples > 100 && frames > 100);
}

TEST_GROUP(test_perfscript_line, TEST(the_forms_of_perf_are_read),
	   TEST(a_name_may_look_like_other_fields), TEST(other_lines_are_not_samples),
	   TEST(the_search_for_the_pid_is_limited), TEST(fields_are_found_in_every_combination),
	   TEST(frames_come_apart), TEST(other_lines_are_not_frames),
	   TEST(whatever_is_parsed_lies_within_the_line))
