/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Runs commands as main() does, each in a child process, so that its exit status, its output, its
 * leaks and what it leaves in the current directory can be tested. A test that is listed with
 * COMMAND_TEST() runs in an empty temporary directory of its own, on the kernel side in memory of
 * tests/unit/profiler/kernel.h.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tests/test.h"

enum { COMMAND_ARGS_MAX = 12 };

struct command_result {
	int status; /* exit status, or 128 and the signal */
	char *out, *err;
	size_t out_len;
};

/*
 * Runs `cameo @args...` with @input as its standard input (NULL: empty). The result is valid until
 * the next call, or the end of the test.
 */
const struct command_result *command_run(const char *input, const char *const *args);

#define RUN(...)             command_run(NULL, (const char *const[]){ __VA_ARGS__, NULL })
#define RUN_WITH(input, ...) command_run((input), (const char *const[]){ __VA_ARGS__, NULL })

/*
 * Asserts that the last command failed with @status, printed nothing to standard output, and one
 * line to standard error that begins with "cameo COMMAND: " and contains @part.
 */
void command_failed(const struct command_result *r, const char *command, int status,
		    const char *part);

/* Asserts the same with exit status 2 for each line of @bad, until one without arguments. */
struct command_bad {
	const char *args[COMMAND_ARGS_MAX];
	const char *part;
};
void command_refuses(const struct command_bad *bad);

/* A command that runs until it is stopped. Its standard output is @out_fd. */
struct command_service {
	pid_t pid;
	int out_fd, err_fd;
};

void command_start(struct command_service *s, const char *const *args);

#define START(s, ...) command_start((s), (const char *const[]){ __VA_ARGS__, NULL })

/* Starts it on a terminal of 100 columns and 24 rows, whose other end is @out_fd. */
void command_start_on_terminal(struct command_service *s, const char *const *args);

/* Reads one line of its standard output; fails if it ends first. */
void command_read_line(struct command_service *s, char *line, size_t cap);

/* Reads its standard output until that contains @text; fails if it ends first. */
void command_read_until(struct command_service *s, const char *text);

/* Waits until its standard error contains @text; copies the line from there on to @line. */
void command_wait_for_error(struct command_service *s, const char *text, char *line, size_t cap);

/* Sends @sig (0: none) and waits. The result, without its standard output, is valid as above. */
const struct command_result *command_stop(struct command_service *s, int sig);

/* In a child: becomes `cameo @args...`, with the given standard files. Does not return. */
void command_become(const char *const *args, int in, int out, int err) __attribute__((noreturn));

/* ---- files ------------------------------------------------------------------------ */

void file_write(const char *path, const char *text);

/* The contents, to be freed; fails if there is no such file. */
char *file_read(const char *path);

/* The number of entries of the current directory. */
int file_count(void);

/* Waits until @condition returns true; fails after two minutes. */
void wait_until(bool (*condition)(void *ctx), void *ctx);

/* ---- HTTP --------------------------------------------------------------------------- */

/*
 * Sends one request to 127.0.0.1:@port, with the header Host: @host and the body @body (NULL: a
 * GET), and returns the whole response, to be freed.
 */
char *http_exchange(unsigned int port, const char *host, const char *path, const char *body);

/* ---- the directory of a test -------------------------------------------------------- */

int sandbox_setup(void **state);
int sandbox_teardown(void **state);

#define COMMAND_TEST(fn) cmocka_unit_test_setup_teardown(fn, sandbox_setup, sandbox_teardown)
