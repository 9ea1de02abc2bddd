/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A server of the Model Context Protocol that offers tools: initialize, ping, tools/list and
 * tools/call, in the revisions 2024-11-05 to 2025-11-25 of the protocol. It has no transport; the
 * caller passes one message after the other and sends the responses. One thread.
 *
 * Every argument of a tool is a string or a whole number. Wrong arguments and failures of a tool
 * are results with isError, which a model can read and correct; malformed messages are errors of
 * JSON-RPC.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

enum {
	MCP_ARGS_MAX = 10,
	MCP_TEXT_MAX = 4096,         /* bytes of an argument */
	MCP_ANSWER_MAX = 32 * 1024,  /* bytes of the text of a result; the rest is cut */
	MCP_MESSAGE_MAX = 64 * 1024, /* bytes of a message that the caller should accept */
};

struct mcp_arg {
	const char *name; /* NULL ends an array */
	const char *description;
	bool is_number, required;
	uint64_t preset, max; /* of a number, which is at least 1 */
};

/* The values of a call, by the position of the argument. */
struct mcp_values {
	char *text[MCP_ARGS_MAX]; /* NULL: not given */
	uint64_t number[MCP_ARGS_MAX];
};

struct mcp_tool {
	const char *name, *title, *description;
	const struct mcp_arg *args;
	/*
	 * Appends the text of the result. Returns 0, or -errno with the reason, which becomes a
	 * result with isError. @ctx is that of struct mcp_server.
	 */
	int (*call)(void *ctx, const struct mcp_values *values, struct buf *out, struct err *err);
};

struct mcp_server {
	const char *name, *version, *instructions;
	const struct mcp_tool *tools;
	size_t n_tools;
	void *ctx;
};

struct mcp_session {
	const struct mcp_server *server;
	bool initialized;
};

/*
 * Processes one message and appends the response with a line feed; nothing for notifications and
 * responses. Returns 0 or -ENOMEM.
 */
int mcp_session_receive(struct mcp_session *s, const char *data, size_t len, struct buf *out);

/* Appends the response to a message that was too long to be read. Returns 0 or -ENOMEM. */
int mcp_session_refuse(struct mcp_session *s, struct buf *out);
