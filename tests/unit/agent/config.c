/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "tests/test.h"

static struct agent_config *fresh(void)
{
	struct agent_config *c;

	assert_int_equal(agent_config_new(&c), 0);
	return c;
}

static int text(struct agent_config *c, const char *s, struct err *err)
{
	return agent_config_text(c, "file", s, strlen(s), err);
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
		fail_msg("a window of 500ms was taken");
	assert_string_equal(err.msg, "file:7: window: 500ms is too little");
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
	/* an empty value takes back what was said */
	assert_int_equal(text(c, "server =\ntenant =", NULL), 0);
	assert_int_equal(c->server.len, 0);
	assert_null(c->tenant);
	agent_config_free(c);
}

static void every_mistake_is_told_with_its_line(void **state)
{
	static const char *const bad[][2] = {
		{ "nosuch = 1", "file:1: there is no key \"nosuch\"" },
		{ "freq = 19\nFreq = 19", "file:2: there is no key \"Freq\"" },
		{ "\n\n= 3", "file:3: there is no key \"\"" },
		{ "freq", "file:1: KEY = VALUE is expected, not \"freq\"" },
		{ "[agent]", "file:1: sections are not used here" },
		{ "freq = ", "file:1: freq takes a whole number, not \"\"" },
		{ "freq = -1", "file:1: freq takes a whole number, not \"-1\"" },
		{ "freq = 1.5", "file:1: freq takes a whole number, not \"1.5\"" },
		{ "freq = 19Hz", "file:1: freq takes a whole number, not \"19Hz\"" },
		{ "freq = 0", "file:1: freq: 0 is too little" },
		{ "freq = 20000", "file:1: freq: 20000 is too much" },
		{ "freq = 99999999999999999999", "freq takes a whole number" },
		{ "window = 15", "file:1: window takes a time" },
		{ "window = 15 s", "file:1: window takes a time" },
		{ "window = 99999999999999d", "file:1: window takes a time" },
		{ "memory = 128MB", "file:1: memory takes a size" },
		{ "memory = 1", "file:1: memory: 1 is too little" },
		{ "idle = maybe", "file:1: idle takes yes or no, not \"maybe\"" },
		{ "tenant = a\x01", "file:1: tenant: the value has control characters" },
		{ "probability = 101", "file:1: probability: 101 is too much" },
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

static void refuses_what_is_too_long_or_no_text(void **state)
{
	struct agent_config *c = fresh();
	struct buf b = { 0 };
	struct err err = { 0 };

	buf_put_str(&b, "tenant = ");
	for (int i = 0; i <= CONFIG_VALUE_MAX; i++)
		buf_put_byte(&b, 'x');
	assert_int_equal(agent_config_text(c, "file", (char *)b.data, b.len, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "longer than 8192 bytes"));
	err = (struct err){ 0 };
	assert_int_equal(agent_config_text(c, "file", "a\0b", 3, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "not text"));
	b.len = 0;
	for (int i = 0; i <= CONFIG_TEXTS_MAX; i++)
		buf_put_str(&b, "server = x\n");
	err = (struct err){ 0 };
	assert_int_equal(agent_config_text(c, "file", (char *)b.data, b.len, &err), -EINVAL);
	assert_string_equal(err.msg, "file:1001: server: more than 1000");
	buf_fini(&b);
	agent_config_free(c);
}

static void flags_are_the_same_keys(void **state)
{
	static const char *const argv[] = {
		"cameo agent",   "-F",       "99",          "--window=30s", "--idle",
		"--server",      "http://x", "--kernel=no", "--header",     "A: b=c",
		"--exclude-self"
	};
	struct agent_config *c = fresh();

	assert_int_equal(agent_config_flags(c, 11, (char *const *)argv, NULL), 0);
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
		{ "--nosuch", "no flag --nosuch" },
		{ "-x", "no flag -x" },
		{ "word", "\"word\" is not expected" },
		{ "--freq", "takes a value" },
		{ "--freq=x", "freq takes a whole number" },
		{ "--config", "takes a value" },
		{ "--config=/no/such/file", "/no/such/file: No such file" },
		{ "--", "no flag --" },
		{ "-", "no flag -" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *const argv[] = { "cameo agent", bad[i][0] };
		struct agent_config *c = fresh();
		struct err err = { 0 };

		assert_true(agent_config_flags(c, 2, (char *const *)argv, &err) < 0);
		if (!strstr(err.msg, bad[i][1]))
			fail_msg("%s: says \"%s\"", bad[i][0], err.msg);
		agent_config_free(c);
	}
}

static void flags_go_before_the_file(void **state)
{
	char path[] = "/tmp/cameo-config.XXXXXX";
	static const char said[] = "freq = 49\nwindow = 20s\n";
	const char *const argv[] = { "cameo agent", "--freq=99", "--config", path };
	struct agent_config *c = fresh();
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, said, strlen(said)), strlen(said));
	close(fd);
	assert_int_equal(agent_config_flags(c, 4, (char *const *)argv, NULL), 0);
	assert_int_equal(c->freq, 99);
	assert_int_equal(c->window, 20000000000);
	unlink(path);
	agent_config_free(c);
}

static void checks_what_does_not_go_together(void **state)
{
	static const char *const bad[][2] = {
		{ "cpus = 3-1", "range of CPUs" },
		{ "demangle = all", "demangle takes" },
		{ "native-frames = none", "native-frames takes" },
		{ "bearer = x\nbasic = y", "only one of bearer" },
		{ "cert-file = x", "belong together" },
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

/* One that runs takes what can change, and keeps the rest. */
static void keeps_what_can_not_change(void **state)
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

/* Whatever help and man page say, they say it of every key. */
static void help_and_man_page_have_every_key(void **state)
{
	static const char *const keys[] = {
#define GROUP(title)
#define X(kind, field, name, ...) name,
#define ONCE(...)                 X(__VA_ARGS__)
#include "agent/config.def"
#undef ONCE
#undef X
#undef GROUP
	};
	char *help = NULL, *man = NULL;
	size_t len;
	FILE *f = open_memstream(&help, &len);

	agent_config_help(f);
	fclose(f);
	f = open_memstream(&man, &len);
	agent_config_man(f);
	fclose(f);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char flag[64], roff[128] = "\\fB\\-\\-";

		snprintf(flag, sizeof(flag), "--%s", keys[i]);
		assert_non_null(strstr(help, flag));
		for (const char *p = keys[i]; *p; p++)
			snprintf(roff + strlen(roff), sizeof(roff) - strlen(roff), "%s%c",
				 *p == '-' ? "\\" : "", *p);
		assert_non_null(strstr(man, roff));
	}
	free(help);
	free(man);
}

TEST_GROUP(test_config, TEST(has_defaults), TEST(reads_a_file),
	   TEST(every_mistake_is_told_with_its_line), TEST(refuses_what_is_too_long_or_no_text),
	   TEST(flags_are_the_same_keys), TEST(wrong_flags_are_refused),
	   TEST(flags_go_before_the_file), TEST(checks_what_does_not_go_together),
	   TEST(keeps_what_can_not_change), TEST(help_and_man_page_have_every_key))
