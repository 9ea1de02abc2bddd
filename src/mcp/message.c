/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A member that occurs twice is an error: two parsers could choose different ones. Integers are
 * limited to 18 digits, so that an id is returned verbatim.
 */
#include "mcp/message.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_read.h"

enum { DIGITS_MAX = 18 };

/* The members of a message, as bits of those that occurred. */
enum { JSONRPC = 1, ID = 2, METHOD = 4, PARAMS = 8, RESULT = 16, ERROR = 32 };

struct parsing {
	struct mcp_message *m;
	unsigned int seen;
	bool invalid; /* valid JSON, but not a message */
};

static unsigned int member(const struct json_read *j)
{
	static const char *const names[] = {
		"jsonrpc", "id", "method", "params", "result", "error"
	};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (json_read_is(j, names[i]))
			return 1u << i;
	return 0;
}

/* Copies a string that has at most @max bytes. A NUL in it is invalid. */
static int read_text(struct json_read *j, struct parsing *p, struct buf *out, size_t max)
{
	int r = json_read_string(j);

	if (r < 0)
		return r;
	if (j->text.len > max || memchr(j->text.data, '\0', j->text.len))
		p->invalid = true;
	else
		buf_put(out, j->text.data, j->text.len + 1);
	if (out->len)
		out->len--;
	return buf_error(out);
}

/* The number is read from its text, because a double cannot hold every integer. */
static int read_number_id(struct json_read *j, struct parsing *p)
{
	const char *start = j->p;
	double value;
	int r = json_read_number(j, &value);
	size_t n = (size_t)(j->p - start), sign = r == 0 && *start == '-';
	char text[DIGITS_MAX + 2];

	if (r < 0)
		return r;
	for (size_t i = sign; i < n; i++)
		p->invalid |= !isdigit((unsigned char)start[i]);
	if (n - sign > DIGITS_MAX || n == sign)
		p->invalid = true;
	if (p->invalid)
		return 0;
	memcpy(text, start, n);
	text[n] = '\0';
	p->m->id_number = strtoll(text, NULL, 10);
	p->m->id_kind = MCP_ID_NUMBER;
	return 0;
}

static int read_id(struct json_read *j, struct parsing *p)
{
	int r = json_read_peek(j);

	if (r == 0)
		return read_number_id(j, p);
	if (r == '"') {
		p->m->id_kind = MCP_ID_STRING;
		return read_text(j, p, &p->m->id_string, MCP_ID_MAX);
	}
	p->invalid = true;
	return r < 0 ? r : json_read_skip(j);
}

static int read_version(struct json_read *j, struct parsing *p)
{
	int r = json_read_peek(j);

	if (r == '"') {
		r = json_read_string(j);
		p->invalid |= r == 0 && !json_read_is(j, "2.0");
		return r;
	}
	p->invalid = true;
	return r < 0 ? r : json_read_skip(j);
}

/* The protocol has no parameters by position. */
static int read_params(struct json_read *j, struct parsing *p)
{
	int r = json_read_peek(j);

	if (r < 0)
		return r;
	p->invalid |= r != '{';
	p->m->params = j->p;
	r = json_read_skip(j);
	p->m->params_len = (size_t)(j->p - p->m->params);
	return r;
}

static int read_member(struct json_read *j, void *ctx)
{
	struct parsing *p = ctx;
	unsigned int which = member(j);

	if (p->seen & which) {
		p->invalid = true;
		return json_read_skip(j);
	}
	p->seen |= which;
	switch (which) {
	case JSONRPC:
		return read_version(j, p);
	case ID:
		return read_id(j, p);
	case PARAMS:
		return read_params(j, p);
	case METHOD:
		if (json_read_peek(j) == '"')
			return read_text(j, p, &p->m->method, MCP_ID_MAX);
		p->invalid = true;
		return json_read_skip(j);
	default:
		return json_read_skip(j);
	}
}

/* A response has a result or an error in place of the method. */
static bool is_message(const struct parsing *p)
{
	bool response = (p->seen & (RESULT | ERROR)) != 0;

	return !p->invalid && p->seen & JSONRPC && !!(p->seen & METHOD) != response &&
	       (response || p->m->method.len);
}

int mcp_message_parse(struct mcp_message *m, const char *data, size_t len)
{
	struct parsing p = { .m = m };
	struct json_read j;
	int r;

	*m = (struct mcp_message){ 0 };
	json_read_init(&j, data, len);
	p.invalid = json_read_peek(&j) != '{';
	r = json_read_each(&j, '{', read_member, &p);
	if (r == 0)
		r = json_read_end(&j);
	json_read_fini(&j);
	if (r == 0 && is_message(&p))
		return 0;
	m->id_kind = MCP_ID_NONE;
	return r == 0 ? MCP_INVALID_REQUEST : r == -ENOMEM ? MCP_INTERNAL_ERROR : MCP_PARSE_ERROR;
}

void mcp_message_fini(struct mcp_message *m)
{
	buf_fini(&m->id_string);
	buf_fini(&m->method);
}

void mcp_message_put_id(struct json *j, const struct mcp_message *m)
{
	json_key(j, "id");
	if (m->id_kind == MCP_ID_NUMBER)
		json_int(j, m->id_number);
	else if (m->id_kind == MCP_ID_STRING)
		json_strn(j, (const char *)m->id_string.data, m->id_string.len);
	else
		json_null(j);
}
