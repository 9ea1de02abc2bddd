/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cli/command.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "tests/unit/profiler/kernel.h"

/* A command or a server that takes longer hangs. Sanitizers and a busy machine slow all down. */
enum { LIMIT_S = 120 };

static struct command_result last;

static void last_clear(void)
{
	free(last.out);
	free(last.err);
	last = (struct command_result){ 0 };
}

/* ---- in the child ------------------------------------------------------------------- */

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; cameo_program.commands[i]; i++)
		if (!strcmp(cameo_program.commands[i]->name, name))
			return cameo_program.commands[i];
	return NULL;
}

void command_become(const char *const *args, int in, int out, int err)
{
	const struct command *c = find_command(args[0]);
	char *argv[COMMAND_ARGS_MAX + 1] = { 0 }, name[64];
	int argc = 0, status = EXIT_NOT_FOUND;

	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	for (; args[argc] && argc < COMMAND_ARGS_MAX; argc++)
		argv[argc] = strdup(args[argc]);
	snprintf(name, sizeof(name), "cameo %s", c ? c->name : "");
	free(argv[0]);
	program_invocation_name = argv[0] = name;
	if (c)
		status = c->run(argc, argv);
	for (int i = 1; i < argc; i++)
		free(argv[i]);
	exit(status);
}

static pid_t spawn(const char *const *args, int in, int out, int err)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(LIMIT_S);
	command_become(args, in, out, err);
}

/* ---- in the test ---------------------------------------------------------------------- */

static int memory_file(const char *text)
{
	int fd = memfd_create("cameo-test", MFD_CLOEXEC);
	size_t len = text ? strlen(text) : 0;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text ? text : "", len), len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static char *read_all(int fd, size_t *out_len)
{
	off_t len = lseek(fd, 0, SEEK_END);
	char *text;

	assert_true(len >= 0);
	text = calloc(1, (size_t)len + 1);
	assert_non_null(text);
	assert_int_equal(pread(fd, text, (size_t)len, 0), len);
	if (out_len)
		*out_len = (size_t)len;
	close(fd);
	return text;
}

static int wait_status(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SIGNAL_BASE + WTERMSIG(status);
}

const struct command_result *command_run(const char *input, const char *const *args)
{
	int in = memory_file(input), out = memory_file(NULL), err = memory_file(NULL);

	last_clear();
	last.status = wait_status(spawn(args, in, out, err));
	last.out = read_all(out, &last.out_len);
	last.err = read_all(err, NULL);
	close(in);
	return &last;
}

void command_failed(const struct command_result *r, const char *command, int status,
		    const char *part)
{
	char begin[64];
	const char *end = strchr(r->err, '\n');

	snprintf(begin, sizeof(begin), "cameo %s: ", command);
	if (r->status != status || strncmp(r->err, begin, strlen(begin)) != 0 || !end || end[1] ||
	    !strstr(r->err, part) || r->out_len)
		fail_msg("expected status %d and one line \"%s...%s...\", got status %d, \"%s\" "
			 "and %zu bytes of output",
			 status, begin, part, r->status, r->err, r->out_len);
}

void command_refuses(const struct command_bad *bad)
{
	for (; bad->args[0]; bad++)
		command_failed(command_run(NULL, bad->args), bad->args[0], EXIT_USAGE, bad->part);
}

void command_start(struct command_service *s, const char *const *args)
{
	int in = memory_file(NULL), out[2];

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	s->err_fd = memory_file(NULL);
	s->pid = spawn(args, in, out[1], s->err_fd);
	s->out_fd = out[0];
	close(out[1]);
	close(in);
}

void command_read_line(struct command_service *s, char *line, size_t cap)
{
	size_t len = 0;

	while (len + 1 < cap && (!len || line[len - 1] != '\n')) {
		struct pollfd p = { .fd = s->out_fd, .events = POLLIN };

		assert_int_equal(poll(&p, 1, LIMIT_S * 1000), 1);
		if (read(s->out_fd, line + len, 1) != 1)
			fail_msg("the command ended: %s", command_stop(s, SIGKILL)->err);
		len++;
	}
	line[len] = '\0';
}

void command_start_on_terminal(struct command_service *s, const char *const *args)
{
	struct winsize size = { .ws_row = 24, .ws_col = 100 };
	int slave;

	assert_int_equal(openpty(&s->out_fd, &slave, NULL, NULL, &size), 0);
	s->err_fd = memory_file(NULL);
	s->pid = spawn(args, slave, slave, s->err_fd);
	close(slave);
}

void command_read_until(struct command_service *s, const char *text)
{
	static char seen[1 << 20];
	size_t len = 0;

	for (seen[0] = '\0'; !strstr(seen, text); seen[len] = '\0') {
		struct pollfd p = { .fd = s->out_fd, .events = POLLIN };
		ssize_t n;

		assert_int_equal(poll(&p, 1, LIMIT_S * 1000), 1);
		n = read(s->out_fd, seen + len, sizeof(seen) - 1 - len);
		if (n <= 0)
			fail_msg("the command ended before \"%s\": %s\n%s", text,
				 command_stop(s, SIGKILL)->err, seen);
		len += (size_t)n;
	}
}

struct error_line {
	struct command_service *s;
	const char *text;
	char *line;
	size_t cap;
};

static bool has_error_line(void *ctx)
{
	struct error_line *l = ctx;
	char *all = read_all(dup(l->s->err_fd), NULL), *at = strstr(all, l->text);
	bool found = at && strchr(at, '\n');

	if (found)
		snprintf(l->line, l->cap, "%.*s", (int)strcspn(at, "\n"), at);
	free(all);
	return found;
}

void command_wait_for_error(struct command_service *s, const char *text, char *line, size_t cap)
{
	struct error_line l = { s, text, line, cap };

	wait_until(has_error_line, &l);
}

const struct command_result *command_stop(struct command_service *s, int sig)
{
	last_clear();
	if (sig)
		kill(s->pid, sig);
	last.status = wait_status(s->pid);
	last.out = strdup("");
	last.err = read_all(s->err_fd, NULL);
	close(s->out_fd);
	return &last;
}

/* ---- files ------------------------------------------------------------------------- */

void file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

char *file_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return read_all(fd, NULL);
}

int file_count(void)
{
	DIR *dir = opendir(".");
	int n = 0;

	assert_non_null(dir);
	for (const struct dirent *e; (e = readdir(dir));)
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(dir);
	return n;
}

void wait_until(bool (*condition)(void *ctx), void *ctx)
{
	int ms = 0;

	for (; !condition(ctx) && ms < LIMIT_S * 1000; ms += 10)
		usleep(10000);
	if (ms >= LIMIT_S * 1000)
		fail_msg("the condition did not come true");
}

/* ---- HTTP --------------------------------------------------------------------------- */

static int connect_to(unsigned int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

char *http_exchange(unsigned int port, const char *host, const char *path, const char *body)
{
	int fd = connect_to(port), copy = memory_file(NULL);
	char block[4096];
	ssize_t n;

	n = dprintf(
		fd,
		"%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
		body ? "POST" : "GET", path, host, body ? strlen(body) : 0, body ? body : "");
	assert_true(n > 0);
	while ((n = read(fd, block, sizeof(block))) > 0)
		assert_int_equal(write(copy, block, (size_t)n), n);
	assert_int_equal(n, 0);
	close(fd);
	return read_all(copy, NULL);
}

/* ---- the directory of a test --------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

int sandbox_setup(void **state)
{
	char path[] = "/tmp/cameo-cli-XXXXXX";

	*state = mkdtemp(path) ? strdup(path) : NULL;
	return *state && kernel_setup(NULL) == 0 ? chdir(path) : -1;
}

int sandbox_teardown(void **state)
{
	int r = chdir("/");

	nftw(*state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(*state);
	last_clear();
	kernel_teardown(NULL);
	return r;
}
