/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo up`: an agent and a server for it, two processes with a socket between
 * them. The server has no privileges, since strangers speak to it; it ends when the
 * agent does, after it has stored what that still had.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/vec.h"
#include "cli/agent.h"
#include "cli/cli.h"
#include "cli/hot.h"
#include "cli/server.h"

#define DEFAULT_DATA "/var/lib/cameo"

enum { LINE_MAX = 512, DEFAULT_COLUMNS = 80 };

struct args {
	VEC(char *);
};

/* The server's options that `up` has too; the others are the agent's. */
static const struct server_flag {
	const char *name;
	bool has_value;
} server_flags[] = {
	{ "--auth-basic-file", true }, { "--auth-token-file", true }, { "--data", true },
	{ "--insecure", false },       { "--keep-days", true },       { "--keep-gib", true },
	{ "--listen", true },          { "--otlp-listen", true },     { "--tls-cert", true },
	{ "--tls-key", true },
};

static int usage(void)
{
	fputs("Usage: cameo up [OPTION...]\n\n"
	      "Profile this machine and show it: an agent, and a server for it with a web page on\n"
	      "http://127.0.0.1:4040 (`cameo` without a command is the same).\n\n"
	      "  --data DIR           where profiles are kept (" DEFAULT_DATA ")\n"
	      "  --listen HOST:PORT   127.0.0.1:4040; port 0 is any that is free\n"
	      "  --otlp-listen HOST:PORT, --keep-days N, --keep-gib N, --insecure,\n"
	      "  --auth-token-file FILE, --auth-basic-file FILE, --tls-cert FILE, --tls-key FILE\n"
	      "                       as in `cameo server --help`\n"
	      "  others               as in `cameo agent --help`; --window is 5s and --metrics "
	      "no\n\n"
	      "Example: cameo up --keep-days 7\n",
	      stdout);
	return 0;
}

static const struct server_flag *server_flag(const char *arg)
{
	for (size_t i = 0; i < sizeof(server_flags) / sizeof(server_flags[0]); i++) {
		size_t len = strlen(server_flags[i].name);

		if (!strncmp(arg, server_flags[i].name, len) && (!arg[len] || arg[len] == '='))
			return &server_flags[i];
	}
	return NULL;
}

static bool has(const struct args *a, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < a->len; i++)
		if (!strncmp(a->data[i], name, len) && (!a->data[i][len] || a->data[i][len] == '='))
			return true;
	return false;
}

static int add(struct args *a, const char *text)
{
	return vec_push(a, (char *)text); /* getopt() wants no const */
}

/* Deal out the arguments, with the defaults of `up`. */
static int split(int argc, char **argv, struct args *server, struct args *agent)
{
	int r = add(server, "cameo server");

	if (r == 0)
		r = add(agent, "cameo agent");
	if (r == 0)
		r = add(agent, "--window=5s");
	if (r == 0)
		r = add(agent, "--metrics=no");
	for (int i = 1; i < argc && r == 0; i++) {
		const struct server_flag *f = server_flag(argv[i]);

		r = add(f ? server : agent, argv[i]);
		if (f && f->has_value && !strchr(argv[i], '=') && i + 1 < argc && r == 0)
			r = add(server, argv[++i]);
	}
	if (r == 0 && !has(server, "--data"))
		r = add(server, "--data=" DEFAULT_DATA);
	return r;
}

/* ---- the server ------------------------------------------------------------------------ */

/* It ends when the agent's end of the socket is closed, not when the terminal says so to both. */
static int serve(struct args *args, int fd)
{
	int r;

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	r = confine_drop_capabilities(0);
	if (r < 0)
		return cli_fail("server: capabilities can't be dropped: %s", strerror(-r));
	return cli_server_fed((int)args->len, args->data, fd);
}

/* ---- the agent ------------------------------------------------------------------------- */

static unsigned int columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col
									   : DEFAULT_COLUMNS;
}

static void show(void *ctx, const struct export_window *w)
{
	char line[LINE_MAX];
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (hot_line(w, n_cpus > 0 ? (unsigned int)n_cpus : 1, line, sizeof(line)) == 0 && line[0])
		fprintf(stderr, "\r\033[K%.*s", (int)columns() - 1, line);
}

static int profile(struct args *args, int fd, pid_t server)
{
	struct agent_extra extra = { .fd = fd,
				     .server = server,
				     .on_window = isatty(STDERR_FILENO) ? show : NULL };

	return cli_agent_with((int)args->len, args->data, &extra);
}

/* The exit status of both; the server has stored the rest when it ends. */
static int wait_for_server(pid_t pid, int agent_status)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	if (WIFSIGNALED(status))
		return cli_fail("the server was killed by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status) ? WEXITSTATUS(status) : agent_status;
}

static int run(struct args *server, struct args *agent)
{
	int fd[2], status;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
		return cli_fail("can't make a socket: %s", strerror(errno));
	fflush(NULL);
	child = fork();
	if (child < 0)
		return cli_fail("can't fork: %s", strerror(errno));
	if (child == 0) {
		close(fd[0]);
		exit(serve(server, fd[1]));
	}
	close(fd[1]);
	status = profile(agent, fd[0], child);
	close(fd[0]);
	return wait_for_server(child, status);
}

int cli_up(int argc, char **argv)
{
	struct args server = { 0 }, agent = { 0 };
	int status;

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return usage();
	if (split(argc, argv, &server, &agent) < 0)
		status = cli_fail("no memory");
	else
		status = run(&server, &agent);
	vec_fini(&server);
	vec_fini(&agent);
	return status;
}
