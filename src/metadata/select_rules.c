/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules come from the operator, but what they match comes from processes. A glob that backtracks
 * only to its last star takes bounded time for any text, unlike regular expressions and fnmatch().
 */
#include "metadata/select_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

struct match {
	enum select_key key;
	bool negated;
	char *pattern;
};

struct rule {
	char *text;
	bool include, off_cpu;
	struct {
		VEC(struct match);
	} matches;
};

struct select_rules {
	struct {
		VEC(struct rule);
	} all;
};

/* p is the position in the rule; word is what was read last. */
struct parser {
	const char *p;
	struct buf word;
	struct err *err;
};

static const char *const key_names[] = {
#define X(symbol, name) name,
#include "metadata/select_keys.def"
#undef X
};

static void rule_fini(struct rule *r)
{
	for (size_t i = 0; i < r->matches.len; i++)
		free(r->matches.data[i].pattern);
	vec_fini(&r->matches);
	free(r->text);
}

int select_rules_new(struct select_rules **out)
{
	struct select_rules *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*out = s;
	return 0;
}

void select_rules_free(struct select_rules *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->all.len; i++)
		rule_fini(&s->all.data[i]);
	vec_fini(&s->all);
	free(s);
}

/* ---- parsing -------------------------------------------------------------------- */

static void skip_blanks(struct parser *in)
{
	while (*in->p == ' ' || *in->p == '\t')
		in->p++;
}

/* Reads the character @c if it comes next. */
static bool accept(struct parser *in, char c)
{
	bool is_next = *in->p == c;

	in->p += is_next;
	return is_next;
}

/* Reads up to one of @stops into in->word; a blank ends it too. */
static int read_bare(struct parser *in, const char *stops)
{
	size_t n = strcspn(in->p, stops);

	in->word.len = 0;
	buf_put(&in->word, in->p, n);
	buf_put_byte(&in->word, 0);
	in->p += n;
	return buf_error(&in->word);
}

/* Reads a text in quotes; in->p follows the first one. */
static int read_quoted(struct parser *in)
{
	in->word.len = 0;
	for (; *in->p && *in->p != '"'; in->p++) {
		if (*in->p == '\\' && (in->p[1] == '"' || in->p[1] == '\\'))
			in->p++;
		buf_put_byte(&in->word, (uint8_t)*in->p);
	}
	if (!accept(in, '"'))
		return err_set(in->err, -EINVAL, "missing closing quote");
	if (*in->p && *in->p != ' ' && *in->p != '\t')
		return err_set(in->err, -EINVAL, "expected a space after the closing quote");
	buf_put_byte(&in->word, 0);
	return buf_error(&in->word);
}

static const char *word(const struct parser *in)
{
	return (const char *)in->word.data;
}

static int read_value(struct parser *in)
{
	return accept(in, '"') ? read_quoted(in) : read_bare(in, " \t");
}

static int parse_verb(struct parser *in, struct rule *rule)
{
	int r = read_bare(in, " \t");

	if (r < 0)
		return r;
	rule->include = !strcmp(word(in), "include");
	rule->off_cpu = rule->include;
	if (!rule->include && strcmp(word(in), "exclude") != 0)
		return err_set(in->err, -EINVAL, "expected include or exclude, not \"%.40s\"",
			       word(in));
	return 0;
}

static int find_key(struct parser *in, enum select_key *out)
{
	for (int i = 0; i < SELECT_KEY_MAX; i++) {
		if (strcmp(key_names[i], word(in)) != 0)
			continue;
		*out = (enum select_key)i;
		return 0;
	}
	return err_set(in->err, -EINVAL,
		       "unknown key \"%.40s\": expected comm, exe, uid, cgroup, container_id, "
		       "container, runtime, namespace, pod, unit or slice",
		       word(in));
}

static int parse_off_cpu(struct parser *in, struct rule *rule)
{
	int r;

	if (!accept(in, '='))
		return err_set(in->err, -EINVAL, "expected off-cpu=yes or off-cpu=no");
	r = read_value(in);
	if (r < 0)
		return r;
	if (strcmp(word(in), "yes") != 0 && strcmp(word(in), "no") != 0)
		return err_set(in->err, -EINVAL, "off-cpu=%.40s: expected yes or no", word(in));
	if (!rule->include)
		return err_set(in->err, -EINVAL, "off-cpu cannot be used with exclude");
	rule->off_cpu = !strcmp(word(in), "yes");
	return 0;
}

static int parse_match(struct parser *in, struct rule *rule, enum select_key key)
{
	struct match m = { .key = key, .negated = accept(in, '!') };
	int r;

	if (!accept(in, '='))
		return err_set(in->err, -EINVAL, "expected = or != after \"%s\"", key_names[key]);
	r = read_value(in);
	if (r < 0)
		return r;
	if (key == SELECT_KEY_UID && word(in)[strspn(word(in), "0123456789*?")])
		return err_set(in->err, -EINVAL, "uid=%.40s: expected a number", word(in));
	m.pattern = strdup(word(in));
	r = m.pattern ? vec_push(&rule->matches, m) : -ENOMEM;
	if (r < 0)
		free(m.pattern);
	return r;
}

static int parse_condition(struct parser *in, struct rule *rule)
{
	enum select_key key = SELECT_KEY_MAX;
	int r = read_bare(in, " \t=!");

	if (r == 0 && !strcmp(word(in), "off-cpu"))
		return parse_off_cpu(in, rule);
	if (r == 0)
		r = find_key(in, &key);
	return r < 0 ? r : parse_match(in, rule, key);
}

static int parse_rule(struct parser *in, struct rule *rule)
{
	int r;

	rule->text = strdup(in->p);
	if (!rule->text)
		return -ENOMEM;
	skip_blanks(in);
	r = parse_verb(in, rule);
	for (skip_blanks(in); r == 0 && *in->p; skip_blanks(in))
		r = parse_condition(in, rule);
	return r;
}

int select_rules_add(struct select_rules *s, const char *text, struct err *err)
{
	struct parser in = { .p = text, .err = err };
	struct rule rule = { 0 };
	int r = 0;

	if (s->all.len >= SELECT_RULES_LIMIT)
		r = err_set(err, -EINVAL, "expected at most %d rules", SELECT_RULES_LIMIT);
	if (r == 0)
		r = parse_rule(&in, &rule);
	if (r == 0)
		r = vec_push(&s->all, rule);
	buf_fini(&in.word);
	if (r < 0)
		rule_fini(&rule);
	return r;
}

int select_rule_check(const char *text, struct err *err)
{
	_cleanup_(select_rules_freep) struct select_rules *s = NULL;
	int r = select_rules_new(&s);

	return r < 0 ? r : select_rules_add(s, text, err);
}

/* ---- matching ------------------------------------------------------------------- */

/* A mismatch goes back to the last star, which then takes one character more. */
bool select_glob(const char *pattern, const char *text, size_t len)
{
	const char *star = NULL;
	size_t i = 0, retry = 0;

	while (i < len) {
		if (*pattern == '*') {
			star = pattern++;
			retry = i;
		} else if (*pattern && (*pattern == '?' || *pattern == text[i])) {
			pattern++;
			i++;
		} else if (star) {
			pattern = star + 1;
			i = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* Compares the path of each line, HIERARCHY:CONTROLLERS:PATH. */
static bool matches_cgroup(const char *pattern, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		const char *end = text + n, *path = memchr(text, ':', n);

		if (path)
			path = memchr(path + 1, ':', (size_t)(end - path - 1));
		if (path && select_glob(pattern, path + 1, (size_t)(end - path - 1)))
			return true;
		text = *end ? end + 1 : end;
	}
	return false;
}

static bool matches(const struct match *m, const struct select_subject *subject)
{
	const char *text = subject->of[m->key] ? subject->of[m->key] : "";
	bool does = m->key == SELECT_KEY_CGROUP ? matches_cgroup(m->pattern, text)
						: select_glob(m->pattern, text, strlen(text));

	return does != m->negated;
}

static bool uses(const struct rule *rule, enum select_key key)
{
	for (size_t i = 0; i < rule->matches.len; i++)
		if (rule->matches.data[i].key == key)
			return true;
	return false;
}

static bool rule_matches(const struct rule *rule, const struct select_subject *subject)
{
	for (size_t i = 0; i < rule->matches.len; i++)
		if (!matches(&rule->matches.data[i], subject))
			return false;
	return true;
}

size_t select_rules_count(const struct select_rules *s)
{
	return s->all.len;
}

const char *select_rules_text(const struct select_rules *s, size_t i)
{
	return s->all.data[i].text;
}

bool select_rules_includes(const struct select_rules *s, size_t i)
{
	return s->all.data[i].include;
}

bool select_rules_use(const struct select_rules *s, enum select_key key)
{
	for (size_t i = 0; i < s->all.len; i++)
		if (uses(&s->all.data[i], key))
			return true;
	return false;
}

struct select_decision select_rules_default(const struct select_rules *s)
{
	bool included = !s->all.len;

	for (size_t i = 0; i < s->all.len; i++)
		included |= !s->all.data[i].include;
	return (struct select_decision){ .rule = -1, .cpu = included, .off_cpu = included };
}

struct select_decision select_rules_decide(const struct select_rules *s,
					   const struct select_subject *subject)
{
	struct select_decision d = select_rules_default(s);

	for (size_t i = 0; i < s->all.len; i++) {
		const struct rule *rule = &s->all.data[i];

		d.by_program |= uses(rule, SELECT_KEY_COMM) || uses(rule, SELECT_KEY_EXE);
		if (!rule_matches(rule, subject))
			continue;
		d.rule = (int)i;
		d.cpu = rule->include;
		d.off_cpu = rule->off_cpu;
		break;
	}
	return d;
}
