/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo mcp FILE|URL...`: a server of the Model Context Protocol on standard input and output, one
 * message per line, for a program that starts it. It reads only the profiles of its command line.
 * It writes only messages to standard output, and ends at the end of standard input.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/lines.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/mcp_tools.h"
#include "cli/sources.h"
#include "mcp/session.h"

static const char instructions[] =
	"Profiles of programs and machines, recorded by Cameo. Call list_services first, then "
	"top_functions. Values are sampled: small differences are noise. A name in brackets is not "
	"a function, but the reason why a name or the rest of a stack is missing.";

static int write_all(const struct buf *b)
{
	for (size_t at = 0; at < b->len;) {
		ssize_t n = write(STDOUT_FILENO, b->data + at, b->len - at);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int receive(struct mcp_session *s, const char *line, bool truncated)
{
	_cleanup_(buf_fini) struct buf out = { 0 };
	int r = truncated ? mcp_session_refuse(s, &out)
			  : mcp_session_receive(s, line, strlen(line), &out);

	return r < 0 ? r : write_all(&out);
}

/* The end of the input within a message is the end, too, because the client is gone. */
static int serve(struct mcp_session *s)
{
	struct lines lines;
	bool truncated;
	char *line;
	int r = lines_init(&lines, STDIN_FILENO);

	if (r < 0)
		return r;
	while ((r = lines_next(&lines, &line, &truncated)) > 0) {
		if (!truncated && !line[strspn(line, " \t\r")])
			continue;
		r = receive(s, line, truncated);
		if (r < 0)
			break;
	}
	lines_fini(&lines);
	return r == -EBADMSG || r == -EPIPE ? 0 : r;
}

static int run_command(int argc, char **argv)
{
	struct sources in = { 0 };
	const struct option_set sets[] = { { sources_options, &in }, { 0 } };
	const struct mcp_server server = { .name = "cameo",
					   .version = cameo_program.version,
					   .instructions = instructions,
					   .tools = mcp_tools,
					   .n_tools = mcp_n_tools,
					   .ctx = &in };
	struct mcp_session session = { .server = &server };
	int r = cli_parse(&mcp_command, sets, 0, argc, argv, &in.paths);

	if (r == CLI_CONTINUE) {
		bool reads_stdin = false;

		for (size_t i = 0; i < in.paths.len; i++)
			reads_stdin |= !strcmp(in.paths.data[i], "-");
		signal(SIGPIPE, SIG_IGN);
		if (!in.paths.len)
			r = cli_fail_usage("expected a profile: FILE or URL");
		else if (reads_stdin)
			r = cli_fail_usage("standard input has the messages of the client, so it "
					   "cannot be a profile");
		else
			r = serve(&session);
		if (r < 0)
			r = cli_fail("%s", strerror(-r));
	}
	cli_fini(sets, &in.paths);
	return r;
}

const struct command mcp_command = {
	.name = "mcp",
	.summary = "answer queries of a language model about profiles (Model Context Protocol)",
	.synopsis = "[OPTION...] FILE|URL...",
	.description =
		"Serve the Model Context Protocol on standard input and output, for the program "
		"that starts this command. The tools list services, find the functions that use "
		"most time, show callers and callees, compare two profiles or time ranges, and "
		"explain incomplete stacks.\n\nOnly the profiles of the command line can be read: "
		"files of any format, and servers by URL, whose services and time ranges the "
		"client chooses. $CAMEO_TOKEN is sent to servers as a bearer token. Nothing is "
		"written.",
	.options = COMMAND_OPTIONS(sources_options),
	.examples = COMMAND_EXAMPLES(
		{ "Answer queries about two recordings", "cameo mcp before.pb.gz after.pb.gz" },
		{ "Answer queries about the services of a server",
		  "cameo mcp http://127.0.0.1:4040" }),
	.run = run_command,
};
