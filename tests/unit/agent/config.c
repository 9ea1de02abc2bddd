/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "options/config_file.h"
#include "tests/test.h"

static struct agent_config *fresh(void)
{
	struct agent_config *c;

	assert_int_equal(agent_config_new(&c), 0);
	return c;
}

static int text(struct agent_config *c, const char *s, struct err *err)
{
	return config_file_parse(&(struct option_set){ agent_config_options, c }, "file", s,
				 strlen(s), err);
}

static int read_flags(struct agent_config **out, int argc, const char *const *argv, struct err *err)
{
	const struct agent_config_source source = { .argc = argc, .argv = (char *const *)argv };

	return agent_config_read(out, &source, err);
}

static void has_defaults(void **state)
{
	struct agent_config *c = fresh();

	assert_int_equal(c->freq, 19);
	assert_int_equal(c->window, 15000000000);
	assert_int_equal(c->memory, 128 << 20);
	assert_true(c->kernel);
	assert_false(c->idle);
	assert_null(c->spool);
	assert_int_equal(c->server.len, 0);
	assert_int_equal(agent_config_check(c, NULL), 0);
	agent_config_free(c);
}

static void reads_a_file(void **state)
{
	struct agent_config *c = fresh();
	struct err err = { 0 };

	if (text(c,
		 "# a comment\n; another\n\n  freq = 99\r\nserver=http://a=b\nserver = http://c\n"
		 "window\t=\t500ms\n",
		 &err) == 0)
		fail_msg("a window of 500ms was accepted");
	assert_string_equal(err.msg, "file:7: window \"500ms\": expected a duration such as 500ms, "
				     "15s or 2h between 1s and 1h");
	assert_int_equal(c->freq, 99);
	assert_int_equal(c->server.len, 2);
	assert_string_equal(c->server.data[0], "http://a=b");
	assert_int_equal(
		text(c, "idle = yes\nkernel = no\nmemory = 64M\nmax-age=2h\ntenant = a b", NULL),
		0);
	assert_true(c->idle);
	assert_false(c->kernel);
	assert_int_equal(c->memory, 64 << 20);
	assert_int_equal(c->max_age, 7200000000000);
	assert_string_equal(c->tenant, "a b");
	/* An empty value removes the earlier ones. */
	assert_int_equal(text(c, "server =\ntenant =", NULL), 0);
	assert_int_equal(c->server.len, 0);
	assert_null(c->tenant);
	agent_config_free(c);
}

static void every_mistake_is_reported_with_its_line(void **state)
{
	static const char *const bad[][2] = {
		{ "nosuch = 1", "file:1: unknown key \"nosuch\"" },
		{ "freq = 19\nFreq = 19", "file:2: unknown key \"Freq\"" },
		{ "\n\n= 3", "file:3: unknown key \"\"" },
		{ "freq", "file:1: expected KEY = VALUE, not \"freq\"" },
		{ "[agent]", "file:1: sections are not supported: \"[agent]\"" },
		{ "config = x", "file:1: unknown key \"config\"" },
		{ "freq = ", "file:1: freq \"\": expected a number of samples per second" },
		{ "freq = -1", "file:1: freq \"-1\": expected a number" },
		{ "freq = 1.5", "file:1: freq \"1.5\": expected a number" },
		{ "freq = 19Hz", "file:1: freq \"19Hz\": expected a number" },
		{ "freq = 0", "per second between 1 and 10000" },
		{ "freq = 20000", "per second between 1 and 10000" },
		{ "freq = 99999999999999999999", "expected a number of samples" },
		{ "window = 15", "file:1: window \"15\": expected a duration" },
		{ "window = 15 s", "file:1: window \"15 s\": expected a duration" },
		{ "window = 99999999999999d", "expected a duration" },
		{ "memory = 128MB", "file:1: memory \"128MB\": expected a size" },
		{ "memory = 1", "between 48M and 1T" },
		{ "idle = maybe", "file:1: idle \"maybe\": expected yes or no" },
		{ "demangle = all", "file:1: demangle \"all\": expected full, short or no" },
		{ "native-frames = none", "native-frames \"none\": expected some or all" },
		{ "tenant = a\x01", "file:1: tenant: the value contains control characters" },
		{ "freq = 19\nrule = comm=x : keep",
		  "file:2: rule \"comm=x : keep\": unknown action \"keep\": expected set" },
		{ "select = exclude com=x",
		  "file:1: select \"exclude com=x\": unknown key \"com\": expected comm, exe" },
		{ "\nselect = drop", "file:2: select \"drop\": expected include or exclude" },
		{ "probability = 101", "expected a whole number between 1 and 100" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct agent_config *c = fresh();
		struct err err = { 0 };

		assert_int_equal(text(c, bad[i][0], &err), -EINVAL);
		if (!strstr(err.msg, bad[i][1]))
			fail_msg("%s: says \"%s\"", bad[i][0], err.msg);
		agent_config_free(c);
	}
}

static int text_of(struct agent_config *c, const char *s, size_t len, struct err *err)
{
	return config_file_parse(&(struct option_set){ agent_config_options, c }, "file", s, len,
				 err);
}

static void refuses_values_that_are_too_long_or_not_text(void **state)
{
	struct agent_config *c = fresh();
	struct buf b = { 0 };
	struct err err = { 0 };

	buf_put_str(&b, "tenant = ");
	for (int i = 0; i <= OPTION_VALUE_MAX; i++)
		buf_put_byte(&b, 'x');
	assert_int_equal(text_of(c, (char *)b.data, b.len, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "longer than 8192 bytes"));
	err = (struct err){ 0 };
	assert_int_equal(text_of(c, "a\0b", 3, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "not a text file"));
	b.len = 0;
	for (int i = 0; i <= OPTION_TEXTS_MAX; i++)
		buf_put_str(&b, "server = x\n");
	err = (struct err){ 0 };
	assert_int_equal(text_of(c, (char *)b.data, b.len, &err), -EINVAL);
	assert_string_equal(err.msg, "file:1001: server may not be repeated more than 1000 times");
	buf_fini(&b);
	agent_config_free(c);
}

static void every_key_is_also_a_flag(void **state)
{
	static const char *const argv[] = {
		"cameo agent",   "-F",       "99",          "--window=30s", "--idle",
		"--server",      "http://x", "--kernel=no", "--header",     "A: b=c",
		"--exclude-self"
	};
	struct agent_config *c;

	assert_int_equal(read_flags(&c, 11, argv, NULL), 0);
	assert_int_equal(c->freq, 99);
	assert_int_equal(c->window, 30000000000);
	assert_true(c->idle);
	assert_true(c->exclude_self);
	assert_false(c->kernel);
	assert_string_equal(c->server.data[0], "http://x");
	assert_string_equal(c->header.data[0], "A: b=c");
	agent_config_free(c);
}

static void wrong_flags_are_refused(void **state)
{
	static const char *const bad[][2] = {
		{ "--nosuch", "unknown option --nosuch" },
		{ "-x", "unknown option -x" },
		{ "word", "unexpected argument \"word\"" },
		{ "--freq", "--freq requires a value: HZ" },
		{ "--freq=x", "--freq \"x\": expected a number of samples per second" },
		{ "--config", "--config requires a value: FILE" },
		{ "--config=/no/such/file", "cannot open \"/no/such/file\": No such file" },
		{ "-", "unexpected argument \"-\"" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *const argv[] = { "cameo agent", bad[i][0] };
		struct agent_config *c;
		struct err err = { 0 };

		assert_true(read_flags(&c, 2, argv, &err) < 0);
		if (!strstr(err.msg, bad[i][1]))
			fail_msg("%s: says \"%s\"", bad[i][0], err.msg);
	}
}

static void flags_take_precedence_over_the_file(void **state)
{
	char path[] = "/tmp/cameo-config.XXXXXX";
	static const char said[] = "freq = 49\nwindow = 20s\n";
	const char *const argv[] = { "cameo agent", "--freq=99", "--config", path };
	struct agent_config *c;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, said, strlen(said)), strlen(said));
	close(fd);
	assert_int_equal(read_flags(&c, 4, argv, NULL), 0);
	assert_int_equal(c->freq, 99);
	assert_int_equal(c->window, 20000000000);
	unlink(path);
	agent_config_free(c);
}

/* Does the same as `cameo up`, whose command line also has options of the server. */
static void defaults_can_be_replaced(void **state)
{
	static const struct option_spec others[] = { { .kind = OPTION_FLAG, .name = "other" },
						     { 0 } };
	const char *const argv[] = { "cameo up", "--other", "--freq=99" };
	bool given = false;
	const struct agent_config_source source = {
		.argc = 3,
		.argv = (char *const *)argv,
		.others = &(struct option_set){ others, &given },
		.defaults = "window = 5s\nfreq = 7\n",
	};
	struct agent_config *c;

	assert_int_equal(agent_config_read(&c, &source, NULL), 0);
	assert_int_equal(c->window, 5000000000);
	assert_int_equal(c->freq, 99);
	assert_true(given);
	agent_config_free(c);
}

static void refuses_options_that_exclude_each_other(void **state)
{
	static const char *const bad[][2] = {
		{ "cpus = 3-1", "invalid range in CPU list" },
		{ "bearer = x\nbasic = y", "basic and basic-file cannot be used together" },
		{ "cert-file = x", "cert-file and key-file must be used together" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct agent_config *c = fresh();
		struct err err = { 0 };

		assert_int_equal(text(c, bad[i][0], NULL), 0);
		assert_int_equal(agent_config_check(c, &err), -EINVAL);
		if (!strstr(err.msg, bad[i][1]))
			fail_msg("%s: says \"%s\"", bad[i][0], err.msg);
		agent_config_free(c);
	}
}

static void limits_the_rules_of_selection(void **state)
{
	struct agent_config *c = fresh();
	struct err err = { 0 };

	for (int i = 0; i < 63; i++)
		assert_int_equal(text(c, "select = exclude comm=x", NULL), 0);
	assert_int_equal(agent_config_check(c, &err), 0);
	assert_int_equal(text(c, "select = exclude comm=x", NULL), 0);
	assert_int_equal(agent_config_check(c, &err), -EINVAL);
	assert_string_equal(err.msg, "select may not be repeated more than 63 times");
	agent_config_free(c);
}

static void a_reload_keeps_options_that_cannot_change(void **state)
{
	struct agent_config *old = fresh(), *c = fresh();
	struct buf kept = { 0 };

	assert_int_equal(text(old, "freq = 99\ncpus = 0\nenv = A\nenv = B\nidle = yes\n", NULL), 0);
	assert_int_equal(
		text(c, "freq = 98\nenv = A\nidle = yes\nwindow = 2s\nrule = comm=a : drop x\n",
		     NULL),
		0);
	assert_int_equal(agent_config_keep(c, old, &kept), 0);
	buf_put_byte(&kept, 0);
	assert_string_equal((const char *)kept.data, "freq cpus env");
	assert_int_equal(c->freq, 99);
	assert_string_equal(c->cpus, "0");
	assert_int_equal(c->env.len, 2);
	assert_string_equal(c->env.data[1], "B");
	assert_int_equal(c->window, 2000000000);
	assert_int_equal(c->rule.len, 1);
	kept.len = 0;
	assert_int_equal(agent_config_keep(c, old, &kept), 0);
	assert_int_equal(kept.len, 0);
	buf_fini(&kept);
	agent_config_free(old);
	agent_config_free(c);
}

TEST_GROUP(test_config, TEST(has_defaults), TEST(reads_a_file),
	   TEST(every_mistake_is_reported_with_its_line),
	   TEST(refuses_values_that_are_too_long_or_not_text), TEST(every_key_is_also_a_flag),
	   TEST(wrong_flags_are_refused), TEST(flags_take_precedence_over_the_file),
	   TEST(defaults_can_be_replaced), TEST(refuses_options_that_exclude_each_other),
	   TEST(limits_the_rules_of_selection), TEST(a_reload_keeps_options_that_cannot_change))
