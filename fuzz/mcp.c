/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of an MCP client, one per line, to a session with a tool that returns its arguments. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "mcp/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct mcp_arg args[] = {
	{ .name = "text", .description = "A text", .required = true },
	{ .name = "more", .description = "A text" },
	{ .name = "limit", .description = "A number", .is_number = true, .preset = 1, .max = 100 },
	{ 0 },
};

static int call(void *ctx, const struct mcp_values *values, struct buf *out, struct err *err)
{
	(void)ctx;
	(void)err;
	if (!values->text[0] || values->number[2] < 1 || values->number[2] > 100)
		abort();
	for (uint64_t i = 0; i < values->number[2]; i++)
		buf_put_str(out, values->text[0]);
	return 0;
}

/* A response is one line of bounded length. */
static void check(const struct buf *out)
{
	if (!out->len)
		return;
	if (out->len > 8 * MCP_ANSWER_MAX || out->data[0] != '{' ||
	    memchr(out->data, '\n', out->len) != out->data + out->len - 1)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct mcp_tool tool = {
		.name = "echo", .title = "Echo", .description = "Echoes", .args = args, .call = call
	};
	static const struct mcp_server server = {
		.name = "fuzz", .version = "0", .instructions = "", .tools = &tool, .n_tools = 1
	};
	struct mcp_session s = { .server = &server };

	while (len) {
		_cleanup_(buf_fini) struct buf out = { 0 };
		const uint8_t *end = memchr(data, '\n', len);
		size_t n = end ? (size_t)(end - data) : len;

		if (mcp_session_receive(&s, (const char *)data, n, &out) == 0)
			check(&out);
		n += end != NULL;
		data += n;
		len -= n;
	}
	return 0;
}
