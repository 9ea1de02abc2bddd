/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/session.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/json_read.h"
#include "base/utf8.h"
#include "mcp/message.h"

/* The revisions that begin with "initialize", newest last. */
static const char *const revisions[] = { "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25" };

enum { N_REVISIONS = sizeof(revisions) / sizeof(*revisions) };

/* ---- responses ---------------------------------------------------------------------- */

static struct json begin(struct buf *out, const struct mcp_message *m)
{
	struct json j = json_to(out);

	json_object(&j);
	json_member_str(&j, "jsonrpc", "2.0");
	mcp_message_put_id(&j, m);
	return j;
}

static void end(struct json *j)
{
	json_object_end(j);
	buf_put_byte(j->out, '\n');
}

static void put_error(struct buf *out, const struct mcp_message *m, int code, const char *text)
{
	struct json j = begin(out, m);

	json_member_object(&j, "error");
	json_member_int(&j, "code", code);
	json_member_str(&j, "message", text);
	json_object_end(&j);
	end(&j);
}

/* ---- parameters --------------------------------------------------------------------- */

/* The string member @name of the parameters, in @text. */
struct text_member {
	const char *name;
	struct buf text; /* NUL-terminated beyond its length */
	bool found, wrong;
};

static int read_text_member(struct json_read *j, void *ctx)
{
	struct text_member *t = ctx;
	int r;

	if (!json_read_is(j, t->name))
		return json_read_skip(j);
	t->wrong |= t->found || json_read_peek(j) != '"';
	t->found = true;
	if (t->wrong)
		return json_read_skip(j);
	r = json_read_string(j);
	if (r < 0)
		return r;
	t->wrong = j->text.len > MCP_TEXT_MAX || memchr(j->text.data, '\0', j->text.len);
	buf_put(&t->text, j->text.data, j->text.len + 1);
	return buf_error(&t->text);
}

/* Returns 0, -EINVAL or -ENOMEM. The parameters are valid JSON, because the message was. */
static int find_text(const struct mcp_message *m, struct text_member *t)
{
	struct json_read j;
	int r;

	if (!m->params)
		return -EINVAL;
	json_read_init(&j, m->params, m->params_len);
	r = json_read_each(&j, '{', read_text_member, t);
	json_read_fini(&j);
	if (r < 0)
		return r == -ENOMEM ? r : -EINVAL;
	return t->found && !t->wrong ? 0 : -EINVAL;
}

/* ---- initialize --------------------------------------------------------------------- */

/* The revision that the client requests, if it is known, else the newest. */
static const char *choose_revision(const char *requested)
{
	for (int i = 0; i < N_REVISIONS; i++)
		if (!strcmp(requested, revisions[i]))
			return revisions[i];
	return revisions[N_REVISIONS - 1];
}

static void initialize(struct mcp_session *s, const struct mcp_message *m, struct buf *out)
{
	struct text_member version = { .name = "protocolVersion" };
	struct json j;

	if (s->initialized) {
		put_error(out, m, MCP_INVALID_REQUEST, "the session is already initialized");
		return;
	}
	if (find_text(m, &version) < 0) {
		put_error(out, m, MCP_INVALID_PARAMS, "expected a string \"protocolVersion\"");
		buf_fini(&version.text);
		return;
	}
	s->initialized = true;
	j = begin(out, m);
	json_member_object(&j, "result");
	json_member_str(&j, "protocolVersion", choose_revision((const char *)version.text.data));
	json_member_object(&j, "capabilities");
	json_member_object(&j, "tools");
	json_object_end(&j);
	json_object_end(&j);
	json_member_object(&j, "serverInfo");
	json_member_str(&j, "name", s->server->name);
	json_member_str(&j, "version", s->server->version);
	json_object_end(&j);
	json_member_str(&j, "instructions", s->server->instructions);
	json_object_end(&j);
	end(&j);
	buf_fini(&version.text);
}

static void ping(struct mcp_session *s, const struct mcp_message *m, struct buf *out)
{
	struct json j = begin(out, m);

	(void)s;
	json_member_object(&j, "result");
	json_object_end(&j);
	end(&j);
}

/* ---- tools/list --------------------------------------------------------------------- */

static void put_arg(struct json *j, const struct mcp_arg *a)
{
	json_member_object(j, a->name);
	json_member_str(j, "type", a->is_number ? "integer" : "string");
	json_member_str(j, "description", a->description);
	if (a->is_number) {
		json_member_int(j, "minimum", 1);
		json_member_uint(j, "maximum", a->max);
		json_member_uint(j, "default", a->preset);
	} else {
		json_member_int(j, "maxLength", MCP_TEXT_MAX);
	}
	json_object_end(j);
}

/* The arguments as JSON Schema. */
static void put_schema(struct json *j, const struct mcp_arg *args)
{
	json_member_object(j, "inputSchema");
	json_member_str(j, "type", "object");
	json_member_object(j, "properties");
	for (const struct mcp_arg *a = args; a->name; a++)
		put_arg(j, a);
	json_object_end(j);
	json_member_array(j, "required");
	for (const struct mcp_arg *a = args; a->name; a++)
		if (a->required)
			json_str(j, a->name);
	json_array_end(j);
	json_member_bool(j, "additionalProperties", false);
	json_object_end(j);
}

static void put_tool(struct json *j, const struct mcp_tool *t)
{
	json_object(j);
	json_member_str(j, "name", t->name);
	json_member_str(j, "title", t->title);
	json_member_str(j, "description", t->description);
	put_schema(j, t->args);
	json_member_object(j, "annotations");
	json_member_str(j, "title", t->title);
	json_member_bool(j, "readOnlyHint", true);
	json_member_bool(j, "openWorldHint", false);
	json_object_end(j);
	json_object_end(j);
}

/* All tools fit into one page, so there is no cursor that a client could have. */
static void list_tools(struct mcp_session *s, const struct mcp_message *m, struct buf *out)
{
	struct text_member cursor = { .name = "cursor" };
	struct json j;

	find_text(m, &cursor);
	buf_fini(&cursor.text);
	if (cursor.found) {
		put_error(out, m, MCP_INVALID_PARAMS, "unknown cursor: the list has one page");
		return;
	}
	j = begin(out, m);
	json_member_object(&j, "result");
	json_member_array(&j, "tools");
	for (size_t i = 0; i < s->server->n_tools; i++)
		put_tool(&j, &s->server->tools[i]);
	json_array_end(&j);
	json_object_end(&j);
	end(&j);
}

/* ---- tools/call --------------------------------------------------------------------- */

struct call {
	const struct mcp_tool *tool;
	struct mcp_values values;
	bool given[MCP_ARGS_MAX];
	bool has_arguments, wrong_arguments; /* not an object, or twice */
	struct err err;                      /* a wrong argument */
};

static int find_arg(const struct mcp_tool *t, const struct json_read *j)
{
	for (int i = 0; t->args[i].name; i++)
		if (json_read_is(j, t->args[i].name))
			return i;
	return -ENOENT;
}

static int read_number_arg(struct json_read *j, struct call *c, int i)
{
	const struct mcp_arg *a = &c->tool->args[i];
	double v = 0;
	int r = json_read_peek(j) == 0 ? json_read_number(j, &v) : json_read_skip(j);

	if (r < 0)
		return r;
	if (!(v >= 1 && v <= (double)a->max) || v != floor(v))
		err_set(&c->err, -EINVAL, "\"%s\": expected a whole number between 1 and %llu",
			a->name, (unsigned long long)a->max);
	else
		c->values.number[i] = (uint64_t)v;
	return 0;
}

static int read_text_arg(struct json_read *j, struct call *c, int i)
{
	const char *name = c->tool->args[i].name;
	int r = json_read_peek(j) == '"' ? json_read_string(j) : -EINVAL;

	if (r == -EINVAL) {
		err_set(&c->err, r, "\"%s\": expected a string", name);
		return json_read_skip(j);
	}
	if (r < 0)
		return r;
	if (j->text.len > MCP_TEXT_MAX || memchr(j->text.data, '\0', j->text.len)) {
		err_set(&c->err, -EINVAL, "\"%s\": expected at most %d bytes of text", name,
			MCP_TEXT_MAX);
		return 0;
	}
	c->values.text[i] = strdup((const char *)j->text.data);
	return c->values.text[i] ? 0 : -ENOMEM;
}

static int read_arg(struct json_read *j, void *ctx)
{
	struct call *c = ctx;
	int i = find_arg(c->tool, j);

	if (i < 0) {
		err_set(&c->err, i, "the tool \"%s\" has no argument \"%.60s\"", c->tool->name,
			(const char *)j->text.data);
		return json_read_skip(j);
	}
	if (c->given[i]) {
		err_set(&c->err, -EINVAL, "\"%s\" was given twice", c->tool->args[i].name);
		return json_read_skip(j);
	}
	c->given[i] = true;
	return c->tool->args[i].is_number ? read_number_arg(j, c, i) : read_text_arg(j, c, i);
}

static int read_arguments(struct json_read *j, void *ctx)
{
	struct call *c = ctx;

	if (!json_read_is(j, "arguments"))
		return json_read_skip(j);
	c->wrong_arguments |= c->has_arguments || json_read_peek(j) != '{';
	c->has_arguments = true;
	return c->wrong_arguments ? json_read_skip(j) : json_read_each(j, '{', read_arg, c);
}

/* Reads the arguments and sets the defaults. Returns 0 or -errno of the message as a whole. */
static int read_call(const struct mcp_message *m, struct call *c)
{
	struct json_read j;
	int r;

	for (int i = 0; c->tool->args[i].name; i++)
		c->values.number[i] = c->tool->args[i].preset;
	json_read_init(&j, m->params, m->params_len);
	r = json_read_each(&j, '{', read_arguments, c);
	json_read_fini(&j);
	if (r == 0 && c->wrong_arguments)
		r = -EINVAL;
	for (int i = 0; r == 0 && c->tool->args[i].name; i++)
		if (c->tool->args[i].required && !c->given[i])
			err_set(&c->err, -EINVAL, "\"%s\" is required", c->tool->args[i].name);
	return r;
}

/* Cuts the text at the end of a line, or between characters if one line is too long. */
static void cut(struct buf *text)
{
	size_t n = MCP_ANSWER_MAX, all = text->len;

	if (all <= n)
		return;
	while (n && text->data[n - 1] != '\n')
		n--;
	text->len = n ? n : utf8_valid((const char *)text->data, MCP_ANSWER_MAX);
	buf_printf(text, "\n(%zu more bytes were cut: use a smaller limit or a narrower query)\n",
		   all - text->len);
}

static void put_result(struct buf *out, const struct mcp_message *m, const char *text, size_t len,
		       bool failed)
{
	struct json j = begin(out, m);

	json_member_object(&j, "result");
	json_member_array(&j, "content");
	json_object(&j);
	json_member_str(&j, "type", "text");
	json_key(&j, "text");
	json_strn(&j, text, len);
	json_object_end(&j);
	json_array_end(&j);
	json_member_bool(&j, "isError", failed);
	json_object_end(&j);
	end(&j);
}

static void run(struct mcp_session *s, const struct mcp_message *m, struct call *c, struct buf *out)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	int r = c->err.code;

	if (r == 0) {
		r = c->tool->call(s->server->ctx, &c->values, &text, &c->err);
		if (r == 0)
			r = buf_error(&text);
	}
	if (r < 0) {
		const char *why = c->err.msg[0] ? c->err.msg : strerror(-r);

		put_result(out, m, why, strlen(why), true);
		return;
	}
	cut(&text);
	put_result(out, m, text.data ? (const char *)text.data : "", text.len, false);
}

static const struct mcp_tool *find_tool(const struct mcp_server *server, const char *name)
{
	for (size_t i = 0; i < server->n_tools; i++)
		if (!strcmp(server->tools[i].name, name))
			return &server->tools[i];
	return NULL;
}

static void call_tool(struct mcp_session *s, const struct mcp_message *m, struct buf *out)
{
	struct text_member name = { .name = "name" };
	struct call c = { 0 };
	int r = find_text(m, &name);

	if (r == 0)
		c.tool = find_tool(s->server, (const char *)name.text.data);
	if (r < 0)
		put_error(out, m, MCP_INVALID_PARAMS, "expected the \"name\" of a tool");
	else if (!c.tool)
		put_error(out, m, MCP_INVALID_PARAMS, "unknown tool: see tools/list");
	else if (read_call(m, &c) < 0)
		put_error(out, m, MCP_INVALID_PARAMS, "expected an object \"arguments\"");
	else
		run(s, m, &c, out);
	for (int i = 0; i < MCP_ARGS_MAX; i++)
		free(c.values.text[i]);
	buf_fini(&name.text);
}

/* ---- messages ----------------------------------------------------------------------- */

static const struct {
	const char *name;
	bool before_initialize;
	void (*fn)(struct mcp_session *s, const struct mcp_message *m, struct buf *out);
} methods[] = {
	{ "initialize", true, initialize },
	{ "ping", true, ping },
	{ "tools/list", false, list_tools },
	{ "tools/call", false, call_tool },
};

static void dispatch(struct mcp_session *s, const struct mcp_message *m, struct buf *out)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		if (strcmp(methods[i].name, (const char *)m->method.data) != 0)
			continue;
		if (!s->initialized && !methods[i].before_initialize)
			put_error(out, m, MCP_INVALID_REQUEST,
				  "the session is not initialized: send \"initialize\" first");
		else
			methods[i].fn(s, m, out);
		return;
	}
	put_error(out, m, MCP_METHOD_NOT_FOUND, "unknown method");
}

int mcp_session_receive(struct mcp_session *s, const char *data, size_t len, struct buf *out)
{
	struct mcp_message m;
	int r = mcp_message_parse(&m, data, len);

	if (r == MCP_INVALID_REQUEST)
		put_error(out, &m, r,
			  "expected one request of JSON-RPC 2.0, with an id that is a string or an "
			  "integer; batches are not supported");
	else if (r)
		put_error(out, &m, r, r == MCP_PARSE_ERROR ? "invalid JSON" : "out of memory");
	else if (m.method.len && m.id_kind != MCP_ID_NONE)
		dispatch(s, &m, out);
	mcp_message_fini(&m);
	return buf_error(out);
}

int mcp_session_refuse(struct mcp_session *s, struct buf *out)
{
	const struct mcp_message none = { 0 };

	(void)s;
	put_error(out, &none, MCP_PARSE_ERROR, "the message is too long");
	return buf_error(out);
}
