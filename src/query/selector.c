/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recursive-descent parser without recursion: matchers are separated by commas and have no
 * nesting. Label names may be quoted, because OpenTelemetry's contain dots.
 */
#include "query/selector.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "store/matcher.h"

struct parser {
	const char *p, *start, *end;
	struct buf name, value;
	struct err *err;
};

static void parser_fini(struct parser *in)
{
	buf_fini(&in->name);
	buf_fini(&in->value);
}

void selector_fini(struct selector *s)
{
	for (size_t i = 0; i < s->len; i++)
		matcher_free(s->data[i]);
	vec_fini(s);
}

static int syntax_error(struct parser *in, const char *what)
{
	return err_set(in->err, -EINVAL, "invalid selector at byte %zu: %s",
		       (size_t)(in->p - in->start), what);
}

static void skip_space(struct parser *in)
{
	while (in->p < in->end &&
	       (*in->p == ' ' || *in->p == '\t' || *in->p == '\n' || *in->p == '\r'))
		in->p++;
}

static bool accept(struct parser *in, char c)
{
	skip_space(in);
	if (in->p == in->end || *in->p != c)
		return false;
	in->p++;
	return true;
}

/* Appends the character for which backslash @c stands. An unknown escape keeps its backslash. */
static void put_escaped(struct buf *out, char c)
{
	static const char from[] = "\\\"'ntr", to[] = "\\\"'\n\t\r";
	const char *at = c ? strchr(from, c) : NULL;

	if (!at)
		buf_put_byte(out, '\\');
	buf_put_byte(out, (uint8_t)(at ? to[at - from] : c));
}

/*
 * Parses a string in double quotes, single quotes or backquotes; in the last, a backslash is
 * literal.
 */
static int parse_string(struct parser *in, struct buf *out)
{
	char quote = *in->p++;

	out->len = 0;
	for (; in->p < in->end && *in->p != quote; in->p++) {
		bool escaped = *in->p == '\\' && quote != '`' && in->p + 1 < in->end;

		in->p += escaped;
		if (!*in->p)
			return syntax_error(in, "unexpected NUL byte");
		if (escaped)
			put_escaped(out, *in->p);
		else
			buf_put_byte(out, (uint8_t)*in->p);
	}
	if (in->p == in->end)
		return syntax_error(in, "unterminated string");
	in->p++;
	buf_put_byte(out, 0);
	return buf_error(out);
}

static bool is_quote(const struct parser *in)
{
	return in->p < in->end && (*in->p == '"' || *in->p == '\'' || *in->p == '`');
}

static bool is_name(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (!first && c >= '0' && c <= '9');
}

static int parse_name(struct parser *in)
{
	const char *from;

	skip_space(in);
	if (is_quote(in))
		return parse_string(in, &in->name);
	from = in->p;
	while (in->p < in->end && is_name(*in->p, in->p == from))
		in->p++;
	if (in->p == from)
		return syntax_error(in, "expected a label name");
	in->name.len = 0;
	buf_put(&in->name, from, (size_t)(in->p - from));
	buf_put_byte(&in->name, 0);
	return buf_error(&in->name);
}

static int parse_op(struct parser *in, enum matcher_op *out)
{
	bool not = accept(in, '!');
	char c = in->p < in->end ? *in->p : 0;

	if (!not &&c == '=') {
		in->p++;
		c = in->p < in->end && *in->p == '~' ? '~' : '=';
		in->p += c == '~';
		*out = c == '~' ? MATCHER_RE : MATCHER_EQ;
		return 0;
	}
	if (!not || (c != '=' && c != '~'))
		return syntax_error(in, "expected =, !=, =~ or !~");
	in->p++;
	*out = c == '~' ? MATCHER_NOT_RE : MATCHER_NE;
	return 0;
}

static int parse_matcher(struct parser *in, struct selector *s)
{
	struct matcher *m = NULL;
	enum matcher_op op = MATCHER_EQ;
	int r = parse_name(in);

	if (r == 0)
		r = parse_op(in, &op);
	if (r < 0)
		return r;
	skip_space(in);
	if (!is_quote(in))
		return syntax_error(in, "expected a quoted value");
	r = parse_string(in, &in->value);
	if (r < 0)
		return r;
	if (s->len >= SELECTOR_MAX_MATCHERS)
		return syntax_error(in, "too many matchers");
	r = matcher_new(&m, op, (const char *)in->name.data, (const char *)in->value.data, in->err);
	if (r < 0)
		return r;
	r = vec_push(s, m);
	if (r < 0)
		matcher_free(m);
	return r;
}

/* A comma after the last matcher is accepted, as in Prometheus. */
static int parse(struct parser *in, struct selector *s)
{
	int r;

	if (!accept(in, '{'))
		return syntax_error(in, "expected {");
	while (!accept(in, '}')) {
		r = parse_matcher(in, s);
		if (r < 0)
			return r;
		if (accept(in, ','))
			continue;
		if (!accept(in, '}'))
			return syntax_error(in, "expected , or }");
		break;
	}
	skip_space(in);
	return in->p == in->end ? 0 : syntax_error(in, "unexpected text after }");
}

int selector_parse(struct selector *s, const char *text, size_t len, struct err *err)
{
	_cleanup_(parser_fini) struct parser in = { text, text, text + len, .err = err };

	if (len > SELECTOR_MAX_LEN)
		return err_set(err, -EINVAL, "the selector is longer than %d bytes",
			       SELECTOR_MAX_LEN);
	return parse(&in, s);
}
