/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo debug capture` and `cameo debug replay` make a wrong stack trace reproducible. A capture
 * reads another process and files of its choosing, so it runs under sigbus_run(), like everything
 * that maps files which may shrink.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/outfile.h"
#include "base/sigbus.h"
#include "capture/capture.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "options/arguments.h"

/* Numbers are 0 if the option is missing, which their ranges exclude. */
struct debug_args {
	uint64_t pid, tid;
	bool whole_files;
	char *output;
};

#define OPTION_VALUES struct debug_args

static const struct option_spec options[] = {
	OPTION_SECTION("Options of capture"),
	OPTION(NUMBER, 'p', "pid", "PID", pid, "Capture this process", .min = 1, .max = INT32_MAX),
	OPTION(NUMBER, 't', "tid", "TID", tid,
	       "Capture this thread of the process (default: its main thread)", .min = 1,
	       .max = INT32_MAX),
	OPTION(TEXT, 'o', "output", "FILE", output, "Write the capture to FILE"),
	OPTION(FLAG, 0, "whole-files", NULL, whole_files,
	       "Store complete copies of the files on the stack, not only their unwind tables, "
	       "symbols and code"),
	{ 0 },
};

/*
 * The trace is the result of the command, so a failure to write it, such as a full disk, is an
 * error.
 */
static int print(const struct buf *text)
{
	return fwrite(text->data, 1, text->len, stdout) == text->len && fflush(stdout) == 0
		       ? 0
		       : cli_fail("cannot write to standard output: %s", strerror(errno));
}

/* ---- capture -------------------------------------------------------------------- */

/* The argument and the results of run_capture(). */
struct capture_job {
	const struct capture_options *opt;
	struct buf file, trace;
	struct err err;
};

static int run_capture(void *ctx)
{
	struct capture_job *job = ctx;

	return capture_take(job->opt, &job->file, &job->trace, &job->err);
}

/* The output is opened first: a wrong path should fail before the thread is stopped. */
static int write_capture(struct capture_job *job, const char *path)
{
	_cleanup_(outfile_freep) struct outfile *out = NULL;
	int r = outfile_open(&out, path, &job->err);

	if (r == 0)
		r = sigbus_run(run_capture, job);
	if (r == 0)
		r = outfile_commit(out, job->file.data, job->file.len, &job->err);
	return r < 0 ? cli_fail("%s", job->err.msg[0] ? job->err.msg : strerror(-r)) : 0;
}

/* If the capture is written to standard output, the trace would be mixed with it and is omitted. */
static int capture(const struct debug_args *a)
{
	const struct capture_options opt = { .pid = (int)a->pid,
					     .tid = (int)a->tid,
					     .whole_files = a->whole_files };
	struct capture_job job = { .opt = &opt };
	int r;

	if (!a->pid || !a->output)
		return cli_fail_usage("capture requires --pid PID and --output FILE");
	r = write_capture(&job, a->output);
	if (r == 0 && strcmp(a->output, "-") != 0) {
		r = print(&job.trace);
		fprintf(stderr, "%s: %zu bytes\n", a->output, job.file.len);
	}
	buf_fini(&job.file);
	buf_fini(&job.trace);
	return r;
}

/* ---- replay ---------------------------------------------------------------------- */

/* The mapped core file, and the results of run_replay(). */
struct replay_job {
	const void *data;
	size_t len;
	struct buf trace, expected;
	struct capture_replay found;
	struct err err;
};

static int run_replay(void *ctx)
{
	struct replay_job *job = ctx;

	return capture_replay(job->data, job->len, &job->trace, &job->expected, &job->found,
			      &job->err);
}

/* A difference is a failure with both traces, which makes a replay usable as a test. */
static int print_replay(const struct replay_job *job)
{
	int r = print(&job->trace);

	if (job->found.n_partial)
		fprintf(stderr,
			"%zu file%s of the stack not found on this machine: using the parts stored "
			"in the capture\n",
			job->found.n_partial, job->found.n_partial == 1 ? "" : "s");
	if (job->found.n_missing)
		fprintf(stderr,
			"%zu file%s of the stack found neither on this machine nor in the "
			"capture\n",
			job->found.n_missing, job->found.n_missing == 1 ? "" : "s");
	if (r == 0 && job->found.differs) {
		fputs("The stack trace at the time of the capture was:\n", stdout);
		(void)print(&job->expected);
		r = cli_fail("the stack trace differs from the captured one");
	}
	return r;
}

/*
 * Maps the file at @path: 0, or an exit status after an error was printed. O_NONBLOCK keeps open()
 * from waiting for the other end of a FIFO.
 */
static int map_file(const char *path, struct replay_job *job)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *data;

	if (fd < 0 || fstat(fd, &st) < 0)
		return cli_fail("cannot open \"%s\": %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return cli_fail("\"%s\": not a core file", path);
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return cli_fail("cannot map \"%s\": %s", path, strerror(errno));
	job->data = data;
	job->len = (size_t)st.st_size;
	return 0;
}

/* The core file is untrusted; sigbus_run() protects against a file that shrinks. */
static int replay(const char *path)
{
	struct replay_job job = { 0 };
	int r = map_file(path, &job);

	if (r)
		return r;
	r = sigbus_run(run_replay, &job);
	r = r < 0 ? cli_fail("\"%s\": %s", path, job.err.msg[0] ? job.err.msg : strerror(-r))
		  : print_replay(&job);
	buf_fini(&job.trace);
	buf_fini(&job.expected);
	munmap((void *)(uintptr_t)job.data, job.len);
	return r;
}

/* ---- the command -------------------------------------------------------------------- */

/* Operands select the operation, so combinations with options are checked here. */
static int debug(const struct debug_args *a, const struct operands *operands)
{
	const char *what = operands->len ? operands->data[0] : "";

	if (!strcmp(what, "capture") && operands->len == 1)
		return capture(a);
	if (!strcmp(what, "replay") && operands->len == 2) {
		if (a->pid || a->tid || a->whole_files || a->output)
			return cli_fail_usage(
				"replay accepts none of --pid, --tid, --output and --whole-files");
		return replay(operands->data[1]);
	}
	return cli_fail_usage("expected \"capture\" or \"replay FILE\"");
}

static int run_command(int argc, char **argv)
{
	struct debug_args a = { 0 };
	const struct option_set sets[] = { { options, &a }, { 0 } };
	struct operands operands = { 0 };
	int r = cli_parse(&debug_command, sets, 0, argc, argv, &operands);

	if (r == CLI_CONTINUE)
		r = debug(&a, &operands);
	cli_fini(sets, &operands);
	return r;
}

const struct command debug_command = {
	.name = "debug",
	.summary = "capture a thread's stack walk for a bug report, and replay it",
	.synopsis = "capture --pid PID [--tid TID] --output FILE\nreplay FILE",
	.description = "\"capture\" stops one thread, walks its stack, and writes what the walk "
		       "needed into a core file: registers, executable mappings, the words of "
		       "memory that were read, and unwind tables, symbols and code of the files on "
		       "the stack. All other memory of the process reads as zero.\n\n\"replay\" "
		       "walks the stack in such a file, or in one of gcore(1), and explains each "
		       "frame: address, function, file, and the unwind rule that leads to its "
		       "caller. It fails if the stack trace differs from the captured one.",
	.options = COMMAND_OPTIONS(options),
	.examples = COMMAND_EXAMPLES(
		{ "Capture the main thread of process 1234",
		  "cameo debug capture -p 1234 -o stack.core" },
		{ "Walk its stack again, on any machine", "cameo debug replay stack.core" }),
	.run = run_command,
};
