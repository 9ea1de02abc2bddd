/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo up`: runs an agent and a server as two processes that are connected by a socket. The
 * server is not root's and has no privileges, since its clients are untrusted. It ends after the
 * agent, when it has stored the agent's last profiles.
 *
 * They are processes and not threads because the agent needs capabilities to read the memory of
 * every process, while the server parses input of untrusted clients. fork() comes before any thread
 * exists in either. The exit status of the child takes precedence over that of the agent, because a
 * server that cannot start is the usual reason for both to end.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/config.h"
#include "base/err.h"
#include "cli/agent.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/hot.h"
#include "cli/server.h"
#include "cli/server_user.h"
#include "options/arguments.h"

#define DEFAULT_DATA "/var/lib/cameo"

enum { LINE_MAX = 512, DEFAULT_COLUMNS = 80 };

/* ---- the server ------------------------------------------------------------------------ */

/*
 * Runs in the child. Signals of the terminal reach both processes; the server ignores them and
 * ends when the agent has closed its end of the socket.
 */
static int serve(const struct server_args *args, int fd)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	server_user_leave_root(args->dir);
	return server_run_command(args, fd);
}

/* ---- the agent ------------------------------------------------------------------------- */

/* The width is read for each line, because the user may resize the window. */
static unsigned int terminal_columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col
									   : DEFAULT_COLUMNS;
}

/* Overwrites the status line on the terminal. */
static void show_hottest(void *ctx, const struct export_window *w)
{
	char line[LINE_MAX];
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (hot_line(w, n_cpus > 0 ? (unsigned int)n_cpus : 1, line, sizeof(line)) == 0 && line[0])
		fprintf(stderr, "\r\033[K%.*s", (int)terminal_columns() - 1, line);
}

static int profile(const struct agent_config_source *source, int fd, pid_t server)
{
	const struct agent_server link = {
		.fd = fd,
		.server = server,
		.on_window = isatty(STDERR_FILENO) ? show_hottest : NULL,
	};

	return agent_run_command(source, &link);
}

/*
 * Waits for the server and returns the exit status of the command: that of the server if it failed,
 * else that of the agent.
 */
static int wait_for_server(pid_t pid, int agent_status)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILURE;
	if (WIFSIGNALED(status))
		return cli_fail("the server was killed by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status) ? WEXITSTATUS(status) : agent_status;
}

/*
 * Buffers of stdio are flushed before the fork, or both processes would print their content. The
 * parent closes its copy of the server's end, so that the agent notices when the server is gone.
 */
static int run(const struct server_args *server, const struct agent_config_source *agent)
{
	int fd[2], status;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
		return cli_fail("cannot create a socket: %s", strerror(errno));
	fflush(NULL);
	child = fork();
	if (child < 0)
		return cli_fail("cannot fork: %s", strerror(errno));
	if (child == 0) {
		close(fd[0]);
		exit(serve(server, fd[1]));
	}
	close(fd[1]);
	status = profile(agent, fd[0], child);
	close(fd[0]);
	return wait_for_server(child, status);
}

/* Reports errors of the agent's configuration before the server is started. */
static int check_agent_config(const struct agent_config_source *source)
{
	struct agent_config *c = NULL;
	struct err err = { 0 };
	int r = agent_config_read(&c, source, &err);

	agent_config_free(c);
	if (r == ARGUMENTS_HELP)
		return cli_help(&up_command);
	return r < 0 ? cli_fail_usage("%s", err.msg[0] ? err.msg : strerror(-r)) : CLI_CONTINUE;
}

/*
 * The agent's reader parses the command line for both, with the common table of the server as
 * additional options (agent_config_source.others). The options of the server alone are not
 * accepted, but their defaults are set.
 */
static int run_command(int argc, char **argv)
{
	struct server_args server = { 0 };
	const struct option_set sets[] = { { server_common_options, &server },
					   { server_only_options, &server },
					   { 0 } };
	const struct agent_config_source agent = {
		.argc = argc,
		.argv = argv,
		.others = &sets[0],
		.defaults = "window = 5s\nmetrics = no\n",
	};
	int r = 0;

	for (size_t i = 0; r == 0 && sets[i].specs; i++)
		r = option_set_init(&sets[i]);
	if (r == 0)
		r = check_agent_config(&agent);
	if (r == CLI_CONTINUE && !server.dir) {
		server.dir = strdup(DEFAULT_DATA);
		r = server.dir ? r : -ENOMEM;
	}
	if (r == CLI_CONTINUE)
		r = run(&server, &agent);
	cli_fini(sets, NULL);
	return r == -ENOMEM ? cli_fail("out of memory") : r;
}

const struct command up_command = {
	.name = "up",
	.summary = "profile this machine, and store and show the profiles (the default command)",
	.synopsis = "[OPTION...]",
	.description = "Run an agent and a server together: profile this machine, store the "
		       "profiles in the --data directory (" DEFAULT_DATA
		       " by default) and show them at http://127.0.0.1:4040.\n\n\"cameo\" without "
		       "a command does the same. All options of \"cameo agent\" are accepted (here "
		       "--window defaults to 5s and --metrics to no), and those of \"cameo "
		       "server\" that are listed below. The first window ends after two "
		       "seconds at the latest.",
	.options = COMMAND_OPTIONS(server_common_options, agent_config_flags, agent_config_options),
	.examples = COMMAND_EXAMPLES(
		{ "Profile this machine and show it at http://127.0.0.1:4040", "cameo up" },
		{ "Store a week of profiles in another directory",
		  "cameo up --data /srv/profiles --keep-days 7" }),
	.run = run_command,
};
