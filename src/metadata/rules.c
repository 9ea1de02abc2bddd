/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule is parsed by recursive descent over one line. Rules come from the operator, but values
 * that they match come from processes, so match steps and heap are limited; a match that exceeds
 * them counts as none. Expressions may not contain \C, which would split UTF-8 characters.
 */
#include "metadata/rules.h"

#include <errno.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "metadata/labels.h"

/* Limits for one match, so that no expression takes noticeable time. */
enum { MATCH_STEPS_MAX = 100000, MATCH_HEAP_KIB = 1024 };

struct match {
	char *label, *text;
	pcre2_code *code; /* NULL: compare for equality */
	bool negated;
};

enum action_kind { ACTION_SET, ACTION_COPY, ACTION_DROP, ACTION_DROP_PROCESS };

struct action {
	enum action_kind kind;
	char *a, *b; /* label and value (set), source and target (copy), or label (drop) */
};

struct rule {
	struct {
		VEC(struct match);
	} matches;
	struct {
		VEC(struct action);
	} actions;
};

struct rules {
	struct {
		VEC(struct rule);
	} all;
	pcre2_match_context *limits;
	pcre2_match_data *data;
};

/* p is the position in the rule; word holds the text that was read last. */
struct parser {
	const char *p;
	struct buf word;
	struct err *err;
};

int rules_new(struct rules **out)
{
	struct rules *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->limits = pcre2_match_context_create(NULL);
	r->data = pcre2_match_data_create(1, NULL);
	if (!r->limits || !r->data) {
		rules_free(r);
		return -ENOMEM;
	}
	pcre2_set_match_limit(r->limits, MATCH_STEPS_MAX);
	pcre2_set_heap_limit(r->limits, MATCH_HEAP_KIB);
	*out = r;
	return 0;
}

static void match_fini(struct match *m)
{
	free(m->label);
	free(m->text);
	pcre2_code_free(m->code);
}

static void rule_fini(struct rule *r)
{
	for (size_t i = 0; i < r->matches.len; i++)
		match_fini(&r->matches.data[i]);
	for (size_t i = 0; i < r->actions.len; i++) {
		free(r->actions.data[i].a);
		free(r->actions.data[i].b);
	}
	vec_fini(&r->matches);
	vec_fini(&r->actions);
}

void rules_free(struct rules *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->all.len; i++)
		rule_fini(&r->all.data[i]);
	vec_fini(&r->all);
	pcre2_match_context_free(r->limits);
	pcre2_match_data_free(r->data);
	free(r);
}

/* ---- parsing -------------------------------------------------------------------- */

static void skip_blanks(struct parser *in)
{
	while (*in->p == ' ' || *in->p == '\t')
		in->p++;
}

/* Reads a text up to a blank or one of @stops, or in quotes, into in->word. */
static int read_text(struct parser *in, const char *stops)
{
	bool quoted = *in->p == '"';

	in->word.len = 0;
	in->p += quoted;
	while (*in->p && (quoted ? *in->p != '"' : *in->p != ' ' && !strchr(stops, *in->p))) {
		if (quoted && *in->p == '\\' && (in->p[1] == '"' || in->p[1] == '\\'))
			in->p++;
		buf_put_byte(&in->word, (uint8_t)*in->p++);
	}
	if (quoted && *in->p != '"')
		return err_set(in->err, -EINVAL, "missing closing quote");
	in->p += quoted;
	buf_put_byte(&in->word, 0);
	return buf_error(&in->word);
}

/* Reads a text like read_text() and returns a copy. */
static int copy_text(struct parser *in, const char *stops, char **out)
{
	int r = read_text(in, stops);

	if (r < 0)
		return r;
	*out = strdup((const char *)in->word.data);
	return *out ? 0 : -ENOMEM;
}

static int copy_label(struct parser *in, const char *stops, char **out)
{
	int r = copy_text(in, stops, out);

	if (r == 0 && !metadata_label_name_is_valid(*out))
		return err_set(in->err, -EINVAL, "invalid label name \"%.60s\"", *out);
	return r;
}

static int compile(struct parser *in, struct match *m)
{
	PCRE2_UCHAR why[120] = "";
	PCRE2_SIZE at;
	int code;

	m->code = pcre2_compile((PCRE2_SPTR)m->text, PCRE2_ZERO_TERMINATED,
				PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
	if (m->code)
		return 0;
	pcre2_get_error_message(code, why, sizeof(why));
	return err_set(in->err, -EINVAL, "invalid expression \"%.80s\": %s at byte %zu", m->text,
		       (char *)why, (size_t)at);
}

/* The operator is one of four, recognized by at most two characters. */
static int parse_match(struct parser *in, struct rule *rule)
{
	struct match m = { 0 };
	bool regex = false;
	int r = copy_label(in, "=!:", &m.label);

	if (r == 0) {
		m.negated = *in->p == '!';
		regex = (m.negated ? in->p[1] : *in->p && in->p[0] == '=' ? in->p[1] : 0) == '~';
		if ((m.negated && in->p[1] != '=' && in->p[1] != '~') ||
		    (!m.negated && *in->p != '='))
			r = err_set(in->err, -EINVAL, "expected =, !=, =~ or !~ after \"%.60s\"",
				    m.label);
	}
	if (r == 0) {
		in->p += m.negated || regex ? 2 : 1;
		r = copy_text(in, "", &m.text);
	}
	if (r == 0 && regex)
		r = compile(in, &m);
	if (r == 0)
		r = vec_push(&rule->matches, m);
	if (r < 0)
		match_fini(&m);
	return r;
}

/*
 * Parses an action; its kind determines the number of its words. The list of actions ends with the
 * line.
 */
static int parse_action(struct parser *in, struct rule *rule)
{
	static const struct {
		const char *name;
		enum action_kind kind;
		int n_words;
	} kinds[] = {
		{ "set", ACTION_SET, 2 },
		{ "copy", ACTION_COPY, 2 },
		{ "drop", ACTION_DROP, 1 },
		{ "drop-process", ACTION_DROP_PROCESS, 0 },
	};
	struct action a = { 0 };
	int r = read_text(in, ","), n_words = -1;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && r == 0; i++) {
		if (strcmp(kinds[i].name, (const char *)in->word.data) != 0)
			continue;
		a.kind = kinds[i].kind;
		n_words = kinds[i].n_words;
	}
	if (r == 0 && n_words < 0)
		r = err_set(in->err, -EINVAL,
			    "unknown action \"%.60s\": expected set, copy, drop or drop-process",
			    (const char *)in->word.data);
	skip_blanks(in);
	if (r == 0 && n_words > 0)
		r = copy_label(in, ",", &a.a);
	skip_blanks(in);
	if (r == 0 && n_words > 1)
		r = a.kind == ACTION_SET ? copy_text(in, ",", &a.b) : copy_label(in, ",", &a.b);
	if (r == 0)
		r = vec_push(&rule->actions, a);
	if (r < 0) {
		free(a.a);
		free(a.b);
	}
	return r;
}

static int parse_rule(struct parser *in, struct rule *rule)
{
	int r = 0;

	for (skip_blanks(in); r == 0 && *in->p && *in->p != ':'; skip_blanks(in))
		r = parse_match(in, rule);
	if (r == 0 && *in->p != ':')
		return err_set(in->err, -EINVAL, "missing colon before the actions");
	in->p += r == 0;
	while (r == 0) {
		skip_blanks(in);
		r = parse_action(in, rule);
		skip_blanks(in);
		if (r == 0 && !*in->p)
			return 0;
		if (r == 0 && *in->p != ',')
			r = err_set(in->err, -EINVAL,
				    "expected a comma between actions, before \"%.60s\"", in->p);
		in->p += r == 0;
	}
	return r;
}

int rules_add(struct rules *r, const char *text, struct err *err)
{
	struct parser in = { .p = text, .err = err };
	struct rule rule = { 0 };
	int e = parse_rule(&in, &rule);

	buf_fini(&in.word);
	if (e == 0)
		e = vec_push(&r->all, rule);
	if (e < 0)
		rule_fini(&rule);
	return e;
}

int rule_check(const char *text, struct err *err)
{
	_cleanup_(rules_freep) struct rules *r = NULL;
	int e = rules_new(&r);

	return e < 0 ? e : rules_add(r, text, err);
}

/* ---- applying ------------------------------------------------------------------- */

/* A missing label has the value "". */
static bool matches(const struct rules *r, const struct match *m,
		    const struct metadata_labels *labels)
{
	const char *value = metadata_labels_get(labels, m->label);
	bool does_match = m->code ? pcre2_match(m->code, (PCRE2_SPTR)value, strlen(value), 0, 0,
						r->data, r->limits) >= 0
				  : !strcmp(value, m->text);

	return does_match != m->negated;
}

static int apply(const struct action *a, struct metadata_labels *labels)
{
	int r = 0;

	switch (a->kind) {
	case ACTION_SET:
		r = metadata_labels_put(labels, a->a, a->b);
		break;
	case ACTION_COPY:
		if (*metadata_labels_get(labels, a->a))
			r = metadata_labels_put(labels, a->b, metadata_labels_get(labels, a->a));
		break;
	case ACTION_DROP:
		metadata_labels_remove(labels, a->a);
		break;
	case ACTION_DROP_PROCESS:
		return RULES_DROP;
	}
	return r == -E2BIG ? 0 : r;
}

int rules_apply(struct rules *r, struct metadata_labels *labels)
{
	for (size_t i = 0; i < r->all.len; i++) {
		const struct rule *rule = &r->all.data[i];
		bool all = true;

		for (size_t k = 0; k < rule->matches.len && all; k++)
			all = matches(r, &rule->matches.data[k], labels);
		for (size_t k = 0; k < rule->actions.len && all; k++) {
			int e = apply(&rule->actions.data[k], labels);

			if (e)
				return e;
		}
	}
	return 0;
}
