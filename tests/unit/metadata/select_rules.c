/* SPDX-License-Identifier: Apache-2.0 */
#include "metadata/select_rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tests/test.h"

static const struct select_subject nginx = {
	.of = { [SELECT_KEY_COMM] = "nginx",
		[SELECT_KEY_EXE] = "/usr/sbin/nginx",
		[SELECT_KEY_UID] = "33",
		[SELECT_KEY_CGROUP] = "4:cpu:/legacy\n0::/system.slice/nginx.service\n",
		[SELECT_KEY_UNIT] = "nginx.service",
		[SELECT_KEY_SLICE] = "system.slice" },
};

static struct select_rules *rules_of(const char *const *texts, size_t n)
{
	struct select_rules *s;
	struct err err = { 0 };

	assert_int_equal(select_rules_new(&s), 0);
	for (size_t i = 0; i < n; i++)
		if (select_rules_add(s, texts[i], &err) < 0)
			fail_msg("%s: %s", texts[i], err.msg);
	return s;
}

/* Decides about nginx by up to three rules. */
static struct select_decision decide(const char *a, const char *b, const char *c)
{
	const char *const texts[] = { a, b, c };
	struct select_rules *s = rules_of(texts, (a != NULL) + (b != NULL) + (c != NULL));
	struct select_decision d = select_rules_decide(s, &nginx);

	select_rules_free(s);
	return d;
}

static bool is_matched(const char *condition)
{
	char text[200];

	snprintf(text, sizeof(text), "exclude %s", condition);
	return !decide(text, NULL, NULL).cpu;
}

static void matches_each_attribute(void **state)
{
	assert_true(is_matched("comm=nginx"));
	assert_false(is_matched("comm=ngin"));
	assert_false(is_matched("comm=nginx2"));
	assert_true(is_matched("comm=ng*"));
	assert_true(is_matched("comm=?ginx"));
	assert_true(is_matched("exe=*/nginx"));
	assert_true(is_matched("uid=33"));
	assert_false(is_matched("uid=3"));
	assert_true(is_matched("unit=nginx.service slice=system.slice"));
	assert_false(is_matched("unit=nginx.service slice=user.slice"));
	assert_true(is_matched("container=\"\""));
	assert_true(is_matched("pod!=web-*"));
	assert_false(is_matched("comm!=nginx"));
	assert_true(is_matched(""));
}

static void matches_the_path_of_any_hierarchy(void **state)
{
	assert_true(is_matched("cgroup=/system.slice/*"));
	assert_true(is_matched("cgroup=*/nginx.service"));
	assert_true(is_matched("cgroup=/legacy"));
	assert_false(is_matched("cgroup=/system.slice"));
	assert_false(is_matched("cgroup=*legacy*nginx*"));
	assert_true(is_matched("cgroup!=/user.slice/*"));
}

static void the_first_match_decides(void **state)
{
	struct select_decision d = decide("include comm=nginx", "exclude uid=33", NULL);

	assert_true(d.cpu && d.off_cpu);
	assert_int_equal(d.rule, 0);
	d = decide("exclude uid=33", "include comm=nginx", NULL);
	assert_false(d.cpu || d.off_cpu);
	assert_int_equal(d.rule, 0);
	d = decide("include comm=x", "exclude comm=y", "exclude");
	assert_false(d.cpu);
	assert_int_equal(d.rule, 2);
}

static void others_are_excluded_only_if_all_rules_include(void **state)
{
	assert_true(decide(NULL, NULL, NULL).cpu);
	assert_true(decide("exclude comm=x", NULL, NULL).cpu);
	assert_true(decide("exclude comm=x", "include comm=y", NULL).cpu);
	assert_false(decide("include comm=x", "include comm=y", NULL).cpu);
	assert_int_equal(decide("include comm=x", NULL, NULL).rule, -1);
}

static void off_cpu_is_switched_off_by_a_rule(void **state)
{
	struct select_decision d = decide("include comm=nginx off-cpu=no", NULL, NULL);

	assert_true(d.cpu);
	assert_false(d.off_cpu);
	d = decide("include off-cpu=yes comm=nginx", NULL, NULL);
	assert_true(d.cpu && d.off_cpu);
}

/* An exec cannot change what the cgroup decides, unless an earlier rule looks at the program. */
static void knows_if_the_program_may_have_decided(void **state)
{
	assert_false(decide("exclude uid=33", "exclude comm=x", NULL).by_program);
	assert_true(decide("exclude comm=x", "exclude uid=33", NULL).by_program);
	assert_true(decide("exclude exe=x", NULL, NULL).by_program);
	assert_false(decide("include uid=1", NULL, NULL).by_program);
}

static void reads_quotes(void **state)
{
	const struct select_subject s = { .of = { [SELECT_KEY_COMM] = "a \"b\\" } };
	const char *const texts[] = { "exclude\tcomm=\"a \\\"b\\\\\"" };
	struct select_rules *rules = rules_of(texts, 1);

	assert_false(select_rules_decide(rules, &s).cpu);
	select_rules_free(rules);
}

static void assert_refused(const char *text, const char *why)
{
	struct err err = { 0 };

	assert_int_equal(select_rule_check(text, &err), -EINVAL);
	assert_non_null(strstr(err.msg, why));
}

static void refuses_bad_rules(void **state)
{
	assert_refused("", "include or exclude");
	assert_refused("drop comm=x", "not \"drop\"");
	assert_refused("exclude com=x", "unknown key \"com\"");
	assert_refused("exclude =x", "unknown key \"\"");
	assert_refused("exclude comm", "expected = or != after \"comm\"");
	assert_refused("exclude comm!x", "expected = or != after \"comm\"");
	assert_refused("exclude comm=\"x", "missing closing quote");
	assert_refused("exclude comm=\"x\\\"", "missing closing quote");
	assert_refused("exclude comm=\"x\"y", "expected a space");
	assert_refused("exclude uid=root", "expected a number");
	assert_refused("include off-cpu=maybe", "expected yes or no");
	assert_refused("include off-cpu", "expected off-cpu=yes");
	assert_refused("exclude off-cpu=no", "cannot be used with exclude");
}

static void limits_their_number(void **state)
{
	struct select_rules *s;
	struct err err = { 0 };

	assert_int_equal(select_rules_new(&s), 0);
	for (int i = 0; i < SELECT_RULES_LIMIT; i++)
		assert_int_equal(select_rules_add(s, "exclude", &err), 0);
	assert_int_equal(select_rules_add(s, "exclude", &err), -EINVAL);
	select_rules_free(s);
}

/* ---- a naive model ---------------------------------------------------------------- */

/* Exponential, and obviously right. */
static __attribute__((noinline)) bool model_glob(const char *p, const char *t)
{
	if (!*p)
		return !*t;
	if (*p == '*')
		return model_glob(p + 1, t) || (*t && model_glob(p, t + 1));
	return *t && (*p == '?' || *p == *t) && model_glob(p + 1, t + 1);
}

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 16;
}

static void random_text(uint32_t *seed, const char *alphabet, char *out, size_t cap)
{
	size_t n = next(seed) % cap;

	for (size_t i = 0; i < n; i++)
		out[i] = alphabet[next(seed) % strlen(alphabet)];
	out[n] = 0;
}

static void globs_are_those_of_the_model(void **state)
{
	uint32_t seed = 1, n_matches = 0;

	for (int i = 0; i < 100000; i++) {
		char pattern[9], text[11];

		random_text(&seed, "ab*?*", pattern, sizeof(pattern));
		random_text(&seed, "ab", text, sizeof(text));
		if (select_glob(pattern, text, strlen(text)) != model_glob(pattern, text))
			fail_msg("\"%s\" and \"%s\"", pattern, text);
		n_matches += model_glob(pattern, text);
	}
	assert_in_range(n_matches, 1000, 99000);
}

/* Rules of comm, exe and uid over a tiny alphabet, decided rule by rule from their parts. */
static void decisions_are_those_of_the_model(void **state)
{
	static const enum select_key keys[] = { SELECT_KEY_COMM, SELECT_KEY_EXE, SELECT_KEY_UNIT };
	static const char *const names[] = { "comm", "exe", "unit" };
	uint32_t seed = 7, n_excluded = 0;

	for (int round = 0; round < 5000; round++) {
		struct select_rules *s = rules_of(NULL, 0);
		struct select_subject subject = { 0 };
		char values[3][4];
		int n = (int)(next(&seed) % 5), decided = -1;
		bool any_exclude = false, includes = false;

		for (int k = 0; k < 3; k++) {
			random_text(&seed, "ab", values[k], sizeof(values[k]));
			subject.of[keys[k]] = values[k];
		}
		for (int i = 0; i < n; i++) {
			bool include = next(&seed) % 2, matches = true;
			char text[120];
			int len = snprintf(text, sizeof(text), include ? "include" : "exclude");

			for (uint32_t m = next(&seed) % 3; m; m--) {
				uint32_t k = next(&seed) % 3, negated = next(&seed) % 2;
				char pattern[4];

				random_text(&seed, "ab*", pattern, sizeof(pattern));
				len += snprintf(text + len, sizeof(text) - (size_t)len, " %s%s%s",
						names[k], negated ? "!=" : "=", pattern);
				matches &= model_glob(pattern, values[k]) != negated;
			}
			assert_int_equal(select_rules_add(s, text, NULL), 0);
			any_exclude |= !include;
			if (!matches || decided >= 0)
				continue;
			decided = i;
			includes = include;
		}
		if (decided < 0)
			includes = any_exclude || !n;
		assert_int_equal(select_rules_decide(s, &subject).rule, decided);
		assert_int_equal(select_rules_decide(s, &subject).cpu, includes);
		n_excluded += !includes;
		select_rules_free(s);
	}
	assert_in_range(n_excluded, 500, 4500);
}

/* A pattern that is exponential for a matcher that tries every split. */
static void a_hostile_text_costs_no_more_than_the_product(void **state)
{
	static char text[8192];

	memset(text, 'a', sizeof(text));
	assert_false(select_glob("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*ab", text, sizeof(text)));
}

TEST_GROUP(test_select_rules, TEST(matches_each_attribute), TEST(matches_the_path_of_any_hierarchy),
	   TEST(the_first_match_decides), TEST(others_are_excluded_only_if_all_rules_include),
	   TEST(off_cpu_is_switched_off_by_a_rule), TEST(knows_if_the_program_may_have_decided),
	   TEST(reads_quotes), TEST(refuses_bad_rules), TEST(limits_their_number),
	   TEST(globs_are_those_of_the_model), TEST(decisions_are_those_of_the_model),
	   TEST(a_hostile_text_costs_no_more_than_the_product))
