/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Model Context Protocol with a toy tool: each message has the response that the protocol
 * demands, and hostile messages have errors.
 *
 * covers: src/mcp/message.c
 */
#include "mcp/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "tests/test.h"

static const struct mcp_arg toy_args[] = {
	{ .name = "word", .description = "A word", .required = true },
	{ .name = "times",
	  .description = "A number",
	  .is_number = true,
	  .preset = 2,
	  .max = 20000 },
	{ 0 },
};

/* Repeats the word; fails for "fail". */
static int call_toy(void *ctx, const struct mcp_values *values, struct buf *out, struct err *err)
{
	++*(int *)ctx;
	if (!strcmp(values->text[0], "fail"))
		return err_set(err, -ENOENT, "no such \"word\"");
	for (uint64_t i = 0; i < values->number[1]; i++)
		buf_put_str(out, values->text[0]);
	return 0;
}

static const struct mcp_tool toy = {
	.name = "toy", .title = "Toy", .description = "Repeats", .args = toy_args, .call = call_toy
};

static int n_calls;
static const struct mcp_server server = { .name = "test",
					  .version = "1",
					  .instructions = "None",
					  .tools = &toy,
					  .n_tools = 1,
					  .ctx = &n_calls };

/* The response of @s to @message, valid until the next call. */
static const char *receive(struct mcp_session *s, const char *message)
{
	static struct buf out;
	/* a copy of its exact size, so that AddressSanitizer notices a read beyond it */
	size_t len = strlen(message);
	char *data = malloc(len + !len);

	assert_non_null(data);
	memcpy(data, message, len);
	buf_fini(&out);
	assert_int_equal(mcp_session_receive(s, data, len, &out), 0);
	free(data);
	buf_put_byte(&out, '\0');
	return (const char *)out.data;
}

static struct mcp_session ready(void)
{
	struct mcp_session s = { .server = &server };

	receive(&s, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
		    "\"params\":{\"protocolVersion\":\"2025-06-18\"}}");
	assert_true(s.initialized);
	n_calls = 0;
	return s;
}

static void expect_error(struct mcp_session *s, const char *message, const char *id, int code)
{
	char start[200];
	const char *response = receive(s, message);

	snprintf(start, sizeof(start), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,", id,
		 code);
	if (strncmp(response, start, strlen(start)) != 0)
		fail_msg("%s\n-> %s\nnot %s", message, response, start);
	assert_string_equal(strchr(response, '\n'), "\n");
}

static void the_revision_is_negotiated(void **state)
{
	static const char *const pairs[][2] = { { "2024-11-05", "2024-11-05" },
						{ "2025-06-18", "2025-06-18" },
						{ "2025-11-25", "2025-11-25" },
						{ "1999-01-01", "2025-11-25" },
						{ "", "2025-11-25" } };

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		struct mcp_session s = { .server = &server };
		char message[200], expected[400];

		snprintf(message, sizeof(message),
			 "{\"jsonrpc\":\"2.0\",\"id\":\"a\\n\",\"method\":\"initialize\","
			 "\"params\":{"
			 "\"protocolVersion\":\"%s\",\"capabilities\":{},\"clientInfo\":{}}}",
			 pairs[i][0]);
		snprintf(expected, sizeof(expected),
			 "{\"jsonrpc\":\"2.0\",\"id\":\"a\\n\",\"result\":{\"protocolVersion\":\"%"
			 "s\","
			 "\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"test\","
			 "\"version\":\"1\"},\"instructions\":\"None\"}}\n",
			 pairs[i][1]);
		assert_string_equal(receive(&s, message), expected);
	}
}

static void the_order_is_checked(void **state)
{
	struct mcp_session s = { .server = &server };

	assert_string_equal(receive(&s, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}"),
			    "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n");
	expect_error(&s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", "1", -32600);
	expect_error(&s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}", "1",
		     -32601);
	expect_error(&s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}", "1", -32602);
	s = ready();
	expect_error(&s,
		     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
		     "\"protocolVersion\":\"2025-06-18\"}}",
		     "1", -32600);
}

static void tools_are_listed_with_a_schema(void **state)
{
	struct mcp_session s = ready();

	assert_string_equal(
		receive(&s,
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{}}"),
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"toy\",\"title\":"
		"\"Toy\",\"description\":\"Repeats\",\"inputSchema\":{\"type\":\"object\","
		"\"properties\":{\"word\":{\"type\":\"string\",\"description\":\"A word\","
		"\"maxLength\":4096},\"times\":{\"type\":\"integer\",\"description\":\"A number\","
		"\"minimum\":1,\"maximum\":20000,\"default\":2}},\"required\":[\"word\"],"
		"\"additionalProperties\":false},\"annotations\":{\"title\":\"Toy\","
		"\"readOnlyHint\":true,\"openWorldHint\":false}}]}}\n");
	expect_error(
		&s,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":"
		"\"2\"}}",
		"1", -32602);
}

/* The response to a call of the toy with these arguments, an object. */
static const char *call(struct mcp_session *s, const char *arguments)
{
	char message[512];

	snprintf(message, sizeof(message),
		 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
		 "call\",\"params\":{\"name\":\"toy\","
		 "\"arguments\":%s}}",
		 arguments);
	return receive(s, message);
}

static void calls_return_text(void **state)
{
	struct mcp_session s = ready();

	assert_string_equal(
		call(&s, "{\"word\":\"a\\u00e9\"}"),
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\","
		"\"text\":\"aéaé\"}],\"isError\":false}}\n");
	assert_non_null(strstr(call(&s, "{\"times\":3,\"word\":\"b\"}"), "\"bbb\""));
	assert_int_equal(n_calls, 2);
}

static void wrong_arguments_are_results(void **state)
{
	static const struct {
		const char *arguments, *part;
	} bad[] = {
		{ "{}", "\\\"word\\\" is required" },
		{ "{\"word\":7}", "\\\"word\\\": expected a string" },
		{ "{\"word\":\"a\\u0000b\"}", "bytes of text" },
		{ "{\"word\":\"a\",\"word\":\"b\"}", "given twice" },
		{ "{\"word\":\"a\",\"other\":\"b\"}", "has no argument \\\"other\\\"" },
		{ "{\"word\":\"a\",\"times\":0}", "between 1 and 20000" },
		{ "{\"word\":\"a\",\"times\":1e400}", "between 1 and 20000" },
		{ "{\"word\":\"a\",\"times\":1.5}", "between 1 and 20000" },
		{ "{\"word\":\"a\",\"times\":\"1\"}", "between 1 and 20000" },
		{ "{\"word\":\"fail\"}", "no such \\\"word\\\"" },
	};
	struct mcp_session s = ready();

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const char *response = call(&s, bad[i].arguments);

		if (!strstr(response, "\"isError\":true") || !strstr(response, bad[i].part))
			fail_msg("%s -> %s", bad[i].arguments, response);
	}
	assert_int_equal(n_calls, 1);
}

static void long_results_are_cut(void **state)
{
	struct mcp_session s = ready();
	const char *response = call(&s, "{\"word\":\"0123456\\n\",\"times\":20000}");

	assert_true(strlen(response) < MCP_ANSWER_MAX + MCP_ANSWER_MAX / 8 + 400);
	assert_non_null(strstr(response, "0123456\\n\\n(127232 more bytes were cut"));
	response = call(&s, "{\"word\":\"é12345678\",\"times\":20000}");
	assert_non_null(strstr(response, "more bytes were cut"));
}

static void notifications_and_responses_have_no_response(void **state)
{
	static const char *const silent[] = {
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
		("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		 "cancelled\",\"params\":{\"requestId\":1}}"),
		"{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"x\"}}",
	};
	struct mcp_session s = ready();

	for (size_t i = 0; i < sizeof(silent) / sizeof(*silent); i++)
		assert_string_equal(receive(&s, silent[i]), "");
}

static void hostile_messages_have_errors(void **state)
{
	static const struct {
		const char *message, *id;
		int code;
	} bad[] = {
		{ "", "null", -32700 },
		{ "nonsense", "null", -32700 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", "null", -32700 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}", "null", -32700 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\x01ng\"}", "null", -32700 },
		{ "[]", "null", -32600 },
		{ "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", "null", -32600 },
		{ "7", "null", -32600 },
		{ "{}", "null", -32600 },
		{ "{\"id\":1,\"method\":\"ping\"}", "null", -32600 },
		{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", "null", -32600 },
		{ "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}", "null", -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", "null", -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", "null", -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", "null", -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", "null", -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999,\"method\":\"ping\"}", "null",
		  -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", "null", -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}", "null", -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"result\":{}}", "null",
		  -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", "null",
		  -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":-5,\"method\":\"Ping\"}", "-5", -32601 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}", "1", -32602 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
		  "call\",\"params\":{\"name\":7}}",
		  "1", -32602 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
		  "call\",\"params\":{\"name\":\"x\"}}",
		  "1", -32602 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
		  "call\",\"params\":{\"name\":\"toy\","
		  "\"arguments\":[]}}",
		  "1", -32602 },
	};
	struct mcp_session s = ready();

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		expect_error(&s, bad[i].message, bad[i].id, bad[i].code);
	assert_int_equal(n_calls, 0);
}

static void deep_messages_have_errors(void **state)
{
	struct mcp_session s = ready();
	struct buf b = { 0 };

	buf_put_str(&b, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":");
	for (int i = 0; i < 20000; i++)
		buf_put_str(&b, "{\"a\":");
	buf_put_byte(&b, '\0');
	expect_error(&s, (const char *)b.data, "null", -32700);
	buf_fini(&b);
}

TEST_GROUP(test_session, TEST(the_revision_is_negotiated), TEST(the_order_is_checked),
	   TEST(tools_are_listed_with_a_schema), TEST(calls_return_text),
	   TEST(wrong_arguments_are_results), TEST(long_results_are_cut),
	   TEST(notifications_and_responses_have_no_response), TEST(hostile_messages_have_errors),
	   TEST(deep_messages_have_errors))

int main(void)
{
	return test_session();
}
