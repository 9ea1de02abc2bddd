/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One message of a client: JSON-RPC 2.0 as the Model Context Protocol restricts it (ids are strings
 * or integers, and there are no batches since its revision 2025-06-18). The client is untrusted.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct json;

/* Error codes of JSON-RPC 2.0, section 5.1. */
enum mcp_error {
	MCP_PARSE_ERROR = -32700,
	MCP_INVALID_REQUEST = -32600,
	MCP_METHOD_NOT_FOUND = -32601,
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL_ERROR = -32603,
};

enum { MCP_ID_MAX = 256 }; /* bytes of an id that is a string */

enum mcp_id_kind { MCP_ID_NONE, MCP_ID_NUMBER, MCP_ID_STRING };

struct mcp_message {
	enum mcp_id_kind id_kind; /* MCP_ID_NONE: a notification */
	int64_t id_number;
	struct buf id_string;
	struct buf method;  /* NUL-terminated beyond its length; empty: a response */
	const char *params; /* an object, borrowed from the message; NULL: none */
	size_t params_len;
};

/**
 * mcp_message_parse() - parse one message
 *
 * @m is valid until @data changes, and freed with mcp_message_fini() in every case. The id is
 * MCP_ID_NONE after an error, because it may belong to another message.
 *
 * Return: 0; MCP_PARSE_ERROR; MCP_INVALID_REQUEST; MCP_INTERNAL_ERROR if memory ran out.
 */
int mcp_message_parse(struct mcp_message *m, const char *data, size_t len);
void mcp_message_fini(struct mcp_message *m);

/* Writes the member "id", which is null for MCP_ID_NONE. */
void mcp_message_put_id(struct json *j, const struct mcp_message *m);
