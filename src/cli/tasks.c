/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo tasks -p PID`: what the goroutines or asyncio tasks of a process wait for. A reader
 * process reads the memory (reader/tasks_client.h); the process itself runs on. With --watch, one
 * snapshot after another is compared with the first.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/outfile.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/tasks_text.h"
#include "cli/text.h"
#include "codec/format.h"
#include "lang/tasks/task_snapshot.h"
#include "opener/opener.h"
#include "options/arguments.h"
#include "proc/stat.h"
#include "profile/profile.h"
#include "reader/tasks_client.h"
#include "tasks/task_ages.h"
#include "tasks/task_growth.h"
#include "tasks/task_profile.h"

struct tasks_args {
	uint64_t pid, limit, max, n_snapshots, watch_ns, timeout_ns;
	bool json, folded, system;
	char *output, *to;
};

#define OPTION_VALUES struct tasks_args

static const struct option_spec options[] = {
	OPTION(NUMBER, 'p', "pid", "PID", pid, "Read the tasks of this process", .min = 1,
	       .max = INT32_MAX),
	OPTION(DURATION, 'w', "watch", "SECONDS", watch_ns,
	       "Repeat after this time, and print the groups whose size has changed since the "
	       "first snapshot, until the process ends",
	       .unit = "s", .min = CLOCK_SECOND_NS / 100),
	OPTION(NUMBER, 'n', "snapshots", "N", n_snapshots,
	       "With --watch, stop after N snapshots (0: never)", .preset = "0"),
	OPTION_SECTION("Output"),
	OPTION(NUMBER, 'l', "limit", "N", limit, "Print the N largest groups (0: all)",
	       .preset = "20"),
	OPTION(FLAG, 0, "system", NULL, system,
	       "Print the runtime's own tasks too, such as workers of the garbage collector"),
	OPTION(FLAG, 0, "json", NULL, json, "Print each snapshot as one line of JSON"),
	OPTION(FLAG, 0, "folded", NULL, folded,
	       "Print folded stacks with the number of tasks, for flame graphs"),
	OPTION(TEXT, 'o', "output", "FILE", output,
	       "Write a profile with the sample types tasks and task_wait; the suffix of FILE "
	       "selects the format"),
	OPTION(TEXT, 0, "to", "FORMAT", to, "Write this format regardless of the suffix of FILE",
	       .list = format_writable_ids),
	OPTION_SECTION("Limits"),
	OPTION(NUMBER, 0, "max", "N", max,
	       "Read at most N tasks; if there are more, read every second, third and so on, and "
	       "scale the counts",
	       .preset = "200000", .min = 1, .max = TASKS_MAX),
	OPTION(DURATION, 0, "timeout", "TIME", timeout_ns,
	       "Stop reading after this time, and print what was read", .preset = "5s",
	       .min = CLOCK_MS_NS, .max = 600ULL * CLOCK_SECOND_NS),
	{ 0 },
};

/* The state of --watch: sizes of groups in the first snapshot, and when tasks were first seen. */
struct watching {
	struct task_growth growth;
	uint64_t first_ns;
	struct task_ages ages;
	uint64_t n; /* snapshots so far */
};

/* ---- profiles -------------------------------------------------------------------------------- */

static int write_profile(const struct tasks_args *a, const struct task_snapshot *s,
			 const struct format *to, const char *path, struct err *err)
{
	const struct format_options opt = { .title = "tasks", .value_num = 0 };
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(outfile_freep) struct outfile *out = NULL;
	_cleanup_(buf_fini) struct buf data = { 0 };
	int r = profile_new(&p);

	(void)a;
	if (r == 0)
		r = task_profile_add(p, s);
	if (r == 0) {
		profile_meta(p)->time_ns = (int64_t)clock_unix_ns();
		r = profile_add_string(p, "tasks", 5, &profile_meta(p)->default_sample_type);
	}
	if (r == 0)
		r = outfile_open(&out, path, err);
	if (r == 0)
		r = format_write(to, p, &opt, &data, err);
	if (r == 0)
		r = outfile_commit(out, data.data, data.len, err);
	return r == -EPIPE ? 0 : r;
}

/* ---- a snapshot ------------------------------------------------------------------------------ */

static int show_text(const struct tasks_args *a, const struct tasks_view *v, struct err *err)
{
	const struct tasks_text_options opt = { .limit = a->limit, .system = a->system };
	_cleanup_(buf_fini) struct buf text = { .max = TEXT_OUTPUT_MAX };
	int r;

	if (a->json)
		tasks_text_put_json(&text, v, &opt);
	else if (v->growth)
		tasks_text_put_growth(&text, v, &opt);
	else
		tasks_text_put(&text, v, &opt);
	r = text_check(&text, err);
	if (r < 0)
		return r;
	if (!a->watch_ns && !a->json)
		return text_print(&text, err);
	if (fwrite(text.data, 1, text.len, stdout) != text.len || fflush(stdout))
		return err_set(err, -errno, "cannot write to standard output: %s", strerror(errno));
	return 0;
}

static int show(const struct tasks_args *a, const struct format *to, struct watching *w,
		struct tasks_view *v, struct err *err)
{
	_cleanup_(freep) int64_t *growth = NULL;
	int r = task_groups_build(v->s, &v->groups);

	task_sums_build(v->s, &v->sums);
	if (r == 0)
		r = task_findings_build(v->s, &v->findings);
	if (r == 0 && w->n > 0) {
		growth = task_growth_of(&w->growth, &v->groups);
		r = growth ? 0 : -ENOMEM;
		v->growth = growth;
		v->since_ns = v->s->totals.time_ns - w->first_ns;
	} else if (r == 0) {
		w->first_ns = v->s->totals.time_ns;
		r = task_growth_begin(&w->growth, &v->groups);
	}
	if (r == 0 && to)
		r = write_profile(a, v->s, to, a->folded ? "-" : a->output, err);
	else if (r == 0)
		r = show_text(a, v, err);
	w->n++;
	return r;
}

static int take(const struct tasks_args *a, struct tasks_client *c, const struct format *to,
		struct watching *w, struct err *err)
{
	uint64_t start_ns = clock_monotonic_ns();
	struct task_snapshot s;
	struct tasks_view v = { .pid = (uint32_t)a->pid, .s = &s };
	int r = task_snapshot_init(&s);

	proc_comm((int)a->pid, v.comm);
	if (r == 0)
		r = tasks_client_read(c, &s, err);
	v.took_ns = clock_monotonic_ns() - start_ns;
	if (r == 0 && a->watch_ns)
		r = task_ages_apply(&w->ages, &s);
	if (r == 0)
		r = show(a, to, w, &v, err);
	task_findings_fini(&v.findings);
	vec_fini(&v.groups);
	task_snapshot_fini(&s);
	return r;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void pause_for(uint64_t ns)
{
	const struct timespec t = { .tv_sec = (time_t)(ns / CLOCK_SECOND_NS),
				    .tv_nsec = (long)(ns % CLOCK_SECOND_NS) };

	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/* Takes snapshots until the end. It is not an error if a watched process ends. */
static int take_all(const struct tasks_args *a, struct tasks_client *c, const struct format *to,
		    struct err *err)
{
	struct watching w = { 0 };
	int r;

	for (;;) {
		r = take(a, c, to, &w, err);
		if (r < 0 || !a->watch_ns || (a->n_snapshots && w.n >= a->n_snapshots))
			break;
		pause_for(a->watch_ns);
	}
	if (r == -ESRCH && w.n > 0)
		r = 0;
	task_growth_fini(&w.growth);
	task_ages_fini(&w.ages);
	return r;
}

static int read_tasks(const struct tasks_args *a, const struct format *to)
{
	const struct tasks_client_opts opts = {
		.pid = (uint32_t)a->pid,
		.max = (uint32_t)a->max,
		.limit_ms = (uint32_t)(a->timeout_ns / CLOCK_MS_NS),
	};
	_cleanup_(tasks_client_freep) struct tasks_client *c = NULL;
	struct err err = { 0 };
	_cleanup_(closep) int process = args_open_process(opts.pid, &err);
	int r = process < 0 ? process : opener_start(&err);

	if (r == 0)
		r = tasks_client_new(&c, &opts, &err);
	if (r == 0)
		r = take_all(a, c, to, &err);
	return r < 0 ? cli_fail("%s", err.msg[0] ? err.msg : strerror(-r)) : 0;
}

static int tasks(const struct tasks_args *a, const struct operands *operands)
{
	const struct format *to = NULL;
	struct err err = { 0 };

	if (operands->len || !a->pid)
		return cli_fail_usage("expected --pid PID");
	if (a->json + a->folded + (a->output != NULL) > 1)
		return cli_fail_usage("--json, --folded and --output exclude each other");
	if (a->to && !a->output)
		return cli_fail_usage("--to requires --output");
	if (a->n_snapshots && !a->watch_ns)
		return cli_fail_usage("--snapshots requires --watch");
	if ((a->folded || a->output) && a->watch_ns)
		return cli_fail_usage("--watch accepts neither --folded nor --output");
	if (a->folded)
		to = format_by_id("folded");
	else if (a->output && cli_output_format(a->output, "--to", a->to, NULL, &to, &err) < 0)
		return cli_fail_usage("%s", err.msg);
	return read_tasks(a, to);
}

static int run_command(int argc, char **argv)
{
	struct tasks_args a = { 0 };
	const struct option_set sets[] = { { options, &a }, { 0 } };
	struct operands operands = { 0 };
	int r = cli_parse(&tasks_command, sets, 0, argc, argv, &operands);

	if (r == CLI_CONTINUE)
		r = tasks(&a, &operands);
	cli_fini(sets, &operands);
	return r;
}

const struct command tasks_command = {
	.name = "tasks",
	.summary = "show what the goroutines or asyncio tasks of a process wait for",
	.synopsis = "[OPTION...] --pid PID",
	.description =
		"Read all goroutines of a running Go program (Go 1.18 to 1.27), or all asyncio "
		"tasks of a Python program (CPython 3.9 to 3.14, also with uvloop), and print them "
		"in groups of equal stacks: their number, how long the longest has waited, the "
		"reason, and the stack. At its end is the function that created the goroutine, or "
		"the coroutine of the task. The process is not stopped. Goroutines that wait for "
		"each other's locks (Go 1.26 and later) and tasks that await each other are "
		"reported as a deadlock, as is a program in which none can run.\n\nGo records "
		"the time of a wait only in programs that collect garbage, and asyncio never; "
		"otherwise, waiting times are missing, and with --watch they count from the first "
		"snapshot.",
	.options = COMMAND_OPTIONS(options),
	.examples = COMMAND_EXAMPLES(
		{ "Show where the tasks of process 1234 wait", "cameo tasks -p 1234" },
		{ "Show every 10 seconds which groups grow", "cameo tasks -p 1234 --watch 10" },
		{ "Write a profile of them", "cameo tasks -p 1234 -o tasks.pb.gz" }),
	.run = run_command,
};
