/* SPDX-License-Identifier: Apache-2.0 */
#include "server/arguments.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/decimal.h"
#include "base/err.h"
#include "net/http_server.h"
#include "server/api.h"
#include "server/rpc.h"
#include "server/time_arg.h"

/* Returns true if @name is in @list, which is separated by spaces. */
static bool is_listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	while (list && *list) {
		size_t n = strcspn(list, " ");

		if (n == len && !strncasecmp(list, name, n))
			return true;
		list += n + (list[n] == ' ');
	}
	return false;
}

struct check {
	struct rpc *rpc;
	const char *first; /* the name whose occurrences are counted */
	unsigned int n;
	bool reported;
	int r;
};

static void count(void *ctx, const char *name, const char *value)
{
	struct check *c = ctx;

	c->n += !strcasecmp(c->first, name);
}

/* Appends a name to the header, whatever characters it has, as long as there is room. */
static void report(struct rpc *rpc, const char *name)
{
	char *list = rpc->rs->header_text;
	size_t len = strlen(list), room = sizeof(rpc->rs->header_text) - sizeof(",...");

	if (len + strlen(name) + 1 >= room) {
		if (!len || strcmp(list + len - 1, ".") != 0)
			strcpy(list + len, len ? ",..." : "...");
		return;
	}
	if (len)
		list[len++] = ',';
	for (; *name; name++)
		list[len++] = (char)(isalnum((unsigned char)*name) ? *name : '_');
	list[len] = 0;
}

static void check_one(void *ctx, const char *name, const char *value)
{
	struct check *c = ctx;
	const char *known = c->rpc->api->arguments;

	c->first = name;
	c->n = 0;
	http_request_each_arg(c->rpc->rq, count, c);
	if (c->r < 0)
		return;
	if (c->n > 1)
		c->r = err_set(c->rpc->err, -EINVAL, "argument \"%.40s\" is given more than once",
			       name);
	else if (!is_listed(known, name) && !is_listed(known, "*"))
		c->r = err_set(c->rpc->err, -EINVAL, "unknown argument \"%.40s\"%s%.100s", name,
			       known ? "; this method has " : ": this method has none",
			       known ? known : "");
	else if (!is_listed(known, name)) {
		c->reported = true;
		report(c->rpc, name);
	}
}

int arguments_check(struct rpc *rpc)
{
	struct check c = { .rpc = rpc };

	http_request_each_arg(rpc->rq, check_one, &c);
	if (c.r == 0 && c.reported)
		http_response_add(rpc->rs, "X-Cameo-Ignored", rpc->rs->header_text);
	return c.r;
}

const char *arguments_text(const struct rpc *rpc, const char *name)
{
	const char *text = http_request_arg(rpc->rq, name);

	return text && text[0] ? text : NULL;
}

int arguments_int(const struct rpc *rpc, const char *name, int64_t min, int64_t max, int64_t *io)
{
	const char *text = arguments_text(rpc, name);
	int64_t v;

	if (!text)
		return 0;
	if (decimal_parse(text, &v) < 0 || v < min || v > max)
		return err_set(rpc->err, -EINVAL,
			       "argument \"%s\" must be a number from %" PRId64 " to %" PRId64,
			       name, min, max);
	*io = v;
	return 0;
}

int arguments_time(const struct rpc *rpc, const char *name, int64_t now_ns, int64_t *io)
{
	const char *text = arguments_text(rpc, name);

	if (!text || time_arg_parse(text, now_ns, io) == 0)
		return 0;
	return err_set(rpc->err, -EINVAL,
		       "argument \"%s\" is not a time: expected a number of seconds, milliseconds "
		       "or nanoseconds since 1970, \"now\" or, for example, \"now-1h\"",
		       name);
}

int arguments_choice(const struct rpc *rpc, const char *name, const char *const *values,
		     size_t *out_index)
{
	const char *text = arguments_text(rpc, name);

	if (!text)
		return 0;
	for (size_t i = 0; values[i]; i++)
		if (!strcmp(values[i], text)) {
			*out_index = i;
			return 0;
		}
	return err_set(rpc->err, -EINVAL, "argument \"%s\": unknown value \"%.40s\"", name, text);
}
