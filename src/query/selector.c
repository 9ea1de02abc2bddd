/* SPDX-License-Identifier: Apache-2.0 */
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

static int bad(struct parser *in, const char *what)
{
	return err_set(in->err, -EINVAL, "selector, at byte %zu: %s", (size_t)(in->p - in->start),
		       what);
}

static void skip_space(struct parser *in)
{
	while (in->p < in->end &&
	       (*in->p == ' ' || *in->p == '\t' || *in->p == '\n' || *in->p == '\r'))
		in->p++;
}

static bool take(struct parser *in, char c)
{
	skip_space(in);
	if (in->p == in->end || *in->p != c)
		return false;
	in->p++;
	return true;
}

/* The character after a backslash into what both stand for; others keep their backslash. */
static void put_escaped(struct buf *out, char c)
{
	static const char from[] = "\\\"'ntr", to[] = "\\\"'\n\t\r";
	const char *at = c ? strchr(from, c) : NULL;

	if (!at)
		buf_put_byte(out, '\\');
	buf_put_byte(out, (uint8_t)(at ? to[at - from] : c));
}

/* A string in ", ' or `: in the last a backslash is just that. */
static int quoted(struct parser *in, struct buf *out)
{
	char quote = *in->p++;

	out->len = 0;
	for (; in->p < in->end && *in->p != quote; in->p++) {
		bool escaped = *in->p == '\\' && quote != '`' && in->p + 1 < in->end;

		in->p += escaped;
		if (!*in->p)
			return bad(in, "a zero byte");
		if (escaped)
			put_escaped(out, *in->p);
		else
			buf_put_byte(out, (uint8_t)*in->p);
	}
	if (in->p == in->end)
		return bad(in, "a string does not end");
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
		return quoted(in, &in->name);
	from = in->p;
	while (in->p < in->end && is_name(*in->p, in->p == from))
		in->p++;
	if (in->p == from)
		return bad(in, "a label's name is expected");
	in->name.len = 0;
	buf_put(&in->name, from, (size_t)(in->p - from));
	buf_put_byte(&in->name, 0);
	return buf_error(&in->name);
}

static int parse_op(struct parser *in, enum matcher_op *out)
{
	bool not = take(in, '!');
	char c = in->p < in->end ? *in->p : 0;

	if (!not &&c == '=') {
		in->p++;
		c = in->p < in->end && *in->p == '~' ? '~' : '=';
		in->p += c == '~';
		*out = c == '~' ? MATCHER_RE : MATCHER_EQ;
		return 0;
	}
	if (!not || (c != '=' && c != '~'))
		return bad(in, "= != =~ or !~ is expected");
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
		return bad(in, "a value in quotes is expected");
	r = quoted(in, &in->value);
	if (r < 0)
		return r;
	if (s->len >= SELECTOR_MAX_MATCHERS)
		return bad(in, "too many conditions");
	r = matcher_new(&m, op, (const char *)in->name.data, (const char *)in->value.data, in->err);
	if (r < 0)
		return r;
	r = vec_push(s, m);
	if (r < 0)
		matcher_free(m);
	return r;
}

static int parse(struct parser *in, struct selector *s)
{
	int r;

	if (!take(in, '{'))
		return bad(in, "{ is expected");
	while (!take(in, '}')) {
		r = parse_matcher(in, s);
		if (r < 0)
			return r;
		if (take(in, ','))
			continue;
		if (!take(in, '}'))
			return bad(in, ", or } is expected");
		break;
	}
	skip_space(in);
	return in->p == in->end ? 0 : bad(in, "something follows the }");
}

int selector_parse(struct selector *s, const char *text, size_t len, struct err *err)
{
	_cleanup_(parser_fini) struct parser in = { text, text, text + len, .err = err };

	if (len > SELECTOR_MAX_LEN)
		return err_set(err, -EINVAL, "a selector may have %d bytes", SELECTOR_MAX_LEN);
	return parse(&in, s);
}
